"""How far long work is: a bar while it goes on, one line when it is done, and nothing where nobody looks.

A bar appears when the work takes longer than :data:`PATIENCE`. It stands in a terminal or under a cell of a notebook;
``KOOGBOOK_STATIC=1``, a pipe and a log file get neither bar nor line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol

from koogbook import clock

#: Seconds after which work counts as long.
PATIENCE: Final = 1.0


class Output(Protocol):
    """Where a bar is drawn."""

    def write(self, text: str, /) -> int:
        """Write some text, and say how much."""

    def flush(self) -> None:
        """Let it be seen."""


class Progress:
    """Work that is going on; made by :func:`progress_bar`.

    ``summary`` is the line that stays when it is done, with what the work knows by then.
    """

    def __init__(self, what: str, total: int, unit: str, stream: Output | None) -> None:
        self.summary = what
        self._what = what
        self._total = total
        self._unit = unit
        self._stream = stream
        self._done = 0
        self._start = clock.glance() if stream is not None else 0.0
        self._bar: Any = None

    def reach(self, amount: int) -> None:
        """Say how much is done by now, in units; what is already said is not taken back."""
        if self._stream is None or amount <= self._done:
            return
        before, self._done = self._done, amount
        if self._bar is not None:
            self._bar.update(amount - before)
        elif clock.glance() - self._start > PATIENCE:
            self._bar = _bar(self._what, self._total, self._unit, self._stream, amount)

    def advance(self, amount: int = 1) -> None:
        """Say that so many more units are done."""
        self.reach(self._done + amount)

    def _close(self, *, finished: bool) -> None:
        if self._bar is None or self._stream is None:
            return
        self._bar.close()
        if finished:
            print(self.summary, file=self._stream, flush=True)


@contextmanager
def progress_bar(what: str, total: int, unit: str = "", *, shown: bool = True) -> Iterator[Progress]:
    """Show how far the work of a block is.

    Args:
        what: What is done, before the bar: ``reading many.jsonl``.
        total: How many units there are.
        unit: Their name; ``B`` for bytes, which are shown as kB and MB.
        shown: False for no bar and no line.
    """
    going = Progress(what, total, unit, _stream() if shown else None)
    finished = False
    try:
        yield going
        finished = True
    finally:
        going._close(finished=finished)


def _stream() -> Output | None:
    """Where a bar can move: a terminal, or the output of a cell; else None."""
    if os.environ.get("KOOGBOOK_STATIC", "") not in ("", "0"):
        return None
    if sys.stderr is not None and sys.stderr.isatty():
        return sys.stderr
    if not type(sys.stdout).__module__.startswith("ipykernel"):
        return None
    from koogbook.notebook.one_line import OneLine

    return OneLine()


def _bar(what: str, total: int, unit: str, stream: Output, done: int) -> Any:
    from tqdm import tqdm

    class Bar(tqdm):  # type: ignore[misc]
        monitor_interval = 0  # no thread that outlives the bar

    return Bar(
        desc=what,
        total=total,
        unit=unit or "it",
        unit_scale=unit == "B",
        initial=done,
        leave=False,
        file=stream,
        dynamic_ncols=False,
        ncols=80,
    )
