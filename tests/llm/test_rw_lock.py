"""The lock by itself, without sessions around it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
import time
from collections.abc import Awaitable, Callable

import pytest

from koogbook.clock import FixedClock
from koogbook.errors import SessionTimeoutError, WrongLoopError
from koogbook.llm.rw_lock import Mode, RWLock, Ticket

Settle = Callable[[], Awaitable[None]]


def _ticket(number: int, mode: Mode = "write") -> Ticket:
    return Ticket(number, mode, f"visitor {number}", f"code:{number}")


async def _wait(lock: RWLock, ticket: Ticket) -> None:
    if not lock.try_acquire(ticket):
        await lock.wait(ticket, 10)


async def _holding_one_waiting_one(lock: RWLock, settle: Settle) -> tuple[Ticket, asyncio.Task[None]]:
    holder = _ticket(1)
    assert lock.try_acquire(holder)
    waiting = asyncio.ensure_future(_wait(lock, _ticket(2)))
    await settle()
    return holder, waiting


async def test_a_cancelled_waiter_leaves_the_queue(settle: Settle) -> None:
    """And lets those behind it move up [SES-11]."""
    lock = RWLock("trip")
    reader = _ticket(1, "read")
    assert lock.try_acquire(reader)
    writer = asyncio.ensure_future(_wait(lock, _ticket(2)))
    behind = asyncio.ensure_future(_wait(lock, _ticket(3, "read")))
    await settle()
    writer.cancel()
    await settle()

    assert [entry.session for entry in lock.statistics().readers] == [1, 3]
    assert lock.statistics().queue == ()
    await behind


async def test_a_waiter_cancelled_after_it_was_let_in_gives_the_lock_back(settle: Settle) -> None:
    """In the handler of its own cancellation [SES-11, KB-104]."""
    lock = RWLock("trip")
    holder, waiting = await _holding_one_waiting_one(lock, settle)
    lock.release(holder)
    granted = lock.statistics().writer
    waiting.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await waiting

    assert granted is not None
    assert granted.session == 2
    assert lock.statistics().writer is None


async def test_a_waiter_that_timed_out_leaves_the_queue(fixed_clock: FixedClock, settle: Settle) -> None:
    """Its error names holder and place [SES-11]."""
    lock = RWLock("trip")
    _, waiting = await _holding_one_waiting_one(lock, settle)
    fixed_clock.advance(10)

    with pytest.raises(SessionTimeoutError, match="write session of visitor 1 at code:1"):
        await waiting
    assert lock.statistics().queue == ()


async def test_a_waiter_that_is_let_in_does_not_time_out_later(
    fixed_clock: FixedClock, settle: Settle
) -> None:
    """Its timer ends with its wait [SES-11]."""
    lock = RWLock("trip")
    holder, waiting = await _holding_one_waiting_one(lock, settle)
    lock.release(holder)
    fixed_clock.advance(100)
    await waiting

    assert lock.statistics().writer is not None


async def test_giving_back_twice_changes_nothing(settle: Settle) -> None:
    """The next holder keeps what it has [SES-11]."""
    lock = RWLock("trip")
    holder, waiting = await _holding_one_waiting_one(lock, settle)
    lock.release(holder)
    lock.release(holder)
    await waiting
    writer = lock.statistics().writer

    assert writer is not None
    assert writer.session == 2


class _SlowLock(RWLock):
    """A lock with time enough for another thread between the check that it is free and the entering."""

    def _enter(self, ticket: Ticket) -> None:
        time.sleep(0.0005)
        super()._enter(ticket)


def test_loops_of_several_threads_that_come_to_a_free_lock_at_once_are_never_both_inside() -> None:
    """One gets in, the others an error; no two of them [KB-109]."""
    lock = _SlowLock("trip")
    numbers = itertools.count(1)
    inside: list[int] = []
    ends: list[str] = []
    broken: list[str] = []
    at_once = threading.Barrier(4)

    async def try_again_and_again() -> None:
        for _ in range(50):
            ticket = _ticket(next(numbers))
            try:
                got_in = lock.try_acquire(ticket)
            except WrongLoopError:
                ends.append("refused")
                continue
            inside.append(ticket.number)
            if not got_in or len(inside) > 1:
                broken.append(f"{inside} are inside together")
            time.sleep(0.0005)  # noqa: ASYNC251 - so that the other threads come meanwhile
            inside.remove(ticket.number)
            lock.release(ticket)
            ends.append("in")

    def run() -> None:
        at_once.wait()
        asyncio.run(try_again_and_again())

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    state = lock.statistics()

    assert broken == []
    assert len(ends) == 4 * 50
    assert set(ends) == {"in", "refused"}
    assert (state.readers, state.writer, state.queue) == ((), None, ())
