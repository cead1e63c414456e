"""All about what is selected in a prompt diff: the message in full, its fate, and where it leads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from koogbook.compression.fact_check import FactFinding
from koogbook.messages.ledger import Ledger, MessageFate
from koogbook.messages.message import Message
from koogbook.messages.word_diff import WordSpan
from koogbook.notebook.views.diff_view.model import Detail, Link, Links, NewPlace, Selection
from koogbook.notebook.views.diff_view.selection import (
    lit,
    sentences_of,
    sources_of,
    summary_names,
    written,
)
from koogbook.notebook.views.diff_view.spans import both_sides
from koogbook.notebook.views.message_preview import full_text, role_mark

#: A message in full is cut here, so that a saved cell stays small.
LONGEST_TEXT = 4_000
_MOST_LINKS = 12


def detail(ledger: Ledger, facts: Sequence[FactFinding], selection: Selection) -> Detail | None:
    """All about a selection; None where nothing is selected."""
    match selection:
        case None:
            return None
        case int():
            entry = next((one for one in ledger.fates if one.position == selection), None)
            lost = tuple(one.fact for one in facts if one.found == "lost" and selection in one.before)
            return _original(ledger, selection, entry, lost)
        case NewPlace(position=position):
            entry = next((one for one in ledger.fates if one.new_position == position), None)
            return _of_after(ledger, position, entry)
        case (summary, number):
            return _sentence(ledger, summary, number)


def _original(ledger: Ledger, position: int, entry: MessageFate | None, lost: tuple[str, ...]) -> Detail:
    message = ledger.before[position]
    names = summary_names(ledger)
    into = [names[place] for place in entry.summaries if place in names] if entry else []
    text, left_out = beginning(message)
    return Detail(
        value=written(position),
        title=f"Message {position} before",
        role=role_mark(message),
        fate=entry.fate if entry else "dropped",
        word=f"into {' '.join(into)}" if into else entry.fate if entry else "dropped",
        reason=entry.reason if entry else "the ledger has no fate for it",
        tokens=message.tokens,
        text=text,
        left_out=left_out,
        spans=_words(ledger, entry),
        links=tuple(_from_original(ledger, position, entry)),
        lost=lost,
    )


def _from_original(ledger: Ledger, position: int, entry: MessageFate | None) -> Iterator[Links]:
    names = summary_names(ledger)
    if entry is not None and entry.new_position is not None:
        yield Links(
            "after it is message", (Link(str(entry.new_position), written(NewPlace(entry.new_position))),)
        )
    sentences = sorted(lit(ledger, position).sentences)
    if sentences:
        named = [
            Link(f"{names.get(place, 'new')}.{number}", written((place, number)))
            for place, number in sentences
        ]
        yield _links("sentences that rest on it", named)
    elif entry is not None and entry.summaries:
        found = [
            Link(names.get(place, f"after {place}"), written(NewPlace(place))) for place in entry.summaries
        ]
        yield _links("no sentence rests on it; it went into", found)


def _of_after(ledger: Ledger, position: int, entry: MessageFate | None) -> Detail:
    message = ledger.after[position]
    name = summary_names(ledger).get(position)
    sources = sources_of(ledger, NewPlace(position))
    text, left_out = beginning(message)
    return Detail(
        value=written(NewPlace(position)),
        title=f"Message {position} after" if name is None else f"{name}, message {position} after",
        role=role_mark(message),
        fate=entry.fate if entry else "new",
        word=entry.fate if entry else "new",
        reason=entry.reason if entry else "",
        tokens=message.tokens,
        text=text,
        left_out=left_out,
        spans=_words(ledger, entry),
        links=(_links("made of message" if entry is None else "before it was message", _originals(sources)),)
        if sources
        else (),
        has_sources=bool(sources),
    )


def _sentence(ledger: Ledger, summary: int, number: int) -> Detail:
    name = summary_names(ledger).get(summary, f"message {summary} after")
    sentence = sentences_of(ledger)[summary][number - 1]
    rests = "stands word for word in message" if sentence.verbatim else "rests on message"
    links = [Links("in", (Link(name, written(NewPlace(summary))),))]
    if sentence.sources:
        links.insert(0, _links(rests, _originals(sentence.sources)))
    return Detail(
        value=written((summary, number)),
        title=f"{name}, sentence {number}",
        role=role_mark(ledger.after[summary]),
        fate="new",
        word="new",
        reason="" if sentence.sources else "no source found: it may be made up",
        tokens=None,
        text=sentence.text[:LONGEST_TEXT],
        left_out=max(len(sentence.text) - LONGEST_TEXT, 0),
        links=tuple(links),
        has_sources=bool(sentence.sources),
    )


def _originals(positions: Iterable[int]) -> list[Link]:
    return [Link(str(position), written(position)) for position in positions]


def _links(about: str, links: Sequence[Link]) -> Links:
    return Links(about, tuple(links[:_MOST_LINKS]), max(len(links) - _MOST_LINKS, 0))


def _words(ledger: Ledger, entry: MessageFate | None) -> tuple[WordSpan, ...]:
    if entry is None or entry.fate != "edited" or entry.new_position is None:
        return ()
    return both_sides(ledger.before[entry.position], ledger.after[entry.new_position], LONGEST_TEXT)


def beginning(message: Message, most: int = LONGEST_TEXT) -> tuple[str, int]:
    """The first characters of a message with all its parts, and how many were left out."""
    whole = full_text(message)
    return whole[:most], max(len(whole) - most, 0)
