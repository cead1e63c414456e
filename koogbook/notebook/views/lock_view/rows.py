"""The sessions in the events of a run, one row each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from koogbook.events import (
    Event,
    RunCompleted,
    RunFailed,
    SessionAcquired,
    SessionClosed,
    SessionCommitted,
    SessionDiscarded,
    SessionEvent,
    SessionMode,
    SessionRefused,
    SessionSlow,
    SessionTimedOut,
    SessionWaiting,
)

Outcome = Literal["committed", "discarded", "ended", "open", "waiting", "refused", "timed out", "gave up"]

#: What went wrong in such a way that somebody should look at it.
ERRORS: frozenset[Outcome] = frozenset({"discarded", "refused", "timed out"})


class SessionRow(Struct, frozen=True, kw_only=True):
    """One session. Times are seconds since the first event; ``end`` is now for one that is not over.

    ``acquired`` is None for one that never held the lock, ``queued`` says that it had to wait, and ``ahead`` for which
    sessions. ``messages`` and ``tokens`` are those of the prompt that was committed. ``first`` and ``first_mode``
    belong to a refusal, ``holders`` to one that timed out.
    """

    number: int
    context: str
    mode: SessionMode
    who: str
    place: str
    outcome: Outcome
    opened: float
    acquired: float | None
    end: float
    queued: bool = False
    ahead: tuple[int, ...] = ()
    messages: int = 0
    tokens: int = 0
    error: str = ""
    slow: float = 0.0
    first: str = ""
    first_mode: SessionMode = "write"
    holders: tuple[str, ...] = ()

    @property
    def waited(self) -> float:
        """Seconds in the queue; 0 for a session that got the lock, or its refusal, at once."""
        if not self.queued:
            return 0.0
        return (self.end if self.acquired is None else self.acquired) - self.opened

    @property
    def held(self) -> float | None:
        """Seconds with the lock, so far for one that is open; None for a session that never had it."""
        return None if self.acquired is None else self.end - self.acquired

    @property
    def over(self) -> bool:
        """Neither open nor waiting."""
        return self.outcome not in ("open", "waiting")


def begin_of(events: Sequence[Event]) -> float:
    """The time of the first session event on the monotonic clock; 0 without one."""
    return next((event.at for event in events if isinstance(event, SessionEvent)), 0.0)


def session_rows(events: Sequence[Event], begin: float, end: float) -> list[SessionRow]:
    """A row for each session, in the order in which they were asked for.

    Args:
        events: Of one run or of several.
        begin: The time on the monotonic clock at which the axis begins.
        end: Seconds from there to now.
    """
    found: dict[int, SessionRow] = {}
    runs: dict[int, str] = {}
    ended: set[str] = set()
    for event in events:
        if isinstance(event, SessionEvent):
            runs.setdefault(event.session, event.run_id)
            found[event.session] = _after(found.get(event.session), event, event.at - begin)
        elif isinstance(event, RunCompleted | RunFailed):
            ended.add(event.run_id)
    return [
        row if row.over else _unfinished(row, end, left=runs[row.number] in ended) for row in found.values()
    ]


def _after(row: SessionRow | None, event: SessionEvent, at: float) -> SessionRow:
    if row is None:
        row = SessionRow(
            number=event.session,
            context=event.context,
            mode=event.mode,
            who=event.who or event.path.rpartition("/")[2] or "a task",
            place=event.place,
            outcome="waiting",
            opened=at,
            acquired=None,
            end=at,
        )
    match event:
        case SessionWaiting():
            return replace(row, queued=True, ahead=event.ahead)
        case SessionAcquired():
            return replace(row, acquired=at, outcome="open")
        case SessionCommitted():
            return replace(row, outcome="committed", end=at, messages=event.messages, tokens=event.tokens)
        case SessionDiscarded():
            return replace(row, outcome="discarded", end=at, error=event.error)
        case SessionClosed():
            last: Outcome = "gave up" if row.acquired is None else "ended"
            return replace(row, outcome=row.outcome if row.over else last, end=at)
        case SessionRefused():
            return replace(row, outcome="refused", end=at, first=event.first, first_mode=event.first_mode)
        case SessionTimedOut():
            return replace(row, outcome="timed out", end=at, holders=event.holders)
        case SessionSlow():
            return replace(row, slow=event.held)
    return row


def _unfinished(row: SessionRow, now: float, *, left: bool) -> SessionRow:
    """A session that is not over; one that was cancelled while it waited never had the lock, and its run is over."""
    return replace(row, end=now, outcome="gave up" if left and row.outcome == "waiting" else row.outcome)
