"""Who waits for whom: many readers, one writer, first come, first served."""

from __future__ import annotations

import asyncio
import gc
import math
import re
import threading
import weakref
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest
from lock_world import without_one_end

import koogbook as kb
from koogbook.clock import FixedClock
from koogbook.errors import NestedSessionError, SessionTimeoutError, WrongLoopError
from koogbook.events import Notice, SessionEvent, SessionSlow
from koogbook.llm.context import LLMContext
from koogbook.pipeline import Subscription

Settle = Callable[[], Awaitable[None]]


class Visitors:
    """Tasks that open a session each and stay inside until they are told to go."""

    def __init__(self, context: LLMContext) -> None:
        self.context = context
        self.entered: list[str] = []
        self.inside: set[str] = set()
        self.doors: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    def come(self, *names: str, timeout: float | None = None) -> None:
        """Start visitors; those whose name begins with ``w`` write, the others read."""
        for name in names:
            self.doors[name] = asyncio.Event()
            self.tasks[name] = asyncio.ensure_future(self._visit(name, timeout))

    def go(self, *names: str) -> None:
        """Let visitors leave."""
        for name in names:
            self.doors[name].set()

    async def end(self) -> None:
        """Let all of them leave."""
        self.go(*self.doors)
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)

    async def _visit(self, name: str, timeout: float | None) -> None:
        scope: Any = self.context.write_session if name.startswith("w") else self.context.read_session
        async with scope(timeout=timeout):
            self.entered.append(name)
            self.inside.add(name)
            try:
                await self.doors[name].wait()
            finally:
                self.inside.discard(name)


async def test_many_readers_are_inside_at_once(context: LLMContext, settle: Settle) -> None:
    """Readers do not wait for readers [SES-09]."""
    visitors = Visitors(context)
    visitors.come("r1", "r2", "r3")
    await settle()

    assert visitors.inside == {"r1", "r2", "r3"}
    await visitors.end()


async def test_a_writer_is_alone(context: LLMContext, settle: Settle) -> None:
    """Neither a reader nor another writer comes in [SES-09]."""
    visitors = Visitors(context)
    visitors.come("w1", "r1", "w2")
    await settle()

    assert visitors.inside == {"w1"}
    await visitors.end()


async def test_a_writer_waits_until_every_earlier_reader_has_left(
    context: LLMContext, settle: Settle
) -> None:
    """A half-read prompt never changes under a reader [SES-09]."""
    visitors = Visitors(context)
    visitors.come("r1", "r2", "w1")
    await settle()
    visitors.go("r1")
    await settle()
    with_one_reader = set(visitors.inside)
    visitors.go("r2")
    await settle()

    assert with_one_reader == {"r2"}
    assert visitors.inside == {"w1"}
    await visitors.end()


async def test_no_reader_passes_a_waiting_writer(context: LLMContext, settle: Settle) -> None:
    """A stream of readers cannot hold a writer off for ever [SES-09]."""
    visitors = Visitors(context)
    visitors.come("r1", "w1", "r2")
    await settle()
    visitors.go("r1")
    await settle()
    visitors.go("w1")
    await settle()

    assert visitors.entered == ["r1", "w1", "r2"]
    await visitors.end()


async def test_readers_that_stand_together_in_the_queue_enter_together(
    context: LLMContext, settle: Settle
) -> None:
    """Up to the next writer and no further [SES-09]."""
    visitors = Visitors(context)
    visitors.come("w1", "r1", "r2", "w2", "r3")
    await settle()
    visitors.go("w1")
    await settle()

    assert visitors.inside == {"r1", "r2"}
    await visitors.end()


async def test_readers_enter_together_when_the_writer_between_them_gives_up(
    context: LLMContext, settle: Settle
) -> None:
    """Nobody waits for one who has left the queue [SES-11]."""
    visitors = Visitors(context)
    visitors.come("r1", "w1", "r2")
    await settle()
    visitors.tasks["w1"].cancel()
    await settle()

    assert visitors.inside == {"r1", "r2"}
    await visitors.end()


# ------------------------------------------------------------------------------------------- nesting


@pytest.mark.parametrize(
    ("outer", "inner"), [("read", "write"), ("write", "read"), ("write", "write")], ids=str
)
async def test_a_nested_session_of_one_task_is_refused_at_once(
    context: LLMContext, outer: str, inner: str
) -> None:
    """Koog hangs for ever here; the error names both places in the code [SES-10]."""
    open_session: dict[str, Any] = {"read": context.read_session, "write": context.write_session}
    async with open_session[outer]():
        with pytest.raises(NestedSessionError) as caught:
            async with open_session[inner]():
                pytest.fail("the second session was opened")

    assert caught.value.first.startswith("test_session_lock.py:")
    assert caught.value.second.startswith("test_session_lock.py:")
    assert caught.value.first != caught.value.second
    assert caught.value.first in str(caught.value)
    assert caught.value.second in str(caught.value)


async def test_a_refused_nesting_leaves_the_outer_session_usable(context: LLMContext) -> None:
    """Nothing was changed [SES-10]."""
    async with context.write_session() as session:
        with pytest.raises(NestedSessionError):
            async with context.read_session():
                pass
        session.append(kb.user("goes on", id="on"))

    assert context.committed.prompt[-1].id == "on"


async def test_a_reader_may_read_again_without_queueing_behind_a_writer(
    context: LLMContext, settle: Settle
) -> None:
    """It joins what it holds; queueing would be a deadlock [SES-10]."""
    visitors = Visitors(context)
    async with context.read_session():
        visitors.come("w1")
        await settle()
        async with context.read_session() as again:
            inside = (len(again.prompt), set(visitors.inside))

    assert inside == (2, set())
    await visitors.end()


async def test_a_writer_waits_for_both_sessions_of_a_reader_that_joined_itself(
    context: LLMContext, settle: Settle
) -> None:
    """The outer session still reads after the inner one has ended [SES-10]."""
    visitors = Visitors(context)
    async with context.read_session():
        async with context.read_session():
            visitors.come("w1")
            await settle()
        await settle()
        while_reading = set(visitors.inside)
    await settle()

    assert while_reading == set()
    assert visitors.inside == {"w1"}
    await visitors.end()


async def test_two_contexts_may_be_held_by_one_task(make_context: Any) -> None:
    """Each context has its own lock [SES-10]."""
    async with make_context().write_session(), make_context().write_session() as inner:
        assert len(inner.prompt) == 0


async def test_the_same_task_may_write_again_after_the_block(context: LLMContext) -> None:
    """One after the other is no nesting [SES-10]."""
    async with context.write_session() as session:
        session.append(kb.user("1"))
    async with context.write_session() as session:
        session.append(kb.user("2"))

    assert len(context.committed.prompt) == 4


async def test_a_session_in_another_task_waits_as_usual(context: LLMContext, settle: Settle) -> None:
    """Only the holding task itself is refused [SES-10]."""
    visitors = Visitors(context)
    async with context.write_session():
        visitors.come("w1")
        await settle()
        waiting = [entry.mode for entry in context.statistics().queue]
    await settle()

    assert waiting == ["write"]
    assert visitors.inside == {"w1"}
    await visitors.end()


# ------------------------------------------------------------------------------------------- time


async def test_a_wait_ends_after_ten_seconds_by_default(
    fixed_clock: FixedClock, context: LLMContext, settle: Settle
) -> None:
    """Where no cycle can be seen, the limit ends it [SES-10]."""
    visitors = Visitors(context)
    visitors.come("w1", "w2")
    await settle()
    fixed_clock.advance(9.999)
    await settle()
    still_waiting = not visitors.tasks["w2"].done()
    fixed_clock.advance(0.001)
    await settle()

    assert still_waiting
    assert isinstance(visitors.tasks["w2"].exception(), SessionTimeoutError)
    await visitors.end()


async def test_a_timeout_names_the_holders_and_their_places(
    fixed_clock: FixedClock, context: LLMContext, settle: Settle
) -> None:
    """The error says who is in the way [SES-11]."""
    visitors = Visitors(context)
    visitors.come("r1", "r2")
    visitors.come("w1", timeout=2)
    await settle()
    fixed_clock.advance(2)
    await settle()

    problem = visitors.tasks["w1"].exception()
    assert isinstance(problem, TimeoutError)
    assert str(problem).count("read session of") == 2
    assert "test_session_lock.py:" in str(problem)
    assert "2 s" in str(problem)
    await visitors.end()


async def test_a_timed_out_writer_lets_the_readers_behind_it_in(
    fixed_clock: FixedClock, context: LLMContext, settle: Settle
) -> None:
    """It leaves the queue [SES-11]."""
    visitors = Visitors(context)
    visitors.come("r1")
    visitors.come("w1", timeout=1)
    visitors.come("r2", timeout=100)
    await settle()
    fixed_clock.advance(1)
    await settle()

    assert visitors.inside == {"r1", "r2"}
    await visitors.end()


async def test_infinity_waits_for_ever(fixed_clock: FixedClock, context: LLMContext, settle: Settle) -> None:
    """``timeout=math.inf`` switches the limit off [SES-11]."""
    visitors = Visitors(context)
    visitors.come("w1")
    visitors.come("w2", timeout=math.inf)
    await settle()
    fixed_clock.advance(1e8)
    await settle()
    visitors.go("w1")
    await settle()

    assert visitors.inside == {"w2"}
    await visitors.end()


async def test_a_timeout_never_cuts_a_hold(
    fixed_clock: FixedClock, context: LLMContext, settle: Settle
) -> None:
    """It bounds the wait, not the work [SES-11]."""
    async with context.write_session(timeout=1) as session:
        fixed_clock.advance(1000)
        await settle()
        session.append(kb.user("late", id="late"))

    assert context.committed.prompt[-1].id == "late"


async def test_a_holder_is_reported_after_thirty_seconds_and_goes_on(
    fixed_clock: FixedClock, context: LLMContext
) -> None:
    """Reported once, with how long it has held the lock [SES-11]."""
    async with context.write_session():
        fixed_clock.advance(29.999)
        before = [event for event in context.log.events if isinstance(event, SessionSlow)]
        fixed_clock.advance(0.001)
        fixed_clock.advance(100)

    slow = [event for event in context.log.events if isinstance(event, SessionSlow)]
    assert before == []
    assert [event.held for event in slow] == [30.0]


async def test_a_session_that_ends_in_time_is_not_reported(
    fixed_clock: FixedClock, context: LLMContext
) -> None:
    """The timer ends with the session [SES-11]."""
    async with context.read_session():
        fixed_clock.advance(29)
    fixed_clock.advance(100)

    assert not any(isinstance(event, SessionSlow) for event in context.log.events)


async def test_the_report_of_a_slow_holder_never_raises_into_others(
    fixed_clock: FixedClock, make_context: Any
) -> None:
    """A timer has nobody to raise to: a broken listener is recorded [SES-11]."""

    def broken(event: Any) -> None:
        raise RuntimeError("broken")

    context = make_context(listeners=[Subscription(broken, (SessionSlow,), "raise")])
    async with context.write_session():
        fixed_clock.advance(30)

    assert "HandlerFailed" in [event.name for event in context.log.events]


async def test_a_wait_ends_though_nobody_moves_a_fixed_clock(
    fixed_clock: FixedClock, context: LLMContext, settle: Settle
) -> None:
    """While all tasks wait nobody can, so the limit runs on the machine's clock, too [SES-10, SES-11]."""
    visitors = Visitors(context)
    visitors.come("w1")
    visitors.come("w2", timeout=0.05)
    await settle()
    with pytest.raises(SessionTimeoutError, match=r"0\.05 s"):
        await asyncio.wait_for(visitors.tasks["w2"], 60)

    assert context.statistics().queue == ()
    await visitors.end()


async def test_waits_that_begin_together_have_their_own_limits(
    ticking_clock: FixedClock, context: LLMContext, settle: Settle
) -> None:
    """A short one among long ones ends first, and one that begins later ends later [SES-11]."""
    visitors = Visitors(context)
    visitors.come("w1")
    visitors.come("w2", timeout=10)
    visitors.come("w3", timeout=1)
    await settle()
    ticking_clock.advance(0.5)
    visitors.come("w4", timeout=1)
    await settle()
    ticking_clock.advance(0.6)
    await settle()
    after_one = [name for name, task in visitors.tasks.items() if task.done()]
    ticking_clock.advance(0.5)
    await settle()
    after_two = [name for name, task in visitors.tasks.items() if task.done()]

    assert (after_one, after_two) == (["w3"], ["w3", "w4"])
    await visitors.end()


# ------------------------------------------------------------------------------------------- fairness


async def test_a_writer_enters_though_readers_come_all_the_time(context: LLMContext) -> None:
    """It waits for those who came before it and for no other [SES-09]."""
    entered: list[str] = []

    async def read() -> None:
        async with context.read_session():
            entered.append("r")
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    async def write() -> None:
        async with context.write_session():
            entered.append("w")

    readers = []
    writer: asyncio.Task[None] | None = None
    for number in range(50):
        readers.append(asyncio.ensure_future(read()))
        if number == 10:
            writer = asyncio.ensure_future(write())
        await asyncio.sleep(0)
    await asyncio.gather(*readers)

    assert writer is not None
    assert writer.done()
    assert entered.index("w") <= 12


async def test_a_reader_enters_though_writers_come_all_the_time(context: LLMContext) -> None:
    """It waits for those who came before it and for no other [SES-09]."""
    visitors = Visitors(context)
    visitors.come("w1", "w2", "r1", "w3", "w4")
    for name in ("w1", "w2", "r1", "w3", "w4"):
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        visitors.come(f"{name} again")
        visitors.go(name)
    await visitors.end()

    assert visitors.entered[:5] == ["w1", "w2", "r1", "w3", "w4"]


# ------------------------------------------------------------------------------------------- looking


async def test_the_state_of_the_lock_can_be_read_without_taking_it(
    fixed_clock: FixedClock, context: LLMContext, settle: Settle
) -> None:
    """Readers, writer and queue with mode, place and since when [SES-14]."""
    visitors = Visitors(context)
    visitors.come("r1")
    await settle()
    fixed_clock.advance(2)
    visitors.come("w1", "r2")
    await settle()
    state = context.statistics()

    assert [(entry.mode, entry.since) for entry in state.readers] == [("read", 0.0)]
    assert state.writer is None
    assert [(entry.mode, entry.since) for entry in state.queue] == [("write", 2.0), ("read", 2.0)]
    assert all(entry.place.startswith("test_session_lock.py:") for entry in state.queue)
    await visitors.end()


async def test_a_lock_that_nobody_wants_is_empty(context: LLMContext) -> None:
    """After all have left nothing remains [SES-14]."""
    visitors = Visitors(context)
    visitors.come("r1", "w1", "w2", "r2")
    await visitors.end()
    state = context.statistics()

    assert (state.readers, state.writer, state.queue) == ((), None, ())


@pytest.mark.parametrize("timeout", [math.nan, -1, -math.inf, True, "1", b"1"])
@pytest.mark.parametrize("kind", ["read_session", "write_session"])
def test_a_timeout_that_bounds_nothing_is_refused(context: LLMContext, kind: str, timeout: Any) -> None:
    """Not a number would wait for ever; nothing is opened [SES-11]."""
    with pytest.raises(ValueError, match=r"math\.inf"):
        getattr(context, kind)(timeout=timeout)

    assert context.log.events == []


@pytest.mark.parametrize("seconds", [math.nan, -0.1])
def test_a_default_limit_that_bounds_nothing_is_refused(make_context: Any, seconds: float) -> None:
    """It would be that of every session [SES-11]."""
    with pytest.raises(ValueError, match=r"math\.inf"):
        make_context(wait_limit=seconds)


async def test_the_watch_for_slow_sessions_keeps_no_context_alive(make_context: Any) -> None:
    """When a run is over, its history is free, though the timer has not come yet [SES-11]."""
    context = make_context(messages=[kb.user("hello")])
    async with context.write_session() as session:
        session.append(kb.user("more"))
    alive = weakref.ref(context)
    del context, session
    gc.collect()

    assert alive() is None


# ------------------------------------------------------------------------------------------- loops and threads


async def _write(context: LLMContext) -> None:
    async with context.write_session() as session:
        session.append(kb.user("x"))
        await asyncio.sleep(0)


async def test_a_context_in_use_on_another_loop_says_so(context: LLMContext) -> None:
    """A lock belongs to one event loop; the error names both and their threads, and nothing changes [KB-109]."""
    me = threading.current_thread().name
    async with context.write_session():
        with pytest.raises(WrongLoopError, match="another event loop") as caught:
            await asyncio.to_thread(asyncio.run, _write(context))
        inside = context.statistics()

    named = re.findall(r"EventLoop 0x[0-9a-f]+ \(in thread '([^']+)'\)", str(caught.value))
    assert named[0] == me
    assert len(named) == len(set(named)) == 2
    assert "test_session_lock.py:" in str(caught.value)
    assert (inside.writer is not None, inside.queue) == (True, ())
    await _write(context)


async def test_a_free_context_may_be_used_on_another_loop_and_then_on_the_first_again(
    context: LLMContext,
) -> None:
    """Nobody is in the way [KB-109]."""
    await _write(context)
    await asyncio.to_thread(asyncio.run, _write(context))
    await _write(context)

    assert len(context.committed.prompt) == 5


def test_a_context_may_be_used_by_one_run_of_asyncio_after_the_other(context: LLMContext) -> None:
    """As a script does; with waits in each, which leave nothing behind [KB-109]."""

    async def two() -> None:
        await asyncio.gather(_write(context), _write(context))

    for _ in range(3):
        asyncio.run(two())

    assert len(context.committed.prompt) == 8
    assert "sessions dropped" not in [getattr(event, "kind", "") for event in context.log.events]


def test_a_slow_session_is_reported_on_a_second_loop_too(make_context: Any) -> None:
    """The timer of the first loop went with it [SES-11]."""
    context = make_context(slow_after=0.02)

    async def hold() -> None:
        async with context.write_session():
            await asyncio.sleep(0.1)

    asyncio.run(_write(context))
    asyncio.run(hold())

    assert [event.name for event in context.log.events].count("SessionSlow") == 1


def _left_on_a_closed_loop(context: LLMContext, *visits: Callable[[], Any]) -> list[Any]:
    """Begin visits on a loop that is closed while they go on; give their tasks, which are stuck for ever."""
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda loop, problem: None)
    tasks = [loop.create_task(visit()) for visit in visits]
    loop.run_until_complete(asyncio.sleep(0.01))
    loop.close()
    return tasks


def test_sessions_that_were_left_on_a_closed_loop_are_dropped_visibly(context: LLMContext) -> None:
    """Nothing there goes on; the context can be used, and the log says what was dropped [KB-109]."""

    async def hold() -> None:
        async with context.write_session() as session:
            session.append(kb.user("lost"))
            await asyncio.Event().wait()

    stuck = _left_on_a_closed_loop(context, hold, lambda: _write(context))
    held = context.statistics()
    asyncio.run(_write(context))
    told = [event for event in context.log.events if isinstance(event, SessionEvent)]
    notices = [event for event in context.log.events if isinstance(event, Notice)]
    names: dict[int, list[str]] = {}
    for event in told:
        names.setdefault(event.session, []).append(event.name.removeprefix("Session"))

    assert (held.writer is not None, len(held.queue)) == (True, 1)
    assert [message.text for message in context.committed.prompt][2:] == ["x"]
    assert [" ".join(one) for one in names.values()] == [
        "Opened Acquired Discarded Closed",
        "Opened Waiting Closed",
        "Opened Acquired Committed Closed",
    ]
    assert [notice.kind for notice in notices] == ["sessions dropped"]
    assert notices[0].text.count("test_session_lock.py:") == 2
    before = len(context.log.events)
    stuck.clear()
    gc.collect()
    assert len(context.log.events) == before


def test_a_context_that_is_freed_with_its_closed_loop_wakes_nobody(make_context: Any) -> None:
    """The block of the holder is left then; who waited behind it is on the closed loop, too [KB-109]."""
    context = make_context()

    async def hold(context: LLMContext) -> None:
        async with context.write_session():
            await asyncio.Event().wait()

    log = context.log
    stuck = _left_on_a_closed_loop(
        context, partial(hold, context), partial(_write, context), partial(_write, context)
    )
    stuck.clear()
    del context
    gc.collect()

    assert without_one_end(log.events) == []


async def test_every_slow_holder_is_reported_once(fixed_clock: FixedClock, make_context: Any) -> None:
    """Also one that comes while another one is looked after [SES-11]."""
    context = make_context()

    async with context.read_session():
        fixed_clock.advance(20)
        async with context.read_session():
            fixed_clock.advance(15)
            fixed_clock.advance(20)
            fixed_clock.advance(100)
    slow = [event.session for event in context.log.events if isinstance(event, SessionSlow)]

    assert len(slow) == 2
    assert len(set(slow)) == 2
