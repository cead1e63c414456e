"""What is wrong with a graph is found before it runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sized
from typing import Annotated, Any, Literal, NewType, Protocol, TypedDict

import pytest

import koogbook as kb
from koogbook.errors import StrategyCheckError
from koogbook.runtime.builder import Strategy
from koogbook.runtime.checks import require_runnable

Name = NewType("Name", str)


class HasText(Protocol):
    """Not to be asked at run time."""

    text: str


class Row(TypedDict):
    """A typed dictionary."""

    city: str


class HasName(Protocol):
    """Another protocol, without attributes to ask for."""

    def name(self) -> str:
        """A name."""


class Closing(ABC):
    """An abstract class."""

    @abstractmethod
    def close(self) -> None:
        """Close it."""


class Whole:
    """A class that a subclass may make a closing one."""


async def step(ctx: Any, value: Any) -> Any:
    """A node that hands its input on."""
    return value


def _graph(*names: str) -> Strategy:
    graph = kb.strategy("s")
    for name in names:
        graph.node(name=name)(step)
    return graph


def _kinds(graph: Strategy) -> list[tuple[str, str, str]]:
    return [(finding.level, finding.kind, finding.path) for finding in graph.check()]


def test_a_graph_that_can_run_has_no_findings() -> None:
    """``check()`` is empty then [GRA-05]."""
    graph = _graph("a")
    graph.start >> graph.nodes["a"] >> graph.finish

    assert graph.check() == ()


def test_an_empty_graph_has_no_first_node() -> None:
    """The remedy is an edge [GRA-05]."""
    graph = _graph()

    assert _kinds(graph) == [("error", "no_start", "s/start")]
    assert graph.check()[0].remedy == "Add an edge: start >> NODE."


def test_finish_has_to_be_reachable() -> None:
    """From the start node [GRA-05]."""
    graph = _graph("a")
    graph.start >> graph.nodes["a"]

    assert ("error", "no_finish", "s/finish") in _kinds(graph)


def test_a_node_without_a_way_out_is_an_error() -> None:
    """A run would be stuck in it [GRA-05]."""
    graph = _graph("a", "b")
    graph.start >> graph.nodes["a"] >> graph.finish
    graph.edge("a", "b", when=bool)

    assert _kinds(graph) == [("error", "no_way_out", "s/b")]


def test_a_cycle_without_an_exit_is_an_error() -> None:
    """Each node of it, and what leads only into it [GRA-05]."""
    graph = _graph("a", "b", "c")
    graph.start >> graph.nodes["a"] >> graph.finish
    graph.edge("a", "b", when=bool)
    graph.nodes["b"] >> graph.nodes["c"] >> graph.nodes["b"]

    assert _kinds(graph) == [("error", "no_exit", "s/b"), ("error", "no_exit", "s/c")]


def test_a_cycle_with_an_exit_is_fine() -> None:
    """Loops are what graphs are for [GRA-05]."""
    graph = _graph("a", "b")
    graph.start >> graph.nodes["a"] >> graph.nodes["b"]
    graph.edge("b", "a", when=bool)
    graph.edge("b", "finish")

    assert graph.check() == ()


def test_an_unreachable_node_is_a_warning() -> None:
    """The graph runs without it [GRA-05]."""
    graph = _graph("a", "b")
    graph.start >> graph.nodes["a"] >> graph.finish

    assert _kinds(graph) == [("warning", "unreachable", "s/b")]
    require_runnable(graph)


def test_a_second_edge_without_a_condition_is_an_error() -> None:
    """In Koog it shadows later ones; the message names both targets [GRA-05]."""
    graph = _graph("a", "b")
    graph.start >> graph.nodes["a"] >> graph.finish
    graph.edge("a", "b")
    graph.edge("b", "finish")

    assert _kinds(graph) == [("error", "second_else", "s/a")]
    assert "to finish, b" in graph.check()[0].text


def test_findings_in_a_subgraph_are_found() -> None:
    """To any depth [GRA-05]."""
    graph = kb.strategy("s")
    sub = graph.subgraph("sub")
    graph.start >> sub >> graph.finish  # type: ignore[operator]

    assert _kinds(graph) == [("error", "no_start", "s/sub/start")]


def test_errors_come_before_warnings() -> None:
    """What has to be done is on top [GRA-05]."""
    graph = _graph("unreachable", "a", "b")
    graph.start >> graph.nodes["a"] >> graph.finish
    graph.edge("a", "b", when=bool)

    assert [finding.level for finding in graph.check()] == ["error", "warning"]


def test_a_strategy_that_cannot_run_is_refused_with_all_its_errors() -> None:
    """Each with its remedy [GRA-05]."""
    graph = _graph("a")
    graph.start >> graph.nodes["a"]

    with pytest.raises(StrategyCheckError, match=r"2 to do:(?s:.*)Add an edge: a >> finish") as caught:
        require_runnable(graph)
    assert caught.value.findings == graph.check()


def _typed(given: Any, wanted: Any, **options: Any) -> Strategy:
    graph = kb.strategy("s")

    async def a(ctx: Any, value: Any) -> Any:
        return value

    async def b(ctx: Any, value: Any) -> Any:
        return value

    a.__annotations__["return"] = given
    b.__annotations__["value"] = wanted
    left, right = graph.node(a), graph.node(b)
    graph.start >> left
    graph.edge(left, right, **options)
    right >> graph.finish
    return graph


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (str, int),
        (None, str),
        (list[int], dict[str, int]),
        (str | None, int | bytes),
        (Annotated[str, "note"], int),
        (float, int),
    ],
    ids=str,
)
def test_types_that_cannot_fit_are_an_error(given: Any, wanted: Any) -> None:
    """The message names both, and the remedy is a transformation [GRA-05]."""
    graph = _typed(given, wanted)

    assert _kinds(graph) == [("error", "types", "s/b")]
    assert "Add map=" in graph.check()[0].remedy


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (str, Any),
        (Any, str),
        (str, str | None),
        (str | int, int),
        (bool, int),
        (int, float),
        (object, str),
        (list[int], list[str]),
        (Literal["a"], str),
        (Name, str),
        (kb.Message, HasText),
        (dict[str, str], Row),
        (Row, dict[str, str]),
        (Callable[[int], int], Any),
        (None, None),
        (Sized, Iterable),
        (Iterable[str], Sized),
        (Whole, Closing),
        (Closing, HasName),
    ],
    ids=str,
)
def test_types_that_can_fit_are_left_alone(given: Any, wanted: Any) -> None:
    """Only what can never be is an error; what cannot be asked is not guessed [GRA-05]."""
    assert _typed(given, wanted).check() == ()


def test_a_transformation_makes_types_fit() -> None:
    """Its result is not looked at [GRA-05]."""
    assert _typed(str, int, map=len).check() == ()


def test_a_chain_that_is_not_finished_yet_is_no_cycle() -> None:
    """Of a chain with one dead end, the dead end alone is to be mended [NBK-03]."""
    line = kb.strategy("line", input=str, output=str)

    async def same(ctx: kb.Context, text: str) -> str:
        return text

    first, second, third = (line.node(name=name)(same) for name in ("first", "second", "third"))
    line.start >> first >> second >> third

    assert [finding.kind for finding in line.check()] == ["no_finish", "no_way_out"]
