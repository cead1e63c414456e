"""Checkpoints that the code no longer fits, and forged ones, are refused and never guessed at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from msgspec.structs import replace
from persisted_runs import SEAT, Boom, PlainCheckpoints, Trip, notices

import koogbook as kb
from koogbook.errors import (
    IncompatibleCheckpointError,
    UndecodableValueError,
    UnfinishedRunError,
)
from koogbook.features.persistence.checkpoint import SCHEMA_VERSION


def one_node(
    store: Any, output: Any, *, name: str = "work", strategy: str = "job", given: Any = "x"
) -> kb.Agent:
    """An agent of a node with this output type, and a second node that fails."""
    job = kb.strategy(strategy, input=str)

    async def work(ctx: kb.Context, text: str) -> Any:
        return given

    work.__annotations__["return"] = output
    first = job.node(name=name)(work)

    @job.node
    async def fail(ctx: kb.Context, value: Any) -> Any:
        raise Boom

    job.start >> first >> fail >> job.finish
    return kb.Agent(kb.OfflineExecutor(), "m", job).install(kb.Persistence(store))


@dataclass
class Price:
    """An output type."""

    total: float


@pytest.mark.parametrize(
    ("now", "difference"),
    [
        ({"output": str, "name": "renamed"}, "node job/work: is gone"),
        ({"output": int, "given": 1}, "output of job/work"),
        ({"output": Price, "given": Price(1.0)}, "output of job/work"),
        ({"output": str, "strategy": "other"}, "strategy: stored 'job', now 'other'"),
    ],
)
async def test_code_that_no_longer_fits_is_refused(store: Any, now: dict[str, Any], difference: str) -> None:
    """The error says what differs and what to do; nothing was changed [PER-05]."""
    with pytest.raises(Boom):
        await one_node(store, str).run("go", session_id="s")

    with pytest.raises(IncompatibleCheckpointError) as caught:
        await one_node(store, **now).run("go", session_id="s")

    assert any(difference in one for one in caught.value.differences)
    assert "resume='never'" in str(caught.value)
    assert len(await store.get_checkpoints("s")) == 1


async def test_a_change_elsewhere_is_a_warning(store: Any) -> None:
    """A node that is new does not stand in the way [PER-05]."""
    await Trip(store).crash()
    trip = Trip(store, version="2")

    run = await trip.run()

    assert run.resumed
    assert "strategy version: stored 1, now 2" in notices(run, "strategy changed")[0]


async def test_a_checkpoint_of_a_newer_form_is_refused(store: Any) -> None:
    """A newer koogbook may mean something else by it [PER-21c]."""
    plain = PlainCheckpoints()
    await Trip(plain).crash()
    saved = plain.saved[0]
    newer = replace(saved, info=replace(saved.info, schema_version=SCHEMA_VERSION + 1))
    await store.save_checkpoint("s", newer)

    with pytest.raises(
        IncompatibleCheckpointError, match=f"stored {SCHEMA_VERSION + 1}, this koogbook knows"
    ):
        await Trip(store).run()


@pytest.mark.parametrize(
    "body",
    [
        b"7",
        b"{}",
        b"[",
        b"",
        b"\xff\xfe",
        b'{"$object":["os.system","id"]}',
        b"cos\nsystem\n(S'id'\ntR.",
    ],
)
async def test_a_forged_output_is_data_of_the_wrong_type(body: bytes) -> None:
    """Decoded into the declared type or refused; no name in it is looked up [PER-08]."""
    store = PlainCheckpoints()
    await Trip(store).crash()
    store.saved[0] = replace(store.saved[0], output=body)

    with pytest.raises(IncompatibleCheckpointError, match="output of trip/plan"):
        await Trip(store).run()


@pytest.mark.parametrize("body", [b"7", b"[", b"", b'{"$object":["os.system",{"row":"id"}]}'])
async def test_a_forged_storage_entry_is_refused_when_it_is_asked_for(body: bytes) -> None:
    """With the key's type, and not before [PER-08]."""
    store = PlainCheckpoints()
    await Trip(store).crash()
    store.saved[0] = replace(store.saved[0], storage={"seat": body})

    async def look(ctx: kb.Context) -> None:
        ctx.storage.get(SEAT)

    with pytest.raises(UndecodableValueError):
        await Trip(store, during={"book": look}).run()


@pytest.mark.parametrize("body", [b"[", b"[]", b"{}", b'{"strategy": 1}', b"\xff", b"7"])
async def test_a_forged_fingerprint_is_refused(body: bytes) -> None:
    """It says nothing that could be trusted [PER-08]."""
    store = PlainCheckpoints()
    await Trip(store).crash()
    store.saved[0] = replace(store.saved[0], fingerprint_body=body)

    with pytest.raises(IncompatibleCheckpointError, match="damaged"):
        await Trip(store).run()


async def test_a_forged_input_is_no_input() -> None:
    """It equals no new one, so a message is never taken for it [PER-08]."""
    plain = PlainCheckpoints()
    await Trip(plain).crash("Rome")
    plain.saved[0] = replace(plain.saved[0], input=b"{broken")

    with pytest.raises(UnfinishedRunError):
        await Trip(plain).run("Rome")


@pytest.mark.parametrize("keys", [b"7", b"[]", b'"x"', b"null"])
async def test_forged_keys_in_a_fingerprint_are_refused(keys: bytes) -> None:
    """As the rest of it [PER-08]."""
    store = PlainCheckpoints()
    await Trip(store).crash()
    body = store.saved[0].fingerprint_body.replace(b'"keys":{}', b'"keys":' + keys)
    store.saved[0] = replace(store.saved[0], fingerprint_body=body)

    with pytest.raises(IncompatibleCheckpointError, match="damaged"):
        await Trip(store).run()


@pytest.mark.parametrize("path", ["trip", "trip/", "trip/plan/deeper", "other/plan", "", "trip/finish/x"])
async def test_a_forged_path_is_refused(path: str) -> None:
    """Only nodes of this strategy can be gone on from [PER-08]."""
    store = PlainCheckpoints()
    await Trip(store).crash()
    store.saved[0] = replace(store.saved[0], info=replace(store.saved[0].info, path=path))

    with pytest.raises(IncompatibleCheckpointError):
        await Trip(store).run()
