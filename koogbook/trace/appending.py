"""A trace that is written while runs go on: each event as it comes, behind what is there."""

from __future__ import annotations

import os
from collections.abc import Iterable
from io import FileIO
from pathlib import Path

from koogbook.errors import TraceError
from koogbook.events import Event
from koogbook.trace.codec import TraceEncoder
from koogbook.trace.files import not_written, require_replaceable, target_of
from koogbook.trace.lines import encode_header


class TraceFile:
    """A trace file that is added to; it is opened, and made, when the first event comes.

    What is there stays. A line that was broken off is ended, and what is added begins with a header.

    Raises:
        TypeError: The path is none.
        TraceError: It holds something that is no trace, or its folder is not there.
    """

    __slots__ = ("_begun_anew", "_closed", "_encoder", "_file", "_written", "path")

    def __init__(self, path: str | Path) -> None:
        self._file: FileIO | None = None
        self.path = target_of("Tracing", path, "Nothing was written.")
        require_replaceable(self.path)
        if not self.path.resolve().parent.is_dir():
            raise TraceError(
                f"{self.path} is in a folder that is not there. Nothing was written. Make the folder, or choose "
                "another place."
            )
        self._encoder = TraceEncoder()
        self._closed = False
        #: What the file was when something was written to it last.
        self._written: os.stat_result | None = None
        #: Another file was there when it was opened, and nothing could be written to it yet.
        self._begun_anew = False

    def write(self, events: Iterable[Event]) -> bool:
        """Add the lines of some events, without waiting in a buffer: what is written outlives the process.

        Where somebody has removed the file, or put another one in its place, it is begun anew, or the other one is
        added to; True says that this was so, and that what was written before is not in it. Where that fails, the
        next one that is written says it.

        Raises:
            TraceError: The file cannot be written, or is closed, or an event cannot stand in a trace.
        """
        if self._closed:
            raise TraceError(
                f"{self.path} is closed, since its agent is. Nothing was written. Make a new agent."
            )
        if self._file is not None and not _is_at(self.path, self._file):
            self._let_go()
        lines: list[bytes] = []
        try:
            for event in events:
                lines += self._encoder.lines(event)
        finally:
            # Of several events, those before one that cannot be written are.
            if lines:
                self._add(lines)
        if not lines:
            return False
        begun_anew, self._begun_anew = self._begun_anew, False
        return begun_anew

    def _add(self, lines: list[bytes]) -> None:
        try:
            if self._file is None:
                self._file, begin = self._opened()
                lines[:0] = begin
        except (OSError, ValueError) as problem:
            self._let_go()
            raise not_written(self.path, problem) from problem
        try:
            _write_all(self._file, b"".join(line + b"\n" for line in lines))
        except (OSError, ValueError) as problem:
            # How much of it is there is not known. What is written next stands on its own.
            self._let_go()
            raise not_written(self.path, problem, "The last events may be there in part.") from problem
        self._written = os.fstat(self._file.fileno())

    def close(self) -> None:
        """Close the file; nothing can be added after that."""
        self._closed = True
        self._let_go()

    def _opened(self) -> tuple[FileIO, list[bytes]]:
        """The file, and the lines with which what is added begins."""
        require_replaceable(self.path)
        file = FileIO(self.path, "ab+")
        try:
            size = file.seek(0, os.SEEK_END)
            whole = True
            if size:
                file.seek(size - 1)
                whole = file.read(1) == b"\n"
            # A new file may have got the number of one that is gone, and then it is empty.
            if self._written and not (size and os.path.samestat(self._written, os.fstat(file.fileno()))):
                self._begun_anew = True
        except BaseException:
            file.close()
            raise
        return file, ([] if whole else [b""]) + [encode_header()]

    def __del__(self) -> None:
        # An agent need not be closed; nothing waits to be written.
        if self._file is not None:
            self._file.close()

    def _let_go(self) -> None:
        self._encoder = TraceEncoder()
        file, self._file = self._file, None
        if file is not None:
            file.close()


def _is_at(path: Path, file: FileIO) -> bool:
    """Whether a path still leads to an open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except PermissionError:
        return True  # nobody may look, and what is open can be written to
    except OSError:
        return False  # opening says what is wrong


def _write_all(file: FileIO, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) or 0 :]
