"""A run in which nearly everything happens: tools at once, a stream, branches, subgraphs, a thread, a compression."""

from __future__ import annotations

import asyncio
from typing import Any

import koogbook as kb
from koogbook.runtime.builder import Strategy
from koogbook.runtime.parallel.merges import fold

#: What a finished run gives.
OUTPUT = "plan: museum, tea house, 500 yuan after a compression"

NOTES = kb.storage_key("notes", list[str])


async def weather(city: str) -> str:
    """The weather of a city, later.

    Args:
        city: Its name.
    """
    await asyncio.sleep(0)
    return f"rain in {city}"


def budget(amount: int) -> str:
    """What an amount is enough for, told by a thread."""
    return f"{amount} yuan"


def _reply(request: kb.Request) -> Any:
    """The answer to the last message, after a turn of the loop."""

    async def later() -> Any:
        await asyncio.sleep(0)
        if request.purpose == "compression":
            return "The guest wants museums and nothing outdoors."
        last = request.messages[-1]
        if last.role == "tool":
            return "It rains, and 500 yuan are enough."
        if last.text.startswith("To Beijing"):
            return [
                kb.ToolCall("weather", '{"city":"Beijing"}', "c1"),
                kb.ToolCall("budget", '{"amount":500}', "c2"),
                kb.ToolCall("weather", '{"city":"Bonn"}', "c3"),
            ]
        return {"a museum?": "museum", "a place for tea?": "tea house"}.get(last.text, "after a compression")

    return later()


def rich_strategy() -> Strategy:
    """The strategy ``rich``: text in, text out."""
    rich = kb.strategy("rich", input=str, output=str)

    @rich.node
    async def ask(ctx: kb.Context, text: str) -> kb.Message:
        ctx.storage.set(NOTES, [text])
        async with ctx.llm.write_session() as session:
            session.append(kb.user(text))
            async with session.request_streaming() as stream:
                async for _ in stream:
                    await asyncio.sleep(0)
            return session.prompt[-1]

    @rich.node
    async def run_tools(ctx: kb.Context, reply: kb.Message) -> list[kb.Message]:
        return await ctx.run_tools(reply, parallel=True)

    @rich.node
    async def send_results(ctx: kb.Context, results: list[kb.Message]) -> str:
        async with ctx.llm.write_session() as session:
            session.append(*results)
            return (await session.request()).text

    ideas = rich.parallel(
        "ideas",
        merge=fold("plan:", _joined, history="append_all", storage="union"),
        input=str,
        output=str,
    )

    @ideas.node
    async def museum(ctx: kb.Context, text: str) -> str:
        return await _ask(ctx, "a museum?")

    inside = ideas.subgraph("inside", input=str, output=str, params=kb.LLMParams(temperature=0))

    @inside.node
    async def tea(ctx: kb.Context, text: str) -> str:
        ctx.storage.set(kb.storage_key("tea", str), "green")
        return await _ask(ctx, "a place for tea?")

    inside.start >> tea >> inside.finish

    @ideas.node(thread=True)
    def count(ctx: kb.Context, text: str) -> str:
        return f"{ctx.call(_count, ctx)} yuan"

    closing = rich.subgraph("closing", input=str, output=str, history="inherit")
    short = closing.compress_history(name="short")

    @closing.node
    async def answer(ctx: kb.Context, plan: str) -> str:
        return f"{plan} {await _ask(ctx, 'and now?')}"

    closing.start >> short >> answer >> closing.finish
    rich.start >> ask
    rich.edge(ask, run_tools, when=kb.has_tool_calls)
    rich.edge(ask, rich.finish, map=lambda reply: reply.text)
    run_tools >> send_results >> ideas >> closing >> rich.finish
    return rich


async def _ask(ctx: kb.Context, text: str) -> str:
    async with ctx.llm.write_session() as session:
        session.append(kb.user(text))
        return (await session.request_without_tools()).text


async def _count(ctx: kb.Context) -> int:
    async with ctx.llm.read_session() as session:
        await asyncio.sleep(0)
        return 500 if len(session.prompt) else 0


def _joined(so_far: str, output: str) -> str:
    return f"{so_far} {output}" if so_far.endswith(":") else f"{so_far}, {output}"


def rich_agent(*features: Any) -> kb.Agent:
    """An agent that runs it, with these features installed."""
    agent = kb.Agent(
        kb.ScriptedExecutor(_reply),
        "offline",
        rich_strategy(),
        system_prompt="You plan trips.",
        tools=[weather, budget],
    )
    for feature in features:
        agent.install(feature)
    return agent
