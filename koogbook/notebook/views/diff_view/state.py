"""From a compression, or from any two histories, to what a prompt diff shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from koogbook.compression.fact_check import Fact, FactFinding, check_facts
from koogbook.messages.history_diff import diff_messages
from koogbook.messages.ledger import Fate, Ledger, NewMessage
from koogbook.messages.message import Message
from koogbook.messages.pairing import pair_messages
from koogbook.messages.prompt import Prompt, as_messages
from koogbook.messages.word_diff import longest_increasing
from koogbook.notebook.views.diff_view.checks import checks, fact_rows
from koogbook.notebook.views.diff_view.detail import beginning, detail
from koogbook.notebook.views.diff_view.model import (
    Band,
    Bracket,
    Choices,
    DiffState,
    FoldedRow,
    FullText,
    MessageRow,
    Page,
    Selection,
    SummaryRow,
    Total,
)
from koogbook.notebook.views.diff_view.pages import Parts, lit_band, messages_in, page_words, parts_of
from koogbook.notebook.views.diff_view.rows import RowBuilder
from koogbook.notebook.views.diff_view.selection import lit, summary_names
from koogbook.notebook.views.diff_view.ways import changes
from koogbook.notebook.views.look.measure import count, duration
from koogbook.notebook.views.message_preview import role_mark

#: So many bytes of messages in full, so that a saved cell stays small; a page has more rows, and fewer of these.
ALL_TEXTS = 40_000
PAGE_TEXTS = 20_000
_TEXT_FRAME = 400

_NOTHING_CHOSEN = Choices()
_FATES: tuple[Fate, ...] = ("kept", "edited", "memory", "summarised", "dropped")


class Comparison:
    """A ledger with all that is worked out of it once, whatever a reader selects, opens or turns to."""

    def __init__(self, ledger: Ledger, facts: Sequence[FactFinding] = ()) -> None:
        self.ledger = ledger
        self.facts = tuple(facts)
        self.names = summary_names(ledger)
        self._builder = RowBuilder(ledger)
        self._opened: tuple[Choices, tuple[Band, ...], Parts] | None = None
        self._shown: tuple[Choices, _Shown] | None = None
        self._words = DiffState(
            name="",
            strategy=ledger.strategy,
            status=ledger.status,
            messages_before=len(ledger.before),
            messages_after=len(ledger.after),
            tokens_before=ledger.tokens_before,
            tokens_after=ledger.tokens_after,
            saved_share=ledger.saved_share,
            effort=_effort(ledger),
            totals=tuple(_totals(ledger, self.names)),
            bands=(),
            brackets=(*_brackets("before", ledger.before), *_brackets("after", ledger.after)),
            facts=fact_rows(ledger, self.facts, self.names),
            checks=checks(ledger, self.facts, self.names, _moved(ledger)),
            texts=(),
        )

    def state(
        self,
        *,
        name: str = "",
        selected: Selection = None,
        choices: Choices = _NOTHING_CHOSEN,
        compressions: tuple[str, ...] = (),
        compression: int = 0,
    ) -> DiffState:
        """What a prompt diff shows; see :func:`diff_state`."""
        shown = self._show(choices)
        light = lit(self.ledger, selected)
        return replace(
            self._words,
            name=name,
            bands=tuple(lit_band(band, light) for band in shown.bands),
            texts=shown.texts,
            selected=selected,
            cut_at=shown.cut_at,
            cut_messages=shown.cut_messages,
            texts_left_out=shown.texts_left_out,
            detail=detail(self.ledger, self.facts, selected),
            page=shown.page,
            choices=choices,
            folds=shown.folds,
            changes=shown.changes,
            compressions=compressions,
            compression=compression,
        )

    def bands(self, choices: Choices) -> tuple[Band, ...]:
        """All rows, whatever page is shown."""
        return self._open(choices)[0]

    def parts(self, choices: Choices) -> Parts:
        """The pages of these rows."""
        return self._open(choices)[1]

    def _open(self, choices: Choices) -> tuple[tuple[Band, ...], Parts]:
        folds = replace(choices, page=0, form="")
        if self._opened is None or self._opened[0] != folds:
            bands = tuple(self._builder.bands(choices.opens))
            self._opened = (folds, bands, parts_of(bands, self._builder.most_rows))
        return self._opened[1:]

    def _show(self, choices: Choices) -> _Shown:
        wanted = replace(choices, form="")
        if self._shown is None or self._shown[0] != wanted:
            bands, parts = self._open(choices)
            self._shown = (wanted, _shown(self.ledger, self._builder, bands, parts, choices.page))
        return self._shown[1]


class _Shown(Struct, frozen=True, kw_only=True):
    """The rows of a page before anything is selected, and what goes with them."""

    bands: tuple[Band, ...]
    cut_at: int | None
    cut_messages: int
    page: Page
    folds: int
    changes: int
    texts: tuple[FullText, ...]
    texts_left_out: int


def _shown(ledger: Ledger, builder: RowBuilder, bands: Sequence[Band], parts: Parts, number: int) -> _Shown:
    whole = range(len(bands))
    if not parts.pages:
        kept: Sequence[int] = whole
    elif number == 0:
        kept = [*whole[: parts.head], *whole[len(bands) - parts.tail :]]
    else:
        kept = parts.pages[number - 1]
    shown = tuple(builder.with_words(bands[index]) for index in kept)
    cut = bool(parts.pages) and number == 0
    texts, texts_left_out = _texts(ledger, shown, PAGE_TEXTS if number else ALL_TEXTS)
    return _Shown(
        bands=shown,
        cut_at=parts.head if cut else None,
        cut_messages=messages_in(bands[parts.head : len(bands) - parts.tail]) if cut else 0,
        page=Page(number, len(parts.pages), page_words(shown), parts.page_of(parts.head))
        if parts.pages
        else Page(),
        folds=sum(isinstance(row, FoldedRow) for band in bands for row in band.left),
        changes=len(changes(bands)),
        texts=texts,
        texts_left_out=texts_left_out,
    )


def diff_state(
    ledger: Ledger,
    *,
    facts: Sequence[FactFinding] = (),
    name: str = "",
    selected: Selection = None,
    choices: Choices = _NOTHING_CHOSEN,
) -> DiffState:
    """What a prompt diff shows of one compression.

    Args:
        ledger: The record of the compression.
        facts: What :func:`koogbook.compression.fact_check.check_facts` found.
        name: What the view is of, such as ``trip, compression 1 of 1``.
        selected: An original's position, (new position of a summary, number of a sentence from 1), or a place of the
            second history.
        choices: Page, open runs and form.
    """
    return Comparison(ledger, facts).state(name=name, selected=selected, choices=choices)


def diff_state_of(
    before: Prompt | Sequence[Message],
    after: Prompt | Sequence[Message],
    *,
    facts: Sequence[Fact] = (),
    name: str = "",
    selected: Selection = None,
) -> DiffState:
    """What a prompt diff shows of any two histories, whatever made the one from the other.

    Args:
        before: The first history: a prompt, messages, or anything with ``messages``.
        after: The second one.
        facts: Texts, patterns or functions to look for in both.
        name: What the view is of.
        selected: As for :func:`diff_state`.
    """
    ledger = diff_ledger(before, after)
    return diff_state(ledger, facts=check_facts(ledger, facts), name=name, selected=selected)


def diff_ledger(before: Prompt | Sequence[Message], after: Prompt | Sequence[Message]) -> Ledger:
    """The ledger of any two histories, as if the one had been made into the other."""
    first, second = as_messages(before), as_messages(after)
    found = diff_messages(first, second)
    return Ledger(
        strategy="",
        status="unchanged" if first == second else "applied",
        before=first,
        after=second,
        fates=found.fates,
        new_messages=tuple(NewMessage(place, second[place].tokens) for place in found.new_positions),
    )


def _effort(ledger: Ledger) -> tuple[str, ...]:
    """What the compression cost; nothing where no model was asked and no time is known."""
    if not ledger.model_calls and not ledger.seconds:
        return ()
    words = [count(ledger.model_calls, "model call"), duration(ledger.seconds)]
    if ledger.model_calls:
        words.append("no price" if ledger.cost is None else f"cost {ledger.cost:.4g}")
    return tuple(words)


def _totals(ledger: Ledger, names: dict[int, str]) -> Iterator[Total]:
    """One total per fate that occurs, then what is new without a source."""
    for fate in _FATES:
        entries = [entry for entry in ledger.fates if entry.fate == fate]
        if not entries:
            continue
        places = {entry.new_position for entry in entries if entry.new_position is not None}
        if fate == "summarised":
            places = set(names)
        word = f"into {' '.join(names.values())}" if fate == "summarised" and len(names) == 1 else fate
        yield Total(
            fate=fate,
            word="into summaries" if fate == "summarised" and len(names) > 1 else word,
            messages=len(entries),
            tokens=sum(entry.tokens for entry in entries),
            tokens_after=sum(ledger.after[place].tokens for place in places),
        )
    used = set(names) if ledger.count("summarised") else set()
    new = [entry for entry in ledger.new_messages if entry.position not in used]
    if new:
        yield Total("new", "new", len(new), 0, sum(entry.tokens for entry in new))


def _moved(ledger: Ledger) -> int:
    placed = sorted((e.position, e.new_position) for e in ledger.fates if e.new_position is not None)
    return len(placed) - len(longest_increasing(placed))


def _brackets(side: Any, messages: Sequence[Message]) -> Iterator[Bracket]:
    pairing = pair_messages(messages)
    last: dict[int, int] = {}
    for pair in pairing.pairs:
        last[pair.call_message] = max(pair.result_message, last.get(pair.call_message, 0))
    if pairing.tail is not None:
        last[pairing.tail] = max(pairing.tail, last.get(pairing.tail, 0))
    for call, result in sorted(last.items()):
        yield Bracket(side, call, result, call == pairing.tail)


def _texts(ledger: Ledger, bands: Sequence[Band], room: int) -> tuple[tuple[FullText, ...], int]:
    """The messages of both sides in full, those in rows first; kept ones once."""
    shown = {row.position for band in bands for row in band.left if isinstance(row, MessageRow)}
    hidden = [position for position in range(len(ledger.before)) if position not in shown]
    same = {entry.new_position for entry in ledger.fates if entry.fate in ("kept", "memory")}
    fresh = [
        row.position
        for band in bands
        for row in band.right
        if isinstance(row, MessageRow | SummaryRow) and row.position not in same
    ]
    wanted = [("after", place) for place in fresh] + [
        ("before", place) for place in [*sorted(shown), *hidden]
    ]
    texts: list[FullText] = []
    for side, position in wanted:
        if room <= 0:
            break
        message = ledger.before[position] if side == "before" else ledger.after[position]
        cut, left_out = beginning(message)
        size = len(cut.encode("utf-8", "surrogatepass"))
        if size > room:
            continue
        room -= size + _TEXT_FRAME
        texts.append(
            FullText(
                "before" if side == "before" else "after",
                position,
                role_mark(message),
                message.tokens,
                cut,
                left_out,
            )
        )
    texts.sort(key=lambda text: (text.side == "after", text.position))
    return tuple(texts), len(wanted) - len(texts)
