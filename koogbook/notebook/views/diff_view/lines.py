"""The pictures beside the rows of a prompt diff: brackets of calls, lines from originals to what they became."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from koogbook.notebook.views.diff_view.layout import Layout
from koogbook.notebook.views.diff_view.model import DiffState, FoldedRow, MessageRow, SentenceRow, SummaryRow
from koogbook.notebook.views.look.brackets import BRACKETS, bracket
from koogbook.notebook.views.look.markup import Element, h
from koogbook.notebook.views.look.pieces import picture

MIDDLE = 80
#: More lines than this are not drawn, only those of the selection.
MOST_LINES = 40
#: More sources that no sentence rests on are not joined to the head of the summary: a fan of lines says little.
MOST_UNNAMED = 8

_END = MIDDLE - BRACKETS


class Curve(Struct, frozen=True, order=True):
    """A line from a row at the left to one at the right."""

    lit: bool
    tone: str
    start: float
    end: float


def curves(state: DiffState, layout: Layout) -> list[Curve]:
    """Lines from originals to the sentences that rest on them, and from moved messages to their new place."""
    found: dict[Curve, None] = {}
    for band in state.bands:
        for row in band.right:
            for curve in _to(row, layout):
                found[curve] = None
    every = sorted(found)
    return every if len(every) <= MOST_LINES else [curve for curve in every if curve.lit]


def _to(row: object, layout: Layout) -> Iterator[Curve]:
    match row:
        case SentenceRow():
            end = layout.sentence_y[row.summary, row.number]
            for source in row.sources:
                if source in layout.before_y:
                    yield Curve(row.lit, "sum", layout.before_y[source], end)
        case SummaryRow() if len(row.unnamed) <= MOST_UNNAMED:
            for source in row.unnamed:
                if source in layout.before_y:
                    yield Curve(False, "sum", layout.before_y[source], layout.after_y[row.position])
        case MessageRow(moved=True, partner=int(origin)) if origin in layout.before_y:
            tone = "mem" if row.fate == "memory" else "ink2"
            yield Curve(row.lit, tone, layout.before_y[origin], layout.after_y[row.position])
        case _:
            pass


def middle_picture(state: DiffState, layout: Layout) -> Element:
    """The picture between both columns."""
    drawn = curves(state, layout)
    dots = {curve.end for curve in drawn if curve.lit}
    said = f"{len(drawn)} lines from originals to what they became"
    return picture(
        MIDDLE,
        layout.height,
        "Provenance",
        said if drawn or not state.bands else "No lines: select a sentence to see its sources",
        *_straight(state, layout),
        *_stubs(state, layout),
        # In a group of their own, so that a selection changes nothing but what is in it.
        h(
            "g",
            *(_curve(curve) for curve in drawn),
            *(h("circle", cx=_END - 4, cy=y, r=3.5, fill="var(--kb-sum)") for y in sorted(dots)),
        ),
        *_brackets(state, layout, "after", _END),
    )


def bracket_picture(state: DiffState, layout: Layout) -> Element:
    """The brackets at the left of the originals."""
    return picture(
        BRACKETS,
        layout.height,
        "Calls and results",
        "Brackets join a call and its results",
        *_brackets(state, layout, "before", 0),
    )


def _straight(state: DiffState, layout: Layout) -> Iterator[Element]:
    for band in state.bands:
        if not band.same:
            continue
        row = band.left[0]
        position = row.first if isinstance(row, FoldedRow) else row.position
        y = layout.before_y[position]
        tone = {"memory": "mem", "edited": "warn"}.get(row.fate, "line")
        yield _path(f"M0 {y:g}H{_END}", tone)


def _stubs(state: DiffState, layout: Layout) -> Iterator[Element]:
    for band in state.bands:
        for row in band.left:
            if row.fate == "dropped" and not (isinstance(row, FoldedRow) and row.opened):
                y = layout.before_y[row.first if isinstance(row, FoldedRow) else row.position]
                yield _path(f"M0 {y:g}H15M18 {y - 3.5:g}l7 7m0 -7l-7 7", "bad", 1.3)


def _curve(curve: Curve) -> Element:
    end = _END - 4 if curve.lit else _END
    half = end / 2
    d = f"M0 {curve.start:g}C{half:g} {curve.start:g} {half:g} {curve.end:g} {end:g} {curve.end:g}"
    if curve.lit:
        return _path(d, curve.tone, 2.2)
    return _path(d, curve.tone, 1.1, 0.45)


def _brackets(
    state: DiffState, layout: Layout, side: Literal["before", "after"], x: float
) -> Iterator[Element]:
    places = _own_rows(state, layout, side)
    for one in state.brackets:
        if one.side == side and one.first in places and one.last in places:
            drawn = bracket(places[one.first], places[one.last], x, open=one.open)
            if drawn is not None:
                yield drawn


def _own_rows(state: DiffState, layout: Layout, side: Literal["before", "after"]) -> dict[int, float]:
    """Middles of the messages that have a row of their own: no bracket begins or ends in a folded row."""
    places = layout.before_y if side == "before" else layout.after_y
    rows = [row for band in state.bands for row in (band.left if side == "before" else band.right)]
    return {row.position: places[row.position] for row in rows if isinstance(row, MessageRow)}


def _path(d: str, tone: str, width: float = 1, opacity: float | None = None) -> Element:
    return h("path", d=d, fill="none", stroke=f"var(--kb-{tone})", stroke_width=width, opacity=opacity)
