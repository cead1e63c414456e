"""The changed words of an edited message, in one line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from koogbook.messages.message import Message
from koogbook.messages.word_diff import WordSpan, diff_words
from koogbook.notebook.views.message_preview import full_text

_PREVIEW = 90
_LONGEST = 20_000


def changed_words(before: Message, after: Message, side: Literal["before", "after"]) -> tuple[WordSpan, ...]:
    """What one side shows of an edit: the words around its first change."""
    hidden = "added" if side == "before" else "removed"
    spans = diff_words(full_text(before)[:_LONGEST], full_text(after)[:_LONGEST])
    return around_changes([span for span in spans if span.kind != hidden])


def around_changes(spans: Sequence[WordSpan], room: int = _PREVIEW) -> tuple[WordSpan, ...]:
    """The first changed words with some text on both sides, in one line; what is left out shows as dots."""
    first = next((index for index, span in enumerate(spans) if span.kind != "same"), 0)
    found: list[WordSpan] = []
    used = 0
    if first and spans[first - 1].text:
        lead = " ".join(spans[first - 1].text.split(" ")).replace("\n", " ")
        short = lead[-room // 2 :]
        cut = len(short) < len(lead) or first > 1
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
