"""Where no edge takes an output, or a condition or a transformation fails, the error says which edge and why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import koogbook as kb
from koogbook.errors import GraphError, StuckInNodeError
from koogbook.runtime.builder import Strategy


async def _run(strategy: Strategy[Any, Any], value: Any = "x") -> Any:
    return (await kb.Agent(kb.OfflineExecutor(), "offline", strategy).run(value)).output


def _strategy(*names: str) -> Strategy[Any, Any]:
    trip = kb.strategy("trip")

    async def same(ctx: Any, value: Any) -> Any:
        return value

    nodes = [trip.node(same, name=name) for name in ("ask", *names)]
    trip.start >> nodes[0]
    for node in nodes[1:]:
        node >> trip.finish
    return trip


async def test_each_edge_says_which_condition_refused() -> None:
    """The second of three, and the value that a transformation had made for it [GRA-03]."""
    trip = _strategy("one", "two")

    def is_long(size: int) -> bool:
        return size > 10

    trip.edge("ask", "one", when=bool).map(len).when(is_long).when(lambda size: True)
    trip.edge("ask", "two", when=str.isdigit, label="a number")

    with pytest.raises(StuckInNodeError) as caught:
        await _run(trip)
    text = str(caught.value)
    assert (
        "1. to one: is long does not hold (condition 2 of 3) for int 1, which map= has made of it; "
        "2. to two: a number does not hold" in text
    )
    assert "trip.edge('ask', 'finish')" in text


async def test_steps_after_one_that_refused_are_skipped() -> None:
    """Transformations too [GRA-02]."""
    trip, called = _strategy("one"), []

    def note(value: Any) -> Any:
        called.append(value)
        return value

    trip.edge("ask", "one").when(lambda value: False).map(note).when(note)
    trip.edge("ask", "finish")

    assert await _run(trip) == "x"
    assert called == []


async def test_steps_may_be_async_and_chained_in_any_order() -> None:
    """Each gets what the one before has made [GRA-02]."""
    trip = _strategy("one")

    async def doubled(ctx: kb.Context, value: str) -> str:
        return value * 2

    async def is_double(value: str) -> bool:
        return len(value) % 2 == 0

    trip.edge("ask", "one").map(doubled).when(is_double).map(str.upper).map(doubled).when(
        lambda ctx, value: True
    )

    assert await _run(trip) == "XXXX"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda value: np.array([True, False]), r"neither true nor false.*\.any\(\)"),
        (lambda value: value.isdigit, "is a function, and was not called.*call the method"),
        (lambda value: (one for one in value), "is a generator"),
    ],
    ids=["array", "function", "generator"],
)
async def test_a_condition_without_an_answer_names_edge_and_remedy(answer: Any, why: str) -> None:
    """A function that was not called would be true for ever [GRA-03]."""
    trip = _strategy("one")
    trip.edge("ask", "one", when=answer)
    trip.edge("ask", "finish")

    with pytest.raises(GraphError, match=rf"(?s)when=lambda of the edge trip/ask >> one.*{why}"):
        await _run(trip)


async def test_a_coroutine_that_a_condition_gives_is_awaited() -> None:
    """A lambda around an async function is a condition like any other [GRA-02]."""
    trip = _strategy("one")

    async def never(value: Any) -> bool:
        return False

    trip.edge("ask", "one", when=lambda value: never(value))
    trip.edge("ask", "finish", map=lambda value: "else")

    assert await _run(trip) == "else"


@pytest.mark.parametrize("answer", [1, "text", ["a"], 0, "", []], ids=repr)
async def test_any_other_value_is_true_or_false_as_in_python(answer: Any) -> None:
    """``when=lambda reply: reply.calls`` is fine [GRA-02]."""
    trip = _strategy("one")
    trip.edge("ask", "one", when=lambda value: answer)
    trip.edge("ask", "finish", map=lambda value: "else")

    assert await _run(trip) == ("x" if answer else "else")


async def test_a_transformation_that_raises_names_its_edge_and_what_it_got() -> None:
    """With what to do [GRA-03]."""
    trip = _strategy("one")
    trip.edge("ask", "one", map=int)

    with pytest.raises(ValueError, match="invalid literal") as caught:
        await _run(trip)
    assert caught.value.__notes__[0] == "in map= of the edge trip/ask >> one"
    assert "map=int got str 'x'" in caught.value.__notes__[1]
    assert "when=" in caught.value.__notes__[1]


async def test_a_value_whose_repr_fails_does_not_hide_the_error() -> None:
    """The message does without it [GRA-03]."""

    class Odd:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    trip = _strategy("one")
    trip.edge("ask", "one", when=lambda value: False)

    with pytest.raises(StuckInNodeError, match="its repr raises RuntimeError"):
        await _run(trip, Odd())
