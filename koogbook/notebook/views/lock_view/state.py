"""What the lock view says about sessions, as plain data: made from the session events alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from koogbook.events import Event, Notice, RunCompleted, RunFailed
from koogbook.notebook.views.lock_view.queue import QueueRow, next_up, queue_rows
from koogbook.notebook.views.lock_view.rows import (
    ERRORS,
    Outcome,
    SessionRow,
    Stopped,
    begin_of,
    session_rows,
)
from koogbook.notebook.views.look.isolates import set_apart
from koogbook.notebook.views.look.measure import count, duration, thousands

__all__ = ["LockState", "SessionRow", "lock_state", "lock_state_at", "with_selection"]

#: How many sessions an enlarged part of a long run has.
WINDOW = 200

#: Seconds that no clock tells apart: what is not longer is a moment.
_MOMENT = 1e-9

#: Outcomes in the order of the counts sentence, with the words for them.
_COUNTED: tuple[tuple[Outcome, str], ...] = (
    ("committed", "{} committed"),
    ("discarded", "{} discarded"),
    ("ended", "{} read and ended"),
    ("open", "{} open"),
    ("waiting", "{} waiting"),
    ("asking", "{} asking"),
    ("refused", "{} refused"),
    ("timed out", "{} timed out"),
    ("gave up", "{} gave up waiting"),
)


class Lane(Struct, frozen=True, kw_only=True):
    """The sessions of one LLM context of one run, in the order in which they were asked for."""

    context: str
    sessions: tuple[SessionRow, ...]
    run: str = ""


class Replay(Struct, frozen=True, kw_only=True):
    """A moment of a run that is over: seconds since the first event, and the lanes of the whole run."""

    at: float
    lanes: tuple[Lane, ...]
    playing: bool = False


class Zoom(Struct, frozen=True, kw_only=True):
    """A part of a long run: the places of its first and last session, from 1, and seconds since the first event."""

    first: int
    last: int
    begin: float
    end: float

    def holds(self, row: SessionRow) -> bool:
        """Whether something of a session lies in it."""
        return row.opened <= self.end and row.end >= self.begin


class SelectedSession(Struct, frozen=True, kw_only=True):
    """The session that is selected: as it was at the moment shown, which of how many, and whom it waited for."""

    row: SessionRow
    position: int
    total: int
    waited_for: tuple[str, ...]
    waited_for_more: int = 0


class LockState(Struct, frozen=True, kw_only=True):
    """All sessions by context.

    ``seconds`` is the length of the axis, ``goes_on``: more can come, ``live``: and something is not over. ``errors``
    is how many sessions of the whole run went wrong. ``stopped`` says what ended while something was not over. In a
    replay everything is as it was at that moment; ``later`` is a session that is selected and had not been asked for
    by then. ``next_up`` says in words who enters next. ``runs`` are the runs where they are several, ``source`` is the
    name of the file, ``notes`` is what is to be said of it.

    In sentences each name is set apart (see :mod:`names`).
    """

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
    errors: int = 0
    goes_on: bool = False
    stopped: Stopped = ""
    next_up: str = ""
    runs: tuple[str, ...] = ()
    source: str = ""
    notes: tuple[str, ...] = ()
    replay: Replay | None = None
    zoom: Zoom | None = None
    selected: SelectedSession | None = None
    later: SessionRow | None = None

    @property
    def whole(self) -> tuple[Lane, ...]:
        """The lanes of the whole run, in a replay, too."""
        return self.lanes if self.replay is None else self.replay.lanes


def lock_state(events: Sequence[Event], *, now: float | None = None, source: str = "") -> LockState:
    """The sessions in the events of one run or of several, on an axis that begins with the first of them.

    ``now`` is the time on the monotonic clock for what is still open; without it nothing more comes, and it is the
    time of the last event. ``source`` is the name of the file that the events come from.
    """
    begin = begin_of(events)
    last = max((event.at for event in events), default=0.0)
    end = max(last if now is None else now, begin) - begin
    end = end if end > _MOMENT else 0.0
    rows = session_rows(events, begin, end, all_there=now is None)
    notes = tuple(
        event.text for event in events if isinstance(event, Notice) and event.kind.startswith("trace_")
    )
    state = _state(rows, end, goes_on=now is not None)
    if not rows and events:
        state = replace(state, status=_without_sessions(events, goes_on=now is not None), status_word="empty")
    return replace(state, source=source, notes=notes)


def _without_sessions(events: Sequence[Event], *, goes_on: bool) -> str:
    """What is to say of something that has run, and has opened no session so far."""
    over = {event.run_id for event in events if isinstance(event, RunCompleted | RunFailed)}
    if over:
        return f"the {'run is' if len(over) == 1 else 'runs are'} over: no session was opened"
    return "no session was opened yet" if goes_on else "the events end before any session was opened"


def lock_state_at(events: Sequence[Event], at: float, whole: LockState | None = None) -> LockState:
    """The sessions at a moment of a run that is over: made of what happened until then, on the axis of the whole run.

    At the end of the run it is the state without a replay.

    Args:
        events: Of the whole run.
        at: Seconds since the first session event.
        whole: The state of the whole run, where it is known.
    """
    whole = whole or lock_state(events)
    at = max(at, 0.0)
    if at >= whole.seconds:
        return whole
    begin = begin_of(events)
    rows = session_rows([event for event in events if event.at - begin <= at], begin, at)
    state = _state(rows, at, goes_on=False)
    sentence = state.status
    if not state.queue:
        ended = f"{thousands(state.total)} of {count(whole.total, 'session')} over"
        sentence = f"{ended}, nobody holds a lock"
    return replace(
        state,
        status=f"at {duration(at)} of {duration(whole.seconds)}: {sentence}",
        seconds=whole.seconds,
        errors=whole.errors,
        runs=whole.runs,
        source=whole.source,
        notes=whole.notes,
        replay=Replay(at=at, lanes=whole.lanes),
    )


def with_selection(state: LockState, number: int | None) -> LockState:
    """The state with a session selected, by its number; with none where there is no such session."""
    order = in_order(state.whole)
    row = next((row for row in order if row.number == number), None)
    if row is None:
        return replace(state, selected=None, later=None)
    known = {row.number: row for lane in state.lanes for row in lane.sessions}
    now = known.get(row.number)
    if now is None:
        return replace(state, selected=None, later=row)
    waited_for = tuple(_named(ahead, known) for ahead in now.ahead) if now.queued else ()
    selected = SelectedSession(
        row=now,
        position=order.index(row) + 1,
        total=len(order),
        waited_for=waited_for,
        waited_for_more=now.ahead_more,
    )
    return replace(state, selected=selected, later=None)


def with_zoom(state: LockState, first: int | None) -> LockState:
    """The state with :data:`WINDOW` of its sessions enlarged, from this place on, counted from 0; None: with all."""
    order = in_order(state.whole)
    if first is None or len(order) <= WINDOW:
        return replace(state, zoom=None)
    first = min(max(first, 0), len(order) - WINDOW)
    last = first + WINDOW
    begin = order[first].opened
    end = order[last].opened if last < len(order) else state.seconds
    if end - begin <= _MOMENT:
        begin, end = 0.0, state.seconds
    return replace(state, zoom=Zoom(first=first + 1, last=last, begin=begin, end=end))


def in_order(lanes: Sequence[Lane]) -> list[SessionRow]:
    """The sessions of all contexts in the order in which they were asked for."""
    return sorted((row for lane in lanes for row in lane.sessions), key=lambda row: (row.opened, row.number))


def _named(number: int, known: dict[int, SessionRow]) -> str:
    """A session as one speaks of it; one of another run is known by its number alone."""
    row = known.get(number)
    return f"session {number}" if row is None else f"{row.mode} {set_apart(row.who)} ({set_apart(row.place)})"


def _state(rows: Sequence[SessionRow], end: float, *, goes_on: bool) -> LockState:
    lanes: dict[tuple[str, str], list[SessionRow]] = {}
    for row in rows:
        lanes.setdefault((row.run, row.context), []).append(row)
    runs = tuple(dict.fromkeys(row.run for row in rows if row.run))
    queue = queue_rows(rows, end)
    stopped: Stopped = max((row.stopped for row in rows if not row.over), default="")
    word, status = _sentence(rows, queue, stopped)
    return LockState(
        status=status,
        status_word=word,
        lanes=tuple(
            Lane(context=context, run=run, sessions=tuple(sessions))
            for (run, context), sessions in lanes.items()
        ),
        queue=queue,
        refused=tuple(row for row in rows if row.outcome == "refused"),
        counts=_counts(rows, len(lanes), len(runs)),
        waits=_waits(rows),
        seconds=end,
        live=goes_on and any(not row.over for row in rows),
        total=len(rows),
        errors=sum(row.outcome in ERRORS for row in rows),
        goes_on=goes_on,
        stopped=stopped,
        next_up="" if stopped else next_up(rows),
        runs=runs if len(runs) > 1 else (),
    )


_WHILE: dict[Stopped, str] = {"": "", "run": "the run is over while ", "trace": "the trace ends while "}


def _sentence(rows: Sequence[SessionRow], queue: Sequence[QueueRow], stopped: Stopped) -> tuple[str, str]:
    if not rows:
        return "not reached", "nothing has run yet: no session was opened"
    holding = [row for row in queue if row.holds]
    asking = sum(row.asks for row in queue)
    waiting = len(queue) - len(holding) - asking
    asks = f", {thousands(asking)} asking" if asking else ""
    if holding:
        first = holding[0]
        others = f" and {len(holding) - 1} more" if len(holding) > 1 else ""
        tail = f", {thousands(waiting)} waiting" if waiting else ", nobody waits"
        held = f"{first.mode} {set_apart(first.who)} holds {set_apart(first.context)}{others}{tail}{asks}"
        return "no result yet" if stopped else "holds", f"{_WHILE[stopped]}{held}"
    if waiting:
        said = f"{thousands(waiting)} waiting, nobody holds a lock{asks}"
        return "no result yet" if stopped else "waiting", f"{_WHILE[stopped]}{said}"
    if asking:
        said = f"{thousands(asking)} asking for a lock, nobody holds one"
        return "no result yet" if stopped else "running", f"{_WHILE[stopped]}{said}"
    troubles = [
        text.format(thousands(number))
        for outcome, text in _COUNTED
        if outcome in ("discarded", "refused", "timed out", "gave up")
        and (number := sum(row.outcome == outcome for row in rows))
    ]
    outcomes = {row.outcome for row in rows}
    word = next((one for one in ("refused", "timed out", "discarded") if one in outcomes), "done")
    over = "1 session, over" if len(rows) == 1 else f"all {count(len(rows), 'session')} over"
    return word, over + (f", {', '.join(troubles)}" if troubles else "")


def _counts(rows: Sequence[SessionRow], lanes: int, runs: int) -> str:
    if not rows:
        return "no sessions"
    numbers = Counter(row.outcome for row in rows)
    parts = [text.format(thousands(numbers[outcome])) for outcome, text in _COUNTED if numbers[outcome]]
    slow = sum(row.slow > 0 for row in rows)
    long = f"; {thousands(slow)} held for long" if slow else ""
    of = f" of {count(runs, 'run')}" if runs > 1 else ""
    return f"{count(len(rows), 'session')} in {count(lanes, 'context')}{of}: {', '.join(parts)}{long}"


def _waits(rows: Sequence[SessionRow]) -> str:
    slow = [row for row in rows if row.slow]
    if not rows:
        return ""
    longest = max((row for row in rows if row.queued), key=lambda row: row.waited, default=None)
    text = (
        f"Longest wait {duration(longest.waited)} ({set_apart(longest.who)})."
        if longest is not None
        else "No session had to wait."
    )
    if slow:
        named = max(slow, key=lambda row: row.slow)
        text += (
            f" Held for long: {set_apart(named.who)}, over {duration(named.slow)} ({set_apart(named.place)})."
        )
    return text
