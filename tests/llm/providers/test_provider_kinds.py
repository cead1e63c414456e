"""Errors that are easily taken for another kind, and what would then be done about them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from provider_world import HELD, Wire, ask, chunk, error_for, events, reply

import koogbook as kb
from koogbook.errors import ContextOverflowError, ExecutorClosedError, ProviderError, UnknownModelError
from koogbook.llm.providers.exchange import Exchange
from koogbook.llm.providers.executor import ProviderExecutor
from koogbook.llm.providers.faults import Faults
from koogbook.llm.providers.keys import Redactor
from koogbook.llm.providers.names import PROVIDERS
from koogbook.messages.model import as_model

OPENAI = "openai:gpt-4o"
CLAUDE = "anthropic:claude-sonnet-5"
COMPATIBLE = "openai-compatible:q"
PAGE = "<html><head><title>Just a moment</title></head></html>"


def _faults(provider: str = "openai") -> Faults:
    return Faults(
        model=as_model(f"{provider}:m"),
        provider=PROVIDERS[provider],
        base_url=None,
        key_variable=None,
        timeout=1.0,
        redactor=Redactor(),
        is_closed=lambda: False,
    )


class StatusError(Exception):
    """What libraries raise for a status."""

    def __init__(self, message: str, status_code: int) -> None:
        super().__init__(message)
        self.status_code = status_code


# ------------------------------------------------------------------------------------------- pages


@pytest.mark.parametrize("model", [OPENAI, CLAUDE, "google:gemini-3-pro", "mistral:mistral-small"])
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, "unauthorised"),
        (403, "unauthorised"),
        (408, "timeout"),
        (413, "refused"),
        (429, "rate_limited"),
        (503, "overloaded"),
        (404, "refused"),
        (200, "bad_answer"),
    ],
)
async def test_a_page_has_the_kind_of_its_status(status: int, kind: str, model: str) -> None:
    """Gateways answer in HTML, and mean the status [EXE-04]."""
    error = await error_for(reply(PAGE, status, "text/html; charset=utf-8"), model)

    assert (error.kind, error.status) == (kind, status)
    assert "HTML page" in str(error)
    assert "Just a moment" in str(error)
    assert ("base_url" in str(error)) == (status in (200, 404))


async def test_a_page_that_asks_to_wait_is_waited_for() -> None:
    """The header is there whatever the body is [EXE-04]."""
    error = await error_for(reply(PAGE, 429, "text/html", Retry_After="12"))

    assert error.retry_after == 12.0


async def test_a_large_page_is_not_read_to_its_end() -> None:
    """Its beginning says what it is; the rest may be of any size [EXE-04]."""
    endless = reply(PAGE + " " * 20_000, 502, "text/html").replace(b"Content-Length: ", b"Content-Length: 9")
    error = await error_for(endless + HELD, timeout=2.0)

    assert (error.kind, error.status) == ("overloaded", 502)


async def test_a_request_that_is_too_large_says_what_to_do() -> None:
    """A limit of bytes is none of tokens [EXE-04]."""
    error = await error_for(reply({"error": {"message": "Payload Too Large"}}, 413))

    assert not isinstance(error, ContextOverflowError)
    assert error.kind == "refused"
    assert "Send less" in str(error)


# ------------------------------------------------------------------------------------------- statuses


@pytest.mark.parametrize(
    ("header", "seconds"), [("2.5", 2.5), ("0", 0.0), ("nan", None), ("-3", None), ("soon", None)]
)
async def test_a_fraction_of_a_second_is_waited_for(header: str, seconds: float | None) -> None:
    """What is no number of seconds is none [EXE-04]."""
    error = await error_for(reply({"error": {"message": "Slow down."}}, 429, Retry_After=header))

    assert error.retry_after == seconds


@pytest.mark.parametrize(
    ("status", "kind"), [(401, "unauthorised"), (403, "unauthorised"), (429, "rate_limited")]
)
async def test_words_of_the_context_do_not_outweigh_the_status(status: int, kind: str) -> None:
    """Compressing helps neither a key nor a limit of requests [EXE-04]."""
    error = await error_for(reply({"error": {"message": "Limit: maximum context length"}}, status))

    assert not isinstance(error, ContextOverflowError)
    assert error.kind == kind


def test_trouble_in_the_middle_of_an_answer_broke_it() -> None:
    """A status that comes so late is no overload before the answer [EXE-05]."""
    kinds = [_faults().fault(StatusError("x", 500), Exchange(), began=began) for began in (True, False)]

    assert [getattr(error, "kind", "") for error in kinds] == ["broken", "overloaded"]


def test_bedrock_may_have_sent_what_nobody_saw() -> None:
    """Its library has no hooks, so that nothing is said of what was sent [EXE-04]."""
    bedrock, openai = (_faults(name).fault(ValueError("odd"), Exchange()) for name in ("bedrock", "openai"))

    assert "Nothing was sent" not in str(bedrock)
    assert "Nothing was sent" in str(openai)


# ------------------------------------------------------------------------------------------- models


@pytest.mark.parametrize(
    "words",
    [
        "temperature is not supported with this model: q",
        "This model does not support image input; image_url content not found in model capabilities",
        "model gemma is not supported for tools",
        "Unsupported value: 'temperature' is not supported with this model.",
        "tool_choice is not supported by model: q",
        "The model requires a parameter that was not found",
        "Nothing called quick is deployed here.",
    ],
)
async def test_what_a_model_cannot_do_does_not_make_it_unknown(words: str) -> None:
    """Another model would be asked in its place [EXE-04]."""
    error = await error_for(reply({"error": {"message": words}}, 400), COMPATIBLE)

    assert isinstance(error, ProviderError)
    assert error.kind == "refused"


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (404, "The model `q` does not exist."),
        (400, "Model Not Exist"),
        (400, "Invalid model: q"),
        (400, "The model 'q' is not supported"),
        (404, "The model does not exist or you do not have access to it."),
        (400, "The provided model identifier is invalid."),
        (404, 'model "q:8b" not found, try pulling it first'),
        (404, "Nothing called q is deployed here."),
    ],
)
async def test_a_model_that_is_not_there_is_unknown(status: int, words: str) -> None:
    """In the words of several servers [EXE-04]."""
    assert isinstance(
        await error_for(reply({"error": {"message": words}}, status), COMPATIBLE), UnknownModelError
    )


@pytest.mark.parametrize(
    ("status", "words", "limit"),
    [
        (
            400,
            "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
            8192,
        ),
        (413, "tokens_limit_reached: Request body too large for gpt-4o model. Max size: 8000 tokens.", 8000),
        (
            400,
            "The decoder prompt (length 9000) is longer than the maximum model length of 8192. Make sure that",
            8192,
        ),
        (
            422,
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens",
            4096,
        ),
    ],
    ids=["SGLang", "GitHub", "vLLM", "TGI"],
)
async def test_other_servers_say_in_their_words_that_a_request_is_too_long(
    status: int, words: str, limit: int
) -> None:
    """With the limit [EXE-04]."""
    error = await error_for(reply({"error": {"message": words}}, status), COMPATIBLE)

    assert isinstance(error, ContextOverflowError)
    assert error.limit == limit


# ------------------------------------------------------------------------------------------- errors as answers


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "The engine is out of memory."}, "bad_answer"),
        ({"message": "The engine is out of memory.", "code": 503}, "overloaded"),
        ({"message": "The engine is out of memory.", "code": 429}, "rate_limited"),
        ({"message": "The engine is out of memory.", "code": 400}, "refused"),
        ("The engine is out of memory.", "bad_answer"),
    ],
)
async def test_an_error_that_comes_as_an_answer_keeps_its_words(error: Any, kind: str) -> None:
    """Some servers send it with HTTP 200 [EXE-04]."""
    found = await error_for(reply({"error": error}), COMPATIBLE)

    assert found.kind == kind
    assert "The engine is out of memory." in str(found)
    assert "validation" not in str(found)


async def test_a_request_that_is_too_long_may_be_told_with_a_good_status() -> None:
    """The words count [EXE-04]."""
    found = await error_for(
        reply({"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}), COMPATIBLE
    )

    assert isinstance(found, ContextOverflowError)


# ------------------------------------------------------------------------------------------- attachments


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (kb.Attachment("audio", "audio/ogg", data=b"OggS"), "audio/wav or audio/mpeg, not 'audio/ogg'"),
        (kb.Attachment("image", url="data:image/png;base64,@@@"), "no base64 data"),
        (kb.Attachment("image", url="data:image/png;base64,"), "no base64 data"),
        (kb.Attachment("image", url="data:image/svg+xml,<svg/>"), "no base64 data"),
    ],
    ids=["sound", "no base64", "empty", "plain"],
)
async def test_an_attachment_that_cannot_be_sent_says_why(part: kb.Attachment, words: str) -> None:
    """Before anything goes out, and with what to do [EXE-04]."""
    async with Wire([]) as wire, ProviderExecutor(wire.url) as executor:
        with pytest.raises(ProviderError, match="Nothing was sent") as caught:
            await executor.execute(ask(OPENAI, kb.user(["Look.", part])))

    assert words in str(caught.value)
    assert wire.asked == []


async def test_a_file_in_a_private_network_is_given_by_its_bytes() -> None:
    """The library's own advice is an option that is not here [EXE-04]."""
    part = kb.Attachment("file", "application/pdf", url="http://10.0.0.1/a.pdf")
    async with Wire([]) as wire, ProviderExecutor(wire.url) as executor:
        with pytest.raises(ProviderError) as caught:
            await executor.execute(ask(OPENAI, kb.user(["Read.", part])))

    assert "force_download" not in str(caught.value)
    assert "data=" in str(caught.value)


# ------------------------------------------------------------------------------------------- closing


async def test_closing_while_a_request_is_out_says_so() -> None:
    """Asking again would not help [EXE-03a]."""
    async with Wire([None]) as wire:
        executor = ProviderExecutor(wire.url)
        asking = asyncio.create_task(executor.execute(ask(OPENAI)))
        while not wire.asked:  # noqa: ASYNC110  the server has no event for it
            await asyncio.sleep(0)
        await executor.close()
        with pytest.raises(ExecutorClosedError, match="Nothing was appended"):
            await asking


async def test_closing_while_a_stream_is_read_says_so() -> None:
    """At its next frame [EXE-03a]."""
    half = reply(events(chunk("One"), end=""), 200, "text/event-stream").replace(b"Length: ", b"Length: 9")
    async with Wire([half + HELD]) as wire:
        executor = ProviderExecutor(wire.url)
        frames = executor.stream(ask(OPENAI))
        await anext(frames)
        await executor.close()
        with pytest.raises(ExecutorClosedError):
            [frame async for frame in frames]
