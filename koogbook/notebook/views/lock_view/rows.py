"""The sessions in the events of a run, one row each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from koogbook.code_place import CodeExcerpt
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

Outcome = Literal[
    "committed", "discarded", "ended", "open", "waiting", "asking", "refused", "timed out", "gave up"
]

#: What went wrong in such a way that somebody should look at it.
ERRORS: frozenset[Outcome] = frozenset({"discarded", "refused", "timed out"})


#: Seconds by which the wall clock of one process may drift while it runs.
_SAME_CLOCK = 1.0

#: What came to its end while a session had not: its run, or the record of it.
Stopped = Literal["", "run", "trace"]

_LEFT_OPEN: dict[tuple[Outcome, Stopped], str] = {
    ("open", "run"): "never closed",
    ("open", "trace"): "open at the end of the trace",
    ("waiting", "trace"): "waiting at the end of the trace",
    ("asking", "trace"): "asking at the end of the trace",
}


class SessionRow(Struct, frozen=True, kw_only=True):
    """One session. Times are seconds since the first event; ``end`` is now for one that is not over.

    ``asking`` is one that has just been asked for: it neither has the lock nor stands in the queue.

    ``acquired`` is None for one that never held the lock, ``queued`` says that it had to wait, from ``queued_at`` on,
    and ``ahead`` for which sessions; ``ahead_more`` is how many there were besides. ``messages`` and ``tokens`` are
    those of the prompt that was committed, ``slow`` is how long it had been held when that was reported. ``first``,
    ``first_mode`` and the two excerpts of code belong to a refusal, and so does ``waits``: how the holder waits for the
    task that asked, empty where both are one task. ``holders`` belong to one that timed out. ``stopped`` says why
    nothing more will come of a session that is not over.
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
    queued_at: float = 0.0
    ahead: tuple[int, ...] = ()
    ahead_more: int = 0
    messages: int = 0
    tokens: int = 0
    error: str = ""
    slow: float = 0.0
    first: str = ""
    first_mode: SessionMode = "write"
    first_code: CodeExcerpt | None = None
    code: CodeExcerpt | None = None
    waits: str = ""
    holders: tuple[str, ...] = ()
    run: str = ""
    stopped: Stopped = ""

    @property
    def word(self) -> str:
        """How it ended, or how far it is, in words."""
        word = _LEFT_OPEN.get((self.outcome, self.stopped), self.outcome)
        return f"{word}, slow" if self.slow else word

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
        """Neither open nor waiting nor asking."""
        return self.outcome not in ("open", "waiting", "asking")


def begin_of(events: Sequence[Event]) -> float:
    """The time of the first session event on the monotonic clock; 0 without one."""
    # A trace need not have them in the order of their times.
    return min((event.at for event in events if isinstance(event, SessionEvent)), default=0.0)


def on_one_clock(events: Sequence[Event]) -> tuple[Event, ...]:
    """Events of several runs on the monotonic clock of the first one.

    Each process has a monotonic clock of its own; where those of the runs do not agree, their wall times place them.
    """
    offsets: dict[str, float] = {}
    for event in events:
        if event.time:
            offsets.setdefault(event.run_id, event.time - event.at)
    if not offsets or max(offsets.values()) - min(offsets.values()) < _SAME_CLOCK:
        return tuple(events)
    first = next(iter(offsets.values()))
    moved = {run: offset - first for run, offset in offsets.items()}
    return tuple(replace(event, at=event.at + moved.get(event.run_id, 0.0)) for event in events)


def session_rows(
    events: Sequence[Event], begin: float, end: float, *, all_there: bool = False
) -> list[SessionRow]:
    """A row for each session, in the order in which they were asked for.

    Args:
        events: Of one run or of several.
        begin: The time on the monotonic clock at which the axis begins.
        end: Seconds from there to now.
        all_there: Nothing more will come: a session that is not over says what ended before it.
    """
    found: dict[tuple[str, int], SessionRow] = {}
    ended: set[str] = set()
    numbers = _Numbers()
    for event in events:
        if isinstance(event, SessionEvent):
            key = numbers.key(event)
            found[key] = _after(found.get(key), event, event.at - begin, numbers)
        elif isinstance(event, RunCompleted | RunFailed):
            ended.add(event.run_id)
    return [row if row.over else _unfinished(row, end, row.run in ended, all_there) for row in found.values()]


class _Numbers:
    """A number for each session. They are unique in a process; of another one's run, a number may be taken already."""

    def __init__(self) -> None:
        self._given: dict[tuple[str, int], int] = {}
        self._taken: set[int] = set()
        self._highest = 0
        self._last: dict[int, tuple[str, int]] = {}

    def key(self, event: SessionEvent) -> tuple[str, int]:
        """What tells the session of an event from all others; an event that names no run is of the one known last."""
        known = self._last.get(event.session)
        if known is None or (event.run_id and known[0] and known[0] != event.run_id):
            known = self._last[event.session] = (event.run_id, event.session)
        return known

    def of(self, run: str, session: int) -> int:
        """The number of a session, its own where that is free."""
        known = self._given.get((run, session))
        if known is None:
            known = self._highest + 1 if session in self._taken else session
            self._highest = max(self._highest, known)
            self._taken.add(known)
            self._given[run, session] = known
        return known

    def known(self, run: str, session: int) -> int:
        """The number of a session that another one waits for; its own where nothing is known of it."""
        return self._given.get((run, session), session)


def _after(row: SessionRow | None, event: SessionEvent, at: float, numbers: _Numbers) -> SessionRow:
    if row is None:
        row = SessionRow(
            number=numbers.of(event.run_id, event.session),
            run=event.run_id,
            context=event.context,
            mode=event.mode,
            who=event.who or event.path.rpartition("/")[2] or "a task",
            place=event.place,
            outcome="asking",
            opened=at,
            acquired=None,
            end=at,
        )
    match event:
        case SessionWaiting():
            ahead = tuple(numbers.known(event.run_id, number) for number in event.ahead)
            return replace(
                row, outcome="waiting", queued=True, queued_at=at, ahead=ahead, ahead_more=event.ahead_more
            )
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
            return replace(
                row,
                outcome="refused",
                end=at,
                first=event.first,
                first_mode=event.first_mode,
                first_code=event.first_code,
                code=event.code,
                waits=event.waits,
            )
        case SessionTimedOut():
            return replace(row, outcome="timed out", end=at, holders=event.holders)
        case SessionSlow():
            return replace(row, slow=event.held)
    return row


def _unfinished(row: SessionRow, now: float, run_over: bool, all_there: bool) -> SessionRow:
    """A session that is not over; one that was cancelled while it waited never had the lock, and its run is over."""
    if run_over and row.outcome in ("waiting", "asking"):
        return replace(row, end=now, outcome="gave up")
    stopped: Stopped = ("run" if run_over else "trace") if all_there else ""
    return replace(row, end=now, stopped=stopped)
