"""The lock view as an object: what it is of, and what can be done in it."""

from __future__ import annotations

from collections.abc import Sequence

from koogbook import clock
from koogbook.agents.run import Run
from koogbook.events import Event
from koogbook.notebook.views.lock_view.state import LockState, lock_state
from koogbook.notebook.views.lock_view.view import lock_element, lock_text
from koogbook.notebook.views.look.markup import Element
from koogbook.notebook.views.view import View


class LockView(View[LockState]):
    """The sessions of a run on its LLM contexts; made by ``kb.locks``."""

    title = "Lock view"

    def __init__(self, of: Run | Sequence[Event]) -> None:
        self._run = of if isinstance(of, Run) else None
        self._given: tuple[Event, ...] = () if isinstance(of, Run) else tuple(of)
        super().__init__(of)

    def look(self) -> LockState:
        """The sessions so far."""
        return lock_state(self._events(), now=clock.monotonic() if self.goes_on else None)

    def to_text(self) -> str:
        """ASCII text of at most 100 columns."""
        return lock_text(self.state)

    @property
    def element(self) -> Element:
        """The markup, for a page."""
        return lock_element(self.state)

    @property
    def goes_on(self) -> bool:
        """While the run does."""
        return self._run is not None and self._run.state == "running"

    def _events(self) -> Sequence[Event]:
        return self._given if self._run is None else self._run.events


def locks(run: Run | Sequence[Event]) -> LockView:
    """The sessions of a run on its LLM contexts: who held the lock, who waited, what was committed or discarded.

    Takes a run, or a sequence of events.

    Raises:
        TypeError: It is neither.
    """
    if not isinstance(run, Run) and not isinstance(run, Sequence):
        raise TypeError(f"locks takes a run, or a sequence of events, not {run!r:.60}.")
    return LockView(run)
