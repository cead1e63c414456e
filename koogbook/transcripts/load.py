"""Loading conversations from a file of any supported format."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from koogbook.errors import TranscriptError
from koogbook.transcripts.files import MAX_BYTES, checked_path, not_json, parse, text_encoding
from koogbook.transcripts.jsonl import read_jsonl, read_lines
from koogbook.transcripts.openai_chat.read import read_conversation
from koogbook.transcripts.shapes import Conversation, conversations
from koogbook.transcripts.transcript import Defect, Transcript

_LINE_SUFFIXES = (".jsonl", ".ndjson")


def load_transcript(source: str | Path, *, index: int = 0, max_bytes: int = MAX_BYTES) -> Transcript:
    """One conversation from a file: OpenAI chat JSON, or JSONL with a conversation or a message per line.

    What is odd about it is listed in ``defects``; nothing is dropped or mended without being listed there.

    Args:
        source: Path of the file: UTF-8, or UTF-16 with a byte order mark.
        index: Which conversation, where the file holds several; from 0.
        max_bytes: The largest JSON document, or line of JSONL, to read into memory.

    Raises:
        TranscriptError: The file cannot be read, is no conversation, or has none at ``index``.
    """
    count = 0
    for transcript in load_transcripts(source, max_bytes=max_bytes):
        if transcript.index == index:
            if not transcript.messages:
                raise TranscriptError(
                    f"{_which(source, index)} has no messages inside{_listed(transcript.defects)}. "
                    "Choose another with index=, or export the conversation again."
                )
            return transcript
        count += 1
    held = "one conversation" if count == 1 else f"{count:,} conversations"
    allowed = "index=0" if count == 1 else f"index=0 to index={count - 1}"
    raise TranscriptError(f"{source} has {held}; index={index} is not among them. Use {allowed}.")


def load_transcripts(source: str | Path, *, max_bytes: int = MAX_BYTES) -> Iterator[Transcript]:
    """All conversations of a file, one after the other.

    Of a JSONL file only two conversations are in memory at a time. Lines that cannot be read are defects of
    the conversation before them, or of the first.

    Raises:
        TranscriptError: See :func:`load_transcript`; about the file at once, about its content on the way.
    """
    path = checked_path(source)
    return _transcripts(path, text_encoding(path), max_bytes)


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


def _transcripts(path: Path, encoding: str, max_bytes: int) -> Iterator[Transcript]:
    lines = _is_jsonl(path, encoding, max_bytes)
    found = read_jsonl(path, encoding, max_bytes) if lines else _read_document(path, encoding, max_bytes)
    held: Transcript | None = None
    strays: tuple[Defect, ...] = ()
    try:
        for entry in found:
            if isinstance(entry, Defect):
                strays += (entry,)
                continue
            if held is not None:
                yield replace(held, defects=held.defects + strays)
                strays = ()
            index = 0 if held is None else held.index + 1
            held = _transcript(entry, path, index, "jsonl" if lines else "openai-chat")
    except RecursionError as problem:
        raise not_json(path, "{", problem) from None
    except TranscriptError as problem:
        if str(path) in str(problem):
            raise
        raise TranscriptError(f"{path}: {problem}") from problem
    if held is not None:
        yield replace(held, defects=held.defects + strays)


def _transcript(found: Conversation, path: Path, index: int, format: str) -> Transcript:
    messages, defects = read_conversation(found)
    if not messages:
        defects += (Defect(0, "empty_conversation", "there are no messages inside", found.where),)
    return Transcript(
        messages=messages,
        defects=defects,
        format=format,
        source=path.name,
        index=index,
        extra_json=found.extra_json,
    )


def _is_jsonl(path: Path, encoding: str, max_bytes: int) -> bool:
    named_so = path.suffix.lower() in _LINE_SUFFIXES
    try:
        first, second = [*islice((text for _, text in read_lines(path, encoding, max_bytes)), 2), None, None][
            :2
        ]
    except TranscriptError:
        return named_so
    if second is None or first in ("[\n", "{\n", "[\r\n", "{\r\n"):
        return named_so and second is None
    return named_so or _is_json(first) or (_is_json(second) and str(second).startswith("{"))


def _is_json(text: object) -> bool:
    try:
        return isinstance(text, str) and isinstance(parse(text), dict | list)
    except (ValueError, RecursionError):
        return False


def _read_document(path: Path, encoding: str, max_bytes: int) -> Iterator[Conversation]:
    size = path.stat().st_size
    if size > max_bytes:
        raise TranscriptError(
            f"{path} is one JSON document of {size:,} bytes, and the limit is {max_bytes:,}. "
            f"Allow it with max_bytes={size}, or write one conversation per line (JSONL), read lazily."
        )
    try:
        text = path.read_bytes().decode(encoding)
    except UnicodeDecodeError as problem:
        raise TranscriptError(
            f"{path} is no {encoding} text: {problem.reason} at byte {problem.start}. Save it as UTF-8."
        ) from None
    if not text.strip():
        raise TranscriptError(
            f"{path} is empty: it has nothing but white space. Export the conversation again."
        )
    try:
        value = parse(text)
    except (ValueError, RecursionError) as problem:
        raise not_json(path, text, problem) from None
    return conversations(value)


def _which(source: str | Path, index: int) -> str:
    return f"Conversation {index} of {source}"


def _listed(defects: tuple[Defect, ...]) -> str:
    others = [str(defect) for defect in defects if defect.kind != "empty_conversation"]
    return f" ({'; '.join(others[:3])})" if others else ""
