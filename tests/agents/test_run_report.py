"""A report says how far a run is, what it did, and what changed before it."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest

import koogbook as kb
from koogbook import events
from koogbook.clock import FixedClock
from koogbook.runtime.builder import Strategy


async def _step(ctx: kb.Context, value: Any) -> Any:
    return value


def _line(*names: str) -> Strategy:
    line = kb.strategy("line")
    nodes = [line.start, *(line.node(name=name)(_step) for name in names), line.finish]
    for left, right in pairwise(nodes):
        line.edge(left, right)
    return line


def _agent(strategy: Strategy) -> kb.Agent:
    return kb.Agent(kb.OfflineExecutor(), "offline", strategy)


# ------------------------------------------------------------------------------------------- how it stands


async def test_a_run_that_goes_on_is_running(fixed_clock: FixedClock) -> None:
    """Nothing says that it has completed [AGT-01]."""
    waiting, go = asyncio.Event(), asyncio.Event()
    graph = _line("a")

    async def wait(ctx: kb.Context, value: Any) -> None:
        fixed_clock.advance(2)
        async with ctx.llm.read_session():
            waiting.set()
            await go.wait()

    graph.node(name="a")(wait)
    agent = _agent(graph)
    running = asyncio.ensure_future(agent.run("x", "chat-1"))
    await waiting.wait()
    run = agent.last_run
    assert run is not None
    seen = (run.state, run.report().outcome, repr(run))
    go.set()
    await running

    assert seen[0] == "running"
    assert seen[1].endswith("is running; its last event was 2.00 s after its first.")
    assert "running" in seen[2]
    assert run.state == "completed"


async def test_a_cancelled_run_was_cancelled(fixed_clock: FixedClock) -> None:
    """It neither completed nor failed [AGT-06]."""
    graph = _line("a")

    async def cancel(ctx: kb.Context, value: Any) -> None:
        fixed_clock.advance(1.5)
        raise asyncio.CancelledError

    graph.node(name="a")(cancel)
    agent = _agent(graph)
    with pytest.raises(asyncio.CancelledError):
        await agent.run("x", "chat-1")
    run = agent.last_run
    assert run is not None

    assert run.state == "cancelled"
    assert run.report().outcome.endswith("of 'chat-1' was cancelled after 1.50 s.")
    assert "cancelled" in repr(run)


async def test_a_run_whose_last_listener_raised_has_failed() -> None:
    """Though its strategy completed [AGT-01]."""

    def broken(event: events.Event) -> None:
        raise ValueError("listener")

    agent = _agent(_line("a")).on(broken, events.RunCompleted)
    with pytest.raises(ValueError, match="listener"):
        await agent.run("x")
    assert agent.last_run is not None

    assert agent.last_run.state == "failed"
    assert "failed: ValueError: listener" in agent.last_run.report().outcome


async def test_the_node_runs_before_a_resume_are_told_apart() -> None:
    """A resumed run counts its own [AGT-01]."""
    graph = _line("a", "b", "c")
    broken = [True]

    async def fails_once(ctx: kb.Context, value: Any) -> Any:
        if broken:
            broken.clear()
            raise OSError("gone")
        return value

    graph.node(name="c")(fails_once)
    agent = _agent(graph).install(kb.Persistence(storage=kb.MemoryCheckpoints()))
    with pytest.raises(OSError, match="gone"):
        await agent.run("x", "chat-1")
    run = await agent.run("x", "chat-1")

    assert ("nodes", "1 runs of 1 nodes (2 before the resume): c") in run.report().rows


# ------------------------------------------------------------------------------------------- what changed


def _changes(run: kb.Run) -> list[str]:
    return [
        one.text for one in run.events if isinstance(one, events.Notice) and one.kind == "strategy changed"
    ]


async def test_the_first_run_after_a_redefinition_says_what_changed() -> None:
    """Once, right after its start, and in its report [GRA-12]."""
    graph = _line("a", "b")
    agent = _agent(graph)
    await agent.run("x")

    async def other(ctx: kb.Context, value: str) -> Any:
        return value * 2

    graph.node(name="a")(other)
    run, later = await agent.run("x"), await agent.run("x")

    assert [event.name for event in run.events[:2]] == ["RunStarting", "Notice"]
    assert _changes(run) == ["node a redefined (input Any -> str)"]
    assert "strategy changed: node a redefined (input Any -> str)" in run.report().attention
    assert _changes(later) == []


async def test_a_change_that_came_several_times_is_told_once() -> None:
    """Whatever agent runs the strategy next [GRA-12]."""
    graph = _line("a", "b")
    sub = graph.subgraph("sub")
    sub.remove(sub.node(name="x")(_step))
    sub.remove(sub.node(name="x")(_step))
    graph.remove(sub)
    first, second = _agent(graph), _agent(graph)

    assert _changes(await first.run("x")) == [
        "in line/sub: node x removed: checkpoints saved after line/sub/x can no longer be resumed",
        "node sub removed: checkpoints saved after or inside line/sub can no longer be resumed",
    ]
    assert _changes(await second.run("x")) == []


async def test_a_strategy_that_was_built_once_tells_no_changes() -> None:
    """There are none [GRA-12]."""
    assert _changes(await _agent(_line("a")).run("x")) == []


async def test_a_node_that_was_stopped_has_not_failed() -> None:
    """Stopping on purpose is told as such, without the name of an exception [AGT-03]."""
    slow = kb.strategy("slow", input=str, output=str)

    @slow.node
    async def rest(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session():
            await asyncio.sleep(30)
        return text

    slow.start >> rest >> slow.finish
    agent = kb.Agent(kb.OfflineExecutor(), "offline", slow)
    task = asyncio.ensure_future(agent.run("x"))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert agent.last_run is not None
    attention = agent.last_run.report().attention

    assert [line.partition(" at ")[0] for line in attention] == [
        "session discarded: rest",
        "node stopped: slow/rest",
    ]
    assert "CancelledError" not in str(attention)


async def test_a_condition_that_raises_is_named_in_the_run_that_it_ended() -> None:
    """What failed was no node, so the event of the run says which edge [GRA-05]."""
    fork = kb.strategy("fork", input=str, output=str)

    @fork.node
    async def ask(ctx: kb.Context, text: str) -> str:
        return text

    fork.start >> ask >> fork.finish
    fork.edge(ask, ask, when=lambda output: output.nothing, label="broken")
    agent = kb.Agent(kb.OfflineExecutor(), "offline", fork)
    with pytest.raises(AttributeError):
        await agent.run("x")
    assert agent.last_run is not None
    failed = agent.last_run.events[-1]

    assert isinstance(failed, events.RunFailed)
    assert failed.error.endswith("(in when= of the edge fork/ask >> ask)")
