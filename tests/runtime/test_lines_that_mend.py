"""The lines that a check gives mend any graph when they are pasted as they stand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import koogbook as kb
from koogbook.errors import RedefinitionError
from koogbook.runtime.builder import Strategy, Subgraph


async def step(ctx: kb.Context, value: Any) -> Any:
    """A node that passes its input on."""
    return value


async def count(ctx: kb.Context, value: str) -> int:
    """A node of two types."""
    return len(value)


async def spell(ctx: kb.Context, value: int) -> str:
    """A node of the same types, the other way round."""
    return str(value)


KINDS = (step, count, spell)

#: What an edge may have beside its ends; two conditions without a label are both called "condition".
EXTRAS: tuple[dict[str, Any], ...] = (
    {},
    {},
    {"label": "x"},
    {"label": 'it\'s "y"'},
    {"when": lambda value: True},
    {"when": lambda value: False},
    {"when": lambda value: bool(value), "label": "x"},
    {"when": kb.has_text},
)

#: The nodes of a graph by their kinds, its edges by places, and the graphs inside it.
Plan = tuple[list[int], list[tuple[int, int, int]], list[Any]]


def plans(inner: st.SearchStrategy[list[Any]]) -> st.SearchStrategy[Plan]:
    """Graphs of up to four nodes, with any edges between them."""
    ends = st.integers(0, 5)
    edges = st.tuples(ends, ends, st.integers(0, len(EXTRAS) - 1))
    return st.tuples(
        st.lists(st.integers(0, len(KINDS) - 1), min_size=1, max_size=4), st.lists(edges, max_size=9), inner
    )


PLANS = plans(st.lists(plans(st.lists(plans(st.just([])), max_size=1)), max_size=2))


def build(plan: Plan, graph: Subgraph) -> None:
    """Put what a plan says into a graph."""
    kinds, edges, inner = plan
    names = [graph.node(KINDS[kind], name=f"n{place}").name for place, kind in enumerate(kinds)]
    for place, one in enumerate(inner):
        sub = graph.subgraph(f"it's {place}", input=str if place else Any)
        build(one, sub)
        names.append(sub.name)
    for source, target, extra in edges:
        begin, end = ["start", *names], [*names, "finish"]
        graph.edge(begin[source % len(begin)], end[target % len(end)], **EXTRAS[extra])


def trip_of(plan: Plan) -> Strategy:
    """A strategy ``trip`` of a plan."""
    trip = kb.strategy("trip", input=str)
    build(plan, trip)
    return trip


def paste(trip: Strategy, *, errors_alone: bool = False) -> bool:
    """Run the lines of one check as they stand, one after the other; whether an error had one."""
    mends = False
    for finding in trip.check():
        if finding.line and (finding.level == "error" or not errors_alone):
            mends = mends or finding.level == "error"
            exec(finding.line, {"trip": trip, "kb": kb})
    return mends


LAMBDAS = [(0, 0, 0), (1, 1, 4), (1, 1, 5), (2, 2, 0)]


@pytest.mark.parametrize("errors_alone", [False, True], ids=["all lines", "those of errors"])
@settings(max_examples=30, deadline=None)
@given(PLANS)
@example(([1, 1], LAMBDAS, []))  # the same ends and label, and both of them with wrong types
@example(([0, 0], [(0, 0, 0), (1, 1, 0), (1, 1, 2), (1, 2, 0), (1, 1, 6), (2, 2, 0)], []))  # three elses
@example(([0], [(0, 0, 0), (1, 2, 0)], [([0], [(0, 1, 0)], [])]))  # what an unreachable subgraph holds
@example(([0], [(0, 0, 0), (1, 2, 0)], [([0], [], [([0], [(0, 1, 0), (1, 0, 4), (1, 0, 5)], [])])]))
@example(([0, 0], [(0, 0, 0), (1, 2, 0), (2, 0, 4), (2, 0, 5)], []))  # twins out of an unreachable node
def test_the_lines_of_a_check_mend_what_it_has_found(errors_alone: bool, plan: Plan) -> None:
    """None of them raises, and after three checks no error has a line any more [GRA-03] [GRA-05]."""
    trip = trip_of(plan)

    for _ in range(3):
        paste(trip, errors_alone=errors_alone)
    assert not paste(trip)


def test_each_of_the_edges_that_look_the_same_gets_its_own_transformation() -> None:
    """At once, and once only [GRA-05]."""
    trip = trip_of(([1, 1], LAMBDAS, []))
    lines = [finding.line for finding in trip.check() if finding.kind == "types" and "n0" in finding.edge]

    assert lines == ["trip.edges[1].map(str)", "trip.find_edge('n0', 'n1', 'condition').map(str)"]
    paste(trip, errors_alone=True)
    assert [sum(one.kind == "map" for one in edge.steps) for edge in trip.edges] == [0, 1, 1, 0]


def test_the_edge_that_has_to_go_is_told_from_one_that_is_called_the_same() -> None:
    """The later one of that label has a condition, and stays [GRA-05]."""
    trip = trip_of(([0, 0], [(0, 0, 0), (1, 1, 0), (1, 2, 2), (1, 2, 6), (2, 2, 0)], []))
    kept = trip.edges[3]
    (found,) = trip.check()

    assert found.line == "trip.remove(trip.edges[2])"
    paste(trip)
    assert trip.check() == ()
    assert [repr(edge) for edge in trip.edges] == [
        "<edge start >> n0>",
        "<edge n0 >> n1>",
        "<edge n0 >> finish when x>",
        "<edge n1 >> finish>",
    ]
    assert trip.edges[2] is kept


def test_edges_that_are_named_by_their_places_go_from_the_last_one_on() -> None:
    """So each line still means its own, beside those that are named by their ends [GRA-05]."""
    trip = kb.strategy("trip")
    for name in ("a", "b", "c"):
        trip.node(step, name=name)
    trip.edge("start", "a")
    for target in ("finish", "b", "c"):
        trip.edge("a", target, label="" if target == "finish" else "x")
    trip.edge("b", "finish")
    trip.edge("c", "finish", label="y")
    trip.edge("c", "a")
    for target in ("b", "c"):
        trip.edge("a", target, label="x", when=bool)
    lines = [finding.line for finding in trip.check()]

    assert lines == [
        "trip.remove(trip.edges[3])",
        "trip.remove(trip.edges[2])",
        "trip.remove(trip.find_edge('c', 'a'))",
    ]
    paste(trip)
    assert trip.check() == ()
    assert [edge.label for edge in trip.edges.leaving(trip.nodes["a"])] == ["", "x", "x"]


@pytest.mark.parametrize("goes", [False, True], ids=["stays", "goes"])
def test_twins_have_a_line_where_no_other_edge_is_found_in_their_place(goes: bool) -> None:
    """One without a condition may be called as they are, and is in the way unless it goes before [GRA-05]."""
    trip = kb.strategy("trip")
    trip.node(step, name="a")
    trip.edge("start", "a")
    if goes:
        trip.edge("a", "finish")
    trip.edge("a", "finish", when=lambda value: True)
    twin = trip.edge("a", "finish", when=lambda value: False)
    trip.edge("a", "finish", label="condition")
    found = trip.check()[-1]

    assert found.kind == "same_edge"
    assert found.line == ("trip.remove(trip.find_edge('a', 'finish', 'condition'))" if goes else "")
    paste(trip)
    assert (twin in trip.edges) is not goes


def test_of_three_edges_without_a_condition_two_have_to_go_at_once() -> None:
    """A finding and a line for each [GRA-05]."""
    trip = trip_of(([0, 0, 0], [(0, 0, 0), (1, 1, 0), (1, 2, 0), (1, 3, 0), (2, 3, 0), (3, 3, 0)], []))
    found = [finding for finding in trip.check() if finding.kind == "second_else"]

    assert [finding.edge for finding in found] == ["n0 >> n2", "n0 >> finish"]
    assert {finding.text for finding in found} == {
        "trip/n0 has 3 edges without a condition, to n1, n2, finish; only one can be taken."
    }
    paste(trip)
    assert [finding.kind for finding in trip.check()] == ["unreachable"]


def test_an_edge_that_has_to_go_is_not_to_be_transformed_as_well() -> None:
    """Its types are no finding, those of the one that stays are [GRA-05]."""
    trip = trip_of(([1, 1, 1], [(0, 0, 0), (1, 1, 0), (1, 2, 0), (2, 3, 0), (3, 3, 0)], []))

    assert [(finding.kind, finding.edge) for finding in trip.check()] == [
        ("types", "n0 >> n1"),
        ("second_else", "n0 >> n2"),
    ]


def test_for_more_than_twenty_nodes_the_first_edge_without_a_condition_stays() -> None:
    """Which one leads on is looked up for the first twenty, so that a check of a large graph is quick [GRA-05]."""
    trip = kb.strategy("trip")
    names = [f"n{place}" for place in range(22)]
    for name in names:
        trip.node(step, name=name)
    trip.edge("start", "n0")
    for name, following in zip(names, [*names[1:], "finish"], strict=True):
        trip.edge(name, name)
        trip.edge(name, following)
    going = [finding.edge for finding in trip.check()]

    assert going == [f"{name} >> {name}" for name in names[:20]] + ["n20 >> n21", "n21 >> finish"]
    for _ in range(3):
        paste(trip)
    assert trip.check() == ()


def test_what_goes_with_a_subgraph_has_no_line_of_its_own() -> None:
    """It is told all the same, and an error inside can be mended before [GRA-05]."""
    trip = kb.strategy("trip")
    trip.start >> trip.finish
    sub = trip.subgraph("sub")
    for name in ("a", "b"):
        sub.node(step, name=name)
    sub.edge("start", "a")
    found = {finding.path: (finding.kind, finding.line) for finding in trip.check()}

    assert found == {
        "trip/sub/a": ("no_way_out", "trip.nodes['sub'].subgraph.edge('a', 'finish')"),
        "trip/sub/finish": ("no_finish", "trip.nodes['sub'].subgraph.edge('a', 'finish')"),
        "trip/sub": ("unreachable", "trip.remove('sub')"),
        "trip/sub/b": ("unreachable", ""),
    }
    paste(trip)
    assert trip.check() == ()


@pytest.mark.parametrize("name", ["class", "True", "my trip"])
def test_a_strategy_that_no_variable_can_be_called_after_is_called_strategy(name: str) -> None:
    """A keyword is the name of none [GRA-05]."""
    strategy = kb.strategy(name)
    strategy.node(step, name="a")
    strategy.edge("a", "finish")
    block = strategy.parallel("lambda", merge=kb.fold(0, max))
    block.as_node >> strategy.finish

    found = {finding.kind: finding for finding in strategy.check()}
    assert found["no_start"].line == "strategy.edge('start', 'a')"
    assert "Put a node into it: @block.node above" in found["no_branches"].remedy
    exec(found["no_start"].line, {"strategy": strategy})
    assert "no_start" not in [finding.kind for finding in strategy.check()]


def test_an_edge_that_may_not_be_defined_again_is_named_by_its_place_where_others_look_the_same() -> None:
    """The line takes out that very one [GRA-12]."""
    trip = kb.strategy("trip", redefine=False)

    def is_long(value: Any) -> bool:
        return len(value) > 5

    def make_long(value: Any) -> bool:
        return len(value) > 6

    make_long.__name__ = "is_long"
    trip.edge("start", "finish", when=is_long)
    other = trip.edge("start", "finish", when=make_long)
    with pytest.raises(RedefinitionError) as caught:
        trip.edge("start", "finish", when=is_long)

    assert str(caught.value).endswith("Remove it first: trip.remove(trip.edges[0]).")
    exec("trip.remove(trip.edges[0])", {"trip": trip})
    assert trip.edges == [other]
