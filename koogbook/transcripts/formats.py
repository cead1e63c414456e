"""The formats of conversations: how each is known, read and written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import Any, Final

from msgspec import Struct

from koogbook.errors import TranscriptError
from koogbook.messages.message import Message
from koogbook.transcripts.conversation import Conversation
from koogbook.transcripts.transcript import Defect


class Loss(Struct, frozen=True):
    """Something that a format has no place for; ``position`` is the index of the message, -1 for what is of none."""

    position: int
    text: str

    def __str__(self) -> str:
        return self.text if self.position < 0 else f"message {self.position}: {self.text}"


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


#: In the order in which they are asked whether a value is theirs, the most particular first: a plain list of roles and
#: texts is a conversation of several formats, and counts as the last of them.
_MODULES: Final = {
    "chatgpt": "chatgpt",
    "claude-export": "claude_export",
    "claude-code": "claude_code",
    "sharegpt": "sharegpt",
    "langchain": "langchain",
    "openai-responses": "openai_responses",
    "anthropic": "anthropic",
    "openai-chat": "openai_chat",
}

#: Those in which a conversation may be a tree with branches.
TREES: Final = frozenset({"chatgpt", "claude-export", "claude-code"})


class _Formats(Mapping[str, TranscriptFormat]):
    """The formats by name, each imported when it is first asked for."""

    def __getitem__(self, name: str) -> TranscriptFormat:
        return _imported(_MODULES[name])

    def __contains__(self, name: object) -> bool:
        return name in _MODULES

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


@cache
def _imported(module: str) -> TranscriptFormat:
    found: TranscriptFormat = import_module(f"koogbook.transcripts.{module}.format").FORMAT
    return found


FORMATS: Final[Mapping[str, TranscriptFormat]] = _Formats()


def format_named(name: str) -> TranscriptFormat:
    """The format of this name.

    Raises:
        TranscriptError: There is none; the message names the nearest.
    """
    if isinstance(name, str) and name in FORMATS:
        return FORMATS[name]
    near = get_close_matches(str(name), FORMATS, n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    raise TranscriptError(f"There is no format {name!r}. {hint}Choose one of: {', '.join(FORMATS)}.")


def written_formats() -> tuple[str, ...]:
    """The names of the formats that can be written, those that are only read left out."""
    return tuple(name for name, one in FORMATS.items() if one.write is not None)
