"""How providers say that a request is longer than the model's context."""

from __future__ import annotations

import re

_SAID = re.compile(
    r"context_length_exceeded|maximum context length"
    r"|exceeds? (?:the |its )?(?:maximum )?context (?:window|length|limit)"
    r"|exceeds? the available context size|exceed_context_size|prompt is too long"
    r"|input token count.{0,40}exceeds the maximum|input is too long|too long for (?:the )?(?:requested )?model"
    r"|exceed context limit|reduce the length of (?:the|your) (?:messages|prompt|input)"
    r"|too large for model with \d+ maximum context|model_max_prompt_tokens_exceeded"
    r"|loaded with context length of only|context the overflows|context window (?:is )?exceeded"
    r"|requested tokens.{0,40}exceed context window"
    r"|is longer than the (?:model's|maximum) (?:context|model) length"
    r"|tokens_limit_reached|request body too large for [\w./-]+ model"
    r"|`?inputs`? tokens \+ `?max_new_tokens`? must be <=",
    re.IGNORECASE,
)

_NUMBER = r"(\d[\d,_.]*\d|\d)"
_LIMITS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"maximum context length (?:is|of) {_NUMBER}",
        rf"too large for model with {_NUMBER} maximum context",
        rf"> {_NUMBER}(?: maximum|\b)",
        rf"maximum number of tokens allowed \({_NUMBER}\)",
        rf"available context size \({_NUMBER}",
        rf"context length of only {_NUMBER}",
        rf"model's context length \({_NUMBER}",
        rf"maximum model length of {_NUMBER}",
        rf"max size: {_NUMBER} tokens",
        rf"max_new_tokens`? must be <= {_NUMBER}",
        rf"context (?:window|length|limit) (?:is|of) {_NUMBER}",
        rf"['\"]?n_ctx['\"]?: ?{_NUMBER}",
    )
)


def says_overflow(text: str) -> bool:
    """Whether a provider's words mean that the request does not fit into the model's context."""
    return _SAID.search(text) is not None


def limit_in(text: str) -> int | None:
    """The size of the context in tokens, where the words have it."""
    for pattern in _LIMITS:
        found = pattern.search(text)
        if found:
            return int(re.sub(r"[,_.]", "", found.group(1)))
    return None
