"""What a definition that is run again changes, in words."""

from __future__ import annotations

from dataclasses import make_dataclass
from typing import Any

import pytest

import koogbook as kb
from koogbook.errors import RedefinitionError
from koogbook.runtime.builder import Strategy
from koogbook.runtime.parallel.merges import fold, select_by_max


async def _same(ctx: Any, value: Any) -> Any:
    return value


def _plan(*fields: str) -> type:
    """The class of a notebook cell, made anew by every run of it."""
    made = make_dataclass("Plan", [(field, str) for field in fields])
    made.__module__ = "__main__"
    return made


def _node_of(trip: Strategy[Any, Any], given: Any) -> None:
    async def plan(ctx: Any, value: Any) -> Any:
        return value

    plan.__annotations__.update({"value": given, "return": list[given]})
    trip.node(plan)


def test_the_class_of_an_output_defined_again_is_no_change() -> None:
    """The cell of the class and the cell of the node may be run again in any order [KB-089] [GRA-12]."""
    trip = kb.strategy("trip")
    _node_of(trip, _plan("city"))
    _node_of(trip, _plan("city"))

    assert trip.changes == []


def test_other_fields_of_the_class_are_told_with_the_checkpoints() -> None:
    """The name is the same, what is stored is not [GRA-11] [GRA-12]."""
    trip = kb.strategy("trip")
    _node_of(trip, _plan("city"))
    _node_of(trip, _plan("city", "budget"))

    assert trip.changes == [
        "node plan redefined (other fields in list[Plan]: checkpoints saved after trip/plan are resumed where what "
        "they hold still fits)"
    ]


def test_really_another_type_is_told() -> None:
    """By the names of both [GRA-12]."""
    trip = kb.strategy("trip")
    _node_of(trip, _plan("city"))
    _node_of(trip, str)

    assert (
        "input Plan -> str, output list[Plan] -> list[str]: checkpoints saved after trip/plan"
        in trip.changes[0]
    )


def test_a_strategy_that_takes_another_type_is_told() -> None:
    """As of a node [GRA-12]."""
    trip = kb.strategy("trip", input=str, output=str)
    trip.take_types(int, str)

    assert trip.changes == ["input str -> int"]


def test_options_of_a_subgraph_that_changed_are_told() -> None:
    """Each with both values; the same ones again are no change [GRA-12]."""
    trip = kb.strategy("trip")
    trip.subgraph("sub", model="a", tools=[])
    trip.subgraph("sub", model="a", tools=[])
    assert trip.changes == []

    sub = trip.subgraph("sub", model="b", history="fresh")
    assert trip.changes == [
        "node sub redefined (tools [] -> None, model 'a' -> 'b', history None -> 'fresh')"
    ]
    assert sub.options.model == "b"


def test_the_merge_of_a_block_that_changed_is_told() -> None:
    """A merge of the same text is the same [GRA-12]."""
    trip = kb.strategy("trip")
    trip.parallel("block", merge=select_by_max(len))
    trip.parallel("block", merge=select_by_max(len))
    assert trip.changes == []

    trip.parallel("block", merge=fold(0, max), on_error="collect")
    assert len(trip.changes) == 1
    assert "select_by_max(len) -> fold(" in trip.changes[0]
    assert "on_error='cancel' -> on_error='collect'" in trip.changes[0]


def test_a_node_that_runs_in_a_thread_now_is_told() -> None:
    """And the other way round [GRA-12]."""
    trip = kb.strategy("trip")
    trip.node(_same, name="step")
    trip.node(lambda ctx, value: value, name="step", thread=True)
    trip.node(_same, name="step")

    assert trip.changes == [
        "node step redefined (in a thread now)",
        "node step redefined (in no thread any more)",
    ]


@pytest.mark.parametrize(
    "again",
    [
        lambda trip: trip.node(_same, name="step"),
        lambda trip: trip.subgraph("sub", model="b"),
        lambda trip: trip.parallel("block", merge=fold(0, max)),
        lambda trip: trip.edge("step", "finish"),
    ],
    ids=["node", "subgraph", "block", "edge"],
)
def test_redefine_false_refuses_and_changes_nothing(again: Any) -> None:
    """Options and merges included [GRA-12]."""
    trip = kb.strategy("trip", redefine=False)
    trip.node(_same, name="step")
    sub = trip.subgraph("sub", model="a")
    block = trip.parallel("block", merge=select_by_max(len))
    trip.edge("step", "finish")
    before = trip.shape()

    with pytest.raises(RedefinitionError, match="redefine=False"):
        again(trip)
    assert (trip.shape(), trip.changes) == (before, [])
    assert sub.options.model == "a"
    assert block.join == trip.nodes["block"].subgraph.join  # type: ignore[union-attr]
    assert "select_by_max" in repr(block.join.merge)  # type: ignore[union-attr]


async def test_a_run_in_progress_is_not_touched() -> None:
    """It works on the snapshot it began with [GRA-12a]."""
    trip = kb.strategy("trip")

    @trip.node
    async def first(ctx: Any, value: str) -> str:
        trip.node(_shout, name="second")
        trip.remove("third")
        return value

    @trip.node
    async def second(ctx: Any, value: str) -> str:
        return f"{value}2"

    @trip.node
    async def third(ctx: Any, value: str) -> str:
        return f"{value}3"

    async def _shout(ctx: Any, value: str) -> str:
        return value.upper()

    trip.start >> first >> second >> third >> trip.finish
    agent = kb.Agent(kb.OfflineExecutor(), "offline", trip)

    assert (await agent.run("x")).output == "x23"
    assert "third" not in trip.nodes
