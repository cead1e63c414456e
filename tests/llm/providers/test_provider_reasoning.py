"""What a model thought goes back to it unchanged, beside its calls, and to nobody else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from provider_world import TOOLS, Aimock, Wire, ask, chat, listening, reply

import koogbook as kb
from koogbook.llm.providers.executor import ProviderExecutor
from koogbook.messages.codec import decode_message, encode_message
from koogbook.messages.message import Message
from koogbook.messages.parts import Foreign

CLAUDE = "anthropic:claude-sonnet-5"
SHORT = kb.LLMParams(max_tokens=500)
THINKING = {"type": "thinking", "thinking": "simple\n  with blanks ", "signature": "c2ln"}
REDACTED = {"type": "redacted_thinking", "data": "eHg="}
CALL = {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Bonn"}}


def _claude(*content: Any) -> bytes:
    return reply(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-5",
            "content": list(content),
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 3, "output_tokens": 2},
        }
    )


def _kept(message: Message) -> Message:
    """The message as it comes back from where it was stored."""
    return decode_message(encode_message(message))


async def _next_turn(model: str, first: bytes, second: bytes) -> tuple[Message, Any]:
    """Ask, store the answer, send the result of its call: the answer, and the body of the second request."""
    async with Wire([first, second]) as wire, ProviderExecutor(wire.url) as executor:
        answer = _kept(await executor.execute(ask(model, "Weather?", tools=TOOLS, params=SHORT)))
        result = kb.tool_result(answer.calls[0], "mild")
        await executor.execute(ask(model, "Weather?", answer, result, tools=TOOLS, params=SHORT))
    return answer, wire.asked[1].body


@pytest.mark.parametrize(
    "content",
    [
        (THINKING, REDACTED, CALL),
        (REDACTED, THINKING, {"type": "text", "text": "I look."}, CALL),
        (THINKING, CALL, {**CALL, "id": "t2"}),
        ({**THINKING, "thinking": ""}, CALL),
    ],
    ids=["both", "redacted first", "two calls", "signature alone"],
)
async def test_signed_thoughts_go_back_as_they_came(content: tuple[dict[str, Any], ...]) -> None:
    """Each field byte for byte and all in order, through the codec, or the next turn is refused [KB-077]."""
    async with Wire([_claude(*content), _claude({"type": "text", "text": "Mild."})]) as wire:
        async with ProviderExecutor(wire.url) as executor:
            answer = _kept(await executor.execute(ask(CLAUDE, "Weather?", tools=TOOLS, params=SHORT)))
            results = [kb.tool_result(call, "mild") for call in answer.calls]
            await executor.execute(ask(CLAUDE, "Weather?", answer, *results, tools=TOOLS, params=SHORT))
    sent = wire.asked[1].body["messages"][1]["content"]

    assert sent == list(content)


async def test_thoughts_are_no_part_of_what_is_seen() -> None:
    """Neither of the text nor of the frames of the text [KB-077]."""
    answer, _ = await _next_turn(
        CLAUDE, _claude(THINKING, REDACTED, CALL), _claude({"type": "text", "text": "."})
    )

    assert answer.text == ""
    assert [type(part).__name__ for part in answer.parts] == ["Reasoning", "Reasoning", "ToolCall"]


async def test_a_history_from_elsewhere_keeps_its_signed_thoughts() -> None:
    """An imported one says nothing of who answered, and its redacted thoughts are foreign parts [KB-077]."""
    imported = kb.assistant(
        [
            kb.Reasoning(THINKING["thinking"], THINKING["signature"]),
            Foreign("redacted_thinking", json.dumps(REDACTED)),
            kb.ToolCall("weather", '{"city": "Bonn"}', "t1"),
        ]
    )
    async with (
        Wire([_claude({"type": "text", "text": "Mild."})]) as wire,
        ProviderExecutor(wire.url) as executor,
    ):
        history = (kb.user("Weather?"), imported, kb.tool_result(imported.calls[0], "mild"))
        await executor.execute(ask(CLAUDE, *history, tools=TOOLS, params=SHORT))

    assert wire.asked[0].body["messages"][1]["content"] == [THINKING, REDACTED, CALL]


async def test_a_streamed_thought_keeps_its_signature(aimock: Aimock) -> None:
    """It comes in an event of its own [KB-077]."""
    async with ProviderExecutor(aimock.url) as executor:
        frames = [
            frame async for frame in executor.stream(ask(CLAUDE, "think first", tools=TOOLS, params=SHORT))
        ]
    whole: Any = frames[-1]

    assert whole.message.parts[:2] == (
        kb.Reasoning("", "eHg=", "redacted_thinking"),
        kb.Reasoning("I should look.", "c2lnbmVk"),
    )


async def test_an_agent_sends_thoughts_back_with_the_results(aimock: Aimock) -> None:
    """In the same run [KB-077]."""

    def weather(city: str) -> str:
        """The weather in a city."""
        return "mild"

    async with ProviderExecutor(aimock.url) as executor:
        run = await kb.Agent(executor, model=CLAUDE, tools=[weather]).run("think first")

    assert run.output == "Mild."
    assert run.calls[1].request.messages[-2].parts[1] == kb.Reasoning("I should look.", "c2lnbmVk")


@pytest.mark.parametrize("signed", [True, False])
async def test_thoughts_of_another_model_are_not_sent(signed: bool) -> None:
    """A signature is good for one provider, and thoughts are no words of the conversation [KB-077]."""
    other = kb.assistant(
        [kb.Reasoning("secret thoughts", "c2ln" if signed else None), kb.Text("Hello.")],
        metadata={"answered_by": "deepseek:deepseek-reasoner"},
    )
    async with (
        Wire([_claude({"type": "text", "text": "Yes."})]) as wire,
        ProviderExecutor(wire.url) as executor,
    ):
        with listening() as heard:
            await executor.execute(ask(CLAUDE, "Hi", other, "Go on.", params=SHORT))

    assert "secret thoughts" not in json.dumps(wire.asked[0].body)
    assert "the thoughts of 1 earlier answers" in heard[0]


async def test_what_google_signs_goes_back_beside_its_call() -> None:
    """The signature is on the call, not on the thought [EXE-04]."""
    signed = {
        "functionCall": {"name": "weather", "args": {"city": "Bonn"}},
        "thoughtSignature": "c2lnbmVkIGJ5IGdvb2dsZQ==",
    }
    first = {"candidates": [{"content": {"role": "model", "parts": [signed]}, "finishReason": "STOP"}]}
    second = {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "Mild."}]}, "finishReason": "STOP"}]
    }
    _, body = await _next_turn("google:gemini-3-pro", reply(first), reply(second))
    part = body["contents"][1]["parts"][0]

    assert part["thoughtSignature"] == signed["thoughtSignature"]
    assert part["functionCall"]["name"] == "weather"


def _responses(*output: Any) -> bytes:
    return reply(
        {
            "id": "resp_1",
            "object": "response",
            "created_at": 1_700_000_000,
            "status": "completed",
            "model": "gpt-5",
            "output": list(output),
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        }
    )


async def test_what_openai_encrypts_goes_back_with_its_ids() -> None:
    """The responses protocol pairs a thought with the item after it [EXE-04]."""
    thought = {
        "id": "rs_1",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "Look."}],
        "encrypted_content": "ZW5jcnlwdGVk",
    }
    call = {
        "id": "fc_1",
        "type": "function_call",
        "call_id": "call_1",
        "name": "weather",
        "arguments": '{"city":"Bonn"}',
        "status": "completed",
    }
    said = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "Mild.", "annotations": []}],
    }
    _, body = await _next_turn("openai-responses:gpt-5", _responses(thought, call), _responses(said))
    items = {item["type"]: item for item in body["input"] if "type" in item}

    assert (items["reasoning"]["id"], items["reasoning"]["encrypted_content"]) == ("rs_1", "ZW5jcnlwdGVk")
    assert (items["function_call"]["id"], items["function_call"]["call_id"]) == ("fc_1", "call_1")


async def test_deepseek_gets_its_thoughts_in_their_field() -> None:
    """It refuses a call without them [EXE-04]."""
    said = {
        "role": "assistant",
        "content": None,
        "reasoning_content": "I look.",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Bonn"}'}}
        ],
    }
    _, body = await _next_turn(
        "deepseek:deepseek-v4-pro", reply(chat(said, "tool_calls")), reply(chat("Mild."))
    )

    assert body["messages"][1]["reasoning_content"] == "I look."


async def test_what_is_kept_for_a_provider_is_plain_and_small() -> None:
    """It is stored with every message [EXE-04]."""
    answer, _ = await _next_turn(
        CLAUDE, _claude(THINKING, REDACTED, CALL), _claude({"type": "text", "text": "."})
    )

    assert answer.metadata == {"answered_by": CLAUDE, "response_id": "msg_1"}
