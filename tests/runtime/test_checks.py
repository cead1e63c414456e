"""What is wrong with a graph is found before it runs."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sized
from itertools import pairwise
from typing import Annotated, Any, Literal, NewType, Protocol, TypedDict

import pytest

import koogbook as kb
from koogbook.errors import GraphError, StrategyCheckError
from koogbook.runtime.builder import Strategy
from koogbook.runtime.checking.checks import require_runnable
from koogbook.runtime.compiled import compile_strategy
from koogbook.runtime.parallel.merges import fold

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


def test_findings_are_read_line_by_line() -> None:
    """Each with its remedy, and below it the line to paste, as the error has them [GRA-05]."""
    graph = _graph("a", "b")
    graph.start >> graph.nodes["a"] >> graph.finish
    graph.edge(graph.start, graph.finish)

    assert repr(graph.check()) == str(graph.check())
    assert str(graph.check()).splitlines() == [
        "2 to look at:",
        "  - error: s/start has 2 edges without a condition, to a, finish; only one can be taken. strategy.remove one "
        "of them, or give it when=. Edge: start >> finish",
        "        s.remove(s.find_edge('start', 'finish'))",
        "  - warning: s/b is never reached. Add an edge that leads to it: NODE >> b; or take it out.",
        "        s.remove('b')",
    ]


def test_no_findings_are_no_empty_text() -> None:
    """They equal an empty tuple all the same [GRA-05]."""
    graph = _graph("a")
    graph.start >> graph.nodes["a"] >> graph.finish

    assert (str(graph.check()), graph.check()) == ("Nothing to mend.", ())


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
    graph.start >> sub >> graph.finish

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


@pytest.mark.parametrize(
    ("broken", "kind", "line"),
    [
        (lambda trip: trip.remove(trip.edges[-1]), "no_way_out", "trip.edge('b', 'finish')"),
        (lambda trip: trip.remove(trip.edges[0]), "no_start", "trip.edge('start', 'a')"),
        (lambda trip: trip.edge("a", "finish"), "second_else", "trip.remove(trip.find_edge('a', 'finish'))"),
        (lambda trip: trip.node(name="alone")(step), "unreachable", "trip.remove('alone')"),
    ],
    ids=["no_way_out", "no_start", "second_else", "unreachable"],
)
def test_a_finding_has_a_line_that_mends_it(broken: Any, kind: str, line: str) -> None:
    """Pasted, it leaves nothing to do [GRA-05]."""
    trip = kb.strategy("trip")
    for name in ("a", "b"):
        trip.node(name=name)(step)
    trip.start >> trip.nodes["a"] >> trip.nodes["b"] >> trip.finish
    broken(trip)
    found = next(one for one in trip.check() if one.kind == kind)

    assert found.line == line
    exec(found.line, {"trip": trip})
    assert trip.check() == ()


def test_a_line_names_the_subgraph_that_it_is_for() -> None:
    """And the message of a refused run holds it [GRA-05]."""
    trip = kb.strategy("trip")
    sub = trip.subgraph("sub")
    trip.start >> sub >> trip.finish
    sub.node(name="a")(step)
    with pytest.raises(StrategyCheckError) as caught:
        require_runnable(trip)

    line = "trip.nodes['sub'].subgraph.edge('start', 'a')"
    assert line in str(caught.value)
    exec(line, {"trip": trip})
    exec(next(one.line for one in trip.check() if one.level == "error"), {"trip": trip})
    assert trip.check() == ()


def test_types_that_do_not_fit_have_a_line_too() -> None:
    """A transformation on that very edge [GRA-05]."""
    graph = _typed(int, str)
    found = graph.check()[0]

    assert (found.edge, found.line) == ("a >> b", "s.find_edge('a', 'b').map(str)")
    exec(found.line, {"s": graph})
    assert graph.check() == ()


def test_a_block_without_branches_is_an_error() -> None:
    """There is nothing to merge [GRA-05] [GRA-08]."""
    trip = kb.strategy("trip")
    block = trip.parallel("block", merge=fold(0, max))
    trip.start >> block >> trip.finish

    assert _kinds(trip) == [("error", "no_branches", "trip/block")]
    block.node(name="one")(step)
    assert trip.check() == ()


def test_a_branch_that_does_not_take_what_the_block_takes_is_an_error() -> None:
    """Its edges are not to be written, so an annotation is to be mended [GRA-05]."""
    trip = kb.strategy("trip")
    block = trip.parallel("block", merge=fold("", max), input=int, output=str)

    @block.node
    async def one(ctx: Any, text: bytes) -> list[int]:
        return [1]

    trip.start >> block >> trip.finish

    assert _kinds(trip) == [("error", "types", "trip/block/one")]
    assert "Mend an annotation" in trip.check()[0].remedy


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("anser", "Did you mean 'answer'?"),
        ("deep", "'s/sub' has one of this name; an edge stays inside one graph"),
        ("something else", "It has: start, finish, answer, sub"),
    ],
)
def test_a_name_that_is_not_there_is_refused_with_the_nearest_one(name: str, words: str) -> None:
    """Nothing was changed [GRA-05]."""
    graph = _graph("answer")
    graph.subgraph("sub").node(name="deep")(step)

    with pytest.raises(GraphError) as caught:
        graph.edge("start", name)
    assert words in str(caught.value)
    assert len(graph.edges) == 0


def _work(count: int, *, loops: bool) -> int:
    """How many steps of Python it takes to build and compile a strategy of so many nodes."""
    steps = 0

    def trace(frame: Any, event: str, given: Any) -> Any:
        nonlocal steps
        frame.f_trace_opcodes = True
        steps += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        line = kb.strategy("line")
        nodes = [line.node(step, name=f"n{number}") for number in range(count)]
        for left, right in pairwise([line.start, *nodes, line.finish]):
            line.edge(left, right)
            if loops and left is not line.start:
                line.edge(left, line.finish, when=bool, label="out")
        compile_strategy(line)
    finally:
        sys.settrace(before)
    return steps


@pytest.mark.parametrize("loops", [False, True], ids=["a line", "with conditions"])
def test_building_takes_work_in_proportion_to_nodes_and_edges(loops: bool) -> None:
    """Twice the nodes, twice the steps [GRA-05]."""
    _work(5, loops=loops)
    once, twice = _work(100, loops=loops), _work(200, loops=loops)

    assert twice / once < 2.1


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
