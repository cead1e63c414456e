"""Cancelled at any await, a session never leaves the lock held."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

import koogbook as kb
from koogbook import events
from koogbook.errors import NestedSessionError
from koogbook.llm.context import LLMContext
from koogbook.pipeline import Subscription

Settle = Callable[[], Awaitable[None]]
SESSION_EVENTS = [
    events.SessionOpened,
    events.SessionWaiting,
    events.SessionAcquired,
    events.SessionCommitted,
    events.PromptChanged,
    events.SessionDiscarded,
    events.SessionClosed,
    events.SessionRefused,
    events.SessionTimedOut,
]


async def _write(context: LLMContext, ticks: int = 0) -> None:
    async with context.write_session() as session:
        session.append(kb.user("x"))
        for _ in range(ticks):
            await asyncio.sleep(0)


async def _read(context: LLMContext, ticks: int = 0) -> int:
    async with context.read_session() as session:
        for _ in range(ticks):
            await asyncio.sleep(0)
        return len(session.prompt)


def _is_free(context: LLMContext) -> bool:
    state = context.statistics()
    return (state.readers, state.writer, state.queue) == ((), None, ())


async def _cancelled_after(context: LLMContext, holders: list[Any], visit: Any, ticks: int) -> bool:
    """Start a visit while others hold the lock, cancel it after so many turns of the loop, let all end."""
    others = [asyncio.ensure_future(holder(context, 3)) for holder in holders]
    await asyncio.sleep(0)
    task = asyncio.ensure_future(visit(context, 2))
    for _ in range(ticks):
        await asyncio.sleep(0)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    await asyncio.gather(*others)
    await asyncio.wait_for(_write(context), 1)
    await asyncio.wait_for(_read(context), 1)
    return _is_free(context)


def _random_rounds(seed: int, rounds: int) -> list[tuple[list[Any], Any, int]]:
    draw = random.Random(seed)
    return [
        (draw.choices([_read, _write], k=draw.randrange(4)), draw.choice([_read, _write]), draw.randrange(13))
        for _ in range(rounds)
    ]


@pytest.mark.parametrize("seed", range(10))
async def test_a_visitor_cancelled_at_any_moment_leaves_the_lock_free(context: LLMContext, seed: int) -> None:
    """Before it waits, while it waits, just after it was woken, while it holds: a hundred times [SES-11, KB-104]."""
    found = [await _cancelled_after(context, *one) for one in _random_rounds(seed, 100)]

    assert found == [True] * 100


async def test_the_cancelled_visitors_of_these_rounds_met_every_moment(context: LLMContext) -> None:
    """Some never asked, some left the queue, some had been let in, some held the lock, some were through [KB-104]."""
    ends: set[str] = set()
    for one in _random_rounds(0, 100):
        before = len(context.log.events)
        await _cancelled_after(context, *one)
        told: dict[int, list[str]] = {}
        for event in context.log.events[before:]:
            if isinstance(event, events.SessionEvent):
                told.setdefault(event.session, []).append(event.name.removeprefix("Session"))
        ends |= {" ".join(names) for names in told.values()}

    assert {"Opened Waiting Closed", "Opened Acquired Closed", "Opened Waiting Acquired Closed"} <= ends
    assert {"Opened Acquired Discarded Closed", "Opened Waiting Acquired Discarded Closed"} <= ends


async def test_a_writer_cancelled_in_the_turn_in_which_it_is_let_in_gives_the_lock_back(
    context: LLMContext, settle: Settle
) -> None:
    """Granted and cancelled before it ran again: the next one enters [SES-11, KB-104]."""
    async with context.write_session():
        first = asyncio.ensure_future(_write(context, 100))
        second = asyncio.ensure_future(_write(context))
        await settle()
    granted = context.statistics().writer
    first.cancel()
    await settle()

    assert granted is not None
    assert first.cancelled()
    assert second.done()
    assert _is_free(context)


async def test_entering_under_wait_for_works(context: LLMContext) -> None:
    """``wait_for`` enters from another task on some versions of Python [SES-11, KB-106]."""
    scope = context.write_session()
    session = await asyncio.wait_for(scope.__aenter__(), 1)
    session.append(kb.user("x", id="x"))
    await scope.__aexit__(None, None, None)

    assert context.committed.prompt[-1].id == "x"
    assert _is_free(context)


async def test_a_timeout_around_a_session_leaves_the_lock_free(context: LLMContext, settle: Settle) -> None:
    """The waiter is gone, the holder goes on [SES-11, KB-106]."""
    door = asyncio.Event()

    async def hold() -> None:
        async with context.write_session():
            await door.wait()

    holder = asyncio.ensure_future(hold())
    await settle()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(_write(context), 0.001)
    queue = context.statistics().queue
    door.set()
    await holder

    assert queue == ()
    await asyncio.wait_for(_write(context), 1)


async def test_a_timeout_inside_a_session_leaves_the_lock_free(context: LLMContext) -> None:
    """The holder was cancelled: nothing is committed, and the next one enters [SES-11, KB-106]."""
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.001), context.write_session() as session:
            session.append(kb.user("lost"))
            await asyncio.Event().wait()

    assert len(context.committed.prompt) == 2
    await asyncio.wait_for(_write(context), 1)


async def test_leaving_cannot_be_cancelled_half_way(context: LLMContext) -> None:
    """A task made of the exit and cancelled before it ran has let go all the same [SES-11, KB-107]."""
    scope = context.write_session()
    session = await scope.__aenter__()
    session.append(kb.user("kept", id="kept"))
    leaving = asyncio.ensure_future(scope.__aexit__(None, None, None))
    leaving.cancel()
    await asyncio.sleep(0)

    await asyncio.wait_for(_write(context), 1)
    assert context.committed.prompt[2].id == "kept"


async def test_an_iteration_that_is_never_finished_holds_no_lock(context: LLMContext) -> None:
    """A prompt taken out of a session is a snapshot; iterating it holds nothing [SES-11, KB-107]."""

    async def history() -> AsyncIterator[kb.Message]:
        async with context.read_session() as session:
            prompt = session.prompt
        for message in prompt:
            yield message

    unfinished = history()
    first = await unfinished.__anext__()
    await asyncio.wait_for(_write(context), 1)

    assert first.text == "rules"
    await unfinished.aclose()  # type: ignore[attr-defined]


async def test_a_cancelled_request_leaves_lock_and_history(make_context: Any, settle: Settle) -> None:
    """The reply never came, so nothing was appended [SES-11]."""

    async def never(request: kb.Request) -> str:
        await asyncio.Event().wait()
        return "never"

    context = make_context(kb.ScriptedExecutor(never), [kb.user("x")])

    async def ask() -> None:
        async with context.write_session() as session:
            await session.request()

    task = asyncio.ensure_future(ask())
    await settle()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    failed = [event for event in context.log.events if isinstance(event, events.LLMCallFailed)]
    assert [event.cancelled for event in failed] == [True]
    assert len(context.committed.prompt) == 1
    assert _is_free(context)


# ------------------------------------------------------------------------------------------- listeners


def _raise_on(kind: type[events.Event]) -> list[Subscription]:
    def listener(event: events.Event) -> None:
        raise ValueError(f"listener on {event.name}")

    return [Subscription(listener, (kind,), "raise")]


async def _every_way(context: LLMContext, settle: Settle) -> list[str]:
    """Commit, discard, wait, be refused, time out and be cancelled; give what was raised."""
    found: list[str] = []

    async def note(visit: Any) -> None:
        try:
            await visit
        except (ValueError, RuntimeError, TimeoutError, asyncio.CancelledError) as problem:
            found.append(f"{type(problem).__name__}: {problem}")

    async def fail() -> None:
        async with context.write_session():
            raise RuntimeError("mine")

    async def nest() -> None:
        async with context.write_session():
            async with context.read_session():
                pass

    async def hold_while_others_wait() -> None:
        async with context.write_session():
            waiting = asyncio.ensure_future(note(_write(context)))
            cancelled = asyncio.ensure_future(note(_read(context)))

            async def impatient() -> None:
                async with context.read_session(timeout=0.0):
                    pass

            hurried = asyncio.ensure_future(note(impatient()))
            await settle()
            await asyncio.sleep(0.002)
            cancelled.cancel()
            await settle()
        await asyncio.gather(waiting, cancelled, hurried)

    for visit in (_write(context), _read(context), fail(), nest(), hold_while_others_wait()):
        await note(visit)
    await settle()
    return found


@pytest.mark.parametrize("kind", SESSION_EVENTS, ids=lambda kind: kind.__name__)
async def test_a_listener_that_raises_never_leaves_the_lock_held(
    make_context: Any, settle: Settle, kind: type[events.Event]
) -> None:
    """Whichever event of a session it is that the listener breaks on [SES-11]."""
    context = make_context(listeners=_raise_on(kind))
    raised = await _every_way(context, settle)

    assert _is_free(context)
    assert raised


@pytest.mark.parametrize("kind", SESSION_EVENTS, ids=lambda kind: kind.__name__)
async def test_every_session_that_was_opened_has_one_end(
    make_context: Any, settle: Settle, kind: type[events.Event]
) -> None:
    """Closed, refused or timed out, exactly once, even where a listener raises [SES-14]."""
    context = make_context(listeners=_raise_on(kind))
    await _every_way(context, settle)
    opened = [one.session for one in context.log.events if isinstance(one, events.SessionOpened)]
    ended = [
        one.session
        for one in context.log.events
        if isinstance(one, events.SessionClosed | events.SessionRefused | events.SessionTimedOut)
    ]

    assert sorted(ended) == sorted(opened)


async def test_a_listener_does_not_take_the_place_of_the_exception(make_context: Any) -> None:
    """The node's own exception leaves the scope; what the listener raised is an event [SES-03]."""
    context = make_context(listeners=_raise_on(events.SessionDiscarded))
    with pytest.raises(RuntimeError, match="mine"):
        async with context.write_session():
            raise RuntimeError("mine")

    assert "HandlerFailed" in [event.name for event in context.log.events]


async def test_a_listener_does_not_take_the_place_of_a_cancellation(
    make_context: Any, settle: Settle
) -> None:
    """A cancelled task stays cancelled [SES-11]."""
    context = make_context(listeners=_raise_on(events.SessionClosed))
    task = asyncio.ensure_future(_write(context, 100))
    await settle()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task

    assert task.cancelled()
    assert _is_free(context)


async def test_an_interrupt_while_an_open_stream_is_ended_leaves_the_lock_free(make_context: Any) -> None:
    """What is done at the end of a block, before the commit, cannot keep the lock [SES-11]."""

    def interrupt(event: events.Event) -> None:
        raise KeyboardInterrupt

    context = make_context(
        messages=[kb.user("x")], listeners=[Subscription(interrupt, (events.Notice,), "raise")]
    )
    with pytest.raises(KeyboardInterrupt):
        async with context.write_session() as session:
            await anext(session.request_streaming())

    assert _is_free(context)


async def test_a_listener_cannot_open_a_second_session_by_way_of_the_first(make_context: Any) -> None:
    """Code that is called inside a session is inside it [SES-10]."""
    seen: list[str] = []

    async def tool() -> None:
        async with context.read_session():
            pass

    context = make_context()
    async with context.write_session():
        try:
            await tool()
        except NestedSessionError as problem:
            seen.append(type(problem).__name__)

    assert seen == ["NestedSessionError"]
