"""A look now and then at whether a live table is behind the runs of its agent."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Protocol
from weakref import ref

from koogbook.notebook.pace import running_loop

#: Seconds between two looks.
WATCHED_EVERY = 0.5


class Follows(Protocol):
    """What can look whether there is something new."""

    def follow(self) -> None:
        """Show what is new; costs next to nothing where nothing is."""

    def redraw(self) -> None:
        """Draw it again."""


class Watching:
    """Lets a view follow what goes on, as long as the view and the running loop are there.

    An agent has no list of those who look at it, so it is asked twice a second for what it has run last.
    """

    def __init__(self, view: Follows) -> None:
        self._view = ref(view)
        self._timer: asyncio.TimerHandle | None = None
        loop = running_loop()
        if loop is not None:
            self._wait(loop)

    def stop(self) -> None:
        """No more looks."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = loop.call_later(WATCHED_EVERY, partial(self._look, loop))

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        view = self._view()
        if view is not None:
            self._wait(loop)
            try:
                view.follow()
            except Exception:
                view.redraw()  # which fails as well, and says in the view why; here it would be said twice a second
