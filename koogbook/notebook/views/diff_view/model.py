"""What a prompt diff shows, as plain data: rows in bands, totals, facts and checks."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from koogbook.messages.ledger import Fate, Status
from koogbook.messages.word_diff import WordSpan
from koogbook.notebook.views.look.measure import count, thousands

RowFate = Fate | Literal["new"]
Side = Literal["before", "after"]
RoleMark = Literal["system", "user", "assistant", "call", "result", "memory", "summary"]


class NewPlace(Struct, frozen=True):
    """A message by its position in the second history."""

    position: int


#: What is selected: an original's position, a summary's new position and the number of a sentence from 1, or a message
#: of the second history.
Selection = int | tuple[int, int] | NewPlace | None


class MessageRow(Struct, frozen=True, kw_only=True):
    """One message on one side.

    ``partner`` is its number on the other side, ``word`` what stands beside the mark of its fate ("S1"),
    ``used_in`` the sentences that rest on it ("S1.2"). ``spans`` are the changed words of an edited message, of
    this side only. ``moved`` says that it was found, but out of order. ``lit`` belongs to what is selected, ``picked``
    is it.
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
    picked: bool = False


class FoldedRow(Struct, frozen=True, kw_only=True):
    """A run of messages of one fate in one row: numbers of the first and the last, how many, tokens of all.

    ``key`` is the first original of the run, on both sides. Of an ``opened`` one the messages follow it.
    """

    key: int
    first: int
    last: int
    count: int
    tokens: int
    fate: RowFate
    word: str
    opened: bool = False
    lit: bool = False
    picked: bool = False


class LeftOutRow(Struct, frozen=True, kw_only=True):
    """Opposite a run of dropped messages: how many, how much and why; as tall as the ``rows`` of the run."""

    first: int
    last: int
    count: int
    tokens: int
    reasons: tuple[str, ...]
    rows: int


class SummaryRow(Struct, frozen=True, kw_only=True):
    """The head of a summary, which its sentences follow; ``unnamed`` are sources that no sentence names.

    ``fates`` says how many of the sources had which fate: one that the prompt kept as well is a source, too.
    """

    position: int
    name: str
    sources: tuple[int, ...]
    unnamed: tuple[int, ...]
    fates: tuple[tuple[Fate, int], ...]
    source_tokens: int
    tokens: int
    lit: bool = False
    picked: bool = False


class SentenceRow(Struct, frozen=True, kw_only=True):
    """A numbered sentence of a summary and the original messages that it rests on."""

    summary: int
    number: int
    text: str
    sources: tuple[int, ...]
    verbatim: bool
    lit: bool = False
    picked: bool = False


def sources_in_words(row: SummaryRow) -> str:
    """What a summary was made of, by fate: ``23 messages and 3 kept``; what was kept as well is a source, too."""
    fates = dict(row.fates)
    taken = fates.pop("summarised", 0)
    others = [f"{thousands(number)} {fate}" for fate, number in fates.items()]
    return " and ".join([count(taken, "message"), *others] if taken or not others else others)


def fold_words(row: FoldedRow) -> str:
    """What a folded row stands for: ``4 unchanged messages``, ``17 messages into S1``."""
    if row.fate == "kept":
        return f"{thousands(row.count)} unchanged messages"
    where = f"into {row.word}" if row.fate == "summarised" else row.word
    return f"{thousands(row.count)} messages {where}"


LeftRow = MessageRow | FoldedRow
RightRow = MessageRow | FoldedRow | LeftOutRow | SummaryRow | SentenceRow


class Band(Struct, frozen=True):
    """Rows that begin at one height; ``same`` says that both sides are one message, or one run of them."""

    left: tuple[LeftRow, ...]
    right: tuple[RightRow, ...]
    same: bool = False


class Bracket(Struct, frozen=True):
    """A call and its results on one side, first and last position; ``open``: a result is still missing."""

    side: Side
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
    """One thing that holds, is worth a note, or does not hold; what comes from outside is set apart in its text."""

    state: Literal["ok", "note", "bad"]
    text: str


class FullText(Struct, frozen=True):
    """A message in full: ``left_out`` characters of a very long one are not in ``text``."""

    side: Side
    position: int
    role: RoleMark
    tokens: int
    text: str
    left_out: int = 0


class Link(Struct, frozen=True):
    """The name of something that can be selected, and the text that selects it."""

    word: str
    value: str


class Links(Struct, frozen=True):
    """What one thing is joined to, and how: ``rests on`` 11 12 13; ``more`` are not listed."""

    about: str
    links: tuple[Link, ...]
    more: int = 0


class Detail(Struct, frozen=True, kw_only=True):
    """All about what is selected.

    ``tokens`` is None for a sentence. ``spans`` are the words of an edited message, both sides in one, ``lost`` the
    facts that were in it and are nowhere now. ``left_out`` characters of a very long one are not in ``text``.
    """

    value: str
    title: str
    role: RoleMark
    fate: RowFate
    word: str
    reason: str
    tokens: int | None
    text: str
    left_out: int
    spans: tuple[WordSpan, ...] = ()
    links: tuple[Links, ...] = ()
    lost: tuple[str, ...] = ()
    has_sources: bool = False


class Page(Struct, frozen=True):
    """Which rows of a long diff are shown: page 0 is the start and the end, pages from 1 on have all rows.

    ``words`` says what is on the page; ``cut`` is the page on which the rows that page 0 leaves out begin.
    """

    number: int = 0
    count: int = 0
    words: str = ""
    cut: int = 0


Form = Literal["", "side by side", "inline"]


class Choices(Struct, frozen=True):
    """What a reader chose beside the selection.

    Args:
        page: Of a long diff; 0 is the start and the end.
        all_open: No run of messages is folded.
        toggled: First originals of the runs that are not as ``all_open`` says.
        form: One table for both widths; empty lets the width of the page decide.
    """

    page: int = 0
    all_open: bool = False
    toggled: frozenset[int] = frozenset()
    form: Form = ""

    def opens(self, first: int) -> bool:
        """Whether the run that begins with this original is open."""
        return self.all_open != (first in self.toggled)


class DiffState(Struct, frozen=True, kw_only=True):
    """All that a prompt diff shows.

    ``cut_messages`` is how many messages stand in rows that were left out of the middle, before band
    ``cut_at``.
    ``texts_left_out`` is how many messages are not in ``texts``. ``folds`` are the runs that can be folded,
    ``changes`` the places where something changed. ``compressions`` are those of a run in words, ``compression``
    is the one that is shown, from 1.
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
    detail: Detail | None = None
    page: Page = Page()
    choices: Choices = Choices()
    folds: int = 0
    changes: int = 0
    compressions: tuple[str, ...] = ()
    compression: int = 0
