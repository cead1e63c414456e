"""Content blocks of the Anthropic API, one at a time, in and out."""

from __future__ import annotations

import binascii
import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any, Final

from koogbook.messages.message import Usage
from koogbook.messages.parts import Attachment, Foreign, Part, Reasoning, Text, ToolCall
from koogbook.transcripts.anthropic.shape import OWN_BLOCKS
from koogbook.transcripts.files import parse
from koogbook.transcripts.token_counts import count_in, summed
from koogbook.transcripts.transcript import preview
from koogbook.transcripts.writing import Lost

#: Blocks that are kept raw and need no mention, as there is nothing to understand in them.
SEALED_BLOCKS: Final = frozenset({"redacted_thinking"})
#: Raw blocks that may be sent to this API wherever they came from.
KNOWN_BLOCKS: Final = OWN_BLOCKS | {"document", "image"}
_PICTURES: Final = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})


def part_from_block(raw: Any) -> Part:
    """The part that a block other than a call or a result is; :class:`Foreign` where none can give it back."""
    return _part_from(raw) or foreign(raw)


def foreign(raw: Any) -> Foreign:
    """A value kept as it is, under the type that it gives itself."""
    kind = raw.get("type") if isinstance(raw, dict) else type(raw).__name__
    # Keys in order, as in metadata: the same block is the same value whichever way it came.
    return Foreign(str(kind), json.dumps(raw, ensure_ascii=False, sort_keys=True))


def block_from_part(part: Part, role: str, *, own: bool, call_id: str | None = None) -> Any:
    """The block for a part other than a result, or a :class:`Lost` that says why there is none.

    ``own`` says that the message came from this format, so that raw blocks of any type may be sent.
    """
    match part:
        case Text(text):
            return {"type": "text", "text": text} if text.strip() else _lost_text(text)
        case Foreign(kind, raw):
            return (
                _loaded(part)
                if own or kind in KNOWN_BLOCKS
                else Lost(f"a part of type {kind!r}: {preview(raw)}")
            )
        case Attachment() if role != "system":
            return _attachment_block(part)
        case Reasoning() if role == "assistant":
            return _thinking(part)
        case ToolCall(tool, _, own_id):
            return {"type": "tool_use", "id": call_id or own_id or "", "name": tool, "input": _input(part)}
    return Lost(f"a part of kind {type(part).__name__}, which a {role} message has no place for")


def arguments_lost(call: ToolCall) -> str:
    """What is lost of the arguments of a call, in words: the API takes an object and nothing else."""
    if _object(call.args) is not None:
        return ""
    return f"the arguments of a call of {call.tool} are no JSON object, and became {{}}: {preview(call.args, 500)}"


def usage_of(value: Any) -> Usage | None:
    """Tokens as the API counts them, which leaves those of the cache out of ``input_tokens``."""
    read, written = (
        count_in(value, "cache_read_input_tokens"),
        count_in(value, "cache_creation_input_tokens"),
    )
    found = Usage(
        input_tokens=summed(count_in(value, "input_tokens"), read, written),
        output_tokens=count_in(value, "output_tokens"),
        cache_read_tokens=read,
        cache_write_tokens=written,
    )
    return None if found == Usage() else found


def decoded(text: str) -> bytes | None:
    """The bytes of a base64 text, if it is spelled as Python spells it; None otherwise, so that it stays as it is."""
    try:
        data = b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if b64encode(data).decode("ascii") == text else None


def _part_from(raw: Any) -> Part | None:
    match raw:
        case {"type": "text", "text": str(text)}:
            return Text(text)
        case {"type": "thinking", "thinking": str(text), **more}:
            signature = more.get("signature")
            return Reasoning(text, signature if isinstance(signature, str) else None)
        case {"type": "image", "source": {**source}}:
            return _attachment("image", source, None)
        case {"type": "document", "source": {**source}, **more}:
            title = more.get("title")
            return _attachment("file", source, title if isinstance(title, str) else None)
    return None


def _attachment(kind: Any, source: Mapping[Any, Any], name: str | None) -> Attachment | None:
    match source:
        case {"type": "base64", "media_type": str(mime), "data": str(text)}:
            data = decoded(text)
            return None if data is None else Attachment(kind, mime, data=data, name=name)
        case {"type": "url", "url": str(url)}:
            return Attachment(kind, url=url, name=name)
        case {"type": "file", "file_id": str(file_id)}:
            return Attachment(kind, file_id=file_id, name=name)
        case {"type": "text", "media_type": "text/plain", "data": str(text)} if kind == "file":
            return Attachment(kind, "text/plain", data=text.encode("utf-8", "replace"), name=name)
    return None


def _attachment_block(part: Attachment) -> Any:
    if part.kind not in ("image", "file"):
        return Lost(f"{part.kind} (media type {part.mime or 'unknown'})")
    source: dict[str, Any]
    if part.url is not None:
        source = {"type": "url", "url": part.url}
    elif part.file_id is not None:
        source = {"type": "file", "file_id": part.file_id}
    else:
        data = part.data or b""
        plain = _plain_text(data) if part.kind == "file" and part.mime == "text/plain" else None
        if plain is not None:
            source = {"type": "text", "media_type": "text/plain", "data": plain}
        elif part.mime in (_PICTURES if part.kind == "image" else {"application/pdf"}):
            source = {"type": "base64", "media_type": part.mime, "data": b64encode(data).decode("ascii")}
        else:
            return Lost(f"{part.kind} of a media type that the API does not take: {part.mime or 'unknown'}")
    if part.kind == "image":
        return {"type": "image", "source": source}
    return {"type": "document", "source": source} | ({} if part.name is None else {"title": part.name})


def _plain_text(data: bytes) -> str | None:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _thinking(part: Reasoning) -> Any:
    """The API takes thoughts that it signed itself, and those have no id; sealed ones come under their kind."""
    if part.id in SEALED_BLOCKS and part.signature is not None and not part.text:
        return {"type": part.id, "data": part.signature}
    if part.signature is None or part.id is not None:
        why = "without a signature" if part.signature is None else "signed by another provider"
        return Lost(f"reasoning {why}, which the API refuses: {preview(part.text)}")
    return {"type": "thinking", "thinking": part.text, "signature": part.signature}


def _input(call: ToolCall) -> dict[str, Any]:
    return _object(call.args) or {}


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = parse(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _loaded(part: Foreign) -> Any:
    try:
        return parse(part.raw)
    except (ValueError, RecursionError) as problem:
        return Lost(f"a part of kind {part.kind!r} that is no JSON ({problem}): {preview(part.raw)}")


def _lost_text(text: str) -> Lost:
    return Lost("a text of white space alone, which the API refuses" if text else "")
