"""What a prompt diff shows, as plain data: rows in bands, totals, facts and checks."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from koogbook.messages.ledger import Fate, Status
from koogbook.messages.word_diff import WordSpan

RowFate = Fate | Literal["new"]
RoleMark = Literal["system", "user", "assistant", "call", "result", "memory", "summary"]

#: What is selected: an original's position, or a summary's new position and the number of a sentence.
Selection = int | tuple[int, int] | None


class MessageRow(Struct, frozen=True, kw_only=True):
    """One message on one side.

    ``partner`` is its number on the other side, ``word`` what stands beside the mark of its fate ("S1"),
    ``used_in`` the sentences that rest on it ("S1.2"). ``spans`` are the changed words of an edited message, of
    this side only. ``moved`` says that it was found, but out of order.
    """

    position: int
    partner: int | None
    role: RoleMark
    text: str
    tokens: int
    fate: RowFate
    word: str
    used_in: tuple[str, ...] = ()
    code: bool = False
    spans: tuple[WordSpan, ...] = ()
    moved: bool = False
    lit: bool = False


class FoldedRow(Struct, frozen=True, kw_only=True):
    """A run of messages of one fate in one row: numbers of the first and the last, how many, tokens of all."""

    first: int
    last: int
    count: int
    tokens: int
    fate: RowFate
    word: str
    lit: bool = False


class LeftOutRow(Struct, frozen=True, kw_only=True):
    """Opposite a run of dropped messages: how many, how much and why; as tall as the ``rows`` of the run."""

    first: int
    last: int
    count: int
    tokens: int
    reasons: tuple[str, ...]
    rows: int


class SummaryRow(Struct, frozen=True, kw_only=True):
    """The head of a summary, which its sentences follow; ``unnamed`` are sources that no sentence names."""

    position: int
    name: str
    sources: tuple[int, ...]
    unnamed: tuple[int, ...]
    source_tokens: int
    tokens: int


class SentenceRow(Struct, frozen=True, kw_only=True):
    """A numbered sentence of a summary and the original messages that it rests on."""

    summary: int
    number: int
    text: str
    sources: tuple[int, ...]
    verbatim: bool
    lit: bool = False


def fold_words(row: FoldedRow) -> str:
    """What a folded row stands for: ``4 unchanged messages``, ``17 messages into S1``."""
    if row.fate == "kept":
        return f"{row.count} unchanged messages"
    where = f"into {row.word}" if row.fate == "summarised" else row.word
    return f"{row.count} messages {where}"


LeftRow = MessageRow | FoldedRow
RightRow = MessageRow | FoldedRow | LeftOutRow | SummaryRow | SentenceRow


class Band(Struct, frozen=True):
    """Rows that begin at one height; ``same`` says that both sides are one message, or one run of them."""

    left: tuple[LeftRow, ...]
    right: tuple[RightRow, ...]
    same: bool = False


class Bracket(Struct, frozen=True):
    """A call and its results on one side, first and last position; ``open``: a result is still missing."""

    side: Literal["before", "after"]
    first: int
    last: int
    open: bool = False


class Total(Struct, frozen=True):
    """How many originals had a fate, with their tokens before, and what stands for them afterwards."""

    fate: RowFate
    word: str
    messages: int
    tokens: int
    tokens_after: int


class FactRow(Struct, frozen=True):
    """A fact that must survive, and whether it did."""

    fact: str
    kind: str
    found: Literal["verbatim", "in a summary", "lost", "never there"]
    word: str
    where: str


class Check(Struct, frozen=True):
    """One thing that holds, is worth a note, or does not hold."""

    state: Literal["ok", "note", "bad"]
    text: str


class FullText(Struct, frozen=True):
    """A message in full: ``left_out`` characters of a very long one are not in ``text``."""

    side: Literal["before", "after"]
    position: int
    role: RoleMark
    tokens: int
    text: str
    left_out: int = 0


class DiffState(Struct, frozen=True, kw_only=True):
    """All that a prompt diff shows.

    ``cut_messages`` is how many messages stand in rows that were left out of the middle, before band
    ``cut_at``.
    ``texts_left_out`` is how many messages are not in ``texts``.
    """

    name: str
    strategy: str
    status: Status
    messages_before: int
    messages_after: int
    tokens_before: int
    tokens_after: int
    saved_share: float
    effort: tuple[str, ...]
    totals: tuple[Total, ...]
    bands: tuple[Band, ...]
    brackets: tuple[Bracket, ...]
    facts: tuple[FactRow, ...]
    checks: tuple[Check, ...]
    texts: tuple[FullText, ...]
    selected: Selection = None
    cut_at: int | None = None
    cut_messages: int = 0
    texts_left_out: int = 0
