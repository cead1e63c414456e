"""Every kind of provider, over HTTP, against a server that speaks their protocols."""

from __future__ import annotations

from typing import Any

import pytest
from provider_world import TOOLS, Aimock, ask, weather

import koogbook as kb
from koogbook.errors import ProviderError
from koogbook.llm.executor import EndFrame, TextFrame, ToolCallFrame
from koogbook.llm.providers.executor import ProviderExecutor
from koogbook.messages.model import LLMParams

#: A model of each provider, and what comes after the address of the server.
SPOKEN = {
    "openai:gpt-4o": "/v1",
    "openai-responses:gpt-5": "/v1",
    "openai-compatible:qwen3": "/v1",
    "anthropic:claude-sonnet-5": "",
    "google:gemini-3-pro": "",
    "mistral:mistral-large-latest": "",
    "ollama:qwen3": "/v1",
    "deepseek:deepseek-chat": "/v1",
    "openrouter:openai/gpt-4o": "/api/v1",
    "bedrock:anthropic.claude-haiku-4-5-20251001-v1:0": "",
}
each_provider = pytest.mark.parametrize("model", SPOKEN)

#: The server streams texts for bedrock, and calls for mistral, in a way that these two do not.
streams_text = pytest.mark.parametrize("model", [name for name in SPOKEN if not name.startswith("bedrock")])
streams_calls = pytest.mark.parametrize("model", [name for name in SPOKEN if not name.startswith("mistral")])

#: Without a limit some models are asked in a stream even for a whole answer.
SHORT = LLMParams(max_tokens=500)


def _executor(aimock: Aimock, model: str) -> ProviderExecutor:
    return ProviderExecutor(aimock.url + SPOKEN[model])


@each_provider
async def test_a_question_is_answered(aimock: Aimock, model: str) -> None:
    """With the text, why it ended, and who answered [EXE-04]."""
    async with _executor(aimock, model) as executor:
        reply = await executor.execute(ask(model, kb.system("Be brief."), "hello", params=SHORT))

    assert (reply.role, reply.text) == ("assistant", "Good morning from the other side.")
    assert reply.finish_reason == "stop"
    assert reply.metadata["answered_by"] == model


@each_provider
async def test_usage_is_what_the_provider_counted(aimock: Aimock, model: str) -> None:
    """Not our estimate [EXE-04]."""
    async with _executor(aimock, model) as executor:
        reply = await executor.execute(ask(model, "hello", params=SHORT))

    assert reply.usage == kb.Usage(5, 6)


@each_provider
async def test_a_call_and_its_result_go_there_and_back(aimock: Aimock, model: str) -> None:
    """The id is the provider's, the arguments are its text [EXE-04]."""
    said = kb.user("What is the weather in Bonn?")
    async with _executor(aimock, model) as executor:
        called = await executor.execute(ask(model, said, tools=TOOLS, params=SHORT))
        result = kb.tool_result(called.calls[0], weather("Bonn"))
        reply = await executor.execute(ask(model, said, called, result, tools=TOOLS, params=SHORT))

    assert [(call.tool, call.args.replace(" ", ""), call.id) for call in called.calls] == [
        ("weather", '{"city":"Bonn"}', "call_1")
    ]
    assert reply.text == "It is mild in Bonn."


@each_provider
async def test_each_request_is_sent_once(aimock: Aimock, model: str) -> None:
    """Asking again is for our wrappers; the libraries would do it behind our back [EXE-04]."""
    async with _executor(aimock, model) as executor:
        with pytest.raises(ProviderError) as caught:
            await executor.execute(ask(model, "server trouble", params=SHORT))

    assert caught.value.may_pass
    assert len(aimock.journal()) == 1


@streams_text
async def test_a_streamed_answer_comes_in_pieces_and_ends_whole(aimock: Aimock, model: str) -> None:
    """What was read is what the history gets [EXE-05]."""
    async with _executor(aimock, model) as executor:
        frames = [frame async for frame in executor.stream(ask(model, "hello", params=SHORT))]
    texts = [frame.text for frame in frames if isinstance(frame, TextFrame)]

    assert len(texts) > 1
    assert isinstance(frames[-1], EndFrame)
    assert "".join(texts) == frames[-1].message.text == "Good morning from the other side."


@pytest.mark.parametrize("model", [name for name in SPOKEN if not name.startswith(("bedrock", "mistral"))])
async def test_a_streamed_answer_has_its_usage(aimock: Aimock, model: str) -> None:
    """Where the provider sends it only on request, it is asked for [EXE-05]."""
    async with _executor(aimock, model) as executor:
        frames = [frame async for frame in executor.stream(ask(model, "hello", params=SHORT))]
    whole: Any = frames[-1]

    assert whole.message.usage == kb.Usage(5, 6)


@streams_calls
async def test_a_streamed_call_comes_when_all_of_it_is_known(aimock: Aimock, model: str) -> None:
    """As one frame, and the same in the last one [EXE-05]."""
    async with _executor(aimock, model) as executor:
        frames = [frame async for frame in executor.stream(ask(model, "weather?", tools=TOOLS, params=SHORT))]
    calls = [frame.call for frame in frames if isinstance(frame, ToolCallFrame)]
    whole: Any = frames[-1]

    assert [call.args.replace(" ", "") for call in calls] == ['{"city":"Bonn"}']
    assert whole.message.calls == tuple(calls)


async def test_parallel_calls_keep_their_order_and_ids(aimock: Aimock) -> None:
    """And so do their results on the way back [EXE-04]."""
    said = kb.user("two cities")
    async with _executor(aimock, "openai:gpt-4o") as executor:
        called = await executor.execute(ask("openai:gpt-4o", said, tools=TOOLS))
        results = [kb.tool_result(call, f"result of {call.id}") for call in called.calls]
        await executor.execute(ask("openai:gpt-4o", said, called, *results, tools=TOOLS))
    sent = aimock.journal()[-1]["body"]["messages"]

    assert [call.id for call in called.calls] == ["call_a", "call_b"]
    assert [(one["tool_call_id"], one["content"]) for one in sent if one["role"] == "tool"] == [
        ("call_a", "result of call_a"),
        ("call_b", "result of call_b"),
    ]


async def test_cached_and_reasoning_tokens_are_told_apart(aimock: Aimock) -> None:
    """Parts of input and output, as our usage has them [EXE-04]."""
    async with _executor(aimock, "openrouter:openai/gpt-4o") as executor:
        reply = await executor.execute(ask("openrouter:openai/gpt-4o", "cached"))

    assert reply.usage == kb.Usage(100, 50, cache_read_tokens=80, reasoning_tokens=40)


async def test_an_answer_that_was_cut_says_so(aimock: Aimock) -> None:
    """Half an answer is an answer, with its reason [EXE-04]."""
    async with _executor(aimock, "openai:gpt-4o") as executor:
        reply = await executor.execute(ask("openai:gpt-4o", "cut by length"))

    assert (reply.text, reply.finish_reason) == ("Half a", "length")


# ------------------------------------------------------------------------------------------- agents


async def test_an_agent_works_with_a_model(aimock: Aimock) -> None:
    """Tools are run until there is an answer [EXE-04]."""
    async with _executor(aimock, "openai:gpt-4o") as executor:
        agent = kb.Agent(executor, model="openai:gpt-4o", tools=[weather])
        run = await agent.run("What is the weather in Bonn?")

    assert run.output == "It is mild in Bonn."


async def test_an_agent_goes_on_after_a_call_of_a_tool_that_is_not_there(aimock: Aimock) -> None:
    """The model gets an error result, with its name [AGT-05]."""
    async with _executor(aimock, "anthropic:claude-sonnet-5") as executor:
        agent = kb.Agent(executor, model="anthropic:claude-sonnet-5", tools=[weather])
        run = await agent.run("Use an unknown tool.")

    assert run.output == "There is no such tool, so I walk."
    assert len(aimock.journal()) == 2


async def test_an_agent_streams_from_a_model(aimock: Aimock) -> None:
    """Through a session, which appends the whole answer once [EXE-05]."""
    stream = kb.strategy("stream", input=str, output=str)

    @stream.node
    async def answer(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            session.append(kb.user(text))
            read = session.request_streaming()
            pieces = [frame.text async for frame in read if isinstance(frame, TextFrame)]
        return "|".join(pieces)

    stream.start >> answer >> stream.finish
    async with _executor(aimock, "openai:gpt-4o") as executor:
        run = await kb.Agent(executor, model="openai:gpt-4o", strategy=stream).run("hello")

    assert run.output == "Good morning from th|e other side."
