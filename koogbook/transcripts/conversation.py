"""One conversation of a file, found but not read yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

#: Names under which files keep the messages of a conversation.
LIST_NAMES = ("messages", "traj", "conversation", "conversations")


class Conversation(Struct, frozen=True):
    """The JSON values of one conversation, still unread.

    ``where`` is the place of their list; where they stand on lines of their own, ``lines`` has the numbers.
    ``format`` is one of the names in :mod:`koogbook.transcripts.formats`. ``extra_json`` is what the file says of the
    conversation besides its messages. ``branch`` is the line of a tree that was asked for, as its number among the
    ``other_branch`` defects from 1 or as the id of an entry on it; None is the main line.
    """

    entries: Sequence[Any]
    where: str
    extra_json: str = "{}"
    lines: tuple[int, ...] = ()
    format: str = "openai-chat"
    branch: str | None = None
