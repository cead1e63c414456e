"""The changed words of an edited message, in one line and at length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from koogbook.messages.message import Message
from koogbook.messages.word_diff import WordSpan, diff_words
from koogbook.notebook.views.message_preview import full_text

_PREVIEW = 90
#: Words are compared from a little before the first change on, over so many characters.
_LONGEST = 20_000
_LEAD = 200
_FIRST_WIDE = "\u2e80"


def changed_words(before: Message, after: Message, side: Literal["before", "after"]) -> tuple[WordSpan, ...]:
    """What one side shows of an edit: the words around its first change."""
    hidden = "added" if side == "before" else "removed"
    spans, cut = _compared(before, after)
    shown = [span for span in spans if span.kind != hidden]
    room = room_for("".join(span.text[:_PREVIEW] for span in shown[:3]), _PREVIEW)
    return around_changes(shown, room, cut=cut)


def room_for(text: str, most: int) -> int:
    """How many characters of a text take the room of ``most`` narrow ones; a wide one takes that of two."""
    return most - sum(sign >= _FIRST_WIDE for sign in text[:most]) // 2


def both_sides(before: Message, after: Message, most: int) -> tuple[WordSpan, ...]:
    """Both sides of an edit as one text of about ``most`` characters, what is left out of it as dots."""
    spans, cut = _compared(before, after)
    found = [WordSpan("same", "\u2026 ")] if cut else []
    room = most
    for span in spans:
        if room <= 0:
            return (*found, WordSpan("same", " \u2026"))
        found.append(WordSpan(span.kind, span.text[:room]))
        room -= len(span.text)
    return tuple(found)


def _compared(before: Message, after: Message) -> tuple[tuple[WordSpan, ...], bool]:
    """The difference around the first change, and whether text before it was left out."""
    old, new = full_text(before), full_text(after)
    start = max(_first_difference(old, new) - _LEAD, 0)
    if start:
        # Words begin after a blank; a text without one begins in the middle of a word.
        start += old[start : start + _LEAD].find(" ") + 1
    end = start + _LONGEST
    return diff_words(old[start:end], new[start:end]), start > 0


def _first_difference(one: str, other: str) -> int:
    """How many characters two texts begin with in common, by halves: texts may have millions of characters."""
    same, wrong = 0, min(len(one), len(other)) + 1
    while wrong - same > 1:
        middle = (same + wrong) // 2
        if one[same:middle] == other[same:middle]:
            same = middle
        else:
            wrong = middle
    return same


def around_changes(
    spans: Sequence[WordSpan], room: int = _PREVIEW, *, cut: bool = False
) -> tuple[WordSpan, ...]:
    """The first changed words with some text on both sides, in one line; what is left out shows as dots.

    ``cut`` says that there is more before the spans.
    """
    first = next((index for index, span in enumerate(spans) if span.kind != "same"), 0)
    found: list[WordSpan] = []
    used = 0
    if first and spans[first - 1].text:
        lead = " ".join(spans[first - 1].text.split(" ")).replace("\n", " ")
        short = lead[-room // 2 :]
        cut = cut or len(short) < len(lead) or first > 1
        found.append(WordSpan("same", "\u2026 " + short.partition(" ")[2] if cut else short))
        used = len(found[0].text)
    for span in spans[first:]:
        text = span.text.replace("\n", " ")[: max(room - used, 0)]
        if text:
            found.append(WordSpan(span.kind, text))
        used += len(span.text)
        if used > room:
            found.append(WordSpan("same", " \u2026"))
            break
    return tuple(found)


def merged_spans(removed: Sequence[WordSpan], added: Sequence[WordSpan]) -> list[WordSpan]:
    """Both sides of an edit as one: what is the same once, what went before what came."""
    merged: list[WordSpan] = []
    came = iter([span for span in added if span.kind == "added"])
    went_last = False
    for span in removed:
        if went_last and span.kind == "same" and (new := next(came, None)) is not None:
            merged.append(new)
        merged.append(span)
        went_last = span.kind == "removed"
    return [*merged, *came]
