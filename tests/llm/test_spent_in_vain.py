"""What providers counted for attempts that gave no answer: told, kept, and part of what a run spent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from around_world import Broken, Named, asked, in_a_run, told

import koogbook as kb
from koogbook.clock import FixedClock
from koogbook.errors import ProviderError
from koogbook.events import Event, LLMCallFailed, LLMCallFellBack, LLMCallRetrying, LLMStreamingFailed
from koogbook.llm.cached import CachedExecutor
from koogbook.llm.calls import ModelCalls
from koogbook.llm.fallback import FallbackExecutor
from koogbook.llm.request import Request
from koogbook.llm.retrying import RetryingExecutor
from koogbook.llm.usage import usage_by_model, usage_of_all

SEVEN = kb.Usage(7, 0)


def empty(model: str = "openai:a", usage: Any = SEVEN, kind: str = "bad_answer") -> ProviderError:
    """The error for an answer in which there is nothing, which was counted all the same."""
    return ProviderError("The answer is empty.", kind=kind, model=model, usage=usage)


def here() -> kb.Message:
    """An answer that cost 10 and 5 tokens."""
    return kb.assistant("here", usage=kb.Usage(10, 5))


def spent(calls: ModelCalls) -> list[tuple[str, int | None]]:
    """What was counted in vain, in order."""
    return [(one.model, one.usage.input_tokens) for record in calls.records for one in record.spent]


def counted(calls: ModelCalls, kind: type[Event]) -> list[tuple[kb.Usage | None, str]]:
    """What the events of one kind say was counted, and for which model."""
    return [(one.usage, one.spent_by) for one in told(calls, kind)]


async def test_what_a_failed_request_cost_is_counted() -> None:
    """In its event, its record and the sums; the call has failed all the same [EXE-04]."""
    calls = in_a_run(Named([empty()]))
    with pytest.raises(ProviderError):
        await calls.execute(asked())
    whole = usage_of_all(calls.records)

    assert counted(calls, LLMCallFailed) == [(SEVEN, "openai:a")]
    assert spent(calls) == [("openai:a", 7)]
    assert (whole.calls, whole.failed, whole.in_vain, whole.input_tokens) == (1, 1, 1, 7)


@pytest.mark.parametrize("usage", [None, "7", 7], ids=repr)
async def test_a_failed_request_that_nobody_counted_costs_nothing_known(usage: Any) -> None:
    """An error may have any field of that name [EXE-04]."""
    calls = in_a_run(Named([empty(usage=usage), OSError("gone")]))
    for error in (ProviderError, OSError):
        with pytest.raises(error):
            await calls.execute(asked())

    assert (spent(calls), usage_of_all(calls.records).in_vain) == ([], 0)
    assert counted(calls, LLMCallFailed) == [(None, ""), (None, "")]


async def test_an_error_without_a_model_is_of_the_one_that_was_asked_for() -> None:
    """Somebody's own executor may not say [EXE-04]."""
    calls = in_a_run(Named([empty(model="")]))
    with pytest.raises(ProviderError):
        await calls.execute(asked())

    assert spent(calls) == [("openai:a", 7)]


async def test_attempts_before_the_answer_are_counted(fixed_clock: FixedClock) -> None:
    """Each, beside the answer; it is one call [EXE-04]."""
    calls = in_a_run(RetryingExecutor(Named([empty(), empty(usage=kb.Usage(8, 1)), here()])))
    await calls.execute(asked())
    whole = usage_of_all(calls.records)

    assert [usage for usage, _ in counted(calls, LLMCallRetrying)] == [SEVEN, kb.Usage(8, 1)]
    assert (whole.calls, whole.failed, whole.in_vain) == (1, 0, 2)
    assert (whole.input_tokens, whole.output_tokens) == (25, 6)


async def test_the_last_attempt_is_counted_once(fixed_clock: FixedClock) -> None:
    """Its error is the one that is raised [EXE-04]."""
    calls = in_a_run(RetryingExecutor(Named([empty(), empty()]), attempts=2))
    with pytest.raises(ProviderError):
        await calls.execute(asked())

    assert spent(calls) == [("openai:a", 7)] * 2


async def test_what_was_spent_on_the_model_before_is_its_own() -> None:
    """The call is that of the model that answered [EXE-04]."""
    calls = in_a_run(FallbackExecutor(Named([empty(), here()]), ["b:c"]))
    await calls.execute(asked())

    assert counted(calls, LLMCallFellBack) == [(SEVEN, "openai:a")]
    assert [
        (one.model, one.calls, one.in_vain, one.input_tokens) for one in usage_by_model(calls.records)
    ] == [("openai:a", 0, 1, 7), ("b:c", 1, 0, 10)]


async def test_of_a_chain_that_failed_each_model_is_counted_once(fixed_clock: FixedClock) -> None:
    """The last one by the error for all, also where the chain is gone through again [EXE-04]."""
    script = [empty(), empty("b:c", kb.Usage(8, 0)), empty(), empty("b:c", kb.Usage(9, 0), kind="refused")]
    calls = in_a_run(RetryingExecutor(FallbackExecutor(Named(script), ["b:c"]), attempts=2))
    with pytest.raises(ProviderError, match="None of 2 models"):
        await calls.execute(asked())

    assert spent(calls) == [("openai:a", 7), ("b:c", 8), ("openai:a", 7), ("b:c", 9)]


async def test_what_a_broken_stream_cost_is_counted() -> None:
    """Though a part of it was given [EXE-05]."""
    calls = in_a_run(Broken(1, empty(kind="broken")))
    stream = calls.stream(asked())
    await stream.next()
    with pytest.raises(ProviderError):
        await stream.next()

    assert counted(calls, LLMStreamingFailed) == [(SEVEN, "openai:a")]
    assert spent(calls) == [("openai:a", 7)]


async def test_an_attempt_of_a_stream_that_gave_nothing_is_counted(fixed_clock: FixedClock) -> None:
    """The next one gave the answer [EXE-05]."""
    calls = in_a_run(RetryingExecutor(Named([empty(), here()])))
    stream = calls.stream(asked())
    while await stream.next() is not None:
        pass

    assert spent(calls) == [("openai:a", 7)]


async def test_those_that_waited_for_a_request_did_not_pay_for_it() -> None:
    """It was sent once [EXE-04]."""
    sent, go = asyncio.Event(), asyncio.Event()

    async def rule(request: Request) -> Any:
        sent.set()
        await go.wait()
        return empty()

    inner = Named(rule)
    calls = in_a_run(CachedExecutor(inner))
    tasks = [asyncio.ensure_future(calls.execute(asked())) for _ in range(2)]
    await sent.wait()
    await asyncio.sleep(0)
    go.set()
    await asyncio.gather(*tasks, return_exceptions=True)

    assert (len(inner.requests), spent(calls)) == (1, [("openai:a", 7)])
    assert [record.error != "" for record in calls.records] == [True, True]
