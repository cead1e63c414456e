"""Requests of a run: numbered, recorded, counted, intercepted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import koogbook as kb
from koogbook import events
from koogbook.clock import FixedClock
from koogbook.errors import ExecutorError
from koogbook.llm.calls import ModelCalls
from koogbook.llm.request import Request
from koogbook.messages.model import LLModel
from koogbook.pipeline import EventLog, Stage, Subscription


def _request(text: str = "x", **fields: Any) -> Request:
    return Request(messages=(kb.user(text),), model=LLModel("m"), **fields)


def _calls(executor: Any, *, interceptors: Any = (), listeners: Any = ()) -> ModelCalls:
    return ModelCalls(executor, EventLog("run-1", "chat-1", listeners), interceptors)


def _names(calls: ModelCalls) -> list[str]:
    return [event.name for event in calls.log.events]


async def test_a_call_is_told_from_start_to_end() -> None:
    """Starting and completed, with one number [AGT-03]."""
    calls = _calls(kb.OfflineExecutor())
    await calls.execute(_request())

    assert [(event.name, event.call) for event in calls.log.events] == [  # type: ignore[attr-defined]
        ("LLMCallStarting", 1),
        ("LLMCallCompleted", 1),
    ]


async def test_a_failed_call_is_told_from_start_to_end() -> None:
    """The exception goes through as it is [AGT-03]."""
    calls = _calls(kb.OfflineExecutor(fail=True))
    with pytest.raises(ExecutorError):
        await calls.execute(_request())

    assert _names(calls) == ["LLMCallStarting", "LLMCallFailed"]
    assert calls.records[0].error.startswith("ExecutorError")


async def test_a_call_whose_listener_raises_has_an_end_as_well() -> None:
    """Start and end stay symmetric [AGT-03]."""

    def broken(event: events.Event) -> None:
        raise ValueError("broken")

    subscription = Subscription(broken, (events.LLMCallStarting,), "raise")
    executor = kb.OfflineExecutor()
    calls = _calls(executor, listeners=[subscription])
    with pytest.raises(ValueError, match="broken"):
        await calls.execute(_request())

    assert _names(calls) == ["LLMCallStarting", "LLMCallFailed"]
    assert executor.prompts == []


async def test_calls_at_once_keep_their_numbers_apart() -> None:
    """Each reply is recorded with its own request [AGT-03]."""
    gates = {text: asyncio.Event() for text in "ab"}

    async def answer(request: Request) -> str:
        await gates[request.messages[0].text].wait()
        return request.messages[0].text.upper()

    calls = _calls(kb.ScriptedExecutor(answer))
    first = asyncio.ensure_future(calls.execute(_request("a")))
    second = asyncio.ensure_future(calls.execute(_request("b")))
    await asyncio.sleep(0)
    gates["b"].set()
    await second
    gates["a"].set()
    await first

    assert [(record.number, record.reply.text) for record in calls.records if record.reply] == [
        (1, "A"),
        (2, "B"),
    ]


async def test_usage_is_counted_by_purpose() -> None:
    """The provider's figures where it gave them, estimates where it did not [AGT-01]."""
    answers = [
        kb.assistant("a", usage=kb.Usage(10, 5)),
        kb.assistant("b", usage=kb.Usage(1, 2)),
        kb.assistant("a longer answer"),
    ]
    calls = _calls(kb.ScriptedExecutor(answers))
    await calls.execute(_request())
    await calls.execute(_request())
    asked = _request(purpose="compression")
    await calls.execute(asked)

    assert [(one.purpose, one.calls, one.input_tokens, one.output_tokens) for one in calls.usage()] == [
        ("conversation", 2, 11, 7),
        ("compression", 1, asked.tokens, answers[2].tokens),
    ]


async def test_the_time_of_a_call_is_recorded(fixed_clock: FixedClock) -> None:
    """In seconds [AGT-03]."""

    def answer(request: Request) -> str:
        fixed_clock.advance(1.5)
        return "x"

    calls = _calls(kb.ScriptedExecutor(answer))
    await calls.execute(_request())

    assert calls.records[0].seconds == 1.5


async def test_the_time_of_a_call_that_failed_is_recorded(fixed_clock: FixedClock) -> None:
    """Until it failed [AGT-03]."""

    def answer(request: Request) -> str:
        fixed_clock.advance(1.5)
        raise ValueError("no")

    calls = _calls(kb.ScriptedExecutor(answer))
    with pytest.raises(ValueError, match="no"):
        await calls.execute(_request())

    assert (calls.records[0].seconds, calls.records[0].error) == (1.5, "ValueError: no")


class _Mark(kb.Interceptor):
    def __init__(self, name: str, stage: Stage, seen: list[str]) -> None:
        self.name = name
        self.stage = stage
        self.seen = seen

    async def around_llm_call(
        self, request: Request, call: Callable[[Request], Awaitable[kb.Message]]
    ) -> kb.Message:
        """Note the way in and the way out."""
        self.seen.append(f"{self.name} in")
        reply = await call(request)
        self.seen.append(f"{self.name} out")
        return reply


async def test_interceptors_wrap_a_call_by_stage_and_then_by_installation() -> None:
    """The outermost is the first in and the last out [AGT-02]."""
    seen: list[str] = []
    calls = _calls(
        kb.OfflineExecutor(),
        interceptors=[
            _Mark("b", Stage.REQUEST, seen),
            _Mark("a", Stage.LEASE, seen),
            _Mark("c", Stage.REQUEST, seen),
        ],
    )
    await calls.execute(_request())

    assert seen == ["a in", "b in", "c in", "c out", "b out", "a out"]


async def test_an_interceptor_may_change_request_and_reply() -> None:
    """The record holds what really went out [AGT-02]."""

    class Change(kb.Interceptor):
        async def around_llm_call(
            self, request: Request, call: Callable[[Request], Awaitable[kb.Message]]
        ) -> kb.Message:
            reply = await call(_request("changed"))
            return reply.with_text(reply.text + "!")

    calls = _calls(kb.ScriptedExecutor(lambda request: request.messages[0].text), interceptors=[Change()])
    reply = await calls.execute(_request("asked"))

    assert reply.text == "changed!"
    assert calls.records[0].request.messages[0].text == "changed"


async def test_an_interceptor_that_forgets_to_return_is_named() -> None:
    """None is no answer [AGT-02]."""

    class Forgets(kb.Interceptor):
        async def around_llm_call(self, request: Request, call: Any) -> Any:
            await call(request)

    calls = _calls(kb.OfflineExecutor(), interceptors=[Forgets()])

    with pytest.raises(ExecutorError, match="interceptors answered with NoneType"):
        await calls.execute(_request())


def test_a_request_is_frozen() -> None:
    """What was asked stays what was asked [EXE-03]."""
    with pytest.raises(AttributeError):
        _request().purpose = "flush"  # type: ignore[misc]


async def test_what_was_noted_about_a_failure_is_told_with_it() -> None:
    """How often a wrapper has asked stands in the event, and so in the report [AGT-03]."""
    problem = kb.errors.ProviderError("Down.", kind="overloaded")
    problem.add_note("Asked 4 times in 9 s")
    calls = _calls(kb.ScriptedExecutor([problem]))
    with pytest.raises(kb.errors.ProviderError):
        await calls.execute(_request())

    assert [event.error for event in calls.log.events if isinstance(event, events.LLMCallFailed)] == [
        "ProviderError: Down. (Asked 4 times in 9 s)"
    ]
