"""What a trace keeps of values of any type: plain JSON and koogbook's own; of all others, how they show themselves.

And what it has to know of the fields of events: which take any value, and which are times. The written form stands in
:mod:`koogbook.trace`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, get_args

import msgspec
from msgspec import Struct

from koogbook.code_place import CodeExcerpt
from koogbook.errors import TraceError
from koogbook.events import Event
from koogbook.messages.ledger import Ledger
from koogbook.messages.message import Message, Usage
from koogbook.messages.parts import Attachment, Foreign, Reasoning, Text, ToolCall, ToolResult

#: Values of koogbook's own that are kept wherever they stand, by the word for them.
_KEPT: dict[str, type[Struct]] = {
    kind.__name__: kind
    for kind in (
        Message,
        Ledger,
        Usage,
        CodeExcerpt,
        Text,
        Reasoning,
        ToolCall,
        ToolResult,
        Attachment,
        Foreign,
    )
}
#: Seconds, about 1,900 years: within it each time has a date, and what is between two times keeps its microseconds.
LONGEST_TIME = 6e10

#: The fields that are times or durations; those of every event in a kind of one's own, too.
_TIMES = frozenset({"time", "at", "seconds", "waited", "held"})

_MARK = "$"
_LONGEST_SHOWN = 2_000  # characters
_DEEPEST = 100  # lists in lists
_MOST_BITS = 4_096  # of a whole number; Python refuses to write much longer ones


class Shown(Struct, frozen=True):
    """Stands for a value that a trace does not keep: how it showed itself (its ``repr``), cut where it is long."""

    text: str

    def __repr__(self) -> str:
        return self.text


class _NotKept(Exception):
    """A value is no JSON."""


def written_value(value: Any) -> Any:
    """A value as it is written: itself where it is plain JSON, marked where it is koogbook's own or is not kept."""
    try:
        return _kept(value, 0)
    except _NotKept:
        return {_MARK: "shown", "of": _shown(value)}


def _kept(value: Any, depth: int) -> Any:
    kind = type(value)
    if value is None or kind is str or kind is bool:
        return value
    if (kind is int and value.bit_length() <= _MOST_BITS) or (kind is float and math.isfinite(value)):
        return value
    if depth < _DEEPEST:
        if kind is list or kind is tuple:
            inner = [_kept(one, depth + 1) for one in value]
            return inner if kind is list else {_MARK: "tuple", "of": inner}
        if kind is dict and all(type(key) is str for key in value):
            found = {key: _kept(one, depth + 1) for key, one in value.items()}
            return {_MARK: "dict", "of": found} if _MARK in found else found
        if _KEPT.get(kind.__name__) is kind:
            return {_MARK: kind.__name__, "of": msgspec.to_builtins(value)}
        if kind is Shown:
            return {_MARK: "shown", "of": value.text}
    raise _NotKept


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as problem:
        text = f"<{type(value).__name__} without a repr: {type(problem).__name__}>"
    more = len(text) - _LONGEST_SHOWN
    return f"{text[:_LONGEST_SHOWN]}... ({more:,} more characters)" if more > 0 else text


def read_value(written: Any) -> Any:
    """The value that :func:`written_value` wrote.

    Raises:
        TraceError: It has a mark that is unknown.
        ValidationError: It is marked as a value of koogbook, and is no whole one (msgspec's).
    """
    if isinstance(written, list):
        return [read_value(one) for one in written]
    if not isinstance(written, dict):
        return written
    if _MARK not in written:
        return {key: read_value(one) for key, one in written.items()}
    word, of = written[_MARK], written.get("of")
    if written.keys() == {_MARK, "of"}:
        if word == "shown" and isinstance(of, str):
            return Shown(of)
        if word == "tuple" and isinstance(of, list):
            return tuple(read_value(one) for one in of)
        if word == "dict" and isinstance(of, dict):
            return {key: read_value(one) for key, one in of.items()}
        if isinstance(word, str) and word in _KEPT:
            return msgspec.convert(of, _KEPT[word])
    raise TraceError(
        f"A value is marked as {word!r:.40}, which is unknown. Update koogbook if a newer one wrote it."
    )


# ------------------------------------------------------------------------------------------- fields


@lru_cache(maxsize=256)
def special_fields(kind: type[Event]) -> tuple[frozenset[str], tuple[tuple[str, ...], ...]]:
    """The fields that take any value, and the ways to all floats."""
    free: set[str] = set()
    floats: list[tuple[str, ...]] = []
    for field in msgspec.structs.fields(kind):
        options = get_args(field.type) or (field.type,)
        if field.type is Any:
            free.add(field.name)
        elif float in options:
            floats.append((field.name,))
        for option in options:
            if isinstance(option, type) and issubclass(option, Struct):
                inner = msgspec.structs.fields(option)
                floats += [
                    (field.name, one.name) for one in inner if float in (get_args(one.type) or (one.type,))
                ]
    return frozenset(free), tuple(floats)


def is_koogbooks_own(kind: type[Event]) -> bool:
    """Whether a class of events is one of :mod:`koogbook.events`, and no user's."""
    return kind.__module__.startswith("koogbook.events.")


def wrong_time(event: Event) -> str:
    """What is wrong with a time or a duration of an event; empty where nothing is."""
    own = is_koogbooks_own(type(event))
    for way, value in _floats(event):
        is_time = way[-1] in _TIMES if own else way[0] in Event.__struct_fields__
        if is_time and not abs(value) <= LONGEST_TIME:
            return f"`{'.'.join(way)}` is {value!r}, which is no time in seconds that can be"
    return ""


def is_finite(event: Event) -> bool:
    """Whether all its floats are numbers: msgspec would write the others as null."""
    return all(math.isfinite(value) for _, value in _floats(event))


def _floats(event: Event) -> Iterator[tuple[tuple[str, ...], float]]:
    for way in special_fields(type(event))[1]:
        value: Any = event
        for name in way:
            value = getattr(value, name, None)
        if isinstance(value, float):
            yield way, value
