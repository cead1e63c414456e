"""What the lock view says about sessions, as plain data: made from the session events alone."""

from __future__ import annotations

from collections import Counter
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
from koogbook.notebook.views.look.measure import count, duration

Outcome = Literal["committed", "discarded", "ended", "open", "waiting", "refused", "timed out", "gave up"]

#: Outcomes in the order of the counts sentence, with the words for them.
_COUNTED: tuple[tuple[Outcome, str], ...] = (
    ("committed", "{} committed"),
    ("discarded", "{} discarded"),
    ("ended", "{} read and ended"),
    ("open", "{} open"),
    ("waiting", "{} waiting"),
    ("refused", "{} refused"),
    ("timed out", "{} timed out"),
    ("gave up", "{} gave up waiting"),
)


class SessionRow(Struct, frozen=True, kw_only=True):
    """One session. Times are seconds since the first event; ``end`` is now for one that is not over.

    ``acquired`` is None for one that never held the lock, ``queued`` says that it had to wait. ``first`` and
    ``first_mode`` belong to a refusal.
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
    def over(self) -> bool:
        """Neither open nor waiting."""
        return self.outcome not in ("open", "waiting")


class Lane(Struct, frozen=True, kw_only=True):
    """The sessions of one LLM context, in the order in which they were asked for."""

    context: str
    sessions: tuple[SessionRow, ...]


class QueueRow(Struct, frozen=True, kw_only=True):
    """A session that holds a lock or waits for it, now."""

    context: str
    place: str
    mode: SessionMode
    who: str
    code: str
    since: float
    waits_for: tuple[str, ...]


class LockState(Struct, frozen=True, kw_only=True):
    """All sessions by context; ``seconds`` is the length of the axis, ``live``: something is not over."""

    status: str
    status_word: str
    lanes: tuple[Lane, ...]
    queue: tuple[QueueRow, ...]
    refused: tuple[SessionRow, ...]
    counts: str
    waits: str
    seconds: float
    live: bool
    total: int


def lock_state(events: Sequence[Event], *, now: float | None = None) -> LockState:
    """The sessions in the events of one run or of several, on an axis that begins with the first of them.

    ``now`` is the time on the monotonic clock for what is still open; without it, the last event's.
    """
    found: dict[int, SessionRow] = {}
    runs: dict[int, str] = {}
    begin = next((event.at for event in events if isinstance(event, SessionEvent)), 0.0)
    last = max((event.at for event in events), default=0.0)
    end = max(last if now is None else now, begin) - begin
    ended: set[str] = set()
    for event in events:
        if isinstance(event, RunCompleted | RunFailed):
            ended.add(event.run_id)
        elif isinstance(event, SessionEvent):
            runs.setdefault(event.session, event.run_id)
            found[event.session] = _after(found.get(event.session), event, event.at - begin)
    rows = [
        _left(row) if row.outcome == "waiting" and runs[row.number] in ended else row
        for row in (row if row.over else _until(row, end) for row in found.values())
    ]
    lanes: dict[str, list[SessionRow]] = {}
    for row in rows:
        lanes.setdefault(row.context, []).append(row)
    queue = _queue(rows, end)
    word, status = _sentence(rows, queue)
    return LockState(
        status=status,
        status_word=word,
        lanes=tuple(Lane(context=context, sessions=tuple(sessions)) for context, sessions in lanes.items()),
        queue=queue,
        refused=tuple(row for row in rows if row.outcome == "refused"),
        counts=_counts(rows, len(lanes)),
        waits=_waits(rows),
        seconds=end,
        live=any(not row.over for row in rows),
        total=len(rows),
    )


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


def _until(row: SessionRow, now: float) -> SessionRow:
    return replace(row, end=now)


def _left(row: SessionRow) -> SessionRow:
    """A session that was cancelled while it waited: its run is over, and it never had the lock."""
    return replace(row, outcome="gave up")


def _queue(rows: Sequence[SessionRow], now: float) -> tuple[QueueRow, ...]:
    names = {row.number: row.who for row in rows if not row.over}
    found: list[QueueRow] = []
    place: Counter[str] = Counter()
    unfinished = [row for row in rows if not row.over]
    for row in sorted(
        unfinished, key=lambda row: (row.context, row.outcome != "open", len(row.ahead), row.number)
    ):
        if row.outcome == "waiting":
            place[row.context] += 1
        found.append(
            QueueRow(
                context=row.context,
                place="holds" if row.outcome == "open" else _ordinal(place[row.context]),
                mode=row.mode,
                who=row.who,
                code=row.place,
                since=now - (row.opened if row.acquired is None else row.acquired),
                waits_for=tuple(names[number] for number in row.ahead if number in names),
            )
        )
    return tuple(found)


def _ordinal(number: int) -> str:
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _sentence(rows: Sequence[SessionRow], queue: Sequence[QueueRow]) -> tuple[str, str]:
    if not rows:
        return "not reached", "nothing has run yet: no session was opened"
    holding = [row for row in queue if row.place == "holds"]
    waiting = len(queue) - len(holding)
    if holding:
        first = holding[0]
        others = f" and {len(holding) - 1} more" if len(holding) > 1 else ""
        tail = f", {waiting} waiting" if waiting else ", nobody waits"
        return "holds", f"{first.mode} {first.who} holds {first.context}{others}{tail}"
    if waiting:
        return "waiting", f"{waiting} waiting, nobody holds a lock"
    troubles = [
        text.format(number)
        for outcome, text in _COUNTED
        if outcome in ("discarded", "refused", "timed out", "gave up")
        and (number := sum(row.outcome == outcome for row in rows))
    ]
    word = "refused" if any(row.outcome in ("refused", "timed out") for row in rows) else "done"
    over = "1 session, over" if len(rows) == 1 else f"all {count(len(rows), 'session')} over"
    return word, over + (f", {', '.join(troubles)}" if troubles else "")


def _counts(rows: Sequence[SessionRow], lanes: int) -> str:
    if not rows:
        return "no sessions"
    numbers = Counter(row.outcome for row in rows)
    parts = [text.format(numbers[outcome]) for outcome, text in _COUNTED if numbers[outcome]]
    return f"{count(len(rows), 'session')} in {count(lanes, 'context')}: {', '.join(parts)}"


def _waits(rows: Sequence[SessionRow]) -> str:
    slow = [row for row in rows if row.slow]
    longest = max(rows, key=lambda row: row.waited, default=None)
    if longest is None:
        return ""
    text = (
        f"Longest wait {duration(longest.waited)} ({longest.who})."
        if longest.waited > 0.0005
        else "No session had to wait."
    )
    if slow:
        named = max(slow, key=lambda row: row.slow)
        text += f" Held for long: {named.who}, over {duration(named.slow)} ({named.place})."
    return text
