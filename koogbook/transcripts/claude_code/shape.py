"""How lines of a Claude Code log are known."""

from __future__ import annotations

from typing import Any, Final

from koogbook.transcripts.conversation import Conversation

#: Lines that are no part of the tree: each with the field by which it is known.
_OUTSIDE: Final = {
    "ai-title": "type",
    "custom-title": "type",
    "file-history-snapshot": "snapshot",
    "queue-operation": "operation",
    "summary": "leafUuid",
}


def find(value: Any, where: str) -> Conversation | None:
    """The log that a value is: a list of its lines, or one line with a message."""
    if isinstance(value, list):
        lines = sum(map(is_entry, value))
        if lines * 2 < len(value) or not any(map(_is_node, value)):
            return None
        return Conversation(value, where, format="claude-code")
    if is_entry(value) and isinstance(value.get("message"), dict):
        return Conversation([value], where, format="claude-code")
    return None


def is_entry(value: Any) -> bool:
    """Whether a value is a line of a log: a node of its tree, or one of the lines that stand outside of it."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str) or "role" in value:
        return False
    return _is_node(value) or "sessionId" in value or _OUTSIDE.get(value["type"]) in value


def _is_node(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("uuid"), str) and "parentUuid" in value
