"""The limits of waits, with one timer for all who begin to wait at about the same moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from koogbook import clock

if TYPE_CHECKING:
    from koogbook.llm.rw_lock import Ticket

UNLIMITED = 1e9  # seconds, about 32 years, from which on a wait has no limit: a timer does not take infinity
#: So much earlier a wait may end because another one began earlier: as a part of the limit, and in seconds.
_AT_ONCE, _LONGEST = 1e-4, 0.01


class WaitLimit:
    """Ends the waits of its tickets after so many seconds of the clock, or of the machine's where that stands still."""

    __slots__ = ("_first", "_give_up", "_last", "_tickets", "_timer", "_waiting", "seconds")

    def __init__(self, ticket: Ticket, seconds: float, give_up: Callable[[Ticket, float], None]) -> None:
        self.seconds = seconds
        self._give_up = give_up
        self._first, self._last = ticket.since, ticket.since + min(seconds * _AT_ONCE, _LONGEST)
        self._tickets = [ticket]
        self._waiting = 1
        self._timer = clock.deadline(seconds, self._end)

    def takes(self, ticket: Ticket, seconds: float) -> bool:
        """Take one more that waits from now on for so many seconds, if this limit is right for it."""
        if seconds != self.seconds or not self._waiting or not self._first < ticket.since <= self._last:
            return False
        self._tickets.append(ticket)
        self._waiting += 1
        return True

    def end(self) -> None:
        """One of them waits no more; the last one takes the timer along."""
        self._waiting -= 1
        if self._waiting == 0:
            self._timer.cancel()
            self._tickets = []

    def _end(self) -> None:
        for ticket in self._tickets:
            self._give_up(ticket, self.seconds)
