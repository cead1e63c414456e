"""A fair lock for many readers or one writer, safe under cancellation at every await.

First come, first served: nobody passes a waiting writer, and readers that stand next to each other enter together.
It is not re-entrant: a task that holds it and asks again is refused at once, except that a reader may read again (it
joins what it holds and never queues behind a waiting writer, which would be a deadlock).

One who waits for a holder that in turn waits for it is refused as well, within a moment: see
:mod:`koogbook.llm.wait_cycles` for which waits are seen. The limit of the wait ends the others.

All state changes happen between awaits, on the one loop that uses the lock; a guard keeps other threads out meanwhile.
A granted waiter whose task is cancelled before it runs again gives the lock back in the handler of its own
cancellation.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Any, Literal

from msgspec import Struct

from koogbook.errors import NestedSessionError, SessionTimeoutError, WrongLoopError
from koogbook.llm.cycle_watch import CycleWatch
from koogbook.llm.wait_limits import UNLIMITED, WaitLimit

Mode = Literal["read", "write"]

#: How many of those who stand before one are named.
_MOST_AHEAD = 64

_HAND_ON = (
    "Hand the open session on to the code inside, or open this one after the block has ended. "
    "ctx.llm.committed can be read at any time."
)


class Ticket:
    """One wish for the lock: who wants it, from where, since when on the monotonic clock.

    ``path`` and ``line`` are the file name and the line of the code at ``place``. For one that was refused, ``against``
    is the session that is open, and ``waits`` says how its task waits for this one, empty where both are one task.
    """

    __slots__ = (
        "against",
        "future",
        "limit",
        "line",
        "mode",
        "number",
        "path",
        "place",
        "since",
        "task",
        "waits",
        "who",
    )

    def __init__(
        self, number: int, mode: Mode, who: str, place: str, path: str = "", line: int = 0, since: float = 0.0
    ) -> None:
        self.number = number
        self.mode = mode
        self.who = who
        self.place = place
        self.path = path
        self.line = line
        self.since = since
        self.task: asyncio.Task[Any] | None = None
        self.future: asyncio.Future[None] | None = None
        self.limit: WaitLimit | None = None
        self.against: Ticket | None = None
        self.waits = ""

    @property
    def is_waiting(self) -> bool:
        """It stands in a queue, and nothing has come of it yet."""
        return self.future is not None and not self.future.done()


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

    __slots__ = (
        "_guard",
        "_holders",
        "_holding",
        "_limit",
        "_line",
        "_queue",
        "_watch",
        "_writer",
        "left_behind",
        "loop",
        "name",
    )

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._holders: dict[int, Ticket] = {}
        self._holding: dict[asyncio.Task[Any] | None, int] = {}  # how many sessions of the task
        self._writer: Ticket | None = None
        self._queue: deque[Ticket] = deque()
        #: Where it was used last.
        self.loop: asyncio.AbstractEventLoop | None = None
        #: Those of an event loop that was closed meanwhile: they hold and wait no more, and nobody has been told.
        self.left_behind: list[Ticket] = []
        self._guard = threading.Lock()  # two loops that come to a free lock at once
        self._limit: WaitLimit | None = None
        self._watch: CycleWatch | None = None
        #: The first numbers of those who hold and wait, as long as they only become more.
        self._line: tuple[int, ...] | None = None

    def statistics(self) -> LockStatistics:
        """Readers, writer and queue, without taking the lock."""
        holding = [_entry(ticket) for ticket in list(self._holders.values())]
        return LockStatistics(
            readers=tuple(entry for entry in holding if entry.mode == "read"),
            writer=next((entry for entry in holding if entry.mode == "write"), None),
            queue=tuple(_entry(ticket) for ticket in list(self._queue)),
        )

    def ahead_of(self, ticket: Ticket) -> tuple[tuple[int, ...], int]:
        """The first sessions that hold the lock or wait for it, while ``ticket`` is about to, and how many more.

        All numbers for each of a thousand that wait would be half a million.
        """
        if self._line is None:
            numbers = chain(self._holders, (other.number for other in self._queue))
            self._line = tuple(islice(numbers, _MOST_AHEAD))
        return self._line, len(self._holders) + len(self._queue) - len(self._line)

    def try_acquire(self, ticket: Ticket) -> bool:
        """Take the lock if that needs no waiting.

        Raises:
            NestedSessionError: The current task holds it already, in a way that excludes this wish.
            WrongLoopError: The lock is in use on another event loop.
        """
        loop = asyncio.get_running_loop()
        ticket.task = asyncio.current_task(loop)
        with self._guard:
            if self.loop is not loop:
                self._move_to(loop)
            if self._holders or self._queue:
                joins = ticket.task in self._holding and self._joins(ticket)
                if not joins and not self._may_enter(ticket):
                    return False
            self._enter(ticket)
        return True

    async def wait(self, ticket: Ticket, timeout: float) -> None:
        """Queue up and wait until the lock is granted.

        Raises:
            SessionTimeoutError: It took longer than ``timeout`` seconds; the ticket left the queue.
            NestedSessionError: A holder waits for this task, so that neither would go on; it left the queue.
            WrongLoopError: The lock is in use on another event loop.
        """
        try:
            await self.queue_up(ticket, timeout)
        except BaseException:
            self.withdraw(ticket)
            raise

    def queue_up(self, ticket: Ticket, timeout: float) -> asyncio.Future[None]:
        """Take a place in the queue; the future is for one who withdraws the ticket if it raises, see :meth:`wait`."""
        loop = asyncio.get_running_loop()
        with self._guard:
            if self.loop is not loop:
                self._move_to(loop)
            future = ticket.future = loop.create_future()
            self._queue.append(ticket)
        if self._line is not None and len(self._line) < _MOST_AHEAD:
            self._line += (ticket.number,)
        if timeout < UNLIMITED:
            limit = self._limit
            if limit is None or not limit.takes(ticket, timeout):
                limit = self._limit = WaitLimit(ticket, timeout, self._give_up)
            ticket.limit = limit
        if self._watch is None:
            self._watch = CycleWatch(self, loop)
        self._watch.look_at(ticket)
        if not self._holders:  # whoever was told of the wait has made room for it
            self._grant()
        return future

    def withdraw(self, ticket: Ticket) -> None:
        """Give back the lock, or the place in the queue; whoever is next then enters."""
        # Counted before: once the last one has gone, the queue may be that of another loop.
        others = len(self._queue)
        if (self._give_back(ticket) and others) or (self._leave_queue(ticket) and others > 1):
            self._grant()

    release = withdraw

    @property
    def holding(self) -> Mapping[asyncio.Task[Any] | None, int]:
        """The tasks that hold the lock, each with how many sessions."""
        return self._holding

    def waiting(self) -> Iterator[Ticket]:
        """Those in the queue of whom nothing has come yet."""
        return (ticket for ticket in self._queue if ticket.is_waiting)

    def is_watched_by(self, watch: CycleWatch) -> bool:
        """Whether it is still on the loop of this watch."""
        return self._watch is watch

    def refuse(self, ticket: Ticket, task: Any, how: str) -> None:
        """End the wait of one for whom the holder ``task`` waits in turn, through ``how``."""
        if ticket.future is not None:
            ticket.future.set_exception(self._refusal(ticket, self._held_by(task), how))

    def take_left_behind(self) -> list[Ticket]:
        """Those of a closed loop, once."""
        left, self.left_behind = self.left_behind, []
        return left

    # ---- who enters

    def _joins(self, ticket: Ticket) -> bool:
        """Whether its task, which holds the lock already, reads once more."""
        held = self._held_by(ticket.task)
        if held.mode == "write" or ticket.mode == "write":
            raise self._refusal(ticket, held)
        return True

    def _may_enter(self, ticket: Ticket) -> bool:
        """Whether one that comes now enters at once: nobody passes another one."""
        return not self._queue and self._fits(ticket)

    def _next(self) -> Ticket | None:
        """Who of the queue enters next, if that is possible now: the first one alone."""
        return self._queue[0] if self._queue and self._fits(self._queue[0]) else None

    def _fits(self, ticket: Ticket) -> bool:
        return not self._holders or (ticket.mode == "read" and self._writer is None)

    def _grant(self) -> None:
        """Let in whoever is next.

        Nobody comes from another loop as long as somebody of this one holds the lock or waits for it. So one enters
        before it leaves the queue, and nothing is touched after the last one has left.
        """
        if self.loop is None or self.loop.is_closed():
            return  # nobody there goes on; the first one on another loop finds them
        while (ticket := self._next()) is not None:
            future, is_last = ticket.future, len(self._queue) == 1
            enters = future is not None and not future.done()
            if enters:
                self._enter(ticket)
            self._leave_queue(ticket)
            if enters and future is not None:
                future.set_result(None)
            if is_last:
                return

    def _enter(self, ticket: Ticket) -> None:
        self._holders[ticket.number] = ticket
        self._holding[ticket.task] = self._holding.get(ticket.task, 0) + 1
        if ticket.mode == "write":
            self._writer = ticket
        self._line = None

    def _give_back(self, ticket: Ticket) -> bool:
        if ticket.number not in self._holders:
            return False
        if (more := self._holding[ticket.task] - 1) > 0:
            self._holding[ticket.task] = more
        else:
            del self._holding[ticket.task]
        self._writer = None
        self._line = None
        # The last step: once nobody holds it, another loop may take it.
        del self._holders[ticket.number]
        return True

    def _leave_queue(self, ticket: Ticket) -> bool:
        if ticket.future is None:
            return False
        try:
            self._queue.remove(ticket)
        except ValueError:
            return False
        self._line = None
        if ticket.limit is not None:
            ticket.limit.end()
            ticket.limit = None
        return True

    # ---- who is refused

    def _held_by(self, task: Any) -> Ticket:
        return next(held for held in self._holders.values() if held.task is task)

    def _refusal(self, ticket: Ticket, held: Ticket, how: str | None = None) -> NestedSessionError:
        """The error of one that asked while its own task, or one that waits for it, holds the lock."""
        ticket.against = held
        if how is None:
            whose = f"its own {held.mode} session from {held.place} is still open"
            end = "Waiting would never end"
        else:
            ticket.waits = f"awaits it through {how}" if how else "awaits it"
            whose = f"the {held.mode} session from {held.place} is open in a task that {ticket.waits}"
            end = "As long as both wait neither goes on"
        return NestedSessionError(
            f"This task asked for a {ticket.mode} session on context {self.name!r} at {ticket.place}, while {whose}. "
            f"{end}; nothing was changed. {_HAND_ON}",
            first=held.place,
            second=ticket.place,
        )

    def _give_up(self, ticket: Ticket, timeout: float) -> None:
        if ticket.future is None or ticket.future.done() or ticket.future.get_loop().is_closed():
            return
        holders = ", ".join(
            f"the {held.mode} session of {held.who or 'a task'} at {held.place}"
            for held in self._holders.values()
        )
        ticket.future.set_exception(
            SessionTimeoutError(
                f"The {ticket.mode} session asked for at {ticket.place} waited {timeout:g} s for context "
                f"{self.name!r}, which is held by {holders or 'nobody'}. Nothing was changed. Shorten the block "
                "there, or wait longer: session(timeout=...). A holder that itself waits for this task, by way of a "
                "queue, an event or a thread, would wait for ever."
            )
        )

    # ---- one loop at a time

    def _move_to(self, loop: asyncio.AbstractEventLoop) -> None:
        """Belong to this loop from now on."""
        before, users = self.loop, [*self._holders.values(), *self._queue]
        if before is not None and users:
            if not before.is_closed():
                used = users[0]
                raise WrongLoopError(
                    f"Context {self.name!r} is in use on another event loop: the {used.mode} session of "
                    f"{used.who or 'a task'} at {used.place} is on {_named(before)}, and this is {_named(loop)}. "
                    "Nothing was changed. A lock belongs to one loop as long as it is in use; make the run on this "
                    "loop, or hand the work over to the other one with asyncio.run_coroutine_threadsafe."
                )
            # Nothing on a closed loop goes on, so nobody there would ever give the lock back.
            self.left_behind += users
            self._holders.clear()
            self._holding.clear()
            self._queue.clear()
            self._writer = self._line = None
        self.loop = loop
        self._limit = None
        self._watch = None


def _entry(ticket: Ticket) -> LockEntry:
    return LockEntry(ticket.number, ticket.mode, ticket.who, ticket.place, ticket.since)


def _named(loop: asyncio.AbstractEventLoop) -> str:
    ident = getattr(loop, "_thread_id", None)
    thread = next((thread.name for thread in threading.enumerate() if thread.ident == ident), None)
    state = f"in thread {thread!r}" if thread else "running" if loop.is_running() else "not running"
    return f"{type(loop).__name__} {id(loop):#x} ({state})"
