"""Text for a terminal."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def on_one_line(text: str) -> str:
    """A text out of a file with nothing in it that a terminal would obey."""
    return _CONTROL.sub(lambda found: repr(found.group())[1:-1], text)


def counted(number: int, thing: str) -> str:
    """``1 view``, ``2 views``."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
