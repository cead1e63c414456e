"""Where in the user's code something was asked for."""

from __future__ import annotations

import sys

_INSIDE = (
    "koogbook.agents.",
    "koogbook.compression.",
    "koogbook.features.",
    "koogbook.llm.",
    "koogbook.runtime.",
)


def calling_place() -> str:
    """``file:line`` of the nearest frame outside the runtime."""
    frame = sys._getframe(1)
    while frame.f_back is not None and f"{frame.f_globals.get('__name__', '')}.".startswith(_INSIDE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}"
