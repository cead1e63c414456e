"""A trace as a file: written whole, and read."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from koogbook.errors import TraceError
from koogbook.events import Event, Notice
from koogbook.trace.codec import TraceDecoder, TraceEncoder
from koogbook.trace.lines import encode_header, is_header, parsed, require_version
from koogbook.trace.wholeness import DOUBLED, GAP, Tellings

_LONGEST_HEADER = 1 << 26  # bytes
_UTF_8_MARK = b"\xef\xbb\xbf"
#: The kind of the notice that a line is not whole.
_TORN = "trace_torn"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class HasEvents(Protocol):
    """A run, whether it goes on or is over."""

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything that happened, in order."""


class Trace(tuple[Event, ...]):
    """The events of a trace file, in order: a tuple that says of itself how much it is, and not all that it holds."""

    __slots__ = ()

    def __repr__(self) -> str:
        runs = len({event.run_id for event in self if event.run_id})
        torn = [isinstance(event, Notice) and event.kind == _TORN for event in self]
        how = ""
        if any(torn):
            how = ", torn at its end" if torn[-1] else ", torn where it was added to"
        kinds = {event.kind for event in self if isinstance(event, Notice)}
        how += ", with gaps" * (GAP in kinds) + ", without what stood in it again" * (DOUBLED in kinds)
        return (
            f"<trace of {runs:,} {'run' if runs == 1 else 'runs'}, "
            f"{len(self):,} {'event' if len(self) == 1 else 'events'}{how}>"
        )


def save_trace(run_or_events: HasEvents | Iterable[Event], path: str | Path) -> Path:
    """Write the events of a run, or events of one or several runs, to a trace file, and return its path.

    The file is there whole or as it was. What is there already is replaced if it is a trace, or empty; of a link, what
    it points to. Devices, pipes and sockets are left alone. Of a run that goes on the trace has what happened so far.

    Raises:
        TypeError: It is neither a run nor events, or the path is none.
        TraceError: The path holds something else, or cannot be written; nothing was written.
    """
    events = _events_of(run_or_events)
    target = target_of("save_trace", path, "Nothing was written.")
    require_replaceable(target)
    with replaced(target) as file:
        file.write(encode_header(event.run_id for event in events) + b"\n")
        encoder = TraceEncoder()
        for event in events:
            file.writelines(line + b"\n" for line in encoder.lines(event))
    return target


def load_trace(path: str | Path) -> Trace:
    """The events of a trace file, in order, as a tuple: those of all its runs, as they were written by turns.

    Where what wrote it was stopped in the middle of the last line, all whole events are given, and after them a
    :class:`~koogbook.events.Notice` of the kind ``trace_torn`` that says so. One of the kind ``trace_gap`` says what
    shows that lines of a run that ended are missing. A run that stands in the file again is told once, and one of the
    kind ``trace_doubled`` says what was left out.

    Raises:
        TypeError: The path is none.
        TraceError: The file is no trace or of a newer version, or a line is no event, or has a kind or a field that is
            unknown here, or a time that is none; the message names the line, and nothing was loaded.
    """
    target = target_of("load_trace", path, "Nothing was loaded.")
    events: list[Event] = []
    try:
        # What is no file may have no end, or nothing to read for ever; a folder says so itself.
        if not stat.S_ISREG(mode := target.stat().st_mode) and not stat.S_ISDIR(mode):
            raise TraceError(
                f"{target} is no regular file. Nothing was loaded. Give the path of the file that a trace is in."
            )
        with target.open("rb") as file:
            first = file.readline(_LONGEST_HEADER).removeprefix(_UTF_8_MARK)
            if not is_header(first):
                raise TraceError(
                    f"{target} is no trace: {_instead_of_a_header(first)}. Nothing was loaded. "
                    "kb.save_trace(run, path) writes one."
                )
            with _in_line(target, 1):
                version = require_version(first)
            _read(target, file, version, events)
    except (OSError, ValueError) as problem:
        if isinstance(problem, TraceError):
            raise
        raise TraceError(
            f"{target} cannot be read: {_reason(problem)}. Nothing was loaded. Check the path."
        ) from problem
    return Trace(events)


def _read(target: Path, file: BinaryIO, version: int, events: list[Event]) -> None:
    """Add the events of all lines behind the first one, which is the header of this version."""
    decoder, tellings = TraceDecoder(), Tellings()
    torn: tuple[int, bytes, TraceError] | None = None
    for number, line in enumerate(file, start=2):
        header = is_header(line)
        if torn is not None:
            # Who writes on begins with a header; anything else was broken afterwards.
            if not header:
                raise torn[2]
            events.append(_torn(target, *torn[:2], events))
            torn = None
        try:
            with _in_line(target, number):
                if header:
                    version = require_version(line)
                elif not line.isspace() and (event := decoder.event(line)) is not None:
                    tellings.add(event, len(events), number, line, version)
                    events.append(event)
        except TraceError as problem:
            if parsed(line) is not None:
                raise
            torn = number, line, problem
    if torn is not None and torn[1].endswith(b"\n"):
        raise torn[2]
    events[:] = tellings.once(events, target.name)
    if torn is not None:
        events.append(_torn(target, *torn[:2], events))


@contextmanager
def _in_line(target: Path, number: int) -> Iterator[None]:
    try:
        yield
    except TraceError as problem:
        raise TraceError(f"{target}, line {number}: {problem} Nothing was loaded.") from problem


def _torn(target: Path, number: int, line: bytes, whole: list[Event]) -> Notice:
    last = whole[-1] if whole else Event()
    if line.endswith(b"\n"):
        where = f"Line {number} of {target.name} breaks off after {len(line) - 1:,} bytes"
        then = "what follows was added later"
    else:
        where = f"{target.name} ends in the middle of line {number}, after {len(line):,} bytes of it"
        then = "what happened after them is not known"
    return Notice(
        time=last.time,
        at=last.at,
        run_id=last.run_id,
        session_id=last.session_id,
        kind=_TORN,
        text=f"{where}: what wrote it was stopped. The {len(whole):,} events before it are whole; {then}.",
    )


def _events_of(run_or_events: HasEvents | Iterable[Event]) -> tuple[Event, ...]:
    found: Any = getattr(run_or_events, "events", run_or_events)
    events = tuple(found) if isinstance(found, Iterable) and not isinstance(found, str | bytes) else None
    if events is None or not all(isinstance(event, Event) for event in events):
        raise TypeError(f"save_trace takes a run, or events, not {run_or_events!r:.60}. Nothing was written.")
    return events


def target_of(function: str, path: str | Path, nothing: str) -> Path:
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


def require_file(target: Path) -> None:
    """Refuse a path that holds something else than a regular file.

    Raises:
        TraceError: It is a folder, a device, a pipe or a socket.
        OSError: There is nothing, or one cannot look at it.
        ValueError: It is no path.
    """
    mode = target.stat().st_mode
    if stat.S_ISDIR(mode):
        raise TraceError(f"{target} is a folder. Nothing was written. Give the path of a file.")
    # It would be replaced by a file, or keep who opens it waiting.
    if not stat.S_ISREG(mode):
        raise TraceError(
            f"{target} is no regular file. Nothing was written. Give the path of a file, or of none yet."
        )


def require_replaceable(target: Path) -> None:
    """Refuse a path that holds something else than a trace.

    Raises:
        TraceError: It is no regular file, or no trace, or cannot be read.
    """
    try:
        require_file(target)
        with target.open("rb") as file:
            first = file.readline(_LONGEST_HEADER).removeprefix(_UTF_8_MARK)
    except TraceError:
        raise
    except FileNotFoundError:
        return
    except (OSError, ValueError) as problem:
        raise not_written(target, problem) from problem
    if first and not is_header(first):
        raise TraceError(
            f"{target} is there already, and is no trace. Nothing was written. Choose another name, or move it away."
        )


@contextmanager
def replaced(target: Path) -> Iterator[BinaryIO]:
    """A new file beside the target that takes its place when the block ends, and vanishes when it fails.

    Raises:
        TraceError: It cannot be written; the target is as it was.
    """
    try:
        whole = target.resolve()  # what a link points to, not the link
    except (OSError, RuntimeError, ValueError) as problem:
        raise not_written(target, problem) from problem
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
            raise not_written(target, problem) from problem
        raise


def not_written(target: Path, problem: Exception, written: str = "Nothing was written.") -> TraceError:
    """The error for a file that cannot be written; ``written`` says how much of it is there."""
    return TraceError(f"{target} cannot be written: {_reason(problem)}. {written} Choose another place.")


def _instead_of_a_header(first: bytes) -> str:
    if not first:
        return "it is empty (0 bytes)"
    if first.startswith(_UTF_16_MARKS):
        return "it is UTF-16, as some editors save, and a trace is UTF-8"
    return "its first line is not the header of one"


def _reason(problem: Exception) -> str:
    return (problem.strerror if isinstance(problem, OSError) else None) or str(problem)
