"""Conditions for edges that need no code."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import koogbook as kb
from koogbook.runtime.export import to_mermaid


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
