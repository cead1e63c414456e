"""Secrets that are not in a key variable any more, or never were; and plain words that are none."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from provider_world import KEYS, Wire, ask, chat, chunk, events, reply

from koogbook.errors import ExecutorError
from koogbook.llm.executor import EndFrame, ReasoningFrame, TextFrame, ToolCallFrame
from koogbook.llm.providers.executor import ProviderExecutor
from koogbook.llm.providers.keys import Redactor
from koogbook.llm.providers.veil import HIDDEN, Veil

OPENAI = "openai:gpt-4o"
COMPATIBLE = "openai-compatible:qwen3"
KEY = KEYS["OPENAI_API_KEY"]


async def _refusal(words: str, model: str = OPENAI, user: str = "") -> str:
    """The error for a server that says these words."""
    async with Wire([reply({"error": {"message": words}}, 401)]) as wire:
        async with ProviderExecutor(wire.url.replace("//", f"//{user}")) as executor:
            with pytest.raises(ExecutorError) as caught:
                await executor.execute(ask(model))
    return str(caught.value)


# ------------------------------------------------------------------------------------------- in place of a name


@pytest.mark.parametrize(
    "key",
    ["Ab12cd34Ef56gh78", "sk_live_abcdefgh", "AKIABEDROCKKEY000002", "ABCD1234EFGH5678IJKL", "", "my-key"],
)
def test_a_key_in_place_of_the_name_of_its_variable_is_refused(key: str) -> None:
    """Whatever it looks like, and without being shown [EXE-06]."""
    with pytest.raises(ValueError, match="never the key itself") as caught:
        ProviderExecutor("http://127.0.0.1:1/v1", key_variable=key)

    assert not key or key not in str(caught.value)


def test_a_key_cannot_be_given_by_place() -> None:
    """The second argument of other libraries is the key [EXE-06]."""
    with pytest.raises(TypeError):
        ProviderExecutor("http://127.0.0.1:1/v1", "MY_SERVER_KEY")  # type: ignore[call-arg, misc, unused-ignore]


def test_a_variable_that_is_set_may_have_any_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is there, so it is no key [EXE-06]."""
    monkeypatch.setenv("KEY4MYSERVER2026X", "my-own-key-1")

    assert "KEY4MYSERVER2026X" in repr(ProviderExecutor(key_variable="KEY4MYSERVER2026X"))


def test_a_key_in_place_of_the_address_is_not_shown() -> None:
    """The first argument, too [EXE-06]."""
    with pytest.raises(ValueError, match="does not begin with http") as caught:
        ProviderExecutor("Ab12cd34Ef56gh78")

    assert "Ab12" not in str(caught.value)


# ------------------------------------------------------------------------------------------- what is hidden


async def test_the_key_of_a_request_is_hidden_after_another_was_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer comes later than the change [EXE-06]."""
    monkeypatch.setenv("MY_SERVER_KEY", "first-one-2026")
    async with Wire([reply({"error": {"message": "Bad first-one-2026"}}, 401)]) as wire:
        async with ProviderExecutor(wire.url, key_variable="MY_SERVER_KEY") as executor:
            question = await executor._question(ask(COMPATIBLE))
            monkeypatch.setenv("MY_SERVER_KEY", "second-one-2026")
            with pytest.raises(ExecutorError) as caught:
                await question.answer()

    assert "first-one-2026" not in str(caught.value)


async def test_a_password_in_the_address_is_hidden_in_every_form() -> None:
    """As it is, and in the header that a library makes of it [EXE-06]."""
    header = b64encode(b"user:hunter/22").decode()
    said = await _refusal(f"Basic {header}, hunter/22, hunter%2F22.", user="user:hunter%2F22@")

    assert header not in said
    assert "hunter" not in said


async def test_custom_headers_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are secrets of gateways [EXE-06]."""
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Gateway: gate-secret-77")
    said = await _refusal("Bad gate-secret-77", "anthropic:claude-sonnet-5")

    assert "gate-secret-77" not in said


@pytest.mark.parametrize(
    "form", [lambda key: quote(key, safe=""), lambda key: json.dumps(key)[1:-1]], ids=["url", "json"]
)
def test_a_key_is_hidden_in_the_form_that_it_takes(form: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a URL and in JSON it looks otherwise [EXE-06]."""
    key = 'odd/"key"+with\\signs'
    monkeypatch.setenv("MY_SERVER_KEY", key)

    assert Redactor(("MY_SERVER_KEY",)).clean(f"at {form(key)} end") == f"at {HIDDEN} end"


def test_a_key_that_begins_with_another_is_hidden_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its end would stay [EXE-06]."""
    monkeypatch.setenv("MISTRAL_API_KEY", "abc-123")
    monkeypatch.setenv("DEEPSEEK_API_KEY", "abc-123-the-longer-one")

    assert Redactor().clean("x abc-123-the-longer-one y") == f"x {HIDDEN} y"


# ------------------------------------------------------------------------------------------- what is not sent elsewhere


@pytest.mark.parametrize(
    "model", [COMPATIBLE, "deepseek:deepseek-chat", "openrouter:openai/gpt-4o", "ollama:qwen3"]
)
async def test_what_is_set_for_openai_goes_to_openai_alone(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Organisation, project, and headers that its library takes from the environment [EXE-06]."""
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-mine")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-of-mine")
    monkeypatch.setenv(
        "OPENAI_CUSTOM_HEADERS", "X-Gateway: gate-secret-77\nAuthorization: Bearer other-secret-1"
    )
    async with (
        Wire([reply({"error": {"message": "No."}}, 400)]) as wire,
        ProviderExecutor(wire.url) as executor,
    ):
        with pytest.raises(ExecutorError):
            await executor.execute(ask(model))
    sent = str(wire.asked[0].headers)

    assert "of-mine" not in sent
    assert "secret" not in sent


async def test_what_is_set_for_openai_later_does_not_go_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that was made before is not made anew for each request [EXE-06]."""
    async with Wire([reply(chat("Hello."))] * 2) as wire, ProviderExecutor(wire.url) as executor:
        await executor.execute(ask(COMPATIBLE))
        monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway: gate-secret-77")
        await executor.execute(ask(COMPATIBLE))

    assert "gate-secret-77" not in str(wire.asked[1].headers)


async def test_openai_gets_what_is_set_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accounts are told apart by it [EXE-06]."""
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-mine")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway: gate-secret-77")
    async with Wire([reply(chat("Hello."))]) as wire, ProviderExecutor(wire.url) as executor:
        await executor.execute(ask(OPENAI))

    assert wire.asked[0].headers["openai-organization"] == "org-of-mine"
    assert wire.asked[0].headers["x-gateway"] == "gate-secret-77"


# ------------------------------------------------------------------------------------------- answers


async def test_a_key_in_an_answer_is_taken_out_of_texts_thoughts_and_arguments() -> None:
    """A proxy that echoes its request would put it into the history [EXE-06]."""
    function = {"name": "weather", "arguments": json.dumps({"city": KEY})}
    said = {
        "role": "assistant",
        "content": f"You sent {KEY}.",
        "reasoning_content": f"It is {KEY}",
        "tool_calls": [{"id": "c1", "type": "function", "function": function}],
    }
    async with Wire([reply(chat(said))]) as wire, ProviderExecutor(wire.url) as executor:
        answer = await executor.execute(ask(OPENAI))

    assert KEY not in repr(answer)
    assert answer.text == f"You sent {HIDDEN}."


@pytest.mark.parametrize("size", [1, 3, 7, 100])
async def test_a_key_in_pieces_of_a_stream_is_taken_out(size: int) -> None:
    """It may lie across two of them; the frames are the text of the message [EXE-06]."""
    text = f"You sent {KEY}, and no sk-openai-ke"
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    body = events(*map(chunk, pieces), chunk("", "stop"))
    async with Wire([reply(body, 200, "text/event-stream")]) as wire, ProviderExecutor(wire.url) as executor:
        frames: list[Any] = [frame async for frame in executor.stream(ask(OPENAI))]
    shown = "".join(frame.text for frame in frames if isinstance(frame, TextFrame))

    assert shown == frames[-1].message.text == f"You sent {HIDDEN}, and no sk-openai-ke"


async def test_a_key_in_a_streamed_call_is_taken_out() -> None:
    """Before its frame is given [EXE-06]."""
    piece = chunk("", "tool_calls")
    function = {"name": "weather", "arguments": json.dumps({"city": KEY})}
    piece["choices"][0]["delta"] = {
        "tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]
    }
    thought = chunk("")
    thought["choices"][0]["delta"] = {"reasoning_content": f"It is {KEY}"}
    body = events(thought, piece)
    async with Wire([reply(body, 200, "text/event-stream")]) as wire, ProviderExecutor(wire.url) as executor:
        frames = [frame async for frame in executor.stream(ask(OPENAI))]

    assert [type(frame) for frame in frames] == [ReasoningFrame, ToolCallFrame, EndFrame]
    assert KEY not in repr(frames)


@given(st.lists(st.text("abc[]key", max_size=6), max_size=8))
def test_pieces_are_veiled_as_the_whole_is(pieces: list[str]) -> None:
    """Wherever they are cut, and although one secret begins with another."""
    secrets = ("abcab", "abc", "cc")
    veil, whole = Veil(secrets), Veil(secrets)
    shown = "".join([*map(veil.over, pieces), veil.rest()])

    assert shown == whole.over("".join(pieces)) + whole.rest()
    assert not any(secret in shown.replace(HIDDEN, "|") for secret in secrets)


# ------------------------------------------------------------------------------------------- plain words


@pytest.mark.parametrize("word", ["ollama", "lm-studio", "model", "EMPTY"])
async def test_a_placeholder_of_plain_words_spoils_nothing(
    word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no secret, and stands in names and answers [EXE-06]."""
    monkeypatch.setenv("OLLAMA_API_KEY", word)
    async with Wire([reply(chat(f"I am {word}.", model=f"{word}/qwen3"))]) as wire:
        async with ProviderExecutor(wire.url) as executor:
            answer = await executor.execute(ask("ollama:qwen3"))

    assert answer.metadata["answered_by"] == "ollama:qwen3"
    assert answer.metadata["model"] == f"{word}/qwen3"
    assert answer.text == f"I am {word}."


async def test_our_own_names_are_never_cleaned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what came from the provider is [EXE-06]."""
    monkeypatch.setenv("OLLAMA_API_KEY", "qwen3-8b")
    async with Wire([reply(chat("Yes.", model="other", id="qwen3-8b"))]) as wire:
        async with ProviderExecutor(wire.url) as executor:
            answer = await executor.execute(ask("ollama:qwen3-8b"))

    assert answer.metadata == {"answered_by": "ollama:qwen3-8b", "model": "other", "response_id": HIDDEN}
