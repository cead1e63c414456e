"""The ready strategy: ask, run tools until there are no calls, give the last text."""

from __future__ import annotations

from typing import Any

import pytest

import koogbook as kb
from koogbook.errors import MaxIterationsError


def weather(city: str) -> str:
    """The weather."""
    return f"rain in {city}"


def _call(number: int, tool: str = "weather") -> kb.ToolCall:
    return kb.ToolCall(tool, '{"city":"Bonn"}', f"c{number}")


def _agent(answers: list[Any], **options: Any) -> tuple[kb.Agent, kb.ScriptedExecutor]:
    executor = kb.ScriptedExecutor(answers)
    return kb.Agent(executor, "offline", tools=[weather], **options), executor


async def test_the_input_becomes_a_user_message_and_the_last_text_the_output() -> None:
    """Without a strategy this is what an agent does [AGT-01b]."""
    agent, executor = _agent(["hello to you"], system_prompt="be kind")
    run = await agent.run("hello")

    assert run.output == "hello to you"
    assert [(message.role, message.text) for message in run.prompt] == [
        ("system", "be kind"),
        ("user", "hello"),
        ("assistant", "hello to you"),
    ]
    assert [spec.name for spec in executor.requests[0].tools] == ["weather"]


async def test_tool_calls_are_run_until_there_are_none() -> None:
    """Each turn's results are appended and sent [AGT-01b]."""
    agent, executor = _agent([_call(1), [_call(2), _call(3)], "it rains"])
    run = await agent.run("weather?")

    assert run.output == "it rains"
    assert [message.role for message in run.prompt] == [
        *["user", "assistant", "tool", "assistant", "tool", "tool", "assistant"]
    ]
    assert [len(request.messages) for request in executor.requests] == [1, 3, 6]


async def test_every_call_of_a_turn_gets_its_result_in_order() -> None:
    """A call of an unknown tool included: the run goes on [AGT-05]."""
    agent, executor = _agent([[_call(1), _call(2, "whether"), _call(3)], "done"])
    await agent.run("weather?")
    results = [message.results[0] for message in executor.requests[1].messages if message.role == "tool"]

    assert [(result.call_id, result.is_error) for result in results] == [
        ("c1", False),
        ("c2", True),
        ("c3", False),
    ]


async def test_a_text_beside_calls_does_not_end_the_run() -> None:
    """The edge chooses, it never drops calls [GRA-10]."""
    agent, _ = _agent([kb.assistant("let me see", calls=[_call(1)]), "it rains"])

    assert (await agent.run("weather?")).output == "it rains"


async def test_a_model_that_calls_without_end_is_stopped() -> None:
    """By the limit of iterations [GRA-04]."""
    agent = kb.Agent(
        kb.ScriptedExecutor(lambda request: _call(len(request.messages))),
        "m",
        tools=[weather],
        max_iterations=9,
    )

    with pytest.raises(MaxIterationsError):
        await agent.run("weather?")


async def test_an_answer_without_text_is_the_empty_text() -> None:
    """A model may say nothing [AGT-01b]."""
    agent, _ = _agent([kb.assistant()])

    assert (await agent.run("x")).output == ""
