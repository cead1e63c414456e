"""The rows of a prompt diff: which stand opposite each other, which are folded, which are left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from koogbook.messages.ledger import Ledger, MessageFate, NewMessage
from koogbook.messages.message import Message
from koogbook.messages.word_diff import WordSpan, longest_increasing
from koogbook.notebook.views.diff_view.layout import row_lines
from koogbook.notebook.views.diff_view.model import (
    Band,
    FoldedRow,
    LeftOutRow,
    LeftRow,
    MessageRow,
    RightRow,
    RowFate,
    Selection,
    SentenceRow,
    SummaryRow,
)
from koogbook.notebook.views.diff_view.spans import changed_words
from koogbook.notebook.views.message_preview import preview, role_mark

#: Up to so many messages nothing is folded.
ALL_OPEN = 8
#: Over so many messages, runs of any one fate are folded, not only unchanged ones.
FOLD_ALL_FATES = 60
#: At most so many rows on the longer side; the middle of a longer diff is left out. Of a diff in which runs of all
#: fates are folded fewer are shown, since what is left are many small changes.
MOST_ROWS = 72
MOST_FOLDED_ROWS = 48
_TALLEST_PIECE = 20
_SHORTEST_FOLD = 3
_OPEN_AT_THE_END = 2


class Rows(Struct, frozen=True):
    """The bands of a diff; ``cut_messages`` are in none of them: they stood before band ``cut_at``."""

    bands: tuple[Band, ...]
    cut_at: int | None
    cut_messages: int


def summary_names(ledger: Ledger) -> dict[int, str]:
    """S1, S2 ... by the new position of each summary."""
    positions = sorted(
        entry.position
        for entry in ledger.new_messages
        if entry.sources or entry.sentences or ledger.after[entry.position].is_summary
    )
    return {position: f"S{number}" for number, position in enumerate(positions, start=1)}


def diff_rows(ledger: Ledger, selected: Selection = None) -> Rows:
    """Lay out a ledger in rows."""
    bands = [piece for band in _Builder(ledger, selected).bands() for piece in _pieces(band)]
    heights = [max(len(band.left), sum(row_lines(row) for row in band.right)) for band in bands]
    long = max(len(ledger.before), len(ledger.after)) > FOLD_ALL_FATES
    most = MOST_FOLDED_ROWS if long else MOST_ROWS
    if sum(heights) <= most:
        return Rows(tuple(bands), None, 0)
    head = _fitting(heights, most // 2)
    tail = _fitting(heights[:head:-1], most // 2)
    kept = bands[:head] + bands[len(bands) - tail :]
    cut = sum(_messages(band) for band in bands[head : len(bands) - tail])
    return Rows(tuple(kept), head, cut)


def _pieces(band: Band) -> Iterator[Band]:
    """A tall band in pieces, so that a part of it can be left out; one with a left-out block stays whole."""
    height = max(len(band.left), len(band.right))
    if height <= _TALLEST_PIECE or any(isinstance(row, LeftOutRow) for row in band.right):
        yield band
        return
    for start in range(0, height, _TALLEST_PIECE):
        end = start + _TALLEST_PIECE
        yield Band(band.left[start:end], band.right[start:end])


def _fitting(heights: Sequence[int], room: int) -> int:
    """How many bands from the start fit into so many rows; at least one."""
    used = 0
    for count, height in enumerate(heights):
        used += height
        if used > room:
            return max(count, 1)
    return len(heights)


def _messages(band: Band) -> int:
    """How many different messages stand in a band."""
    left = sum(row.count if isinstance(row, FoldedRow) else 1 for row in band.left)
    right = 0 if band.same else sum(isinstance(row, MessageRow | SummaryRow) for row in band.right)
    return left + right


class _Builder:
    def __init__(self, ledger: Ledger, selected: Selection) -> None:
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
        self.lit, self.lit_sentences = _lit(ledger, selected)
        self.used_in = _used_in(ledger, self.names)

    def bands(self) -> Iterator[Band]:
        placed = [(entry.position, place) for place, entry in self.origins.items()]
        anchors = longest_increasing(sorted(placed))
        self.in_order = set(anchors)
        last_before = last_after = -1
        run: list[Band] = []
        for i, j in [*anchors, (len(self.ledger.before), len(self.ledger.after))]:
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
            yield Band((_fold(left),), (_fold(right),), same=True)

    # ------------------------------------------------------------------ rows between them

    def _gap(self, before: range, after: range) -> Iterator[Band]:
        """What was dropped stands opposite a block of its height, a summary opposite what it was made of."""
        waiting = [(place, self._new_rows(place)) for place in after]
        bands: list[Band] = []
        for became, group in groupby(before, key=self._became):
            positions = list(group)
            left = tuple(self._left_run(positions))
            if became == "dropped":
                bands.append(Band(left, (self._left_out(positions, len(left)),)))
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
                yield from (rows[0], _fold(rows[1:-1]), rows[-1])
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
        originals = self.fates
        named = {source for sentence in entry.sentences for source in sentence.sources}
        head = SummaryRow(
            position=place,
            name=self.names[place],
            sources=entry.sources,
            unnamed=tuple(source for source in entry.sources if source not in named),
            source_tokens=sum(originals[source].tokens for source in entry.sources if source in originals),
            tokens=entry.tokens,
        )
        return [head, *self._sentences(entry)]

    def _sentences(self, entry: NewMessage) -> Iterator[SentenceRow]:
        for number, sentence in enumerate(entry.sentences, start=1):
            yield SentenceRow(
                summary=entry.position,
                number=number,
                text=sentence.text,
                sources=sentence.sources,
                verbatim=sentence.verbatim,
                lit=(entry.position, number) in self.lit_sentences,
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
                text=preview(message),
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
            text=preview(message),
            tokens=message.tokens,
            fate=entry.fate,
            word=self._word(entry, moved),
            used_in=self.used_in.get(entry.position, ()) if before else (),
            code=mark in ("call", "result"),
            spans=self._changed(entry, before) if entry.fate == "edited" else (),
            moved=moved,
            lit=entry.position in self.lit,
        )

    def _changed(self, entry: MessageFate, before: bool) -> tuple[WordSpan, ...]:
        if entry.new_position is None:
            return ()
        old, new = self.ledger.before[entry.position], self.ledger.after[entry.new_position]
        return changed_words(old, new, "before" if before else "after")

    def _word(self, entry: MessageFate, moved: bool) -> str:
        if entry.fate == "summarised":
            named = [self.names[place] for place in entry.summaries if place in self.names]
            return " ".join(named) or "summarised"
        return "moved" if moved and entry.fate == "kept" else entry.fate


def _is_unchanged(band: Band) -> bool:
    row = band.left[0]
    return isinstance(row, MessageRow) and row.fate == "kept" and not row.lit


def _fold(rows: Sequence[LeftRow | RightRow]) -> FoldedRow:
    messages = [row for row in rows if isinstance(row, MessageRow)]
    fate: RowFate = messages[0].fate
    return FoldedRow(
        first=messages[0].position,
        last=messages[-1].position,
        count=len(messages),
        tokens=sum(row.tokens for row in messages),
        fate=fate,
        word=messages[0].word,
        lit=any(row.lit for row in messages),
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


def _lit(ledger: Ledger, selected: Selection) -> tuple[set[int], set[tuple[int, int]]]:
    """The originals and the sentences that belong to the selection."""
    if selected is None:
        return set(), set()
    numbered = [
        (entry.position, number, sentence)
        for entry in ledger.new_messages
        for number, sentence in enumerate(entry.sentences, start=1)
    ]
    if isinstance(selected, int):
        on_it = {(place, number) for place, number, sentence in numbered if selected in sentence.sources}
        return {selected}, on_it
    sources = {
        source
        for place, number, sentence in numbered
        if (place, number) == tuple(selected)
        for source in sentence.sources
    }
    return sources, {(selected[0], selected[1])}
