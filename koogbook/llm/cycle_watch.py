"""Looks whether those who wait for a lock wait in a circle, and has one of them refused."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING
from weakref import WeakSet

from koogbook import clock
from koogbook.llm.wait_cycles import Awaited, Step, is_suspended, way_up

if TYPE_CHECKING:
    from koogbook.llm.rw_lock import RWLock, Ticket

_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0  # seconds between two looks at all waits
_PAUSE_PER_WAIT = 0.001  # a look costs the more the more there are

#: Of the locks that somebody waits for, or did a moment ago. The guard is for the set alone.
_watches: WeakSet[CycleWatch] = WeakSet()
_guard = threading.Lock()


class CycleWatch:
    """Watches one lock on one event loop, as long as somebody waits.

    Each new wait is looked at when the loop has turned once, when a task that has begun it awaits it already. All of
    them are looked at from time to time, because a holder may begin to await a task later on.
    """

    __slots__ = ("__weakref__", "_lock", "_loop", "_new", "_timer")

    def __init__(self, lock: RWLock, loop: asyncio.AbstractEventLoop) -> None:
        self._lock = lock
        self._loop = loop
        self._new: list[Ticket] = []
        self._timer: clock.TimerHandle | None = None

    def look_at(self, ticket: Ticket) -> None:
        """One more waits; to be called on the loop."""
        if not self._new:
            self._loop.call_soon(self._look_at_new)
        self._new.append(ticket)
        if self._timer is None:
            with _guard:
                _watches.add(self)
            self._look_later(waiting=1)

    def _look_at_new(self) -> None:
        new, self._new = self._new, []
        self._refuse_cycles(new)

    def _look_at_all(self) -> None:
        waiting = list(self._lock.waiting()) if self._lock.is_watched_by(self) else []
        if waiting:
            self._refuse_cycles(waiting)
            self._look_later(len(waiting))
        else:
            self._timer = None
            with _guard:
                _watches.discard(self)

    def _look_later(self, waiting: int) -> None:
        # On the machine's clock: while all tasks wait, nobody moves a fixed one.
        pause = min(_LONGEST_PAUSE, _SHORTEST_PAUSE + waiting * _PAUSE_PER_WAIT)
        self._timer = clock.MACHINE.call_later(pause, self._look_at_all)

    def _refuse_cycles(self, tickets: Iterable[Ticket]) -> None:
        goals = {task for task in self._lock.holding if task is not None and is_suspended(task)}
        if not goals:
            return
        with _guard:
            others = [
                watch._lock
                for watch in _watches
                if watch is not self and watch._loop is self._loop and watch._lock.is_watched_by(watch)
            ]

        def queued_behind(holder: Awaited) -> Iterator[Step]:
            for lock in others:
                if holder in lock.holding:
                    for ticket in lock.waiting():
                        if ticket.task is not None:
                            yield Step(ticket.task, f"the lock of context {lock.name!r}")

        dead_ends: set[int] = set()
        for ticket in tickets:
            if ticket.is_waiting and ticket.task is not None:
                found = way_up(ticket.task, goals, queued_behind, dead_ends)
                if found is not None:
                    self._lock.refuse(ticket, *found)
