"""Which conversations a JSON value holds, and of which format each of them is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from koogbook.errors import TranscriptError
from koogbook.transcripts.conversation import LIST_NAMES, Conversation
from koogbook.transcripts.formats import FORMATS, TREES, TranscriptFormat
from koogbook.transcripts.openai_chat.shape import has_openai_mark, is_openai_message
from koogbook.transcripts.others import known_not_read, unknown_shape
from koogbook.transcripts.transcript import Defect, preview

#: Formats whose messages may have a role and a text alone, beside messages without a role.
_TAKE_PLAIN: Final = frozenset({"langchain", "openai-responses"})
#: Formats of which a conversation may have no other messages.
_ALL_PLAIN: Final = _TAKE_PLAIN | {"anthropic", "openai-chat"}
#: Where messages beside the others are read, or are the same once more.
_READ_BESIDE: Final = {"sharegpt": {"system"}, "langchain": {"inputs", "outputs", "metadata"}}
#: Formats that also read messages with the marks of another.
_READ_TOO: Final = {"langchain": frozenset({"openai-chat"})}


def conversations(
    value: Any, where: str = "$", format: TranscriptFormat | None = None
) -> Iterator[Conversation]:
    """The conversations in a JSON document: one, or a list or an object with a list of them, each by its own format.

    Raises:
        TranscriptError: There is none, one has messages of two formats, or the format is known and not read.
    """
    one = conversation(value, where, format)
    if one is not None:
        yield one
        return
    inner, place = value, where
    if isinstance(value, dict):
        inner, place = next(
            ((value[name], f"{where}.{name}") for name in LIST_NAMES if isinstance(value.get(name), list)),
            (None, where),
        )
    if inner == []:
        raise TranscriptError(f"{place} is an empty list: there are no messages inside.")
    refused = known_not_read(value)
    if isinstance(inner, list) and refused is None:
        refuse_mixed(inner, place)
        found = [conversation(item, f"{place}[{index}]", format) for index, item in enumerate(inner)]
        kept = [item for item in found if item is not None]
        if kept and len(kept) != len(found):
            raise _no_conversation_among(inner, found.index(None), place)
        yield from kept
        if kept:
            return
    raise refused or unknown_shape(value, where, format)


def conversation(value: Any, where: str, format: TranscriptFormat | None = None) -> Conversation | None:
    """The one conversation that a value is, or None.

    ``format`` is the only one that it may have; without it, all are asked in the order of :data:`FORMATS`.

    Raises:
        TranscriptError: It has messages of two formats, or of another than ``format``.
    """
    if format is not None:
        found = format.find(value, where) or _taken_for(format, value, where)
        if found is None:
            return None
        refuse_other(format, found.entries, found.where)
        return replace(found, format=format.name)
    if not isinstance(value, list | dict):
        return None
    for name, one in FORMATS.items():
        found = one.find(value, where)
        if found is not None:
            refuse_mixed(found.entries, found.where)
            return replace(found, format=name)
    return None


def is_message(value: Any, format: TranscriptFormat | None = None) -> bool:
    """Whether a value is one message, so that lines with such values are one conversation."""
    return is_openai_message(value) or bool(marks(value)) if format is None else _is_message_of(format, value)


def marks(value: Any) -> tuple[str, ...]:
    """The formats of which a message has what no other has; none for a plain role and text."""
    if not isinstance(value, dict):
        return ()
    found = tuple(name for name, one in FORMATS.items() if name != "openai-chat" and one.is_entry(value))
    if not found and is_openai_message(value) and has_openai_mark(value):
        return ("openai-chat",)
    return found


def refuse_mixed(entries: Sequence[Any], where: str, lines: Sequence[int] = ()) -> None:
    """Refuse messages with marks of two formats, and plain ones among those of a format that has none.

    Raises:
        TranscriptError: See above; it names the first message of either.
    """
    marked = [(number, found) for number, entry in enumerate(entries) if (found := marks(entry))]
    if not marked:
        return
    first, own = marked[0]
    other = next(((number, found[0]) for number, found in marked if set(own).isdisjoint(found)), None)
    if other is None and "role" not in entries[first] and _TAKE_PLAIN.isdisjoint(own):
        plain = (
            number for number, entry in enumerate(entries) if is_openai_message(entry) and not marks(entry)
        )
        other = next(((number, "openai-chat") for number in plain), None)
    if other is not None:
        (one, name), (two, other_name) = sorted([(first, own[0]), other])
        raise TranscriptError(
            f"{_place(entries, one, where, lines)} is of the format {name} and {_place(entries, two, where, lines)} is "
            f"of {other_name}: one conversation cannot have messages of two. Nothing was loaded of it. Write its "
            "messages in one format, or each run of a format as a conversation of its own."
        )


def refuse_other(
    format: TranscriptFormat, entries: Sequence[Any], where: str, lines: Sequence[int] = ()
) -> None:
    """Refuse messages with the marks of a format that they are not to be read as.

    Raises:
        TranscriptError: See above; it names the first of them.
    """
    read = {format.name} | _READ_TOO.get(format.name, frozenset())
    for at, entry in enumerate(entries):
        found = marks(entry)
        if found and read.isdisjoint(found):
            raise TranscriptError(
                f"{_place(entries, at, where, lines)} is of the format {found[0]}: read as {format.name}, it would "
                f"lose what it holds. Nothing was loaded of it. Leave out format={format.name!r}, or write "
                f"format={found[0]!r}."
            )


def unread_beside(conversation: Conversation) -> tuple[Defect, ...]:
    """What stands beside the messages and is said as well, and yet is none of them: an answer, a system prompt."""
    if conversation.extra_json == "{}" or conversation.format in TREES:
        return ()
    where = conversation.where
    place = where if conversation.format == "langchain" else where.rpartition(".")[0]
    read = _READ_BESIDE.get(conversation.format, ())
    return tuple(
        Defect(
            0, "unknown_entry", f"kept beside the messages, and not read: {preview(value)}", f"{place}.{key}"
        )
        for key, value in json.loads(conversation.extra_json).items()
        if key not in read and value and (key == "system" or _says(value))
    )


def _says(value: Any) -> bool:
    """Whether there is a message in a value."""
    if isinstance(value, list):
        return any(map(_says, value))
    if not isinstance(value, dict):
        return False
    said = bool(marks(value)) or (is_openai_message(value) and "content" in value)
    return said or any(map(_says, value.values()))


def _place(entries: Sequence[Any], at: int, where: str, lines: Sequence[int]) -> str:
    before = sum(isinstance(entry, Struct) for entry in entries[:1])  # what stood beside the messages
    return f"line {lines[at]}" if lines else f"{where}[{at - before}]"


def _is_message_of(format: TranscriptFormat, value: Any) -> bool:
    return format.is_entry(value) or is_openai_message(value)


def _taken_for(format: TranscriptFormat, value: Any, where: str) -> Conversation | None:
    """Messages without a mark of the format that they are said to have."""
    found = FORMATS["openai-chat"].find(value, where) if format.name in _ALL_PLAIN else None
    return found if found is not None and found.entries else None


def _no_conversation_among(values: list[Any], index: int, where: str) -> TranscriptError:
    return TranscriptError(
        f"{where}[{index}] is no conversation among {len(values):,}: {preview(values[index])}. Nothing was loaded. "
        "Take it out, or write one conversation per line (JSONL): there the others load."
    )
