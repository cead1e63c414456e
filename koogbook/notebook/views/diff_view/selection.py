"""What is selected in a prompt diff: as a text that all views of a ledger share, as rows to light, as an object."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from koogbook.errors import ViewError
from koogbook.messages.ledger import Ledger, Sentence
from koogbook.messages.message import Message
from koogbook.notebook.views.diff_view.model import NewPlace, RowFate, Selection

_BEFORE = re.compile(r"(?:before:)?(\d{1,9})")
_AFTER = re.compile(r"after:(\d{1,9})")
_SENTENCE = re.compile(r"sentence:(\d{1,9})\.(\d{1,9})")
_SUMMARY = re.compile(r"(S\d{1,9})(?:\.(\d{1,9}))?")


def summary_names(ledger: Ledger) -> dict[int, str]:
    """S1, S2 ... by the new position of each summary."""
    positions = sorted(
        entry.position
        for entry in ledger.new_messages
        if entry.sources or entry.sentences or ledger.after[entry.position].is_summary
    )
    return {position: f"S{number}" for number, position in enumerate(positions, start=1)}


def written(selection: Selection) -> str:
    """The text of a selection: ``before:12``, ``after:4``, ``sentence:3.2``; empty for nothing."""
    match selection:
        case None:
            return ""
        case NewPlace(position=position):
            return f"after:{position}"
        case int():
            return f"before:{selection}"
        case (summary, number):
            return f"sentence:{summary}.{number}"


def read(text: str, ledger: Ledger) -> Selection:
    """The selection of a text; ``12``, ``S1`` and ``S1.2``, the names in the view, are understood, too.

    Raises:
        ViewError: It is none, or there is no such message or sentence; the message says what there is.
    """
    given = text.strip()
    if not given:
        return None
    places = {name: position for position, name in summary_names(ledger).items()}
    if found := _BEFORE.fullmatch(given):
        return _within(int(found[1]), len(ledger.before), "before")
    if found := _AFTER.fullmatch(given):
        return NewPlace(_within(int(found[1]), len(ledger.after), "after"))
    if (found := _SUMMARY.fullmatch(given)) and found[1] in places:
        position = places[found[1]]
        return (
            NewPlace(position) if found[2] is None else _sentence(ledger, position, int(found[2]), found[1])
        )
    if found := _SENTENCE.fullmatch(given):
        return _sentence(ledger, int(found[1]), int(found[2]), f"the message after:{found[1]}")
    raise ViewError(f"There is no {given[:40]!r} in this diff. It has {_what_there_is(ledger, places)}.")


def _within(position: int, length: int, side: Literal["before", "after"]) -> int:
    if position < length:
        return position
    there = f"It has {side}:0 to {side}:{length - 1}." if length else f"Nothing is {side}."
    raise ViewError(f"There is no message {side}:{position} in this diff. {there}")


def _sentence(ledger: Ledger, position: int, number: int, name: str) -> tuple[int, int]:
    sentences = sentences_of(ledger).get(position, ())
    if not 1 <= number <= len(sentences):
        there = f"1 to {len(sentences)}" if sentences else "none"
        raise ViewError(f"There is no sentence {number} in {name}. Its sentences: {there}.")
    return position, number


def _what_there_is(ledger: Ledger, names: Mapping[str, int]) -> str:
    sides = (("before", len(ledger.before)), ("after", len(ledger.after)))
    found = [f"{side}:0 to {side}:{length - 1}" for side, length in sides if length]
    found += [f"the summaries {', '.join(list(names)[:5])} with sentences such as S1.1"] if names else []
    return " and ".join(found) or "no message"


def sentences_of(ledger: Ledger) -> dict[int, tuple[Sentence, ...]]:
    """The sentences of each new message, by its position."""
    return {entry.position: entry.sentences for entry in ledger.new_messages}


# ------------------------------------------------------------------------------------------- what belongs to it


class Lit(Struct, frozen=True):
    """The rows that belong to a selection, by side, and the selection itself."""

    picked: Selection = None
    before: frozenset[int] = frozenset()
    after: frozenset[int] = frozenset()
    sentences: frozenset[tuple[int, int]] = frozenset()


def lit(ledger: Ledger, selection: Selection) -> Lit:
    """From a sentence or a summary to what it rests on, from a message to what rests on it and to its other side."""
    if selection is None:
        return Lit()
    places = {entry.position: entry.new_position for entry in ledger.fates}
    sources = _sources(ledger, selection)
    both = [place for place in map(places.get, sources) if place is not None]
    match selection:
        case int():
            return Lit(
                selection, frozenset(sources), frozenset(both), frozenset(_resting_on(ledger, selection))
            )
        case NewPlace(position=position):
            origin = origin_of(ledger, position)
            rests = frozenset() if origin is None else frozenset(_resting_on(ledger, origin))
            return Lit(selection, frozenset(sources), frozenset({*both, position}), rests)
        case (summary, number):
            return Lit(selection, frozenset(sources), frozenset(both), frozenset({(summary, number)}))


def origin_of(ledger: Ledger, position: int) -> int | None:
    """The original that stands at a position of the second history."""
    return next((entry.position for entry in ledger.fates if entry.new_position == position), None)


def _sources(ledger: Ledger, selection: Selection) -> tuple[int, ...]:
    """The originals that a selection is, was, or rests on, in order."""
    match selection:
        case int():
            return (selection,)
        case NewPlace(position=position):
            origin = origin_of(ledger, position)
            made = {entry.position: entry.sources for entry in ledger.new_messages}
            return made.get(position, ()) if origin is None else (origin,)
        case (summary, number):
            return sentences_of(ledger)[summary][number - 1].sources
        case None:
            return ()


def sources_of(ledger: Ledger, selection: Selection) -> tuple[int, ...]:
    """The originals that a message of the second history was, or that it or its sentence rests on."""
    return () if isinstance(selection, int) else _sources(ledger, selection)


def _resting_on(ledger: Ledger, position: int) -> list[tuple[int, int]]:
    return [
        (entry.position, number)
        for entry in ledger.new_messages
        for number, sentence in enumerate(entry.sentences, start=1)
        if position in sentence.sources
    ]


# ------------------------------------------------------------------------------------------- as an object


class SelectedMessage(Struct, frozen=True, kw_only=True):
    """What is selected: a message of one side with its fate, or a sentence of a summary.

    ``sentence`` is its text, empty for a message; ``message`` is then the summary. ``sources`` are the originals that
    the summary or the sentence rests on.
    """

    side: Literal["before", "after"]
    position: int
    message: Message
    fate: RowFate
    reason: str = ""
    sentence: str = ""
    sources: tuple[Message, ...] = ()


def selected_message(ledger: Ledger, selection: Selection) -> SelectedMessage | None:
    """The selection as an object, with the messages themselves."""
    match selection:
        case None:
            return None
        case int():
            entry = next((one for one in ledger.fates if one.position == selection), None)
            return SelectedMessage(
                side="before",
                position=selection,
                message=ledger.before[selection],
                fate=entry.fate if entry else "dropped",
                reason=entry.reason if entry else "",
            )
        case NewPlace(position=position) | (position, _):
            origin = next((one for one in ledger.fates if one.new_position == position), None)
            number = 0 if isinstance(selection, NewPlace) else selection[1]
            return SelectedMessage(
                side="after",
                position=position,
                message=ledger.after[position],
                fate=origin.fate if origin else "new",
                reason=origin.reason if origin else "",
                sentence=sentences_of(ledger)[position][number - 1].text if number else "",
                sources=()
                if origin
                else tuple(ledger.before[source] for source in sources_of(ledger, selection)),
            )
