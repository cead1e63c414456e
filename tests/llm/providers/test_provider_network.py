"""Servers that are not there, stand still, or answer with what is no answer."""

from __future__ import annotations

import socket
from contextlib import closing

import pytest
from provider_world import Aimock, ask, chat, error_for, reply

from koogbook.errors import ProviderError
from koogbook.llm.providers.executor import ProviderExecutor

OPENAI = "openai:gpt-4o"
CLAUDE = "anthropic:claude-sonnet-5"
GEMINI = "google:gemini-3-pro"


async def test_a_server_that_does_not_answer_is_named() -> None:
    """With what to look at [EXE-04]."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}/v1"
    async with ProviderExecutor(url) as executor:
        with pytest.raises(ProviderError) as caught:
            await executor.execute(ask(OPENAI))

    assert (caught.value.kind, caught.value.may_pass) == ("unreachable", True)
    assert url in str(caught.value)
    assert "base_url" in str(caught.value)
    assert "Nothing was sent." in str(caught.value)


@pytest.mark.parametrize(
    "model", [CLAUDE, GEMINI, "mistral:mistral-small", "bedrock:amazon.nova-lite-v1:0", "ollama:q"]
)
async def test_no_provider_hides_that_its_server_is_not_to_be_reached(model: str) -> None:
    """Each library has errors of its own for it [EXE-04]."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
    async with ProviderExecutor(url) as executor:
        with pytest.raises(ProviderError) as caught:
            await executor.execute(ask(model))

    assert caught.value.kind == "unreachable"
    assert url in str(caught.value)


@pytest.mark.parametrize("model", [OPENAI, CLAUDE, GEMINI, "mistral:mistral-small"])
async def test_an_answer_that_takes_too_long_is_given_up(model: str) -> None:
    """The limit is in the message, with the option [EXE-04]."""
    error = await error_for(None, model, timeout=0.2)

    assert error.kind == "timeout"
    assert "0.2 s" in str(error)
    assert "timeout=" in str(error)


@pytest.mark.parametrize("status", [200, 404, 502])
@pytest.mark.parametrize("model", [OPENAI, CLAUDE, GEMINI, "mistral:mistral-small"])
async def test_a_page_in_place_of_json_is_called_one(model: str, status: int) -> None:
    """A wrong path, a proxy or a login gives one [EXE-04]."""
    page = "<!doctype html><html><head><title>Sign in to Wi-Fi</title></head><body>...</body></html>"
    error = await error_for(reply(page, status, "text/html; charset=utf-8"), model)

    assert "HTML page" in str(error)
    assert "Sign in to Wi-Fi" in str(error)
    assert "http://127.0.0.1:" in str(error)


@pytest.mark.parametrize("model", [OPENAI, CLAUDE, GEMINI, "mistral:mistral-small"])
@pytest.mark.parametrize("body", ['{"choices": [{"mess', "{}", "[]", "null", '{"choices": null}'])
async def test_what_is_no_answer_is_a_bad_one(model: str, body: str) -> None:
    """Cut JSON and JSON of another shape [EXE-04]."""
    error = await error_for(reply(body), model)

    assert error.kind == "bad_answer"
    assert error.may_pass


async def test_an_answer_that_breaks_off_says_so() -> None:
    """The line went before all of it was there [EXE-04]."""
    whole = reply(chat("a long answer"))
    error = await error_for(whole[:-10])

    assert error.kind == "broken"


@pytest.mark.parametrize("request_text", ["malformed", "disconnect"])
async def test_a_server_out_of_order_is_told_apart_from_a_refusal(aimock: Aimock, request_text: str) -> None:
    """Garbled JSON, and a line that is cut [EXE-04]."""
    async with ProviderExecutor(aimock.url + "/v1") as executor:
        with pytest.raises(ProviderError) as caught:
            await executor.execute(ask(OPENAI, request_text))

    assert caught.value.kind in ("bad_answer", "broken")


async def test_a_redirect_is_not_followed_with_the_key() -> None:
    """It might lead anywhere [EXE-06]."""
    error = await error_for(reply("", 307, Location="https://elsewhere.example/v1?token=abcdef"))

    assert "https://elsewhere.example/v1," in str(error)
    assert "abcdef" not in str(error)
