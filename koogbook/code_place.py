"""Where in the user's code something was asked for: the file and line, and the cell of a notebook."""

from __future__ import annotations

import sys
from functools import lru_cache
from types import FrameType
from typing import Protocol

from msgspec import Struct

_RUNTIME = (
    "koogbook.agents.",
    "koogbook.compression.",
    "koogbook.features.",
    "koogbook.llm.",
    "koogbook.runtime.",
)


class Cell(Struct, frozen=True):
    """A run of a notebook cell: the front end's id of the cell, a number that grows with every run, its name."""

    id: str
    run: int
    name: str


class Notebook(Protocol):
    """What a notebook tells of its cells; :func:`set_notebook` takes one."""

    def cell(self) -> Cell | None:
        """The cell that is running now; None outside of one, or where the front end gives no id."""

    def file_name(self, path: str) -> str | None:
        """The name of the cell (``cell 3``) whose code has this file name; None for the code of a file."""


_notebook: Notebook | None = None


#: What is defined here is defined by a cell.
_MAGICS = "koogbook.notebook."


def set_notebook(notebook: Notebook | None) -> None:
    """Say which notebook the code runs in; None: in none."""
    global _notebook
    _notebook = notebook


def defining_cell() -> Cell | None:
    """The cell that is running now, so that what is defined belongs to it."""
    return None if _notebook is None else _notebook.cell()


def calling_place() -> str:
    """``file:line`` of the nearest frame outside the runtime, ``cell 3:line`` for the code of a cell."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_runtime(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    if frame.f_globals.get("__name__", "").startswith(_MAGICS):
        frame = _cell_of(frame)
    path = frame.f_code.co_filename
    # The notebook is asked each time: a cell that runs again has the file name from before and another number.
    named = None if _notebook is None else _notebook.file_name(path)
    return f"{named or _file_name(path)}:{frame.f_lineno}"


def _cell_of(magic: FrameType) -> FrameType:
    """The frame of the cell that a magic stands in; the magic's own where there is none."""
    frame: FrameType | None = magic
    while frame is not None and _notebook is not None:
        if _notebook.file_name(frame.f_code.co_filename) is not None:
            return frame
        frame = frame.f_back
    return magic


@lru_cache(maxsize=1024)
def _is_runtime(module: str) -> bool:
    return f"{module}.".startswith(_RUNTIME)


@lru_cache(maxsize=1024)
def _file_name(path: str) -> str:
    return path.rpartition("/")[2]
