"""Where in the user's code something was asked for."""

from __future__ import annotations

import sys
from functools import lru_cache

_RUNTIME = (
    "koogbook.agents.",
    "koogbook.compression.",
    "koogbook.features.",
    "koogbook.llm.",
    "koogbook.runtime.",
)


def calling_place() -> str:
    """``file:line`` of the nearest frame outside the runtime."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_runtime(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    return f"{_file_name(frame.f_code.co_filename)}:{frame.f_lineno}"


@lru_cache(maxsize=1024)
def _is_runtime(module: str) -> bool:
    return f"{module}.".startswith(_RUNTIME)


@lru_cache(maxsize=1024)
def _file_name(path: str) -> str:
    return path.rpartition("/")[2]
