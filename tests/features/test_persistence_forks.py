"""Forks through the agent: another session from any checkpoint, and both lines stay."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from persisted_runs import SEAT, Boom, Seat, Trip

import koogbook as kb
from koogbook.errors import CheckpointConflictError, CheckpointError, CheckpointNotFoundError


async def crashed(store: Any) -> str:
    """Session ``s`` with one checkpoint, after ``plan``; its id."""
    run = await Trip(store).crash()
    assert run.last_checkpoint is not None
    return run.last_checkpoint.id


async def test_a_fork_goes_on_from_its_checkpoint(store: Any) -> None:
    """``run(None)`` with the new id runs what comes after it [PER-20]."""
    origin = await crashed(store)
    trip = Trip(store)

    await trip.agent.fork("s", origin, to="t")
    run = await trip.run(None, session_id="t")

    assert [name for name, _ in trip.ran] == ["book", "pay"]
    assert (run.resumed, run.output) == (True, "pay(book(plan(Rome)))")


async def test_both_lines_stay(store: Any) -> None:
    """What one does is not in the other [PER-20]."""
    origin = await crashed(store)
    trip = Trip(store)
    await trip.agent.fork("s", origin, to="t")
    await trip.run(None, session_id="t")

    run = await Trip(store).run("Rome")

    assert run.resumed
    assert [one.info.version for one in await store.get_checkpoints("s")] == [0, 1, 2, 3]
    assert [one.info.kind for one in await store.get_checkpoints("t")] == [
        "fork",
        "node",
        "node",
        "tombstone",
    ]


async def test_a_fork_is_linked_to_its_parent(store: Any) -> None:
    """Across the sessions, so that a tree can be drawn [PER-20]."""
    origin = await crashed(store)

    info = await Trip(store).agent.fork("s", origin, to="t")

    assert (info.session_id, info.parent, info.kind, info.version) == ("t", origin, "fork", 0)


async def test_the_first_checkpoint_after_a_fork_follows_the_fork(store: Any) -> None:
    """The line has no gap [PER-20]."""
    origin = await crashed(store)
    trip = Trip(store)
    info = await trip.agent.fork("s", origin, to="t")
    await trip.run(None, session_id="t")

    assert (await store.get_checkpoints("t"))[1].info.parent == info.id


async def test_a_fork_from_the_middle_of_a_finished_run_goes_on_there(store: Any) -> None:
    """A completed session can be tried again from any of its nodes [PER-20]."""
    await Trip(store).run()
    middle = (await store.get_checkpoints("s"))[1].info.id
    trip = Trip(store)

    await trip.agent.fork("s", middle, to="t")
    run = await trip.run(None, session_id="t")

    assert ([name for name, _ in trip.ran], run.output) == (["pay"], "pay(book(plan(Rome)))")


async def test_a_fork_has_the_storage_of_its_origin(store: Any) -> None:
    """And its own from there on [PER-20]."""
    seen: list[Any] = []

    async def keep(ctx: kb.Context) -> None:
        ctx.storage.set(SEAT, Seat(7, "A"))

    async def look(ctx: kb.Context) -> None:
        seen.append(ctx.storage.get(SEAT))

    first = await Trip(store, during={"plan": keep}).crash()
    assert first.last_checkpoint is not None
    trip = Trip(store, during={"book": look})
    await trip.agent.fork("s", first.last_checkpoint.id, to="t")
    await trip.run(None, session_id="t")

    assert seen == [Seat(7, "A")]


async def test_a_fork_of_a_fork_goes_on(store: Any) -> None:
    """To any depth [PER-20]."""
    origin = await crashed(store)
    trip = Trip(store)
    first = await trip.agent.fork("s", origin, to="t")
    await trip.agent.fork("t", first.id, to="u")

    assert (await trip.run(None, session_id="u")).output == "pay(book(plan(Rome)))"


async def test_forked_lines_keep_their_own_histories(store: Any) -> None:
    """Two lines that grew from one history differ from there on [PER-20]."""
    origin = await crashed(store)

    async def say(ctx: kb.Context) -> None:
        async with ctx.llm.write_session() as session:
            session.append(kb.user(f"in {ctx.session_id}"))

    trip = Trip(store, during={"book": say})
    await trip.agent.fork("s", origin, to="t")
    await trip.run(None, session_id="t")
    await trip.run(None, session_id="s")

    texts = {
        name: [one.text for one in (await store.get_latest_checkpoint(name)).messages] for name in ("s", "t")
    }
    assert (texts["s"][2], texts["t"][2]) == ("in s", "in t")
    assert texts["s"][:2] == texts["t"][:2]


@pytest.mark.parametrize(
    ("session_id", "checkpoint_id", "to", "error"),
    [
        ("s", "unheard of", "t", CheckpointNotFoundError),
        ("nobody", None, "t", CheckpointNotFoundError),
        ("s", None, "s", CheckpointConflictError),
        ("s", None, "used", CheckpointConflictError),
    ],
)
async def test_a_fork_that_cannot_be_is_refused(
    store: Any, session_id: str, checkpoint_id: str | None, to: str, error: type[Exception]
) -> None:
    """Unknown id, unknown session, a session that is in use; nothing is changed [PER-20]."""
    origin = await crashed(store)
    await Trip(store).crash(session_id="used")

    with pytest.raises(error):
        await Trip(store).agent.fork(session_id, checkpoint_id or origin, to=to)

    counts = [len(await store.get_checkpoints(name)) for name in ("s", "used", "t")]
    assert counts == [1, 1, 0]


async def test_nothing_comes_after_a_tombstone(store: Any) -> None:
    """A fork from it is refused and says where to fork instead [PER-20]."""
    run = await Trip(store).run()
    assert run.last_checkpoint is not None

    with pytest.raises(CheckpointError, match="Fork from the one before"):
        await Trip(store).agent.fork("s", run.last_checkpoint.id, to="t")


async def test_a_fork_that_fails_can_be_resumed(store: Any) -> None:
    """It is a session like any other [PER-20]."""
    origin = await crashed(store)

    async def fail(ctx: kb.Context) -> None:
        raise Boom

    trip = Trip(store, during={"pay": fail})
    await trip.agent.fork("s", origin, to="t")
    with pytest.raises(Boom):
        await trip.run(None, session_id="t")

    assert (await Trip(store).run(None, session_id="t")).output == "pay(book(plan(Rome)))"


async def test_a_fork_takes_an_id_as_the_views_print_it(sqlite: kb.SqliteCheckpoints) -> None:
    """The beginning of an id is enough where one checkpoint alone begins so [PER-20]."""
    origin = await crashed(sqlite)

    info = await Trip(sqlite).agent.fork("s", origin[:8], to="t")

    assert info.parent == origin


async def test_an_id_that_several_begin_with_is_refused(sqlite: kb.SqliteCheckpoints) -> None:
    """Nothing is guessed [PER-20]."""
    await crashed(sqlite)
    first = (await sqlite.get_checkpoints("s"))[0]
    for version, name in enumerate(("aa1", "aa2"), start=1):
        await sqlite.save_checkpoint("s", replace(first, info=replace(first.info, id=name, version=version)))

    with pytest.raises(CheckpointNotFoundError, match="begin with 'aa'"):
        await Trip(sqlite).agent.fork("s", "aa", to="t")


@pytest.mark.parametrize("place", ["plan", "trip/plan"])
async def test_a_fork_takes_the_name_of_a_node(store: Any, place: str) -> None:
    """It means the last checkpoint that was saved after that node [PER-20]."""
    origin = await crashed(store)

    info = await Trip(store).agent.fork("s", place, to="t")

    assert info.parent == origin
