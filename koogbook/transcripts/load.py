"""Loading conversations from files of any format, and from values that are loaded already."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from koogbook.errors import NotAConversationError, TranscriptError
from koogbook.progress import progress_bar
from koogbook.transcripts.branches import no_branches
from koogbook.transcripts.conversation import Conversation
from koogbook.transcripts.files import (
    LINE_SUFFIXES,
    MAX_BYTES,
    checked_path,
    not_json,
    parse,
    read_document,
    text_encoding,
)
from koogbook.transcripts.formats import FORMATS, TREES, TranscriptFormat, format_named
from koogbook.transcripts.jsonl import Line, read_jsonl, read_lines
from koogbook.transcripts.shapes import conversations, unread_beside
from koogbook.transcripts.transcript import Defect, Transcript, preview

#: So many lines in a row that cannot be read are listed one by one; the others are counted.
_MOST_LINES: Final = 100

#: A conversation that is not read yet, and what is odd about the lines around it.
_Found = tuple[Conversation, tuple[Defect, ...]]


def load_transcript(
    source: str | Path,
    *,
    index: int = 0,
    format: str | None = None,
    branch: str | int | None = None,
    max_bytes: int = MAX_BYTES,
) -> Transcript:
    """One conversation from a file of any format in :data:`koogbook.transcripts.formats.FORMATS`, found by itself.

    What is odd about it is listed in ``defects``; nothing is dropped or mended without being listed there, but for a
    key that stands twice in one JSON object: of that the last value counts.

    Args:
        source: Path of a JSON file, or of JSONL with a conversation or a message per line; UTF-8, or UTF-16 with a byte
            order mark.
        index: Which conversation, where the file holds several; from 0.
        format: Read it as this format: ``anthropic``. Messages that are plainly of another are refused.
        branch: Which line of a conversation that is a tree: as an ``other_branch`` defect names it, or the number of
            such a defect of the main line, from 1. None is the main line.
        max_bytes: The largest JSON document, or line of JSONL, to read into memory.

    Raises:
        TranscriptError: The file cannot be read, is no conversation, has none at ``index``, or no such branch.
    """
    one = None if format is None else format_named(format)
    path = checked_path(source)
    count = 0
    with _naming(path), closing(_found(path, text_encoding(path), one, max_bytes, True)) as found:
        for count, (entry, odd) in enumerate(found, start=1):
            if count == index + 1:
                wanted = replace(entry, branch=None if branch is None else str(branch))
                return _not_empty(_read(wanted, odd, path.name, index), f"Conversation {index} of {path}")
    held = (
        "no conversation" if not count else "one conversation" if count == 1 else f"{count:,} conversations"
    )
    allowed = "index=0" if count == 1 else f"index=0 to index={count - 1}"
    remedy = f"Use {allowed}." if count else "Load it when something is written to it."
    raise TranscriptError(f"{source} has {held}; index={index} is not among them. {remedy}")


def load_transcripts(
    source: str | Path, *, format: str | None = None, progress: bool = True, max_bytes: int = MAX_BYTES
) -> Iterator[Transcript]:
    """All conversations of a file, one after the other, each by its own format.

    Of a JSONL file only two conversations are in memory at a time. Lines that cannot be read are defects of
    the conversation before them, or of the first.

    Args:
        source: See :func:`load_transcript`; a JSONL file may be empty.
        format: See :func:`load_transcript`.
        progress: Whether a bar shows how far a long file is read.
        max_bytes: See :func:`load_transcript`.

    Raises:
        TranscriptError: See :func:`load_transcript`; about the file at once, about its content on the way.
    """
    one = None if format is None else format_named(format)
    path = checked_path(source)
    return _transcripts(path, text_encoding(path), one, max_bytes, progress)


def as_transcript(value: Any, format: str | None = None) -> Transcript:
    """The one conversation in JSON values that are loaded already, or in JSON text.

    Args:
        value: What ``json.load`` gives of a conversation in any format, or the text of such a file, JSONL included.
        format: See :func:`load_transcript`.

    Raises:
        NotAConversationError: The value is none, or several; the error is a TypeError as well.
        TranscriptError: There is no such format.
    """
    one = None if format is None else format_named(format)
    try:
        found = list(_with_strays(_of_text(value, one) if isinstance(value, str) else _of_value(value, one)))
        if len(found) != 1:
            raise TranscriptError(
                f"There are {len(found):,} conversations in this value. Hand over one of them: "
                "kb.as_transcript(value[0])."
            )
        return _not_empty(_read(*found[0], "", 0), "The value")
    except RecursionError:
        raise NotAConversationError(
            "The value is nested too deeply to be read, and no conversation is. Nothing was made of it."
        ) from None
    except TranscriptError as problem:
        raise NotAConversationError(str(problem)) from problem


def sample_transcript(name: str = "travel") -> Transcript:
    """A conversation that comes with koogbook.

    ``travel``: planning a week in China with trains, hotels, museums and weather, in English and Chinese.

    Raises:
        TranscriptError: There is no sample of this name; the message lists them.
    """
    folder = resources.files("koogbook.transcripts").joinpath("samples")
    names = sorted(
        entry.name.removesuffix(".json") for entry in folder.iterdir() if entry.name.endswith(".json")
    )
    if name not in names:
        raise TranscriptError(f"There is no sample {name!r}. Choose one of: {', '.join(names)}.")
    with resources.as_file(folder.joinpath(f"{name}.json")) as path:
        return load_transcript(path)


def _transcripts(
    path: Path, encoding: str, format: TranscriptFormat | None, max_bytes: int, shown: bool
) -> Iterator[Transcript]:
    with _naming(path), closing(_found(path, encoding, format, max_bytes, shown)) as found:
        for index, (entry, odd) in enumerate(found):
            yield _read(entry, odd, path.name, index)


def _found(
    path: Path, encoding: str, format: TranscriptFormat | None, max_bytes: int, shown: bool
) -> Generator[_Found]:
    """The conversations of a file, with a bar for the bytes that are read."""
    size = path.stat().st_size
    with progress_bar(f"reading {path.name}", size, "B", shown=shown) as bar:
        count = 0
        if _is_jsonl(path, encoding, max_bytes):
            lines = read_lines(path, encoding, max_bytes, at=bar.reach)
            for one in _with_strays(read_jsonl(lines, str(path), format)):
                count += 1
                yield one
        else:
            whole = list(conversations(read_document(path, encoding, max_bytes), format=format))
            for one in _with_strays(iter(whole)):
                count += 1
                bar.reach(size * count // len(whole))
                yield one
        held = "1 conversation" if count == 1 else f"{count:,} conversations"
        bar.summary = f"{path.name}: {held} in {size:,} bytes"


def _with_strays(found: Iterator[Conversation | Defect]) -> Iterator[_Found]:
    """Conversations with the defects of the lines after them, and with a defect where the format changes."""
    held: Conversation | None = None
    odd: list[Defect] = []
    in_a_row, last = 0, 0
    for entry in found:
        if isinstance(entry, Defect):
            if entry.kind == "broken_line":
                in_a_row, last = in_a_row + 1, entry.position
            if in_a_row <= _MOST_LINES or entry.kind != "broken_line":
                odd.append(entry)
            continue
        odd += _uncounted(in_a_row, last)
        in_a_row = 0
        if held is None:
            held = entry
            continue
        yield held, tuple(odd)
        odd = []
        if held.format != entry.format:
            text = f"{entry.format} from here on; the conversation before is {held.format}"
            odd.append(Defect(0, "mixed_formats", text, entry.where))
        held = entry
    if held is not None:
        yield held, (*odd, *_uncounted(in_a_row, last))


def _uncounted(in_a_row: int, last: int) -> list[Defect]:
    more = in_a_row - _MOST_LINES
    if more <= 0:
        return []
    return [Defect(last, "broken_line", f"{more:,} more lines in a row could not be read", f"line {last}")]


def _read(found: Conversation, odd: tuple[Defect, ...], source: str, index: int) -> Transcript:
    if found.branch is not None and found.format not in TREES:
        raise no_branches(f"{found.where} ({found.format})")
    messages, defects = FORMATS[found.format].read(found)
    defects += unread_beside(found)
    if not messages:
        defects += (Defect(0, "empty_conversation", "there are no messages inside", found.where),)
    return Transcript(
        messages=messages,
        defects=defects + odd,
        format=found.format,
        source=source,
        index=index,
        extra_json=found.extra_json,
    )


def _not_empty(transcript: Transcript, which: str) -> Transcript:
    if transcript.messages:
        return transcript
    others = [str(defect) for defect in transcript.defects if defect.kind != "empty_conversation"]
    listed = f" ({'; '.join(others[:3])})" if others else ""
    raise TranscriptError(
        f"{which} has no messages inside{listed}. Choose another with index=, or export the conversation again."
    )


def _is_jsonl(path: Path, encoding: str, max_bytes: int) -> bool:
    named_so = path.suffix.lower() in LINE_SUFFIXES
    try:
        texts = [text for _, text in islice(read_lines(path, encoding, max_bytes), 2)]
    except TranscriptError:
        return named_so
    if len(texts) < 2 or texts[0] in ("[\n", "{\n", "[\r\n", "{\r\n"):
        return named_so and len(texts) < 2
    return named_so or _is_json(texts[0]) or (_is_json(texts[1]) and str(texts[1]).startswith("{"))


def _is_json(text: object) -> bool:
    try:
        return isinstance(text, str) and isinstance(parse(text), dict | list)
    except (ValueError, RecursionError):
        return False


def _of_text(text: str, format: TranscriptFormat | None) -> Iterator[Conversation | Defect]:
    text = text.removeprefix("\ufeff")
    if text.lstrip()[:1] not in ("{", "["):
        said = f"no JSON: {preview(text)}" if text.strip() else "empty"
        raise TranscriptError(
            f"This text is {said}. Nothing was made of it. A file is loaded with "
            "kb.load_transcript(path), and one message is kb.user(text)."
        )
    try:
        return conversations(parse(text), format=format)
    except (ValueError, RecursionError) as problem:
        lines = text.split("\n")
        if len(lines) < 2 or not _is_json(lines[0]):
            raise not_json("This text", text, problem) from None
    numbered: list[Line] = [
        (number, line if number == len(lines) else f"{line}\n")
        for number, line in enumerate(lines, start=1)
        if line.strip()
    ]
    return read_jsonl(numbered, "this text", format)


def _of_value(value: Any, format: TranscriptFormat | None) -> Iterator[Conversation | Defect]:
    if not isinstance(value, list | tuple | dict):
        raise TranscriptError(
            f"A conversation is a list or a dict of JSON values, or JSON text, not {type(value).__name__}. Nothing was "
            "made of it. A file is loaded with kb.load_transcript(path)."
        )
    try:
        # A copy, so that what is done to the value later does not change what was loaded.
        copied = parse(json.dumps(value))
    except (TypeError, ValueError) as problem:
        first = f"; item 0 is {type(value[0]).__name__}" if isinstance(value, list | tuple) and value else ""
        raise TranscriptError(
            f"The value is no JSON ({problem}){first}. Nothing was made of it. Messages are a history already: "
            "kb.Prompt(messages)."
        ) from None
    return conversations(copied, format=format)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Errors inside name the file."""
    try:
        yield
    except RecursionError as problem:
        raise not_json(str(path), "{", problem) from None
    except TranscriptError as problem:
        if str(path) in str(problem):
            raise
        raise TranscriptError(f"{path}: {problem}") from problem
