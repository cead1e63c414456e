"""Boxes, labels and edges of a graph never meet."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from koogbook.notebook.views.graph_view.layout import Box, Layout, Link, Rect, layout


@st.composite
def graphs(draw) -> tuple[list[Box], list[Link]]:
    """A chain with extra links in any direction, loops of a box on itself and doubles included."""
    size = draw(st.integers(1, 12))
    boxes = [
        Box(
            f"n{place}",
            draw(st.sampled_from([84, 130, 208])),
            draw(st.sampled_from([28, 44, 180])),
            even=draw(st.booleans()),
        )
        for place in range(size)
    ]
    width = st.sampled_from([0, 40, 90])
    links = [
        Link(f"n{place}", f"n{place + 1}", draw(width))
        for place in range(size - 1)
        if draw(st.integers(0, 5))
    ]
    ends = st.integers(0, size - 1)
    extra = draw(st.lists(st.tuples(ends, ends, width), max_size=10))
    return boxes, [*links, *(Link(f"n{source}", f"n{target}", label) for source, target, label in extra)]


def overlap(one: Rect, other: Rect) -> bool:
    """Whether two rectangles share more than a rounded edge."""
    slack = 0.15
    return (
        one.x < other.right - slack
        and other.x < one.right - slack
        and one.y < other.bottom - slack
        and other.y < one.bottom - slack
    )


def things(laid: Layout) -> list[tuple[object, Rect]]:
    """All boxes and labels; a label belongs to the number of its link."""
    labels = [(number, route.label) for number, route in enumerate(laid.routes) if route.label]
    return [*laid.boxes.items(), *labels]


def hits(laid: Layout) -> list[tuple[int, object]]:
    """Edges that run through a box or through the label of another edge."""
    return [
        (number, owner)
        for number, route in enumerate(laid.routes)
        for (x1, y1), (x2, y2) in pairwise(route.points)
        for owner, rect in things(laid)
        if owner != number
        and min(x1, x2) < rect.right - 0.15
        and max(x1, x2) > rect.x + 0.15
        and min(y1, y2) < rect.bottom - 0.15
        and max(y1, y2) > rect.y + 0.15
    ]


@given(graphs())
@settings(max_examples=150, deadline=None)
def test_no_two_boxes_or_labels_overlap(graph):
    """Names and labels can always be read."""
    laid = layout(*graph)

    assert not [(a, b) for (a, one), (b, other) in combinations(things(laid), 2) if overlap(one, other)]


@given(graphs())
@settings(max_examples=150, deadline=None)
def test_no_edge_runs_through_a_box_or_a_foreign_label(graph):
    """A line behind a box would look like one that ends there."""
    assert hits(layout(*graph)) == []


@given(graphs())
@settings(max_examples=100, deadline=None)
def test_every_piece_of_an_edge_is_level_or_upright(graph):
    """Edges have right angles only."""
    laid = layout(*graph)

    assert all(x1 == x2 or y1 == y2 for route in laid.routes for (x1, y1), (x2, y2) in pairwise(route.points))


@given(graphs())
@settings(max_examples=100, deadline=None)
def test_every_edge_begins_and_ends_at_its_boxes(graph):
    """No line ends in the air."""
    boxes, links = graph
    laid = layout(boxes, links)

    assert all(
        on_border(route.points[0], laid.boxes[link.source])
        and on_border(route.points[-1], laid.boxes[link.target])
        for link, route in zip(links, laid.routes, strict=True)
    )


def on_border(point: tuple[float, float], rect: Rect) -> bool:
    """Whether a point lies on the outline of a rectangle."""
    x, y = point
    inside = rect.x - 0.2 <= x <= rect.right + 0.2 and rect.y - 0.2 <= y <= rect.bottom + 0.2
    edges = (abs(x - rect.x), abs(x - rect.right), abs(y - rect.y), abs(y - rect.bottom))
    return inside and min(edges) <= 0.2


@given(graphs())
@settings(max_examples=100, deadline=None)
def test_everything_lies_inside_the_picture(graph):
    """Nothing is cut off at a side."""
    laid = layout(*graph)

    assert all(
        rect.x >= 0 and rect.y >= 0 and rect.right <= laid.width + 0.2 and rect.bottom <= laid.height + 0.2
        for _, rect in things(laid)
    )


@given(graphs())
@settings(max_examples=50, deadline=None)
def test_the_same_graph_is_laid_out_the_same_way(graph):
    """Same input, same picture."""
    assert layout(*graph) == layout(*graph)


def test_a_chain_is_one_straight_line():
    """A graph without choices has no bend."""
    boxes = [Box(name, 112 + 20 * place, 44) for place, name in enumerate("abc")]

    laid = layout(boxes, [Link("a", "b", 60), Link("b", "c")])

    assert [len(route.points) for route in laid.routes] == [2, 2]


def test_a_box_that_only_answers_stands_at_the_right():
    """Model and tools are side by side, with one line there and one back."""
    boxes = [Box("start", 84, 28), Box("model", 112, 44), Box("tools", 112, 44), Box("finish", 84, 28)]
    links = [
        Link("start", "model"),
        Link("model", "tools", 80),
        Link("tools", "model", 60),
        Link("model", "finish"),
    ]

    laid = layout(boxes, links)

    model, tools = laid.boxes["model"], laid.boxes["tools"]
    assert model.y == tools.y
    assert model.right < tools.x


def test_an_edge_back_runs_at_the_left():
    """Loops are seen at once: they are the lines left of all boxes."""
    boxes = [Box(name, 112, 44) for name in "abc"]

    laid = layout(boxes, [Link("a", "b"), Link("b", "c"), Link("c", "a", 70)])

    assert min(x for x, _ in laid.routes[2].points) < min(rect.x for rect in laid.boxes.values())


def test_boxes_without_links_stand_in_short_rows():
    """A strategy that is not connected yet is shown all the same, and no wider than a page."""
    laid = layout([Box(name, 112, 44) for name in "abcdefghij"], [])

    assert laid.width == 4 * 112 + 3 * 16


def test_an_empty_graph_has_no_size():
    """Nothing is laid out as nothing."""
    assert layout([], []) == Layout(0, 0, {}, ())


def test_a_link_to_a_box_that_is_not_there_is_an_error():
    """An edge is not dropped silently."""
    with pytest.raises(KeyError):
        layout([Box("a", 112, 44)], [Link("a", "b")])


@pytest.mark.parametrize("branches", range(1, 9))
def test_a_fork_and_its_merge_stand_in_the_middle_of_the_branches(branches: int) -> None:
    """Whether one branch is in the middle or none is [GRA-08]."""
    names = [f"b{place}" for place in range(branches)]
    boxes = [Box("start", 84, 28, even=True), *(Box(name, 130, 44) for name in names)]
    links = [Link("start", name) for name in names] + [Link(name, "merge") for name in names]
    found = layout([*boxes, Box("merge", 150, 44, even=True)], links).boxes
    middle = (found["b0"].x + found[names[-1]].right) / 2

    for end in ("start", "merge"):
        assert found[end].x + found[end].width / 2 == pytest.approx(middle, abs=0.2)
