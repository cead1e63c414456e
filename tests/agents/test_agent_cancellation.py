"""Interrupted at any moment, a run leaves nothing behind that is in the way."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

import koogbook as kb
from koogbook import events
from koogbook.llm.context import LLMContext
from koogbook.runtime.builder import Strategy

#: How many events a run of the strategy below has; a test holds them together.
EVENTS = 51
#: The last of them after which the run still waits for something: the second request goes out.
LAST_WAIT = 41


async def slow_weather(city: str) -> str:
    """The weather, later."""
    await asyncio.sleep(0)
    return "rain"


def _answer(request: kb.Request) -> Any:
    async def later() -> Any:
        await asyncio.sleep(0)
        if request.messages[-1].role == "user":
            return kb.ToolCall("slow_weather", '{"city":"Bonn"}', "c1")
        return "rain in Bonn"

    return later()


def _trip() -> Strategy:
    """Something to wait for in every node; reading and writing at once in a subgraph."""
    trip = kb.strategy("trip", input=str)

    @trip.node
    async def ask(ctx: kb.Context, text: str) -> kb.Message:
        async with ctx.llm.write_session() as session:
            await asyncio.sleep(0)
            session.append(kb.user(text))
            return await session.request()

    sub = trip.subgraph("sub")

    @sub.node
    async def together(ctx: kb.Context, reply: kb.Message) -> list[kb.Message]:
        async def read() -> int:
            async with ctx.llm.read_session() as session:
                await asyncio.sleep(0)
                return len(session.prompt)

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(read())
            tasks.create_task(read())
        return await ctx.run_tools(reply)

    @trip.node
    async def send(ctx: kb.Context, results: list[kb.Message]) -> str:
        async with ctx.llm.write_session() as session:
            session.append(*results)
            return (await session.request()).text

    sub.start >> together >> sub.finish
    trip.start >> ask >> sub >> send >> trip.finish
    return trip


def _agent(seen: list[LLMContext]) -> kb.Agent:
    trip = _trip()
    ask = trip.nodes["ask"].function

    async def ask_and_show(ctx: kb.Context, text: str) -> kb.Message:
        seen.append(ctx.llm)
        reply: kb.Message = await ask(ctx, text)
        return reply

    trip.node(name="ask", replace=True)(ask_and_show)
    return kb.Agent(kb.ScriptedExecutor(_answer), "offline", trip, tools=[slow_weather])


async def _run_cancelled_at(agent: kb.Agent, number: int) -> asyncio.Task[kb.Run]:
    count = 0

    def cancel(event: events.Event) -> None:
        nonlocal count
        count += 1
        if count == number:
            task.cancel()

    task = asyncio.ensure_future(agent.on(cancel).run("weather?", "chat-1"))
    with contextlib.suppress(asyncio.CancelledError):
        await task
    return task


def _is_free(context: LLMContext) -> bool:
    state = context.statistics()
    return (state.readers, state.writer, state.queue) == ((), None, ())


async def test_the_run_that_is_cancelled_has_as_many_events_as_there_are_tests() -> None:
    """No moment is left out [AGT-06]."""
    run = await _agent([]).run("weather?", "chat-1")

    assert len(run.events) == EVENTS
    assert run.output == "rain in Bonn"


@pytest.mark.parametrize("number", range(1, EVENTS + 1))
async def test_a_run_cancelled_at_any_event_leaves_the_lock_free(number: int) -> None:
    """Whatever was held or waited for [AGT-06]."""
    contexts: list[LLMContext] = []
    task = await _run_cancelled_at(_agent(contexts), number)

    assert task.cancelled()
    assert all(_is_free(context) for context in contexts)


@pytest.mark.parametrize("number", range(1, EVENTS + 1))
async def test_an_agent_is_usable_after_a_run_was_cancelled_at_any_event(number: int) -> None:
    """The next run starts afresh and ends well [AGT-06]."""
    agent = _agent([])
    await _run_cancelled_at(agent, number)

    assert (await agent.run("weather?", "chat-1")).output == "rain in Bonn"


@pytest.mark.parametrize("number", range(1, LAST_WAIT + 1))
async def test_a_cancelled_run_says_that_it_was_cancelled(number: int) -> None:
    """Its last event is its end, and it is the agent's last run [AGT-06]."""
    agent = _agent([])
    await _run_cancelled_at(agent, number)
    assert agent.last_run is not None
    last = agent.last_run.events[-1]

    assert isinstance(last, events.RunFailed)
    assert last.cancelled
    assert isinstance(agent.last_run.error, asyncio.CancelledError)


@pytest.mark.parametrize("number", range(1, EVENTS + 1))
async def test_the_history_of_a_cancelled_run_is_whole(number: int) -> None:
    """Nothing is half-stored: every committed call has its result, but for an open last turn [AGT-06]."""
    agent = _agent([])
    await _run_cancelled_at(agent, number)
    assert agent.last_run is not None
    history = agent.last_run.prompt.messages

    assert len(history) in (0, 2, 4)
    assert [message.role for message in history] == ["user", "assistant", "tool", "assistant"][: len(history)]


async def test_a_timeout_around_a_run_leaves_the_agent_usable() -> None:
    """``asyncio.timeout`` cancels the run inside [AGT-06]."""

    async def wait(ctx: kb.Context, value: Any) -> str:
        async with ctx.llm.write_session():
            await asyncio.sleep(0 if value else 3600)
        return "done"

    graph = kb.strategy("s")
    graph.start >> graph.node(wait) >> graph.finish
    agent = kb.Agent(kb.OfflineExecutor(), "m", graph)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await agent.run(None)

    assert (await agent.run("now")).output == "done"


async def test_one_of_two_runs_at_once_can_be_cancelled_alone() -> None:
    """The other one goes on [AGT-06]."""
    agent = _agent([])
    first = asyncio.ensure_future(agent.run("weather?", "chat-1"))
    second = asyncio.ensure_future(agent.run("weather?", "chat-1"))
    await asyncio.sleep(0)
    first.cancel()

    assert (await second).output == "rain in Bonn"
    assert first.cancelled()


async def test_a_run_stopped_in_its_first_tool_does_not_hinder_the_next_one() -> None:
    """The cancelled turn reaches no other run, not even one with the same session id [AGT-06, KB-015].

    In its own prompt the call stays as the open last turn, since the model did ask for it; a write session takes it out
    with ``drop_trailing_tool_calls``.
    """
    started = asyncio.Event()

    async def never_ready(city: str) -> str:
        """The weather, never."""
        started.set()
        await asyncio.Event().wait()
        return "rain"

    call = kb.ToolCall("never_ready", '{"city":"Bonn"}', "c1")
    executor = kb.ScriptedExecutor([call, "hi"])
    agent = kb.Agent(executor, "offline", tools=[never_ready])
    task = asyncio.ensure_future(agent.run("do it", "s1"))
    await started.wait()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    stopped = agent.last_run
    run = await agent.run("never mind, say hi", "s1")

    assert run.output == "hi"
    assert [message.text for message in executor.requests[1].messages] == ["never mind, say hi"]
    assert stopped is not None
    assert [message.role for message in stopped.prompt] == ["user", "assistant"]
