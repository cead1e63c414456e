"""What a message tells to write works when it is written."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

import pytest

import koogbook as kb
from koogbook.errors import (
    BoundaryTypeError,
    ForeignNodeError,
    GraphError,
    RedefinitionError,
    StrategyCheckError,
    StuckInNodeError,
)


async def step(ctx: kb.Context, value: Any) -> Any:
    """A node that passes its input on."""
    return value


def trip_of(*edges: tuple[str, str]) -> kb.Strategy:
    """A strategy ``trip`` with these edges, and the nodes that they name."""
    trip = kb.strategy("trip")
    for name in dict.fromkeys(name for edge in edges for name in edge):
        if name not in ("start", "finish"):
            trip.node(name=name)(step)
    for source, target in edges:
        trip.edge(source, target)
    return trip


def paste(trip: kb.Strategy) -> None:
    """Run the lines of all findings, in the order in which they are given."""
    for finding in trip.check():
        if finding.line:
            exec(finding.line, {"trip": trip, "kb": kb})


def errors(trip: kb.Strategy) -> list[str]:
    """The kinds of the errors that are found."""
    return [finding.kind for finding in trip.check() if finding.level == "error"]


GRAPHS = {
    "two elses and a dead end": [("start", "x"), ("x", "finish"), ("start", "y"), ("x", "y")],
    "a cycle": [("start", "x"), ("x", "y"), ("y", "x")],
    "a cycle that nothing leads to": [("x", "y"), ("y", "x")],
    "two nodes with two elses": [
        ("start", "a"),
        ("a", "b"),
        ("a", "c"),
        ("b", "d"),
        ("b", "c"),
        ("c", "d"),
        ("d", "finish"),
    ],
    "an else that leads back": [("start", "a"), ("a", "a"), ("a", "finish")],
    "elses that lead back to each other": [
        ("start", "a"),
        ("a", "b"),
        ("a", "finish"),
        ("b", "a"),
        ("b", "finish"),
    ],
    "a dead end": [("start", "a"), ("a", "b")],
    "no start": [("a", "b"), ("b", "finish")],
}


@pytest.mark.parametrize("edges", list(GRAPHS.values()), ids=list(GRAPHS))
async def test_the_lines_of_all_findings_leave_nothing_to_do(edges: list[tuple[str, str]]) -> None:
    """Pasted one after the other, they make no new error [GRA-05]."""
    trip = trip_of(*edges)

    assert errors(trip)
    paste(trip)
    assert errors(trip) == []


def test_a_line_takes_out_the_edge_that_it_means() -> None:
    """Also when another line was pasted before [GRA-05]."""
    trip = trip_of(*GRAPHS["two nodes with two elses"])
    paste(trip)

    assert [(edge.source.name, edge.target.name) for edge in trip.edges] == [
        ("start", "a"),
        ("a", "b"),
        ("b", "d"),
        ("c", "d"),
        ("d", "finish"),
    ]


def test_a_cycle_gets_its_way_out_from_a_node_of_the_cycle() -> None:
    """The start has an else already [GRA-05]."""
    trip = trip_of(*GRAPHS["a cycle"])

    assert "trip.edge('start', 'finish')" not in [finding.line for finding in trip.check()]


def test_a_line_that_mends_two_findings_stands_once() -> None:
    """A dead end is why the finish cannot be reached [GRA-05]."""
    trip = trip_of(*GRAPHS["a dead end"])

    with pytest.raises(StrategyCheckError) as caught:
        raise_if_it_cannot_run(trip)
    assert str(caught.value).count("trip.edge('b', 'finish')") == 1


def raise_if_it_cannot_run(trip: kb.Strategy) -> None:
    """As an agent does."""
    from koogbook.runtime.checking.checks import require_runnable

    require_runnable(trip)


def test_edges_that_look_the_same_are_found_by_ends_and_label() -> None:
    """The last one of them, whatever else was taken out [GRA-05]."""
    trip = trip_of(("start", "a"), ("a", "finish"))
    trip.edge("a", "finish", when=lambda value: True)
    last = trip.edge("a", "finish", when=lambda value: False)
    (found,) = trip.check()
    assert found.line == "trip.remove(trip.find_edge('a', 'finish', 'condition'))"
    paste(trip)

    assert last not in trip.edges
    assert trip.check() == ()


def test_an_edge_that_is_not_there_is_not_found() -> None:
    """The message says which there are [GRA-12]."""
    trip = trip_of(("start", "a"), ("a", "finish"))

    with pytest.raises(GraphError, match=r"There is no edge start >> finish .* has: <edge start >> a>"):
        trip.find_edge("start", "finish")
    with pytest.raises(GraphError, match=r"has the label 'x'.*There are: ''"):
        trip.find_edge("a", "finish", "x")


async def test_a_node_that_is_stuck_gets_a_line_to_the_finish() -> None:
    """Not to the first node that refused, and from a subgraph by its path [GRA-03]."""
    trip = kb.strategy("trip")
    part = trip.subgraph("part")
    part.node(name="a b")(step)
    part.start >> "a b"
    part.edge("a b", "finish", when=lambda value: False)
    trip.start >> part >> trip.finish
    agent = kb.Agent(kb.OfflineExecutor(), "offline", trip)

    with pytest.raises(StuckInNodeError) as caught:
        await agent.run("x")
    line = "trip.nodes['part'].subgraph.edge('a b', 'finish')"
    assert f"{line}." in str(caught.value)
    exec(line, {"trip": trip})
    assert (await agent.run("x")).output == "x"


# ------------------------------------------------------------------------------------------- what is no node


async def undecorated(ctx: kb.Context, value: Any) -> Any:
    """A function that is no node."""
    return value


@pytest.mark.parametrize(
    ("what", "remedy"),
    [
        (undecorated, r"Decorate the function with @trip\.node"),
        ([1], "Write an edge (for|from) each of them"),
        (None, "or the name of a node"),
        ("nowhere", "There is no node 'nowhere'"),
    ],
)
def test_an_arrow_to_what_is_no_node_says_so(what: Any, remedy: str) -> None:
    """On both of its sides, for strategies and subgraphs [GRA-01]."""
    trip = kb.strategy("trip")
    part: Any = trip.subgraph("part")
    for arrow in (
        lambda: trip.start >> what,
        lambda: part >> what,
        lambda: what >> trip.finish,
        lambda: what >> part,
    ):
        with pytest.raises(GraphError, match=remedy):
            arrow()
    assert trip.edges == []


def test_several_on_the_left_of_an_arrow_need_no_condition() -> None:
    """On its right one of them is to be taken, and on its left each leads to the same node [GRA-01]."""
    trip = kb.strategy("trip")
    some: Any = [trip.node(step, name=name) for name in ("a", "b")]

    with pytest.raises(GraphError) as left:
        some >> trip.finish
    with pytest.raises(GraphError) as right:
        trip.start >> some
    assert str(left.value).endswith("Write an edge from each of them; several may lead to one node.")
    assert str(right.value).endswith("each of them, with when= where one of several is to be taken.")


@pytest.mark.parametrize(("name", "made"), [("trip", "trip"), ("class", "strategy"), ("my trip", "strategy")])
def test_a_decorator_to_write_can_be_written(name: str, made: str) -> None:
    """Also where no variable can have the name of the strategy [GRA-01]."""
    trip = kb.strategy(name)

    with pytest.raises(GraphError, match=rf"Decorate the function with @{made}\.node\."):
        trip.start >> undecorated  # type: ignore[operator]


def test_an_arrow_takes_the_name_of_a_node() -> None:
    """As ``edge`` does [GRA-01]."""
    trip = kb.strategy("trip")
    ask: Any = trip.node(name="ask")(step)
    trip.start >> "ask" >> trip.finish  # type: ignore[operator]

    assert trip.edges[0].target is ask
    assert trip.check() == ()


def test_a_node_inside_a_subgraph_is_named_as_such() -> None:
    """To use the subgraph, or to take the node out where it is [GRA-12a]."""
    trip = kb.strategy("trip")
    part = trip.subgraph("part")
    inner = part.node(name="inner")(step)

    with pytest.raises(
        ForeignNodeError, match=r"'trip/part/inner' is inside 'trip/part'; edges join"
    ) as caught:
        trip.start >> inner
    assert "Use the subgraph 'part'" in str(caught.value)
    assert "trip.nodes['part'].subgraph.remove('inner')" in str(caught.value)
    with pytest.raises(ForeignNodeError, match="edges join nodes of one graph"):
        inner >> trip.finish
    exec("trip.nodes['part'].subgraph.remove('inner')", {"trip": trip})
    assert "inner" not in part.nodes


def test_nothing_is_taken_out_where_one_cannot_be() -> None:
    """All of it, or none [GRA-12a]."""
    trip = trip_of(("start", "a"), ("a", "finish"))

    for wrong in ("nope", "finish"):
        with pytest.raises(GraphError, match="Nothing was changed"):
            trip.remove("a", wrong)
    assert "a" in trip.nodes
    assert len(trip.edges) == 2


def test_an_edge_that_is_taken_out_with_its_node_goes_once() -> None:
    """Whichever of them is named first [GRA-12a]."""
    for node_first in (True, False):
        trip = trip_of(("start", "a"), ("a", "finish"))
        edge = trip.edges[1]
        trip.remove(*(("a", edge) if node_first else (edge, "a")))

        assert trip.edges == []
        assert list(trip.nodes) == ["start", "finish"]


def test_what_is_named_twice_is_taken_out_once() -> None:
    """And told once [GRA-12a]."""
    trip = trip_of(("start", "a"), ("a", "b"), ("b", "finish"))
    trip.remove("a", trip.nodes["a"], "a")
    trip.remove(trip.edges[0], trip.edges[0])

    assert trip.edges == []
    assert trip.changes == [
        "node a removed: checkpoints saved after trip/a can no longer be resumed",
        "edge b >> finish removed",
    ]


def test_further_arguments_with_a_default_are_the_functions_own() -> None:
    """The idiom for a function that is made in a loop [GRA-01]."""
    trip = kb.strategy("trip")

    @trip.node
    async def visit(ctx: kb.Context, value: str, place: int = 3, *, more: bool = False) -> int:
        return place

    assert (visit.input_type, visit.output_type) == (str, int)
    with pytest.raises(GraphError, match="takes 3 arguments"):

        @trip.node  # type: ignore[arg-type]
        async def wrong(ctx: kb.Context, value: str, place: int) -> int:
            return place


def test_any_number_of_further_arguments_is_the_functions_own_affair() -> None:
    """None of them has to be given [GRA-01]."""
    trip = kb.strategy("trip")

    @trip.node
    async def visit(ctx: kb.Context, value: str, *more: str, **others: int) -> int:
        return len(more)

    assert (visit.input_type, visit.output_type) == (str, int)


def test_a_maker_of_conditions_is_called_for_one() -> None:
    """Without its parentheses it would always hold [GRA-10]."""
    trip = trip_of(("start", "a"))

    for maker in (kb.calls_tool, kb.is_instance, kb.not_, kb.history_over):
        with pytest.raises(GraphError, match=rf"when=kb\.{maker.__name__}\(\.\.\.\)"):
            trip.edge("a", "finish", when=maker)
    assert len(trip.edges) == 1


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda value: kb.calls_tool("exit"), "is a condition itself"),
        (lambda value: step, "is a function, and was not called"),
        (lambda value: int, r"is a class, and no answer.*ask for the class, as with isinstance\(value"),
        (
            lambda value: Sized,
            r"gave type <class .*Sized'> for str 'x', which is a class, and no .*isinstance",
        ),
    ],
)
async def test_a_condition_that_gives_no_answer_is_an_error(answer: Any, why: str) -> None:
    """It would be true for ever [GRA-10]."""
    trip = trip_of(("start", "a"), ("a", "finish"))
    trip.edge("a", "finish", when=answer)

    with pytest.raises(GraphError, match=why):
        await kb.Agent(kb.OfflineExecutor(), "offline", trip).run("x")


async def test_an_answer_that_was_not_awaited_is_an_error() -> None:
    """Nor is the coroutine left behind [GRA-10]."""
    trip = trip_of(("start", "a"), ("a", "finish"))

    async def later(value: Any) -> bool:
        return False

    async def condition(value: Any) -> Any:
        return later(value)

    trip.edge("a", "finish", when=condition)
    with pytest.raises(GraphError, match="has to be awaited"):
        await kb.Agent(kb.OfflineExecutor(), "offline", trip).run("x")


def test_a_condition_that_cannot_be_says_what_became_of_its_edge() -> None:
    """It is there, and the else of its node [GRA-10]."""
    trip = trip_of(("start", "a"))

    with pytest.raises(GraphError) as caught:
        trip.edge("a", "finish").when(3)  # type: ignore[arg-type]
    assert caught.value.__notes__ == ["The <edge a >> finish> of 'trip' stays as it is, without this when."]


async def test_the_type_of_none_is_named_as_it_is_written() -> None:
    """``None``, which can be pasted [GRA-01]."""
    trip = kb.strategy("trip", output=str)
    trip.edge("start", "finish", map=lambda value: None)

    with pytest.raises(BoundaryTypeError, match=r"declare what really comes: output=None\."):
        await kb.Agent(kb.OfflineExecutor(), "offline", trip).run("x")


def test_an_edge_that_may_not_be_defined_again_says_how_to_remove_it() -> None:
    """The line works [GRA-12]."""
    trip = kb.strategy("trip", redefine=False)
    trip.edge("start", "finish", label="way")

    with pytest.raises(RedefinitionError) as caught:
        trip.edge("start", "finish", label="way")
    line = "trip.remove(trip.find_edge('start', 'finish', 'way'))"
    assert str(caught.value).endswith(f"Nothing was changed. Remove it first: {line}.")
    exec(line, {"trip": trip})
    assert trip.edges == []


@pytest.mark.parametrize("name", ["", 3, "a/b"])
def test_a_name_that_was_given_is_the_name_or_an_error(name: Any) -> None:
    """An empty one is not that of the function [GRA-01]."""
    trip = kb.strategy("trip")

    with pytest.raises(GraphError, match="A node needs a name"):
        trip.node(step, name=name)
    assert list(trip.nodes) == ["start", "finish"]
