"""From a compression, or from any two histories, to what a prompt diff shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from koogbook.compression.fact_check import Fact, FactFinding, check_facts
from koogbook.messages.history_diff import diff_messages
from koogbook.messages.ledger import Fate, Ledger, NewMessage
from koogbook.messages.message import Message
from koogbook.messages.pairing import pair_messages
from koogbook.messages.prompt import Prompt, as_messages
from koogbook.messages.word_diff import longest_increasing
from koogbook.notebook.views.diff_view.checks import checks, fact_rows
from koogbook.notebook.views.diff_view.model import (
    Bracket,
    DiffState,
    FullText,
    MessageRow,
    Selection,
    SummaryRow,
    Total,
)
from koogbook.notebook.views.diff_view.rows import Rows, diff_rows, summary_names
from koogbook.notebook.views.look.measure import count, duration
from koogbook.notebook.views.message_preview import full_text, role_mark

#: A message in full is cut here, and all of them together here, so that a saved cell stays small.
LONGEST_TEXT = 4_000
ALL_TEXTS = 40_000
_TEXT_FRAME = 400

_FATES: tuple[Fate, ...] = ("kept", "edited", "memory", "summarised", "dropped")


def diff_state(
    ledger: Ledger, *, facts: Sequence[FactFinding] = (), name: str = "", selected: Selection = None
) -> DiffState:
    """What a prompt diff shows of one compression.

    Args:
        ledger: The record of the compression.
        facts: What :func:`koogbook.compression.fact_check.check_facts` found.
        name: What the view is of, such as ``trip, compression 1 of 1``.
        selected: An original's position, or (new position of a summary, number of a sentence from 1).
    """
    names = summary_names(ledger)
    rows = diff_rows(ledger, selected)
    texts, texts_left_out = _texts(ledger, rows)
    return DiffState(
        name=name,
        strategy=ledger.strategy,
        status=ledger.status,
        messages_before=len(ledger.before),
        messages_after=len(ledger.after),
        tokens_before=ledger.tokens_before,
        tokens_after=ledger.tokens_after,
        saved_share=ledger.saved_share,
        effort=_effort(ledger),
        totals=tuple(_totals(ledger, names)),
        bands=rows.bands,
        brackets=(*_brackets("before", ledger.before), *_brackets("after", ledger.after)),
        facts=fact_rows(ledger, facts, names),
        checks=checks(ledger, facts, names, _moved(ledger)),
        texts=texts,
        selected=selected,
        cut_at=rows.cut_at,
        cut_messages=rows.cut_messages,
        texts_left_out=texts_left_out,
    )


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


def _texts(ledger: Ledger, rows: Rows) -> tuple[tuple[FullText, ...], int]:
    """The messages of both sides in full, those in rows first; kept ones once."""
    shown = {row.position for band in rows.bands for row in band.left if isinstance(row, MessageRow)}
    hidden = [position for position in range(len(ledger.before)) if position not in shown]
    same = {entry.new_position for entry in ledger.fates if entry.fate in ("kept", "memory")}
    fresh = [
        row.position
        for band in rows.bands
        for row in band.right
        if isinstance(row, MessageRow | SummaryRow) and row.position not in same
    ]
    wanted = [("after", place) for place in fresh] + [
        ("before", place) for place in [*sorted(shown), *hidden]
    ]
    texts: list[FullText] = []
    room = ALL_TEXTS
    for side, position in wanted:
        message = ledger.before[position] if side == "before" else ledger.after[position]
        whole = full_text(message)
        cut = whole[:LONGEST_TEXT]
        if len(cut) > room:
            continue
        room -= len(cut) + _TEXT_FRAME
        texts.append(
            FullText(
                "before" if side == "before" else "after",
                position,
                role_mark(message),
                message.tokens,
                cut,
                len(whole) - len(cut),
            )
        )
    texts.sort(key=lambda text: (text.side == "after", text.position))
    return tuple(texts), len(wanted) - len(texts)
