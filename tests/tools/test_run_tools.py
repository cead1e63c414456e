"""What ``ctx.run_tools`` takes: a reply, or the calls of one."""

from __future__ import annotations

from typing import Any

import pytest

import koogbook as kb


def agent_with(given: Any, booked: list[str]) -> kb.Agent:
    """An agent that calls ``ctx.run_tools`` with this and gives the texts of the results; its tool notes each call."""
    trip = kb.strategy("trip", input=str, output=Any)

    @trip.node
    async def work(ctx: kb.Context, text: str) -> Any:
        return [result.text for result in await ctx.run_tools(given)]

    trip.start >> work >> trip.finish

    async def book(city: str) -> str:
        """Book."""
        booked.append(city)
        return f"booked {city}"

    return kb.Agent(kb.OfflineExecutor(), "offline", trip, tools=[book])


CALL = kb.ToolCall("book", '{"city":"Bonn"}', "c1")


@pytest.mark.parametrize(
    "given",
    [kb.assistant("", calls=[CALL]), [CALL], (CALL,), iter([CALL]), kb.assistant("").calls],
    ids=["reply", "list", "tuple", "iterator", "none"],
)
async def test_a_reply_or_its_calls_are_run(given: Any) -> None:
    """However they are held [AGT-05]."""
    booked: list[str] = []
    run = await agent_with(given, booked).run("go")

    assert run.output == [f"booked {city}" for city in booked]
    assert booked == ([] if given == () else ["Bonn"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (CALL, r"not one call alone\. Nothing was run\. Write ctx\.run_tools\(\[call\]\)\."),
        (None, r"not NoneType None\. Nothing was run\. Write ctx\.run_tools\(reply\)\."),
        (5, r"not int 5\. Nothing was run\. Write ctx\.run_tools\(reply\)\."),
        ("book", r"not str 'b'\. Nothing was run\. Write ctx\.run_tools\(reply\)\."),
        ([CALL, None], r"not NoneType None\. Nothing was run\. Write ctx\.run_tools\(reply\)\."),
        ([kb.assistant("", calls=[CALL])], r"not Message .*\. Write ctx\.run_tools\(reply\)\."),
    ],
    ids=["one call", "none", "number", "text", "none among calls", "list of replies"],
)
async def test_anything_else_is_refused_with_what_to_write(given: Any, said: str) -> None:
    """And nothing runs, not the calls beside it either [AGT-05]."""
    booked: list[str] = []
    with pytest.raises(TypeError, match=rf"ctx\.run_tools takes a reply, or the calls of one, {said}"):
        await agent_with(given, booked).run("go")

    assert booked == []
