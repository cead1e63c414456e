"""Halves of characters in texts from files: where they are, and the texts without them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")


def lone_surrogates(value: Any) -> Iterator[tuple[str, list[int]]]:
    """The places of texts that hold halves of surrogate pairs, and where in the text they are."""
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        field, found = waiting.pop()
        if isinstance(found, dict):
            waiting.extend((f"{field}.{key}", inner) for key, inner in reversed(found.items()))
        elif isinstance(found, list):
            waiting.extend((f"{field}[{at}]", found[at]) for at in reversed(range(len(found))))
        elif isinstance(found, str) and not found.isascii():
            halves = [half.start() for half in _SURROGATE.finditer(found)]
            if halves:
                yield field, halves


def without_lone_surrogates(value: Any) -> Any:
    """The same JSON value with the replacement character U+FFFD for each half in its texts."""
    if isinstance(value, dict):
        return {key: without_lone_surrogates(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [without_lone_surrogates(inner) for inner in value]
    return _SURROGATE.sub("\ufffd", value) if isinstance(value, str) else value
