"""How an answer ends: said, unsaid, in the middle, or with nothing but a bill."""

from __future__ import annotations

from typing import Any

import pytest
from provider_world import HELD, Wire, ask, chat, chunk, error_for, events, listening, reply

import koogbook as kb
from koogbook.errors import ProviderError
from koogbook.llm.executor import EndFrame, TextFrame
from koogbook.llm.providers.executor import ProviderExecutor

COMPATIBLE = "openai-compatible:qwen3"
OPENAI = "openai:gpt-4o"
CLAUDE = "anthropic:claude-sonnet-5"
_EVENTS = "text/event-stream"


def _stream(body: str) -> bytes:
    return reply(body, 200, _EVENTS)


async def _read(answer: bytes, model: str = COMPATIBLE) -> tuple[Any, list[str]]:
    """The message at the end of a stream, and what was said beside it."""
    async with Wire([answer]) as wire, ProviderExecutor(wire.url) as executor:
        with listening() as heard:
            frames = [frame async for frame in executor.stream(ask(model))]
    assert isinstance(frames[-1], EndFrame)
    return frames[-1].message, heard


async def _broken(answer: bytes, model: str) -> Any:
    async with Wire([answer]) as wire, ProviderExecutor(wire.url) as executor:
        with pytest.raises(ProviderError) as caught:
            [frame async for frame in executor.stream(ask(model))]
    return caught.value


def _call(args: str) -> dict[str, Any]:
    piece = chunk("")
    function = {"name": "weather", "arguments": args}
    piece["choices"][0]["delta"] = {
        "tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]
    }
    return piece


def _counted(text: str, usage: tuple[int, int], finish_reason: str | None = None) -> dict[str, Any]:
    spent = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    return {**chunk(text, finish_reason), "usage": spent}


# ------------------------------------------------------------------------------------------- ends


async def test_an_answer_that_came_to_no_end_says_so() -> None:
    """No reason is made up, and the message and the report have it [EXE-05]."""
    message, heard = await _read(_stream(events(chunk("Half a"), end="")))

    assert (message.text, message.finish_reason) == ("Half a", None)
    assert message.metadata["incomplete"] is True
    assert "openai-compatible:qwen3 came to no end" in heard[0]


async def test_a_server_that_says_it_is_done_gave_all_of_it() -> None:
    """The last event is enough; a reason that nobody gave is not made up [EXE-05]."""
    message, heard = await _read(_stream(events(chunk("All of it."))))

    assert message.finish_reason is None
    assert "incomplete" not in message.metadata
    assert heard == []


async def test_a_reason_without_a_last_event_is_an_end() -> None:
    """The other way round [EXE-05]."""
    message, heard = await _read(_stream(events(chunk("All."), chunk("", "stop"), end="")))

    assert message.finish_reason == "stop"
    assert "incomplete" not in message.metadata
    assert heard == []


async def test_a_stream_under_the_wrong_name_comes_in_pieces() -> None:
    """Some servers call it JSON; it is not waited for as a whole [EXE-05]."""
    begun = reply(events(chunk("One"), end=""), 200, "application/json")
    answer = (
        b"\r\n".join(line for line in begun.split(b"\r\n") if not line.startswith(b"Content-Length")) + HELD
    )
    async with Wire([answer]) as wire, ProviderExecutor(wire.url, timeout=5.0) as executor:
        frames: Any = executor.stream(ask(COMPATIBLE))
        first = await anext(frames)
        await frames.aclose()

    assert first == TextFrame("One")


async def test_a_stream_under_the_wrong_name_has_an_end() -> None:
    """It is looked for in its bytes [EXE-05]."""
    whole = reply(events(chunk("One")) + ": nothing more" * 9, 200, "text/plain")
    message, heard = await _read(whole)

    assert "incomplete" not in message.metadata
    assert heard == []


async def test_a_last_event_that_the_model_wrote_is_none() -> None:
    """It stands inside of the text [EXE-05]."""
    message, _ = await _read(_stream(events(chunk("write data: [DONE]"), end="")))

    assert message.metadata["incomplete"] is True


@pytest.mark.parametrize("args", ['{"city": "Bo', "", "[1]"])
async def test_half_a_tool_call_is_no_answer(args: str) -> None:
    """It would be run with what there is of it [EXE-05]."""
    error = await _broken(_stream(events(_call(args), end="")), COMPATIBLE)

    assert (error.kind, error.may_pass) == ("broken", True)
    assert "in the middle of a tool call" in str(error)


async def test_a_whole_tool_call_without_an_end_is_kept() -> None:
    """And marked as the rest of such an answer is [EXE-05]."""
    message, _ = await _read(_stream(events(_call('{"city": "Bonn"}'), end="")))

    assert [call.args for call in message.calls] == ['{"city": "Bonn"}']
    assert message.metadata["incomplete"] is True


async def test_a_whole_answer_without_a_reason_has_none() -> None:
    """Its JSON was whole, so that nothing is missing [EXE-04]."""
    async with Wire([reply(chat("All.", None))]) as wire, ProviderExecutor(wire.url) as executor:
        answer = await executor.execute(ask(COMPATIBLE))

    assert answer.finish_reason is None
    assert "incomplete" not in answer.metadata


# ------------------------------------------------------------------------------------------- what it cost


@pytest.mark.parametrize("finish_reason", ["stop", "length", "content_filter"])
async def test_an_answer_with_nothing_in_it_says_what_it_cost(finish_reason: str) -> None:
    """It was paid for all the same [EXE-04]."""
    error = await error_for(reply(chat({"role": "assistant", "content": None}, finish_reason)))

    assert error.usage == kb.Usage(3, 2)


async def test_a_stream_that_breaks_off_says_what_was_counted() -> None:
    """Some count the question at the beginning [EXE-05]."""
    said: list[dict[str, Any]] = [
        {
            "type": "message_start",
            "message": {
                "id": "m",
                "type": "message",
                "role": "assistant",
                "model": "claude-sonnet-5",
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {"input_tokens": 30, "output_tokens": 1},
            },
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Half"}},
    ]
    body = "".join(f"event: {one['type']}\n{events(one, end='')}" for one in said)
    error = await _broken(_stream(body), CLAUDE)

    assert error.kind == "broken"
    assert error.usage == kb.Usage(30, 1)


async def test_an_error_that_cost_nothing_has_no_usage() -> None:
    """None is not zero tokens [EXE-04]."""
    assert (await error_for(reply({"error": {"message": "No."}}, 400))).usage is None


@pytest.mark.parametrize("model", [OPENAI, COMPATIBLE, "ollama:qwen3", "openrouter:openai/gpt-4o"])
async def test_figures_that_grow_with_each_piece_are_not_added_up(model: str) -> None:
    """The last one is the whole; and no server is asked for such figures, since some refuse that [EXE-05]."""
    body = events(_counted("One ", (7, 1)), _counted("two", (7, 2)), _counted("", (7, 2), "stop"))
    async with Wire([_stream(body)]) as wire, ProviderExecutor(wire.url) as executor:
        frames: list[Any] = [frame async for frame in executor.stream(ask(model))]

    assert frames[-1].message.usage == kb.Usage(7, 2)
    assert wire.asked[0].body["stream_options"] == {"include_usage": True}


async def test_figures_at_the_end_alone_are_taken() -> None:
    """As most servers send them [EXE-05]."""
    last = {**_counted("", (7, 2)), "choices": []}
    message, _ = await _read(_stream(events(chunk("Yes."), chunk("", "stop"), last)), OPENAI)

    assert message.usage == kb.Usage(7, 2)


async def test_thoughts_of_google_are_counted() -> None:
    """Under a name of its own [EXE-04]."""
    body = {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "Yes."}]}, "finishReason": "STOP"}],
        "usageMetadata": {
            "promptTokenCount": 3,
            "candidatesTokenCount": 2,
            "thoughtsTokenCount": 40,
            "totalTokenCount": 45,
        },
    }
    async with Wire([reply(body)]) as wire, ProviderExecutor(wire.url) as executor:
        answer = await executor.execute(ask("google:gemini-3-pro"))

    assert answer.usage is not None
    assert answer.usage.reasoning_tokens == 40


async def test_a_stream_of_the_responses_protocol_that_never_completes_is_broken() -> None:
    """Its last event has a name [EXE-05]."""
    started = {
        "type": "response.created",
        "sequence_number": 0,
        "response": {
            "id": "r",
            "object": "response",
            "created_at": 1_700_000_000,
            "status": "in_progress",
            "model": "gpt-5",
            "output": [],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        },
    }
    item = {"id": "m", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
    added = {"type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": item}
    words = {
        "type": "response.output_text.delta",
        "sequence_number": 2,
        "item_id": "m",
        "output_index": 0,
        "content_index": 0,
        "delta": "Half",
        "logprobs": [],
    }
    sent: list[dict[str, Any]] = [started, added, words]
    body = "".join(f"event: {one['type']}\n{events(one, end='')}" for one in sent)
    async with Wire([_stream(body)]) as wire, ProviderExecutor(wire.url) as executor:
        frames = executor.stream(ask("openai-responses:gpt-5"))
        first = await anext(frames)
        with pytest.raises(ProviderError) as caught:
            await anext(frames)

    assert first == TextFrame("Half")
    assert caught.value.kind == "broken"
