"""Numbers of tokens as files give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def count_in(value: Any, *path: str) -> int | None:
    """The whole number at a path of keys; None where there is none, or one that cannot be a count."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53
    return value if is_count else None


def summed(*counts: int | None) -> int | None:
    """The sum of the counts that are known; None where none is."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
