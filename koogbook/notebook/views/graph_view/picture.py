"""The picture of a strategy graph: boxes, edges and frames as SVG."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import ceil
from typing import Any

from koogbook.notebook.views.graph_view.edge_lines import edge_label, edge_line, label_width
from koogbook.notebook.views.graph_view.layout import Box, Layout, Link, Rect, layout
from koogbook.notebook.views.graph_view.model import EdgeRow, GraphState, NodeRow
from koogbook.notebook.views.graph_view.record import NodeStatus
from koogbook.notebook.views.look.controls import does
from koogbook.notebook.views.look.glyphs import glyph_at
from koogbook.notebook.views.look.isolates import name, path_apart, sentence, set_apart, shortened, unmarked
from koogbook.notebook.views.look.markup import Element, h, one_line
from koogbook.notebook.views.look.measure import (
    count,
    cut_end,
    cut_middle,
    duration,
    fit,
    text_width,
    thousands,
)
from koogbook.notebook.views.look.pieces import STATES, picture

#: More boxes than this are no picture any more.
MOST_BOXES = 500

_NAME, _SMALL = 12.5, 11
_LEAST, _MOST = 112, 208
_TEXT_LEFT, _TEXT_RIGHT = 34, 12
_BOX_HEIGHT, _PILL_HEIGHT = 44, 28
_FRAME_HEAD, _FRAME_PAD = 34, 14
_MARGIN = 14
_LONGEST_HEAD = 60

_STEADY = 48
_LIVE = "visit 88 \u00b7 88.88 s so far"

_WORST: tuple[NodeStatus, ...] = ("failed", "running", "stopped", "visited", "not reached")


def graph_picture(state: GraphState) -> Element | None:
    """The graph as an ``svg`` element, or None where it has more than :data:`MOST_BOXES` boxes."""
    nodes = [node for node in state.nodes if _folded_into(node.path, state) is None]
    if len(nodes) > MOST_BOXES:
        return None
    drawing = _Drawing(state, nodes)
    width, height = drawing.size("")
    shapes = drawing.shapes("", _MARGIN, _MARGIN)
    return picture(
        round(width + 2 * _MARGIN, 1),
        round(height + 2 * _MARGIN, 1),
        f"Strategy graph {set_apart(state.name)}",
        f"{count(len(state.nodes), 'node')}. {state.status}.",
        *shapes,
    )


def _folded_into(path: str, state: GraphState) -> str | None:
    """The outermost folded subgraph that a node is in, or None where the node has a box of its own."""
    around = [folded for folded in state.folded if path.startswith(f"{folded}/")]
    return min(around, key=len, default=None)


class _Drawing:
    """Lays out each graph by itself, the innermost first: for the graph around it a subgraph is one box."""

    def __init__(self, state: GraphState, nodes: Sequence[NodeRow]) -> None:
        self._rows = {node.path: node for node in nodes}
        self._selected = state.selected.path if state.selected else ""
        self._steady = state.steady
        self._inner = {node.parent for node in nodes if node.parent}
        self._hidden: dict[str, Counter[NodeStatus]] = {}
        for node in state.nodes:
            if (into := _folded_into(node.path, state)) is not None:
                self._hidden.setdefault(into, Counter())[node.status] += 1
        self._edges: dict[str, list[EdgeRow]] = {}
        for edge in state.edges:
            if edge.source in self._rows and edge.target in self._rows:
                self._edges.setdefault(self._rows[edge.source].parent, []).append(edge)
        self._children: dict[str, list[NodeRow]] = {}
        for node in nodes:
            self._children.setdefault(node.parent, []).append(node)
        self._layouts: dict[str, Layout] = {}
        for parent in sorted(self._children, key=lambda path: (-path.count("/"), not path, path)):
            self._layouts[parent] = layout(
                [self._box(node) for node in self._children[parent]],
                [
                    Link(edge.source, edge.target, label_width(edge, self._steady))
                    for edge in self._edges.get(parent, ())
                ],
            )

    def size(self, parent: str) -> tuple[float, float]:
        """Width and height of one graph."""
        laid = self._layouts.get(parent)
        return (laid.width, laid.height) if laid else (0, 0)

    def shapes(self, parent: str, x: float, y: float) -> list[Element]:
        """One graph with all that is in it, its corner at ``x``, ``y``."""
        laid = self._layouts.get(parent)
        if laid is None:
            return []
        edges = list(zip(self._edges.get(parent, ()), laid.routes, strict=True))
        # What was taken is drawn over what was not, and what is live over both.
        edges.sort(key=lambda pair: (pair[0].live, pair[0].taken > 0))
        found = [shape for edge, route in edges for shape in edge_line(edge, route, x, y)]
        found += [
            shape for edge, route in edges if route.label for shape in edge_label(edge, route.label, x, y)
        ]
        for node in self._children[parent]:
            rect = laid.boxes[node.path]
            found += self._node(node, Rect(rect.x + x, rect.y + y, rect.width, rect.height))
        return found

    def _box(self, node: NodeRow) -> Box:
        if node.path in self._inner:
            width, height = self.size(node.path)
            head = text_width(_name(node), _NAME, bold=True) + _width(_frame_head(node)) + 60
            return Box(node.path, max(width + 2 * _FRAME_PAD, head), height + _FRAME_HEAD + _FRAME_PAD)
        name = text_width(_name(node), _NAME, bold=True)
        if node.kind in ("start", "finish"):
            around = self._rows.get(node.parent)
            is_fork = around is not None and around.kind == "parallel"
            return Box(node.path, round(max(84, name + _TEXT_LEFT + 16)), _PILL_HEIGHT, even=is_fork)
        second = self._second(node)
        if self._steady:
            # Rounded up to steps: a longer text seldom moves what stands around it.
            longest = max(_width(second), text_width(_LIVE, _SMALL))
            beside = float(_STEADY * ceil(longest / _STEADY))
        else:
            beside = _width(second)
        wanted = max(name, beside) + _TEXT_LEFT + _TEXT_RIGHT
        return Box(node.path, round(min(max(wanted, _LEAST), _MOST)), _BOX_HEIGHT, even=node.kind == "merge")

    def _second(self, node: NodeRow) -> str:
        """The second line of a box; a folded one says first what is in it."""
        hidden = self._hidden.get(node.path)
        if hidden is None:
            return _second(node)
        worst = next(status for status in _WORST if hidden[status])
        return f"{thousands(sum(hidden.values()))} folded, {thousands(hidden[worst])} {worst}"

    def _node(self, node: NodeRow, rect: Rect) -> list[Element]:
        if node.path in self._inner:
            width, _ = self.size(node.path)
            inner_x = rect.x + (rect.width - width) / 2
            return [
                self._frame(node, rect),
                *self.shapes(node.path, round(inner_x, 1), rect.y + _FRAME_HEAD),
            ]
        return [
            _plain_node(
                node,
                rect,
                self._second(node),
                selected=node.path == self._selected,
                folded=node.path in self._hidden,
            )
        ]

    def _frame(self, node: NodeRow, rect: Rect) -> Element:
        mark, tone = STATES[node.status]
        return h(
            "g",
            h("title", *sentence(_described(node))),
            _focus(rect, 8),
            _halo(rect, 8) if node.path == self._selected else None,
            h(
                "rect",
                **_box_of(rect),
                rx=8,
                fill="var(--kb-paper)" if node.depth % 2 else "var(--kb-sunk)",
                stroke="var(--kb-bad)"
                if node.status == "failed"
                else "var(--kb-ok)"
                if node.chosen
                else "var(--kb-line)",
                stroke_dasharray="4 3" if node.status == "not reached" else None,
            ),
            glyph_at(mark, rect.x + 10, rect.y + 10, tone=tone),
            h(
                "text",
                name(fit(_name(node), rect.width - 60, _NAME, bold=True)),
                h(
                    "tspan",
                    *_fitting(
                        _frame_head(node),
                        max(rect.width - 60 - text_width(_name(node), _NAME, bold=True), 20),
                    ),
                    dx=8,
                    font_size=_SMALL,
                    font_weight=400,
                    fill="var(--kb-ink2)",
                ),
                x=rect.x + 31,
                y=rect.y + 21,
                font_size=_NAME,
                font_weight=600,
                fill="var(--kb-ink)",
            ),
            live=does(
                "select", node.path, name=unmarked(_described(node)), picked=node.path == self._selected
            ),
        )


@lru_cache(maxsize=2048)
def _plain_node(node: NodeRow, rect: Rect, second: str, *, selected: bool, folded: bool) -> Element:
    """A box with its text; remembered, since from one picture to the next most boxes are the same."""
    mark, tone = STATES[node.status]
    pill = node.kind in ("start", "finish")
    radius = rect.height / 2 if pill else 6
    middle = rect.y + rect.height / 2
    outline = h(
        "rect",
        x=rect.x + 4,
        y=rect.y + 4,
        width=rect.width,
        height=rect.height,
        rx=radius,
        fill="var(--kb-paper)",
        stroke="var(--kb-ink2)",
    )
    return h(
        "g",
        h("title", *sentence(_described(node))),
        _focus(rect, radius),
        _halo(rect, radius) if selected else None,
        outline if folded else None,
        h("rect", **_box_of(rect), rx=radius, **_STROKES[node.status] | (_CHOSEN if node.chosen else {})),
        glyph_at(mark, rect.x + 11, middle - 7, tone=tone),
        h(
            "text",
            name(fit(_name(node), rect.width - _TEXT_LEFT - 8, _NAME, bold=True)),
            x=rect.x + _TEXT_LEFT,
            y=middle + 4.5 if pill else middle - 3,
            font_size=_NAME,
            font_weight=600,
            fill="var(--kb-ink)",
        ),
        None
        if pill
        else h(
            "text",
            *_fitting(second, rect.width - _TEXT_LEFT - 8),
            x=rect.x + _TEXT_LEFT,
            y=middle + 13,
            font_size=_SMALL,
            fill=_SECOND_COLOUR.get(node.status, "var(--kb-ink2)"),
        ),
        live=does("select", node.path, name=unmarked(_described(node)), picked=selected),
    )


def _halo(rect: Rect, radius: float) -> Element:
    """The ring of what is selected."""
    return h(
        "rect",
        x=rect.x - 3,
        y=rect.y - 3,
        width=rect.width + 6,
        height=rect.height + 6,
        rx=radius + 3,
        fill="none",
        stroke="var(--kb-accent)",
        stroke_width=2,
        stroke_opacity="0.45",
    )


def _focus(rect: Rect, radius: float) -> Element:
    """The ring of the focus, which the style sheet of the live form lights."""
    return h(
        "rect",
        cls="kb-focus kb-live",
        x=rect.x - 4,
        y=rect.y - 4,
        width=rect.width + 8,
        height=rect.height + 8,
        rx=radius + 4,
        fill="none",
        stroke="none",
    )


_STROKES: Mapping[NodeStatus, dict[str, Any]] = {
    "visited": {"fill": "var(--kb-paper)", "stroke": "var(--kb-ink2)", "stroke_width": 1.2},
    "running": {"fill": "var(--kb-t-accent)", "stroke": "var(--kb-accent)", "stroke_width": 2},
    "failed": {"fill": "var(--kb-t-bad)", "stroke": "var(--kb-bad)", "stroke_width": 1.5},
    "stopped": {"fill": "var(--kb-sunk)", "stroke": "var(--kb-ink2)", "stroke_width": 1.5},
    "not reached": {
        "fill": "var(--kb-paper)",
        "stroke": "var(--kb-ink2)",
        "stroke_width": 1.1,
        "stroke_dasharray": "4 3",
    },
}
_CHOSEN = {"stroke": "var(--kb-ok)", "stroke_width": 2}
_SECOND_COLOUR: Mapping[NodeStatus, str] = {"running": "var(--kb-accent)", "failed": "var(--kb-bad)"}


def _box_of(rect: Rect) -> dict[str, Any]:
    return {"x": rect.x, "y": rect.y, "width": rect.width, "height": rect.height}


def _name(node: NodeRow) -> str:
    return cut_middle(one_line(node.name))


def _second(node: NodeRow) -> str:
    """The second line of a box: visits, time and one fact; before the first visit its types. Names are set apart."""
    if node.status == "not reached":
        if node.head:
            return set_apart(cut_middle(one_line(node.head), 30))
        return shortened(node.types, lambda types: cut_middle(one_line(types), 30))
    if node.status == "running":
        return f"visit {node.visits} \u00b7 " + (
            f"{duration(node.seconds)} so far" if node.seconds else "running"
        )
    if node.status == "stopped":
        return f"\u00d7{node.visits} \u00b7 {duration(node.seconds)} \u00b7 stopped"
    if node.status == "failed":
        return f"failed \u00d7{node.failures} \u00b7 {set_apart(one_line(node.fact).partition(':')[0])}"
    words = [f"\u00d7{node.visits}", duration(node.seconds)]
    if node.kind == "merge" and node.head:
        words.insert(0, set_apart(cut_end(one_line(node.head), 24)))
    if node.fact:
        words.append(set_apart(node.fact))
    return " \u00b7 ".join(words)


def _frame_head(node: NodeRow) -> str:
    """What stands beside the name of a frame: what it has of its own, then how it goes."""
    if not node.head:
        return _second(node)
    head = set_apart(cut_end(one_line(node.head), _LONGEST_HEAD))
    return head if node.status == "not reached" else f"{head} \u00b7 {_second(node)}"


def _width(second: str) -> float:
    return text_width(unmarked(second), _SMALL)


def _fitting(second: str, width: float) -> list[Element | str]:
    return sentence(shortened(second, lambda text: fit(text, width, _SMALL)))


def _described(node: NodeRow) -> str:
    """A node in words, its names set apart."""
    words = [path_apart(node.path), node.status]
    if node.visits:
        words += [count(node.visits, "visit"), duration(node.seconds)]
    return ", ".join([*words, set_apart(node.fact)] if node.fact else words)
