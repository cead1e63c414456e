"""JSON that is no conversation, or one of a format that is not read, and what to do with it."""

from __future__ import annotations

from typing import Any, Final

from koogbook.errors import TranscriptError
from koogbook.transcripts.formats import FORMATS, TranscriptFormat
from koogbook.transcripts.transcript import preview

_READ: Final = (
    "koogbook reads chat messages with 'role' and 'content' (OpenAI, Anthropic, LangChain), OpenAI Responses items, "
    "ShareGPT turns, Claude Code logs, and exports of ChatGPT and claude.ai: one conversation, a list of them, or one "
    "or a message of it per line (JSONL)."
)
_TO_MESSAGES: Final = "Write it as a list of {'role': ..., 'content': ...}."


def known_not_read(value: Any) -> TranscriptError | None:
    """The error for a format that is known and not read, with the mark that it was known by; else None."""
    first = (
        next((item for item in value if isinstance(item, dict)), None) if isinstance(value, list) else value
    )
    found = _known(first) if isinstance(first, dict) else None
    if found is None:
        return None
    what, remedy = found
    return TranscriptError(f"This looks like {what}, which is not read. Nothing was loaded. {remedy}")


def _known(value: dict[str, Any]) -> tuple[str, str] | None:
    if "custom_id" in value:
        for name in ("body", "params"):
            if isinstance(value.get(name), dict):
                return "a request of a batch ('custom_id')", f"Load one: kb.as_transcript(line[{name!r}])."
        return (
            "an answer of a batch without its conversation ('custom_id')",
            "Load the messages of the request with the same custom_id, with the answer appended.",
        )
    if isinstance(value.get("payload"), dict) and "timestamp" in value and "type" in value:
        return (
            "a log of Codex ('type', 'payload')",
            "Load its items: kb.as_transcript([line['payload'] for line in lines if line['type'] == 'response_item']).",
        )
    if "cells" in value and "nbformat" in value:
        return (
            "a Jupyter notebook ('cells', 'nbformat')",
            "Load the file that the notebook got its messages from.",
        )
    if isinstance(value.get("choices"), list):
        return (
            "an answer of OpenAI's chat API without its conversation ('choices')",
            "Load the list of messages that was sent, with choices[0].message appended.",
        )
    if isinstance(value.get("contents"), list):
        return "a Gemini conversation ('contents')", _TO_MESSAGES
    if isinstance(value.get("chunkedPrompt"), dict):
        return "a Google AI Studio prompt ('chunkedPrompt')", _TO_MESSAGES
    if isinstance(value.get("parts"), list) and isinstance(value.get("role"), str):
        return "a Gemini conversation ('role', 'parts')", _TO_MESSAGES
    if isinstance(value.get("candidates"), list):
        return (
            "an answer of the Gemini API without its conversation ('candidates')",
            "Load the list of messages that was sent, with the answer appended.",
        )
    if "instruction" in value and "output" in value:
        return "Alpaca training data ('instruction', 'output')", _TO_MESSAGES
    if "prompt" in value and ("completion" in value or "response" in value or "chosen" in value):
        return "pairs of a prompt and its answer ('prompt')", _TO_MESSAGES
    return None


def unknown_shape(value: Any, where: str = "$", format: TranscriptFormat | None = None) -> TranscriptError:
    """The error for JSON that is no known conversation."""
    if isinstance(value, dict):
        what = f"an object with {', '.join(repr(preview(str(key))) for key in list(value)[:6]) or 'nothing in it'}"
    elif isinstance(value, list):
        what = f"a list of {len(value):,}, item 0 being {preview(value[0]) if value else 'missing'}"
    else:
        what = preview(value)
    place = "The JSON" if where == "$" else where
    if format is not None:
        return TranscriptError(
            f"{place} has no {format.title}: it is {what}. Nothing was loaded. Leave out format={format.name!r}, or "
            f"take another: {', '.join(FORMATS)}."
        )
    return TranscriptError(f"{place} is no conversation: {what}. Nothing was loaded. {_READ}")
