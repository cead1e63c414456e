"""What a checkpoint cannot hold, and saves that fail: what is said, and what the run does then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from persisted_runs import CLIENT, Boom, Client, PlainCheckpoints, Trip, notices, set_client

import koogbook as kb
from koogbook.errors import CheckpointError, UnencodableValueError
from koogbook.events import CheckpointSkipped


async def test_a_storage_value_that_cannot_be_stored_is_left_out_by_name(store: Any) -> None:
    """The rest is saved, and the checkpoint names the key [PER-07]."""
    run = await Trip(store, during={"plan": set_client}).run()

    found = (await store.get_checkpoints("s"))[0]
    assert (list(found.storage), found.info.left_out) == (["seat"], ("client",))
    assert [text.partition(" ")[0] for text in notices(run, "storage key left out")] == ["client"]


async def test_a_value_left_out_stays_usable_in_its_run(store: Any) -> None:
    """Only a resumed run misses it [PER-07a]."""
    seen: list[Any] = []

    async def look(ctx: kb.Context) -> None:
        seen.append(ctx.storage.get_value(CLIENT))

    await Trip(store, during={"plan": set_client, "pay": look}).run()

    assert isinstance(seen[0], Client)


async def test_the_last_checkpoint_says_what_was_left_out(store: Any) -> None:
    """Without reading the store [PER-07a]."""
    run = await Trip(store, during={"plan": set_client}).crash()

    assert run.last_checkpoint is not None
    assert (run.last_checkpoint.path, run.last_checkpoint.left_out) == ("trip/plan", ("client",))


async def test_strict_raises_where_a_key_would_be_left_out(store: Any) -> None:
    """And saves nothing [PER-07a]."""
    with pytest.raises(UnencodableValueError, match="client"):
        await Trip(store, strict=True, during={"plan": set_client}).run()

    assert await store.get_checkpoints("s") == []


def handing_on_a_client(store: Any, fails: Sequence[bool] = (), **options: Any) -> kb.Agent:
    """An agent whose second of three nodes gives an output that cannot be stored; the third may fail."""
    trip = kb.strategy("trip", input=str, output=str)

    @trip.node
    async def plan(ctx: kb.Context, text: str) -> str:
        return text

    @trip.node
    async def connect(ctx: kb.Context, text: str) -> Any:
        return Client()

    @trip.node
    async def use(ctx: kb.Context, client: Any) -> str:
        if fails:
            raise Boom
        return type(client).__name__

    trip.start >> plan >> connect >> use >> trip.finish
    return kb.Agent(kb.OfflineExecutor(), "m", trip).install(kb.Persistence(store, **options))


async def test_an_output_that_cannot_be_stored_skips_its_checkpoint(store: Any) -> None:
    """The run goes on; an event names node and type [PER-07]."""
    run = await handing_on_a_client(store).run("go", session_id="s")

    found = [one.info.path for one in await store.get_checkpoints("s")]
    skipped = [event.reason for event in run.events if isinstance(event, CheckpointSkipped)]
    assert found == ["trip/plan", "trip/use", "trip/finish"]
    assert "trip/connect (Client) cannot be stored" in skipped[0]


async def test_after_a_skipped_checkpoint_the_line_goes_on_from_the_one_before(store: Any) -> None:
    """Its parent is what was really saved [PER-07a]."""
    await handing_on_a_client(store).run("go", session_id="s")

    found = await store.get_checkpoints("s")
    assert found[1].info.parent == found[0].info.id


async def test_strict_raises_where_a_checkpoint_would_be_skipped(store: Any) -> None:
    """At that boundary [PER-07a]."""
    with pytest.raises(UnencodableValueError):
        await handing_on_a_client(store, strict=True).run("go", session_id="s")

    assert (await store.get_latest_checkpoint("s")).info.path == "trip/plan"


async def test_an_input_that_cannot_be_stored_is_said(store: Any) -> None:
    """Only ``run(None)`` can then go on [PER-05a]."""
    anything = kb.strategy("anything")

    @anything.node
    async def work(ctx: kb.Context, value: Any) -> str:
        return "done"

    anything.start >> work >> anything.finish
    agent = kb.Agent(kb.OfflineExecutor(), "m", anything).install(kb.Persistence(store))

    run = await agent.run(Client(), session_id="s")

    assert "run(None)" in notices(run, "input not stored")[0]


class Failing(PlainCheckpoints):
    """A store whose save number ``fails_at`` raises."""

    def __init__(self, fails_at: int, error: Exception) -> None:
        super().__init__()
        self.fails_at = fails_at
        self.error = error
        self.tried = 0

    async def save_checkpoint(self, session_id: str, checkpoint: Any) -> None:
        """See :class:`koogbook.features.persistence.storage.CheckpointStorage`."""
        self.tried += 1
        if self.tried == self.fails_at:
            raise self.error
        await super().save_checkpoint(session_id, checkpoint)


def stop_once() -> Callable[[kb.Context], Any]:
    """What a node does that fails the first time."""
    left = [Boom()]

    async def stop(ctx: kb.Context) -> None:
        if left:
            raise left.pop()

    return stop


ERRORS = [CheckpointError("full"), OSError("no space"), RuntimeError("driver"), TimeoutError("slow")]


@pytest.mark.parametrize("error", ERRORS)
async def test_a_save_that_fails_stops_the_run_at_that_boundary(error: Exception) -> None:
    """By default, whatever the store raises; the next node does not start [PER-03a]."""
    trip = Trip(Failing(2, error))

    with pytest.raises(type(error), match=str(error)):
        await trip.run()

    assert [name for name, _ in trip.ran] == ["plan", "book"]


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("fails_at", [1, 2, 3, 4])
async def test_a_save_that_fails_can_be_reported_and_passed_over(error: Exception, fails_at: int) -> None:
    """``on_save_error="log"``: the run completes, the event says which save failed, the tombstone's too [PER-03a]."""
    run = await Trip(Failing(fails_at, error), on_save_error="log").run()

    skipped = [event.reason for event in run.events if isinstance(event, CheckpointSkipped)]
    assert (run.output, len(skipped)) == ("pay(book(plan(Rome)))", 1)
    assert str(error) in skipped[0]


async def test_a_run_whose_tombstone_failed_is_finished_by_the_next_one() -> None:
    """No node runs again [PER-06]."""
    store = Failing(4, OSError("no space"))
    with pytest.raises(OSError, match="no space"):
        await Trip(store).run()

    again = Trip(store)
    run = await again.run()

    assert (run.output, again.ran) == ("pay(book(plan(Rome)))", [])


async def test_after_a_passed_over_save_a_restart_goes_on_from_the_one_before() -> None:
    """Nothing is taken for saved that was not [PER-03a]."""
    store = Failing(2, OSError("no space"))

    async def fail(ctx: kb.Context) -> None:
        raise Boom

    with pytest.raises(Boom):
        await Trip(store, on_save_error="log", during={"pay": fail}).run()

    run = await Trip(store).run()

    assert run.resumed_from is not None
    assert run.resumed_from.path == "trip/plan"


async def test_a_run_that_goes_on_before_a_skipped_checkpoint_says_so(store: Any) -> None:
    """Where the same installation saw it being skipped: which nodes may run again [PER-07a]."""
    is_broken = [True]
    agent = handing_on_a_client(store, fails=is_broken)
    with pytest.raises(Boom):
        await agent.run("go", session_id="s")
    is_broken.clear()

    runs = [await agent.run("go", session_id="s"), await agent.run("go", session_id="s")]

    texts = [notices(run, "checkpoint skipped") for run in runs]
    assert "goes on after trip/plan" in texts[0][0]
    assert "(trip/connect)" in texts[0][0]
    assert (runs[0].resumed, texts[1]) == (True, [])


async def test_a_skip_that_a_later_save_has_made_good_is_not_said() -> None:
    """The run goes on from the later one, and nothing runs again [PER-07a]."""
    store = Failing(1, OSError("no space"))
    trip = Trip(store, on_save_error="log", during={"pay": stop_once()})
    with pytest.raises(Boom):
        await trip.run()

    run = await trip.run()

    assert (run.resumed, notices(run, "checkpoint skipped")) == (True, [])


class Unsure(kb.MemoryCheckpoints):
    """Writes, and says once that it could not."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0

    async def append_checkpoint(self, draft: Any) -> Any:
        """See the class."""
        info = await super().append_checkpoint(draft)
        self.writes += 1
        if self.writes == 1:
            raise ConnectionError("no answer after the write")
        return info


@pytest.mark.parametrize("on_save_error", ["log", "raise"])
async def test_a_save_that_failed_after_it_was_written_doubles_no_message(on_save_error: Any) -> None:
    """Whether the run goes on or the next one resumes: each message is stored once [PER-03a, KB-059]."""
    store = Unsure()
    trip = Trip(store, on_save_error=on_save_error)
    if on_save_error == "raise":
        with pytest.raises(ConnectionError, match="after the write"):
            await trip.run()
        await Trip(store).run()
    else:
        await trip.run()
    saved = [one for one in await store.get_checkpoints("s") if one.info.kind != "tombstone"]

    assert store.writes > 1
    assert any(checkpoint.messages for checkpoint in saved)
    for checkpoint in saved:
        ids = [message.id for message in checkpoint.messages]
        assert len(set(ids)) == len(ids)
