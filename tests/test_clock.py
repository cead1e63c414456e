"""Time and ids come from one module and can be fixed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from koogbook import clock
from koogbook.clock import FixedClock, SystemClock


@pytest.fixture
def own_clock() -> Iterator[None]:
    """Whatever a test does to the clock of the process is undone."""
    with clock.use(clock.current()):
        yield


def test_the_machines_clock_is_aware_and_in_utc() -> None:
    """A wall time without a zone never comes out of this module."""
    assert SystemClock().now().tzinfo is UTC


def test_the_machines_monotonic_clock_never_goes_back() -> None:
    """Durations are never negative."""
    readings = [SystemClock().monotonic() for _ in range(100)]

    assert readings == sorted(readings)


def test_ids_of_the_machines_clock_are_sixteen_hexadecimal_digits_and_differ() -> None:
    """An id is short, safe in every store, and fresh."""
    ids = {SystemClock().new_id() for _ in range(1000)}

    assert len(ids) == 1000
    assert {len(one) for one in ids} == {16}
    assert set("".join(ids)) <= set("0123456789abcdef")


async def test_the_machines_timer_calls_once_unless_it_is_cancelled() -> None:
    """A cancelled timer stays silent."""
    called: list[str] = []
    kept = SystemClock().call_later(0.0, lambda: called.append("kept"))
    cancelled = SystemClock().call_later(0.0, lambda: called.append("cancelled"))
    cancelled.cancel()
    await SystemClock().sleep(0.01)

    assert called == ["kept"]
    kept.cancel()


def test_a_fixed_clock_stands_still(fixed_clock: FixedClock) -> None:
    """Reading it changes nothing."""
    assert (clock.now(), clock.monotonic()) == (clock.now(), clock.monotonic())


def test_a_ticking_clock_moves_on_at_each_reading(ticking_clock: FixedClock) -> None:
    """Durations have a shape although nothing waits."""
    first, second = clock.monotonic(), clock.monotonic()

    assert round(second - first, 9) == 0.001


def test_a_fixed_clock_refuses_a_start_without_a_zone() -> None:
    """A naive time would mean another moment on another machine."""
    with pytest.raises(ValueError, match="aware start"):
        FixedClock(datetime(2026, 1, 1))  # noqa: DTZ001 - the naive time is the point


def test_a_fixed_clock_gives_utc_wherever_it_was_started() -> None:
    """The zone of the start does not reach the readings."""
    started = FixedClock(datetime(2026, 1, 1, 9, tzinfo=timezone(timedelta(hours=9))))

    assert started.now() == datetime(2026, 1, 1, 0, tzinfo=UTC)
    assert started.now().tzinfo is UTC


def test_the_same_seed_gives_the_same_ids() -> None:
    """A notebook that fixes its seed prints the same ids every time."""
    first, second = FixedClock(seed=7), FixedClock(seed=7)

    assert [first.new_id() for _ in range(5)] == [second.new_id() for _ in range(5)]


def test_another_seed_gives_other_ids() -> None:
    """Two seeds do not collide at once."""
    assert FixedClock(seed=1).new_id() != FixedClock(seed=2).new_id()


def test_timers_fire_in_the_order_in_which_they_are_due() -> None:
    """Advancing far at once is the same as in small steps."""
    fixed, fired = FixedClock(), []
    fixed.call_later(3, lambda: fired.append((3, fixed.monotonic())))
    fixed.call_later(1, lambda: fired.append((1, fixed.monotonic())))
    fixed.call_later(2, lambda: fired.append((2, fixed.monotonic())))
    fixed.advance(10)

    assert fired == [(1, 1.0), (2, 2.0), (3, 3.0)]


def test_timers_that_are_due_together_fire_in_the_order_they_were_set() -> None:
    """Equal times have an order, too."""
    fixed, fired = FixedClock(), []
    fixed.call_later(1, lambda: fired.append("first"))
    fixed.call_later(1, lambda: fired.append("second"))
    fixed.advance(1)

    assert fired == ["first", "second"]


def test_a_timer_fires_exactly_at_its_time_and_once() -> None:
    """Not a moment before, and not again."""
    fixed, fired = FixedClock(), []
    fixed.call_later(5, lambda: fired.append(fixed.monotonic()))
    fixed.advance(4.999)
    before = list(fired)
    fixed.advance(0.001)
    fixed.advance(100)

    assert before == []
    assert len(fired) == 1


def test_a_timer_set_by_a_timer_fires_in_the_same_advance_when_it_is_due() -> None:
    """A chain of timers is not cut."""
    fixed, fired = FixedClock(), []
    fixed.call_later(1, lambda: fixed.call_later(1, lambda: fired.append(fixed.monotonic())))
    fixed.advance(10)

    assert fired == [2.0]


def test_a_cancelled_timer_of_a_fixed_clock_stays_silent() -> None:
    """Cancelling works before the time has come."""
    fixed, fired = FixedClock(), []
    fixed.call_later(1, lambda: fired.append("no")).cancel()
    fixed.advance(2)

    assert fired == []


@given(st.lists(st.floats(min_value=0, max_value=1000), max_size=30))
def test_a_fixed_clock_has_gone_exactly_as_far_as_it_was_moved(steps: list[float]) -> None:
    """Nothing but advancing moves it."""
    fixed = FixedClock()
    total = 0.0
    for step in steps:
        fixed.advance(step)
        total += step

    assert fixed.monotonic() == total


async def test_sleeping_on_a_fixed_clock_moves_it_and_lets_others_run(fixed_clock: FixedClock) -> None:
    """An hour passes at once, and other tasks get their turn."""
    seen: list[str] = []
    task = asyncio.ensure_future(_note(seen))
    await clock.sleep(3600)

    assert clock.monotonic() == 3600
    assert seen == ["ran"]
    await task


async def _note(seen: list[str]) -> None:
    seen.append("ran")


def test_use_puts_the_clock_before_back_even_after_an_exception() -> None:
    """A test that fails does not leave its clock behind."""
    before = clock.current()
    with pytest.raises(RuntimeError), clock.use(FixedClock()):
        raise RuntimeError

    assert clock.current() is before


def test_deterministic_fixes_ids_for_the_whole_process(own_clock: None) -> None:
    """The same program gives the same ids twice."""
    clock.deterministic(3)
    first = [clock.new_id() for _ in range(3)]
    clock.deterministic(3)

    assert [clock.new_id() for _ in range(3)] == first


def test_deterministic_ticks_by_a_millisecond(own_clock: None) -> None:
    """Two readings differ, so that durations are not all zero."""
    clock.deterministic(0)
    first = clock.now()

    assert clock.now() - first == timedelta(milliseconds=1)


def test_a_fixed_clock_prints_the_same_in_every_process() -> None:
    """Its place in memory is nobody's business, least of all a notebook's whose outputs are compared."""
    fixed = clock.FixedClock()
    fixed.advance(1.5)

    assert repr(fixed) == "<fixed clock, 1.5 s after 2026-01-01 09:00 UTC>"


# ------------------------------------------------------------------------------------------- deadlines


async def test_a_deadline_comes_when_a_fixed_clock_is_moved_on_so_far(fixed_clock: FixedClock) -> None:
    """Not a moment before, and once."""
    called: list[float] = []
    clock.deadline(60, lambda: called.append(clock.monotonic()))
    fixed_clock.advance(59.9)
    before = list(called)
    fixed_clock.advance(0.1)
    fixed_clock.advance(100)

    assert (before, called) == ([], [60.0])


async def test_a_deadline_comes_though_nobody_moves_a_fixed_clock(fixed_clock: FixedClock) -> None:
    """So that a program with a fixed clock does not hang where it would have been ended."""
    came, called = asyncio.Event(), []
    clock.deadline(0.01, lambda: (called.append("came"), came.set()))
    await asyncio.wait_for(came.wait(), 60)
    fixed_clock.advance(100)

    assert called == ["came"]
    assert clock.monotonic() == 100


async def test_a_cancelled_deadline_stays_silent_on_both_clocks(fixed_clock: FixedClock) -> None:
    """Whichever would have come first."""
    called: list[str] = []
    clock.deadline(0.01, lambda: called.append("no")).cancel()
    clock.deadline(60, lambda: called.append("no")).cancel()
    fixed_clock.advance(100)
    await asyncio.sleep(0.03)

    assert called == []


async def test_a_deadline_of_the_machines_clock_is_a_timer() -> None:
    """It comes by itself."""
    came = asyncio.Event()
    clock.deadline(0.0, came.set)

    assert await asyncio.wait_for(came.wait(), 60)


def test_the_monotonic_time_is_that_of_the_clock_in_use(own_clock: None) -> None:
    """Also where the clock was changed after the module had been imported."""
    with clock.use(FixedClock()) as fixed:
        fixed.advance(5)  # type: ignore[attr-defined]
        inside = clock.monotonic()
    deterministic = clock.deterministic()
    deterministic.advance(70)

    assert inside == 5
    assert round(clock.monotonic()) == 70
