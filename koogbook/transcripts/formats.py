"""The formats of conversations: how each is known, read and written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from koogbook.messages.message import Message
from koogbook.transcripts.shapes import Conversation
from koogbook.transcripts.transcript import Defect


class Loss(Struct, frozen=True):
    """Something of a message that a format has no place for; ``position`` is the index of the message."""

    position: int
    text: str

    def __str__(self) -> str:
        return f"message {self.position}: {self.text}"


class Written(Struct, frozen=True):
    """A conversation as a JSON value, and what of it is not in there."""

    value: Any
    losses: tuple[Loss, ...] = ()


class TranscriptFormat(Struct, frozen=True, kw_only=True):
    """One format.

    Args:
        name: As in ``Transcript.format``: ``anthropic``.
        title: For a person: ``Anthropic messages``.
        find: The one conversation that a JSON value is (with the place of the value), or None.
        is_entry: Whether a JSON value is one message of this format, as it stands on a line of JSONL.
        read: Messages and defects of a conversation.
        write: A history, and what the file that it came from said besides it, as one JSON value; None where the format
            is only read.
    """

    name: str
    title: str
    find: Callable[[Any, str], Conversation | None]
    is_entry: Callable[[Any], bool]
    read: Callable[[Conversation], tuple[tuple[Message, ...], tuple[Defect, ...]]]
    write: Callable[[tuple[Message, ...], Mapping[str, Any]], Written] | None = None
