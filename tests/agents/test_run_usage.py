"""What a run spent: in all, for each purpose, node and model."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

import koogbook as kb
from koogbook.llm import usage
from koogbook.messages.model import LLModel


@pytest.fixture(autouse=True)
def own_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cent for a token of one model; others have no price."""

    def price_of(model: LLModel, counted: kb.Usage, *, when: Any) -> Decimal | None:
        return counted.total * Decimal("0.01") if str(model) == "openai:a" else None

    monkeypatch.setattr(usage, "price_of", price_of)


def answers(*texts: str, **fields: Any) -> list[kb.Message]:
    """Answers of a model that counted 10 tokens in and 5 out."""
    return [kb.assistant(text, usage=kb.Usage(10, 5), **fields) for text in texts]


def trip() -> kb.Strategy:
    """Two nodes that ask, one of them twice, and one in a subgraph."""
    made = kb.strategy("trip", input=str, output=str)

    async def ask(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            session.append(kb.user(text))
            return (await session.request_without_tools()).text

    @made.node
    async def plan(ctx: kb.Context, text: str) -> str:
        await ask(ctx, text)
        return await ask(ctx, text)

    sub = made.subgraph("sub", input=str, output=str)
    book = sub.node(name="book")(ask)
    sub.start >> book >> sub.finish
    made.start >> plan >> sub >> made.finish
    return made


async def test_a_run_tells_its_nodes_apart() -> None:
    """By their paths [AGT-01]."""
    run = await kb.Agent(kb.ScriptedExecutor(answers("a", "b", "c")), "openai:a", trip()).run("x")

    assert [(one.path, one.calls, one.input_tokens, one.cost) for one in run.usage_by_node] == [
        ("trip/plan", 2, 20, Decimal("0.30")),
        ("trip/sub/book", 1, 10, Decimal("0.15")),
    ]


async def test_a_run_has_one_cost() -> None:
    """That of all its purposes together [AGT-01]."""
    run = await kb.Agent(kb.ScriptedExecutor(answers("a", "b", "c")), "openai:a", trip()).run("x")

    assert run.cost == sum(one.cost or 0 for one in run.usage) == Decimal("0.45")


async def test_a_run_without_prices_has_no_cost() -> None:
    """Which is not 0 [EXE-04]."""
    run = await kb.Agent(kb.ScriptedExecutor(answers("a", "b", "c")), "local", trip()).run("x")

    assert (run.cost, [one.unpriced for one in run.usage]) == (None, [3])


async def test_a_run_without_a_model_costs_nothing() -> None:
    """That is known [EXE-03]."""
    run = await kb.Agent(kb.OfflineExecutor(), "openai:a", trip()).run("x")

    assert (run.cost, [one.offline for one in run.usage]) == (Decimal(0), [3])


async def test_a_run_tells_its_models_apart() -> None:
    """The one that answered, where another one was asked for [EXE-04]."""
    script = [*answers("a", "b"), *answers("c", metadata={"answered_by": "b:c", "instead_of": "openai:a"})]
    run = await kb.Agent(kb.ScriptedExecutor(script), "openai:a", trip()).run("x")

    assert [(one.model, one.calls, one.cost) for one in run.usage_by_model] == [
        ("openai:a", 2, Decimal("0.30")),
        ("b:c", 1, None),
    ]


async def test_a_failed_run_tells_what_it_spent() -> None:
    """Up to there [AGT-01]."""
    agent = kb.Agent(kb.ScriptedExecutor([*answers("a"), OSError("gone")]), "openai:a", trip())
    with pytest.raises(OSError, match="gone"):
        await agent.run("x")
    assert agent.last_run is not None

    assert (agent.last_run.cost, [(one.calls, one.failed) for one in agent.last_run.usage]) == (
        Decimal("0.15"),
        [(2, 1)],
    )
