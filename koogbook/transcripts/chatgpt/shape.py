"""What is a conversation of a ChatGPT export."""

from __future__ import annotations

import json
from typing import Any

from koogbook.transcripts.conversation import Conversation


def find_chatgpt(value: Any, where: str) -> Conversation | None:
    """An object with ``mapping``, whose entries become pairs of id and node; or messages of such without their tree."""
    if isinstance(value, dict) and isinstance(value.get("mapping"), dict):
        extra = {key: entry for key, entry in value.items() if key != "mapping"}
        nodes = tuple(value["mapping"].items())
        return Conversation(nodes, f"{where}.mapping", json.dumps(extra, ensure_ascii=False))
    if is_chatgpt_message(value):
        return Conversation([value], where)
    if isinstance(value, list) and value:
        known = sum(map(is_chatgpt_message, value))
        return Conversation(value, where) if known * 2 >= len(value) else None
    return None


def is_chatgpt_message(value: Any) -> bool:
    """Whether a value is one message out of such a tree."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("author"), dict)
        and isinstance(value["author"].get("role"), str)
        and "content" in value
    )
