"""Runs with everything in them, for tests of events and traces."""

from __future__ import annotations

import asyncio
from typing import Any

import koogbook as kb
from koogbook.agents.run import Run
from koogbook.llm.executor import PromptExecutor
from koogbook.runtime.builder import Strategy
from koogbook.runtime.parallel.merges import select_by_index


def weather(city: str) -> str:
    """The weather in a city."""
    if city == "Nowhere":
        raise ValueError("there is no such place")
    return "rain"


def answers(request: kb.Request) -> Any:
    """Tools are called at the first request of a node, and then there is an answer."""
    if request.purpose == "compression":
        return "They spoke of Bonn, and of rain."
    if request.messages[-1].text == "And what is it like there?":
        return [
            kb.ToolCall("weather", '{"city":"Bonn"}', "c1"),
            kb.ToolCall("weather", '{"city":"Nowhere"}', "c2"),
            kb.ToolCall("nowhere", "{}", "c3"),
        ]
    return "It rains in Bonn. Take a coat."


def journey(*, end: str = "") -> Strategy:
    """A subgraph with tools, a stream, a compression; ``end`` is how it ends before that: an error, or nothing."""
    trip = kb.strategy("trip", input=str, output=str)
    look = trip.subgraph("look")

    @look.node
    async def ask(ctx: kb.Context, text: str) -> kb.Message:
        async with ctx.llm.write_session() as session:
            session.append(kb.user(text), kb.user("And what is it like there?"))
            return await session.request()

    @look.node
    async def call(ctx: kb.Context, reply: kb.Message) -> str:
        results = await ctx.run_tools(reply)
        async with ctx.llm.write_session() as session:
            session.append(*results)
            return (await session.request()).text

    @trip.node
    async def tell(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            session.append(kb.user("Tell it slowly.", id="slowly"))
            async for _ in session.request_streaming():
                pass
        if end == "error":
            raise LookupError("no coat")
        if end == "wait":
            await asyncio.sleep(30)
        return text

    shorten = trip.compress_history(kb.WholeHistory(), name="shorten")

    @trip.node
    async def sum_up(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.read_session() as session:
            return f"{text} ({len(session.messages)} messages)"

    look.start >> ask >> call >> look.finish
    trip.start >> look >> tell >> shorten >> sum_up >> trip.finish
    return trip


def traveller(*, end: str = "", executor: PromptExecutor | None = None) -> kb.Agent:
    """An agent that travels; see :func:`journey`."""
    return kb.Agent(
        kb.ScriptedExecutor(answers) if executor is None else executor,
        "offline",
        journey(end=end),
        system_prompt="Be brief.",
        tools=[weather],
    )


async def travelled(agent: kb.Agent, text: str = "Where is Bonn?", session_id: str = "chat-1") -> Run:
    """A run to its end, whatever that is: it is cancelled where it waits for ever."""
    task = asyncio.ensure_future(agent.run(text, session_id))
    await asyncio.wait([task], timeout=0.3)
    if not task.done():
        task.cancel()
        await asyncio.wait([task])
    if not task.cancelled():
        task.exception()
    assert agent.last_run is not None
    return agent.last_run


def crossroads(*, end: str = "") -> Strategy:
    """Two branches at once that ask and call a tool; ``end``: the west one raises, or waits for ever."""
    trip = kb.strategy("trip", input=str, output=str)
    block = trip.parallel("both", merge=select_by_index(lambda results: 0))

    @block.node
    async def east(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            session.append(kb.user(text), kb.user("And what is it like there?"))
            reply = await session.request()
            session.append(*await ctx.run_tools(reply))
        await asyncio.sleep(0.01)
        return reply.text

    @block.node
    async def west(ctx: kb.Context, text: str) -> str:
        if end == "error":
            raise LookupError("no west")
        if end == "wait":
            await asyncio.sleep(30)
        async with ctx.llm.write_session() as session:
            session.append(kb.user(text))
            return (await session.request()).text

    trip.start >> block >> trip.finish
    return trip


def crosser(*, end: str = "") -> kb.Agent:
    """An agent that goes both ways at once; see :func:`crossroads`."""
    return kb.Agent(kb.ScriptedExecutor(answers), "offline", crossroads(end=end), tools=[weather])
