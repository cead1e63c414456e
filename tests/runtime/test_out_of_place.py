"""A subgraph that is not in its strategy any more takes nothing in: that would be nowhere."""

from __future__ import annotations

from typing import Any

import pytest

import koogbook as kb
from koogbook.errors import ForeignNodeError


async def step(ctx: kb.Context, value: Any) -> Any:
    """A node that passes its input on."""
    return value


def test_what_is_inside_a_subgraph_that_was_replaced_takes_nothing_in() -> None:
    """However deep it is [GRA-12]."""
    trip = kb.strategy("trip")
    deep = trip.subgraph("part").subgraph("deep")
    inner: Any = deep.subgraph("inner")
    trip.node(name="part")(step)

    for use in (
        lambda: inner.node(name="a")(step),
        lambda: inner.edge("start", "finish"),
        lambda: inner >> deep.finish,
        lambda: deep.subgraph("inner"),
        lambda: inner.parallel("block", merge=kb.fold(0, max)),
    ):
        with pytest.raises(
            ForeignNodeError,
            match=r"'trip/part' was defined again as a node at .* from before\. 'trip/part/deep.* is inside of it\.",
        ):
            use()
    assert list(inner.nodes) == ["start", "finish"]
    assert deep.edges == []


@pytest.mark.parametrize("kind", ["subgraph", "parallel block"])
def test_what_was_taken_out_takes_nothing_in_until_it_is_defined_again(kind: str) -> None:
    """Nor does what is inside of it; the object from before stays out [GRA-12a]."""
    trip = kb.strategy("trip")

    def define() -> Any:
        return trip.subgraph("part") if kind == "subgraph" else trip.parallel("part", merge=kb.fold(0, max))

    part = define()
    deep = part.subgraph("deep")
    trip.remove("part")

    for graph in (part, deep):
        with pytest.raises(
            ForeignNodeError, match=rf"The {kind} 'trip/part' was taken out of 'trip', .* Nothing was changed"
        ):
            graph.node(name="a")(step)
        assert list(graph.nodes)[2:] == (["deep"] if graph is part else [])
    again = define()
    again.node(name="a")(step)
    with pytest.raises(ForeignNodeError, match="was defined again as a"):
        part.node(name="a")(step)
    assert "a" in trip.nodes["part"].subgraph.nodes  # type: ignore[union-attr]


def test_a_subgraph_that_was_replaced_takes_nothing_in() -> None:
    """What is put into it would be nowhere [GRA-12]."""
    trip = kb.strategy("trip")
    part = trip.subgraph("part")
    trip.node(name="part")(step)

    for use in (
        lambda: part.node(name="a")(step),
        lambda: part.edge("start", "finish"),
        lambda: trip.edge("start", part),
    ):
        with pytest.raises(ForeignNodeError, match="'trip/part' was defined again as a node at"):
            use()
