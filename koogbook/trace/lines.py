"""JSON lines: to bytes and back, whatever texts and numbers are in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import msgspec

from koogbook.errors import TraceError
from koogbook.messages.codec import encode_with_surrogates

FORMAT = "koogbook.trace"
VERSION = 2

_PARTED_CHARACTER = re.compile("[\ud800-\udbff][\udc00-\udfff]")

_quick_encode = msgspec.json.Encoder().encode
_sorted_encode = msgspec.json.Encoder(order="sorted").encode
_quick_decode = msgspec.json.Decoder().decode


def encode_header(runs: Iterable[str] = ()) -> bytes:
    """The line that a trace begins with, without its end; ``runs`` are the run ids that are known by now."""
    return written({"type": FORMAT, "version": VERSION, "runs": list(dict.fromkeys(runs))})


def is_header(line: bytes) -> bool:
    """Whether a line is the header of a trace, of whatever version."""
    # Looked at before it is taken apart: a file that is no trace may be one long line.
    if FORMAT.encode() not in line[:200]:
        return False
    found = parsed(line)
    return isinstance(found, dict) and found.get("type") == FORMAT


def require_version(line: bytes) -> int:
    """The version of a header, which can be read here.

    Raises:
        TraceError: It is newer, or none.
    """
    header = parsed(line)
    version = header.get("version") if isinstance(header, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise TraceError(f"The header has no version that is a number from 1 on, but {version!r:.40}.")
    if version > VERSION:
        raise TraceError(
            f"The trace is of version {version}, and this koogbook reads up to version {VERSION}. Update koogbook."
        )
    return version


def parsed(line: bytes) -> Any:
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


def written(line: dict[str, Any], *, quickly: bool = True) -> bytes:
    """A line, without its end; ``quickly`` says that all its floats are numbers."""
    if quickly:
        try:
            return _quick_encode(line)
        except UnicodeEncodeError:
            pass
    text = json.dumps(msgspec.to_builtins(line), ensure_ascii=False, separators=(",", ":"))
    # As for messages: two surrogates that stand together would come back as one character if they were escaped.
    return text.encode("utf-8", "surrogatepass" if _PARTED_CHARACTER.search(text) else "backslashreplace")


def digest_of(value: Any) -> str:
    """The content hash of plain JSON: BLAKE2b, 16 bytes, over its bytes with sorted keys."""
    try:
        body = _sorted_encode(value)
    except UnicodeEncodeError:
        body = encode_with_surrogates(value)
    return blake2b(body, digest_size=16).hexdigest()


def start_of(line: bytes) -> str:
    """The beginning of a line, for a message to a person."""
    return ascii(line[:60].decode("utf-8", "replace"))
