"""Asking again: when, after how long, how often, and what is said of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from around_world import Broken, Named, asked, busy, frames, in_a_run, refused, told, whole
from hypothesis import given
from hypothesis import strategies as st

import koogbook as kb
from koogbook import clock
from koogbook.clock import FixedClock
from koogbook.errors import (
    ContextOverflowError,
    ExecutorClosedError,
    ExecutorError,
    MissingKeyError,
    ProviderError,
    ToolPairingError,
)
from koogbook.events import LLMCallCached, LLMCallFellBack, LLMCallRetrying
from koogbook.llm.cached import CachedExecutor
from koogbook.llm.fallback import FallbackExecutor
from koogbook.llm.retrying import RetryingExecutor
from koogbook.trace import decode_event, encode_event

# ------------------------------------------------------------------------------------------- when


async def test_a_request_that_may_pass_is_made_again(fixed_clock: FixedClock) -> None:
    """The second attempt answers [EXE-04]."""
    inner = Named([busy(), "here"])
    reply = await RetryingExecutor(inner).execute(asked())

    assert (reply.text, len(inner.requests)) == ("here", 2)


@pytest.mark.parametrize(
    "kind", ["rate_limited", "overloaded", "unreachable", "timeout", "broken", "bad_answer"]
)
async def test_every_kind_that_may_pass_is_met_with_another_attempt(
    fixed_clock: FixedClock, kind: str
) -> None:
    """They are those of which the error says so [EXE-04]."""
    assert (await RetryingExecutor(Named([busy(kind=kind), "here"])).execute(asked())).text == "here"


@pytest.mark.parametrize(
    "error",
    [
        refused(),
        ProviderError("key", kind="unauthorised"),
        ContextOverflowError("long"),
        MissingKeyError("none"),
        ToolPairingError("pair"),
        ExecutorError("other"),
        ConnectionError("down"),
        asyncio.CancelledError(),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_what_waiting_does_not_mend_is_raised_at_once(fixed_clock: FixedClock, error: Any) -> None:
    """As it is, without a note, and without a pause [EXE-04]."""
    inner = Named([error, "here"])
    with pytest.raises(type(error)) as caught:
        await RetryingExecutor(inner).execute(asked())

    assert caught.value is error
    assert (len(inner.requests), fixed_clock.elapsed, getattr(error, "__notes__", [])) == (1, 0, [])


async def test_no_more_attempts_are_made_than_were_asked_for(fixed_clock: FixedClock) -> None:
    """The first one counts [EXE-04]."""
    inner = Named(lambda request: busy())
    with pytest.raises(ProviderError):
        await RetryingExecutor(inner, attempts=3).execute(asked())

    assert len(inner.requests) == 3


async def test_one_attempt_is_none_more(fixed_clock: FixedClock) -> None:
    """Nothing is waited for after the last one [EXE-04]."""
    with pytest.raises(ProviderError):
        await RetryingExecutor(Named([busy()]), attempts=1).execute(asked())

    assert fixed_clock.elapsed == 0


async def test_the_last_error_says_how_often_was_asked_and_for_how_long(fixed_clock: FixedClock) -> None:
    """Its type and text stay [EXE-04]."""
    inner = Named([busy(), busy(2.0), busy()])
    with pytest.raises(ProviderError, match="busy") as caught:
        await RetryingExecutor(inner, attempts=3).execute(asked())

    assert caught.value.__notes__ == [
        f"Asked 3 times in {fixed_clock.elapsed:.1f} s, and no more: RetryingExecutor(..., attempts=3)."
    ]


async def test_an_error_that_does_not_pass_after_one_that_does_says_so(fixed_clock: FixedClock) -> None:
    """There were two attempts [EXE-04]."""
    with pytest.raises(ProviderError, match="refused") as caught:
        await RetryingExecutor(Named([busy(), refused(), "here"])).execute(asked())

    assert "Asked 2 times in" in caught.value.__notes__[0]


# ------------------------------------------------------------------------------------------- how long


async def _waits(seed: int = 0, **options: Any) -> list[float]:
    with clock.use(FixedClock(seed=seed)):
        calls = in_a_run(RetryingExecutor(Named(lambda request: busy()), **options))
        with pytest.raises(ProviderError):
            await calls.execute(asked())
    return [event.wait for event in told(calls, LLMCallRetrying)]


@given(
    st.integers(0, 9),
    st.floats(0.001, 10),
    st.floats(10, 100),
    st.integers(2, 80),
)
async def test_each_pause_is_between_half_of_its_limit_and_all_of_it(
    seed: int, first: float, longest: float, attempts: int
) -> None:
    """The limit doubles until it is the longest wait [EXE-04]."""
    waits = await _waits(seed, attempts=attempts, first_wait=first, longest_wait=longest)
    limits = [min(first * 2.0**place, longest) for place in range(attempts - 1)]

    assert all(limit / 2 <= wait <= limit for wait, limit in zip(waits, limits, strict=True))


async def test_the_same_seed_gives_the_same_pauses() -> None:
    """And another one others: chance is fixed with the clock [EXE-04]."""
    assert await _waits(1) == await _waits(1) != await _waits(2)


async def test_what_is_waited_is_what_is_told(fixed_clock: FixedClock) -> None:
    """To the second, and below [EXE-04]."""
    calls = in_a_run(RetryingExecutor(Named([busy(), busy(3.25), "here"])))
    await calls.execute(asked())

    assert fixed_clock.elapsed == sum(event.wait for event in told(calls, LLMCallRetrying))


async def test_a_provider_that_asks_for_a_pause_gets_it(fixed_clock: FixedClock) -> None:
    """Where it is longer than our own [EXE-04]."""
    await RetryingExecutor(Named([busy(7.5), "here"])).execute(asked())

    assert fixed_clock.elapsed == 7.5


@pytest.mark.parametrize("pause", [-1.0, 0.0, 0.01, 1.9])
async def test_a_short_pause_that_is_asked_for_does_not_shorten_ours(
    fixed_clock: FixedClock, pause: float
) -> None:
    """A provider that says 0 is not hammered [EXE-04]."""
    await RetryingExecutor(Named([busy(pause), "here"]), first_wait=4).execute(asked())

    assert fixed_clock.elapsed >= 2


async def test_a_pause_that_is_too_long_is_not_begun(fixed_clock: FixedClock) -> None:
    """The error says how long it would be, and how to allow it [EXE-04]."""
    inner = Named([busy(90.5), "here"])
    with pytest.raises(ProviderError) as caught:
        await RetryingExecutor(inner, longest_wait=30).execute(asked())

    assert (len(inner.requests), fixed_clock.elapsed) == (1, 0)
    assert "a pause of 90.5 s" in caught.value.__notes__[0]
    assert caught.value.__notes__[0].endswith("RetryingExecutor(..., longest_wait=91).")


async def test_a_cancellation_ends_a_pause_at_once(settle: Callable[[], Awaitable[None]]) -> None:
    """Nothing is asked after it [EXE-04]."""
    inner = Named([busy(3600.0), "here"])
    task = asyncio.ensure_future(RetryingExecutor(inner, longest_wait=7200).execute(asked()))
    await settle()
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=5)

    assert (task in done, task.cancelled(), len(inner.requests)) == (True, True, 1)


@pytest.mark.parametrize(
    "options",
    [
        {"attempts": 0},
        {"first_wait": -1},
        {"first_wait": 2, "longest_wait": 1},
        {"longest_wait": float("inf")},
        {"first_wait": float("nan")},
    ],
    ids=str,
)
def test_limits_that_make_no_sense_are_refused(options: Any) -> None:
    """When it is made [EXE-04]."""
    with pytest.raises(ValueError, match="first_wait <= longest_wait"):
        RetryingExecutor(Named([]), **options)


@pytest.mark.parametrize("thing", [None, "openai:a", kb.OfflineExecutor], ids=str)
def test_only_an_executor_can_be_stood_around(thing: Any) -> None:
    """A name or a class is none [EXE-04]."""
    with pytest.raises(TypeError, match="RetryingExecutor stands around an executor"):
        RetryingExecutor(thing)


# ------------------------------------------------------------------------------------------- streams


async def test_a_stream_that_fails_before_its_first_frame_is_asked_for_again(fixed_clock: FixedClock) -> None:
    """Nobody has seen anything of it [EXE-05]."""
    inner = Named([kb.BrokenAnswer("", busy()), "two words"])
    read = await frames(RetryingExecutor(inner), asked())

    assert (whole(read).text, len(inner.requests)) == ("two words", 2)


async def test_a_stream_that_breaks_off_is_not_asked_for_again(fixed_clock: FixedClock) -> None:
    """Its reader cannot take back what was given [EXE-05]."""
    inner = Broken(2, busy())
    seen = []
    with pytest.raises(ProviderError, match="busy"):
        async for frame in RetryingExecutor(inner).stream(asked()):
            seen.append(frame)  # noqa: PERF401

    assert (len(seen), len(inner.requests), fixed_clock.elapsed) == (2, 1, 0)


async def test_a_stream_that_is_left_closes_the_one_inside() -> None:
    """At once, not when memory is cleaned up [EXE-05]."""
    inner = Broken(5, busy())
    stream = RetryingExecutor(inner).stream(asked())
    await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]

    assert inner.left == 1


async def test_each_attempt_of_a_stream_is_closed_before_the_next(fixed_clock: FixedClock) -> None:
    """No connection stays behind [EXE-05]."""
    inner = Broken(0, busy())
    with pytest.raises(ProviderError) as caught:
        await frames(RetryingExecutor(inner, attempts=3), asked())

    assert (inner.left, len(inner.requests)) == (3, 3)
    assert "Asked 3 times" in caught.value.__notes__[0]


async def test_an_executor_without_a_stream_is_named() -> None:
    """And what can be done instead [EXE-05]."""

    class Whole:
        async def execute(self, request: Any) -> kb.Message:
            return kb.assistant("x")

    with pytest.raises(ExecutorError, match="Whole gives no stream"):
        await frames(RetryingExecutor(Whole()), asked())  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------- being closed


async def test_closing_it_closes_what_is_inside() -> None:
    """Both are mostly made in one line [EXE-03a]."""
    inner = Named(["x"])
    async with RetryingExecutor(inner) as executor:
        pass
    await executor.close()

    assert inner.is_closed
    with pytest.raises(ExecutorClosedError, match="RetryingExecutor was closed"):
        await executor.execute(asked())
    with pytest.raises(ExecutorClosedError):
        await frames(executor, asked())


async def test_an_agent_that_is_closed_leaves_it_open() -> None:
    """The agent did not make it [AGT-01a]."""
    inner = Named(lambda request: "x")
    executor = RetryingExecutor(inner)
    async with kb.Agent(executor, "openai:a") as agent:
        await agent.run("x")

    assert (inner.is_closed, (await executor.execute(asked())).text) == (False, "x")


async def test_it_is_not_asked_again_after_it_was_closed_in_a_pause(fixed_clock: FixedClock) -> None:
    """Closing is meant [EXE-03a]."""
    inner = Named([busy(5.0), "here"])
    executor = RetryingExecutor(inner)
    fixed_clock.call_later(1, lambda: setattr(executor, "_closed", True))
    with pytest.raises(ExecutorClosedError):
        await executor.execute(asked())

    assert len(inner.requests) == 1


def test_models_are_those_of_the_executor_inside() -> None:
    """Also when there are several around it [EXE-03]."""
    around = CachedExecutor(RetryingExecutor(FallbackExecutor(Named([]), ["b:c"])))

    assert str(around.resolve("x:y")) == "x:y"
    with pytest.raises(kb.errors.UnknownModelError):
        around.resolve("x:unknown")


# ------------------------------------------------------------------------------------------- what is told


async def test_each_pause_is_an_event_of_its_request(fixed_clock: FixedClock) -> None:
    """With the attempt that failed, and why [AGT-03]."""
    calls = in_a_run(RetryingExecutor(Named(["first", busy(2.0), busy(3.0), "here"])))
    await calls.execute(asked())
    await calls.execute(asked())

    assert [
        (one.call, one.model, one.attempt, one.wait, one.error) for one in told(calls, LLMCallRetrying)
    ] == [
        (2, "openai:a", 1, 2.0, "ProviderError: The provider is busy."),
        (2, "openai:a", 2, 3.0, "ProviderError: The provider is busy."),
    ]


@pytest.mark.parametrize(
    "event",
    [
        LLMCallRetrying(call=3, model="a:b", attempt=2, wait=0.5, error="ProviderError: \ud83d"),
        LLMCallFellBack(call=3, model="a:b", to="c:d", error="ProviderError: x"),
        LLMCallCached(call=3, model="a:b", key="0f"),
    ],
    ids=lambda event: event.name,
)
def test_what_executors_tell_can_be_kept_in_a_trace(event: kb.events.Event) -> None:
    """It comes back as it was [AGT-04]."""
    assert decode_event(encode_event(event)) == event


async def test_a_trace_of_a_run_holds_what_executors_told(fixed_clock: FixedClock, tmp_path: Any) -> None:
    """All three kinds [AGT-04]."""
    inner = Named([busy(), refused(), "here"])
    around = CachedExecutor(FallbackExecutor(RetryingExecutor(inner), ["b:c"]))
    once = kb.ScriptedExecutor(["kept"])
    cached = CachedExecutor(once)
    calls = in_a_run(around)
    await calls.execute(asked())
    calls.executor = cached
    await calls.execute(asked())
    await calls.execute(asked())
    path = kb.save_trace(calls.log.events, tmp_path / "trace.jsonl")

    assert kb.load_trace(path) == tuple(calls.log.events)
    assert [len(told(calls, kind)) for kind in (LLMCallRetrying, LLMCallFellBack, LLMCallCached)] == [1, 1, 1]


# ------------------------------------------------------------------------------------------- together


async def test_all_of_a_chain_is_gone_through_again(fixed_clock: FixedClock) -> None:
    """Retrying around fallbacks asks each model in each attempt [EXE-04]."""
    inner = Named([busy(), busy(), busy(), kb.assistant("here")])
    executor = RetryingExecutor(FallbackExecutor(inner, ["b:c"]))
    reply = await executor.execute(asked())

    assert reply.metadata["answered_by"] == "b:c"
    assert [str(one.model) for one in inner.requests] == ["openai:a", "b:c", "openai:a", "b:c"]


async def test_a_chain_that_cannot_pass_is_gone_through_once(fixed_clock: FixedClock) -> None:
    """Its error says so [EXE-04]."""
    inner = Named([refused(), refused()])
    with pytest.raises(ProviderError, match="None of 2 models"):
        await RetryingExecutor(FallbackExecutor(inner, ["b:c"])).execute(asked())

    assert fixed_clock.elapsed == 0


async def test_a_cache_around_asks_again_what_had_failed(fixed_clock: FixedClock) -> None:
    """Three attempts, one answer, and none for the second request [EXE-04]."""
    inner = Named([busy(), busy(), "here"])
    calls = in_a_run(CachedExecutor(RetryingExecutor(inner)))
    first, second = await calls.execute(asked()), await calls.execute(asked())

    assert (first.text, second.text, len(inner.requests)) == ("here", "here", 3)
    assert [one.call for one in told(calls, LLMCallRetrying)] == [1, 1]
    assert [one.call for one in told(calls, LLMCallCached)] == [2]


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)], ids=str)
@pytest.mark.parametrize("in_frames", [False, True], ids=["whole", "in frames"])
async def test_the_three_stand_in_any_order(
    fixed_clock: FixedClock, order: tuple[int, ...], in_frames: bool
) -> None:
    """A busy model is passed over or asked again, and the answer is the same [EXE-04]."""
    wrap: list[Any] = [
        RetryingExecutor,
        lambda executor: FallbackExecutor(executor, ["b:c"]),
        CachedExecutor,
    ]
    executor: Any = Named([busy(), "here"])
    for place in order:
        executor = wrap[place](executor)
    if in_frames:
        reply = whole(await frames(executor, asked()))
    else:
        reply = await executor.execute(asked())

    assert reply.text == "here"


def test_a_number_written_as_text_is_refused() -> None:
    """With what is wanted [EXE-04]."""
    with pytest.raises(ValueError, match="attempts='3'"):
        RetryingExecutor(kb.OfflineExecutor(), attempts="3")  # type: ignore[arg-type]
