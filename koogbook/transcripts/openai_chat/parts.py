"""Content parts of the OpenAI chat format, one at a time, in and out."""

from __future__ import annotations

import binascii
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

from koogbook.messages.parts import Attachment, Foreign, Part, Text
from koogbook.transcripts.files import parse
from koogbook.transcripts.transcript import preview
from koogbook.transcripts.writing import Lost

_DATA_URI = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,", re.ASCII)
_AUDIO_FORMATS = {"mp3": "audio/mpeg", "wav": "audio/wav"}
_AUDIO_NAMES = {mime: name for name, mime in _AUDIO_FORMATS.items()}


def part_from_openai(raw: Any) -> tuple[Part, bool]:
    """The part that an entry of a ``content`` list is, and whether it is understood; else it is kept as it is."""
    part = _part_from(raw)
    if part is not None:
        return part, True
    kind = raw.get("type") if isinstance(raw, dict) else type(raw).__name__
    # Keys in order, as in metadata: the same part is the same value whichever way it came.
    return Foreign(kind=str(kind), raw=json.dumps(raw, ensure_ascii=False, sort_keys=True)), False


def block_from_part(part: Part, *, own: bool) -> Any:
    """The entry of a ``content`` list for a part, or a :class:`Lost` where the API has none.

    ``own`` says that the message came from this format, so that raw parts go back as they were.
    """
    if not isinstance(part, Foreign):
        return part_to_openai(part)
    if not own:
        return Lost(f"a part of kind {part.kind!r}, which the API does not have: {preview(part.raw)}")
    try:
        return parse(part.raw)
    except (ValueError, RecursionError) as problem:
        return Lost(f"a part of kind {part.kind!r} that is no JSON ({problem}): {preview(part.raw)}")


def part_to_openai(part: Part) -> dict[str, Any]:
    """A text or an attachment as an entry of a ``content`` list."""
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if isinstance(part, Attachment):
        return _attachment_to(part)
    raise TypeError(f"A {type(part).__name__} is no content part.")


def _part_from(raw: Any) -> Part | None:
    match raw:
        case {"type": "text", "text": str(text)} | {"type": "refusal", "refusal": str(text)}:
            return Text(text)
        case {"type": "image_url", "image_url": {"url": str(url)}}:
            return _linked("image", url)
        case {"type": "video_url", "video_url": {"url": str(url)}}:
            return _linked("video", url)
        case {"type": "audio_url", "audio_url": {"url": str(url)}}:
            return Attachment("audio", url=url)
        case {"type": "image_file", "image_file": {"file_id": str(file_id)}}:
            return Attachment("image", file_id=file_id)
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(name)}}:
            decoded = _decoded(data)
            mime = _AUDIO_FORMATS.get(name, f"audio/{name}")
            return None if decoded is None else Attachment("audio", mime, data=decoded)
        case {"type": "file", "file": {"file_id": str(file_id), **more}}:
            return Attachment("file", file_id=file_id, name=_name(more))
        case {"type": "file", "file": {"file_data": str(uri), **more}}:
            return _linked("file", uri, _name(more)) if _DATA_URI.match(uri) else None
        case {"type": "file", "file": {"file_url": str(url), **more}}:
            return Attachment("file", url=url, name=_name(more))
    return None


def _linked(kind: Any, url: str, name: str | None = None) -> Attachment:
    inline = _DATA_URI.match(url)
    if inline:
        data = _decoded(url[inline.end() :])
        # A media type or base64 text in an unusual spelling stays as it is, so that it comes back unchanged.
        if data is not None:
            return Attachment(kind, inline.group(1), data=data, name=name)
    return Attachment(kind, url=url, name=name)


def _decoded(text: str) -> bytes | None:
    try:
        data = b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if b64encode(data).decode("ascii") == text else None


def _name(more: Mapping[Any, Any]) -> str | None:
    name = more.get("filename")
    return name if isinstance(name, str) else None


def _attachment_to(part: Attachment) -> dict[str, Any]:
    encoded = None if part.data is None else b64encode(part.data).decode("ascii")
    uri = None if encoded is None else f"data:{part.mime or 'application/octet-stream'};base64,{encoded}"
    if part.kind == "audio" and encoded is not None:
        name = _AUDIO_NAMES.get(part.mime, part.mime.removeprefix("audio/"))
        return {"type": "input_audio", "input_audio": {"data": encoded, "format": name}}
    if part.kind == "file" or (part.file_id is not None and part.kind != "image"):
        if part.file_id is not None:
            source = {"file_id": part.file_id}
        elif uri is not None:
            source = {"file_data": uri}
        else:
            source = {"file_url": str(part.url)}
        return {"type": "file", "file": source if part.name is None else {"filename": part.name, **source}}
    if part.file_id is not None:
        return {"type": "image_file", "image_file": {"file_id": part.file_id}}
    form = f"{part.kind}_url"
    return {"type": form, form: {"url": uri or part.url}}
