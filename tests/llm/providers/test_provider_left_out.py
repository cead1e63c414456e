"""What a provider has no place for: it is left out or goes in another form, and that is said."""

from __future__ import annotations

import json
import warnings
from typing import Any

import pytest
from provider_world import TOOLS, Wire, ask, listening, reply

import koogbook as kb
from koogbook.errors import ProviderError
from koogbook.llm.providers.executor import ProviderExecutor
from koogbook.llm.providers.names import PROVIDERS
from koogbook.llm.providers.thoughts import has_place
from koogbook.messages.message import SUMMARY_NAME

OPENAI = "openai:gpt-4o"
CLAUDE = "anthropic:claude-haiku-4-5"
GEMINI = "google:gemini-3-pro"


async def _sent(model: str, *messages: Any, **fields: Any) -> tuple[Any, list[str]]:
    """The body as it came over the wire, and what was said; the answer is of no interest."""
    fields.setdefault("params", kb.LLMParams(max_tokens=50))
    async with (
        Wire([reply({"error": {"message": "No."}}, 400)]) as wire,
        ProviderExecutor(wire.url) as executor,
    ):
        with listening() as heard, pytest.raises(ProviderError):
            await executor.execute(ask(model, *messages, **fields))
    return wire.asked[0].body, heard


# ------------------------------------------------------------------------------------------- parameters


@pytest.mark.parametrize(
    "model",
    [
        "openai:gpt-5",
        "openai:o3",
        "openai-responses:gpt-5",
        "openrouter:openai/gpt-5",
        "anthropic:claude-opus-4-8",
        "bedrock:us.anthropic.claude-opus-4-8-v1:0",
    ],
)
async def test_a_temperature_that_a_model_does_not_take_is_told(model: str) -> None:
    """In the report, and not by a warning of a library on stderr [EXE-04]."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        body, heard = await _sent(model, params=kb.LLMParams(max_tokens=50, temperature=0.5))

    assert "temperature" not in json.dumps(body)
    assert f"{model} was not sent the parameter temperature" in heard
    assert [one for one in warned if issubclass(one.category, UserWarning)] == []


@pytest.mark.parametrize(
    "model", [OPENAI, CLAUDE, GEMINI, "openai:gpt-5.1", "mistral:mistral-small", "ollama:q"]
)
async def test_a_temperature_that_a_model_takes_is_sent(model: str) -> None:
    """Nothing is left out for caution [EXE-04]."""
    body, heard = await _sent(model, params=kb.LLMParams(max_tokens=50, temperature=0.5))

    assert '"temperature": 0.5' in json.dumps(body)
    assert heard == []


# ------------------------------------------------------------------------------------------- calls


@pytest.mark.parametrize("model", [OPENAI, CLAUDE, GEMINI])
async def test_arguments_that_are_no_object_go_in_another_form_and_it_is_told(model: str) -> None:
    """Once for all of them [EXE-04]."""
    broken = [kb.ToolCall("weather", '{"city": "Bo', "c1"), kb.ToolCall("weather", "[1]", "c2")]
    whole = [kb.ToolCall("weather", '{"city": "Bonn"}', "c3"), kb.ToolCall("weather", "", "c4")]
    calls = [*broken, *whole]
    history = [kb.user("?"), kb.assistant(calls=calls), *(kb.tool_result(call, "mild") for call in calls)]
    body, heard = await _sent(model, *history, tools=TOOLS)

    assert json.dumps(body).count("INVALID_JSON") == 2
    assert "the arguments of 2 earlier calls" in heard[0]


async def test_whole_arguments_say_nothing() -> None:
    """Blanks and order are no matter [EXE-04]."""
    call = kb.ToolCall("weather", '{ "city" : "Bonn" }', "c1")
    _, heard = await _sent(OPENAI, "?", kb.assistant(calls=[call]), kb.tool_result(call, "mild"), tools=TOOLS)

    assert heard == []


# ------------------------------------------------------------------------------------------- thoughts


@pytest.mark.parametrize(
    "model", [OPENAI, "openai-compatible:q", "ollama:q", "openai-responses:gpt-5", "openrouter:q/q"]
)
@pytest.mark.parametrize("id", [None, "content"])
async def test_thoughts_do_not_become_words(model: str, id: str | None) -> None:
    """A library would write them between tags, and models copy those [KB-077]."""
    said = kb.assistant([kb.Reasoning("secret thoughts", None, id), kb.Text("Hello.")])
    body, heard = await _sent(model, "Hi", said, "Go on.")

    assert "secret thoughts" not in json.dumps(body)
    assert "the thoughts of 1 earlier answers" in heard[0]


@pytest.mark.parametrize("model", ["deepseek:deepseek-reasoner", "mistral:magistral-small", GEMINI])
async def test_thoughts_go_where_they_have_a_place(model: str) -> None:
    """Signed or not [KB-077]."""
    said = kb.assistant([kb.Reasoning("my thoughts"), kb.Text("Hello.")])
    body, heard = await _sent(model, "Hi", said, "Go on.")

    assert "my thoughts" in json.dumps(body)
    assert heard == []


async def test_a_field_of_thoughts_goes_back_as_one() -> None:
    """To the server that sent it [KB-077]."""
    said = kb.assistant(
        [kb.Reasoning("my thoughts", None, "reasoning_content"), kb.Text("Hello.")],
        metadata={"answered_by": "openai-compatible:q"},
    )
    body, heard = await _sent("openai-compatible:q", "Hi", said, "Go on.")

    assert body["messages"][1] == {
        "role": "assistant",
        "content": "Hello.",
        "reasoning_content": "my thoughts",
    }
    assert heard == []


@pytest.mark.parametrize(
    ("way", "id", "place"),
    [("field", None, True), ("auto", None, False), ("auto", "reasoning", True), ("tags", "reasoning", False)],
)
def test_a_profile_says_how_thoughts_go_back(way: str, id: str | None, place: bool) -> None:
    """Between tags is no place [KB-077]."""
    profile = {"openai_chat_send_back_thinking_parts": way}
    if way == "field":
        profile["openai_chat_thinking_field"] = "reasoning_content"

    assert has_place(kb.Reasoning("x", None, id), {}, PROVIDERS["openai"], profile) is place


# ------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize("model", [OPENAI, "openai-compatible:q", "deepseek:deepseek-chat"])
async def test_who_said_it_goes_along(model: str) -> None:
    """Where the protocol has a name [EXE-04]."""
    body, heard = await _sent(
        model, kb.user("Hi", name="anna"), kb.user(["Look", "here"], name="Jürgen"), "?"
    )

    assert [one.get("name") for one in body["messages"]] == ["anna", "Jürgen", None]
    assert heard == []


@pytest.mark.parametrize(
    ("model", "name"), [(CLAUDE, "anna"), (GEMINI, "anna"), (OPENAI, "anna lee"), (OPENAI, "x" * 65)]
)
async def test_a_name_that_cannot_be_sent_is_told(model: str, name: str) -> None:
    """It is no part of the text [EXE-04]."""
    body, heard = await _sent(model, kb.user("Hi", name=name))

    assert name not in json.dumps(body)
    assert heard == [f"{model} was not sent the names of 1 messages, for which it has no place"]


@pytest.mark.parametrize("model", [OPENAI, CLAUDE])
async def test_names_of_our_own_are_for_nobody_else(model: str) -> None:
    """Nobody misses them [EXE-04]."""
    body, heard = await _sent(model, kb.user("A summary.", name=SUMMARY_NAME))

    assert SUMMARY_NAME not in json.dumps(body)
    assert heard == []


async def test_a_file_keeps_its_name() -> None:
    """In place of one that a library makes up [EXE-04]."""
    part = kb.Attachment("file", "application/pdf", data=b"%PDF-1.4", name="Budget 2026.pdf")
    body, heard = await _sent(OPENAI, kb.user(["Read.", part]))

    assert body["messages"][0]["content"][1]["file"]["filename"] == "Budget 2026.pdf"
    assert heard == []


@pytest.mark.parametrize(
    ("model", "kind", "mime"), [(CLAUDE, "file", "application/pdf"), (OPENAI, "image", "image/png")]
)
async def test_a_file_name_that_cannot_be_sent_is_told(model: str, kind: Any, mime: str) -> None:
    """What is in it goes [EXE-04]."""
    part = kb.Attachment(kind, mime, data=b"%PDF-1.4", name="a.bin")
    body, heard = await _sent(model, kb.user(["Read.", part]))

    assert "a.bin" not in json.dumps(body)
    assert heard == [f"{model} was not sent the names of 1 attachments, for which it has no place"]


# ------------------------------------------------------------------------------------------- places


@pytest.mark.parametrize("model", [CLAUDE, GEMINI, "bedrock:amazon.nova-lite-v1:0"])
async def test_a_late_system_message_that_goes_to_the_top_is_told(model: str) -> None:
    """Its place may be what it means [EXE-04]."""
    body, heard = await _sent(model, kb.system("Be brief."), "Hi", kb.system("Now be long."), "Go on.")
    conversation = json.dumps(body.get("messages") or body["contents"])

    assert "Now be long." not in conversation
    assert heard == [
        f"{model} was not sent 1 system messages in their place: they went before the conversation"
    ]


async def test_a_late_system_message_that_keeps_its_place_says_nothing() -> None:
    """Nor do those at the beginning [EXE-04]."""
    _, heard = await _sent(OPENAI, kb.system("a"), "Hi", kb.system("b"), "Go on.")
    _, claude = await _sent(CLAUDE, kb.system("a"), kb.system("b"), "Hi")

    assert (heard, claude) == ([], [])
