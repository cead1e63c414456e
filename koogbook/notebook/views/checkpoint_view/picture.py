"""The tree of forks beside the rows of a page; each row draws its own piece, so that a page can begin anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from koogbook.notebook.views.checkpoint_view.state import CheckpointRow, CheckpointState, Row, RunRow
from koogbook.notebook.views.look.glyphs import glyph_at
from koogbook.notebook.views.look.markup import Element, h
from koogbook.notebook.views.look.measure import count
from koogbook.notebook.views.look.pieces import picture

ROW = 32
TREE = 56
_FIRST_LANE, _LANE = 10, 12
_RADIUS = 4.5


def tree_picture(state: CheckpointState) -> Element:
    """The lines and marks of all rows of a page."""
    forks = len({row.session for row in state.rows if isinstance(row, CheckpointRow) and row.fork})
    return picture(
        TREE,
        ROW * len(state.rows),
        "Tree of checkpoints",
        f"{count(state.total, 'checkpoint')}, {count(forks, 'fork')} on this page"
        if state.pages.pages > 1
        else f"{count(state.total, 'checkpoint')}, {count(forks, 'fork')}",
        *(
            h("rect", y=ROW * row, width=TREE, height=ROW - 1, fill="var(--kb-t-accent)")
            for row, entry in enumerate(state.rows)
            if isinstance(entry, CheckpointRow) and entry.selected
        ),
        *_lines(state.rows),
        *(line for row, entry in enumerate(state.rows) for line in _branches(row, entry)),
        *(_mark(row, entry) for row, entry in enumerate(state.rows)),
    )


def _x(lane: int) -> float:
    return _FIRST_LANE + _LANE * lane


def _y(row: int) -> float:
    return ROW * row + ROW / 2


def _colour(lane: int) -> str:
    return "var(--kb-accent)" if lane else "var(--kb-ink2)"


def _lines(rows: Sequence[Row]) -> Iterator[Element]:
    """The upright lines, pieces that meet in one."""
    pieces: dict[int, list[list[float]]] = {}
    for row, entry in enumerate(rows):
        top, middle, bottom = ROW * row, _y(row), ROW * (row + 1)
        for lane in entry.passing:
            _join(pieces.setdefault(lane, []), top, bottom)
        own = pieces.setdefault(entry.lane, [])
        if entry.up and not isinstance(entry, RunRow):
            _join(own, top, middle)
        if entry.down:
            _join(own, middle, bottom)
        if entry.up and isinstance(entry, RunRow):
            yield _path(f"M{_x(entry.lane):g} {top:g}V{middle:g}", entry.lane, dash="2 3")
        if isinstance(entry, CheckpointRow) and entry.parent_missing:
            yield _path(f"M{_x(entry.lane):g} {middle - 15:g}V{middle:g}", entry.lane, dash="2 2")
    for lane, found in sorted(pieces.items()):
        for start, end in found:
            yield _path(f"M{_x(lane):g} {start:g}V{end:g}", lane)


def _join(pieces: list[list[float]], start: float, end: float) -> None:
    if pieces and pieces[-1][1] >= start:
        pieces[-1][1] = max(pieces[-1][1], end)
    else:
        pieces.append([start, end])


def _branches(row: int, entry: Row) -> Iterator[Element]:
    """The bends to the lanes of forks, down to the end of the row."""
    if isinstance(entry, RunRow):
        return
    begin, y = _x(entry.lane), _y(row)
    for lane in entry.branches:
        x = _x(lane)
        side = 6 if x > begin else -6
        yield _path(f"M{begin:g} {y:g}v4q0 6 {side} 6H{x - side:g}q{side} 0 {side} 6", lane)


def _path(d: str, lane: int, dash: str | None = None) -> Element:
    return h("path", d=d, fill="none", stroke=_colour(lane), stroke_width=1.5, stroke_dasharray=dash)


def _mark(row: int, entry: Row) -> Element:
    x, y, paper = _x(entry.lane), _y(row), "var(--kb-paper)"
    if isinstance(entry, RunRow):
        return h(
            "rect", x=x - 3.5, y=y - 7, width=7, height=14, rx=3.5, fill=paper, stroke=_colour(entry.lane)
        )
    if entry.word == "ended":
        paper = "var(--kb-t-accent)" if entry.selected else paper
        back = h("rect", x=x - 7, y=y - 7, width=14, height=14, fill=paper)
        return h("g", back, glyph_at("tombstone", x - 7, y - 7, tone="ink2"))
    bad = entry.word == "not resumable"
    filled, stroke = ("var(--kb-bad)" if bad else paper), ("var(--kb-bad)" if bad else _colour(entry.lane))
    ring = h(
        "circle",
        cx=x,
        cy=y,
        r=_RADIUS + 1.5 if entry.selected else _RADIUS,
        fill=paper if entry.selected else filled,
        stroke=stroke,
        stroke_width=1.8,
    )
    if not entry.selected:
        return ring
    return h("g", ring, h("circle", cx=x, cy=y, r=2.6, fill=stroke))
