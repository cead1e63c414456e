"""The lock race: the same readers and writers on the fair lock and on the reader-first one, in virtual time.

The locks are the real ones, so the rules that are compared are those that sessions meet. The sessions are played: each
asks, waits, holds the lock for its time and reports what a session of an LLM context reports, and nothing is in it.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import random
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from koogbook.events import (
    Event,
    Notice,
    SessionAcquired,
    SessionClosed,
    SessionCommitted,
    SessionEvent,
    SessionOpened,
    SessionWaiting,
)
from koogbook.labs.reader_first_lock import ReaderFirstLock
from koogbook.labs.virtual_time import in_virtual_time, now, sleep
from koogbook.llm.rw_lock import Mode, RWLock, Ticket

#: The locks that are compared, by the name of their context in the events.
LOCKS: dict[str, type[RWLock]] = {"fair": RWLock, "reader-first": ReaderFirstLock}

#: More cannot be told apart in one picture: readers and writers, and the sessions of all of them on one lock.
MOST_TASKS, MOST_SESSIONS = 40, 600
#: In a longer race the lock would look too often whether anybody waits in a circle: it does so by this time, too.
_SHORTEST, _LONGEST = 0.001, 600.0
_PLACE = "lock_race"


class RacePlan(Struct, frozen=True, kw_only=True):
    """Who comes, for how long, and how often. Times are in seconds.

    Each reader and each writer is a task: a pause, a session, a pause, a session, until the ``seconds`` are over. Each
    pause and each hold lasts between half and one and a half times what is given here; how long is drawn from ``seed``,
    for each task by itself. So the n-th session of a task wants the same on every lock.

    Raises:
        ValueError: A number is out of its range, or there would be more sessions than can be drawn.
    """

    readers: int
    writers: int
    seconds: float
    read_seconds: float
    write_seconds: float
    pause: float
    seed: int

    def __post_init__(self) -> None:
        for name in ("readers", "writers"):
            _require_whole(name, getattr(self, name), 1)
        _require_whole("seed", self.seed, 0)
        _require_seconds("seconds", self.seconds, _SHORTEST)
        _require_seconds("read_seconds", self.read_seconds, 0.0, above=True)
        _require_seconds("write_seconds", self.write_seconds, 0.0, above=True)
        _require_seconds("pause", self.pause, 0.0)
        if self.readers + self.writers > MOST_TASKS:
            raise ValueError(
                f"A lock race has at most {MOST_TASKS} readers and writers together, a row each in its picture; got "
                f"{self.readers!r:.60} and {self.writers!r:.60}. Nothing was run."
            )
        expected = self.expected_sessions
        if expected > MOST_SESSIONS:
            raise ValueError(
                f"This would be about {expected:,.0f} sessions on each lock, and a lock race draws at most "
                f"{MOST_SESSIONS}. Nothing was run. Give fewer seconds, or longer sessions and pauses."
            )

    @property
    def expected_sessions(self) -> float:
        """How many sessions there would be on one lock if nobody ever had to wait."""
        read = self.readers / (self.read_seconds + self.pause)
        write = self.writers / (self.write_seconds + self.pause)
        return self.seconds * (read + write)

    def tasks(self) -> Iterator[tuple[str, Mode]]:
        """All who take part, as (name, mode): the readers, then the writers."""
        yield from ((f"reader {number}", "read") for number in range(1, self.readers + 1))
        yield from ((f"writer {number}", "write") for number in range(1, self.writers + 1))


class Race(Struct, frozen=True):
    """A plan and what happened: the session events on each lock, by its name, the end of the race last."""

    plan: RacePlan
    events: dict[str, tuple[Event, ...]]


def run_race(plan: RacePlan) -> Race:
    """Run the plan on each lock; the same plan gives the same events.

    The events are on the time of the race, which begins at 0. What is not over when it ends stays open or waiting.
    """
    numbers = itertools.count(1)
    return Race(plan, {name: in_virtual_time(_Track(name, plan, numbers).run) for name in LOCKS})


class _Track:
    """One lock and those who want it."""

    def __init__(self, name: str, plan: RacePlan, numbers: Iterator[int]) -> None:
        self._name = name
        self._plan = plan
        self._numbers = numbers
        self._lock = LOCKS[name](name)
        self._events: list[Event] = []

    async def run(self) -> tuple[Event, ...]:
        """Everything until the time is over."""
        tasks = [asyncio.ensure_future(self._come_again(who, mode)) for who, mode in self._plan.tasks()]
        # They never end by themselves; one that does so has failed.
        done, _ = await asyncio.wait(tasks, timeout=self._plan.seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        text = f"The race on the {self._name} lock ends here, after {self._plan.seconds:g} s."
        end = self._plan.seconds
        notice = Notice(time=end, at=end, run_id=_PLACE, kind="race over", text=text, level="info")
        return (*self._events, notice)

    async def _come_again(self, who: str, mode: Mode) -> None:
        """One reader or writer."""
        plan = self._plan
        hold = plan.read_seconds if mode == "read" else plan.write_seconds
        drawn = random.Random(f"{plan.seed} {who}")
        await sleep(drawn.uniform(0, hold + plan.pause))
        while True:
            await self._session(
                Ticket(next(self._numbers), mode, who, _PLACE, since=now()), _about(hold, drawn)
            )
            await sleep(_about(plan.pause, drawn))

    async def _session(self, ticket: Ticket, hold: float) -> None:
        """What a session of an LLM context does with its lock, event by event."""
        lock = self._lock
        self._emit(SessionOpened, ticket)
        if not lock.try_acquire(ticket):
            ahead, more = lock.ahead_of(ticket)
            self._emit(SessionWaiting, ticket, ahead=ahead, ahead_more=more)
            await lock.wait(ticket, math.inf)
        acquired = now()
        try:
            self._emit(SessionAcquired, ticket, waited=acquired - ticket.since)
            await sleep(hold)
        finally:
            lock.release(ticket)
        if ticket.mode == "write":
            self._emit(SessionCommitted, ticket)
        self._emit(SessionClosed, ticket, held=now() - acquired)

    def _emit(self, kind: type[SessionEvent], ticket: Ticket, **fields: Any) -> None:
        at = now()
        self._events.append(
            kind(
                time=at,
                at=at,
                run_id=_PLACE,
                path=f"{self._name}/{ticket.who}",
                context=self._name,
                session=ticket.number,
                mode=ticket.mode,
                who=ticket.who,
                place=ticket.place,
                **fields,
            )
        )


def _about(seconds: float, drawn: random.Random) -> float:
    return seconds * drawn.uniform(0.5, 1.5)


def _require_whole(name: str, number: object, least: int) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise ValueError(f"{name} is a whole number from {least} on, got {number!r:.60}. Nothing was run.")


def _require_seconds(name: str, seconds: object, least: float, *, above: bool = False) -> None:
    given = math.nan if isinstance(seconds, bool) or not isinstance(seconds, int | float) else seconds
    if least <= given <= _LONGEST and not (above and given == least):
        return
    bound = f"more than {least:g}" if above else f"{least:g} or more"
    raise ValueError(
        f"{name} is a time of {bound} and at most {_LONGEST:,.0f} seconds, got {seconds!r:.60}. Nothing was run."
    )
