"""What a trace has to know of the fields of events: which take values that it marks, and which are times."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, get_args

import msgspec
from msgspec import Struct

from koogbook.events import Event
from koogbook.messages.ledger import Ledger
from koogbook.messages.message import Message

#: Seconds, about 1,900 years: within it each time has a date, and what is between two times keeps its microseconds.
LONGEST_TIME = 6e10

#: The fields that are times or durations; those of every event in a kind of one's own, too.
_TIMES = frozenset({"time", "at", "seconds", "waited", "held"})


@lru_cache(maxsize=256)
def special_fields(kind: type[Event]) -> tuple[frozenset[str], tuple[tuple[str, ...], ...]]:
    """The fields that take any value or hold messages, and the ways to all floats."""
    free: set[str] = set()
    floats: list[tuple[str, ...]] = []
    for field in msgspec.structs.fields(kind):
        options = get_args(field.type) or (field.type,)
        if field.type is Any or _holds_messages(field.type):
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


def _holds_messages(annotation: Any) -> bool:
    return annotation in (Message, Ledger) or any(map(_holds_messages, get_args(annotation)))


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
