"""Which conversations a JSON value holds, and of which format each of them is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from koogbook.errors import TranscriptError
from koogbook.transcripts.conversation import LIST_NAMES, Conversation
from koogbook.transcripts.formats import FORMATS, TranscriptFormat
from koogbook.transcripts.openai_chat.shape import has_openai_mark, is_openai_message
from koogbook.transcripts.others import known_not_read, unknown_shape
from koogbook.transcripts.transcript import preview

#: Formats whose messages may have a role and a text alone, beside messages without a role.
_TAKE_PLAIN: Final = frozenset({"langchain", "openai-responses"})


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
        TranscriptError: It has messages of two formats.
    """
    if format is not None:
        found = format.find(value, where) or _taken_for(value, where)
        return None if found is None else replace(found, format=format.name)
    if not isinstance(value, list | dict):
        return None
    for name, one in FORMATS.items():
        found = one.find(value, where)
        if found is not None:
            refuse_mixed(found.entries, found.where, found.lines)
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
        before = sum(isinstance(entry, Struct) for entry in entries[:1])  # what stood beside the messages
        names = dict(sorted([(first, own[0]), other]))
        places = [f"line {lines[at]}" if lines else f"{where}[{at - before}]" for at in names]
        raise _mixed(*names.values(), *places)


def _mixed(one: str, other: str, place: str, other_place: str) -> TranscriptError:
    return TranscriptError(
        f"{place} is of the format {one} and {other_place} is of {other}: one conversation cannot have messages of "
        f"two. Nothing was loaded of it. Write them in one format, or read all of them as one: format={one!r}."
    )


def _is_message_of(format: TranscriptFormat, value: Any) -> bool:
    return format.is_entry(value) or is_openai_message(value)


def _taken_for(value: Any, where: str) -> Conversation | None:
    """Messages without a mark of the format that they are said to have."""
    found = FORMATS["openai-chat"].find(value, where)
    return found if found is not None and found.entries else None


def _no_conversation_among(values: list[Any], index: int, where: str) -> TranscriptError:
    return TranscriptError(
        f"{where}[{index}] is no conversation among {len(values):,}: {preview(values[index])}. Nothing was loaded. "
        "Take it out, or write one conversation per line (JSONL): there the others load."
    )
