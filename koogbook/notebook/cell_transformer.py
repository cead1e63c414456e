"""Cells with magics that wait, or that hold a node, as the Python that they stand for.

``%%koog_run`` and ``%koog_fork`` become an ``await`` at the top level of the cell, on the kernel's own loop: there an
interrupt cancels the run, buttons answer, and locks are shared with the cells that await by themselves. An async magic
would run nothing, and one that waits by itself would block the loop.

``%%koog_node`` becomes one statement in the place of its line and one after the last line, so that the lines of the
function keep their numbers and its source can be read.
"""

from __future__ import annotations

import re

from IPython.core.error import UsageError
from IPython.core.inputtransformer2 import (
    assemble_continued_line,
    find_end_of_continued_line,
    make_tokens_by_line,
)
from IPython.core.interactiveshell import InteractiveShell

from koogbook.notebook.magics.functions import unknown_magic
from koogbook.notebook.magics.node_source import future_import_end, node_function
from koogbook.notebook.magics.parsing import wants_help
from koogbook.notebook.magics.table import BY_NAME, MAGICS
from koogbook.notebook.magics.wrong_use import WrongUse

_WAITING = "|".join(magic.name for magic in MAGICS if magic.awaits)
_CELL = re.compile(r"%%(koog_\w+)(.*)", re.DOTALL)
_LINE = re.compile(rf"(?:([^\W\d]\w*)\s*=\s*)?%({_WAITING})(?!\w)(.*)", re.DOTALL)
_UNKNOWN = re.compile(r"(?:[^\W\d]\w*\s*=\s*)?%(koog_\w+)")
_NESTED = re.compile(rf"\s*(?:[^\W\d]\w*\s*=\s*)?(%{{1,2}}(?:{_WAITING}))(?!\w|\s*\?)(.*)")
_INSIDE = re.compile(rf"(?:[^\W\d]\w*\s*=\s*)?(%(?:time|timeit|prun))\s.*?(%(?:{_WAITING}))(?!\w|\s*\?)(.*)")
_OTHER = re.compile(r"%%(\w+)(.*)", re.DOTALL)

#: Cell magics that take their body as text, and may show a magic without running it.
_OF_TEXT = frozenset(
    "HTML SVG bash file html javascript js latex markdown perl pypy python python2 python3 ruby script sh svg sx "
    "system writefile".split()
)


class CellTransformer:
    """What is put among a shell's transformers of whole cells."""

    #: Cells that cannot be are refused here, which must not happen while somebody is still typing.
    has_side_effects = True

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell

    def __call__(self, lines: list[str]) -> list[str]:
        """The cell as Python, or as it was.

        Raises:
            UsageError: A magic stands where it cannot be awaited, or has an unknown name.
        """
        at = _first_code(lines)
        if at is None or not any("%koog_" in line for line in lines):
            return lines
        other = _OTHER.match(lines[at])
        if other is None:
            return self._with_awaited_lines(lines)
        cell = _CELL.match(lines[at])
        if cell is not None:
            return self._cell(lines, at, cell[1], cell[2])
        return self._under_another(lines, at, other[1], other[2])

    # ------------------------------------------------------------------------------- whole cells

    def _cell(self, lines: list[str], at: int, name: str, rest: str, *, timed: bool = False) -> list[str]:
        magic = BY_NAME.get(name)
        if magic is None:
            raise UsageError(unknown_magic(name))
        if rest.lstrip().startswith("?") or magic.form == "line":
            return lines
        line = rest.strip()
        if wants_help(line):
            return [*lines[:at], f"get_ipython().run_line_magic({name!r}, '--help')\n"]
        if name == "koog_node":
            return self._with_awaited_lines(_node_cell(lines, at, line))
        return [*lines[:at], self._await(name, line, "".join(lines[at + 1 :]), timed=timed)]

    def _under_another(self, lines: list[str], at: int, other: str, rest: str) -> list[str]:
        """A magic that waits under ``%%time`` is timed; other cell magics run their body where nothing can wait."""
        inner = _first_code(lines, at + 1)
        if other == "time" and not rest.strip() and inner is not None:
            cell, line = _CELL.match(lines[inner]), _LINE.fullmatch(lines[inner].rstrip())
            within = ["\n" if place == at else text for place, text in enumerate(lines)]
            if cell is not None and cell[1] in BY_NAME and BY_NAME[cell[1]].awaits:
                return self._cell(within, inner, cell[1], cell[2], timed=True)
            alone = _first_code(lines, inner + 1) is None
            if line is not None and alone and not _is_help(line[3]):
                return [*within[:inner], self._await(line[2], line[3].strip(), None, line[1], timed=True)]
        if other not in _OF_TEXT:
            for text in lines[at + 1 :]:
                nested = _NESTED.match(text)
                if nested is not None and not wants_help(nested[2]):
                    raise UsageError(
                        f"{nested[1]}: It has to wait, and under %%{other} nothing can wait. Nothing was run. Take "
                        f"%%{other} away and write --to NAME: the result is in that variable, and nothing is printed."
                    )
        return lines

    # ------------------------------------------------------------------------------- lines

    def _with_awaited_lines(self, lines: list[str]) -> list[str]:
        """Each magic that waits, alone in its line at the top level, as an ``await``."""
        changed = True
        while changed:
            changed = False
            # What follows a magic can only be told apart when the magic has become Python: then from the beginning.
            for row in _statements(lines):
                end = find_end_of_continued_line(lines, row)
                text = assemble_continued_line(lines, (row, 0), end)
                found = _LINE.fullmatch(text.rstrip())
                if found is None:
                    _refuse(text)
                    continue
                if _is_help(found[3]):
                    continue
                # As many lines as before, so that the lines after it keep their numbers.
                blank = ["\n"] * (end - row)
                lines = [
                    *lines[:row],
                    self._await(found[2], found[3].strip(), None, found[1]),
                    *blank,
                    *lines[end + 1 :],
                ]
                changed = True
                break
        return lines

    def _await(
        self, name: str, line: str, body: str | None, target: str | None = None, *, timed: bool = False
    ) -> str:
        if not self._shell.autoawait:
            raise UsageError(
                f"%{name}: It has to wait, and top-level await is switched off. Nothing was run. "
                "Switch it on: %autoawait asyncio"
            )
        given = [repr(line)]
        if body is not None:
            given.append(repr(body))
        if target:
            given.append("assigned=True")
        if timed:
            given.append("timed=True")
        call = f"await get_ipython().find_line_magic({name!r}).awaited({', '.join(given)})\n"
        return f"{target} = {call}" if target else call


def _node_cell(lines: list[str], at: int, line: str) -> list[str]:
    body = lines[at + 1 :]
    text = "".join(body)
    try:
        function = node_function(line, text)
    except WrongUse as problem:
        raise UsageError(problem.line("%%koog_node")) from problem
    magic = "get_ipython().find_line_magic('koog_node')"
    begin, end = f"{magic}.begin({line!r}, {function or ''!r})", f"{magic}.end()\n"
    if body and not body[-1].endswith("\n"):
        body[-1] += "\n"
    place = future_import_end(text)
    if place is None:
        return [*lines[:at], f"{begin}\n", *body, end]
    row, column = place
    # Columns of a syntax tree count bytes.
    encoded = body[row].encode()
    body[row] = f"{encoded[:column].decode()}; {begin}{encoded[column:].decode()}"
    return [*lines[:at], "\n", *body, end]


def _first_code(lines: list[str], start: int = 0) -> int | None:
    """The first line that is neither empty nor a comment."""
    for place in range(start, len(lines)):
        text = lines[place].strip()
        if text and not text.startswith("#"):
            return place
    return None


def _statements(lines: list[str]) -> list[int]:
    """The lines, from 0, at which a statement begins at the top level: not inside of a text or of brackets."""
    if not any(known.match(line) for line in lines for known in (_LINE, _UNKNOWN, _INSIDE)):
        return []
    starts = []
    for tokens in make_tokens_by_line(lines):
        row, column = tokens[0].start
        if column == 0 and 0 < row <= len(lines):
            starts.append(row - 1)
    return starts


def _refuse(line: str) -> None:
    """Say what is wrong with a line that has one of our magics and is none that can be awaited."""
    inside = _INSIDE.match(line)
    if inside is not None and not wants_help(inside[3]):
        raise UsageError(
            f"{inside[2]}: It has to wait, and inside of {inside[1]} nothing can wait. Nothing was run. Write it alone "
            "in its line; for the time it takes, with %%time in the line above."
        )
    unknown = _UNKNOWN.match(line)
    if unknown is not None and unknown[1] not in BY_NAME:
        raise UsageError(unknown_magic(unknown[1]))


def _is_help(rest: str) -> bool:
    return rest.rstrip().endswith("?") or wants_help(rest)
