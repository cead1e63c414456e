"""JSONL: one conversation, or one message, per line, read lazily and written as it comes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from koogbook.errors import TranscriptError
from koogbook.messages.message import Message
from koogbook.messages.prompt import Prompt
from koogbook.transcripts.files import json_bytes, parse, replaced_file
from koogbook.transcripts.openai_chat.write import to_openai
from koogbook.transcripts.shapes import Conversation, conversation, foreign_format, unknown_shape
from koogbook.transcripts.transcript import Defect, Transcript, preview


def read_lines(path: Path, encoding: str, max_bytes: int) -> Iterator[tuple[int, str | UnicodeDecodeError]]:
    """The lines that are not blank, with their numbers from 1; one that is no UTF-8 as its error.

    Raises:
        TranscriptError: A line is longer than ``max_bytes``, or UTF-16 text is broken.
    """
    if encoding in ("utf-8", "utf-8-sig"):
        yield from _read_utf8_lines(path, max_bytes)
        return
    number = 0
    try:
        with path.open(encoding=encoding, newline="\n") as file:
            while text := file.readline(max_bytes + 1):
                number += 1
                if len(text) > max_bytes:
                    raise _too_long(path, number, max_bytes)
                if text.strip():
                    yield number, text
    except UnicodeError as problem:
        raise TranscriptError(
            f"{path} is broken {encoding} text after line {number}: {problem}. Save it again as UTF-8."
        ) from None


def read_jsonl(path: Path, encoding: str, max_bytes: int) -> Iterator[Conversation | Defect]:
    """The conversations of a file, in order, and among them the lines that could not be read.

    Lines with one message each are one conversation, up to the next line that holds a whole one.

    Raises:
        TranscriptError: Nothing in the file is a conversation.
    """
    messages: list[Any] = []
    numbers: list[int] = []
    unreadable: Defect | None = None
    unknown: TranscriptError | None = None
    found = False

    for number, text in read_lines(path, encoding, max_bytes):
        if unreadable is not None:
            yield unreadable
            unreadable = None
        if isinstance(text, UnicodeDecodeError):
            unreadable = _line_defect(number, f"no UTF-8 ({text.reason})", repr(text.object[:40]))
            continue
        try:
            value = parse(text)
        except (ValueError, RecursionError) as problem:
            unreadable = _line_defect(number, f"no JSON ({problem})", preview(text))
            continue
        if isinstance(value, dict) and isinstance(value.get("role"), str) and foreign_format(value) is None:
            messages.append(value)
            numbers.append(number)
            continue
        try:
            whole = conversation(value, f"line {number}: $")
        except TranscriptError as foreign:
            if not found and not messages:
                raise
            unreadable = _line_defect(number, str(foreign), preview(value))
            continue
        if whole is None:
            unknown = unknown or unknown_shape(value)
            unreadable = _line_defect(number, "no message and no conversation", preview(value))
            continue
        if messages:
            yield Conversation(messages, "$", lines=tuple(numbers))
            messages, numbers = [], []
        found = True
        yield whole
    if messages:
        found = True
        yield Conversation(messages, "$", lines=tuple(numbers))
    if not found:
        raise unknown or TranscriptError(f"No line of {path} is JSON: {unreadable}. Check the file.")
    if unreadable is not None:
        torn = unreadable.text.startswith("no JSON")
        yield (
            Defect(unreadable.position, "torn_line", unreadable.text, unreadable.where)
            if torn
            else unreadable
        )


def write_jsonl(conversations: Iterable[Sequence[Message] | Prompt | Transcript], path: str | Path) -> Path:
    """Write conversations, one OpenAI chat object per line, in one step, and return the path.

    Prompts, transcripts and lists of messages will do; they are taken one after the other, so a generator of
    many needs no more memory than one.
    """
    with replaced_file(path) as file:
        for one in conversations:
            extra = one.extra if isinstance(one, Transcript) else {}
            file.write(json_bytes({**extra, "messages": to_openai(one)}) + b"\n")
    return Path(path)


def _read_utf8_lines(path: Path, max_bytes: int) -> Iterator[tuple[int, str | UnicodeDecodeError]]:
    with path.open("rb") as file:
        number = 0
        while body := file.readline(max_bytes + 1):
            number += 1
            if len(body) > max_bytes:
                raise _too_long(path, number, max_bytes)
            try:
                text = body.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as problem:
                yield number, problem
                continue
            if text.strip():
                yield number, text


def _too_long(path: Path, number: int, max_bytes: int) -> TranscriptError:
    return TranscriptError(
        f"Line {number} of {path} is longer than {max_bytes:,} bytes. Allow more with max_bytes=, "
        "or check that the file has one conversation or message per line."
    )


def _line_defect(number: int, problem: str, start: str) -> Defect:
    return Defect(number, "broken_line", f"{problem}; the line was left out: {start}", f"line {number}")
