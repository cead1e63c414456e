"""How a file spelled a message where that is not how an export would, kept so that it comes out as it went in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, Final

from koogbook.messages.codec import encode_message
from koogbook.messages.message import Message, message
from koogbook.messages.parts import Part

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def parts_mark(role: Any, parts: Sequence[Part]) -> str:
    """A short hash of parts, by which an export sees that they are still the ones of the import."""
    encoded = encode_message(message(role, parts, id="", time=_EPOCH))
    return blake2b(encoded, digest_size=8).hexdigest()


def spelling(one: Message, original: Any, plain: Any) -> dict[str, Any]:
    """What a message keeps in its metadata of ``original``, where an export would give ``plain``; empty if the same."""
    change = difference(original, plain)
    return {} if change is None else {"parts": parts_mark(one.role, one.parts), "change": change}


def respelled(one: Message, kept: Any, plain: Any) -> Any:
    """``plain`` as the file spelled it; as it is where the message was changed since, or keeps nothing."""
    if isinstance(kept, dict) and "change" in kept and kept.get("parts") == parts_mark(one.role, one.parts):
        return restored(plain, kept["change"])
    return plain


def difference(original: Any, plain: Any) -> dict[str, Any] | None:
    """A JSON value that turns ``plain`` into ``original`` by :func:`restored`; None where they are the same."""
    if isinstance(original, dict) and isinstance(plain, dict):
        more = {key: value for key, value in original.items() if key not in plain}
        less = [key for key in plain if key not in original]
        inner = {
            key: change
            for key, value in original.items()
            if key in plain and (change := difference(value, plain[key])) is not None
        }
        parts = {"more": more, "less": less, "in": inner}
        return {name: part for name, part in parts.items() if part} or None
    if isinstance(original, list) and isinstance(plain, list) and len(original) == len(plain):
        changes = {
            str(index): change
            for index, (value, other) in enumerate(zip(original, plain, strict=True))
            if (change := difference(value, other)) is not None
        }
        return {"at": changes} if changes else None
    # True is 1 and 1.0 in Python, and neither in JSON.
    return None if type(original) is type(plain) and original == plain else {"is": original}


def restored(plain: Any, change: dict[str, Any] | None) -> Any:
    """The value from which :func:`difference` made this change, for the same ``plain``."""
    if change is None:
        return plain
    if "is" in change:
        return change["is"]
    if "at" in change:
        return [restored(value, change["at"].get(str(index))) for index, value in enumerate(plain)]
    inner = change.get("in", {})
    kept = {
        key: restored(value, inner.get(key))
        for key, value in plain.items()
        if key not in change.get("less", ())
    }
    return {**kept, **change.get("more", {})}


def added_fields(change: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The fields with something in them that a change adds to what an export would write, the type of a block aside."""
    added = list(change.get("more", {}).items())
    if isinstance(change.get("is"), list):  # texts that were joined
        for block in change["is"]:
            if isinstance(block, dict) and isinstance(block.get("text"), str):
                added += [(name, value) for name, value in block.items() if name != "text"]
    yield from ((name, value) for name, value in added if value and name != "type")
    for inner in (*change.get("in", {}).values(), *change.get("at", {}).values()):
        yield from added_fields(inner)
