"""The lock with Koog's order, by itself."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from koogbook.errors import NestedSessionError
from koogbook.labs.reader_first_lock import ReaderFirstLock
from koogbook.llm.rw_lock import Mode, RWLock, Ticket


class TwoMutexes:
    """Koog's lock as it is built there: the first reader takes the mutex of the writers, the last one gives it back."""

    def __init__(self) -> None:
        self.write_mutex = asyncio.Lock()
        self.count_mutex = asyncio.Lock()
        self.readers = 0

    async def enter(self, mode: Mode) -> None:
        """Until the lock is held."""
        if mode == "write":
            await self.write_mutex.acquire()
            return
        async with self.count_mutex:
            self.readers += 1
            if self.readers == 1:
                await self.write_mutex.acquire()

    async def leave(self, mode: Mode) -> None:
        """Give it back."""
        if mode == "write":
            self.write_mutex.release()
            return
        async with self.count_mutex:
            self.readers -= 1
            if self.readers == 0:
                self.write_mutex.release()


class Visitors:
    """Tasks that come to a lock and leave it when they are told to."""

    def __init__(self, lock: Any) -> None:
        self.lock = lock
        self.inside: list[int] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.doors: list[asyncio.Event] = []

    async def come(self, mode: Mode) -> None:
        """One more."""
        number = len(self.tasks)
        self.doors.append(asyncio.Event())
        self.tasks.append(asyncio.ensure_future(self._visit(number, mode)))
        await settled()

    async def leave(self, which: int) -> None:
        """One of those inside goes."""
        if self.inside:
            self.doors[self.inside[which % len(self.inside)]].set()
            await settled()

    async def cancel(self, number: int) -> None:
        """End a task, wherever it is."""
        self.tasks[number].cancel()
        await settled()

    async def end(self) -> None:
        """All of them."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def _visit(self, number: int, mode: Mode) -> None:
        ticket = Ticket(number, mode, f"visitor {number}", "here")
        two = isinstance(self.lock, TwoMutexes)
        if two:
            await self.lock.enter(mode)
        elif not self.lock.try_acquire(ticket):
            await self.lock.wait(ticket, 1e9)
        self.inside.append(number)
        try:
            await self.doors[number].wait()
        finally:
            self.inside.remove(number)
            if two:
                await self.lock.leave(mode)
            else:
                self.lock.release(ticket)


async def settled() -> None:
    """Until every task waits."""
    for _ in range(12):
        await asyncio.sleep(0)


STEPS = st.lists(
    st.one_of(st.sampled_from(["read", "write"]), st.integers(min_value=0, max_value=5)), max_size=40
)


@given(STEPS)
@settings(max_examples=200)
def test_who_is_inside_is_who_is_inside_koogs_two_mutexes(steps: list[Any]) -> None:
    """At every moment of any sequence of visits; so what a lab shows of it is true of Koog. [NBK-15]"""

    async def compared() -> None:
        ours, koogs = Visitors(ReaderFirstLock("ours")), Visitors(TwoMutexes())
        for step in steps:
            for visitors in (ours, koogs):
                await (visitors.leave(step) if isinstance(step, int) else visitors.come(step))
            assert sorted(ours.inside) == sorted(koogs.inside), step
            # Both lists are left by the same door: the order inside is the same for both.
            ours.inside.sort()
            koogs.inside.sort()
        await ours.end()
        await koogs.end()

    asyncio.run(compared())


async def test_a_reader_passes_a_waiting_writer() -> None:
    """As long as another reader is inside; on the fair lock it does not. [NBK-15, SES-09]"""
    inside = {}
    for kind in (RWLock, ReaderFirstLock):
        visitors = Visitors(kind("lock"))
        for mode in ("read", "write", "read"):
            await visitors.come(mode)
        inside[kind] = list(visitors.inside)
        await visitors.end()

    assert inside == {RWLock: [0], ReaderFirstLock: [0, 2]}


async def test_a_writer_enters_when_the_last_reader_has_left() -> None:
    """It waits for all of them, and for nothing else. [NBK-15]"""
    visitors = Visitors(ReaderFirstLock("lock"))
    for mode in ("read", "read", "write"):
        await visitors.come(mode)
    before = list(visitors.inside)
    await visitors.leave(0)
    between = list(visitors.inside)
    await visitors.leave(0)

    assert (before, between, visitors.inside) == ([0, 1], [1], [2])
    await visitors.end()


async def test_with_the_first_reader_all_readers_enter() -> None:
    """Those behind a writer pass it together when their first one has its turn. [NBK-15]"""
    visitors = Visitors(ReaderFirstLock("lock"))
    for mode in ("write", "read", "write", "read"):
        await visitors.come(mode)
    await visitors.leave(0)

    assert visitors.inside == [1, 3]
    await visitors.end()


@pytest.mark.parametrize("modes", [("write", "write"), ("write", "read"), ("read", "write")])
async def test_a_cancelled_holder_gives_the_lock_back(modes: tuple[Mode, Mode]) -> None:
    """Whoever waits then enters. [SES-11]"""
    visitors = Visitors(ReaderFirstLock("lock"))
    for mode in modes:
        await visitors.come(mode)
    await visitors.cancel(0)

    assert visitors.inside == [1]
    await visitors.end()


async def test_a_cancelled_first_reader_leaves_the_way_to_the_others() -> None:
    """In Koog it stays counted, and later readers would walk in on a writer. [SES-11]"""
    lock = ReaderFirstLock("lock")
    visitors = Visitors(lock)
    for mode in ("write", "read"):
        await visitors.come(mode)
    await visitors.cancel(1)
    await visitors.come("read")
    during = list(visitors.inside)
    await visitors.leave(0)

    assert (during, visitors.inside, lock.statistics().queue) == ([0], [2], ())
    await visitors.end()


async def test_a_waiter_cancelled_after_it_was_let_in_gives_the_lock_back() -> None:
    """In the handler of its own cancellation. [SES-11]"""
    lock = ReaderFirstLock("lock")
    holder = Ticket(1, "write", "holder", "here")
    assert lock.try_acquire(holder)
    waiting = asyncio.ensure_future(lock.wait(Ticket(2, "write", "waiter", "here"), 1e9))
    await settled()
    lock.release(holder)
    waiting.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await waiting

    assert lock.statistics().writer is None


async def test_a_nested_session_is_refused_as_on_the_fair_lock() -> None:
    """The order is Koog's, its dead end is not. [SES-10]"""
    lock = ReaderFirstLock("lock")
    assert lock.try_acquire(Ticket(1, "read", "outer", "here"))

    with pytest.raises(NestedSessionError):
        lock.try_acquire(Ticket(2, "write", "inner", "there"))
