"""Ready nodes that ask over calls that have no result: what the error says besides."""

from __future__ import annotations

from typing import Any

import pytest

import koogbook as kb
from koogbook.errors import ToolPairingError

ASKING = ["llm_request", "llm_request_streaming"]


def weather(city: str) -> str:
    """The weather."""
    return f"rain in {city}"


def trains(city: str) -> str:
    """The trains."""
    return f"none to {city}"


def call(tool: str, id: str | None) -> kb.ToolCall:
    """A call of one of the tools."""
    return kb.ToolCall(tool, '{"city": "Rome"}', id)


async def notes_of(answer: list[kb.ToolCall], between: Any, asks: str) -> str:
    """The notes of the error of a node that asks, behind an answer with calls and a node that does what it does."""
    graph = kb.strategy("s")
    first = graph.llm_request(name="first")
    node = graph.node(name="between")(between)
    second = getattr(graph, asks)(name="second")
    graph.start >> first >> node >> second >> graph.finish
    agent = kb.Agent(kb.ScriptedExecutor([answer, "answer"]), "m", graph, tools=[weather, trains])

    with pytest.raises(ToolPairingError) as caught:
        await agent.run("x")
    return "\n".join(caught.value.__notes__)


async def goes_on(ctx: kb.Context, reply: kb.Message) -> str:
    """What forgets the calls."""
    return "go on"


async def runs_the_first(ctx: kb.Context, reply: kb.Message) -> str:
    """What forgets all calls but the first."""
    results = await ctx.run_tools(reply.calls[:1])
    async with ctx.llm.write_session() as session:
        session.append(*results)
    return "go on"


async def gives_a_result_of_nothing(ctx: kb.Context, reply: kb.Message) -> kb.Message:
    """A result without a call, where no call is open."""
    results = await ctx.run_tools(reply)
    async with ctx.llm.write_session() as session:
        session.append(*results)
    return kb.tool_result("other", "fine", tool="weather")


@pytest.mark.parametrize("asks", ASKING)
async def test_a_node_that_asks_over_open_calls_says_what_was_left_out(asks: str) -> None:
    """The tools that wait, each once, and the nodes that give their results [GRA-09]."""
    notes = await notes_of([call("weather", "a"), call("trains", "b"), call("weather", "c")], goes_on, asks)

    said = "calls of weather, trains wait for results: did you leave out execute_tools or send_tool_results"
    assert said in notes


@pytest.mark.parametrize("asks", ASKING)
@pytest.mark.parametrize("ids", [("a", "b"), ("a", "a"), (None, None)], ids=["ids", "one id", "no ids"])
async def test_only_the_calls_that_have_no_result_are_named(ids: tuple[Any, Any], asks: str) -> None:
    """Of two calls one was run; the error is that of the history [GRA-09]."""
    notes = await notes_of([call("weather", ids[0]), call("trains", ids[1])], runs_the_first, asks)

    assert "calls of trains wait for results" in notes


@pytest.mark.parametrize("asks", ASKING)
async def test_where_no_call_is_open_nothing_is_guessed(asks: str) -> None:
    """The history is broken in another way [GRA-09]."""
    assert "wait for results" not in await notes_of([call("weather", "a")], gives_a_result_of_nothing, asks)
