"""Time that passes only when nobody has anything left to do: a minute of waiting takes a moment, the same each time.

It belongs to an event loop of its own, in a thread of its own. The loop that calls and the clock of the process, which
a run may be using meanwhile, are never asked and never moved.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")


def in_virtual_time(main: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    """What the coroutine that ``main`` makes gives, run to its end in virtual time; what it started is then cancelled.

    Works in a script and where a loop is running already, as in a notebook; both wait for it. In there, everything
    that ``asyncio`` waits for with a timer is waited for in virtual seconds; :func:`now` counts them from 0.

    Raises:
        RuntimeError: All of it waits for something that nobody in there will ever do.
        Exception: What the coroutine raised.
    """
    # A thread that runs a loop cannot run a second one, so this one gets a thread.
    with ThreadPoolExecutor(1, "koogbook-virtual-time") as thread:
        return thread.submit(_run, main).result()


def now() -> float:
    """The virtual seconds so far; inside only."""
    return asyncio.get_running_loop().time()


async def sleep(seconds: float) -> None:
    """Wait for so many virtual seconds; inside only."""
    # Not clock.sleep: that is the time of the process.
    await asyncio.sleep(seconds)  # noqa: TID251


def _run(main: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    with asyncio.Runner(loop_factory=_VirtualLoop) as runner:
        return runner.run(main())


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


class _JumpingSelector(selectors.DefaultSelector):
    """Where a loop would sleep until its next timer, moves the time on to it."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if timeout is None and not ready:
            raise RuntimeError(
                "In virtual time everybody waits, and there is no timer that could wake anybody. It was ended here. "
                "Something that is waited for has to come from the same coroutine, not from another thread."
            )
        if not ready:
            self.now += timeout or 0.0
        return ready
