"""Content blocks and single items of the OpenAI Responses API, in and out."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Final

from koogbook.messages.message import Usage
from koogbook.messages.parts import Attachment, Foreign, Part, Reasoning, Text
from koogbook.transcripts.anthropic.parts import decoded
from koogbook.transcripts.files import parse
from koogbook.transcripts.token_counts import count_in
from koogbook.transcripts.transcript import preview
from koogbook.transcripts.writing import Lost

_DATA_URI: Final = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,", re.ASCII)
_AUDIO_TYPES: Final = {"mp3": "audio/mpeg", "wav": "audio/wav"}


def part_from_content(raw: Any) -> Part:
    """The part that a block of a message or of an output is; :class:`Foreign` where none fits."""
    return _part_from(raw) or foreign(raw)


def foreign(raw: Any) -> Foreign:
    """A block or an item kept as it is, under the type that it gives itself."""
    kind = raw.get("type") if isinstance(raw, dict) else type(raw).__name__
    # Keys in order, as in metadata: the same block is the same value whichever way it came.
    return Foreign(str(kind), json.dumps(raw, ensure_ascii=False, sort_keys=True))


def content_from_part(part: Part, role: str, *, own: bool) -> Any:
    """The block for a part of a message or of an output, or a :class:`Lost`.

    ``own`` says that the message came from this format, so that raw blocks of any type may be sent.
    """
    match part:
        case Text(text):
            return {"type": "output_text" if role == "assistant" else "input_text", "text": text}
        case Foreign():
            return loaded(part) if own else Lost(f"a part of type {part.kind!r}: {preview(part.raw)}")
        case Attachment(kind) if role != "assistant" and kind in ("image", "file"):
            return _image_block(part) if kind == "image" else _file_block(part)
        case Attachment(kind):
            return Lost(f"{kind} (media type {part.mime or 'unknown'})")
    return Lost(f"a part of kind {type(part).__name__}, which a {role} message has no place for")


def reasoning_item(part: Reasoning) -> Any:
    """The item for a thought; one without an id is of another provider, and a :class:`Lost`."""
    if part.id is None:
        return Lost(f"reasoning that is not of this API, which refuses it: {preview(part.text)}")
    summary = [{"type": "summary_text", "text": part.text}] if part.text else []
    sealed = {} if part.signature is None else {"encrypted_content": part.signature}
    return {"type": "reasoning", "id": part.id, "summary": summary, **sealed}


def reasoning_from(raw: Mapping[str, Any]) -> Reasoning:
    """The thought of a reasoning item: its summary, else its text."""
    texts = [
        block["text"]
        for name in ("summary", "content")
        for block in (raw[name] if isinstance(raw.get(name), list) else ())
        if isinstance(block, dict) and isinstance(block.get("text"), str)
    ]
    shown = texts[: len(raw["summary"])] if isinstance(raw.get("summary"), list) and raw["summary"] else texts
    return Reasoning("\n\n".join(shown), _text(raw.get("encrypted_content")), _text(raw.get("id")))


def loaded(part: Foreign) -> Any:
    """The value that a foreign part keeps, or a :class:`Lost` where it is no JSON."""
    try:
        return parse(part.raw)
    except (ValueError, RecursionError) as problem:
        return Lost(f"a part of kind {part.kind!r} that is no JSON ({problem}): {preview(part.raw)}")


def usage_of(value: Any) -> Usage | None:
    """Tokens as an answer of the API counts them."""
    found = Usage(
        input_tokens=count_in(value, "input_tokens"),
        output_tokens=count_in(value, "output_tokens"),
        cache_read_tokens=count_in(value, "input_tokens_details", "cached_tokens"),
        reasoning_tokens=count_in(value, "output_tokens_details", "reasoning_tokens"),
    )
    return None if found == Usage() else found


def _part_from(raw: Any) -> Part | None:
    match raw:
        case {"type": "input_text" | "output_text" | "text", "text": str(text)}:
            return Text(text)
        case {"type": "refusal", "refusal": str(text)}:
            return Text(text)
        case {"type": "input_image", "image_url": str(url)}:
            return _linked("image", url, None)
        case {"type": "input_image", "file_id": str(file_id)}:
            return Attachment("image", file_id=file_id)
        case {"type": "input_file", **more}:
            return _file(more)
        case {"type": "input_audio", "input_audio": {"data": str(text), "format": str(name)}}:
            data = decoded(text)
            mime = _AUDIO_TYPES.get(name, f"audio/{name}")
            return None if data is None else Attachment("audio", mime, data=data)
    return None


def _file(more: Mapping[Any, Any]) -> Part | None:
    name = _text(more.get("filename"))
    match more:
        case {"file_id": str(file_id)}:
            return Attachment("file", file_id=file_id, name=name)
        case {"file_data": str(uri)}:
            return _linked("file", uri, name) if _DATA_URI.match(uri) else None
        case {"file_url": str(url)}:
            return Attachment("file", url=url, name=name)
    return None


def _linked(kind: Any, url: str, name: str | None) -> Attachment:
    inline = _DATA_URI.match(url)
    data = decoded(url[inline.end() :]) if inline else None
    if inline is None or data is None:
        return Attachment(kind, url=url, name=name)
    return Attachment(kind, inline.group(1), data=data, name=name)


def _image_block(part: Attachment) -> dict[str, Any]:
    if part.file_id is not None:
        return {"type": "input_image", "detail": "auto", "file_id": part.file_id}
    url = part.url if part.data is None else _uri(part, part.data)
    return {"type": "input_image", "detail": "auto", "image_url": url}


def _file_block(part: Attachment) -> dict[str, Any]:
    named = {} if part.name is None else {"filename": part.name}
    if part.file_id is not None:
        return {"type": "input_file", "file_id": part.file_id, **named}
    if part.data is not None:
        return {"type": "input_file", "file_data": _uri(part, part.data), **named}
    return {"type": "input_file", "file_url": part.url, **named}


def _uri(part: Attachment, data: bytes) -> str:
    return f"data:{part.mime or 'application/octet-stream'};base64,{b64encode(data).decode('ascii')}"


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
