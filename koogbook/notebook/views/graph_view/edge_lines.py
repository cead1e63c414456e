"""How one edge is drawn: its line with an arrow, and its label with how often it was taken."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from koogbook.notebook.views.graph_view.layout import Rect, Route
from koogbook.notebook.views.graph_view.model import EdgeRow
from koogbook.notebook.views.look.isolates import name
from koogbook.notebook.views.look.markup import Element, h, number, one_line
from koogbook.notebook.views.look.measure import cut_middle, text_width, thousands

_SMALL = 11
_LABEL_LENGTH = 28
_RADIUS = 8


def _label_text(edge: EdgeRow) -> str:
    return cut_middle(one_line(edge.label), _LABEL_LENGTH)


def label_width(edge: EdgeRow, steady: bool) -> float:
    """The width of a label in px, 0 for an edge without one; a ``steady`` one has room for a count of two digits."""
    if not edge.label:
        return 0
    width = text_width(_label_text(edge), _SMALL) + 18
    if edge.taken or steady:
        width += 6 + text_width(f"\u00d7{thousands(max(edge.taken, 88))}", _SMALL, bold=True)
    return round(width)


def _edge_stroke(edge: EdgeRow) -> dict[str, Any]:
    if edge.live:
        return {"stroke": "var(--kb-accent)", "stroke_width": 2.0}
    if edge.taken:
        return {"stroke": "var(--kb-ink2)", "stroke_width": 1.5}
    return {"stroke": "var(--kb-ink2)", "stroke_width": 1.1, "stroke_dasharray": "4 3"}


@lru_cache(maxsize=4096)
def edge_line(edge: EdgeRow, route: Route, x: float, y: float) -> tuple[Element, ...]:
    """The line and its arrow; remembered, since from one picture to the next most edges are the same."""
    points = [(px + x, py + y) for px, py in route.points]
    (before_x, before_y), (end_x, end_y) = points[-2:]
    across = (end_x > before_x) - (end_x < before_x)
    down = (end_y > before_y) - (end_y < before_y)
    tip = (end_x - across, end_y - down)
    base = (tip[0] - 6 * across, tip[1] - 6 * down)
    points[-1] = base
    stroke = _edge_stroke(edge)
    corners = (
        tip,
        (base[0] - 4 * down, base[1] - 4 * across),
        (base[0] + 4 * down, base[1] + 4 * across),
    )
    return (
        h("path", d=rounded(points), fill="none", **stroke),
        h(
            "path",
            d="M" + "L".join(f"{number(cx)} {number(cy)}" for cx, cy in corners) + "z",
            fill=stroke["stroke"],
        ),
    )


def rounded(points: Sequence[tuple[float, float]], radius: float = _RADIUS) -> str:
    """The path through right-angled corners, each rounded as far as its shorter side allows."""
    start = points[0]
    path = [f"M{number(start[0])} {number(start[1])}"]
    for place in range(1, len(points) - 1):
        (ax, ay), (bx, by), (cx, cy) = points[place - 1 : place + 2]
        before = abs(ax - bx) + abs(ay - by)
        after = abs(cx - bx) + abs(cy - by)
        bend = min(radius, before / 2, after / 2)
        if not bend:
            continue
        from_x, from_y = bx + (ax - bx) / before * bend, by + (ay - by) / before * bend
        to_x, to_y = bx + (cx - bx) / after * bend, by + (cy - by) / after * bend
        path.append(
            f"L{number(from_x)} {number(from_y)}Q{number(bx)} {number(by)} {number(to_x)} {number(to_y)}"
        )
    path.append(f"L{number(points[-1][0])} {number(points[-1][1])}")
    return "".join(path)


def edge_label(edge: EdgeRow, rect: Rect, x: float, y: float) -> list[Element]:
    """The label on its paper."""
    text = _label_text(edge)
    colour = "var(--kb-accent)" if edge.live else "var(--kb-ink)" if edge.taken else "var(--kb-ink2)"
    return [
        h(
            "rect",
            x=rect.x + x,
            y=rect.y + y,
            width=rect.width,
            height=rect.height,
            rx=rect.height / 2,
            fill="var(--kb-paper)",
            stroke="var(--kb-accent)" if edge.live else "var(--kb-line)",
            stroke_dasharray=None if edge.taken else "3 2",
        ),
        h(
            "text",
            h("title", name(edge.label)) if text != edge.label else None,
            name(text),
            h("tspan", f"\u00d7{thousands(edge.taken)}", dx=5, font_weight=600) if edge.taken else None,
            x=rect.x + x + rect.width / 2,
            y=rect.y + y + 13,
            font_size=_SMALL,
            fill=colour,
            text_anchor="middle",
        ),
    ]
