"""What stands for a part that is no text, where there is room for text only."""

from __future__ import annotations

import re
from typing import Final

from koogbook.messages.parts import Attachment, Foreign

_KILO: Final = 1024
_ENCODED: Final = re.compile(r"[A-Za-z0-9+/_-]{200,}={0,2}")


def attachment_mark(part: Attachment) -> str:
    """``[image/png, 146 KB]``: what it is, its name, and how large it is or where it lies."""
    kind = part.mime or part.kind
    if part.data is not None:
        where = size_in_words(len(part.data))
    elif part.url is not None and part.url[:5].lower() == "data:":
        where = f"{size_in_words(len(part.url.partition(',')[2]) * 3 // 4)} in its address"
    else:
        where = part.file_id or str(part.url)
        where = where if len(where) <= 80 else f"{where[:79]}…"
    return f"[{', '.join(piece for piece in (kind, part.name, where) if piece)}]"


def foreign_mark(part: Foreign) -> str:
    """``[web_search_call] {...}``: what it is, and its JSON without the long runs of encoded data in it."""
    readable = _ENCODED.sub(lambda run: f"[{size_in_words(len(run[0]) * 3 // 4)} of data]", part.raw)
    return f"[{part.kind}] {readable}"


def is_thought(part: Foreign) -> bool:
    """Whether it is what a model thought, in a form that only its provider reads."""
    return "thinking" in part.kind or "reasoning" in part.kind


def size_in_words(size: int) -> str:
    """A number of bytes for a person: ``146 KB``, by 1,024."""
    if size < _KILO:
        return f"{size} bytes"
    if size < _KILO * _KILO:
        return f"{size / _KILO:,.0f} KB"
    return f"{size / _KILO / _KILO:,.1f} MB"
