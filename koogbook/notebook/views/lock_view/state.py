"""What the lock view says about sessions, as plain data: made from the session events alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from koogbook.events import Event, SessionMode
from koogbook.notebook.views.lock_view.rows import ERRORS, Outcome, SessionRow, begin_of, session_rows
from koogbook.notebook.views.look.measure import count, duration, thousands

__all__ = ["LockState", "SessionRow", "lock_state", "lock_state_at", "with_selection"]

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


class Lane(Struct, frozen=True, kw_only=True):
    """The sessions of one LLM context, in the order in which they were asked for."""

    context: str
    sessions: tuple[SessionRow, ...]


class QueueRow(Struct, frozen=True, kw_only=True):
    """A session that holds a lock or waits for it, now; ``number`` is its number."""

    number: int
    context: str
    place: str
    mode: SessionMode
    who: str
    code: str
    since: float
    waits_for: tuple[str, ...]


class Replay(Struct, frozen=True, kw_only=True):
    """A moment of a run that is over: seconds since the first event, and the lanes of the whole run."""

    at: float
    lanes: tuple[Lane, ...]
    playing: bool = False


class SelectedSession(Struct, frozen=True, kw_only=True):
    """The session that is selected: as it was at the moment shown, which of how many, and whom it waited for."""

    row: SessionRow
    position: int
    total: int
    waited_for: tuple[str, ...]


class LockState(Struct, frozen=True, kw_only=True):
    """All sessions by context.

    ``seconds`` is the length of the axis, ``live``: something is not over, ``goes_on``: more can come. ``errors`` is
    how many sessions of the whole run went wrong. In a replay everything is as it was at that moment; ``later`` is a
    session that is selected and had not been asked for by then.
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
    replay: Replay | None = None
    selected: SelectedSession | None = None
    later: SessionRow | None = None

    @property
    def whole(self) -> tuple[Lane, ...]:
        """The lanes of the whole run, in a replay, too."""
        return self.lanes if self.replay is None else self.replay.lanes


def lock_state(events: Sequence[Event], *, now: float | None = None) -> LockState:
    """The sessions in the events of one run or of several, on an axis that begins with the first of them.

    ``now`` is the time on the monotonic clock for what is still open; without it nothing more comes, and it is the
    time of the last event.
    """
    begin = begin_of(events)
    last = max((event.at for event in events), default=0.0)
    end = max(last if now is None else now, begin) - begin
    return _state(session_rows(events, begin, end), end, goes_on=now is not None)


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
        row=now, position=order.index(row) + 1, total=len(order), waited_for=waited_for
    )
    return replace(state, selected=selected, later=None)


def in_order(lanes: Sequence[Lane]) -> list[SessionRow]:
    """The sessions of all contexts in the order in which they were asked for."""
    return sorted((row for lane in lanes for row in lane.sessions), key=lambda row: (row.opened, row.number))


def _named(number: int, known: dict[int, SessionRow]) -> str:
    """A session as one speaks of it; one of another run is known by its number alone."""
    row = known.get(number)
    return f"session {number}" if row is None else f"{row.mode} {row.who} ({row.place})"


def _state(rows: Sequence[SessionRow], end: float, *, goes_on: bool) -> LockState:
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
        errors=sum(row.outcome in ERRORS for row in rows),
        goes_on=goes_on,
    )


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
                number=row.number,
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
