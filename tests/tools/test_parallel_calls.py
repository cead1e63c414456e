"""Calls of one turn may run at once: their results keep the order of the calls, and nothing is left running."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from contextvars import ContextVar
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import koogbook as kb
from koogbook import events
from koogbook.pipeline import EventLog, Subscription, wrappers
from koogbook.tools.environment import run_calls
from koogbook.tools.journal import tool_executions
from koogbook.tools.tool import ToolRegistry

_seen: ContextVar[str] = ContextVar("seen", default="")


class World:
    """Tools that wait for each other, and how many of them ran at once."""

    def __init__(self) -> None:
        self.log = EventLog("run-1", "chat-1")
        self.running = self.most = 0
        self.ended: list[str] = []
        self.gates = {name: asyncio.Event() for name in "abcdefghij"}

    async def wait(self, name: str) -> str:
        """Wait for a gate."""
        _seen.set(_seen.get() + name)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.gates[name].wait()
        finally:
            self.running -= 1
            self.ended.append(name)
        return f"{name}{_seen.get()}"

    async def fail(self, name: str) -> str:
        """Fail after a moment."""
        await asyncio.sleep(0)
        raise ValueError(name)

    async def interrupt(self, name: str) -> str:
        """Be interrupted after a moment."""
        await asyncio.sleep(0.01)
        raise KeyboardInterrupt(name)

    async def slow_end(self, name: str) -> str:
        """Take its time when it is cancelled."""
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(5):
                await asyncio.sleep(0)
            self.ended.append(name)
        return name

    async def run(self, *tools: str, parallel: int | None, around: Any = ()) -> list[kb.Message]:
        """One call for each, named a, b, c, ..."""
        calls = [
            kb.ToolCall(tool, f'{{"name": "{name}"}}') for tool, name in zip(tools, self.gates, strict=False)
        ]
        registry = ToolRegistry([self.wait, self.fail, self.interrupt, self.slow_end])
        return await run_calls(calls, registry, self.log, around, parallel=parallel)


@pytest.mark.parametrize(("parallel", "most"), [(None, 1), (1, 1), (2, 2), (3, 3), (16, 5)])
async def test_at_most_so_many_run_at_once(parallel: int | None, most: int) -> None:
    """One after another where nothing is said [AGT-05]."""
    world = World()
    running = asyncio.ensure_future(world.run(*["wait"] * 5, parallel=parallel))
    for name in "abcde":
        for _ in range(10):
            await asyncio.sleep(0)
        world.gates[name].set()
    await running

    assert world.most == most


@settings(max_examples=40, deadline=None)
@given(st.permutations("abcdef"), st.integers(2, 7))
async def test_results_keep_the_order_of_the_calls(order: list[str], parallel: int) -> None:
    """In whichever order the tools end [AGT-05, KB-018]."""
    world = World()
    running = asyncio.ensure_future(world.run(*["wait"] * 6, parallel=parallel))
    for name in order:
        await asyncio.sleep(0)
        world.gates[name].set()
    results = await running

    assert [result.results[0].output[0] for result in results] == list("abcdef")


async def test_each_call_has_its_own_context_variables() -> None:
    """What one sets, the others do not see [AGT-05]."""
    world = World()
    for gate in world.gates.values():
        gate.set()
    results = await world.run(*["wait"] * 3, parallel=3)

    assert [result.results[0].output for result in results] == ["aa", "bb", "cc"]


async def test_a_tool_that_fails_stops_none_of_the_others() -> None:
    """Its result is an error, as it is one after another [AGT-05]."""
    world = World()
    world.gates["b"].set()
    results = await world.run("fail", "wait", "nowhere", parallel=3)

    assert [result.results[0].is_error for result in results] == [True, False, True]


async def test_calls_of_one_id_and_without_one_have_a_result_each() -> None:
    """Also where they overlap: the journal pairs them by number [AGT-05, KB-019]."""

    async def echo(word: str) -> str:
        await asyncio.sleep(0.01 if word == "slow" else 0)
        return word

    log = EventLog("run-1", "chat-1")
    words = ["slow", "quick", "slow", "quick"]
    ids = ["same", "same", None, None]
    calls = [kb.ToolCall("echo", f'{{"word":"{word}"}}', one) for word, one in zip(words, ids, strict=True)]
    results = await run_calls(calls, ToolRegistry([echo]), log, parallel=4)

    assert [result.results[0].output for result in results] == words
    assert [one.output for one in tool_executions(log.events)] == words


async def test_synchronous_tools_run_beside_each_other() -> None:
    """Each in a thread: these wait for each other [AGT-05]."""
    both = threading.Barrier(2, timeout=5)

    def meet() -> int:
        return both.wait()

    results = await run_calls(
        [kb.ToolCall("meet"), kb.ToolCall("meet")], ToolRegistry([meet]), EventLog("r", "s"), parallel=2
    )

    assert sorted(result.results[0].output for result in results) == ["0", "1"]


async def test_an_interrupt_in_one_cancels_the_others_and_waits_for_them() -> None:
    """Nothing is left running when it goes on [AGT-06]."""
    world = World()

    with pytest.raises(KeyboardInterrupt):
        await world.run("slow_end", "interrupt", "slow_end", parallel=3)

    assert world.ended == ["a", "c"]
    ends = [event.cancelled for event in world.log.events if isinstance(event, events.ToolCallFailed)]
    assert sorted(ends) == [False, True, True]


async def test_what_waits_for_its_turn_does_not_begin_after_an_interrupt() -> None:
    """It has no events, since nothing happened [AGT-06]."""
    world = World()

    with pytest.raises(KeyboardInterrupt):
        await world.run("interrupt", "slow_end", "wait", "wait", parallel=2)

    starting = [event for event in world.log.events if isinstance(event, events.ToolCallStarting)]
    assert len(starting) == 2


@pytest.mark.parametrize("times", [1, 3])
async def test_a_cancelled_turn_ends_when_all_have_ended(times: int) -> None:
    """However often it is cancelled [AGT-06]."""
    world = World()
    running = asyncio.ensure_future(world.run("slow_end", "slow_end", "slow_end", parallel=2))
    await asyncio.sleep(0.01)
    for _ in range(times):
        running.cancel()
        await asyncio.sleep(0)
    with contextlib.suppress(asyncio.CancelledError):
        await running

    assert running.cancelled()
    assert len(world.ended) == len(
        [event for event in world.log.events if isinstance(event, events.ToolCallStarting)]
    )
    assert [one.status for one in tool_executions(world.log.events)] == ["cancelled", "cancelled"]


async def test_the_cancellation_of_the_turn_comes_before_what_a_call_ended_with() -> None:
    """Who cancels a run gets that, whatever happened just before [AGT-06]."""
    world = World()
    running = asyncio.ensure_future(world.run("interrupt", "slow_end", parallel=2))
    while not any(isinstance(event, events.ToolCallFailed) for event in world.log.events):  # noqa: ASYNC110
        await asyncio.sleep(0)
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running

    assert running.cancelled()
    assert world.ended == ["b"]


async def test_what_an_interceptor_raises_ends_the_turn() -> None:
    """The others are cancelled, and it goes on as it is [AGT-02]."""
    world = World()

    class Refuses(kb.Interceptor):
        async def around_tool_call(self, tool_call: kb.ToolCall, call: Any) -> kb.Message:
            if tool_call.tool == "fail":
                raise LookupError("not allowed")
            given: kb.Message = await call(tool_call)
            return given

    with pytest.raises(LookupError, match="not allowed"):
        await world.run(
            "slow_end", "fail", parallel=2, around=wrappers([Refuses()], "around_tool_call", world.log.acted)
        )

    assert world.ended == ["a"]


async def test_what_a_listener_raises_ends_the_turn() -> None:
    """As it does one after another [AGT-02]."""
    world = World()

    def listener(event: events.Event) -> None:
        raise ValueError("listener")

    world.log = EventLog("r", "s", [Subscription(listener, (events.ToolCallFailed,), "raise")])
    with pytest.raises(ValueError, match="listener"):
        await world.run("fail", "slow_end", parallel=2)

    assert world.ended == ["b"]


@pytest.mark.parametrize("parallel", [0, -1])
async def test_none_at_once_is_refused(parallel: int) -> None:
    """Nothing would ever run [AGT-05]."""
    with pytest.raises(ValueError, match="from 1"):
        await World().run("fail", parallel=parallel)
