"""Where each row of a prompt diff stands: lines of known height, so that the lines between the columns meet rows."""

from __future__ import annotations

import math

from msgspec import Struct

from koogbook.notebook.views.diff_model import (
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
from koogbook.notebook.views.measure import text_width

ROW = 26
EDITED_ROW = 46
SENTENCE_SIZE = 12
_SENTENCE_LINE = 17
_SENTENCE_WIDTH = 250


class Placed[R](Struct, frozen=True):
    """A row, the line at which it begins, over how many lines it goes; ``row`` None is empty paper."""

    row: R | None
    line: int
    lines: int


class Layout(Struct, frozen=True):
    """Heights of the lines, and the rows of both sides by the line at which they begin.

    The dictionaries give the middle of a row in px: by position before, by position after, by summary and sentence.
    """

    heights: tuple[int, ...]
    left: dict[int, Placed[LeftRow]]
    right: dict[int, Placed[RightRow]]
    before_y: dict[int, float]
    after_y: dict[int, float]
    sentence_y: dict[tuple[int, int], float]

    @property
    def height(self) -> int:
        """All lines together, in px."""
        return sum(self.heights)
