"""The only module that reads time or makes ids.

Everything else asks here, so that :class:`FixedClock` and :func:`deterministic` can fix both for a test or a
notebook. Two kinds of time: *wall* time is an aware UTC datetime for people and stores, *monotonic* time is
seconds as a float for durations and order.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import random
import secrets
import time as _time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Protocol


class TimerHandle(Protocol):
    """What :func:`call_later` returns."""

    def cancel(self) -> None:
        """Do not call any more."""


class Clock(Protocol):
    """A source of time and ids."""

    def now(self) -> datetime:
        """Wall time, aware, UTC."""

    def monotonic(self) -> float:
        """Seconds that only grow."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""

    def call_later(self, seconds: float, callback: Callable[[], None]) -> TimerHandle:
        """Call once after so many seconds, on the running loop."""

    def new_id(self) -> str:
        """A fresh id: 16 hexadecimal digits."""


class SystemClock:
    """The machine's clock and its random numbers."""

    __slots__ = ()
    monotonic = staticmethod(_time.perf_counter)

    def now(self) -> datetime:
        """Wall time, aware, UTC."""
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    def call_later(self, seconds: float, callback: Callable[[], None]) -> TimerHandle:
        """Call once after so many seconds, on the running loop."""
        return asyncio.get_running_loop().call_later(seconds, callback)

    def new_id(self) -> str:
        """16 random hexadecimal digits."""
        return secrets.token_hex(8)


class _FixedTimer:
    __slots__ = ("callback",)

    def __init__(self, callback: Callable[[], None] | None) -> None:
        self.callback = callback

    def cancel(self) -> None:
        self.callback = None


class FixedClock:
    """A clock that moves only when told, with ids from a seed.

    Args:
        start: Wall time at the beginning; aware.
        tick: How far each reading moves the clock on. Zero keeps it still.
        seed: Same seed, same ids.

    Raises:
        ValueError: ``start`` has no time zone.
    """

    def __init__(
        self,
        start: datetime = datetime(2026, 1, 1, 9, 0, tzinfo=UTC),
        *,
        tick: timedelta = timedelta(0),
        seed: int = 0,
    ) -> None:
        if start.tzinfo is None:
            raise ValueError("FixedClock needs an aware start time: datetime(..., tzinfo=UTC).")
        self._start = start.astimezone(UTC)
        self._elapsed = 0.0
        self._tick = tick.total_seconds()
        self._random = random.Random(seed)
        self._timers: list[tuple[float, int, _FixedTimer]] = []
        self._order = itertools.count()

    def __repr__(self) -> str:
        return f"<fixed clock, {self._elapsed:g} s after {self._start:%Y-%m-%d %H:%M} UTC>"

    def now(self) -> datetime:
        """Wall time, aware, UTC."""
        return self._start + timedelta(seconds=self._read())

    def monotonic(self) -> float:
        """Seconds since the start."""
        return self._read()

    async def sleep(self, seconds: float) -> None:
        """Move the clock on by ``seconds`` and let other tasks run."""
        self.advance(seconds)
        await asyncio.sleep(0)

    def call_later(self, seconds: float, callback: Callable[[], None]) -> TimerHandle:
        """Call once when the clock has been moved on so far."""
        timer = _FixedTimer(callback)
        heapq.heappush(self._timers, (self._elapsed + seconds, next(self._order), timer))
        return timer

    @property
    def elapsed(self) -> float:
        """Seconds since the start, without moving it."""
        return self._elapsed

    def new_id(self) -> str:
        """16 hexadecimal digits from the seed."""
        return f"{self._random.getrandbits(64):016x}"

    def advance(self, seconds: float) -> None:
        """Move the clock on and call what was due meanwhile, in order."""
        target = self._elapsed + seconds
        while self._timers and self._timers[0][0] <= target:
            due, _, timer = heapq.heappop(self._timers)
            self._elapsed = max(self._elapsed, due)
            callback, timer.callback = timer.callback, None
            if callback is not None:
                callback()
        self._elapsed = max(self._elapsed, target)

    def _read(self) -> float:
        if self._tick:
            self.advance(self._tick)
        return self._elapsed


#: For looks at the process itself, such as who waits for whom: they are no part of what a program says of itself.
MACHINE = SystemClock()
_current: Clock = MACHINE
#: Seconds that only grow. The reading of the clock in use itself: it is asked for at every step.
monotonic: Callable[[], float] = _current.monotonic


def current() -> Clock:
    """The clock in use."""
    return _current


def now() -> datetime:
    """Wall time, aware, UTC."""
    return _current.now()


def glance() -> float:
    """The monotonic time for who only looks on: it does not move a fixed clock, so that looking changes nothing."""
    return _current.elapsed if isinstance(_current, FixedClock) else _current.monotonic()


async def sleep(seconds: float) -> None:
    """Wait for so many seconds of the clock in use."""
    await _current.sleep(seconds)


def call_later(seconds: float, callback: Callable[[], None]) -> TimerHandle:
    """Call once after so many seconds of the clock in use."""
    return _current.call_later(seconds, callback)


def deadline(seconds: float, callback: Callable[[], None]) -> TimerHandle:
    """Call once after so many seconds of the clock in use, or of the machine's where a fixed clock is not moved on.

    For what has to end: while all tasks wait, nobody moves a fixed clock.
    """
    if isinstance(_current, FixedClock):
        return _EitherTimer(_current, seconds, callback)
    return _current.call_later(seconds, callback)


class _EitherTimer:
    """A timer on a fixed clock and one on the machine's; the first that comes calls, and the other one never does."""

    __slots__ = ("_callback", "_timers")

    def __init__(self, fixed: FixedClock, seconds: float, callback: Callable[[], None]) -> None:
        self._callback: Callable[[], None] | None = callback
        self._timers = (fixed.call_later(seconds, self._come), MACHINE.call_later(seconds, self._come))

    def cancel(self) -> None:
        self._callback = None
        for timer in self._timers:
            timer.cancel()

    def _come(self) -> None:
        callback = self._callback
        self.cancel()
        if callback is not None:
            callback()


def new_id() -> str:
    """A fresh id: 16 hexadecimal digits."""
    return _current.new_id()


def deterministic(seed: int = 0, *, start: datetime = datetime(2026, 1, 1, 9, 0, tzinfo=UTC)) -> FixedClock:
    """Fix ids and clock for the whole process: the same program prints the same thing twice.

    Each reading of the clock moves it on by one millisecond, so that durations have a shape.
    """
    fixed = FixedClock(start, tick=timedelta(milliseconds=1), seed=seed)
    _take(fixed)
    return fixed


@contextmanager
def use(clock: Clock) -> Iterator[Clock]:
    """Use this clock inside the block, then the one before."""
    before = _current
    _take(clock)
    try:
        yield clock
    finally:
        _take(before)


def _take(clock: Clock) -> None:
    global _current, monotonic
    _current, monotonic = clock, clock.monotonic
