"""Ready strategies."""

from __future__ import annotations

from koogbook.messages.message import Message, user
from koogbook.runtime.builder import Strategy, strategy
from koogbook.runtime.context import Context
from koogbook.runtime.ready import has_tool_calls


def single_run_strategy(name: str = "single_run") -> Strategy:
    """Append the input, ask with the agent's tools, run tool calls until there are none, give the last text.

    Koog's ``singleRunStrategy``, one call after another.
    """
    single = strategy(name, input=str, output=str)

    @single.node
    async def ask(ctx: Context, text: str) -> Message:
        async with ctx.llm.write_session() as session:
            session.append(user(text))
            return await session.request()

    @single.node
    async def run_tools(ctx: Context, reply: Message) -> list[Message]:
        return await ctx.run_tools(reply)

    @single.node
    async def send_results(ctx: Context, results: list[Message]) -> Message:
        async with ctx.llm.write_session() as session:
            session.append(*results)
            return await session.request()

    single.start >> ask
    for asking in (ask, send_results):
        single.edge(asking, run_tools, when=has_tool_calls, label="tool calls")
        single.edge(asking, single.finish, map=_text, label="")
    run_tools >> send_results
    return single


def _text(reply: Message) -> str:
    return reply.text
