r"""Events in a file, one JSON object a line, so that a run can be looked at again elsewhere and later.

The first line is a header, each further line one event, in the order in which they happened::

    {"type":"koogbook.trace","version":1,"runs":["9f0c"]}
    {"type":"NodeStarting","time":1767258000.5,"at":0.5,"run_id":"9f0c",...,"visit":1,"iteration":1,"input":"Rome"}
    {"type":"NodeCompleted",...,"visit":1,"seconds":0.01,"output":{"$":"shown","of":"<plan of 3 stops>"}}

``runs`` are the run ids that were known when the header was written. A header may stand again further down, where
something was added to the file. ``type`` is the name of the event's class, and the other keys are its fields: one that
is missing has its default, one that the class does not know is refused. Times are ISO 8601, bytes are base64.

Values of any type (inputs and outputs of nodes) are kept where they are plain JSON, or koogbook's own. What JSON has
not is an object with the key ``$``::

    {"$":"Message","of":{...}}       a message; also Ledger, Usage, CodeExcerpt, and the parts of a message
    {"$":"tuple","of":[...]}         a tuple
    {"$":"dict","of":{...}}          an object that has a key $ itself
    {"$":"shown","of":"<plan ...>"}  what was not kept: how it showed itself, see Shown

A lone surrogate is its escape (``\ud83d``), or three bytes where two of them would be read as one character. Times and
durations are seconds, numbers of at most 60,000,000,000 (1,900 years) before and after 0; others are neither written
nor read. Any other float may be ``NaN``, ``Infinity`` or ``-Infinity``, as Python's ``json`` writes it.

The file is UTF-8; a mark at its beginning that says so (a BOM) is read over.

Nothing in a file is run or imported, and no name in it becomes a path.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import msgspec

from koogbook.errors import TraceError
from koogbook.events import Event, Notice
from koogbook.trace_values import Shown as Shown
from koogbook.trace_values import (
    is_finite,
    is_koogbooks_own,
    read_value,
    special_fields,
    written_value,
    wrong_time,
)

FORMAT = "koogbook.trace"
VERSION = 1

_LONGEST_HEADER = 1 << 26  # bytes
_UTF_8_MARK = b"\xef\xbb\xbf"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_PARTED_CHARACTER = re.compile("[\ud800-\udbff][\udc00-\udfff]")

_quick_encode = msgspec.json.Encoder().encode
_quick_decode = msgspec.json.Decoder().decode


class HasEvents(Protocol):
    """A run, whether it goes on or is over."""

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything that happened, in order."""


# ------------------------------------------------------------------------------------------- files


def save_trace(run_or_events: HasEvents | Iterable[Event], path: str | Path) -> Path:
    """Write the events of a run, or events of one or several runs, to a trace file, and return its path.

    The file is there whole or as it was. What is there already is replaced if it is a trace, or empty; of a link, what
    it points to. Devices, pipes and sockets are left alone. Of a run that goes on the trace has what happened so far.

    Raises:
        TypeError: It is neither a run nor events, or the path is none.
        TraceError: The path holds something else, or cannot be written; nothing was written.
    """
    events = _events_of(run_or_events)
    target = _target("save_trace", path, "Nothing was written.")
    _require_replaceable(target)
    with _replaced(target) as file:
        file.write(encode_header(event.run_id for event in events) + b"\n")
        for event in events:
            file.write(encode_event(event) + b"\n")
    return target


def load_trace(path: str | Path) -> tuple[Event, ...]:
    """The events of a trace file, in order.

    Where what wrote it was stopped in the middle of the last line, all whole events are given, and after them a
    :class:`~koogbook.events.Notice` of the kind ``trace_torn`` that says so.

    Raises:
        TypeError: The path is none.
        TraceError: The file is no trace or of a newer version, or a line is no event, or has a kind or a field that is
            unknown here, or a time that is none; the message names the line, and nothing was loaded.
    """
    target = _target("load_trace", path, "Nothing was loaded.")
    events: list[Event] = []
    try:
        # What is no file may have no end, or nothing to read for ever; a folder says so itself.
        if not stat.S_ISREG(mode := target.stat().st_mode) and not stat.S_ISDIR(mode):
            raise TraceError(
                f"{target} is no regular file. Nothing was loaded. Give the path of the file that a trace is in."
            )
        with target.open("rb") as file:
            first = file.readline(_LONGEST_HEADER).removeprefix(_UTF_8_MARK)
            if not _is_header(first):
                raise TraceError(
                    f"{target} is no trace: {_instead_of_a_header(first)}. Nothing was loaded. "
                    "kb.save_trace(run, path) writes one."
                )
            with _in_line(target, 1):
                _require_version(first)
            for number, line in enumerate(file, start=2):
                if not line.endswith(b"\n") and _parsed(line) is None:
                    events.append(_torn(target, number, len(line), events))
                elif _is_header(line):
                    with _in_line(target, number):
                        _require_version(line)
                elif not line.isspace():
                    with _in_line(target, number):
                        events.append(decode_event(line))
    except (OSError, ValueError) as problem:
        if isinstance(problem, TraceError):
            raise
        raise TraceError(
            f"{target} cannot be read: {_reason(problem)}. Nothing was loaded. Check the path."
        ) from problem
    return tuple(events)


@contextmanager
def _in_line(target: Path, number: int) -> Iterator[None]:
    try:
        yield
    except TraceError as problem:
        raise TraceError(f"{target}, line {number}: {problem} Nothing was loaded.") from problem


def _torn(target: Path, number: int, size: int, whole: list[Event]) -> Notice:
    last = whole[-1] if whole else Event()
    return Notice(
        time=last.time,
        at=last.at,
        run_id=last.run_id,
        session_id=last.session_id,
        kind="trace_torn",
        text=f"{target.name} ends in the middle of line {number}, after {size:,} bytes of it: what wrote it was "
        f"stopped. The {len(whole):,} events before it are whole; what happened after them is not known.",
    )


def _events_of(run_or_events: HasEvents | Iterable[Event]) -> tuple[Event, ...]:
    found: Any = getattr(run_or_events, "events", run_or_events)
    events = tuple(found) if isinstance(found, Iterable) and not isinstance(found, str | bytes) else None
    if events is None or not all(isinstance(event, Event) for event in events):
        raise TypeError(f"save_trace takes a run, or events, not {run_or_events!r:.60}. Nothing was written.")
    return events


def _target(function: str, path: str | Path, nothing: str) -> Path:
    """The path of a trace; ``nothing`` says that nothing was done, for the message."""
    given: Any = path
    if not isinstance(given, str | os.PathLike) or not isinstance(os.fspath(given), str):
        raise TypeError(
            f"{function} takes the path of a file, as text or as a Path, not {given!r:.60}. {nothing}"
        )
    if not os.fspath(given):
        raise TraceError(f"The path is empty. {nothing} Give the path of a file.")
    try:
        return Path(given).expanduser()
    except RuntimeError as problem:
        raise TraceError(
            f"{given} has no home folder that is known. {nothing} Write the path of the folder in full."
        ) from problem


def _require_replaceable(target: Path) -> None:
    try:
        mode = target.stat().st_mode
        if stat.S_ISDIR(mode):
            raise TraceError(f"{target} is a folder. Nothing was written. Give the path of a file.")
        # It would be replaced by a file, or keep who opens it waiting.
        if not stat.S_ISREG(mode):
            raise TraceError(
                f"{target} is no regular file. Nothing was written. Give the path of a file, or of none yet."
            )
        with target.open("rb") as file:
            first = file.readline(_LONGEST_HEADER).removeprefix(_UTF_8_MARK)
    except TraceError:
        raise
    except FileNotFoundError:
        return
    except (OSError, ValueError) as problem:
        raise _not_written(target, problem) from problem
    if first and not _is_header(first):
        raise TraceError(
            f"{target} is there already, and is no trace. Nothing was written. Choose another name, or move it away."
        )


@contextmanager
def _replaced(target: Path) -> Iterator[BinaryIO]:
    """A new file beside the target that takes its place when the block ends, and vanishes when it fails."""
    whole = target.resolve()  # what a link points to, not the link
    beside = whole.with_name(f".{whole.name[:60]}.{os.urandom(4).hex()}")
    try:
        with beside.open("xb") as file:
            yield file
        if whole.exists():
            shutil.copymode(whole, beside)
        beside.replace(whole)
    except BaseException as problem:
        beside.unlink(missing_ok=True)
        if isinstance(problem, OSError):
            raise _not_written(target, problem) from problem
        raise


def _not_written(target: Path, problem: Exception) -> TraceError:
    return TraceError(
        f"{target} cannot be written: {_reason(problem)}. Nothing was written. Choose another place."
    )


def _instead_of_a_header(first: bytes) -> str:
    if not first:
        return "it is empty (0 bytes)"
    if first.startswith(_UTF_16_MARKS):
        return "it is UTF-16, as some editors save, and a trace is UTF-8"
    return "its first line is not the header of one"


def _reason(problem: Exception) -> str:
    return (problem.strerror if isinstance(problem, OSError) else None) or str(problem)


# ------------------------------------------------------------------------------------------- lines


def encode_header(runs: Iterable[str] = ()) -> bytes:
    """The line that a trace begins with, without its end; ``runs`` are the run ids that are known by now."""
    return _written({"type": FORMAT, "version": VERSION, "runs": list(dict.fromkeys(runs))})


def encode_event(event: Event) -> bytes:
    """One event as a line, without its end; :func:`decode_event` gives it back.

    Raises:
        TraceError: A field holds what its type does not allow, or a time that is none, or the class has the name of one
            of koogbook's events.
    """
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
    for name in kind.__struct_fields__:
        value = getattr(event, name)
        line[name] = written_value(value) if name in free else value
    try:
        return _written(line, quickly=is_finite(event))
    except (TypeError, ValueError, OverflowError, RecursionError) as problem:
        raise TraceError(f"An event {kind.__name__} cannot be written: {problem}.") from problem


def decode_event(line: bytes) -> Event:
    """The event that :func:`encode_event` wrote.

    Raises:
        TraceError: It is no event, or its kind or one of its fields is unknown, or one of its times is none.
    """
    fields = _parsed(line)
    if not isinstance(fields, dict):
        raise TraceError(f"It is no JSON object: {_start(line)}. Mend the line, or take it out.")
    name = fields.pop("type", None)
    kind = _kind(name) if isinstance(name, str) else None
    if kind is None:
        what = f"The kind of event {name!r:.80} is unknown" if name else f"It has no type: {_start(line)}"
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
            fields[field] = read_value(fields[field])
        event = msgspec.convert(fields, kind)
    except (msgspec.ValidationError, ValueError, TypeError, OverflowError, RecursionError) as problem:
        if isinstance(problem, TraceError):
            raise
        raise TraceError(f"It is no whole {name}: {problem}. Mend the line, or take it out.") from problem
    wrong = wrong_time(event)
    if wrong:
        raise TraceError(f"It is no whole {name}: {wrong}. Mend the line, or take it out.")
    return event


def _is_header(line: bytes) -> bool:
    # Looked at before it is taken apart: a file that is no trace may be one long line.
    if FORMAT.encode() not in line[:200]:
        return False
    found = _parsed(line)
    return isinstance(found, dict) and found.get("type") == FORMAT


def _require_version(line: bytes) -> None:
    header = _parsed(line)
    version = header.get("version") if isinstance(header, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise TraceError(f"The header has no version that is a number from 1 on, but {version!r:.40}.")
    if version > VERSION:
        raise TraceError(
            f"The trace is of version {version}, and this koogbook reads up to version {VERSION}. Update koogbook."
        )


def _parsed(line: bytes) -> Any:
    """The JSON value of a line; None where it is none."""
    try:
        return _quick_decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError):
        pass
    try:
        # Lone surrogates, and floats that are no numbers.
        return json.loads(line.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return None


def _written(line: dict[str, Any], *, quickly: bool = True) -> bytes:
    if quickly:
        try:
            return _quick_encode(line)
        except UnicodeEncodeError:
            pass
    text = json.dumps(msgspec.to_builtins(line), ensure_ascii=False, separators=(",", ":"))
    # As for messages: two surrogates that stand together would come back as one character if they were escaped.
    return text.encode("utf-8", "surrogatepass" if _PARTED_CHARACTER.search(text) else "backslashreplace")


def _start(line: bytes) -> str:
    return ascii(line[:60].decode("utf-8", "replace"))


# ------------------------------------------------------------------------------------------- kinds and fields


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
