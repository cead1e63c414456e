"""What is a conversation of a claude.ai export."""

from __future__ import annotations

import json
from typing import Any, Final

from koogbook.transcripts.conversation import Conversation

SENDERS: Final = {"human": "user", "user": "user", "assistant": "assistant"}


def find_claude_export(value: Any, where: str) -> Conversation | None:
    """An object with ``chat_messages``, a list of such messages, or one alone; else None."""
    if isinstance(value, dict) and isinstance(value.get("chat_messages"), list):
        extra = {key: entry for key, entry in value.items() if key != "chat_messages"}
        place = f"{where}.chat_messages"
        return Conversation(value["chat_messages"], place, json.dumps(extra, ensure_ascii=False))
    if isinstance(value, list) and value and sum(map(is_claude_message, value)) * 2 >= len(value):
        return Conversation(value, where)
    return Conversation([value], where) if is_claude_message(value) else None


def is_claude_message(value: Any) -> bool:
    """Whether a value is one message of such an export."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("sender"), str)
        and value["sender"] in SENDERS
        and ("text" in value or "content" in value)
    )
