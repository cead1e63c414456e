"""Content parts of the OpenAI chat format, one at a time, in and out."""

from __future__ import annotations

import binascii
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

from koogbook.errors import TranscriptError
from koogbook.messages.parts import Attachment, Foreign, Part, Text
from koogbook.transcripts.files import parse
from koogbook.transcripts.transcript import preview

_DATA_URI = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,", re.ASCII)
_AUDIO_FORMATS = {"mp3": "audio/mpeg", "wav": "audio/wav"}
_AUDIO_NAMES = {mime: name for name, mime in _AUDIO_FORMATS.items()}


def part_from_openai(raw: Any) -> tuple[Part, dict[str, Any] | None]:
    """A part, and the fields of ``raw`` that it has no room for (a picture's ``detail``).

    What no part can give back exactly is kept as :class:`Foreign`, and the second value is None.
    """
    part = _part_from(raw)
    if part is not None:
        plain = part_to_openai(part)
        surplus = _surplus(raw, plain)
        if merged(plain, surplus) == raw:
            return part, surplus
    kind = raw.get("type") if isinstance(raw, dict) else type(raw).__name__
    # Keys in order, as in metadata: the same part is the same value whichever way it came.
    return Foreign(kind=str(kind), raw=json.dumps(raw, ensure_ascii=False, sort_keys=True)), None


def part_to_openai(part: Part) -> dict[str, Any]:
    """A text, attachment or foreign part as an entry of a ``content`` list.

    Raises:
        TranscriptError: The raw text of a foreign part is no JSON.
    """
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if isinstance(part, Foreign):
        return _loaded(part)
    if isinstance(part, Attachment):
        return _attachment_to(part)
    raise TypeError(f"A {type(part).__name__} is no content part.")


def _loaded(part: Foreign) -> dict[str, Any]:
    try:
        loaded: dict[str, Any] = parse(part.raw)
    except (ValueError, RecursionError) as problem:
        raise TranscriptError(
            f"A part of kind {part.kind!r} is no JSON ({problem}): {preview(part.raw)}. Nothing was written. "
            "Leave it out, or make it a text part."
        ) from problem
    return loaded


def merged(plain: dict[str, Any], surplus: dict[str, Any]) -> dict[str, Any]:
    """``plain`` with the fields of ``surplus`` put in, one level down as well."""
    result = dict(plain)
    for key, value in surplus.items():
        inner = result.get(key)
        result[key] = {**inner, **value} if isinstance(inner, dict) and isinstance(value, dict) else value
    return result


def _surplus(raw: dict[str, Any], plain: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in raw.items():
        if key not in plain:
            found[key] = value
        elif isinstance(value, dict) and isinstance(plain[key], dict):
            inner = {name: entry for name, entry in value.items() if name not in plain[key]}
            if inner:
                found[key] = inner
    return found


def _part_from(raw: Any) -> Part | None:
    match raw:
        case {"type": "text", "text": str(text)}:
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
