"""Branches that fail or are stopped: what becomes of the others, and what is left behind."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest
from parallel_world import (
    NOTES,
    agent_of,
    block_of,
    fails,
    gives,
    history,
    notices,
    run_of,
    says,
    stored,
    told,
)

import koogbook as kb
from koogbook import events
from koogbook.errors import FeatureNotInstalledError, MaxIterationsError, MergeError
from koogbook.runtime.parallel.merges import fold, select_by_max

ALL = fold([], lambda found, output: [*found, output], history="append_all", storage="union")


class Boom(Exception):
    """What a branch fails with on purpose."""


def waits(stopped: list[str], name: str, *, tidy: float = 0.0, instead: BaseException | None = None) -> Any:
    """A branch that waits for ever, and says when it is stopped and has tidied up."""

    async def branch(ctx: kb.Context, value: Any) -> None:
        try:
            async with ctx.llm.write_session() as session:
                session.append(kb.user("half done"))
                await asyncio.Event().wait()
        finally:
            await asyncio.sleep(tidy)
            stopped.append(name)
            if instead is not None:
                raise instead

    return branch


# ------------------------------------------------------------------------------------------- one fails


async def test_the_first_failure_stops_the_others_and_waits_for_them() -> None:
    """None is left when the error comes out [GRA-08]."""
    stopped: list[str] = []
    tasks = asyncio.all_tasks()

    async def late(ctx: kb.Context, value: Any) -> None:
        await asyncio.sleep(0.01)
        raise Boom("no")

    branches = {"a": waits(stopped, "a", tidy=0.02), "b": late, "c": waits(stopped, "c")}
    agent = agent_of(block_of(ALL, branches)[0])

    with pytest.raises(Boom) as caught:
        await agent.run("x")

    assert sorted(stopped) == ["a", "c"]
    assert asyncio.all_tasks() == tasks
    assert caught.value.__notes__[:2] == [
        "in node trip/research/b, visit 1",
        "in branch b of trip/research; the other branches were stopped (on_error='cancel')",
    ]
    assert [(one.path, one.cancelled) for one in told(agent.last_run, events.BranchFailed)] == [
        ("trip/research/b", False),
        ("trip/research/c", True),
        ("trip/research/a", True),
    ]


async def test_nothing_of_the_branches_is_taken_over_when_one_fails() -> None:
    """Not even of those that had ended [GRA-08]."""
    agent = agent_of(
        block_of(ALL, {"a": says("done", notes=["done"]), "b": says("late", sleep=0.01), "c": fails(Boom())})[
            0
        ]
    )
    with pytest.raises(Boom):
        await agent.run("x")

    assert agent.last_run is not None
    assert (history(agent.last_run), stored(agent.last_run, NOTES)) == (["before"], ["before"])
    assert told(agent.last_run, events.BranchesMerged) == []


async def test_further_failures_stand_in_the_notes() -> None:
    """The first one is raised [GRA-08]."""
    with pytest.raises(Boom, match="first") as caught:
        await run_of(ALL, {"a": waits([], "a", instead=ValueError("second")), "b": fails(Boom("first"))})

    assert "branch a failed as well: ValueError: second" in caught.value.__notes__


async def test_a_branch_that_has_not_begun_does_not_begin() -> None:
    """When the first one fails at once [GRA-08]."""
    ran = []

    async def late(ctx: kb.Context, value: Any) -> None:
        ran.append(value)

    agent = agent_of(block_of(ALL, {"a": fails(Boom()), "b": late})[0])
    with pytest.raises(Boom):
        await agent.run("x")

    assert ran == []
    assert [one.path for one in told(agent.last_run, events.BranchStarting)] == ["trip/research/a"]


async def test_after_a_failure_the_agent_can_be_run_again() -> None:
    """Locks are free and nothing is half done [AGT-06]."""
    problems: list[BaseException] = [Boom()]

    async def once(ctx: kb.Context, value: Any) -> str:
        if problems:
            raise problems.pop()
        return "b"

    agent = agent_of(block_of(ALL, {"a": says("a"), "b": once})[0])
    with pytest.raises(Boom):
        await agent.run("x")

    assert (await agent.run("x")).output == ["a", "b"]


# ------------------------------------------------------------------------------------------- collect


async def test_with_collect_the_others_go_on_and_are_merged() -> None:
    """The failure is told, and nothing of that branch is taken over [GRA-08]."""

    async def half(ctx: kb.Context, value: Any) -> None:
        await says("half", notes=["half"])(ctx, value)
        raise Boom("no")

    run = await run_of(ALL, {"a": half, "b": says("b", notes=["b"])}, on_error="collect")

    assert (run.output, history(run), stored(run, NOTES)) == (["b"], ["before", "b"], ["before", "b"])
    ((level, text),) = notices(run, "branch failed")
    assert (level, "branch a of trip/research has failed" in text, "Boom: no" in text) == (
        "warning",
        True,
        True,
    )
    (merged,) = told(run, events.BranchesMerged)
    assert (merged.failed, merged.thrown_away) == (("a",), ("a (failed): 1 message, storage notes",))


async def test_when_all_have_failed_there_is_nothing_to_merge() -> None:
    """The error names each, and comes from the first [GRA-08]."""
    with pytest.raises(MergeError, match="a: Boom: one; b: ValueError: two") as caught:
        await run_of(ALL, {"a": fails(Boom("one")), "b": fails(ValueError("two"))}, on_error="collect")

    assert isinstance(caught.value.__cause__, Boom)


async def test_a_branch_that_was_cancelled_by_itself_is_a_failed_one() -> None:
    """With collect; otherwise it ends the block, as in any node [GRA-08]."""
    branches = {"a": fails(asyncio.CancelledError()), "b": gives("b")}

    assert (await run_of(ALL, branches, on_error="collect")).output == ["b"]
    with pytest.raises(asyncio.CancelledError):
        await run_of(ALL, branches)


async def test_a_branch_that_somebody_cancelled_before_it_began_is_a_failed_one() -> None:
    """It has a result like any other [GRA-08]."""

    async def cancel_other(ctx: kb.Context, value: Any) -> str:
        next(task for task in asyncio.all_tasks() if task.get_name() == "victim").cancel()
        return "a"

    run = await run_of(
        lambda results: [(one.output, type(one.error).__name__) for one in results],
        {"a": cancel_other, "victim": gives("v")},
        on_error="collect",
    )

    assert run.output == [("a", "NoneType"), (None, "CancelledError")]


# ------------------------------------------------------------------------------------------- stopped from outside


@pytest.mark.parametrize("on_error", ["cancel", "collect"])
async def test_who_stops_the_run_stops_all_branches(on_error: Any) -> None:
    """No task is left, locks are free, and the agent can be run again [AGT-06]."""
    stopped: list[str] = []
    tasks = asyncio.all_tasks()
    branches = {"a": waits(stopped, "a", tidy=0.01), "b": waits(stopped, "b"), "c": says("c")}
    agent = agent_of(block_of(ALL, branches, on_error=on_error)[0])
    contexts: list[Any] = []
    agent.on(lambda event: contexts.append(agent.last_run), events.BranchStarting)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await agent.run("x")

    assert sorted(stopped) == ["a", "b"]
    assert asyncio.all_tasks() == tasks
    run = agent.last_run
    assert history(run) == ["before"]  # type: ignore[arg-type]
    opened = {(one.context, one.session) for one in told(run, events.SessionOpened)}
    assert {(one.context, one.session) for one in told(run, events.SessionClosed)} == opened
    assert {one.cancelled for one in told(run, events.BranchFailed)} == {True}


async def test_who_stops_again_stops_the_tidying_too() -> None:
    """A second interruption reaches branches that are still ending [AGT-06]."""
    tasks = asyncio.all_tasks()
    task = asyncio.create_task(run_of(ALL, {"a": waits([], "a", tidy=60), "b": waits([], "b", tidy=60)}))
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.sleep(0.01)
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 1)

    assert asyncio.all_tasks() == tasks


async def test_a_failure_is_not_lost_when_the_run_is_stopped_meanwhile() -> None:
    """It stands in the notes of the interruption [AGT-06]."""
    task = asyncio.create_task(run_of(ALL, {"a": waits([], "a", tidy=0.05), "b": fails(Boom("no"))}))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await task

    assert "branch b had failed: Boom: no" in caught.value.__notes__


@pytest.mark.parametrize("problem", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("on_error", ["cancel", "collect"])
def test_an_interruption_in_a_branch_goes_out(problem: type[BaseException], on_error: Any) -> None:
    """It is no failure that could be collected, and the others end [AGT-06]."""
    stopped: list[str] = []
    trip, _ = block_of(ALL, {"a": waits(stopped, "a"), "b": fails(problem())}, on_error=on_error)

    with pytest.raises(problem):
        agent_of(trip).run_sync("x")

    assert stopped == ["a"]


async def test_a_failing_listener_is_a_failure_of_the_branch() -> None:
    """Where it was installed to raise [AGT-02]."""
    agent = agent_of(block_of(select_by_max(len), {"a": gives("a"), "b": gives("bb")})[0])

    def listen(event: Any) -> None:
        raise Boom(event.path)

    agent.on(listen, events.BranchCompleted)
    with pytest.raises(Boom, match="trip/research/a"):
        await agent.run("x")


# ------------------------------------------------------------------------------------------- what is no branch's


async def test_the_limit_of_node_runs_ends_the_run_in_any_case() -> None:
    """It is the run's, and no failure that could be collected; without a loop none is spoken of [GRA-08]."""
    branches = {f"b{number}": gives(number) for number in range(4)}
    trip, _ = block_of(ALL, branches, on_error="collect")

    with pytest.raises(MaxIterationsError) as caught:
        await agent_of(trip, max_iterations=3).run("x")
    text = str(caught.value)
    assert "2 of them were in the branches of trip/research. What was committed so far to the context" in text
    assert "lead back" not in text


async def test_a_loop_in_a_branch_is_spoken_of() -> None:
    """With the node that was run most often [AGT-02]."""
    trip = kb.strategy("trip")
    block = trip.parallel("research", merge=ALL, on_error="collect")
    part = block.subgraph("part")
    again = part.do_nothing(name="again")
    part.start >> again
    part.edge(again, again)
    part.edge(again, part.finish, when=lambda value: False)
    trip.start >> block >> trip.finish

    with pytest.raises(MaxIterationsError, match="trip/research/part/again was run 7 times") as caught:
        await agent_of(trip, max_iterations=7).run("x")
    assert "7 of them were in the branches of trip/research" in str(caught.value)


async def test_a_feature_that_is_missing_is_not_collected() -> None:
    """It is missing in the code, whatever the other branches give [GRA-08]."""

    async def saves(ctx: kb.Context, value: Any) -> None:
        ctx.persistence()

    with pytest.raises(FeatureNotInstalledError):
        await run_of(ALL, {"a": gives(1), "b": saves}, on_error="collect")


async def test_a_listener_that_raises_makes_no_branch_fail() -> None:
    """The run fails, and the branch has one end [GRA-08]."""

    def breaks(event: Any) -> None:
        raise Boom

    trip, _ = block_of(ALL, {"a": gives(1), "b": gives(2)}, on_error="collect")
    agent = agent_of(trip).install(kb.EventHandler(on_branch_completed=breaks, on_handler_error="raise"))

    with pytest.raises(Boom):
        await agent.run("x")
    ends = [*told(agent.last_run, events.BranchCompleted), *told(agent.last_run, events.BranchFailed)]
    assert len({event.path for event in ends}) == len(ends)


@pytest.mark.parametrize("on_error", ["cancel", "collect"])
async def test_a_listener_that_raises_on_a_node_of_a_branch_ends_the_run(on_error: Any) -> None:
    """What a listener raises is never collected as the failure of a branch, and the others end [GRA-08, AGT-02]."""
    stopped: list[str] = []
    trip, _ = block_of(ALL, {"b": waits(stopped, "b"), "a": gives(1)}, on_error=on_error)
    agent = agent_of(trip)

    def breaks(event: Any) -> None:
        if event.path == "trip/research/a":
            raise Boom(event.path)

    agent.on(breaks, events.NodeCompleted)
    with pytest.raises(Boom, match="trip/research/a"):
        await agent.run("x")
    assert stopped == ["b"]


@pytest.mark.parametrize("how", ["in a group", "as a cause", "as a context"])
async def test_what_a_listener_raises_is_known_in_other_clothes(how: str) -> None:
    """In the group of a TaskGroup, or as the cause of what was raised instead [GRA-08, AGT-02]."""

    async def asks(ctx: kb.Context, value: Any) -> None:
        async def ask() -> None:
            async with ctx.llm.read_session() as session:
                await session.request()

        if how == "in a group":
            async with asyncio.TaskGroup() as group:
                group.create_task(ask())
        try:
            await ask()
        except Boom as problem:
            if how == "as a cause":
                raise RuntimeError("other") from problem
            raise RuntimeError("other")  # noqa: B904

    def breaks(event: Any) -> None:
        raise Boom

    agent = agent_of(block_of(ALL, {"a": gives(1), "b": asks}, on_error="collect")[0])
    agent.on(breaks, events.LLMCallStarting)
    with pytest.raises((RuntimeError, ExceptionGroup)):
        await agent.run("x")


async def test_a_failure_of_a_branch_is_its_own_where_a_listener_has_raised_before() -> None:
    """What a node has caught of a listener is over; what fails then is collected [GRA-08]."""

    async def asks(ctx: kb.Context, value: Any) -> None:
        async with ctx.llm.read_session() as session:
            with contextlib.suppress(Boom):
                await session.request()
        raise ValueError("own")

    def breaks(event: Any) -> None:
        raise Boom

    agent = agent_of(block_of(ALL, {"a": gives(1), "b": asks}, on_error="collect")[0])
    agent.on(breaks, events.LLMCallStarting)
    run = await agent.run("x")

    assert [event.error for event in told(run, events.BranchFailed)] == ["ValueError: own"]


async def test_a_long_list_of_failures_is_cut() -> None:
    """The first ones, and how many more there are [GRA-08]."""
    branches = {f"b{number}": fails(Boom("no")) for number in range(12)}

    with pytest.raises(MergeError, match=r"b4: Boom: no; and 7 more\. Nothing of the branches"):
        await run_of(ALL, branches, on_error="collect")


# ------------------------------------------------------------------------------------------- what comes too late


@pytest.mark.parametrize("how", ["set", "removed"])
async def test_what_a_task_stores_after_its_branch_is_told(how: str) -> None:
    """Nobody sees it, and the report says so [GRA-08]."""
    tasks: list[asyncio.Task[None]] = []
    go = asyncio.Event()

    async def leaves(ctx: kb.Context, value: Any) -> None:
        async def later() -> None:
            await go.wait()
            if how == "set":
                ctx.storage.set(NOTES, ["late"])
            else:
                ctx.storage.remove(NOTES)
            async with ctx.llm.write_session() as session:
                session.append(kb.user("late"))

        tasks.append(asyncio.create_task(later()))

    trip, _ = block_of(ALL, {"a": leaves, "b": gives(2)})

    @trip.node(replace=True)
    async def after(ctx: kb.Context, value: Any) -> Any:
        go.set()
        await tasks[0]
        return value

    run = await agent_of(trip).run("x")
    (_, text), (_, other) = notices(run, "late change")
    assert "changed the history of branch a of trip/research, which had ended" in other
    assert f"the storage key 'notes' was {how} in branch a of trip/research after that had ended" in text
    assert "late change" in str(run.report())
    assert stored(run, NOTES) == ["before"]
    assert history(run) == ["before"]


async def test_the_context_of_a_subgraph_that_has_ended_is_over() -> None:
    """Of one with a context of its own, so that a late commit to it can be told [GRA-06]."""
    seen: list[kb.Context] = []
    trip = kb.strategy("trip")
    part = trip.subgraph("part", history="fresh")

    @part.node
    async def look(ctx: kb.Context, value: Any) -> Any:
        assert ctx.llm.over == ""
        seen.append(ctx)
        return value

    part.start >> look >> part.finish
    trip.start >> part >> trip.finish
    run = await agent_of(trip).run("x")

    assert run.output == "x"
    assert seen[0].llm.over == "subgraph trip/part"
