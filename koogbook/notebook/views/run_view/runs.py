"""The view of a run as an object: what it is of, and what can be done in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from koogbook import clock
from koogbook.agents.run import Run
from koogbook.notebook.views.look.markup import Element
from koogbook.notebook.views.run_view.state import RunState, run_state
from koogbook.notebook.views.run_view.view import run_element, run_text
from koogbook.notebook.views.view import Action, View


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

    def look(self) -> RunState:
        """The run so far."""
        return run_state(
            self.run,
            max_iterations=self._max_iterations,
            now=clock.glance() if self.goes_on else None,
            selected=self._subject.selected or None,
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

    def actions(self) -> Mapping[str, Action]:
        """Select a node by its path, let go of it, stop the run."""
        return {"select": self._select, "back": self._back, "stop": self._end}

    def _select(self, value: str) -> None:
        self.select("" if value == self._subject.selected else value)

    def _back(self, value: str) -> None:
        self.select("")

    def _end(self, value: str) -> None:
        if self._stop is not None:
            self._stop()
