"""How items of the OpenAI Responses API are known, and found in a JSON value."""

from __future__ import annotations

import json
from typing import Any, Final

from msgspec import Struct

from koogbook.transcripts.conversation import Conversation

#: Items that the client sends, as results of what the model asked for; all other known ones are the model's.
CLIENT_ITEMS: Final = frozenset(
    {
        "apply_patch_call_output",
        "computer_call_output",
        "custom_tool_call_output",
        "function_call_output",
        "local_shell_call_output",
        "mcp_approval_response",
        "shell_call_output",
    }
)
MODEL_ITEMS: Final = frozenset(
    {
        "apply_patch_call",
        "code_interpreter_call",
        "compaction",
        "computer_call",
        "custom_tool_call",
        "file_search_call",
        "function_call",
        "image_generation_call",
        "item_reference",
        "local_shell_call",
        "mcp_approval_request",
        "mcp_call",
        "mcp_list_tools",
        "reasoning",
        "shell_call",
        "tool_search_call",
        "web_search_call",
    }
)
_OWN_ITEMS: Final = CLIENT_ITEMS | MODEL_ITEMS
_OWN_BLOCKS: Final = frozenset({"input_text", "output_text", "input_image", "input_file"})
#: What a request may have beside a text as ``input``.
_REQUEST_FIELDS: Final = ("model", "instructions", "previous_response_id", "conversation")


class InstructionsField(Struct, frozen=True):
    """The ``instructions`` of a request or an answer: the first entry of its conversation."""

    text: str
    where: str


class InputText(Struct, frozen=True):
    """An ``input`` that is a text instead of a list of items."""

    text: str


def find(value: Any, where: str) -> Conversation | None:
    """The conversation that a value is: items, a request with ``input``, an answer with ``output``, or one item."""
    if isinstance(value, list):
        return Conversation(value, where, format="openai-responses") if _is_marked_list(value) else None
    if not isinstance(value, dict):
        return None
    if is_entry(value):
        return Conversation([value], where, format="openai-responses")
    if "role" in value or isinstance(value.get("messages"), list):
        return None
    if value.get("object") == "response" and isinstance(value.get("output"), list):
        return _around(value, "output", value["output"], where)
    given = value.get("input")
    asked = any(name in value for name in _REQUEST_FIELDS)
    if isinstance(given, list) and (_is_marked_list(given) or (asked and _has_items(given))):
        return _around(value, "input", given, where)
    if isinstance(given, str) and asked and "output" not in value:
        return _around(value, "input", [InputText(given)], where)
    return None


def is_entry(value: Any) -> bool:
    """Whether a value is an item, or a message with a status or a block, that no other API has."""
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    if "role" not in value:
        return isinstance(kind, str) and kind in _OWN_ITEMS and "data" not in value
    if kind == "message" and isinstance(value.get("status"), str):
        return True
    content = value.get("content")
    return isinstance(content, list) and any(map(_is_own_block, content))


def _around(value: dict[str, Any], name: str, entries: list[Any], where: str) -> Conversation:
    extra = {key: inner for key, inner in value.items() if key != name}
    if isinstance(extra.get("instructions"), str):
        entries = [InstructionsField(extra.pop("instructions"), f"{where}.instructions"), *entries]
    return Conversation(
        entries, f"{where}.{name}", json.dumps(extra, ensure_ascii=False), format="openai-responses"
    )


def _is_marked_list(entries: list[Any]) -> bool:
    return _has_items(entries) and any(map(is_entry, entries))


def _has_items(entries: list[Any]) -> bool:
    """Whether at least half of a list are items or messages."""
    return len(entries) <= sum(map(_is_item, entries)) * 2


def _is_item(value: Any) -> bool:
    return is_entry(value) or (isinstance(value, dict) and isinstance(value.get("role"), str))


def _is_own_block(block: Any) -> bool:
    return isinstance(block, dict) and isinstance(block.get("type"), str) and block["type"] in _OWN_BLOCKS
