"""Keys leave this process in a header and nowhere else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from provider_world import KEYS, Wire, ask, chat, chunk, events, reply

import koogbook as kb
from koogbook.errors import ExecutorError
from koogbook.llm.providers.executor import ProviderExecutor
from koogbook.llm.providers.keys import Redactor
from koogbook.llm.providers.veil import HIDDEN

#: The key of each provider whose error bodies a server may fill.
SECRETS = {
    "openai:gpt-4o": "OPENAI_API_KEY",
    "openai-responses:gpt-5": "OPENAI_API_KEY",
    "anthropic:claude-sonnet-5": "ANTHROPIC_API_KEY",
    "google:gemini-3-pro": "GOOGLE_API_KEY",
    "mistral:mistral-small": "MISTRAL_API_KEY",
    "deepseek:deepseek-chat": "DEEPSEEK_API_KEY",
    "openrouter:openai/gpt-4o": "OPENROUTER_API_KEY",
    "bedrock:amazon.nova-lite-v1:0": "AWS_SECRET_ACCESS_KEY",
}


def _everything(error: BaseException) -> str:
    """All that is printed of an error, and all that hangs on it."""
    notes = getattr(error, "__notes__", [])
    chain = [error.__cause__, error.__context__]
    return " ".join([str(error), repr(error), repr(error.args), repr(vars(error)), *notes, *map(repr, chain)])


@pytest.mark.parametrize("model", SECRETS)
@pytest.mark.parametrize("status", [401, 500])
async def test_a_server_that_echoes_the_key_leaks_nothing(model: str, status: int) -> None:
    """In the words of its error, at any place [EXE-06]."""
    key = KEYS[SECRETS[model]]
    said = f"Wrong: Authorization: Bearer {key}, url https://u:{key}@host/?key={key}, and {'x' * 200} {key}"
    body = {"error": {"message": said, "code": key, "headers": {"authorization": key}}, "message": said}
    async with Wire([reply(body, status, X_Echo=key)]) as wire, ProviderExecutor(wire.url) as executor:
        with pytest.raises(ExecutorError) as caught:
            await executor.execute(ask(model, params=kb.LLMParams(max_tokens=9)))

    assert key not in _everything(caught.value)
    assert HIDDEN in str(caught.value)


@pytest.mark.parametrize("page", ["text/html", "text/plain", "application/json"])
async def test_a_key_in_a_body_that_is_no_json_leaks_nothing(page: str) -> None:
    """A page, plain words, and cut JSON [EXE-06]."""
    key = KEYS["OPENAI_API_KEY"]
    async with (
        Wire([reply(f"<title>{key}</title> {key}", 200, page)]) as wire,
        ProviderExecutor(wire.url) as executor,
    ):
        with pytest.raises(ExecutorError) as caught:
            await executor.execute(ask("openai:gpt-4o"))

    assert key not in _everything(caught.value)


async def test_a_key_in_an_error_of_a_stream_leaks_nothing() -> None:
    """It comes in an event [EXE-06]."""
    key = KEYS["OPENAI_API_KEY"]
    body = events(chunk("Half"), {"error": {"message": f"Bad {key}"}})
    async with (
        Wire([reply(body, 200, "text/event-stream")]) as wire,
        ProviderExecutor(wire.url) as executor,
    ):
        with pytest.raises(ExecutorError) as caught:
            [frame async for frame in executor.stream(ask("openai:gpt-4o"))]

    assert key not in _everything(caught.value)


async def test_a_key_in_what_an_answer_says_of_itself_leaks_nothing() -> None:
    """Metadata is stored with the message [EXE-06]."""
    key = KEYS["OPENAI_API_KEY"]
    async with (
        Wire([reply(chat("Hello.", id=key, model=f"gpt-4o {key}"))]) as wire,
        ProviderExecutor(wire.url) as executor,
    ):
        answer = await executor.execute(ask("openai:gpt-4o"))

    assert key not in answer.metadata_json
    assert answer.metadata["response_id"] == HIDDEN


async def test_a_failed_run_holds_no_key() -> None:
    """Neither its events, its calls nor its report [EXE-06]."""
    key = KEYS["OPENAI_API_KEY"]
    refused = reply({"error": {"message": f"Incorrect API key provided: {key}"}}, 401)
    async with Wire([refused]) as wire, ProviderExecutor(wire.url) as executor:
        agent = kb.Agent(executor, model="openai:gpt-4o")
        with pytest.raises(ExecutorError):
            await agent.run("hello")
        run: Any = agent.last_run

    assert key not in " ".join(
        [*map(repr, run.events), *map(repr, run.calls), str(run.report()), repr(executor)]
    )


async def test_the_key_is_sent_where_it_belongs() -> None:
    """In the header of the request, and so it is not lost with the leaks [EXE-06]."""
    async with Wire([reply(chat("Hello."))]) as wire, ProviderExecutor(wire.url) as executor:
        await executor.execute(ask("openai:gpt-4o"))

    assert wire.asked[0].headers["authorization"] == f"Bearer {KEYS['OPENAI_API_KEY']}"
    assert KEYS["OPENAI_API_KEY"] not in json.dumps(wire.asked[0].body)


async def test_a_compatible_server_gets_no_key_of_another_provider() -> None:
    """Only one that is named for it [EXE-06]."""
    async with Wire([reply(chat("Hello."))]) as wire, ProviderExecutor(wire.url) as executor:
        await executor.execute(ask("openai-compatible:qwen3"))

    assert all(key not in str(wire.asked[0].headers) for key in KEYS.values())


async def test_a_key_of_another_variable_is_used_and_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the usual one is [EXE-06]."""
    monkeypatch.setenv("MY_SERVER_KEY", "my-very-own-key")
    refused = reply({"error": {"message": "Bad my-very-own-key"}}, 401)
    async with Wire([refused]) as wire, ProviderExecutor(wire.url, key_variable="MY_SERVER_KEY") as executor:
        with pytest.raises(ExecutorError) as caught:
            await executor.execute(ask("openai-compatible:qwen3"))

    assert wire.asked[0].headers["authorization"] == "Bearer my-very-own-key"
    assert "my-very-own-key" not in _everything(caught.value)


async def test_another_key_is_used_at_the_next_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever set a wrong one need not start again [EXE-06]."""
    async with Wire([reply(chat("Hello."))] * 2) as wire, ProviderExecutor(wire.url) as executor:
        await executor.execute(ask("openai:gpt-4o"))
        monkeypatch.setenv("OPENAI_API_KEY", "another-key\n")
        await executor.execute(ask("openai:gpt-4o"))

    assert wire.asked[1].headers["authorization"] == "Bearer another-key"


def test_a_repr_shows_the_address_without_its_password() -> None:
    """And no key [EXE-06]."""
    executor = ProviderExecutor("https://user:secret@host.example/v1", key_variable="MY_SERVER_KEY")

    assert (
        repr(executor) == "ProviderExecutor(base_url='https://host.example/v1', key_variable='MY_SERVER_KEY')"
    )


async def test_an_address_with_a_password_is_shown_without_it() -> None:
    """In errors, too [EXE-06]."""
    async with ProviderExecutor("http://user:hunter22@127.0.0.1:9/v1") as executor:
        with pytest.raises(ExecutorError) as caught:
            await executor.execute(ask("openai:gpt-4o"))

    assert "127.0.0.1:9" in str(caught.value)
    assert "hunter22" not in _everything(caught.value)


@given(st.text(max_size=80), st.text(max_size=80))
def test_no_key_survives_in_any_text(before: str, after: str) -> None:
    """Whatever stands around it [EXE-06]."""
    for key in KEYS.values():
        if key != KEYS["AWS_REGION"]:
            assert key not in Redactor().clean(f"{before}{key}{after}")


@pytest.mark.parametrize(
    "text",
    [
        "key sk-proj-abcdefgh1234 is wrong",
        "Incorrect API key: sk-abc***********wxyz.",
        "https://host/v1?api_key=abcdefg&x=1",
        "https://user:abcdefg@host/v1",
        "Authorization: Bearer abcdefg.hij",
    ],
)
def test_what_looks_like_a_key_is_taken_out_as_well(text: str) -> None:
    """It may be one that was set and changed since [EXE-06]."""
    cleaned = Redactor().clean(text)

    assert HIDDEN in cleaned
    assert "abc" not in cleaned


@pytest.mark.parametrize(
    "text", ["a task-force of 12", "What is a bearer?", "risk-averse", "https://host/v1?page=2"]
)
def test_plain_words_stay(text: str) -> None:
    """An error has to be readable [EXE-06]."""
    assert Redactor().clean(text) == text
