"""A fair lock for many readers or one writer, safe under cancellation at every await.

First come, first served: nobody passes a waiting writer, and readers that stand next to each other enter together.
It is not re-entrant: a task that holds it and asks again is refused at once, except that a reader may read again (it
joins what it holds and never queues behind a waiting writer, which would be a deadlock).

All state changes happen between awaits, so there is nothing to protect. A granted waiter whose task is cancelled
before it runs again gives the lock back in the handler of its own cancellation.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Literal

from msgspec import Struct

from koogbook import clock
from koogbook.errors import NestedSessionError, SessionTimeoutError, WrongLoopError

Mode = Literal["read", "write"]


class Ticket:
    """One wish for the lock: who wants it, from where, since when."""

    __slots__ = ("future", "mode", "number", "place", "since", "task", "who")

    def __init__(self, number: int, mode: Mode, who: str, place: str) -> None:
        self.number = number
        self.mode = mode
        self.who = who
        self.place = place
        self.since = clock.monotonic()
        self.task: asyncio.Task[object] | None = None
        self.future: asyncio.Future[None] | None = None


class LockEntry(Struct, frozen=True):
    """A holder or a waiter, as plain data; ``since`` is on the monotonic clock."""

    session: int
    mode: Mode
    who: str
    place: str
    since: float


class LockStatistics(Struct, frozen=True):
    """The state of a lock at one moment; reading it takes no lock."""

    readers: tuple[LockEntry, ...]
    writer: LockEntry | None
    queue: tuple[LockEntry, ...]


def require_timeout(seconds: float) -> float:
    """The same number of seconds, where it can bound a wait.

    Raises:
        ValueError: It is negative or not a number.
    """
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= 0:
        raise ValueError(
            f"A wait is bounded by 0 or more seconds, or by math.inf for none; got {seconds!r}. Nothing was waited for."
        )
    return seconds


class RWLock:
    """See the module."""

    __slots__ = ("_holders", "_loop", "_queue", "name")

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._holders: dict[int, Ticket] = {}
        self._queue: deque[Ticket] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None

    def statistics(self) -> LockStatistics:
        """Readers, writer and queue, without taking the lock."""
        holding = [_entry(ticket) for ticket in self._holders.values()]
        return LockStatistics(
            readers=tuple(entry for entry in holding if entry.mode == "read"),
            writer=next((entry for entry in holding if entry.mode == "write"), None),
            queue=tuple(_entry(ticket) for ticket in self._queue),
        )

    def ahead_of(self, ticket: Ticket) -> tuple[int, ...]:
        """The numbers of the sessions that hold the lock or stand before this one."""
        before = [other.number for other in self._queue if other is not ticket]
        return (*self._holders, *before)

    def try_acquire(self, ticket: Ticket) -> bool:
        """Take the lock if that needs no waiting.

        Raises:
            NestedSessionError: The current task holds it already, in a way that excludes this wish.
            WrongLoopError: The lock was used on another event loop before, and is still in use there.
        """
        task = asyncio.current_task()
        ticket.task = task
        self._check_loop()
        for held in self._holders.values():
            if held.task is task:
                if held.mode == "read" and ticket.mode == "read":
                    self._holders[ticket.number] = ticket
                    return True
                raise NestedSessionError(
                    f"This task asked for a {ticket.mode} session on context {self.name!r} at {ticket.place}, "
                    f"while its own {held.mode} session from {held.place} is still open. Waiting would never end; "
                    "nothing was changed. Hand the open session on to the code inside, or open this one after "
                    "the block has ended. ctx.llm.committed can be read at any time.",
                    first=held.place,
                    second=ticket.place,
                )
        if not self._queue and self._fits(ticket):
            self._holders[ticket.number] = ticket
            return True
        return False

    async def wait(self, ticket: Ticket, timeout: float) -> None:
        """Queue up and wait until the lock is granted.

        Raises:
            SessionTimeoutError: It took longer than ``timeout`` seconds; the ticket left the queue.
        """
        future = asyncio.get_running_loop().create_future()
        ticket.future = future
        self._queue.append(ticket)
        timer = clock.call_later(timeout, lambda: self._give_up(ticket, timeout)) if timeout < 1e9 else None
        try:
            await future
        except BaseException:
            self.withdraw(ticket)
            raise
        finally:
            if timer is not None:
                timer.cancel()

    def withdraw(self, ticket: Ticket) -> None:
        """Give back the lock, or the place in the queue; whoever is next then enters."""
        if self._holders.pop(ticket.number, None) is None and ticket in self._queue:
            self._queue.remove(ticket)
        self._grant()

    release = withdraw

    def _fits(self, ticket: Ticket) -> bool:
        if not self._holders:
            return True
        return ticket.mode == "read" and all(held.mode == "read" for held in self._holders.values())

    def _grant(self) -> None:
        while self._queue:
            ticket = self._queue[0]
            if ticket.future is None or ticket.future.done():
                self._queue.popleft()
                continue
            if not self._fits(ticket):
                return
            self._queue.popleft()
            self._holders[ticket.number] = ticket
            ticket.future.set_result(None)

    def _give_up(self, ticket: Ticket, timeout: float) -> None:
        if ticket.future is None or ticket.future.done():
            return
        holders = ", ".join(
            f"the {held.mode} session of {held.who or 'a task'} at {held.place}"
            for held in self._holders.values()
        )
        ticket.future.set_exception(
            SessionTimeoutError(
                f"The {ticket.mode} session asked for at {ticket.place} waited {timeout:g} s for context "
                f"{self.name!r}, which is held by {holders or 'nobody'}. Nothing was changed. Shorten the block "
                "there, or wait longer: session(timeout=...)."
            )
        )

    def _check_loop(self) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is loop:
            return
        if self._loop is not None and (self._holders or self._queue):
            raise WrongLoopError(
                f"Context {self.name!r} is in use on another event loop. A lock belongs to one loop; make the run "
                "on this loop, or hand the work over with asyncio.run_coroutine_threadsafe."
            )
        self._loop = loop


def _entry(ticket: Ticket) -> LockEntry:
    return LockEntry(ticket.number, ticket.mode, ticket.who, ticket.place, ticket.since)
