"""What happens in a lock race: laws of both locks, and that nothing outside of it is touched."""

from __future__ import annotations

import asyncio
import itertools
import math
import random
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import koogbook as kb
from koogbook import clock
from koogbook.compression.compress import compress_session
from koogbook.events import Event, Notice, SessionClosed, SessionEvent, SessionOpened
from koogbook.labs.lock_race import LOCKS, RacePlan, run_race
from koogbook.labs.virtual_time import in_virtual_time, now, sleep
from koogbook.llm.calls import ModelCalls
from koogbook.llm.context import LLMContext
from koogbook.notebook.views.lock_view.rows import SessionRow, session_rows
from koogbook.pipeline import EventLog, current_path
from koogbook.tools.tool import ToolRegistry

DEFAULTS: dict[str, Any] = {
    "readers": 4,
    "writers": 2,
    "seconds": 10.0,
    "read_seconds": 0.4,
    "write_seconds": 0.2,
    "pause": 0.1,
    "seed": 0,
}
TIMES = st.floats(min_value=0.1, max_value=1.0)
PLANS = st.builds(
    RacePlan,
    readers=st.integers(1, 5),
    writers=st.integers(1, 4),
    seconds=st.floats(min_value=0.5, max_value=4.0),
    read_seconds=TIMES,
    write_seconds=TIMES,
    pause=st.floats(min_value=0.0, max_value=0.5),
    seed=st.integers(0, 1000),
)
#: Sums of times are not more exact.
ERROR = 1e-6


def plan(**changes: Any) -> RacePlan:
    """The plan of the documentation, with some changes."""
    return RacePlan(**{**DEFAULTS, **changes})


def sessions(one: RacePlan, lock: str) -> list[SessionRow]:
    """The sessions on a lock in the order in which they came."""
    return session_rows(run_race(one).events[lock], 0.0, one.seconds)


def holds(rows: list[SessionRow]) -> Iterator[tuple[SessionRow, float, float]]:
    """Who held the lock, from when to when."""
    return ((row, row.acquired, row.end) for row in rows if row.acquired is not None)


# ------------------------------------------------------------------------------------------- the locks


@pytest.mark.parametrize("lock", LOCKS)
@given(one=PLANS)
@settings(max_examples=40)
def test_a_writer_is_alone(lock: str, one: RacePlan) -> None:
    """On both locks; that is what a lock is for. [NBK-15, SES-09]"""
    for (first, begins, ends), (second, starts, stops) in itertools.combinations(
        holds(sessions(one, lock)), 2
    ):
        if "write" in (first.mode, second.mode):
            assert min(ends, stops) <= max(begins, starts) + ERROR


@given(one=PLANS)
@settings(max_examples=40)
def test_on_the_fair_lock_nobody_is_passed(one: RacePlan) -> None:
    """First come, first served: they enter in the order in which they came. [NBK-15, SES-09]"""
    entered = [math.inf if row.acquired is None else row.acquired for row in sessions(one, "fair")]

    assert entered == sorted(entered)


@given(one=PLANS)
@settings(max_examples=40)
def test_on_the_fair_lock_a_wait_is_no_longer_than_what_stood_before_it(one: RacePlan) -> None:
    """Those that held the lock or were in the queue; nobody else counts. [NBK-15, SES-09]"""
    rows = sessions(one, "fair")
    held = {row.number: row.held or 0.0 for row in rows}

    for row in rows:
        assert row.waited <= sum(held[number] for number in row.ahead) + ERROR


@given(one=PLANS)
@settings(max_examples=40)
def test_on_the_reader_first_lock_no_reader_waits_for_a_reader(one: RacePlan) -> None:
    """While one reads, another one never stands in the queue. [NBK-15]"""
    rows = sessions(one, "reader-first")
    reads = [(begins, ends) for row, begins, ends in holds(rows) if row.mode == "read"]

    for row in rows:
        if row.mode == "read" and row.queued:
            until = row.opened + row.waited
            assert [span for span in reads if min(span[1], until) > max(span[0], row.opened) + ERROR] == []


@pytest.mark.parametrize("lock", LOCKS)
@given(one=PLANS)
@settings(max_examples=40)
def test_nobody_waits_for_a_free_lock(lock: str, one: RacePlan) -> None:
    """Each moment of a wait, somebody holds it. [NBK-15]"""
    rows = sessions(one, lock)
    spans = sorted((begins, ends) for _, begins, ends in holds(rows))

    for row in rows:
        if row.queued:
            reached = row.opened
            for begins, ends in spans:
                if begins <= reached + ERROR:
                    reached = max(reached, ends)
            assert reached >= row.opened + row.waited - ERROR


def test_a_writer_starves_where_readers_overlap_all_the_time() -> None:
    """With the numbers of the documentation both writers wait from their first moment to the end. [NBK-15]"""
    writers = [row for row in sessions(plan(), "reader-first") if row.mode == "write"]

    assert [(row.outcome, row.acquired) for row in writers] == [("waiting", None)] * 2
    assert all(row.waited > 9.5 for row in writers)


def test_nobody_starves_on_the_fair_lock() -> None:
    """With the same numbers each of them gets the lock again and again. [NBK-15, SES-09]"""
    rows = sessions(plan(), "fair")
    entered = {
        who: sum(row.acquired is not None for row in rows if row.who == who) for who, _ in plan().tasks()
    }

    assert min(entered.values()) >= 10
    assert max(row.waited for row in rows) < 1


def test_no_writer_starves_on_either_lock_where_readers_leave_gaps() -> None:
    """The outcome is that of the numbers, not of the name of the lock. [NBK-15]"""
    calm = plan(readers=1, writers=1, read_seconds=0.1, write_seconds=0.1, pause=1.0)

    assert max(row.waited for row in sessions(calm, "reader-first")) < 0.2


@given(one=PLANS)
@settings(max_examples=40)
def test_both_locks_have_the_same_plan(one: RacePlan) -> None:
    """The n-th session of a task holds as long on both, and the first one comes at the same moment. [NBK-15]"""
    held: dict[tuple[str, int], list[float]] = defaultdict(list)
    first: dict[str, set[float]] = defaultdict(set)
    for lock in LOCKS:
        counts: dict[str, int] = defaultdict(int)
        for row in sessions(one, lock):
            if not counts[row.who]:
                first[row.who].add(round(row.opened, 6))
            counts[row.who] += 1
            if row.over:
                held[row.who, counts[row.who]].append(row.held or 0.0)

    assert all(max(both) - min(both) < ERROR for both in held.values())
    assert all(len(moments) == 1 for moments in first.values())


# ------------------------------------------------------------------------------------------- real sessions


class LoopClock:
    """The time of the loop that is running, as the clock of the process; for a test that has it for itself."""

    def now(self) -> datetime:
        """Wall time."""
        return clock.FixedClock().now() + timedelta(seconds=now())

    def monotonic(self) -> float:
        """The time of the loop."""
        return now()

    async def sleep(self, seconds: float) -> None:
        """Wait on the loop."""
        await sleep(seconds)

    def call_later(self, seconds: float, callback: Any) -> Any:
        """A timer of the loop."""
        return asyncio.get_running_loop().call_later(seconds, callback)

    def new_id(self) -> str:
        """Always the same."""
        return "0" * 16


def real_sessions(lock: str, played: list[Event], seconds: float) -> list[Event]:
    """Sessions of an LLM context on such a lock that come when the played ones came and hold it as long."""
    visits: dict[str, list[tuple[str, float, int]]] = defaultdict(list)
    held: dict[int, float] = {}
    for event in played:
        if isinstance(event, SessionOpened):
            visits[event.who].append((event.mode, event.at, event.session))
        elif isinstance(event, SessionClosed):
            held[event.session] = event.held

    async def main() -> list[Event]:
        log = EventLog("run", "chat")
        context = LLMContext(
            lock,
            prompt=kb.Prompt((), id="prompt"),
            tools=ToolRegistry(()),
            model=kb.LLModel("offline"),
            calls=ModelCalls(kb.OfflineExecutor(), log, ()),
            compressor=compress_session,
            wait_limit=math.inf,
            slow_after=math.inf,
            lock=LOCKS[lock](lock),
        )

        async def come_again(who: str) -> None:
            current_path.set(f"{lock}/{who}")
            for mode, at, number in visits[who]:
                await sleep(max(at - now(), 0.0))
                async with context.write_session() if mode == "write" else context.read_session():
                    await sleep(held.get(number, 1e6))

        tasks = [asyncio.ensure_future(come_again(who)) for who in visits]
        await sleep(seconds)
        events = list(log.events)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return events

    with clock.use(LoopClock()):
        return in_virtual_time(main)


def told(events: list[Event]) -> list[tuple[Any, ...]]:
    """What they say, whatever the numbers of their sessions are."""
    order: dict[int, int] = {}
    found = []
    for event in events:
        assert isinstance(event, SessionEvent)
        order.setdefault(event.session, len(order))
        fields = msgspec.structs.asdict(event)
        times = tuple(round(fields.get(name, 0.0), 6) for name in ("at", "waited", "held"))
        ahead = tuple(order[number] for number in fields.get("ahead", ()))
        found.append(
            (
                event.name,
                event.path,
                event.context,
                event.who,
                event.mode,
                order[event.session],
                *times,
                ahead,
            )
        )
    return found


@pytest.mark.parametrize("lock", LOCKS)
@pytest.mark.parametrize("changes", [{}, {"seed": 3}, {"readers": 2, "writers": 4, "pause": 0.0}])
def test_real_sessions_that_come_at_these_moments_have_the_same_events(
    lock: str, changes: dict[str, Any]
) -> None:
    """What is played in a race is what sessions of an LLM context do, event by event. [NBK-15]"""
    one = plan(**changes)
    played = [event for event in run_race(one).events[lock] if isinstance(event, SessionEvent)]

    assert told(real_sessions(lock, list(played), one.seconds)) == told(list(played))


# ------------------------------------------------------------------------------------------- the race as a whole


@given(one=PLANS)
@settings(max_examples=20)
def test_the_same_plan_gives_the_same_events(one: RacePlan) -> None:
    """Nothing in it depends on the machine. [NBK-10]"""
    assert run_race(one) == run_race(one)


def test_another_seed_gives_other_times() -> None:
    """The seed is used. [NBK-15]"""
    assert run_race(plan(seed=1)).events != run_race(plan(seed=2)).events


def test_one_more_reader_does_not_change_when_the_others_first_come() -> None:
    """Each task draws its times by itself. [NBK-15]"""
    first: list[dict[str, float]] = []
    for readers in (4, 5):
        rows = sessions(plan(readers=readers), "fair")
        first.append({row.who: row.opened for row in reversed(rows)})

    assert first[0].items() <= first[1].items()


def test_no_two_sessions_have_one_number() -> None:
    """So that the events of both locks can be looked at together. [NBK-15]"""
    numbers = [
        event.session
        for events in run_race(plan()).events.values()
        for event in events
        if isinstance(event, SessionOpened)
    ]

    assert numbers == list(range(1, len(numbers) + 1))


def test_the_events_end_with_the_race() -> None:
    """Nothing comes after it, and what is not over stays so. [NBK-15]"""
    events = run_race(plan()).events["reader-first"]

    assert isinstance(events[-1], Notice)
    assert max(event.at for event in events) == events[-1].at == 10.0


@pytest.mark.parametrize("lock", LOCKS)
def test_the_events_are_in_the_order_of_time(lock: str) -> None:
    """As those of a run. [NBK-15]"""
    times = [event.at for event in run_race(plan()).events[lock]]

    assert times == sorted(times)


def test_a_race_leaves_the_clock_as_it_is(ticking_clock: clock.FixedClock) -> None:
    """It neither reads the time of the process, which would move a fixed clock, nor takes an id. [NBK-15]"""
    run_race(plan())

    assert ticking_clock.elapsed == 0.0
    assert clock.new_id() == clock.FixedClock().new_id()
    assert clock.current() is ticking_clock


async def test_a_race_leaves_the_running_loop_as_it_is() -> None:
    """In a notebook it is called while the kernel's loop runs. [NBK-04, NBK-15]"""
    loop, tasks = asyncio.get_running_loop(), asyncio.all_tasks()
    events = run_race(plan()).events

    assert (asyncio.get_running_loop(), asyncio.all_tasks()) == (loop, tasks)
    assert events["fair"]


async def test_a_run_on_another_thread_meanwhile_has_its_own_time(fixed_clock: clock.FixedClock) -> None:
    """The clock in use stays in use while a race goes on in a thread. [NBK-15]"""
    seen: set[float] = set()
    racing = asyncio.ensure_future(asyncio.to_thread(run_race, plan(readers=20, seconds=8)))
    while not racing.done():
        seen.add(clock.monotonic())
        await asyncio.sleep(0)

    assert (seen, clock.current()) == ({0.0}, fixed_clock)


def test_a_race_leaves_the_random_numbers_alone() -> None:
    """A seed that was set is not used up. [NBK-15]"""
    before = random.getstate()
    run_race(plan())

    assert random.getstate() == before


# ------------------------------------------------------------------------------------------- wrong use


@pytest.mark.parametrize("name", ["readers", "writers"])
@pytest.mark.parametrize("value", [0, -1, True, 1.5, "two", None])
def test_a_number_of_tasks_is_a_whole_one_from_1_on(name: str, value: Any) -> None:
    """Anything else is refused, and nothing is run. [NBK-15]"""
    with pytest.raises(ValueError, match=rf"{name} is a whole number from 1 on, got .*Nothing was run"):
        plan(**{name: value})


@pytest.mark.parametrize("value", [-1, True, 0.5, "x"])
def test_a_seed_is_a_whole_number(value: Any) -> None:
    """Anything else is refused. [NBK-15]"""
    with pytest.raises(ValueError, match="seed is a whole number from 0 on"):
        plan(seed=value)


@pytest.mark.parametrize("name", ["seconds", "read_seconds", "write_seconds"])
@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf, -math.inf, True, "1", None, 601, 10**400])
def test_a_time_is_positive_and_finite(name: str, value: Any) -> None:
    """And bounded: else the race would never end. [NBK-15]"""
    with pytest.raises(
        ValueError, match=rf"^{name} is a time of .* at most 600 seconds, got .*Nothing was run"
    ):
        plan(**{name: value})


@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf, False, "0"])
def test_a_pause_is_0_or_more(value: Any) -> None:
    """None at all is fine. [NBK-15]"""
    assert plan(pause=0).pause == 0
    with pytest.raises(ValueError, match="pause is a time of 0 or more"):
        plan(pause=value)


@pytest.mark.parametrize("changes", [{"readers": 39}, {"writers": 10**12}, {"readers": 10**400}])
def test_more_tasks_than_can_be_drawn_are_refused(changes: dict[str, Any]) -> None:
    """One row each; the message says how many there can be. [NBK-15]"""
    with pytest.raises(ValueError, match="at most 40 readers and writers together"):
        plan(**changes)


@pytest.mark.parametrize("changes", [{"seconds": 100}, {"read_seconds": 5e-324, "pause": 0}])
def test_more_sessions_than_can_be_drawn_are_refused(changes: dict[str, Any]) -> None:
    """The message says how many it would be, and what to give instead. [NBK-15]"""
    with pytest.raises(ValueError, match=r"about [\d,inf]+ sessions .* at most 600.* Give fewer seconds"):
        plan(**changes)
