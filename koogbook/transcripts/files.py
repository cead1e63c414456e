"""Files with conversations: opened with a known encoding, refused with a reason, written in one step."""

from __future__ import annotations

import codecs
import errno
import json
import math
import os
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

from koogbook.errors import NotAConversationError, TranscriptError
from koogbook.transcripts.transcript import preview

#: The largest JSON document, and the longest line of a JSONL file, that is read without being asked: 64 MiB.
MAX_BYTES = 64 * 1024 * 1024

LINE_SUFFIXES = (".jsonl", ".ndjson")

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SIGNATURES = (
    (b"%PDF", "a PDF document"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"SQLite format 3", "a SQLite database"),
    (b"PAR1", "a Parquet file"),
)
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_READABLE = "Nothing was loaded. koogbook reads conversations as JSON or JSONL; export the conversation again as such."


def checked_path(source: str | Path) -> Path:
    """The path of a file that exists, can be read and is not empty; JSONL may be.

    Raises:
        TranscriptError: It is not.
    """
    if isinstance(source, str) and source.lstrip()[:1] in ("{", "["):
        raise TranscriptError(
            "This is JSON text, not the path of a file. Nothing was loaded. Hand it to kb.as_transcript(text)."
        )
    if not isinstance(source, str | PathLike):
        raise NotAConversationError(
            f"A path is wanted, not {type(source).__name__}. Nothing was loaded. Write it as a text; JSON values or "
            "text that are loaded already go to kb.as_transcript(value)."
        )
    if isinstance(source, str) and source.startswith(("http://", "https://")):
        raise TranscriptError(
            f"{source[:200]!r} is an address, and nothing is fetched from the network. Nothing was loaded. Save what "
            "it shows as a file first."
        )
    path = at_home(source)
    try:
        is_folder = path.is_dir()
        size = path.stat().st_size
        if not is_folder:
            path.open("rb").close()
    except FileNotFoundError:
        raise TranscriptError(f"There is no file {path}, seen from {Path.cwd()}. Check the path.") from None
    except PermissionError:
        raise TranscriptError(
            f"{path} may not be read by this user. Change its permissions or copy it."
        ) from None
    except (OSError, ValueError) as problem:
        raise TranscriptError(f"{str(source)[:200]!r} cannot be opened: {problem}. Check the path.") from None
    if is_folder:
        raise TranscriptError(f"{path} is a folder. Name one of the files in it.")
    if size == 0 and path.suffix.lower() not in LINE_SUFFIXES:
        raise TranscriptError(f"{path} is empty (0 bytes), likely an interrupted save. {_earlier(path)}")
    return path


def _earlier(path: Path) -> str:
    """What to do about a file that was lost: the line that loads a previous version where one lies beside it."""
    for name in (f"{path.name}.bak", f"{path.name}~", f"{path.name}.old", f"{path.stem}.bak"):
        other = path.with_name(name)
        if other.is_file() and other.stat().st_size:
            size = f"{other.stat().st_size:,} bytes"
            return f"A previous version of {size} is beside it: kb.load_transcript({str(other)!r})."
    return "Export the conversation again."


def text_encoding(path: Path) -> str:
    """The encoding by the byte order mark, else UTF-8.

    Raises:
        TranscriptError: The file is of a kind that holds no text, such as a PDF document.
    """
    with path.open("rb") as file:
        head = file.read(4096)
    for mark, encoding in _BYTE_ORDER_MARKS:
        if head.startswith(mark):
            return encoding
    for signature, kind in _SIGNATURES:
        if head.startswith(signature):
            raise TranscriptError(f"{path} is {kind}, no conversation. {_READABLE}")
    if head.startswith(b"PK\x03\x04"):
        raise _archive(path)
    if head and not head.strip(b"\0"):
        raise TranscriptError(
            f"{path} has nothing but zero bytes at its beginning, as a save that a crash cut short leaves it. "
            f"{_earlier(path)}"
        )
    # Zero bytes after the first lines are damage inside of a text, and belong to the lines that they are on.
    if b"\0" in head and not (head[:1] in (b"{", b"[") and b"\0" not in head.partition(b"\n")[0][:64]):
        raise TranscriptError(
            f"{path} is a binary file, or UTF-16 text without a byte order mark. {_READABLE}"
        )
    return "utf-8"


def _archive(path: Path) -> TranscriptError:
    """The error for a zip archive, with the file inside that is likely meant."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError):
        return TranscriptError(f"{path} is a zip archive, and a broken one. {_READABLE}")
    inside = [name for name in names if name.lower().endswith((".json", *LINE_SUFFIXES))]
    inside.sort(key=lambda name: not name.endswith("conversations.json"))
    if not inside:
        return TranscriptError(
            f"{path} is a zip archive (or an Office document), no conversation. {_READABLE}"
        )
    more = f" and {len(inside) - 1} more" if len(inside) > 1 else ""
    return TranscriptError(
        f"{path} is a zip archive with {preview(inside[0])!r}{more} inside. Nothing was loaded. Unpack it, and load "
        "that file: the conversations of an export are in conversations.json."
    )


def looks_like(text: str) -> str:
    """What a text that is no JSON probably is, as the middle of a sentence."""
    start = text.lstrip()[:200].lower()
    if start.startswith(("<!doctype html", "<html")):
        return "an HTML page: of an export, take the .json beside it; of an address, it probably asked for a login"
    if start.startswith("<"):
        return "XML or HTML"
    lines = [line for line in text.splitlines()[:5] if line.strip()]
    for separator, name in ((",", "comma-separated values (CSV)"), ("\t", "tab-separated values (TSV)")):
        counts = {line.count(separator) for line in lines}
        if len(lines) > 1 and len(counts) == 1 and counts != {0}:
            return name
    return "plain text"


def not_json(name: str | Path, text: str, problem: Exception) -> TranscriptError:
    """The error for a file that is no JSON."""
    if isinstance(problem, RecursionError):
        return TranscriptError(
            f"{name} is nested too deeply to be read, and no conversation is. Check the file."
        )
    if text.lstrip()[:1] not in ("{", "["):
        return TranscriptError(f"{name} is no JSON; it looks like {looks_like(text)}. {_READABLE}")
    cut_off = isinstance(problem, json.JSONDecodeError) and (
        problem.pos >= len(text.rstrip()) or problem.msg.startswith("Unterminated string")
    )
    if cut_off:
        return TranscriptError(
            f"{name} ends in the middle of the JSON ({problem}). Nothing was loaded. Copy or export the file again."
        )
    return TranscriptError(
        f"{name} is broken JSON: {problem}. Nothing was loaded; mend that place or export again."
    )


def read_document(path: Path, encoding: str, max_bytes: int) -> Any:
    """The JSON value of a file.

    Raises:
        TranscriptError: It is larger than ``max_bytes``, or no JSON.
    """
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
        return parse(text)
    except (ValueError, RecursionError) as problem:
        raise not_json(path, text, problem) from None


def parse(text: str) -> Any:
    """A JSON value; ``NaN``, infinities and numbers too large for a float are refused.

    Raises:
        ValueError: It is no JSON.
        RecursionError: It is nested too deeply.
    """
    return json.loads(text, parse_constant=_refused, parse_float=_finite)


def _refused(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _refused(digits)


def json_bytes(value: Any, indent: int | None = None) -> bytes:
    """JSON in UTF-8, readable in any script; surrogates, which UTF-8 cannot hold, are escaped.

    JSON has one spelling for two halves of a character that stand together and for the character itself, so such a pair
    is read as one.
    """
    text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    return text.encode("utf-8", "backslashreplace")


def at_home(path: str | Path) -> Path:
    """The path with ``~`` as the folder of its user.

    Raises:
        TranscriptError: There is no such user.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError:
        first = Path(path).parts[0]
        raise TranscriptError(
            f"{str(path)!r} begins with {first}, and no user of that name has a folder here. Nothing was loaded or "
            "written. Write the whole path, or './' before a name that begins with ~."
        ) from None


class NewFile:
    """A file that is being written beside the one whose place it takes."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file = file
        self._path = path

    def write(self, body: bytes) -> None:
        """Add to the end.

        Raises:
            TranscriptError: The disk is full, or takes no more for another reason.
        """
        with _telling(self._path):
            self._file.write(body)


@contextmanager
def replaced_file(path: str | Path) -> Iterator[NewFile]:
    """A new file beside ``path`` that takes its place when the block ends, and vanishes when it fails.

    A file that is there keeps its permissions, and one behind a link is replaced where it lies.

    Raises:
        TranscriptError: It is a folder, or the file cannot be written.
    """
    named = at_home(path)
    if named.is_dir():
        raise TranscriptError(
            f"{named} is a folder. Nothing was written. Name a file in it: {str(named / 'transcript.json')!r}."
        )
    with _telling(named):
        target = Path(os.path.realpath(named))
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:40]}.", dir=target.parent)
    file = os.fdopen(handle, "wb")
    try:
        yield NewFile(file, named)
        with _telling(named):
            file.flush()
            os.fsync(handle)  # else a crash could leave the new name with none of its bytes
            file.close()
            Path(name).chmod(mode)
            Path(name).replace(target)
    except BaseException:
        with suppress(OSError):  # a disk that is full refuses what is left in the buffer once more
            file.close()
        Path(name).unlink(missing_ok=True)
        raise


@contextmanager
def _telling(path: Path) -> Iterator[None]:
    """Turn an error of the system into one that says what became of the file that is there."""
    try:
        yield
    except (OSError, ValueError) as problem:
        raise _unwritten(path, problem) from problem


def _unwritten(path: Path, problem: Exception) -> TranscriptError:
    reason = problem.strerror if isinstance(problem, OSError) and problem.strerror else problem
    before = "the file that was there is as it was" if path.is_file() else "no file was made"
    full = isinstance(problem, OSError) and problem.errno in _FULL
    remedy = "Make room on the disk, or choose another folder" if full else "Choose another folder"
    return TranscriptError(f"{path} cannot be written: {reason}. Nothing was written: {before}. {remedy}.")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
