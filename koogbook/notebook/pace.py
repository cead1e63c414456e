"""When something that changes all the time is shown again: soon, but not more often than can be looked at."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

#: Of the time, what is shown again may take so much.
_SHARE = 0.2


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop that this code runs in, or None."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class Pace:
    """Calls a function soon after it was nudged, the last nudge never lost.

    Args:
        call: What is called, in the loop.
        loop: The loop; without one each nudge calls at once.
        every: Seconds between two calls at least; more where a call takes long.
        after: Seconds from a nudge to its call at least.
    """

    def __init__(
        self,
        call: Callable[[], None],
        loop: asyncio.AbstractEventLoop | None,
        *,
        every: float,
        after: float = 0.0,
    ) -> None:
        self._call = call
        self._loop = loop
        self._every = every
        self._after = after
        self._timer: asyncio.TimerHandle | None = None
        self._free_at = 0.0
        self._calling = self._again = self._stopped = False

    def nudge(self) -> None:
        """Ask for a call, from any thread."""
        loop = self._loop
        if loop is None or loop.is_closed():
            self._call_at_once()
        elif running_loop() is loop:
            self._plan(loop)
        else:
            loop.call_soon_threadsafe(self._plan, loop)

    def hurry(self) -> None:
        """Make a call that was asked for at once: somebody has clicked and is waiting. In the loop."""
        if self._timer is not None and self._loop is not None:
            self._timer.cancel()
            self._run(self._loop)

    def stop(self) -> None:
        """No more calls."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _call_at_once(self) -> None:
        if self._calling or self._stopped:
            return
        self._calling = True
        try:
            self._call()
        finally:
            self._calling = False

    def _plan(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._calling:
            self._again = True
        elif not self._stopped and self._timer is None:
            when = max(self._free_at, loop.time() + self._after)
            self._timer = loop.call_at(when, self._run, loop)

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        started = loop.time()
        self._calling, self._again = True, False
        try:
            self._call()
        finally:
            self._calling = False
        took = loop.time() - started
        self._free_at = started + max(self._every, took / _SHARE)
        if self._again:
            self._plan(loop)
