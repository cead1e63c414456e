"""Which of the facts that must survive a compression did."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from msgspec import Struct

from koogbook.messages.ledger import Ledger
from koogbook.messages.message import Message
from koogbook.messages.searchable import searchable_text

#: A text (looked for as it stands), a compiled regular expression, or a predicate on a message.
Fact = str | re.Pattern[str] | Callable[[Message], bool]
Found = Literal["verbatim", "in a summary", "lost", "never there"]


class FactFinding(Struct, frozen=True):
    """What became of one fact.

    ``before`` and ``after`` are positions of the messages that hold it. ``sentences`` are (position of the summary,
    number of the sentence from 1). "verbatim" means that an original message with it is still there.
    """

    fact: str
    kind: Literal["text", "regex", "predicate"]
    found: Found
    before: tuple[int, ...]
    after: tuple[int, ...]
    sentences: tuple[tuple[int, int], ...] = ()


def check_facts(ledger: Ledger, facts: Iterable[Fact]) -> tuple[FactFinding, ...]:
    """Look for each fact in both histories of a compression.

    Raises:
        TypeError: A fact is neither text, compiled pattern nor function, or ``facts`` is one text.
        ValueError: A fact is an empty text.
    """
    if isinstance(facts, str):
        raise TypeError(f"Facts come as a list, not as one text: must_keep=[{facts!r}].")
    return tuple(_check(ledger, fact) for fact in facts)


def _check(ledger: Ledger, fact: Fact) -> FactFinding:
    name, kind, holds = _matcher(fact)
    before = _positions(ledger.before, holds)
    result = ledger.before if ledger.status == "refused" else ledger.after
    after = _positions(result, holds)
    new = {entry.position: entry for entry in ledger.new_messages} if ledger.status == "applied" else {}
    found: Found
    if any(position not in new for position in after):
        found = "verbatim"
    elif after:
        found = "in a summary"
    else:
        found = "lost" if before else "never there"
    sentences = [
        (position, number)
        for position in after
        if position in new and kind != "predicate"
        for number, sentence in enumerate(new[position].sentences, start=1)
        if _in_text(fact, sentence.text)
    ]
    return FactFinding(name, kind, found, before, after, tuple(sentences))


def _matcher(fact: Fact) -> tuple[str, Literal["text", "regex", "predicate"], Callable[[Message], bool]]:
    if isinstance(fact, str):
        if not fact:
            raise ValueError("An empty text stands in every message and is no fact that could be lost.")
        return fact, "text", lambda message: fact in searchable_text(message)
    if isinstance(fact, re.Pattern):
        return fact.pattern, "regex", lambda message: fact.search(searchable_text(message)) is not None
    if callable(fact):
        return getattr(fact, "__name__", "predicate"), "predicate", fact
    raise TypeError(
        f"A fact is a text, a compiled pattern or a function of a message, not {type(fact).__name__}: {fact!r}."
    )


def _positions(messages: Sequence[Message], holds: Callable[[Message], bool]) -> tuple[int, ...]:
    return tuple(position for position, message in enumerate(messages) if holds(message))


def _in_text(fact: Fact, text: str) -> bool:
    if isinstance(fact, str):
        return fact in text
    return isinstance(fact, re.Pattern) and fact.search(text) is not None
