"""Time that passes only when nobody has anything left to do."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import threading

import pytest

from koogbook import clock
from koogbook.labs.virtual_time import in_virtual_time, now, sleep


async def a_week() -> float:
    """Sleeps for a week and says what time it is then."""
    await sleep(7 * 86_400)
    return now()


def test_a_long_wait_takes_no_time() -> None:
    """The time moves on to the next timer at once."""
    assert in_virtual_time(a_week) == 7 * 86_400


def test_timers_come_in_the_order_of_their_time() -> None:
    """Whoever sleeps less wakes first, whatever was started first."""

    async def racing() -> list[tuple[float, float]]:
        woken: list[tuple[float, float]] = []

        async def one(seconds: float) -> None:
            await sleep(seconds)
            woken.append((seconds, now()))

        await asyncio.gather(*map(one, (3.0, 1.0, 2.0)))
        return woken

    assert in_virtual_time(racing) == [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]


def test_timeouts_of_asyncio_are_in_virtual_time() -> None:
    """All of asyncio waits in it."""

    async def waits() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(30):
                await asyncio.Event().wait()
        return now()

    assert in_virtual_time(waits) == pytest.approx(30)


async def test_it_works_where_a_loop_is_running_already() -> None:
    """As in the cell of a notebook; that loop and its tasks are as before. [NBK-04]"""
    loop, woken = asyncio.get_running_loop(), asyncio.Event()
    timer = loop.call_later(3600, woken.set)
    tasks = asyncio.all_tasks()
    in_virtual_time(a_week)

    assert asyncio.get_running_loop() is loop
    assert asyncio.all_tasks() == tasks
    assert not woken.is_set()
    timer.cancel()


def test_it_works_in_a_plain_script() -> None:
    """Without any loop."""
    code = (
        "from koogbook.labs.virtual_time import in_virtual_time, now, sleep\n"
        "async def main():\n"
        "    await sleep(60)\n"
        "    return now()\n"
        "print(in_virtual_time(main))"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)

    assert (done.stdout.strip(), done.stderr) == ("60.0", "")


def test_no_thread_is_left() -> None:
    """What it needed is gone when it is over."""
    before = threading.active_count()
    in_virtual_time(a_week)

    assert threading.active_count() == before


def test_what_still_runs_at_the_end_is_cancelled() -> None:
    """And has its say about that."""
    said: list[str] = []

    async def forever() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            said.append("cancelled")
            raise

    async def main() -> None:
        task = asyncio.ensure_future(forever())
        await sleep(1)
        said.append("over" if not task.done() else "too early")

    in_virtual_time(main)

    assert said == ["over", "cancelled"]


def test_an_exception_comes_out() -> None:
    """Unchanged."""

    async def fails() -> None:
        await sleep(1)
        raise LookupError("no seats")

    with pytest.raises(LookupError, match="no seats"):
        in_virtual_time(fails)


def test_a_wait_that_nobody_would_ever_end_is_ended() -> None:
    """It does not hang: there is nobody left who could do anything."""

    async def stuck() -> None:
        await asyncio.Event().wait()

    with pytest.raises(RuntimeError, match="everybody waits"):
        in_virtual_time(stuck)


def test_the_clock_of_the_process_is_neither_read_nor_moved(ticking_clock: clock.FixedClock) -> None:
    """A fixed clock would tick with each reading, and call its timers from the wrong thread."""
    called: list[str] = []
    ticking_clock.call_later(0.001, lambda: called.append("timer"))
    in_virtual_time(a_week)

    assert (ticking_clock.elapsed, called, clock.current()) == (0.0, [], ticking_clock)


def test_random_numbers_of_the_process_are_left_alone() -> None:
    """A notebook that has set a seed goes on from there."""
    before = random.getstate()
    in_virtual_time(a_week)

    assert random.getstate() == before
