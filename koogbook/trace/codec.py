"""Events as lines, and lines as events: one by one, or those of a file, which share what they hold."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec

from koogbook.errors import TraceError
from koogbook.events import Event
from koogbook.trace.fields import is_finite, is_koogbooks_own, special_fields, wrong_time
from koogbook.trace.lines import parsed, start_of, written
from koogbook.trace.shared import SHARED_LINES, SharedIn, SharedOut
from koogbook.trace.values import read_value, written_value


def encode_event(event: Event) -> bytes:
    """One event as a line that stands alone, without its end; :func:`decode_event` gives it back.

    Raises:
        TraceError: A field holds what its type does not allow, or a time that is none, or the class has the name of one
            of koogbook's events.
    """
    return _encoded(event, None)


def decode_event(line: bytes) -> Event:
    """The event of a line that stands alone.

    Raises:
        TraceError: It is no event, or its kind or one of its fields is unknown, or one of its times is none, or it
            refers to another line.
    """
    return _decoded(_object(line), line, None)


class TraceEncoder:
    """Events as the lines of one file: what several of them hold is written once."""

    __slots__ = ("_shared",)

    def __init__(self) -> None:
        self._shared = SharedOut()

    def lines(self, event: Event) -> list[bytes]:
        """The lines that are to be added for an event, without their ends; the last one is the event's.

        Raises:
            TraceError: See :func:`encode_event`. Nothing is to be added for it.
        """
        line = _encoded(event, self._shared)
        before, self._shared.lines = self._shared.lines, []
        return [*before, line]


class TraceDecoder:
    """The lines of one file as events, in order."""

    __slots__ = ("_shared",)

    def __init__(self) -> None:
        self._shared = SharedIn(read_value)

    def event(self, line: bytes) -> Event | None:
        """The event of a line; None where the line is what events refer to.

        Raises:
            TraceError: See :func:`decode_event`; or it refers to what stands in no line before it.
        """
        found = _object(line)
        if isinstance(name := found.get("type"), str) and name in SHARED_LINES:
            try:
                self._shared.take(found)
            except (msgspec.ValidationError, ValueError, TypeError, RecursionError) as problem:
                if isinstance(problem, TraceError):
                    raise
                raise TraceError(
                    f"It is no whole {name}: {problem}. Mend the line, or take it out."
                ) from problem
            return None
        return _decoded(found, line, self._shared)


def _encoded(event: Event, shared: SharedOut | None) -> bytes:
    kind = type(event)
    if _koogbooks_own().get(kind.__name__, kind) is not kind:
        raise TraceError(
            f"An event of {kind.__module__}.{kind.__name__} cannot be written: koogbook has a kind of that name. "
            "Rename the class."
        )
    wrong = wrong_time(event)
    if wrong:
        raise TraceError(f"An event {kind.__name__} cannot be written: {wrong}.")
    free, _ = special_fields(kind)
    line: dict[str, Any] = {"type": kind.__name__}
    try:
        for name in kind.__struct_fields__:
            value = getattr(event, name)
            line[name] = written_value(value, shared) if name in free else value
        return written(line, quickly=is_finite(event))
    except (TypeError, ValueError, OverflowError, RecursionError) as problem:
        raise TraceError(f"An event {kind.__name__} cannot be written: {problem}.") from problem


def _object(line: bytes) -> dict[str, Any]:
    fields = parsed(line)
    if not isinstance(fields, dict):
        raise TraceError(f"It is no JSON object: {start_of(line)}. Mend the line, or take it out.")
    return fields


def _decoded(fields: dict[str, Any], line: bytes, shared: SharedIn | None) -> Event:
    name = fields.pop("type", None)
    kind = _kind(name) if isinstance(name, str) else None
    if kind is None:
        what = f"The kind of event {name!r:.80} is unknown" if name else f"It has no type: {start_of(line)}"
        raise TraceError(
            f"{what}. Import the module that defines it, or update koogbook if a newer one wrote it."
        )
    unknown = [field for field in fields if field not in kind.__struct_fields__]
    if unknown:
        raise TraceError(
            f"A {name} has no field {unknown[0]!r:.80}. Read it with the koogbook that wrote it, or take the field out."
        )
    free, _ = special_fields(kind)
    try:
        for field in free & fields.keys():
            fields[field] = read_value(fields[field], shared)
        event = msgspec.convert(fields, kind)
    except (msgspec.ValidationError, ValueError, TypeError, OverflowError, RecursionError) as problem:
        if isinstance(problem, TraceError):
            raise
        raise TraceError(f"It is no whole {name}: {problem}. Mend the line, or take it out.") from problem
    wrong = wrong_time(event)
    if wrong:
        raise TraceError(f"It is no whole {name}: {wrong}. Mend the line, or take it out.")
    return event


def _kind(name: str) -> type[Event] | None:
    """The class of events of a name; of several that are not koogbook's own, the one that was defined last."""
    return _koogbooks_own().get(name) or {one.__name__: one for one in _kinds()}.get(name)


@lru_cache(maxsize=1)
def _koogbooks_own() -> dict[str, type[Event]]:
    return {kind.__name__: kind for kind in _kinds() if is_koogbooks_own(kind)}


def _kinds() -> Iterator[type[Event]]:
    waiting: list[type[Event]] = [Event]
    while waiting:
        kind = waiting.pop(0)
        yield kind
        waiting += kind.__subclasses__()
