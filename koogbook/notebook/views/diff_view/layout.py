"""Where each row of a prompt diff stands: lines of known height, so that what joins columns meets rows."""

from __future__ import annotations

import math
from itertools import accumulate

from msgspec import Struct

from koogbook.notebook.views.diff_view.checks import sources_words
from koogbook.notebook.views.diff_view.model import (
    Band,
    DiffState,
    FoldedRow,
    LeftOutRow,
    LeftRow,
    MessageRow,
    RightRow,
    SentenceRow,
    SummaryRow,
)
from koogbook.notebook.views.look.measure import text_width

ROW = 26
EDITED_ROW = 46
_SENTENCE_LINE = 17
_SENTENCE_WIDTH = 260
_SOURCES_WIDTH = 64
_MOST_SENTENCE_LINES = 6


class Placed(Struct, frozen=True):
    """A row and over how many lines it goes; ``row`` None is paper without anything."""

    row: LeftRow | RightRow | None
    lines: int


class Layout(Struct, frozen=True):
    """Heights of the lines, what begins on each side in each of them, and the middles of the rows in px."""

    heights: tuple[int, ...]
    left: dict[int, Placed]
    right: dict[int, Placed]
    before_y: dict[int, float]
    after_y: dict[int, float]
    sentence_y: dict[tuple[int, int], float]
    cut_line: int | None

    @property
    def height(self) -> int:
        """All lines together, in px."""
        return sum(self.heights)


def lay_out(state: DiffState) -> Layout:
    """Put the bands under each other; the shorter side of a band is filled up with paper."""
    heights: list[int] = []
    left: dict[int, Placed] = {}
    right: dict[int, Placed] = {}
    cut_line: int | None = None
    for index, band in enumerate(state.bands):
        if index == state.cut_at:
            cut_line = len(heights)
            heights.append(ROW)
        start = len(heights)
        length = max(_fill(left, start, band.left), _fill(right, start, band.right))
        for side in (left, right):
            used = sum(placed.lines for line, placed in side.items() if line >= start)
            if used < length:
                side[start + used] = Placed(None, length - used)
        heights += [_height(band)] * length
    tops = list(accumulate(heights, initial=0))
    before_y, after_y, sentence_y = _middles(tops, left, right)
    return Layout(tuple(heights), left, right, before_y, after_y, sentence_y, cut_line)


def _fill(side: dict[int, Placed], start: int, rows: tuple[LeftRow, ...] | tuple[RightRow, ...]) -> int:
    line = start
    for row in rows:
        lines = row_lines(row)
        side[line] = Placed(row, lines)
        line += lines
    return line - start


def _height(band: Band) -> int:
    row = band.left[0] if band.same else None
    return EDITED_ROW if isinstance(row, MessageRow) and row.spans else ROW


def row_lines(row: LeftRow | RightRow) -> int:
    """Over how many lines a row goes; what is not a sentence or a left-out block takes one."""
    match row:
        case LeftOutRow():
            return row.rows
        case SentenceRow():
            text = min(math.ceil(text_width(row.text, 12) / _SENTENCE_WIDTH), _MOST_SENTENCE_LINES)
            sources = math.ceil(text_width(sources_words(row), 11) / _SOURCES_WIDTH)
            return max(1, math.ceil((max(text, sources) * _SENTENCE_LINE + 4) / ROW))
        case _:
            return 1


def _middles(
    tops: list[int], left: dict[int, Placed], right: dict[int, Placed]
) -> tuple[dict[int, float], dict[int, float], dict[tuple[int, int], float]]:
    sides: tuple[dict[int, float], dict[int, float]] = ({}, {})
    sentences: dict[tuple[int, int], float] = {}
    for places, side in ((left, sides[0]), (right, sides[1])):
        for line, placed in places.items():
            middle = (tops[line] + tops[line + placed.lines]) / 2
            match placed.row:
                case MessageRow() | SummaryRow():
                    side[placed.row.position] = middle
                case FoldedRow():
                    side.update(dict.fromkeys(range(placed.row.first, placed.row.last + 1), middle))
                case SentenceRow():
                    sentences[placed.row.summary, placed.row.number] = middle
                case _:
                    pass
    return sides[0], sides[1], sentences
