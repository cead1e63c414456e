"""The rows of a prompt diff: which stand opposite each other, which are folded, which are left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Literal

from msgspec.structs import replace

from koogbook.messages.ledger import Ledger, MessageFate, NewMessage
from koogbook.messages.message import Message
from koogbook.messages.word_diff import WordSpan, longest_increasing
from koogbook.notebook.views.diff_view.model import (
    Band,
    Choices,
    FoldedRow,
    LeftOutRow,
    LeftRow,
    MessageRow,
    RightRow,
    RowFate,
    SentenceRow,
    SummaryRow,
)
from koogbook.notebook.views.diff_view.selection import summary_names
from koogbook.notebook.views.diff_view.spans import changed_words
from koogbook.notebook.views.look.measure import cut_end
from koogbook.notebook.views.message_preview import preview, role_mark

#: Up to so many messages nothing is folded.
ALL_OPEN = 8
#: Over so many messages, runs of any one fate are folded, not only unchanged ones.
FOLD_ALL_FATES = 50
#: At most so many rows on the longer side at once; of a longer diff the start and the end are shown first. Of a diff
#: in which runs of all fates are folded fewer are shown, since what is left are many small changes.
MOST_ROWS = 72
MOST_FOLDED_ROWS = 48
_TALLEST_PIECE = 20
_TALLEST_BLOCK = 60
_LONGEST_SENTENCE = 1_000
_SHORTEST_FOLD = 3
_OPEN_AT_THE_END = 2


class RowBuilder:
    """Lays a ledger out in rows. Whatever the ledger alone decides is worked out once."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.fates = {
            position: MessageFate(position, "dropped", message.tokens, reason="the ledger has no fate for it")
            for position, message in enumerate(ledger.before)
        }
        self.fates.update({entry.position: entry for entry in ledger.fates})
        self.origins = {entry.new_position: entry for entry in ledger.fates if entry.new_position is not None}
        self.new = {entry.position: entry for entry in ledger.new_messages}
        self.names = summary_names(ledger)
        length = max(len(ledger.before), len(ledger.after))
        self.fold_unchanged = length > ALL_OPEN
        self.fold_all = length > FOLD_ALL_FATES
        #: Of a diff of more rows, only parts are shown at once.
        self.most_rows = MOST_FOLDED_ROWS if self.fold_all else MOST_ROWS
        self.used_in = _used_in(ledger, self.names)
        placed = [(entry.position, place) for place, entry in self.origins.items()]
        self.anchors = longest_increasing(sorted(placed))
        self.in_order = set(self.anchors)
        self.opens: Callable[[int], bool] = Choices().opens
        self._previews: dict[int, str] = {}

    def bands(self, opens: Callable[[int], bool]) -> list[Band]:
        """All rows; ``opens`` says of the first original of a run whether the run is open."""
        self.opens = opens
        return [piece for band in self._bands() for piece in _pieces(band)]

    def with_words(self, band: Band) -> Band:
        """The band with the words that changed in its edited messages, which only rows that are shown need."""
        rows = (*band.left, *band.right)
        if not any(isinstance(row, MessageRow) and row.fate == "edited" for row in rows):
            return band
        left = tuple(
            replace(row, spans=self._changed(row.position, "before")) if isinstance(row, MessageRow) else row
            for row in band.left
        )
        right = tuple(
            replace(row, spans=self._changed(row.partner, "after")) if isinstance(row, MessageRow) else row
            for row in band.right
        )
        return Band(left, right, band.same)

    def _bands(self) -> Iterator[Band]:
        last_before = last_after = -1
        run: list[Band] = []
        for i, j in [*self.anchors, (len(self.ledger.before), len(self.ledger.after))]:
            gap_before, gap_after = range(last_before + 1, i), range(last_after + 1, j)
            if gap_before or gap_after:
                yield from self._unfolded_end(run, at_end=False)
                run = []
                yield from self._gap(gap_before, gap_after)
            if i < len(self.ledger.before):
                run.append(Band((self._left(i),), (self._right(j),), same=True))
            last_before, last_after = i, j
        yield from self._unfolded_end(run, at_end=True)

    # ------------------------------------------------------------------ rows that stand on both sides

    def _unfolded_end(self, run: list[Band], *, at_end: bool) -> Iterator[Band]:
        """A run without gaps, its unchanged stretches folded; the end of the conversation stays open."""
        open_from = len(run) - _OPEN_AT_THE_END if at_end else len(run)
        yield from self._folded(run[:open_from] if open_from > 0 else [])
        yield from run[max(open_from, 0) :]

    def _folded(self, run: Sequence[Band]) -> Iterator[Band]:
        for unchanged, group in groupby(run, key=_is_unchanged):
            bands = list(group)
            if not (unchanged and self.fold_unchanged and len(bands) >= _SHORTEST_FOLD):
                yield from bands
                continue
            left = [band.left[0] for band in bands]
            right = [band.right[0] for band in bands]
            first = _first(left)
            opened = self.opens(first)
            yield Band((_fold(left, first, opened),), (_fold(right, first, opened),), same=True)
            if opened:
                yield from bands

    # ------------------------------------------------------------------ rows between them

    def _gap(self, before: range, after: range) -> Iterator[Band]:
        """What was dropped stands opposite a block of its height, a summary opposite what it was made of."""
        waiting = [(place, self._new_rows(place)) for place in after]
        bands: list[Band] = []
        for became, group in groupby(before, key=self._became):
            positions = list(group)
            left = tuple(self._left_run(positions))
            if became == "dropped":
                bands += self._dropped(positions, left)
                continue
            taken = self._made_of(waiting, set(positions))
            bands.append(Band(left, tuple(row for _, rows in waiting[:taken] for row in rows)))
            waiting = waiting[taken:]
        rest = tuple(row for _, rows in waiting for row in rows)
        if rest and bands and not any(isinstance(row, LeftOutRow) for row in bands[-1].right):
            bands[-1] = replace(bands[-1], right=bands[-1].right + rest)
        elif rest:
            bands.append(Band((), rest))
        yield from bands

    def _dropped(self, positions: Sequence[int], left: Sequence[LeftRow]) -> Iterator[Band]:
        """A run that is too tall for one page goes on in another block, which counts its own messages."""
        for start in range(0, len(left), _TALLEST_BLOCK):
            rows = tuple(left[start : start + _TALLEST_BLOCK])
            low, high = _first(rows), _last(rows)
            within = [position for position in positions if low <= position <= high]
            yield Band(rows, (self._left_out(within, len(rows)),))

    def _became(self, position: int) -> object:
        """Dropped, or the summaries: each stands opposite its own originals."""
        entry = self.fates[position]
        return "dropped" if entry.fate == "dropped" else entry.summaries

    def _made_of(self, waiting: Sequence[tuple[int, Sequence[RightRow]]], positions: set[int]) -> int:
        """How many of the waiting new messages go up to the last one that rests on these originals."""
        taken = 0
        for count, (place, _) in enumerate(waiting, start=1):
            if place in self.new and positions.intersection(self.new[place].sources):
                taken = count
        return taken

    def _left_run(self, positions: Sequence[int]) -> Iterator[LeftRow]:
        for _, group in groupby(positions, key=self._fold_key):
            rows = [self._left(position) for position in group]
            if self.fold_all and len(rows) > _SHORTEST_FOLD + 2:
                middle = rows[1:-1]
                first = _first(middle)
                opened = self.opens(first)
                yield from (rows[0], _fold(middle, first, opened), *(middle if opened else ()), rows[-1])
            else:
                yield from rows

    def _fold_key(self, position: int) -> object:
        entry = self.fates[position]
        return entry.fate, entry.summaries, entry.new_position is not None

    def _left_out(self, positions: Sequence[int], rows: int) -> LeftOutRow:
        entries = [self.fates[position] for position in positions]
        return LeftOutRow(
            first=positions[0],
            last=positions[-1],
            count=len(positions),
            tokens=sum(entry.tokens for entry in entries),
            reasons=tuple(dict.fromkeys(entry.reason for entry in entries if entry.reason)),
            rows=rows,
        )

    def _new_rows(self, place: int) -> list[RightRow]:
        if place not in self.names:
            return [self._right(place)]
        entry = self.new[place]
        originals = [self.fates[source] for source in entry.sources if source in self.fates]
        named = {source for sentence in entry.sentences for source in sentence.sources}
        head = SummaryRow(
            position=place,
            name=self.names[place],
            sources=entry.sources,
            unnamed=tuple(source for source in entry.sources if source not in named),
            fates=tuple(Counter(original.fate for original in originals).most_common()),
            source_tokens=sum(original.tokens for original in originals),
            tokens=entry.tokens,
        )
        return [head, *self._sentences(entry)]

    def _sentences(self, entry: NewMessage) -> Iterator[SentenceRow]:
        for number, sentence in enumerate(entry.sentences, start=1):
            yield SentenceRow(
                summary=entry.position,
                number=number,
                text=cut_end(sentence.text, _LONGEST_SENTENCE),
                sources=sentence.sources,
                verbatim=sentence.verbatim,
            )

    # ------------------------------------------------------------------ single messages

    def _left(self, position: int) -> MessageRow:
        entry = self.fates[position]
        return self._row(self.ledger.before[position], entry, before=True)

    def _right(self, place: int) -> MessageRow:
        message = self.ledger.after[place]
        entry = self.origins.get(place)
        if entry is None:
            mark = role_mark(message)
            return MessageRow(
                position=place,
                partner=None,
                role=mark,
                text=self._preview(message),
                tokens=message.tokens,
                fate="new",
                word="new",
                code=mark in ("call", "result"),
            )
        return self._row(message, entry, before=False)

    def _row(self, message: Message, entry: MessageFate, *, before: bool) -> MessageRow:
        place = entry.new_position
        moved = place is not None and (entry.position, place) not in self.in_order
        mark = role_mark(message)
        return MessageRow(
            position=entry.position if before or place is None else place,
            partner=place if before else entry.position,
            role=mark,
            text=self._preview(message),
            tokens=message.tokens,
            fate=entry.fate,
            word=self._word(entry, moved),
            used_in=self.used_in.get(entry.position, ()) if before else (),
            code=mark in ("call", "result"),
            moved=moved,
        )

    def _preview(self, message: Message) -> str:
        # The ledger holds its messages, so the number of one stays its own.
        if id(message) not in self._previews:
            self._previews[id(message)] = preview(message)
        return self._previews[id(message)]

    def _changed(self, position: int | None, side: Literal["before", "after"]) -> tuple[WordSpan, ...]:
        entry = None if position is None else self.fates[position]
        if entry is None or entry.fate != "edited" or entry.new_position is None:
            return ()
        return changed_words(self.ledger.before[entry.position], self.ledger.after[entry.new_position], side)

    def _word(self, entry: MessageFate, moved: bool) -> str:
        if entry.fate == "summarised":
            named = [self.names[place] for place in entry.summaries if place in self.names]
            return " ".join(named) or "summarised"
        return "moved" if moved and entry.fate == "kept" else entry.fate


def _pieces(band: Band) -> Iterator[Band]:
    """A tall band in pieces, so that a part of it can be left out; one with a left-out block stays whole."""
    height = max(len(band.left), len(band.right))
    if height <= _TALLEST_PIECE or any(isinstance(row, LeftOutRow) for row in band.right):
        yield band
        return
    for start in range(0, height, _TALLEST_PIECE):
        end = start + _TALLEST_PIECE
        yield Band(band.left[start:end], band.right[start:end])


def _is_unchanged(band: Band) -> bool:
    row = band.left[0]
    return isinstance(row, MessageRow) and row.fate == "kept"


def _first(rows: Sequence[LeftRow]) -> int:
    row = rows[0]
    return row.first if isinstance(row, FoldedRow) else row.position


def _last(rows: Sequence[LeftRow]) -> int:
    """The last message that rows stand for: an opened run has its messages in the rows that follow it."""
    row = rows[-1]
    if isinstance(row, FoldedRow):
        return row.first - 1 if row.opened else row.last
    return row.position


def _fold(rows: Sequence[LeftRow | RightRow], key: int, opened: bool) -> FoldedRow:
    messages = [row for row in rows if isinstance(row, MessageRow)]
    fate: RowFate = messages[0].fate
    return FoldedRow(
        key=key,
        first=messages[0].position,
        last=messages[-1].position,
        count=len(messages),
        tokens=sum(row.tokens for row in messages),
        fate=fate,
        word=messages[0].word,
        opened=opened,
    )


def _used_in(ledger: Ledger, names: dict[int, str]) -> dict[int, tuple[str, ...]]:
    """By original: the sentences that rest on it, such as ``S1.2``."""
    found: dict[int, tuple[str, ...]] = {}
    for entry in ledger.new_messages:
        name = names.get(entry.position, "new")
        for number, sentence in enumerate(entry.sentences, start=1):
            for source in sentence.sources:
                found[source] = (*found.get(source, ()), f"{name}.{number}")
    return found
