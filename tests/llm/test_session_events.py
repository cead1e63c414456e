"""What a session tells about itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import koogbook as kb
from koogbook import events
from koogbook.clock import FixedClock
from koogbook.errors import NestedSessionError
from koogbook.llm.context import LLMContext

Settle = Callable[[], Awaitable[None]]


def _names(context: LLMContext, session: int | None = None) -> list[str]:
    return [
        event.name
        for event in context.log.events
        if session is None or getattr(event, "session", None) == session
    ]


async def test_a_write_session_tells_its_life_in_order(context: LLMContext) -> None:
    """Opened, acquired, committed, what changed, closed [SES-14]."""
    async with context.write_session() as session:
        session.append(kb.user("x"))

    assert _names(context) == [
        "SessionOpened",
        "SessionAcquired",
        "SessionCommitted",
        "PromptChanged",
        "SessionClosed",
    ]


async def test_a_read_session_commits_nothing(context: LLMContext) -> None:
    """Neither committed nor discarded [SES-14]."""
    async with context.read_session():
        pass

    assert _names(context) == ["SessionOpened", "SessionAcquired", "SessionClosed"]


async def test_a_discarded_session_says_why(context: LLMContext) -> None:
    """The exception is in the event [SES-14]."""
    with pytest.raises(RuntimeError):
        async with context.write_session():
            raise RuntimeError("broken")

    discarded = context.log.events[2]
    assert isinstance(discarded, events.SessionDiscarded)
    assert discarded.error == "RuntimeError: broken"
    assert _names(context)[2:] == ["SessionDiscarded", "SessionClosed"]


async def test_a_waiting_session_says_who_is_ahead(context: LLMContext, settle: Settle) -> None:
    """Holders first, then those before it in the queue [SES-14]."""

    async def write() -> None:
        async with context.write_session():
            pass

    async with context.write_session():
        tasks = [asyncio.ensure_future(write()) for _ in range(2)]
        await settle()
    await asyncio.gather(*tasks)
    opened = [event.session for event in context.log.events if isinstance(event, events.SessionOpened)]
    waiting = [event for event in context.log.events if isinstance(event, events.SessionWaiting)]

    assert [event.ahead for event in waiting] == [(opened[0],), (opened[0], opened[1])]


async def test_a_wait_and_a_hold_have_their_durations(
    fixed_clock: FixedClock, context: LLMContext, settle: Settle
) -> None:
    """In seconds of the monotonic clock [SES-14]."""

    async def write() -> None:
        async with context.write_session():
            fixed_clock.advance(2)

    async with context.write_session():
        task = asyncio.ensure_future(write())
        await settle()
        fixed_clock.advance(3)
    await task
    waited = [event.waited for event in context.log.events if isinstance(event, events.SessionAcquired)]
    held = [event.held for event in context.log.events if isinstance(event, events.SessionClosed)]

    assert (waited, held) == ([0.0, 3.0], [3.0, 2.0])


async def test_the_end_of_one_session_comes_before_the_beginning_of_the_next(
    context: LLMContext, settle: Settle
) -> None:
    """A replay never shows two writers at once [SES-14]."""

    async def write() -> None:
        async with context.write_session():
            await asyncio.sleep(0)

    await asyncio.gather(*(write() for _ in range(5)))
    order = [
        (event.session, event.name)
        for event in context.log.events
        if isinstance(event, events.SessionAcquired | events.SessionClosed)
    ]

    assert [name for _, name in order] == ["SessionAcquired", "SessionClosed"] * 5
    assert [number for number, _ in order[::2]] == [number for number, _ in order[1::2]]


async def test_events_are_in_the_order_of_their_times(ticking_clock: FixedClock, context: LLMContext) -> None:
    """A view can replay them [SES-14]."""

    async def visit(number: int) -> None:
        scope: Any = context.write_session if number % 2 else context.read_session
        async with scope():
            await asyncio.sleep(0)

    await asyncio.gather(*(visit(number) for number in range(6)))
    times = [event.at for event in context.log.events]

    assert times == sorted(times)


async def test_a_refused_session_names_the_first_place(context: LLMContext) -> None:
    """With the mode of the session that is still open [SES-10]."""
    async with context.read_session():
        with pytest.raises(NestedSessionError) as caught:
            async with context.write_session():
                pass
    refused = next(event for event in context.log.events if isinstance(event, events.SessionRefused))

    assert (refused.mode, refused.first, refused.first_mode) == ("write", caught.value.first, "read")


async def test_a_session_cancelled_in_the_queue_says_that_it_left(
    context: LLMContext, settle: Settle
) -> None:
    """Every change of the lock is an event, so that a live view does not show it for ever [SES-14]."""

    async def write() -> None:
        async with context.write_session():
            pass

    async with context.write_session():
        task = asyncio.ensure_future(write())
        await settle()
        task.cancel()
        await settle()
        number = [event.session for event in context.log.events if isinstance(event, events.SessionOpened)][1]
        told = _names(context, number)

    assert told == ["SessionOpened", "SessionWaiting", "SessionClosed"]


async def test_an_unchanged_prompt_is_no_change(context: LLMContext) -> None:
    """A writer that did nothing leaves no such event [AGT-03]."""
    async with context.write_session():
        pass

    assert "PromptChanged" not in _names(context)


async def test_a_change_says_whether_the_history_only_grew(context: LLMContext) -> None:
    """Appended: not replaced. Rewritten: replaced, even to the same length [AGT-03]."""
    async with context.write_session() as session:
        session.append(kb.user("x"))
    async with context.write_session() as session:
        session.prompt = session.prompt.with_messages(session.messages[:1])
    async with context.write_session() as session:
        session.prompt = session.prompt.with_messages([kb.user("y")])
    changes = [event for event in context.log.events if isinstance(event, events.PromptChanged)]

    assert [(event.messages_before, event.messages, event.replaced) for event in changes] == [
        (2, 3, False),
        (3, 1, True),
        (1, 1, True),
    ]


async def test_a_session_names_the_line_that_opened_it(context: LLMContext) -> None:
    """The place is the user's code, not this package's [SES-14]."""
    async with context.write_session():
        pass
    opened = context.log.events[0]

    assert isinstance(opened, events.SessionOpened)
    assert opened.place.startswith("test_session_events.py:")


async def test_a_session_of_a_task_with_a_name_is_told_by_it(context: LLMContext) -> None:
    """Tasks without one are told by their node [SES-14]."""

    async def read() -> None:
        async with context.read_session():
            pass

    await asyncio.create_task(read(), name="the reader")
    await asyncio.create_task(read())
    who = [event.who for event in context.log.events if isinstance(event, events.SessionOpened)]

    assert who == ["the reader", ""]


async def test_the_name_of_the_runs_own_task_says_nothing(make_context: Any) -> None:
    """Its sessions are those of the node [SES-14]."""

    async def run() -> list[str]:
        context = make_context()
        async with context.read_session():
            pass
        return [event.who for event in context.log.events if isinstance(event, events.SessionOpened)]

    assert await asyncio.create_task(run(), name="run 7") == [""]


async def test_of_a_long_queue_the_first_are_named_and_the_others_counted(
    context: LLMContext, settle: Settle
) -> None:
    """Who comes last knows how many stand before it [SES-14]."""

    async def write() -> None:
        async with context.write_session():
            await asyncio.sleep(0)

    tasks = [asyncio.ensure_future(write()) for _ in range(100)]
    await asyncio.gather(*tasks)
    waiting = [event for event in context.log.events if isinstance(event, events.SessionWaiting)]
    opened = [event.session for event in context.log.events if isinstance(event, events.SessionOpened)]

    assert [len(event.ahead) + event.ahead_more for event in waiting] == list(range(1, 100))
    assert list(waiting[-1].ahead) == opened[:64]


async def test_a_session_that_gave_up_names_the_holders(
    fixed_clock: FixedClock, context: LLMContext, settle: Settle
) -> None:
    """In the event as in the error [SES-11, SES-14]."""
    async with context.write_session():

        async def wait() -> None:
            async with context.read_session(timeout=1):
                pass

        task = asyncio.create_task(wait(), name="the reader")
        await settle()
        fixed_clock.advance(1)
        await settle()
        with pytest.raises(kb.errors.SessionTimeoutError):
            await task
    [timed_out] = [event for event in context.log.events if isinstance(event, events.SessionTimedOut)]

    assert timed_out.who == "the reader"
    assert len(timed_out.holders) == 1
    assert "test_session_events.py" in timed_out.holders[0]


async def test_a_reader_that_reads_again_is_ahead_twice(context: LLMContext, settle: Settle) -> None:
    """Who comes then waits for both of its sessions [SES-14]."""

    async def write() -> None:
        async with context.write_session():
            pass

    async with context.read_session():
        first = asyncio.ensure_future(write())
        await settle()
        async with context.read_session():
            second = asyncio.ensure_future(write())
            await settle()
    await asyncio.gather(first, second)
    opened = [event.session for event in context.log.events if isinstance(event, events.SessionOpened)]
    ahead = [event.ahead for event in context.log.events if isinstance(event, events.SessionWaiting)]

    assert ahead == [(opened[0],), (opened[0], opened[2], opened[1])]
