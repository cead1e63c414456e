"""How Anthropic messages are known, and found in a JSON value."""

from __future__ import annotations

import json
from typing import Any, Final

from msgspec import Struct

from koogbook.transcripts.conversation import LIST_NAMES, Conversation

#: Kinds of content blocks that no other API has.
OWN_BLOCKS: Final = frozenset(
    {
        "bash_code_execution_tool_result",
        "code_execution_tool_result",
        "container_upload",
        "mcp_tool_result",
        "mcp_tool_use",
        "redacted_thinking",
        "search_result",
        "server_tool_use",
        "text_editor_code_execution_tool_result",
        "thinking",
        "tool_reference",
        "tool_result",
        "tool_search_tool_result",
        "tool_use",
        "web_fetch_tool_result",
        "web_search_tool_result",
    }
)
_ROLES: Final = frozenset({"user", "assistant", "system"})
_OPENAI_FIELDS: Final = ("tool_calls", "tool_call_id", "function_call")


class SystemField(Struct, frozen=True):
    """The system prompt of an object with ``messages``: the first entry of its conversation."""

    content: Any
    where: str


def find(value: Any, where: str) -> Conversation | None:
    """The conversation that a value is: marked messages, an object around such, or one answer of the API."""
    if isinstance(value, list):
        return Conversation(value, where, format="anthropic") if _is_marked_list(value) else None
    if not isinstance(value, dict):
        return None
    if is_entry(value):
        return Conversation([value], where, format="anthropic")
    for name in LIST_NAMES:
        entries = value.get(name)
        if isinstance(entries, list) and (_is_marked_list(entries) or _has_system(value, entries)):
            return _around(value, name, entries, where)
    return None


def is_entry(value: Any) -> bool:
    """Whether a value is one message with a mark of this API: a block of its own, or a field of its answers."""
    if not isinstance(value, dict) or value.get("role") not in ("user", "assistant"):
        return False
    return _is_marked(value) and not _is_openai(value)


def _around(value: dict[str, Any], name: str, entries: list[Any], where: str) -> Conversation:
    extra = {key: inner for key, inner in value.items() if key != name}
    system = extra.pop("system", None)
    if isinstance(system, str | list):
        entries = [SystemField(system, f"{where}.system"), *entries]
    elif "system" in value:
        extra["system"] = system
    return Conversation(entries, f"{where}.{name}", json.dumps(extra, ensure_ascii=False), format="anthropic")


def _has_system(value: dict[str, Any], entries: list[Any]) -> bool:
    """Whether a system prompt stands beside messages of these roles only."""
    return isinstance(value.get("system"), str | list) and all(
        isinstance(entry, dict) and _is_role(entry.get("role")) and not _is_openai(entry) for entry in entries
    )


def _is_marked_list(entries: list[Any]) -> bool:
    found = [entry for entry in entries if isinstance(entry, dict)]
    with_role = sum(_is_role(entry.get("role")) for entry in found)
    return (
        0 < len(entries) <= with_role * 2 and any(map(_is_marked, found)) and not any(map(_is_openai, found))
    )


def _is_role(role: Any) -> bool:
    return isinstance(role, str) and role in _ROLES


def _is_marked(entry: dict[str, Any]) -> bool:
    usage = entry.get("usage")
    if "stop_reason" in entry or (isinstance(usage, dict) and "input_tokens" in usage):
        return True
    content = entry.get("content")
    return any(map(_is_own_block, content)) if isinstance(content, list) else False


def _is_own_block(block: Any) -> bool:
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        return False
    if block["type"] in ("image", "document"):
        return isinstance(block.get("source"), dict)
    return block["type"] in OWN_BLOCKS


def _is_openai(entry: dict[str, Any]) -> bool:
    role = entry.get("role")
    return role in ("tool", "function", "developer") or any(name in entry for name in _OPENAI_FIELDS)
