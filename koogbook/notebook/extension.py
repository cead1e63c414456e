"""``%load_ext koogbook``: the magics, the cells that await, completion, and which cell is running."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from itertools import count
from typing import Any

from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell

from koogbook.code_place import Cell, set_notebook
from koogbook.notebook import frame
from koogbook.notebook.cell_transformer import CellTransformer
from koogbook.notebook.magics.completion import completion_matcher
from koogbook.notebook.magics.functions import MagicFunctions
from koogbook.notebook.magics.table import MAGICS
from koogbook.notebook.pace import running_loop
from koogbook.runtime.cells import cell_ended, forget_cell

#: Numbers of runs of cells; they go on when koogbook is loaded again, since what was defined before knows its own.
_runs = count(1)


def load(shell: InteractiveShell) -> None:
    """Register everything; where it is registered already, nothing happens."""
    if _loaded(shell) is None:
        Extension(shell)


def unload(shell: InteractiveShell) -> None:
    """Take back everything; what was defined in cells stays."""
    extension = _loaded(shell)
    if extension is not None:
        extension.take_back()


def _loaded(shell: InteractiveShell) -> Extension | None:
    callbacks = (getattr(callback, "__self__", None) for callback in shell.events.callbacks["post_run_cell"])
    return next((one for one in callbacks if isinstance(one, Extension)), None)


class Extension:
    """What is registered with one shell."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._cells = RunningCells(shell)
        self._heartbeat = Heartbeat()
        self._functions = MagicFunctions(shell, self._cells)
        self._transformer = CellTransformer(shell)
        self._matcher = completion_matcher(self._functions.current)
        self._events: dict[str, Callable[..., None]] = {
            "pre_run_cell": self._cell_begins,
            "post_run_cell": self._cell_ended,
        }
        for magic in MAGICS:
            kind = "line" if magic.form == "line" else "line_cell"
            function: Any = self._functions.function(magic)
            shell.register_magic_function(function, kind, magic.name)
        shell.input_transformers_cleanup.append(self._transformer)
        shell.Completer.custom_matchers.append(self._matcher)
        for event, callback in self._events.items():
            shell.events.register(event, callback)
        set_notebook(self._cells)

    def take_back(self) -> None:
        """Undo all of it."""
        set_notebook(None)
        self._heartbeat.stop()
        for event, callback in self._events.items():
            self._shell.events.unregister(event, callback)
        self._shell.Completer.custom_matchers.remove(self._matcher)
        self._shell.input_transformers_cleanup.remove(self._transformer)
        for magic in MAGICS:
            for kind in ("line", "cell"):
                self._shell.magics_manager.magics[kind].pop(magic.name, None)

    def _cell_begins(self, info: ExecutionInfo) -> None:
        self._heartbeat.start()
        self._cells.begin(info)

    def _cell_ended(self, result: ExecutionResult | None) -> None:
        if self._cells.end(result):
            self._heartbeat.stop()
            self._functions.cell_ended()


class Heartbeat:
    """Wakes the loop now and then while a cell runs.

    An interrupt asks the loop to cancel the cell and does not wake it: a cell that awaits something long, with nothing
    else going on, would run to its end.
    """

    _SECONDS = 0.2

    def __init__(self) -> None:
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin, if a loop is running here."""
        self.stop()
        loop = running_loop()
        if loop is not None:
            self._timer = loop.call_later(self._SECONDS, self.start)

    def stop(self) -> None:
        """End."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class RunningCells:
    """Which cell is running, by the front end's id; what :class:`koogbook.code_place.Notebook` asks for."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        #: A task or a timer that a cell begins goes on in that cell, whichever runs meanwhile.
        self._cell: ContextVar[Cell | None] = ContextVar("koogbook_running_cell", default=None)
        #: What is running: a cell, and in it those that magics such as %%capture run.
        self._running: list[ExecutionInfo] = []
        self._request = ""
        #: The number of the last cell. Where no history is kept, all cells have the same one, and are counted here.
        self._number = max(shell.execution_count - 1, 1)
        self._files: dict[str, int] = {}

    def cell(self) -> Cell | None:
        """The cell that this code runs in; None outside of one, and where the front end gives no id."""
        return self._cell.get()

    def file_name(self, path: str) -> str | None:
        """``cell 3`` for the file name of the code of ``In[3]``."""
        if path in self._files:
            return f"cell {self._files[path]}"
        found = self._shell.compile.format_code_name(path)
        if found is None:
            return None
        return f"cell {found[1].removeprefix('In[').removesuffix(']')}"

    def begin(self, info: ExecutionInfo) -> None:
        """A cell begins, or one inside of it."""
        request = _request(self._shell)
        number = request.get("header", {}).get("msg_id", "")
        if self._running and number == self._request:
            self._running.append(info)
            return
        self._running, self._request = [info], number
        metadata = request.get("metadata", {})
        for deleted in metadata.get("deletedCells") or ():
            forget_cell(deleted)
            frame.cell_gone(deleted)
        self._number = self._shell.execution_count - 1 if info.store_history else self._number + 1
        source = info.raw_cell or ""
        self._files[self._shell.compile.get_code_name(source, source, self._number)] = self._number
        id = info.cell_id or metadata.get("cellId")
        if not id:
            self._cell.set(None)
            return
        self._cell.set(Cell(id=str(id), run=next(_runs), name=f"cell {self._number}"))
        frame.cell_gone(str(id))

    def end(self, result: ExecutionResult | None) -> bool:
        """A cell ends; says whether it is the outermost one."""
        if result is not None and self._running and result.info is not self._running[0]:
            self._running = [info for info in self._running if info is not result.info]
            return False
        cell, self._running = self._cell.get(), []
        self._cell.set(None)
        if cell is not None:
            cell_ended(cell, failed=result is None or not result.success)
        return True


def _request(shell: InteractiveShell) -> dict[str, Any]:
    """The message that asked for the cell; empty where no kernel runs it."""
    get_parent = getattr(shell, "get_parent", None)
    return (get_parent() or {}) if get_parent is not None else {}
