"""A long prompt diff in parts: its start and its end, or page after page; and where in it something stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from msgspec import Struct
from msgspec.structs import replace

from koogbook.notebook.views.diff_view.layout import row_lines
from koogbook.notebook.views.diff_view.model import (
    Band,
    FoldedRow,
    LeftOutRow,
    LeftRow,
    MessageRow,
    NewPlace,
    RightRow,
    Selection,
    SentenceRow,
    SummaryRow,
)
from koogbook.notebook.views.diff_view.selection import Lit
from koogbook.notebook.views.look.measure import count, thousands

#: A page of a long diff has so many rows.
PAGE_ROWS = 100


class Parts(Struct, frozen=True):
    """How a diff is shown in parts: the bands of each page, and how many stand at the start and at the end.

    Without pages, all bands are shown at once.
    """

    pages: tuple[range, ...] = ()
    head: int = 0
    tail: int = 0

    def page_of(self, band: int) -> int:
        """The page, from 1, that a band is on; 0 where all are shown at once."""
        return next((number for number, page in enumerate(self.pages, start=1) if band in page), 0)

    def shows(self, page: int, band: int, bands: int) -> bool:
        """Whether a band stands on a page; page 0 is the start and the end."""
        if not self.pages:
            return True
        return (band < self.head or band >= bands - self.tail) if page == 0 else band in self.pages[page - 1]


def parts_of(bands: Sequence[Band], most: int) -> Parts:
    """Cut a diff of more than ``most`` rows into parts."""
    heights = [band_height(band) for band in bands]
    if sum(heights) <= most:
        return Parts()
    head = _fitting(heights, most // 2)
    return Parts(tuple(_pages(heights)), head, _fitting(heights[:head:-1], most // 2))


def band_height(band: Band) -> int:
    """How many lines a band takes."""
    return max(len(band.left), sum(row_lines(row) for row in band.right))


def _fitting(heights: Sequence[int], room: int) -> int:
    """How many bands from the start fit into so many rows; at least one."""
    used = 0
    for number, height in enumerate(heights):
        used += height
        if used > room:
            return max(number, 1)
    return len(heights)


def _pages(heights: Sequence[int]) -> Iterator[range]:
    start = used = 0
    for number, height in enumerate(heights):
        if number > start and used + height > PAGE_ROWS:
            yield range(start, number)
            start, used = number, 0
        used += height
    yield range(start, len(heights))


def messages_in(bands: Sequence[Band]) -> int:
    """How many different messages stand in bands."""
    return sum(
        sum(_messages(row) for row in band.left)
        + (0 if band.same else sum(_messages(row) for row in band.right))
        for band in bands
    )


def _messages(row: LeftRow | RightRow) -> int:
    match row:
        case FoldedRow():
            return 0 if row.opened else row.count
        case MessageRow() | SummaryRow():
            return 1
        case _:
            return 0


def page_words(bands: Sequence[Band]) -> str:
    """What is on a page: ``messages 12 to 40, after: 3 to 9``."""
    before = _span([row for band in bands for row in band.left])
    after = _span([row for band in bands for row in band.right])
    words = [f"{side} {span}" for side, span in (("before", before), ("after", after)) if span]
    return (
        f"{count(messages_in(bands), 'message')}: {', '.join(words)}" if words else "sentences of a summary"
    )


def _span(rows: Sequence[LeftRow | RightRow]) -> str:
    ends: list[int] = []
    for row in rows:
        if isinstance(row, FoldedRow):
            ends += [row.first, row.last]
        elif isinstance(row, MessageRow | SummaryRow):
            ends.append(row.position)
    if not ends:
        return ""
    low, high = min(ends), max(ends)
    return thousands(low) if low == high else f"{thousands(low)} to {thousands(high)}"


# ------------------------------------------------------------------------------------------- places


class Place(Struct, frozen=True, order=True):
    """Where a row stands: the band, the left (0) or right (1) side, and the row of that side."""

    band: int
    side: int
    row: int


def find(bands: Sequence[Band], selection: Selection) -> Place | None:
    """Where something stands; of a folded message the row of its run."""
    folded: Place | None = None
    side = 0 if isinstance(selection, int) else 1
    for number, band in enumerate(bands):
        rows: Sequence[LeftRow | RightRow] = band.right if side else band.left
        for index, row in enumerate(rows):
            if not _holds(row, selection):
                continue
            if not isinstance(row, FoldedRow):
                return Place(number, side, index)
            folded = folded or Place(number, side, index)
    return folded


def first_message(bands: Sequence[Band]) -> Selection:
    """The first message that stands in bands, an original where there is one."""
    for band in bands:
        for row in band.left:
            return row.first if isinstance(row, FoldedRow) else row.position
        for other in band.right:
            if isinstance(other, MessageRow | SummaryRow):
                return NewPlace(other.position)
    return None


def _holds(row: LeftRow | RightRow, selection: Selection) -> bool:
    match row, selection:
        case SentenceRow(), (summary, number):
            return (row.summary, row.number) == (summary, number)
        case ((MessageRow() | SummaryRow()), (int(position) | NewPlace(position=position))):
            return row.position == position
        case FoldedRow(), (int(position) | NewPlace(position=position)):
            return row.first <= position <= row.last
        case _:
            return False


# ------------------------------------------------------------------------------------------- light


def lit_band(band: Band, lit: Lit) -> Band:
    """The band with the rows of a selection marked; the rows themselves stay as they are."""
    left = tuple(_lit_left(row, lit) for row in band.left)
    right = tuple(_lit_right(row, lit) for row in band.right)
    return Band(left, right, band.same)


def _lit_left(row: LeftRow, lit: Lit) -> LeftRow:
    if not _stands_for(row, lit.before):
        return row
    picked = isinstance(lit.picked, int) and _stands_for(row, {lit.picked})
    return replace(row, lit=True, picked=picked)


def _lit_right(row: RightRow, lit: Lit) -> RightRow:
    match row:
        case LeftOutRow():
            return row
        case SentenceRow():
            key = (row.summary, row.number)
            return replace(row, lit=True, picked=key == lit.picked) if key in lit.sentences else row
        case _ if not _stands_for(row, lit.after):
            return row
        case _:
            picked = isinstance(lit.picked, NewPlace) and _stands_for(row, {lit.picked.position})
            return replace(row, lit=True, picked=picked)


def _stands_for(row: MessageRow | FoldedRow | SummaryRow, positions: AbstractSet[int]) -> bool:
    """Whether one of these messages is in a row; an opened run has them in rows of their own."""
    if isinstance(row, FoldedRow):
        return not row.opened and any(row.first <= position <= row.last for position in positions)
    return row.position in positions
