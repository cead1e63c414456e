"""The contents of messages in a ChatGPT export: parts, each with what it says, and none of them blank."""

from __future__ import annotations

import json
from typing import Any, Final

from koogbook.messages.parts import Attachment, Foreign, Part, Reasoning, Text

#: The fields that hold what a content says, by its type.
_FIELDS: Final = {
    "code": ("text",),
    "execution_output": ("text",),
    "system_error": ("name", "text"),
    "tether_quote": ("title", "url", "text"),
    "tether_browsing_code": ("result",),
    "tether_browsing_display": ("result", "summary"),
    "user_editable_context": ("user_profile", "user_instructions"),
    "model_editable_context": ("model_set_context",),
    "sonic_webpage": ("title", "url", "text"),
}
_POINTERS: Final = {"image_asset_pointer": "image", "audio_asset_pointer": "audio"}


def parts_of(content: Any) -> tuple[tuple[Part, ...], tuple[str, ...]]:
    """The parts of a content, and the kinds of those that nobody knows, which are kept as they are."""
    if isinstance(content, str):
        return ((Text(content),) if content else ()), ()
    if not isinstance(content, dict):
        return ((), ()) if content is None else ((_foreign(type(content).__name__, content),), ("content",))
    kind = content.get("content_type")
    kind = kind if isinstance(kind, str) else "content"
    if kind == "thoughts" and isinstance(content.get("thoughts"), list):
        return tuple(map(_thought, content["thoughts"])), ()
    if kind == "reasoning_recap" and isinstance(content.get("content"), str):
        return (Reasoning(content["content"]),), ()
    if isinstance(content.get("parts"), list):
        found = [_part(part) for part in content["parts"] if part not in ("", None)]
        return tuple(found), tuple(part.kind for part in found if isinstance(part, Foreign))
    fields = [content.get(name) for name in _FIELDS.get(kind, ())]
    said = [text for text in fields if isinstance(text, str) and text]
    if said:
        return (Text("\n".join(said)),), ()
    if kind in _FIELDS and not any(fields):
        return (), ()
    return (_foreign(kind, content),), (kind,)


def _part(value: Any) -> Part:
    match value:
        case str(text):
            return Text(text)
        case {"content_type": "audio_transcription", "text": str(text)}:
            return Text(text)
        case {"content_type": str(kind), "asset_pointer": str(pointer)} if kind in _POINTERS:
            return Attachment("image" if _POINTERS[kind] == "image" else "audio", file_id=pointer)
        case {"content_type": str(kind)}:
            return _foreign(kind, value)
        case {"text": str(text)} if text:
            return Text(text)
    return _foreign("part", value)


def _thought(value: Any) -> Part:
    if isinstance(value, dict):
        said = [value.get(name) for name in ("summary", "content")]
        texts = [text for text in said if isinstance(text, str) and text]
        if texts:
            return Reasoning("\n".join(texts))
    return _foreign("thought", value)


def _foreign(kind: str, value: Any) -> Foreign:
    return Foreign(kind, json.dumps(value, ensure_ascii=False, sort_keys=True))
