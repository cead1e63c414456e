"""One contract for every checkpoint store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from stored_values import WHEN, PlainCheckpoints, checkpoint, draft, message

import koogbook as kb
from koogbook.errors import CheckpointConflictError, CheckpointError, CheckpointNotFoundError
from koogbook.features.persistence.checkpoint import Checkpoint

Make = Callable[[Path], Any]
CAPABLE: list[Make] = [
    lambda folder: kb.MemoryCheckpoints(),
    lambda folder: kb.SqliteCheckpoints(folder / "kb.db"),
]
HOSTILE_IDS = [
    "",
    " ",
    ".",
    "..",
    "../../etc/passwd",
    "/absolute",
    "a/b\\c",
    "C:\\nul",
    "with\0nul",
    "with",
    "x" * 10_000,
    "x" * 9_999,
    "🦊",
    "e\u0301",
    "\u00e9",
    "'; DROP TABLE checkpoint; --",
    '"quoted"',
    "%_*?",
    "\ud800",
    "\udfff tail",
    "line\nbreak",
    "S",
    "s",
]


@pytest.fixture(params=[*CAPABLE, lambda folder: PlainCheckpoints()], ids=["memory", "sqlite", "plain"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A fresh store of each kind."""
    made = request.param(tmp_path)
    yield made
    getattr(made, "close", lambda: None)()


@pytest.fixture(params=CAPABLE, ids=["memory", "sqlite"])
def able(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A fresh store of each kind that has the optional methods."""
    made = request.param(tmp_path)
    yield made
    getattr(made, "close", lambda: None)()


def plain(found: Checkpoint | None) -> Checkpoint | None:
    """A checkpoint without what a store says of its own size."""
    return found and replace(found, info=replace(found.info, bytes=0))


# ------------------------------------------------------------------------------------------- all stores


async def test_a_checkpoint_comes_back_equal(store: Any) -> None:
    """Every field of it [PER-01]."""
    saved = checkpoint()

    await store.save_checkpoint("s", saved)

    assert [plain(one) for one in await store.get_checkpoints("s")] == [saved]


@pytest.mark.parametrize("kind", ["node", "manual", "rollback", "fork", "interrupt", "tombstone"])
async def test_every_kind_comes_back(store: Any, kind: str) -> None:
    """The kind says what follows [PER-01]."""
    await store.save_checkpoint("s", checkpoint(kind=kind))

    assert (await store.get_latest_checkpoint("s")).info.kind == kind


async def test_an_unknown_session_has_nothing(store: Any) -> None:
    """No error: there is just nothing."""
    assert await store.get_checkpoints("nobody") == []
    assert await store.get_latest_checkpoint("nobody") is None


async def test_the_latest_has_the_highest_version(store: Any) -> None:
    """Neither the order of saving nor the time decides [PER-05]."""
    await store.save_checkpoint("s", checkpoint(version=2, created=WHEN - timedelta(days=9)))
    await store.save_checkpoint("s", checkpoint(version=0))
    await store.save_checkpoint("s", checkpoint(version=1, created=WHEN + timedelta(days=9)))

    assert (await store.get_latest_checkpoint("s")).info.version == 2


async def test_checkpoints_come_lowest_version_first(store: Any) -> None:
    """However they were saved."""
    await store.save_checkpoint("s", checkpoint(version=1))
    await store.save_checkpoint("s", checkpoint(version=2))
    await store.save_checkpoint("s", checkpoint(version=0))

    assert [one.info.version for one in await store.get_checkpoints("s")] == [0, 1, 2]


async def test_a_tombstone_can_be_the_latest(store: Any) -> None:
    """It is what says that a session has ended [PER-06]."""
    await store.save_checkpoint("s", checkpoint(version=0))
    await store.save_checkpoint("s", checkpoint(version=1, kind="tombstone"))

    assert (await store.get_latest_checkpoint("s")).info.is_tombstone


async def test_filters_choose_by_the_light_form(store: Any) -> None:
    """For one and for many."""
    await store.save_checkpoint("s", checkpoint(version=0))
    await store.save_checkpoint("s", checkpoint(version=1, path="trip/book"))
    await store.save_checkpoint("s", checkpoint(version=2))

    early = await store.get_checkpoints("s", lambda info: info.version < 2)
    booked = await store.get_latest_checkpoint("s", lambda info: info.path == "trip/book")
    none = await store.get_latest_checkpoint("s", lambda info: False)

    assert ([one.info.version for one in early], booked.info.version, none) == ([0, 1], 1, None)


async def test_saving_the_same_again_changes_nothing(store: Any) -> None:
    """A retry after a lost answer must not fail."""
    await store.save_checkpoint("s", checkpoint())
    await store.save_checkpoint("s", checkpoint())

    assert len(await store.get_checkpoints("s")) == 1


@pytest.mark.parametrize(
    "other",
    [
        checkpoint(output=b'"other"'),
        checkpoint(id="another"),
        checkpoint(version=1, id="c0"),
        checkpoint(messages=[message("else")]),
    ],
)
async def test_a_taken_version_or_id_is_refused(store: Any, other: Checkpoint) -> None:
    """Other content under the same version or id is an error, and what was there stays."""
    await store.save_checkpoint("s", checkpoint())

    with pytest.raises(CheckpointConflictError):
        await store.save_checkpoint("s", other)

    assert [plain(one) for one in await store.get_checkpoints("s")] == [checkpoint()]


async def test_sessions_do_not_see_each_other(store: Any) -> None:
    """The same version and id may stand in two sessions."""
    await store.save_checkpoint("s", checkpoint("s"))
    await store.save_checkpoint("t", checkpoint("t", output=b'"t"'))

    assert (await store.get_latest_checkpoint("s")).output == checkpoint().output
    assert (await store.get_latest_checkpoint("t")).output == b'"t"'


async def test_hostile_session_ids_are_distinct_and_found_again(store: Any) -> None:
    """Whatever text an id is, it is one session and no other."""
    drafts = [checkpoint(one, output=str(at).encode()) for at, one in enumerate(HOSTILE_IDS)]
    for one in drafts:
        await store.save_checkpoint(one.info.session_id, one)

    found = [plain(await store.get_latest_checkpoint(one)) for one in HOSTILE_IDS]

    assert found == drafts


@pytest.mark.parametrize("text", ["\ud800", "\ud83d\udc00", "a\0b", "🦊", "'\"\\", "\u2028"])
async def test_hostile_text_comes_back_everywhere(store: Any, text: str) -> None:
    """Lone surrogates and NUL in messages, ids, paths, names of keys and agents."""
    saved = checkpoint(
        text,
        id=text,
        parent=text,
        agent_id=text,
        path=f"trip/{text}",
        prompt_id=text,
        run_id=text,
        messages=(message(text),),
        storage={text: b"1"},
        left_out=(text,),
        tools=(text,),
        model=kb.LLModel(text),
        params=kb.LLMParams(stop=(text,)),
    )

    await store.save_checkpoint(text, saved)

    assert plain(await store.get_latest_checkpoint(text)) == saved


async def test_repeated_messages_come_back_repeated(store: Any) -> None:
    """A history loaded with an id twice keeps both."""
    saved = checkpoint(messages=(message(), message(), message("x"), message()))

    await store.save_checkpoint("s", saved)

    assert (await store.get_latest_checkpoint("s")).messages == saved.messages


async def test_the_form_of_a_checkpoint_comes_back(store: Any) -> None:
    """Whatever number it has [PER-01]."""
    saved = checkpoint(schema_version=7)

    await store.save_checkpoint("s", saved)

    assert plain(await store.get_latest_checkpoint("s")) == saved


async def test_an_empty_history_comes_back_empty(store: Any) -> None:
    """No message at all is a history too."""
    await store.save_checkpoint("s", checkpoint(messages=()))

    assert (await store.get_latest_checkpoint("s")).messages == ()


@pytest.mark.parametrize("output", [b"", b"no json", b"\xff\0", b"[" * 50])
async def test_bodies_are_bytes_and_nothing_else(store: Any, output: bytes) -> None:
    """A store does not read what it was given to keep."""
    saved = checkpoint(output=output, storage={"k": output}, input=output, fingerprint_body=output)

    await store.save_checkpoint("s", saved)

    assert plain(await store.get_latest_checkpoint("s")) == saved


# ------------------------------------------------------------------------------------------- optional methods


@pytest.mark.parametrize("how", ["save", "append", "fork"])
async def test_changing_what_a_store_gave_does_not_change_the_store(able: Any, how: str) -> None:
    """Nor does changing what it was given [PER-01]."""
    entries = {"seat": b"7"}
    await (
        able.append_checkpoint(draft(storage=entries))
        if how == "append"
        else able.save_checkpoint("s", checkpoint(storage=entries))
    )
    session_id = "t" if how == "fork" else "s"
    if how == "fork":
        await fork(able)

    entries["seat"] = b"8"
    (await able.get_latest_checkpoint(session_id)).storage["seat"] = b"9"
    (await able.get_checkpoints(session_id))[0].storage.clear()

    assert (await able.get_latest_checkpoint(session_id)).storage == {"seat": b"7"}


async def test_appending_allots_versions_from_zero(able: Any) -> None:
    """One after the other, whatever other sessions do [PER-01]."""
    for number in range(3):
        await able.append_checkpoint(draft("s", f"c{number}"))
        await able.append_checkpoint(draft("t", f"c{number}"))

    assert [one.info.version for one in await able.get_checkpoints("s")] == [0, 1, 2]


async def test_appending_goes_on_after_the_highest_version(able: Any) -> None:
    """Versions that somebody chose leave gaps, and no collision."""
    await able.save_checkpoint("s", checkpoint(version=7))

    assert (await able.append_checkpoint(draft("s", "new"))).version == 8


async def test_an_appended_checkpoint_comes_back_whole(able: Any) -> None:
    """The same as the draft, with its version."""
    prompt = kb.Prompt([message("a"), message("b")], id="s", params=kb.LLMParams(temperature=0.1))
    info = await able.append_checkpoint(
        draft(prompt=prompt, params=prompt.params, output=b"7", storage={"k": b"1"}, input=b'"q"')
    )

    found = await able.get_latest_checkpoint("s")

    assert found.info == info
    assert (found.messages, found.prompt_id, found.params) == (prompt.messages, "s", prompt.params)
    assert (found.output, found.storage, found.input) == (b"7", {"k": b"1"}, b'"q"')


async def test_appending_an_id_twice_is_refused(able: Any) -> None:
    """Nothing is saved the second time."""
    await able.append_checkpoint(draft())

    with pytest.raises(CheckpointConflictError, match="Nothing was saved"):
        await able.append_checkpoint(draft(output=b"9"))

    assert len(await able.get_checkpoints("s")) == 1


async def test_after_a_refused_append_the_next_one_is_whole(able: Any) -> None:
    """What a store remembers must not name rows that were taken back."""
    prompt = kb.Prompt([message("a")], id="s")
    await able.append_checkpoint(draft(prompt=prompt))
    longer = prompt.append(message("b"))
    with pytest.raises(CheckpointConflictError):
        await able.append_checkpoint(draft(prompt=longer))

    await able.append_checkpoint(draft("s", "c1", prompt=longer))

    assert (await able.get_latest_checkpoint("s")).messages == longer.messages


async def test_listing_gives_the_light_forms_of_one_session(able: Any) -> None:
    """Lowest version first."""
    infos = [await able.append_checkpoint(draft("s", f"c{number}")) for number in range(3)]
    await able.append_checkpoint(draft("t", "c0"))

    assert able.list_infos("s") == infos


async def test_listing_everything_is_by_time(able: Any) -> None:
    """Oldest first, over all sessions."""
    await able.append_checkpoint(draft("s", "late", created=WHEN + timedelta(hours=2)))
    await able.append_checkpoint(draft("t", "early", created=WHEN))

    assert [info.id for info in able.list_infos()] == ["early", "late"]


async def test_fingerprints_are_found_by_hash(able: Any) -> None:
    """Unknown ones are missing."""
    await able.append_checkpoint(draft(fingerprint="f1", fingerprint_body=b"body"))

    assert able.get_fingerprints(["f1", "f2"]) == {"f1": b"body"}
    assert able.get_fingerprints([]) == {}


async def fork(able: Any, to: str = "t", **which: Any) -> Any:
    """Fork ``s`` at ``c0`` unless told otherwise."""
    wanted = {"session_id": "s", "checkpoint_id": "c0", **which}
    return await able.fork_checkpoint(
        wanted["session_id"], wanted["checkpoint_id"], to, fork_id="f0", created=WHEN
    )


async def test_a_fork_is_version_zero_with_its_parent(able: Any) -> None:
    """Another session, the same state, a link back [PER-20]."""
    await able.save_checkpoint("s", checkpoint())

    info = await fork(able)

    assert (info.id, info.version, info.kind, info.parent, info.created) == ("f0", 0, "fork", "c0", WHEN)


async def test_a_fork_holds_the_state_of_its_origin(able: Any) -> None:
    """Messages, output, storage, params and tools [PER-20]."""
    await able.save_checkpoint("s", checkpoint())

    info = await fork(able)

    assert plain(await able.get_latest_checkpoint("t")) == replace(checkpoint(), info=replace(info, bytes=0))


async def test_a_fork_leaves_its_origin_alone(able: Any) -> None:
    """Both lines stay [PER-20]."""
    await able.save_checkpoint("s", checkpoint())

    await fork(able)
    await able.append_checkpoint(draft("t", "f1", output=b'"t"'))

    assert [plain(one) for one in await able.get_checkpoints("s")] == [checkpoint()]


async def test_listing_with_forks_follows_forks_of_forks(able: Any) -> None:
    """A tree is drawn from it [PER-20]."""
    await able.save_checkpoint("s", checkpoint())
    await fork(able)
    await able.fork_checkpoint("t", "f0", "u", fork_id="g0", created=WHEN)
    await able.append_checkpoint(draft("stranger", "x"))

    assert [info.id for info in able.list_infos("s", with_forks=True)] == ["c0", "f0", "g0"]


@pytest.mark.parametrize(
    ("kind", "which", "to", "error", "complaint"),
    [
        ("node", {"checkpoint_id": "gone"}, "t", CheckpointNotFoundError, "no checkpoint 'gone'"),
        ("node", {"session_id": "nobody"}, "t", CheckpointNotFoundError, "'nobody'"),
        ("node", {}, "s", CheckpointConflictError, "has checkpoints already"),
        ("tombstone", {}, "t", CheckpointError, "is a tombstone"),
    ],
)
async def test_a_fork_that_cannot_be_is_refused(
    able: Any, kind: str, which: dict[str, str], to: str, error: type[Exception], complaint: str
) -> None:
    """An unknown id or session, a used session, and a tombstone; nothing is changed [PER-20]."""
    await able.save_checkpoint("s", checkpoint(kind=kind))

    with pytest.raises(error, match=complaint):
        await fork(able, to, **which)

    assert [info.id for info in able.list_infos()] == ["c0"]
