"""What is saved, when, and what is said where it is not."""

from __future__ import annotations

import asyncio
from datetime import UTC
from typing import Any

import pytest
from persisted_runs import PlainCheckpoints, Trip, notices, set_client

import koogbook as kb
from koogbook.events import CheckpointSaved, NodeStarting, TombstoneSaved
from koogbook.features.persistence.checkpoint import SCHEMA_VERSION


async def test_each_completed_node_has_a_checkpoint_and_the_end_a_tombstone(store: Any) -> None:
    """Start and finish nodes have none; versions count from 0 [PER-03] [PER-06]."""
    await Trip(store).run()

    found = await store.get_checkpoints("s")
    assert [(one.info.version, one.info.kind, one.info.path) for one in found] == [
        (0, "node", "trip/plan"),
        (1, "node", "trip/book"),
        (2, "node", "trip/pay"),
        (3, "tombstone", "trip/finish"),
    ]


async def test_a_checkpoint_holds_the_state_after_its_node(store: Any, ticking_clock: kb.FixedClock) -> None:
    """Identity, place, output, history, settings and storage [PER-01]."""
    trip = Trip(
        store,
        during={"plan": set_client},
        model="maker:small",
        params=kb.LLMParams(temperature=0.5, tool_choice=kb.ToolChoice("required")),
        tools=[kb.Tool(lambda: "", name="look")],
        version="7",
    )

    run = await trip.run()

    found = (await store.get_checkpoints("s"))[0]
    info = found.info
    assert (info.session_id, info.agent_id, info.run_id) == ("s", "traveller", run.run_id)
    assert (info.path, info.node_path, info.kind) == ("trip/plan", "traveller/trip/plan", "node")
    assert (info.iterations, info.parent, info.strategy_version) == (1, None, "7")
    assert (found.input, found.output) == (b'"Rome"', b'"plan(Rome)"')
    assert [one.text for one in found.messages] == ["rules", "plan Rome"]
    assert (found.model, found.params.temperature, found.tools) == (
        kb.LLModel("small", "maker"),
        0.5,
        ("look",),
    )
    assert found.params.tool_choice == kb.ToolChoice("required")
    assert (list(found.storage), info.left_out) == (["seat"], ("client",))


async def test_the_time_of_a_checkpoint_is_aware_utc(store: Any) -> None:
    """From the clock in use [PER-01]."""
    await Trip(store).run()

    assert (await store.get_latest_checkpoint("s")).info.created.tzinfo == UTC


async def test_each_checkpoint_follows_the_one_before(store: Any) -> None:
    """Parent links make a line [PER-01]."""
    await Trip(store).run()

    found = await store.get_checkpoints("s")
    assert [one.info.parent for one in found] == [None, *(one.info.id for one in found[:-1])]


async def test_the_second_node_reads_the_first_ones_checkpoint(store: Any) -> None:
    """It was saved and awaited before the next node started [PER-03a]."""
    seen: list[Any] = []

    async def look(ctx: kb.Context) -> None:
        seen.append(await ctx.persistence().latest())

    await Trip(store, during={"plan": look, "book": look}).run()

    assert seen[0] is None
    assert (seen[1].info.path, seen[1].output) == ("trip/plan", b'"plan(Rome)"')


async def test_the_save_comes_before_the_next_node_starts(store: Any) -> None:
    """In the order of events [PER-03a]."""
    run = await Trip(store).run()

    order = [
        (event.name, event.path.rpartition("/")[2])
        for event in run.events
        if isinstance(event, CheckpointSaved | NodeStarting)
    ]
    assert order[1:5] == [
        ("NodeStarting", "plan"),
        ("CheckpointSaved", "plan"),
        ("NodeStarting", "book"),
        ("CheckpointSaved", "book"),
    ]


async def test_a_failed_node_has_no_checkpoint(store: Any) -> None:
    """The one before it stays the last [PER-03]."""
    await Trip(store).crash()

    assert (await store.get_latest_checkpoint("s")).info.path == "trip/plan"


async def test_nodes_of_a_subgraph_are_saved_by_their_path(store: Any) -> None:
    """``strategy/subgraph/node`` [PER-01]."""
    outer = kb.strategy("outer", input=str, output=str)
    inner = outer.subgraph("inner", input=str, output=str)

    @inner.node
    async def work(ctx: kb.Context, text: str) -> str:
        return text

    inner.start >> work >> inner.finish
    outer.start >> inner.as_node >> outer.finish
    agent = kb.Agent(kb.OfflineExecutor(), "m", outer, id="a").install(kb.Persistence(store))

    await agent.run("go", session_id="s")

    assert (await store.get_checkpoints("s"))[0].info.node_path == "a/outer/inner/work"


async def test_a_run_without_a_session_id_is_saved_under_its_own(store: Any) -> None:
    """A fresh one [PER-03]."""
    run = await Trip(store).agent.run("Rome")

    assert len(await store.get_checkpoints(run.session_id)) == 4


async def test_without_a_storage_that_is_said_once() -> None:
    """At the first run of an install, and not again [PER-03]."""
    trip = Trip()

    first, second = await trip.run(), await trip.run()

    assert [len(notices(run, "no persistence")) for run in (first, second)] == [1, 0]
    assert "kb.SqliteCheckpoints()" in notices(first, "no persistence")[0]


async def test_without_a_storage_nothing_is_kept() -> None:
    """A failed run begins afresh [PER-02]."""
    trip = Trip()
    await trip.crash()

    run = await trip.run("Oslo")

    assert (run.resumed, run.last_checkpoint) == (False, None)


async def test_automatic_saving_can_be_switched_off(store: Any) -> None:
    """No checkpoints and no tombstone [PER-04]."""
    run = await Trip(store, automatic=False).run()

    assert (await store.get_checkpoints("s"), run.last_checkpoint) == ([], None)


async def test_without_automatic_saving_a_run_still_resumes(store: Any) -> None:
    """And leaves no tombstone, so the next one resumes again [PER-04]."""
    await Trip(store).crash()
    trip = Trip(store, automatic=False)

    runs = [await trip.run(), await trip.run()]

    assert [run.resumed for run in runs] == [True, True]


async def test_a_plain_store_is_said_to_be_weaker_once() -> None:
    """What its missing method costs is an event [PER-02]."""
    trip = Trip(PlainCheckpoints())

    first, second = await trip.run(), await trip.run()

    assert [len(notices(run, "plain checkpoint storage")) for run in (first, second)] == [1, 0]


async def test_a_store_without_leases_is_said_to_be_weaker_once() -> None:
    """Another process is not kept away, which is an event [PER-02] [PER-05c]."""
    trip = Trip(PlainCheckpoints())

    first, second = await trip.run(), await trip.run()

    assert [len(notices(run, "no leases")) for run in (first, second)] == [1, 0]


@pytest.mark.parametrize("kind", ["memory", "sqlite", "none"])
async def test_a_store_that_needs_no_lease_or_has_them_is_not_said_to_be_weaker(
    kind: str, sqlite: kb.SqliteCheckpoints
) -> None:
    """Memory is no other process's, and nothing is kept where nothing is saved [PER-02]."""
    run = await Trip({"memory": kb.MemoryCheckpoints(), "sqlite": sqlite, "none": None}[kind]).run()

    assert notices(run, "no leases") == []


async def test_a_checkpoint_says_in_which_form_it_is(store: Any) -> None:
    """Apart from its running number and the strategy's version [PER-01]."""
    await Trip(store, version="7").run()

    found = (await store.get_checkpoints("s"))[1].info
    assert (found.version, found.schema_version, found.strategy_version) == (1, SCHEMA_VERSION, "7")


async def test_a_checkpoint_has_the_type_of_its_output_in_words(store: Any) -> None:
    """From the fingerprint, so that it costs no byte; a tombstone has none [PER-01]."""
    await Trip(store).run()

    assert [one.output_type for one in await store.get_checkpoints("s")] == ["str", "str", "str", ""]


async def test_after_a_completed_run_the_next_one_starts_afresh(store: Any) -> None:
    """With its own input, three times in a row [PER-06]."""
    trip = Trip(store)

    runs = [await trip.run(place) for place in ("Rome", "Oslo", "Bern")]

    assert [(run.resumed, run.output) for run in runs] == [
        (False, "pay(book(plan(Rome)))"),
        (False, "pay(book(plan(Oslo)))"),
        (False, "pay(book(plan(Bern)))"),
    ]


async def test_versions_go_on_over_runs(store: Any) -> None:
    """The running number belongs to the session id [PER-01]."""
    trip = Trip(store)
    await trip.run()
    await trip.run()

    assert [one.info.version for one in await store.get_checkpoints("s")] == list(range(8))


async def test_the_tombstone_is_an_event(store: Any) -> None:
    """And the last thing that was saved [PER-06]."""
    run = await Trip(store).run()

    assert [event.version for event in run.events if isinstance(event, TombstoneSaved)] == [3]
    assert run.last_checkpoint is not None
    assert (run.last_checkpoint.version, run.last_checkpoint.path) == (3, "trip/finish")


async def test_a_cancelled_run_leaves_no_tombstone(store: Any) -> None:
    """It is unfinished and goes on the next time [PER-06]."""
    waiting = asyncio.Event()

    async def wait(ctx: kb.Context) -> None:
        waiting.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(Trip(store, during={"pay": wait}).run())
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    run = await Trip(store).run()

    assert (run.resumed, run.output) == (True, "pay(book(plan(Rome)))")


async def test_a_run_cancelled_after_its_last_save_is_still_unfinished(store: Any) -> None:
    """Between the last node's checkpoint and the tombstone: the finish is done again, no node is [PER-06]."""
    trip = Trip(store)

    def stop(event: CheckpointSaved) -> None:
        if event.path == "trip/pay":
            raise asyncio.CancelledError

    trip.agent.on(stop, CheckpointSaved)
    with pytest.raises(asyncio.CancelledError):
        await trip.run()

    again = Trip(store)
    run = await again.run()

    assert (run.output, again.ran) == ("pay(book(plan(Rome)))", [])
