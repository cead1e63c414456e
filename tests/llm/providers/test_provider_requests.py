"""What a provider is sent: everything that a request holds, under the provider's own names."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Struct
from provider_world import TOOLS, Asked, Wire, ask, chat, listening, reply

import koogbook as kb
from koogbook.errors import ProviderError
from koogbook.llm.providers.executor import ProviderExecutor
from koogbook.llm.providers.parameters import object_schema
from koogbook.llm.structured import Shape
from koogbook.messages.message import REFERENCE_NAME, SUMMARY_NAME, Message
from koogbook.messages.model import LLMParams, ToolChoice
from koogbook.messages.parts import Foreign
from koogbook.tools.tool import ToolSpec

OPENAI = "openai:gpt-4o"
CLAUDE = "anthropic:claude-sonnet-5"
GEMINI = "google:gemini-3-pro"
PNG = b"\x89PNG\r\n\x1a\n"

#: An answer in the protocol of each.
ANSWERS = {
    OPENAI: chat("Yes."),
    CLAUDE: {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5",
        "content": [{"type": "text", "text": "Yes."}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 2},
    },
    GEMINI: {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "Yes."}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2},
    },
}
SHORT = LLMParams(max_tokens=500)


async def _sent(model: str, *messages: Any, **fields: Any) -> tuple[Asked, Message]:
    """The request as it came over the wire, and the answer."""
    fields.setdefault("params", SHORT)
    async with Wire([reply(ANSWERS[model])]) as wire, ProviderExecutor(wire.url) as executor:
        answer = await executor.execute(ask(model, *messages, **fields))
    return wire.asked[0], answer


async def _body(model: str, *messages: Any, **fields: Any) -> Any:
    return (await _sent(model, *messages, **fields))[0].body


# ------------------------------------------------------------------------------------------- messages


async def test_a_conversation_keeps_roles_and_order() -> None:
    """System messages, questions, answers, calls and results [EXE-04]."""
    call = kb.ToolCall("weather", '{"city": "Bonn"}', "c1")
    body = await _body(
        OPENAI,
        kb.system("Be brief."),
        kb.user("Hi"),
        kb.assistant("Hello."),
        kb.user("Weather?"),
        kb.assistant("I look.", calls=[call]),
        kb.tool_result(call, "mild"),
        tools=TOOLS,
    )

    assert [(one["role"], one.get("content")) for one in body["messages"]] == [
        ("system", "Be brief."),
        ("user", "Hi"),
        ("assistant", "Hello."),
        ("user", "Weather?"),
        ("assistant", "I look."),
        ("tool", "mild"),
    ]
    assert body["messages"][4]["tool_calls"][0]["function"] == {
        "name": "weather",
        "arguments": '{"city":"Bonn"}',
    }


@pytest.mark.parametrize("name", [REFERENCE_NAME, SUMMARY_NAME])
async def test_messages_of_our_own_go_as_what_the_user_said(name: str) -> None:
    """A model knows no reserved names [EXE-04]."""
    body = await _body(OPENAI, kb.user("A summary.", name=name), "Go on.")

    assert [(one["role"], one["content"]) for one in body["messages"]] == [
        ("user", "A summary."),
        ("user", "Go on."),
    ]


async def test_a_failed_call_is_told_as_failed() -> None:
    """Where the protocol has a flag, and in words where it has none [EXE-04]."""
    call = kb.ToolCall("weather", "{}", "c1")
    history = (kb.user("?"), kb.assistant(calls=[call]), kb.tool_result(call, "no such city", is_error=True))
    claude = await _body(CLAUDE, *history, tools=TOOLS)
    openai = await _body(OPENAI, *history, tools=TOOLS)

    assert claude["messages"][-1]["content"][0]["is_error"] is True
    assert json.loads(openai["messages"][-1]["content"]) == {"error": "no such city"}


async def test_results_of_parallel_calls_are_one_message_where_they_have_to_be() -> None:
    """Anthropic refuses them apart [EXE-04]."""
    calls = [kb.ToolCall("weather", "{}", "c1"), kb.ToolCall("weather", "{}", "c2")]
    history = [kb.user("?"), kb.assistant(calls=calls), *(kb.tool_result(call, "mild") for call in calls)]
    body = await _body(CLAUDE, *history, tools=TOOLS)

    assert [one["role"] for one in body["messages"]] == ["user", "assistant", "user"]
    assert [part["tool_use_id"] for part in body["messages"][2]["content"]] == ["c1", "c2"]


async def test_calls_without_ids_get_some_and_their_results_the_same() -> None:
    """Ids that come again become different ones, since providers refuse two alike [EXE-04]."""
    bare, again = kb.ToolCall("weather", "{}"), kb.ToolCall("weather", "{}", "same")
    history: list[Message] = [kb.user("?")]
    for call in (bare, bare, again, again):
        history += [kb.assistant(calls=[call]), kb.tool_result(call, "mild")]
    body = await _body(OPENAI, *history, tools=TOOLS)
    called = [one["tool_calls"][0]["id"] for one in body["messages"] if one["role"] == "assistant"]
    answered = [one["tool_call_id"] for one in body["messages"] if one["role"] == "tool"]

    assert called == answered
    assert len(set(called)) == 4
    assert called[2] == "same"


@pytest.mark.parametrize("args", ['{"city": "Bo', "[1]", "", "not JSON"])
async def test_broken_arguments_come_as_text_and_go_back_as_json(args: str) -> None:
    """We keep what the model wrote; a provider takes only an object [EXE-04]."""
    said = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": args}}],
    }
    async with (
        Wire([reply(chat(said, "tool_calls")), reply(chat("Yes."))]) as wire,
        ProviderExecutor(wire.url) as executor,
    ):
        answer = await executor.execute(ask(OPENAI, "?", tools=TOOLS))
        result = kb.tool_result(answer.calls[0], "these are no arguments", is_error=True)
        await executor.execute(ask(OPENAI, "?", answer, result, tools=TOOLS))
    sent = wire.asked[1].body["messages"][1]["tool_calls"][0]["function"]["arguments"]

    assert answer.calls[0].args == (args or "{}")
    assert isinstance(json.loads(sent), dict)


async def test_any_text_survives_the_way() -> None:
    """Emoji, Chinese, quotes, and what looks like a tag of a chat template [EXE-04]."""
    text = '预算 🐳 "quoted" \\ <|im_start|> </s> \u200b'
    body = await _body(OPENAI, text)

    assert body["messages"][0]["content"] == text


@pytest.mark.parametrize("model", ANSWERS)
async def test_a_lone_surrogate_is_spelled_out(model: str) -> None:
    """UTF-8 has no such character; it is said that it went in another form [EXE-01]."""
    call = kb.ToolCall("weather", '{"city": "\udc00"}', "c1")
    history = (kb.user("half \ud83d of a pair"), kb.assistant(calls=[call]), kb.tool_result(call, "\udfff"))
    with listening() as heard:
        sent, _ = await _sent(model, kb.system("\ud83d"), *history, tools=TOOLS)

    assert "half \\\\ud83d of a pair" in json.dumps(sent.body)
    assert "lone surrogates in 4 texts" in heard[0]


# ------------------------------------------------------------------------------------------- attachments


async def test_a_picture_goes_as_bytes_or_by_its_address() -> None:
    """In its place between the texts [EXE-04]."""
    said = kb.user(
        [
            "Before",
            kb.Attachment("image", "image/png", data=PNG),
            kb.Attachment("image", url="https://e.com/a.png"),
        ]
    )
    parts = (await _body(OPENAI, said))["messages"][0]["content"]

    assert [part["type"] for part in parts] == ["text", "image_url", "image_url"]
    assert parts[1]["image_url"]["url"].startswith("data:image/png;base64,iVBORw0KGgo")
    assert parts[2]["image_url"]["url"] == "https://e.com/a.png"


@pytest.mark.parametrize("url", ["https://e.com/a.png", "data:image/png;base64,iVBORw0KGgo="])
async def test_a_picture_for_claude_is_an_image_block(url: str) -> None:
    """An address with the data in it becomes data [EXE-04]."""
    said = kb.user(["What is it?", kb.Attachment("image", "image/png", url=url)])
    source = (await _body(CLAUDE, said))["messages"][0]["content"][1]["source"]

    assert source["type"] == ("url" if url.startswith("https") else "base64")


async def test_a_document_goes_as_one() -> None:
    """A PDF to a model that reads them [EXE-04]."""
    said = kb.user(["Read.", kb.Attachment("file", "application/pdf", data=b"%PDF-1.4")])
    part = (await _body(CLAUDE, said))["messages"][0]["content"][1]

    assert part["type"] == "document"


@pytest.mark.parametrize(
    ("model", "part"),
    [
        (CLAUDE, kb.Attachment("audio", "audio/wav", data=b"RIFF")),
        (CLAUDE, kb.Attachment("video", "video/mp4", data=b"mp4")),
        (OPENAI, kb.Attachment("video", "video/mp4", data=b"mp4")),
        (OPENAI, Foreign("hologram", '{"type": "hologram"}')),
    ],
    ids=["audio", "video", "video for OpenAI", "unknown"],
)
async def test_what_a_provider_cannot_take_is_refused(model: str, part: Any) -> None:
    """Nothing is left out behind the user's back [EXE-04]."""
    async with Wire([]) as wire, ProviderExecutor(wire.url) as executor:
        with pytest.raises(ProviderError, match="Nothing was sent") as caught:
            await executor.execute(ask(model, kb.user(["Look.", part])))

    assert caught.value.kind == "refused"
    assert wire.asked == []


async def test_a_picture_in_a_system_message_is_refused() -> None:
    """With its place in the history [EXE-04]."""
    async with Wire([]) as wire, ProviderExecutor(wire.url) as executor:
        with pytest.raises(ProviderError, match=r"Message 0 \(system\)"):
            await executor.execute(ask(OPENAI, kb.system([kb.Attachment("image", data=PNG)]), "?"))


# ------------------------------------------------------------------------------------------- parameters


async def test_parameters_go_under_the_names_of_openai() -> None:
    """All that it has [EXE-04]."""
    params = LLMParams(temperature=0.5, max_tokens=7, seed=3, stop=("END",), user="u1")
    body = await _body(OPENAI, "?", params=params)

    assert (body["temperature"], body["max_completion_tokens"], body["seed"]) == (0.5, 7, 3)
    assert (body["stop"], body["user"]) == (["END"], "u1")


async def test_parameters_go_under_the_names_of_anthropic() -> None:
    """And what it has not is said [EXE-04]."""
    params = LLMParams(max_tokens=7, seed=3, stop=("END",), user="u1")
    with listening() as heard:
        sent, _ = await _sent(CLAUDE, "?", params=params)

    assert (sent.body["max_tokens"], sent.body["stop_sequences"]) == (7, ["END"])
    assert sent.body["metadata"] == {"user_id": "u1"}
    assert heard == [f"{CLAUDE} was not sent the parameter seed"]


async def test_parameters_go_under_the_names_of_google() -> None:
    """In its own block; it has no user [EXE-04]."""
    params = LLMParams(temperature=0.5, max_tokens=7, seed=3, stop=("END",), user="u1")
    with listening() as heard:
        sent, _ = await _sent(GEMINI, "?", params=params)
    config = sent.body["generationConfig"]

    assert (config["temperature"], config["maxOutputTokens"], config["seed"]) == (0.5, 7, 3)
    assert config["stopSequences"] == ["END"]
    assert heard == [f"{GEMINI} was not sent the parameter user"]


@pytest.mark.parametrize(
    ("choice", "openai", "anthropic"),
    [
        (ToolChoice("auto"), "auto", {"type": "auto"}),
        (ToolChoice("none"), "none", {"type": "none"}),
        (ToolChoice("required"), "required", {"type": "any"}),
        (
            ToolChoice("named", "weather"),
            {"type": "function", "function": {"name": "weather"}},
            {"type": "tool", "name": "weather"},
        ),
    ],
    ids=["auto", "none", "required", "named"],
)
async def test_a_choice_of_tools_is_sent(choice: ToolChoice, openai: Any, anthropic: Any) -> None:
    """In the form of each [EXE-04]."""
    tools = (*TOOLS, ToolSpec("walk", "Walk.", '{"type": "object", "properties": {}}'))
    params = LLMParams(max_tokens=50, tool_choice=choice)
    for_openai = await _body(OPENAI, "?", tools=tools, params=params)
    for_claude = await _body(CLAUDE, "?", tools=tools, params=params)

    assert for_openai.get("tool_choice", "auto") == openai
    assert for_claude.get("tool_choice", {"type": "auto"}) == anthropic


async def test_a_number_of_choices_is_not_sent_and_said_so() -> None:
    """Several answers are several requests, which the session makes [EXE-04]."""
    with listening() as heard:
        await _sent(OPENAI, "?", params=LLMParams(choices=3))

    assert heard == [f"{OPENAI} was not sent the parameter choices"]


async def test_a_tool_is_described_as_we_describe_it() -> None:
    """Name, description, and the schema of its parameters [EXE-04]."""
    function = (await _body(OPENAI, "?", tools=TOOLS))["tools"][0]["function"]

    assert (function["name"], function["description"]) == ("weather", "The weather in a city.")
    assert function["parameters"]["properties"] == {"city": {"type": "string"}}


# ------------------------------------------------------------------------------------------- data


class City(Struct):
    """A place."""

    name: str
    inhabitants: int = 0


async def test_a_schema_goes_where_the_model_keeps_to_it() -> None:
    """As the provider's own structured output [EXE-05]."""
    shape = (await _body(OPENAI, "?", schema=Shape(City).schema))["response_format"]

    assert shape["type"] == "json_schema"
    assert set(shape["json_schema"]["schema"]["properties"]) == {"name", "inhabitants"}


async def test_a_model_that_has_no_such_thing_gets_the_instruction_alone() -> None:
    """Which the session sends anyway [EXE-05]."""
    async with Wire([reply(chat("{}"))]) as wire, ProviderExecutor(wire.url) as executor:
        await executor.execute(ask("deepseek:deepseek-chat", "?", schema=Shape(City).schema))

    assert "response_format" not in wire.asked[0].body


@pytest.mark.parametrize("kind", [list[int], int, str | None], ids=str)
def test_a_schema_that_is_no_object_stays_here(kind: Any) -> None:
    """No provider takes one [EXE-05]."""
    assert object_schema(Shape(kind).schema) is None


def test_an_object_stands_at_the_top_of_its_schema() -> None:
    """Where providers look for it, with what it refers to below [EXE-05]."""
    schema = object_schema(Shape(City).schema)

    assert schema is not None
    assert schema["type"] == "object"
    assert "$defs" not in schema


async def test_a_session_asks_for_data_over_the_wire() -> None:
    """From the type to the value [EXE-05]."""
    strategy = kb.strategy("city", input=str, output=City)

    @strategy.node
    async def answer(ctx: kb.Context, text: str) -> City:
        async with ctx.llm.write_session() as session:
            session.append(kb.user(text))
            made = await session.request_structured(City)
        return made.value

    strategy.start >> answer >> strategy.finish
    answers = [reply(chat('{"name": "Bonn", "inhabitants": 330000}'))]
    async with Wire(answers) as wire, ProviderExecutor(wire.url) as executor:
        run = await kb.Agent(executor, model=OPENAI, strategy=strategy).run("Which city?")

    assert run.output == City("Bonn", 330000)


@pytest.mark.parametrize("model", ["openai-compatible:qwen3", "ollama:qwen3", "deepseek:deepseek-chat"])
async def test_a_file_that_lies_elsewhere_is_refused_before_it_is_sent(model: str) -> None:
    """Exports of chats name such files, and only their own provider has them [EXE-04]."""
    picture = kb.Attachment("image", file_id="file-1")
    async with Wire([]) as wire, ProviderExecutor(wire.url) as executor:
        with pytest.raises(ProviderError, match=r"'file-1'.*Nothing was sent\. Give the data itself"):
            await executor.execute(ask(model, kb.user(["Look.", picture])))

    assert wire.asked == []
