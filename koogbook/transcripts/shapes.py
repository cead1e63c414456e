"""What a JSON value holds: conversations of the OpenAI kind, or which other format."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from koogbook.errors import TranscriptError
from koogbook.transcripts.transcript import preview

#: Names under which files keep the messages of a conversation.
LIST_NAMES = ("messages", "traj", "conversation", "conversations")
_LANGCHAIN_TYPES = {"human", "ai", "system", "tool", "function", "chat"}
_ANTHROPIC_BLOCKS = {"tool_use", "tool_result", "thinking", "redacted_thinking"}
_RESPONSE_ITEMS = {"function_call", "function_call_output", "reasoning"}


class Conversation(Struct, frozen=True):
    """The JSON values of one conversation, still unread.

    ``where`` is the place of their list; where they stand on lines of their own, ``lines`` has the numbers.
    ``format`` is one of the names in :mod:`koogbook.transcripts.formats`. ``extra_json`` is what the file says of the
    conversation besides its messages.
    """

    entries: Sequence[Any]
    where: str
    extra_json: str = "{}"
    lines: tuple[int, ...] = ()
    format: str = "openai-chat"


def conversations(value: Any, where: str = "$") -> Iterator[Conversation]:
    """The conversations in a JSON document: a list of messages, an object around one, or a list of these.

    Raises:
        TranscriptError: It is another format, or none that is known; the message says which.
    """
    one = conversation(value, where)
    if one is not None:
        yield one
        return
    inner = value
    if isinstance(value, dict):
        inner, where = next(
            ((value[name], f"{where}.{name}") for name in LIST_NAMES if isinstance(value.get(name), list)),
            (None, where),
        )
    if isinstance(inner, list):
        if not inner:
            raise TranscriptError(f"{where} is an empty list: there are no messages inside.")
        found = [conversation(item, f"{where}[{index}]") for index, item in enumerate(inner)]
        kept = [item for item in found if item is not None]
        if kept:
            if len(kept) != len(found):
                index = found.index(None)
                raise TranscriptError(
                    f"{where}[{index}] is no conversation among {len(found)}: {preview(inner[index])}. "
                    "Take it out, or write one conversation per line (JSONL): there the others load."
                )
            yield from kept
            return
    raise unknown_shape(value)


def conversation(value: Any, where: str) -> Conversation | None:
    """The one conversation that a value is, or None.

    Raises:
        TranscriptError: It is a conversation of another format.
    """
    foreign = foreign_format(value)
    if foreign is not None:
        raise TranscriptError(_not_this(foreign))
    if isinstance(value, list):
        return Conversation(value, where) if is_message_list(value) else None
    if isinstance(value, dict):
        if isinstance(value.get("role"), str):
            return Conversation([value], where)
        for name in LIST_NAMES:
            inner = value.get(name)
            if isinstance(inner, list) and (not inner or is_message_list(inner)):
                extra = {key: entry for key, entry in value.items() if key != name}
                return Conversation(inner, f"{where}.{name}", json.dumps(extra, ensure_ascii=False))
    return None


def is_message_list(value: list[Any]) -> bool:
    """Whether at least half of a list has roles."""
    with_role = sum(isinstance(item, dict) and isinstance(item.get("role"), str) for item in value)
    return 0 < len(value) <= with_role * 2


def unknown_shape(value: Any) -> TranscriptError:
    """The error for JSON that is no known conversation."""
    if isinstance(value, dict):
        what = f"an object with {', '.join(map(repr, list(value)[:6])) or 'nothing in it'}"
    elif isinstance(value, list):
        what = f"a list of {len(value)}, the first being {preview(value[0]) if value else 'missing'}"
    else:
        what = preview(value)
    return TranscriptError(
        f"The JSON is no conversation: {what}. koogbook reads a list of messages with 'role' and 'content', "
        "an object with such a list under 'messages', or a list of these."
    )


def foreign_format(value: Any) -> str | None:
    """The name of a known format other than OpenAI chat, with the mark it was known by."""
    if isinstance(value, dict):
        return _foreign_object(value)
    if isinstance(value, list) and value:
        if isinstance(value[0], dict) and ("mapping" in value[0] or "chat_messages" in value[0]):
            return _foreign_object(value[0])
        return _foreign_list(value)
    return None


def _foreign_object(value: dict[str, Any]) -> str | None:
    if isinstance(value.get("mapping"), dict):
        return "a ChatGPT export ('mapping')"
    if "chat_messages" in value:
        return "a Claude export ('chat_messages')"
    if "cells" in value and "nbformat" in value:
        return "a Jupyter notebook ('cells', 'nbformat')"
    if isinstance(value.get("choices"), list):
        return "an OpenAI answer without its conversation ('choices')"
    if isinstance(value.get("contents"), list):
        return "a Gemini conversation ('contents')"
    if "instruction" in value and "output" in value:
        return "Alpaca training data ('instruction', 'output')"
    if (
        isinstance(value.get("input"), list)
        and "role" not in value
        and not isinstance(value.get("messages"), list)
    ):
        return _foreign_list(value["input"]) or "an OpenAI Responses request ('input')"
    if "role" not in value and isinstance(value.get("output"), list) and value.get("object") == "response":
        return "an OpenAI Responses answer ('output')"
    for name in LIST_NAMES:
        if isinstance(value.get(name), list):
            return _foreign_list(value[name])
    return _foreign_list([value])


def _foreign_list(items: list[Any]) -> str | None:
    for item in items:
        if not isinstance(item, dict):
            continue
        kind = item.get("type")
        if "from" in item and "value" in item:
            return "ShareGPT ('from', 'value')"
        if "lc" in item and isinstance(item.get("kwargs"), dict):
            return "LangChain messages ('lc', 'kwargs')"
        if "role" not in item:
            if kind in _LANGCHAIN_TYPES and ("data" in item or "content" in item):
                return f"LangChain messages ('type': {kind!r})"
            if kind in _RESPONSE_ITEMS:
                return f"OpenAI Responses items ('type': {kind!r})"
        elif isinstance(item.get("parts"), list) and "content" not in item:
            return "a Gemini conversation ('parts')"
        content = item.get("content")
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and block.get("type") in _ANTHROPIC_BLOCKS:
                return f"Anthropic messages (content block {block['type']!r})"
            if isinstance(block, dict) and block.get("type") in ("input_text", "output_text"):
                return f"OpenAI Responses items (content block {block['type']!r})"
    return None


def _not_this(foreign: str) -> str:
    return (
        f"This looks like {foreign}, which is not read. Convert it to OpenAI chat messages: "
        "a list of {'role': ..., 'content': ...}."
    )
