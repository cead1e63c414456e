"""The view of a run as an object: what it is of, and what can be done in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from koogbook import clock
from koogbook.agents.run import Run
from koogbook.notebook.views.lock_view.locks import LockView, session_numbered
from koogbook.notebook.views.lock_view.rows import SessionRow
from koogbook.notebook.views.lock_view.state import in_order
from koogbook.notebook.views.look.markup import Element
from koogbook.notebook.views.run_view.state import RunState, run_state
from koogbook.notebook.views.run_view.view import run_element, run_text
from koogbook.notebook.views.view import Action, View, subject_of


class RunView(View[RunState]):
    """A run while it goes on and when it is over; shown by ``kb.watch``.

    Args:
        run: The run.
        max_iterations: How many node runs it may have.
        stop: What ends it; without one there is no button for it.
    """

    title = "Run"
    shares = "nodes"

    def __init__(self, run: Run, *, max_iterations: int, stop: Callable[[], Any] | None = None) -> None:
        self.run = run
        self._max_iterations = max_iterations
        self._stop = stop
        super().__init__(run)
        # What is selected among the sessions is the same in all lock views of this run.
        self._sessions = subject_of(LockView.shares or LockView.title, run)
        self._sessions.views.add(self)

    def look(self) -> RunState:
        """The run so far."""
        return run_state(
            self.run,
            max_iterations=self._max_iterations,
            now=clock.glance() if self.goes_on else None,
            selected=self._subject.selected or None,
            session=int(self._sessions.selected) if self._sessions.selected.isdecimal() else None,
        )

    def to_text(self) -> str:
        """ASCII text of at most 100 columns."""
        return run_text(self.state)

    @property
    def element(self) -> Element:
        """The markup, for a page."""
        return run_element(self.state)

    @property
    def goes_on(self) -> bool:
        """While the run does."""
        return self.run.state == "running"

    @property
    def session(self) -> SessionRow | None:
        """The selected session, or None."""
        selected = self.state.locks.selected
        return None if selected is None else selected.row

    def actions(self) -> Mapping[str, Action]:
        """Select a node by its path or a session by its number, let go of both, stop the run."""
        return {
            "select": self._select,
            "session": self._select_session,
            "back": self._back,
            "stop": self._end,
        }

    def _select(self, value: str) -> None:
        self.select("" if value == self._subject.selected else value)

    def _select_session(self, value: str) -> None:
        number = str(session_numbered(value, in_order(self.state.locks.lanes)).number)
        self._let_session("" if number == self._sessions.selected else number)

    def _let_session(self, number: str) -> None:
        self._sessions.selected = number
        for view in tuple(self._sessions.views):
            if view is not self:
                view.refresh()

    def _back(self, value: str) -> None:
        self.select("")
        self._let_session("")

    def _end(self, value: str) -> None:
        if self._stop is not None:
            self._stop()
