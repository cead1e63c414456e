"""Answers that are not whole though they came to an end: cut by a limit of tokens, or by a filter."""

from __future__ import annotations

import json
from typing import Final

from koogbook.llm.request import Request
from koogbook.messages.message import Message

#: The words of providers for it, beside the common one, which comes first.
_LIMIT: Final = frozenset(
    ("length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded")
)
_FILTER: Final = frozenset(
    (
        "content_filter",
        "content_filtered",
        "guardrail_intervened",
        "safety",
        "recitation",
        "blocklist",
        "prohibited_content",
        "spii",
        "refusal",
    )
)


def is_cut_by_limit(reply: Message) -> bool:
    """Whether the answer ends where no more tokens were allowed."""
    return _reason(reply) in _LIMIT


def is_cut_by_filter(reply: Message) -> bool:
    """Whether a filter of the provider ended the answer, or the model would not go on."""
    return _reason(reply) in _FILTER


def cut_in_words(request: Request, reply: Message) -> str:
    """What is missing from an answer, why, and what to do; empty for one that is whole."""
    ended = f"finish_reason {reply.finish_reason!r}"
    if is_cut_by_filter(reply):
        return (
            f"the answer was ended by a filter ({ended}) and may not be whole{_half_calls(reply)}. Change what is "
            "asked; the same request will be stopped again."
        )
    if not is_cut_by_limit(reply):
        return ""
    most = request.params.max_tokens
    allow = "max_tokens=..." if most is None else "max_tokens=None"
    limit = "" if most is None else f", max_tokens={most}"
    return (
        f"the answer was cut by the limit of tokens ({ended}{limit}) and is not whole{_half_calls(reply)}. Allow more, "
        f"session.change_params({allow}), or ask for less."
    )


def is_whole_json(text: str) -> bool:
    """Whether a text is a JSON value to its end."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _half_calls(reply: Message) -> str:
    half = [call.tool for call in reply.calls if call.args.strip() and not is_whole_json(call.args)]
    return f", nor are the arguments of its call of {', '.join(half)}" if half else ""


def _reason(reply: Message) -> str:
    return (reply.finish_reason or "").lower()
