"""When something that changes all the time is shown again."""

from __future__ import annotations

import asyncio
import threading

from koogbook.notebook.pace import Pace


class Calls:
    """What was called, and when."""

    def __init__(self, *, every: float = 0.05, after: float = 0.0, takes: float = 0.0) -> None:
        self.loop = asyncio.get_running_loop()
        self.times: list[float] = []
        self.threads: set[int] = set()
        self.takes = takes
        self.pace = Pace(self.call, self.loop, every=every, after=after)

    def call(self) -> None:
        """One call."""
        self.times.append(self.loop.time())
        self.threads.add(threading.get_ident())
        end = self.loop.time() + self.takes
        while self.loop.time() < end:
            pass

    @property
    def gaps(self) -> list[float]:
        """Seconds from each to the next."""
        return [later - earlier for earlier, later in zip(self.times, self.times[1:], strict=False)]


async def test_many_nudges_are_one_call() -> None:
    """What changes twenty times at once is shown once."""
    calls = Calls()
    for _ in range(20):
        calls.pace.nudge()
    await asyncio.sleep(0.02)

    assert len(calls.times) == 1


async def test_calls_keep_their_distance_and_the_last_nudge_is_never_lost() -> None:
    """However often it is nudged, and with what came last at the end."""
    calls = Calls()
    for _ in range(30):
        calls.pace.nudge()
        await asyncio.sleep(0.005)
    last = calls.loop.time()
    await asyncio.sleep(0.1)

    assert min(calls.gaps) >= 0.049
    assert calls.times[-1] >= last - 0.01


async def test_what_takes_long_is_called_less_often() -> None:
    """It gets a fifth of the time at most."""
    calls = Calls(every=0.01, takes=0.02)
    for _ in range(60):
        calls.pace.nudge()
        await asyncio.sleep(0.005)

    assert min(calls.gaps) >= 0.099


async def test_a_nudge_inside_of_the_call_brings_another_one() -> None:
    """And not the same one again."""
    calls = Calls()
    calls.pace._call = lambda: (calls.call(), len(calls.times) < 3 and calls.pace.nudge())  # type: ignore[func-returns-value,assignment]
    calls.pace.nudge()
    await asyncio.sleep(0.25)

    assert len(calls.times) == 3


async def test_somebody_who_waits_is_served_at_once() -> None:
    """A click does not wait until the pace allows."""
    calls = Calls(every=5.0)
    calls.pace.nudge()
    await asyncio.sleep(0.01)
    calls.pace.nudge()
    calls.pace.hurry()

    assert len(calls.times) == 2


async def test_hurrying_without_a_nudge_calls_nothing() -> None:
    """Where nothing has changed there is nothing to show."""
    calls = Calls()
    calls.pace.hurry()

    assert calls.times == []


async def test_after_its_end_nothing_is_called() -> None:
    """Neither what was planned nor what comes later."""
    calls = Calls()
    calls.pace.nudge()
    calls.pace.stop()
    calls.pace.nudge()
    await asyncio.sleep(0.08)

    assert calls.times == []


async def test_a_nudge_from_another_thread_is_called_in_the_loop() -> None:
    """A kernel may bring a click on any thread."""
    calls = Calls()
    other = threading.Thread(target=calls.pace.nudge)
    other.start()
    other.join()
    await asyncio.sleep(0.03)

    assert calls.threads == {threading.get_ident()}


async def test_something_can_wait_until_things_are_quiet() -> None:
    """What is saved follows a moment after the first change."""
    calls = Calls(after=0.08)
    begun = calls.loop.time()
    calls.pace.nudge()
    await asyncio.sleep(0.15)

    assert [time - begun >= 0.079 for time in calls.times] == [True]


def test_without_a_loop_each_nudge_is_one_call_and_never_itself_again() -> None:
    """There is nothing that could call later."""
    count = 0

    def call() -> None:
        nonlocal count
        count += 1
        pace.nudge()

    pace = Pace(call, None, every=0.1)
    pace.nudge()
    pace.nudge()

    assert count == 2
