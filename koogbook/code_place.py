"""Where in the user's code something was asked for: the file and line, and the cell of a notebook."""

from __future__ import annotations

import linecache
import sys
from functools import lru_cache
from types import FrameType
from typing import Protocol

from msgspec import Struct

_RUNTIME = (
    "koogbook.agents.",
    "koogbook.code_place.",
    "koogbook.compression.",
    "koogbook.features.",
    "koogbook.llm.",
    "koogbook.runtime.",
)
_LINES_AROUND = 2


class Cell(Struct, frozen=True):
    """A run of a notebook cell: the front end's id of the cell, a number that grows with every run, its name."""

    id: str
    run: int
    name: str


class CodeExcerpt(Struct, frozen=True):
    """A few lines of code around the one meant; ``first`` is the number of the first one, ``marked`` of that one."""

    first: int
    marked: int
    lines: tuple[str, ...]


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


def is_interactive() -> bool:
    """Whether code is typed in piece by piece, and may run again: a shell or a notebook, and no script."""
    return hasattr(sys, "ps1")


def calling_place(above: int = 0) -> str:
    """``file:line`` of the nearest frame outside the runtime, ``cell 3:line`` for the code of a cell.

    ``above`` is how many frames from the caller on are the runtime's for certain.
    """
    frame = sys._getframe(1 + above)
    kinds = _kinds
    while (kind := kinds[frame.f_globals.get("__name__", "")]) == "runtime" and frame.f_back is not None:
        frame = frame.f_back
    return _in_file(frame.f_code.co_filename, frame.f_lineno) if _notebook is None else _place(frame, kind)


def calling_line(above: int = 0) -> tuple[str, str, int]:
    """The place as :func:`calling_place` gives it, with the file name of its code and the number of its line.

    ``above`` is how many frames above the caller are the runtime's for certain.
    """
    frame = sys._getframe(1 + above)
    while (kind := _kinds[frame.f_globals.get("__name__", "")]) == "runtime" and frame.f_back is not None:
        frame = frame.f_back
    if kind == "magic":
        frame = _cell_of(frame)
    return _place(frame, kind), frame.f_code.co_filename, frame.f_lineno


def place_of(path: str, line: int) -> str:
    """``file:line``, ``cell 3:line`` for the code of a cell, by the file name of the code."""
    # The notebook is asked each time: a cell that runs again has the file name from before and another number.
    named = None if _notebook is None else _notebook.file_name(path)
    return f"{named}:{line}" if named else _in_file(path, line)


def excerpt(path: str, line: int) -> CodeExcerpt | None:
    """Five lines of the code of this file name around this one, as they are now; None where it cannot be read.

    The code of a cell has its file name, too.
    """
    linecache.checkcache(path)
    lines = linecache.getlines(path)
    if not 1 <= line <= len(lines):
        return None
    first = max(1, line - _LINES_AROUND)
    shown = lines[first - 1 : line + _LINES_AROUND]
    return CodeExcerpt(first, line, tuple(one.rstrip("\n") for one in shown))


def _place(frame: FrameType, kind: str) -> str:
    if kind == "magic":
        frame = _cell_of(frame)
    return place_of(frame.f_code.co_filename, frame.f_lineno)


def _cell_of(magic: FrameType) -> FrameType:
    """The frame of the cell that a magic stands in; the magic's own where there is none."""
    frame: FrameType | None = magic
    while frame is not None and _notebook is not None:
        if _notebook.file_name(frame.f_code.co_filename) is not None:
            return frame
        frame = frame.f_back
    return magic


class _Kinds(dict[str, str]):
    """What each module is: ``runtime``, ``magic``, or code of somebody else."""

    def __missing__(self, module: str) -> str:
        kind = (
            "runtime" if f"{module}.".startswith(_RUNTIME) else "magic" if module.startswith(_MAGICS) else ""
        )
        self[module] = kind
        return kind


_kinds = _Kinds()


@lru_cache(maxsize=1024)
def _in_file(path: str, line: int) -> str:
    return f"{path.rpartition('/')[2]}:{line}"
