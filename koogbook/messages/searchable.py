"""What a message says, as one text to look for something in."""

from __future__ import annotations

from koogbook.messages.message import Message


def searchable_text(message: Message) -> str:
    """What is looked through in a message: text, tool results, and names and arguments of calls."""
    if not message.calls:
        return message.text
    return "\n".join((message.text, *(f"{call.tool} {call.args}" for call in message.calls)))
