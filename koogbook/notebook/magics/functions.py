"""The functions that a notebook calls for the magics, with all that goes wrong in one line."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import no_var_expand

from koogbook import clock
from koogbook.code_place import Notebook
from koogbook.errors import KoogbookError
from koogbook.notebook.magics.building import edge_magic, strategy_magic
from koogbook.notebook.magics.current import Current
from koogbook.notebook.magics.help import help_text
from koogbook.notebook.magics.magic import Magic
from koogbook.notebook.magics.node_cell import NodeCell
from koogbook.notebook.magics.node_source import node_function
from koogbook.notebook.magics.parsing import Given, parse, wants_help
from koogbook.notebook.magics.running import agent_magic, fork_magic, run_magic
from koogbook.notebook.magics.table import BY_NAME
from koogbook.notebook.magics.transcripts import export_magic, import_magic
from koogbook.notebook.magics.user_code import UserCode
from koogbook.notebook.magics.viewing import (
    checkpoints_magic,
    diff_magic,
    freeze_magic,
    graph_magic,
    locks_magic,
    prompt_magic,
)
from koogbook.notebook.magics.wrong_use import WrongUse, listed, nearest, one_line
from koogbook.notebook.pace import running_loop
from koogbook.notebook.views.look.measure import duration
from koogbook.tracebacks import from_users_code

_DONE_AT_ONCE: dict[str, Callable[[Current, Given], Any]] = {
    "koog_strategy": strategy_magic,
    "koog_edge": edge_magic,
    "koog_agent": agent_magic,
    "koog_graph": graph_magic,
    "koog_locks": locks_magic,
    "koog_prompt": prompt_magic,
    "koog_diff": diff_magic,
    "koog_checkpoints": checkpoints_magic,
    "koog_import": import_magic,
    "koog_export": export_magic,
    "koog_freeze": freeze_magic,
}
_AWAITED: dict[str, Callable[..., Awaitable[Any]]] = {"koog_run": run_magic, "koog_fork": fork_magic}


class MagicFunctions:
    """The functions of one notebook; what is current is theirs in common."""

    def __init__(self, shell: InteractiveShell, notebook: Notebook) -> None:
        self._shell = shell
        self._notebook = notebook
        self._node: NodeCell | None = None
        self.current = Current(UserCode(shell))

    def function(self, magic: Magic) -> Callable[..., Any]:
        """The function to register; its docstring is the help."""
        if magic.name == "koog_node":
            found = self._node_function(magic)
        elif magic.awaits:
            found = self._awaiting_function(magic)
        else:
            found = self._plain_function(magic)
        found.__name__ = found.__qualname__ = magic.name
        found.__doc__ = help_text(magic)
        # Braces in a condition are the user's own Python, and no place to put variables in.
        return no_var_expand(found) if magic.name in ("koog_edge", "koog_node") else found

    def cell_ended(self) -> None:
        """A ``%%koog_node`` cell that has not come to its end has failed in its body."""
        if self._node is not None:
            self._node.abandon()
            self._node = None

    # ------------------------------------------------------------------------------- done at once

    def _plain_function(self, magic: Magic) -> Callable[..., Any]:
        does = _DONE_AT_ONCE[magic.name]

        def run(line: str) -> Any:
            if wants_help(line):
                return print(help_text(magic))
            with _in_one_line(magic):
                return does(self.current, parse(magic, line))

        return run

    # ------------------------------------------------------------------------------- the cell of a node

    def _node_function(self, magic: Magic) -> Callable[..., Any]:
        def run(line: str, cell: str | None = None) -> Any:
            if wants_help(line):
                return print(help_text(magic))
            with _in_one_line(magic):
                if cell is None:
                    raise WrongUse(
                        "The function is missing.",
                        "Write %%koog_node in the first line of a cell, and the async function below it.",
                    )
                name = node_function(line, cell)
            self._begin(magic, line, name or "")
            try:
                self._shell.ex(self._shell.transform_cell(cell))
            except BaseException:
                self.cell_ended()
                raise
            self._end(magic)
            return None

        def begin(line: str, function: str) -> None:
            self._begin(magic, line, function)

        def end() -> None:
            self._end(magic)

        run.begin, run.end = begin, end  # type: ignore[attr-defined]
        return run

    def _begin(self, magic: Magic, line: str, function: str) -> None:
        with _in_one_line(magic):
            self._node = NodeCell(self.current, parse(magic, line), function)

    def _end(self, magic: Magic) -> None:
        ended, self._node = self._node, None
        if ended is not None:
            with _in_one_line(magic):
                ended.finish(self._notebook)

    # ------------------------------------------------------------------------------- awaited by the cell

    def _awaiting_function(self, magic: Magic) -> Callable[..., Any]:
        async def awaited(
            line: str, body: str | None = None, *, assigned: bool = False, timed: bool = False
        ) -> Any:
            # Braces behind --input are the user's own Python.
            before, flag, expression = line.partition("--input")
            expanded = f"{self._shell.var_expand(before, 1)}{flag}{expression}"
            started = clock.monotonic()
            try:
                return await self._awaited(magic, expanded, body, assigned)
            except UsageError:
                timed = False
                raise
            except BaseException as problem:
                problem.__traceback__ = from_users_code(problem)
                raise
            finally:
                if timed:
                    print(f"Wall time: {duration(clock.monotonic() - started)}")

        def run(line: str, cell: str | None = None) -> Any:
            if wants_help(line):
                return print(help_text(magic))
            if running_loop() is not None:
                raise UsageError(
                    f"{magic.sign}: It has to wait, and nothing can wait here, where the cell is running already. "
                    "Nothing was run. Write it alone in a line of the cell, not indented and not under another "
                    f"cell magic; a result goes to a variable with --to NAME. Or: {magic.call.partition('   #')[0]}"
                )
            return asyncio.run(self._awaited(magic, line, cell, False))

        run.awaited = awaited  # type: ignore[attr-defined]
        return run

    async def _awaited(self, magic: Magic, line: str, body: str | None, assigned: bool) -> Any:
        with _in_one_line(magic):
            given = parse(magic, line)
            default = next(flag.default for flag in magic.flags if flag.name == "--to")
            to = given.text("--to") or (default if default and not assigned else None)
            found = await _AWAITED[magic.name](self.current, given, body, to=to)
        # A run has its panel under the cell and its variable, and is not written there once more.
        return found if assigned or not default else None


@contextmanager
def _in_one_line(magic: Magic) -> Iterator[None]:
    try:
        yield
    except WrongUse as problem:
        raise UsageError(problem.line(magic.sign)) from problem
    except KoogbookError as problem:
        if magic.awaits:
            # What a run raises goes up as it is.
            raise
        raise UsageError(one_line(f"{magic.sign}: {problem}")) from problem


def unknown_magic(name: str) -> str:
    """What is said of a magic that is none of ours and has our prefix."""
    known = [f"%{one}" for one in BY_NAME]
    return one_line(
        f"There is no magic %{name}. Nothing was run. {nearest(f'%{name}', known)} "
        f"There is {listed(known, len(known))}."
    )
