"""What is a conversation of OpenAI chat messages."""

from __future__ import annotations

import json
from typing import Any, Final

from koogbook.transcripts.conversation import LIST_NAMES, Conversation

#: Types of content blocks that stand in messages with a role, and belong to other formats.
_OTHERS_BLOCKS: Final = frozenset(
    {"tool_use", "tool_result", "thinking", "redacted_thinking", "input_text", "output_text"}
)

#: The key of ``extra`` with the name of the list of messages, where that is not ``messages``.
LIST_KEY: Final = "openai_list"

_OWN_ROLES: Final = ("tool", "function")
_OWN_FIELDS: Final = ("tool_calls", "tool_call_id", "function_call")
_OWN_PARTS: Final = frozenset({"input_audio"})


def find_openai_chat(value: Any, where: str) -> Conversation | None:
    """A list of messages, an object with such a list, or one message alone; else None."""
    if isinstance(value, list):
        return Conversation(value, where) if _is_message_list(value) else None
    if is_openai_message(value):
        return Conversation([value], where)
    if isinstance(value, dict):
        for name in LIST_NAMES:
            inner = value.get(name)
            if isinstance(inner, list) and (not inner or _is_message_list(inner)):
                extra = {key: entry for key, entry in value.items() if key != name}
                if name != "messages":
                    extra.setdefault(LIST_KEY, name)
                return Conversation(inner, f"{where}.{name}", json.dumps(extra, ensure_ascii=False))
    return None


def is_openai_message(value: Any) -> bool:
    """Whether a value has a role, and nothing that only other formats have."""
    if not isinstance(value, dict) or not isinstance(value.get("role"), str):
        return False
    content = value.get("content")
    if isinstance(content, list):
        return not any(isinstance(block, dict) and _is_of_others(block) for block in content)
    return content is not None or not isinstance(value.get("parts"), list)  # of Gemini


def has_openai_mark(value: dict[str, Any]) -> bool:
    """Whether a message has a role, a field or a content part that no other format has."""
    if value["role"] in _OWN_ROLES or any(value.get(name) is not None for name in _OWN_FIELDS):
        return True
    content = value.get("content")
    return isinstance(content, list) and any(
        isinstance(part, dict) and isinstance(part.get("type"), str) and part["type"] in _OWN_PARTS
        for part in content
    )


def _is_of_others(block: dict[Any, Any]) -> bool:
    kind = block.get("type")
    return isinstance(kind, str) and kind in _OTHERS_BLOCKS


def _is_message_list(value: list[Any]) -> bool:
    """Whether at least half of a list are messages."""
    return 0 < len(value) <= sum(map(is_openai_message, value)) * 2
