"""One call with all that is worked out of it once, whatever a reader selects, switches off or turns to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby

from msgspec import Struct

from koogbook.llm.call_record import CallRecord
from koogbook.llm.layers import LAYERS, in_order, tool_tokens
from koogbook.llm.request import without_tool_parts
from koogbook.messages.message import Message
from koogbook.messages.pairing import pair_messages
from koogbook.notebook.views.message_preview import full_text, preview, role_mark
from koogbook.notebook.views.prompt_view.model import (
    Bracket,
    CutRow,
    FullText,
    LayerRow,
    MessageRow,
    Novelty,
    OffRow,
    Page,
    Preview,
    Row,
    Since,
)

#: At most so many rows at once; of a longer request the start and the end are shown first, so many rows of each.
MOST_ROWS = 64
ENDS = 28
PAGE_ROWS = 100
#: So many bytes of messages in full, so that a saved cell stays small; a page has more rows, and fewer of these.
ALL_TEXTS = 12_000
PAGE_TEXTS = 8_000
_LONGEST_TEXT = 3_000
_TEXT_FRAME = 400


class Shown(Struct, frozen=True, kw_only=True):
    """The rows of a page before anything is selected, and their messages in full."""

    rows: tuple[Row, ...]
    page: Page
    texts: tuple[FullText, ...]
    texts_left_out: int


class CallContents:
    """The messages of a call with their layers, and what they are beside the call before it.

    Args:
        record: The call.
        before: The call before it of the same purpose, or None.
        kept: Messages with calls and results, by id, as the history keeps them.
    """

    def __init__(
        self, record: CallRecord, before: CallRecord | None, kept: Mapping[str, Message] | None = None
    ) -> None:
        self.record = record
        self.before = before
        self.messages = record.request.messages
        self.layers = tuple(one.layer for one in record.layers)
        self.tools = record.request.tools
        self.tool_tokens = tuple(map(tool_tokens, self.tools))
        self._kept = kept or {}
        self._last: tuple[object, Shown] | None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The layers that have something, in order."""
        return tuple(in_order([*(("tools",) if self.tools else ()), *self.layers]))

    def layer_rows(self, off: Collection[str]) -> tuple[LayerRow, ...]:
        """A row for each layer that has something."""
        counts: Counter[str] = Counter(self.layers)
        tokens: Counter[str] = Counter()
        for layer, message in zip(self.layers, self.messages, strict=True):
            tokens[layer] += message.tokens
        whole = self.record.tokens
        counts["tools"], tokens["tools"] = len(self.tools), sum(self.tool_tokens)
        return tuple(
            LayerRow(
                name=name,
                on=name not in off,
                count=counts[name],
                tokens=tokens[name],
                share=tokens[name] / whole if whole else 0.0,
            )
            for name in self.names
        )

    @property
    def absent(self) -> tuple[str, ...]:
        """The layers that have nothing."""
        return tuple(layer for layer in LAYERS if layer not in self.names)

    # ------------------------------------------------------------------------------------- beside others

    @cached_property
    def novelties(self) -> tuple[Novelty, ...]:
        """What each message is beside the call before; nothing where there is none."""
        if self.before is None:
            nothing: Novelty = ""
            return (nothing,) * len(self.messages)
        known = {message.id: message for message in self.before.request.messages}
        return tuple(
            _novelty(self.originals.get(at, message), known.get(message.id))
            for at, message in enumerate(self.messages)
        )

    @property
    def since(self) -> Since | None:
        """How many of them are new, edited, and no longer there."""
        if self.before is None:
            return None
        ids = {message.id for message in self.messages}
        gone = sum(message.id not in ids for message in self.before.request.messages)
        return Since(self.before.number, self.novelties.count("new"), self.novelties.count("edited"), gone)

    @cached_property
    def originals(self) -> Mapping[int, Message]:
        """By position: the message that the history holds, where it was sent as text."""
        found: dict[int, Message] = {}
        for position, message in enumerate(self.messages):
            kept = self._kept.get(message.id)
            if kept is not None and kept is not message and without_tool_parts([kept])[0] == message:
                found[position] = kept
        return found

    @cached_property
    def brackets(self) -> tuple[Bracket, ...]:
        """Calls with their results, those that were sent as text as well."""
        pairing = pair_messages([self.originals.get(at, one) for at, one in enumerate(self.messages)])
        last: dict[int, int] = {}
        for pair in pairing.pairs:
            last[pair.call_message] = max(pair.result_message, last.get(pair.call_message, 0))
        if pairing.tail is not None:
            last.setdefault(pairing.tail, pairing.tail)
        return tuple(Bracket(call, result, call == pairing.tail) for call, result in sorted(last.items()))

    # ------------------------------------------------------------------------------------- rows

    def row(self, position: int) -> MessageRow:
        """The row of a message."""
        original = self.originals.get(position)
        message = self.messages[position]
        shown = original or message
        return MessageRow(
            position=position,
            role=role_mark(shown),
            layer=self.layers[position],
            tokens=message.tokens,
            text=preview(shown),
            code=shown.role == "tool" or bool(shown.calls),
            as_text=original is not None,
            novelty=self.novelties[position],
        )

    def all_rows(self, off: Collection[str]) -> tuple[int | OffRow, ...]:
        """All rows, whatever page is shown: positions, and runs of messages whose layers are off."""
        found: list[int | OffRow] = []
        for is_off, run in groupby(range(len(self.messages)), key=lambda at: self.layers[at] in off):
            places = list(run)
            if not is_off:
                found += places
                continue
            tokens = sum(self.messages[at].tokens for at in places)
            layers = tuple(in_order(self.layers[at] for at in places))
            found.append(
                OffRow(first=places[0], last=places[-1], count=len(places), tokens=tokens, layers=layers)
            )
        return tuple(found)

    def shown(self, off: Collection[str], number: int) -> Shown:
        """The rows of a page, and which page it is."""
        key = (frozenset(off), number)
        if self._last is None or self._last[0] != key:
            rows, page = self._page(off, number)
            texts, left_out = self._texts(rows, PAGE_TEXTS if number else ALL_TEXTS)
            self._last = key, Shown(rows=rows, page=page, texts=texts, texts_left_out=left_out)
        return self._last[1]

    def _page(self, off: Collection[str], number: int) -> tuple[tuple[Row, ...], Page]:
        rows = self.all_rows(off)
        pages = pages_of(len(rows))
        if not pages:
            return tuple(self._drawn(rows)), Page()
        if number:
            part = rows[(number - 1) * PAGE_ROWS : number * PAGE_ROWS]
            return tuple(self._drawn(part)), Page(number, pages, _words(part))
        middle = rows[ENDS : len(rows) - ENDS]
        cut = CutRow(messages=sum(map(_messages_in, middle)), page=1 + ENDS // PAGE_ROWS)
        ends = (*self._drawn(rows[:ENDS]), cut, *self._drawn(rows[len(rows) - ENDS :]))
        return ends, Page(0, pages, f"{cut.messages:,} messages between them are left out")

    def page_of(self, off: Collection[str], position: int, here: int) -> int:
        """The page, from 1, that a message is on; ``here`` where it is on that one already, or nowhere."""
        rows = self.all_rows(off)
        if not pages_of(len(rows)):
            return here
        place = next((at for at, row in enumerate(rows) if _holds(row, position)), None)
        if place is None or (not here and (place < ENDS or place >= len(rows) - ENDS)):
            return here
        return 1 + place // PAGE_ROWS

    def _texts(self, rows: Sequence[Row], room: int) -> tuple[tuple[FullText, ...], int]:
        """The messages of a page in full, as many as there is room for; those that are whole in their row are not."""
        left_out = 0
        texts: list[FullText] = []
        for row in rows:
            if not isinstance(row, MessageRow):
                continue
            message = self.messages[row.position]
            text, cut = text_of(message, _LONGEST_TEXT)
            if text == row.text:
                continue
            size = len(text.encode("utf-8", "surrogatepass")) + _TEXT_FRAME
            if size > room:
                left_out += 1
                continue
            room -= size
            texts.append(FullText(row.position, role_mark(message), row.layer, text, cut))
        return tuple(texts), left_out

    def _drawn(self, rows: Sequence[int | OffRow]) -> Iterator[MessageRow | OffRow]:
        return (self.row(row) if isinstance(row, int) else row for row in rows)


def pages_of(rows: int) -> int:
    """How many pages so many rows have; 0 where all are shown at once."""
    return 0 if rows <= MOST_ROWS else -(-rows // PAGE_ROWS)


def _novelty(message: Message, known: Message | None) -> Novelty:
    """What a model can see of it is new, or another; a time or an id in its metadata is not seen."""
    if known is None:
        return "new"
    seen = known is message or (known.role, known.name, known.parts) == (
        message.role,
        message.name,
        message.parts,
    )
    return "" if seen else "edited"


def _holds(row: int | OffRow, position: int) -> bool:
    return row == position if isinstance(row, int) else row.first <= position <= row.last


def _messages_in(row: int | OffRow) -> int:
    return 1 if isinstance(row, int) else row.count


def _words(rows: Sequence[int | OffRow]) -> str:
    first, last = rows[0], rows[-1]
    start = first if isinstance(first, int) else first.first
    end = last if isinstance(last, int) else last.last
    return f"messages {start:,} to {end:,}"


# ------------------------------------------------------------------------------------------- messages as text


def text_of(message: Message, most: int) -> tuple[str, int]:
    """The first characters of a message with all its parts, and how many were left out."""
    whole = full_text(message)
    return whole[:most], max(len(whole) - most, 0)


def preview_of(message: Message, position: int, was: Message | None = None) -> Preview:
    """A message in one line, with what it was before."""
    line = "" if was is None else preview(was)
    return Preview(position, role_mark(message), preview(message), message.tokens, line)
