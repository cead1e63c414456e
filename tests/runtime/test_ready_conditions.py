"""Conditions for edges that need no code."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import koogbook as kb
from koogbook.errors import GraphError
from koogbook.runtime.export import to_mermaid
from koogbook.runtime.ready.conditions import (
    calls_tool,
    has_text,
    is_instance,
    not_,
    tools_failed,
    tools_succeeded,
)


def _context(*texts: str) -> Any:
    prompt = kb.Prompt([kb.user(text) for text in texts])
    return SimpleNamespace(llm=SimpleNamespace(committed=SimpleNamespace(prompt=prompt)))


@pytest.mark.parametrize(("messages", "holds"), [(2, False), (3, True)])
def test_a_history_is_over_when_it_has_more_messages(messages: int, holds: bool) -> None:
    """Exactly the limit is not over [GRA-10]."""
    assert kb.history_over(max_messages=2)(_context(*["x"] * messages), None) is holds


def test_a_history_is_over_when_it_has_more_tokens() -> None:
    """Exactly the limit is not over [GRA-10]."""
    context = _context("some text", "some more")
    tokens = context.llm.committed.prompt.tokens

    assert not kb.history_over(max_tokens=tokens)(context, None)
    assert kb.history_over(max_tokens=tokens - 1)(context, None)


def test_one_of_two_limits_is_enough() -> None:
    """They are joined by or, and the label says so [GRA-10]."""
    condition = kb.history_over(max_messages=1_000, max_tokens=1)

    assert condition(_context("some text"), None)
    assert condition.label == "over 1,000 messages or over 1 tokens"


@pytest.mark.parametrize(
    "limits", [{}, {"max_messages": 0}, {"max_tokens": -1}, {"max_messages": 5, "max_tokens": 0}], ids=str
)
def test_a_budget_that_is_none_is_refused(limits: Any) -> None:
    """When the edge is made [GRA-10]."""
    with pytest.raises(ValueError, match="at least 1"):
        kb.history_over(**limits)


@pytest.mark.parametrize(
    ("output", "holds"),
    [
        (kb.assistant("x", calls=[kb.ToolCall("f")]), True),
        (kb.assistant("x"), False),
        ("text", False),
        (None, False),
    ],
    ids=["calls", "text", "str", "None"],
)
def test_tool_calls_are_seen_in_assistant_messages(output: Any, holds: bool) -> None:
    """The edge chooses, it never drops calls [GRA-10]."""
    assert kb.has_tool_calls(output) is holds


CALLS = kb.assistant(calls=[kb.ToolCall("weather", '{"city": "Rome"}'), kb.ToolCall("trains", "{broken")])
BOTH = kb.assistant("let me see", calls=[kb.ToolCall("trains", '{"city": "Bonn", "fast": true}')])
SAID = kb.assistant("it rains")
NOTHING = kb.assistant()
GOOD, BAD = kb.tool_result("1", "ok"), kb.tool_result("2", "no", is_error=True)


def weather(city: str) -> str:
    """The weather."""
    return city


@pytest.mark.parametrize(
    ("output", "holds"),
    [
        (CALLS, True),
        (BOTH, False),
        (kb.ToolCall("weather"), True),
        (SAID, False),
        ("weather", False),
        (None, False),
    ],
    ids=["calls", "other call", "a call", "text", "str", "None"],
)
def test_a_call_of_a_tool_is_seen_among_others(output: Any, holds: bool) -> None:
    """By its name, by its function and by the tool [GRA-10]."""
    for tool in ("weather", weather, kb.Tool(weather)):
        assert calls_tool(tool)(None, output) is holds


def test_the_arguments_of_a_call_may_decide() -> None:
    """Decoded, of any of its calls; what is no JSON object fulfils nothing [GRA-10]."""
    asked: list[Any] = []

    def fits(arguments: dict[str, Any]) -> bool:
        asked.append(arguments)
        return arguments.get("fast", False)

    assert calls_tool("trains", fits)(None, BOTH)
    assert not calls_tool("trains", fits)(None, CALLS)
    assert not calls_tool("trains", fits)(None, kb.ToolCall("trains", "[1]"))
    assert asked == [{"city": "Bonn", "fast": True}]


@pytest.mark.parametrize(
    ("output", "alone", "beside"),
    [
        (SAID, True, True),
        (BOTH, False, True),
        (CALLS, False, False),
        (NOTHING, False, False),
        (kb.assistant(" \n"), False, False),
        (kb.user("hi"), False, False),
        ("hi", False, False),
    ],
    ids=["text", "text and calls", "calls", "nothing", "blank", "user", "str"],
)
def test_a_text_answer_is_one_without_calls(output: Any, alone: bool, beside: bool) -> None:
    """Unless calls beside it are allowed, so that none is lost [GRA-10]."""
    assert has_text(output) is alone
    assert has_text(allow_tool_calls=False)(None, output) is alone
    assert has_text(allow_tool_calls=True)(None, output) is beside


@pytest.mark.parametrize(
    ("output", "succeeded", "failed"),
    [
        (GOOD, True, False),
        (BAD, False, True),
        ([GOOD, GOOD], True, False),
        ([GOOD, BAD], False, True),
        ([], False, False),
        (SAID, False, False),
        ("ok", False, False),
        (None, False, False),
    ],
    ids=["good", "bad", "all good", "one bad", "none", "no results", "str", "None"],
)
def test_results_are_all_good_or_one_is_an_error(output: Any, succeeded: bool, failed: bool) -> None:
    """Of a message or a list; where there are none, neither holds [GRA-10]."""
    assert (tools_succeeded(output), tools_failed(output)) == (succeeded, failed)


def test_the_type_of_the_output_may_decide() -> None:
    """One type or several [GRA-10]."""
    assert is_instance(str)(None, "x")
    assert not is_instance((int, list))(None, "x")
    assert is_instance((int, list))(None, [1])
    assert is_instance((int, list)).label == "is int or list"


async def test_a_condition_may_be_turned_round() -> None:
    """One of the output or of the context and the output, sync or async [GRA-10]."""

    async def later(ctx: Any, output: Any) -> bool:
        return bool(output)

    assert not_(kb.has_tool_calls)(None, SAID)
    assert not not_(kb.has_tool_calls)(None, CALLS)
    assert not_(kb.history_over(max_messages=1))(_context("a"), None)
    assert await not_(later)(None, 0)
    assert not_(not_(has_text))(None, SAID)


def test_each_has_a_label_for_the_drawing() -> None:
    """Short and in words [GRA-10]."""

    def is_rome(arguments: Any) -> bool:
        return True

    conditions = [
        calls_tool(weather),
        calls_tool("weather", is_rome),
        calls_tool("weather", lambda arguments: True),
        has_text,
        has_text(allow_tool_calls=True),
        tools_succeeded,
        tools_failed,
        not_(kb.has_tool_calls),
        not_(has_text),
        not_(lambda output: True),
    ]

    assert [getattr(one, "label", None) for one in conditions] == [
        "calls weather",
        "calls weather where is rome",
        "calls weather where it fits",
        "text",
        "text, with or without calls",
        "tools succeeded",
        "a tool failed",
        "not tool calls",
        "not text",
        "not condition",
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: calls_tool(3),
        lambda: calls_tool("x", 3),
        lambda: calls_tool("x", _step),
        lambda: is_instance("str"),
        lambda: is_instance(()),
        lambda: is_instance(list[int]),
        lambda: not_(3),
        lambda: not_(lambda: True),
    ],
)
def test_a_condition_of_something_else_is_refused(wrong: Any) -> None:
    """When it is made [GRA-10]."""
    with pytest.raises(GraphError):
        wrong()


CONDITIONS: list[Any] = [
    lambda: calls_tool("weather"),
    lambda: calls_tool("weather", lambda arguments: arguments["city"] == "Rome"),
    lambda: has_text,
    lambda: has_text(allow_tool_calls=True),
    lambda: kb.history_over(max_messages=3),
    lambda: is_instance((int, str)),
    lambda: tools_failed,
    lambda: not_(tools_failed),
    lambda: not_(lambda output: output > 3),
]


@pytest.mark.parametrize("made", CONDITIONS)
def test_an_edge_with_the_same_condition_is_the_same_edge(made: Any) -> None:
    """As a cell that runs again makes it [GRA-12]."""
    graph = kb.strategy("s")
    graph.edge(graph.start, graph.finish, when=made())
    graph.edge(graph.start, graph.finish, when=made())

    assert len(graph.edges) == 1
    assert graph.changes == []


def test_edges_whose_conditions_differ_in_what_was_given_all_stay() -> None:
    """Also where their labels are the same: nothing that somebody wrote is lost [GRA-12]."""
    graph = kb.strategy("s")
    for city in ("Rome", "Bonn"):
        graph.edge(
            graph.start,
            graph.finish,
            when=calls_tool("w", lambda arguments, city=city: arguments["c"] == city),
        )
        graph.edge(graph.start, graph.finish, when=not_(lambda output, city=city: output == city))

    assert len(graph.edges) == 4


async def test_a_condition_chooses_an_edge_and_drops_no_call() -> None:
    """The reply travels whole [GRA-10]."""
    graph = kb.strategy("s")
    one, other = graph.do_nothing(name="one"), graph.do_nothing(name="other")
    graph.edge(graph.start, one, when=calls_tool("weather"))
    graph.edge(graph.start, other)
    one >> graph.finish
    other >> graph.finish
    run = await kb.Agent(kb.ScriptedExecutor([]), "m", graph).run(CALLS)

    assert run.output is CALLS


async def _step(ctx: Any, value: Any) -> Any:
    return value


def test_a_strategy_exports_to_mermaid() -> None:
    """Nodes, subgraphs and labels, special signs made harmless; the same text every time [GRA-13]."""
    graph = kb.strategy("s")
    a, sub = graph.node(name='a "b"')(_step), graph.subgraph("sub")
    inner = sub.node(name="inner")(_step)
    sub.start >> inner >> sub.finish
    graph.start >> a
    graph.edge(a, sub, when=bool, label="x < 1 | y")
    graph.edge(a, graph.finish)
    sub >> graph.finish
    text = graph.to_mermaid()

    assert text == to_mermaid(graph.shape())
    assert '["a #34;b#34;"]' in text
    assert 'subgraph n3["sub"]' in text
    assert '-->|"x #60; 1 #124; y"|' in text


async def test_one_of_two_calls_of_a_tool_that_fits_is_enough() -> None:
    """The other one goes along the same edge [GRA-10]."""
    reply = kb.assistant("", calls=[kb.ToolCall("go", '{"n": 1}', "a"), kb.ToolCall("go", '{"n": 2}', "b")])

    assert kb.calls_tool("go", where=lambda arguments: arguments["n"] == 2)(None, reply)
    assert not kb.calls_tool("go", where=lambda arguments: arguments["n"] == 3)(None, reply)
