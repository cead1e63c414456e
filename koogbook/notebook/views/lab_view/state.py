"""What the view of a lock race says, as plain data: made from the plan and the session events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from koogbook.events import Event, SessionMode
from koogbook.labs.lock_race import Race, RacePlan
from koogbook.notebook.views.lock_view.rows import SessionRow, session_rows
from koogbook.notebook.views.look.measure import count, duration

#: Of each lock: whose it is, and its rule in a few words.
WHOSE = {"fair": "koogbook", "reader-first": "as in Koog 1.3"}
RULES = {
    "fair": "first come, first served: nobody passes a waiting writer",
    "reader-first": "a reader enters whenever no writer is inside, whoever waits",
}


class RaceTask(Struct, frozen=True, kw_only=True):
    """One reader or writer with its sessions in their order; times in seconds.

    ``entered`` is how many of them got the lock, ``longest`` the longest wait, so far for one that goes on.
    ``overtaken`` is by how many sessions that came later and entered first one of them was passed, at most. A task
    ``starves`` that is waiting when the race ends and was passed while it waited.
    """

    who: str
    mode: SessionMode
    sessions: tuple[SessionRow, ...]
    entered: int
    longest: float
    overtaken: int
    starves: bool

    @property
    def waits(self) -> bool:
        """Whether it is waiting when the race ends."""
        return bool(self.sessions) and self.sessions[-1].outcome == "waiting"


class RaceLane(Struct, frozen=True, kw_only=True):
    """A lock with all who wanted it; ``verdict`` is about its longest wait, ``unfair`` says that one was overtaken."""

    lock: str
    rule: str
    tasks: tuple[RaceTask, ...]
    verdict: str
    unfair: bool

    @property
    def title(self) -> str:
        """The lock, and whose it is."""
        return f"{self.lock} ({WHOSE[self.lock]})"


class RaceRow(Struct, frozen=True, kw_only=True):
    """The readers or the writers of one lock; waits in seconds, those that go on as long as they have lasted.

    ``sessions`` is how many got the lock, ``waiting`` how many of the ``tasks`` are waiting when the race ends, and
    ``overtaken`` by how many sessions that came later and entered first one was passed, at most.
    """

    lock: str
    who: Literal["readers", "writers"]
    tasks: int
    sessions: int
    mean_wait: float
    longest_wait: float
    overtaken: int
    waiting: int
    starving: int


class RaceState(Struct, frozen=True, kw_only=True):
    """A race: the verdict in one sentence, the table, a lane for each lock."""

    status: str
    status_word: str
    rows: tuple[RaceRow, ...]
    lanes: tuple[RaceLane, ...]
    plan: RacePlan

    @property
    def name(self) -> str:
        """Who took part, and for how long."""
        plan = self.plan
        return f"{count(plan.readers, 'reader')}, {count(plan.writers, 'writer')}, {duration(plan.seconds)}"

    @property
    def given(self) -> str:
        """What was given, in words."""
        plan = self.plan
        return (
            f"The same plan for both locks, drawn from seed {plan.seed}: about {duration(plan.read_seconds)} for a "
            f"read, {duration(plan.write_seconds)} for a write, {duration(plan.pause)} between two sessions of a task."
        )

    @property
    def terms(self) -> str:
        """What the words of the table mean."""
        return (
            "A wait that goes on counts as long as it has lasted. Overtaken by: how many sessions came later and "
            "entered first, at most."
        )


def wait(seconds: float) -> str:
    """How long somebody waited, in words."""
    return duration(seconds) if seconds else "none"


def race_state(race: Race) -> RaceState:
    """The state of a race that was run."""
    lanes = tuple(_lane(lock, events, race.plan) for lock, events in race.events.items())
    rows = tuple(row for lane in lanes for row in _rows(lane))
    return RaceState(
        # The lock that shows the trouble stands first, where it is the more surprising one.
        status="; ".join(f"{lane.lock}: {lane.verdict}" for lane in reversed(lanes)),
        status_word=_status_word(rows, lanes),
        rows=rows,
        lanes=lanes,
        plan=race.plan,
    )


def _status_word(rows: Sequence[RaceRow], lanes: Sequence[RaceLane]) -> str:
    if any(row.starving for row in rows):
        return "waiting"
    return "warning" if any(lane.unfair for lane in lanes) else "done"


def _lane(lock: str, events: Sequence[Event], plan: RacePlan) -> RaceLane:
    rows = session_rows(events, 0.0, plan.seconds)
    overtaken = _overtaken(rows)
    tasks = tuple(
        _task(who, mode, [row for row in rows if row.who == who], overtaken) for who, mode in plan.tasks()
    )
    worst = max(rows, key=lambda row: row.waited, default=None)
    passed = overtaken[worst.number] if worst else 0
    return RaceLane(
        lock=lock,
        rule=RULES[lock],
        tasks=tasks,
        verdict=_verdict(worst, passed, tasks, plan.seconds) if worst else "nobody came in this time",
        unfair=passed > 0,
    )


def _task(
    who: str, mode: SessionMode, sessions: Sequence[SessionRow], overtaken: Mapping[int, int]
) -> RaceTask:
    return RaceTask(
        who=who,
        mode=mode,
        sessions=tuple(sessions),
        entered=sum(row.acquired is not None for row in sessions),
        longest=max((row.waited for row in sessions), default=0.0),
        overtaken=max((overtaken[row.number] for row in sessions), default=0),
        starves=any(row.outcome == "waiting" and overtaken[row.number] > 0 for row in sessions),
    )


def _overtaken(rows: Sequence[SessionRow]) -> dict[int, int]:
    """By session: how many came later and entered first. Sessions are numbered in the order in which they came."""
    entered = [(row.number, row.acquired) for row in rows if row.acquired is not None]
    return {
        row.number: sum(
            number > row.number and (row.acquired is None or acquired < row.acquired)
            for number, acquired in entered
        )
        if row.queued
        else 0
        for row in rows
    }


def _verdict(worst: SessionRow, passed: int, tasks: Sequence[RaceTask], seconds: float) -> str:
    """The longest wait, in words; ``passed`` is by how many it was overtaken."""
    if not worst.waited:
        return "nobody had to wait"
    suffix = f", overtaken by {count(passed, 'session')}" if passed else ""
    if worst.outcome != "waiting" or not passed:
        return f"the longest wait was {duration(worst.waited)} ({worst.who}){suffix}"
    never = next(task for task in tasks if task.who == worst.who).entered == 0
    waited = f"{worst.who} waited {duration(worst.waited)} of {duration(seconds)}"
    return f"{waited} and never entered" if never else f"{waited}, to the end{suffix}"


def _rows(lane: RaceLane) -> list[RaceRow]:
    return [
        _row(lane.lock, "readers", [task for task in lane.tasks if task.mode == "read"]),
        _row(lane.lock, "writers", [task for task in lane.tasks if task.mode == "write"]),
    ]


def _row(lock: str, who: Literal["readers", "writers"], tasks: Sequence[RaceTask]) -> RaceRow:
    waits = [row.waited for task in tasks for row in task.sessions]
    return RaceRow(
        lock=lock,
        who=who,
        tasks=len(tasks),
        sessions=sum(task.entered for task in tasks),
        mean_wait=sum(waits) / len(waits) if waits else 0.0,
        longest_wait=max((task.longest for task in tasks), default=0.0),
        overtaken=max((task.overtaken for task in tasks), default=0),
        waiting=sum(task.waits for task in tasks),
        starving=sum(task.starves for task in tasks),
    )
