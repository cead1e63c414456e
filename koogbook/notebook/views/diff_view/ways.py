"""Ways through a prompt diff: from one change to the next, and to the facts that were lost."""

from __future__ import annotations

from collections.abc import Sequence

from koogbook.compression.fact_check import FactFinding
from koogbook.notebook.views.diff_view.model import (
    Band,
    FoldedRow,
    LeftRow,
    MessageRow,
    NewPlace,
    Selection,
    SummaryRow,
)
from koogbook.notebook.views.diff_view.pages import Place, find


def changes(bands: Sequence[Band]) -> list[tuple[Place, Selection]]:
    """Where something changed: the first message of each run of one fate, each summary, the first of new messages."""
    found: list[tuple[Place, Selection]] = []
    last: object = None
    for number, band in enumerate(bands):
        for index, row in enumerate(band.left):
            if isinstance(row, FoldedRow) and row.opened:
                continue
            became = _change(row, band)
            if became is not None and became != last:
                first = row.first if isinstance(row, FoldedRow) else row.position
                found.append((Place(number, 0, index), first))
            last = became
        found += [] if band.same else _new(number, band)
    return found


def _change(row: LeftRow, band: Band) -> object:
    """What became of a row, or None where nothing did."""
    if row.fate == "memory" and band.same:
        return None
    return None if row.fate == row.word == "kept" else (row.fate, row.word)


def _new(number: int, band: Band) -> list[tuple[Place, Selection]]:
    found: list[tuple[Place, Selection]] = []
    in_run = False
    for index, row in enumerate(band.right):
        is_new = isinstance(row, MessageRow) and row.fate == "new"
        if isinstance(row, SummaryRow) or (isinstance(row, MessageRow) and is_new and not in_run):
            found.append((Place(number, 1, index), NewPlace(row.position)))
        in_run = is_new
    return found


def next_change(bands: Sequence[Band], selected: Selection) -> Selection:
    """The change after what is selected, after the last one the first again; None where nothing changed."""
    stops = changes(bands)
    here = None if selected is None else find(bands, selected)
    later = [selection for place, selection in stops if here is None or place > here]
    return later[0] if later else stops[0][1] if stops else None


def lost_facts(facts: Sequence[FactFinding]) -> list[int]:
    """The first original of each lost fact, in the order of the facts."""
    return list(dict.fromkeys(finding.before[0] for finding in facts if finding.found == "lost"))


def next_lost(facts: Sequence[FactFinding], selected: Selection) -> Selection:
    """The original with the lost fact after the one that is selected, or the first; None where none is lost."""
    places = lost_facts(facts)
    if not places:
        return None
    here = places.index(selected) if isinstance(selected, int) and selected in places else -1
    return places[(here + 1) % len(places)]
