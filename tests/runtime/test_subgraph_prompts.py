"""The system messages of a subgraph are those that it was given when it was made."""

from __future__ import annotations

import koogbook as kb
from koogbook.llm.request import Request


async def test_a_list_that_is_changed_later_does_not_change_the_system_prompt_of_a_subgraph() -> None:
    """It is the list as it was [GRA-06]."""
    prompts = ["be strict", "be brief"]
    trip = kb.strategy("trip", input=str, output=str)
    sub = trip.subgraph("sub", input=str, output=str, system_prompt=prompts)

    @sub.node
    async def ask(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            session.append(kb.user(text))
            return (await session.request()).text

    sub.start >> ask >> sub.finish
    trip.start >> sub >> trip.finish
    prompts[0] = "be lax"
    prompts.append("be long")
    executor = kb.ScriptedExecutor(["yes"])
    await kb.Agent(executor, "offline", trip).run("well?")
    asked: Request = executor.requests[0]

    assert [one.text for one in asked.messages if one.role == "system"] == ["be strict", "be brief"]
