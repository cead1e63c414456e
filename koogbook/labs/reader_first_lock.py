"""The lock as Koog 1.3 has it, to be compared with the fair one: readers never wait for a waiting writer."""

from __future__ import annotations

from koogbook.llm.rw_lock import RWLock, Ticket


class ReaderFirstLock(RWLock):
    """A lock for many readers or one writer, in the order of Koog's ``RWLock``.

    There the first reader takes the mutex of the writers for all readers and the last one gives it back. So a reader
    enters whenever no writer holds the lock, whoever waits, and as long as readers overlap no writer enters. What waits
    for a writer comes in turn, and with the first reader all readers.

    The order is Koog's; the rest is that of :class:`RWLock`: nesting is refused, and a cancelled waiter or holder
    leaves nothing behind.
    """

    __slots__ = ()

    def _may_enter(self, ticket: Ticket) -> bool:
        """Whether one that comes now enters at once: whoever waits is passed."""
        return self._fits(ticket)

    def _next(self) -> Ticket | None:
        """Who of the queue enters next: the first one that can."""
        return next((ticket for ticket in self._queue if self._fits(ticket)), None)
