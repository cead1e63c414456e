"""JSONL: one conversation, or one message, per line, read lazily and written as it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from koogbook.errors import TranscriptError
from koogbook.transcripts.conversation import Conversation
from koogbook.transcripts.files import parse
from koogbook.transcripts.formats import TranscriptFormat
from koogbook.transcripts.others import known_not_read
from koogbook.transcripts.shapes import (
    conversation,
    conversations,
    is_message,
    marks,
    refuse_mixed,
    refuse_other,
)
from koogbook.transcripts.transcript import Defect, DefectKind, preview

#: Number of a line from 1, and its text with the line break where it has one, or the error of its decoding.
Line = tuple[int, str | UnicodeDecodeError]


def read_lines(
    path: Path, encoding: str, max_bytes: int, *, at: Callable[[int], None] | None = None
) -> Iterator[Line]:
    """The lines that are not blank; one that is no UTF-8 as its error. ``at`` hears how many bytes are read by then.

    Raises:
        TranscriptError: A line is longer than ``max_bytes``, or UTF-16 text is broken.
    """
    if encoding in ("utf-8", "utf-8-sig"):
        yield from _read_utf8_lines(path, max_bytes, at)
        return
    number = 0
    try:
        with path.open(encoding=encoding, newline="\n") as file:
            while text := file.readline(max_bytes + 1):
                number += 1
                if len(text) > max_bytes:
                    raise _too_long(path, number, max_bytes)
                if at is not None:
                    at(file.buffer.tell())  # type: ignore[attr-defined]
                if text.strip():
                    yield number, text
    except UnicodeError as problem:
        raise TranscriptError(
            f"{path} is broken {encoding} text after line {number}: {problem}. Save it again as UTF-8."
        ) from None


def read_jsonl(
    lines: Iterable[Line], name: str, format: TranscriptFormat | None = None
) -> Iterator[Conversation | Defect]:
    """The conversations of lines, in order, and among them the lines that could not be read.

    Lines with one message each are one conversation, up to the next line that holds a whole one; such lines with
    messages of two formats are left out.

    Raises:
        TranscriptError: Nothing in the file ``name`` is a conversation.
    """
    run = _Run(format)
    unreadable: Defect | None = None
    refused: TranscriptError | None = None
    found = False
    number = 0

    def closed() -> Iterator[Conversation | Defect]:
        nonlocal run, refused, found
        if run.entries:
            try:
                yield run.conversation()
                found = True
            except TranscriptError as problem:
                refused = refused or problem
                yield run.defect(problem)
            run = _Run(format)

    for number, text in lines:
        if unreadable is not None:
            yield unreadable
            unreadable = None
        value, unreadable = _value(number, text)
        if unreadable is not None:
            continue
        if is_message(value, format):
            run.add(number, value)
            continue
        try:
            whole = list(conversations(value, f"line {number}: $", format))
        except TranscriptError as problem:
            if not found and not run.entries and known_not_read(value) is not None:
                raise
            refused = refused or problem
            said = _said(problem).removeprefix(f"line {number}: ")
            unreadable = _line_defect(number, said, preview(value))
            continue
        yield from closed()
        found = True
        yield from whole
    yield from closed()
    if not found and number:
        raise refused or TranscriptError(f"No line of {name} is JSON: {unreadable}. Check the file.")
    if unreadable is not None:
        yield unreadable


class _Run:
    """Lines with one message each, which are one conversation."""

    def __init__(self, format: TranscriptFormat | None) -> None:
        self.entries: list[Any] = []
        self._numbers: list[int] = []
        self._format = format

    def add(self, number: int, value: Any) -> None:
        """Take the message of a line."""
        self.entries.append(value)
        self._numbers.append(number)

    def conversation(self) -> Conversation:
        """The conversation of all lines.

        Raises:
            TranscriptError: They have messages of two formats, or of another than the chosen one.
        """
        if self._format is None:
            refuse_mixed(self.entries, "$", self._numbers)
        else:
            refuse_other(self._format, self.entries, "$", self._numbers)
        found = conversation(self.entries, "$", self._format)
        if found is None:
            marked = (name for entry in self.entries for name in marks(entry))
            name = self._format.name if self._format else next(marked, "openai-chat")
            found = Conversation(self.entries, "$", format=name)
        return replace(found, lines=tuple(self._numbers))

    def defect(self, problem: TranscriptError) -> Defect:
        """What is listed where the lines are no conversation."""
        first, last = self._numbers[0], self._numbers[-1]
        text = f"{_said(problem)}; lines {first} to {last} were left out"
        return Defect(first, "mixed_formats", text, f"line {first}")


def _value(number: int, text: str | UnicodeDecodeError) -> tuple[Any, Defect | None]:
    """The JSON value of a line; a line that breaks off without a line break is torn, any other is broken."""
    if isinstance(text, UnicodeDecodeError):
        ends = text.object.endswith(b"\n")
        return None, _line_defect(number, f"no UTF-8 ({text.reason})", repr(text.object[:40]), torn=not ends)
    try:
        return parse(text), None
    except (ValueError, RecursionError) as problem:
        torn = not text.endswith("\n")
        return None, _line_defect(number, f"no JSON ({problem})", preview(text), torn=torn)


def _read_utf8_lines(path: Path, max_bytes: int, at: Callable[[int], None] | None) -> Iterator[Line]:
    with path.open("rb") as file:
        number = reached = 0
        while body := file.readline(max_bytes + 1):
            number += 1
            if len(body) > max_bytes:
                raise _too_long(path, number, max_bytes)
            reached += len(body)
            if at is not None:
                at(reached)
            try:
                text = body.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as problem:
                yield number, problem
                continue
            if text.strip():
                yield number, text


def _said(problem: TranscriptError) -> str:
    """What an error says of a file of its own, for a line or some lines among others."""
    return str(problem).partition(" Nothing was loaded")[0].rstrip(".")


def _too_long(path: Path, number: int, max_bytes: int) -> TranscriptError:
    return TranscriptError(
        f"Line {number} of {path} is longer than {max_bytes:,} bytes. Allow more with max_bytes=, "
        "or check that the file has one conversation or message per line."
    )


def _line_defect(number: int, problem: str, start: str, *, torn: bool = False) -> Defect:
    kind: DefectKind = "torn_line" if torn else "broken_line"
    return Defect(number, kind, f"{problem}; the line was left out: {start}", f"line {number}")
