"""Runs that are over and lie in a trace, as what views are of: views know runs, and no files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from koogbook.agents.run import Run
from koogbook.agents.traced_run import TracedRun, run_of
from koogbook.errors import TraceError, ViewError
from koogbook.events import Event
from koogbook.trace import load_trace

#: How the name of a file ends, and hardly a text or the name of a strategy.
_SUFFIX = re.compile(r"\.\w{1,10}\Z")


def recorded(of: Any, run_id: str | None = None) -> Any:
    """The run of a trace file, given by its path, or of events; anything else, and a text that is no path, as it is.

    Raises:
        TypeError: A run id was given with something else.
        TraceError: The file is not there, is no trace, or cannot be read.
        ViewError: They are of several runs or of none, or none has this id.
    """
    if isinstance(of, str) and run_id is None and not _is_path(of):
        return of
    events: Any = events_at(of) if isinstance(of, str | Path) else of
    if isinstance(events, Sequence) and len(events) and all(isinstance(one, Event) for one in events):
        with as_view_error():
            return run_of(events, run_id)
    if isinstance(of, str | Path):
        raise ViewError(
            f"{Path(of).name} holds no event. Nothing is shown. kb.save_trace(run, path) writes those of a run."
        )
    if run_id is not None:
        raise TypeError(
            f"run_id={run_id!r} is one of a trace's: give its path, or its events. Nothing is shown."
        )
    return of


def events_at(path: str | Path) -> Sequence[Event]:
    """The events of the trace file that a view is to be of.

    Raises:
        TraceError: The file is not there, is no trace, or cannot be read.
    """
    try:
        return load_trace(path)
    except TraceError as problem:
        if isinstance(problem.__cause__, FileNotFoundError):
            raise TraceError(
                f"There is no file {str(path)!r:.200}. Nothing is shown. Check the path; kb.save_trace(run, path) "
                "writes one."
            ) from problem
        raise


def no_such_file(given: object) -> str:
    """What is to add to the refusal of a text that may have been meant as a path; empty for anything else."""
    return f" There is no file {given!r:.60}." if isinstance(given, str) and given else ""


def _is_path(text: str) -> bool:
    """Whether a text is the path of a file, there or not."""
    if not text or "\n" in text:
        return False
    try:
        if os.path.exists(os.path.expanduser(text)):
            return True
    except (OSError, ValueError):
        pass
    return "/" in text or os.sep in text or _SUFFIX.search(text) is not None


def is_going_on(run: Any) -> bool:
    """Whether more may come of a run; of a recorded one nothing does, wherever its trace ends."""
    return isinstance(run, Run) and not isinstance(run, TracedRun) and run.state == "running"


@contextmanager
def as_view_error() -> Iterator[None]:
    """Let what a trace does not hold be a view's error.

    Raises:
        ViewError: In place of a TraceError.
    """
    try:
        yield
    except TraceError as problem:
        raise ViewError(f"{problem} Nothing is shown.") from problem
