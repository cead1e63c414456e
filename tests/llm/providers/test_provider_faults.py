"""What a provider or the network does wrong, told in one error with what to do."""

from __future__ import annotations

from typing import Any

import pytest
from provider_world import Aimock, Wire, ask, chat, error_for, reply

import koogbook as kb
from koogbook import clock
from koogbook.errors import ContextOverflowError, ProviderError, UnknownModelError
from koogbook.llm.providers.executor import ProviderExecutor

OPENAI = "openai:gpt-4o"
CLAUDE = "anthropic:claude-sonnet-5"
GEMINI = "google:gemini-3-pro"


# ------------------------------------------------------------------------------------------- statuses


@pytest.mark.parametrize("model", [OPENAI, CLAUDE, GEMINI, "mistral:mistral-small"])
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "refused"),
        (401, "unauthorised"),
        (403, "unauthorised"),
        (408, "timeout"),
        (422, "refused"),
        (429, "rate_limited"),
        (500, "overloaded"),
        (503, "overloaded"),
        (529, "overloaded"),
    ],
)
async def test_a_status_has_its_kind(status: int, kind: str, model: str) -> None:
    """The same whoever answers, with model, status and the provider's words [EXE-04]."""
    error = await error_for(reply({"error": {"message": "Odd words."}}, status), model)

    assert (error.kind, error.status, error.model) == (kind, status, model)
    assert str(error).startswith(model)
    assert f"HTTP {status}" in str(error)
    assert "Odd words." in str(error)
    assert "Nothing was appended." in str(error)


@pytest.mark.parametrize("kind", ["rate limit", "overload", "server trouble"])
async def test_trouble_that_may_pass_says_so(aimock: Aimock, kind: str) -> None:
    """So that a wrapper may ask again [EXE-04]."""
    async with ProviderExecutor(aimock.url + "/v1") as executor:
        with pytest.raises(ProviderError) as caught:
            await executor.execute(ask(OPENAI, kind))

    assert caught.value.may_pass


@pytest.mark.parametrize(("model", "limit"), [(OPENAI, 8_192), (CLAUDE, 200_000)])
async def test_a_context_that_is_too_small_is_told_by_the_server(
    aimock: Aimock, model: str, limit: int
) -> None:
    """With its size, where the server says it [EXE-04]."""
    async with ProviderExecutor(aimock.url + ("/v1" if model == OPENAI else "")) as executor:
        with pytest.raises(ContextOverflowError) as caught:
            await executor.execute(ask(model, "too long", params=kb.LLMParams(max_tokens=9)))

    assert (caught.value.limit, caught.value.may_pass) == (limit, False)


@pytest.mark.parametrize(
    ("said", "kind", "timeout"),
    [("refused", "refused", 9.0), ("nothing", "bad_answer", 9.0), ("slowly", "timeout", 0.3)],
)
async def test_a_refusal_an_empty_and_a_slow_answer_are_told_apart(
    aimock: Aimock, said: str, kind: str, timeout: float
) -> None:
    """Each says what to do, and nothing was appended [EXE-04]."""
    async with ProviderExecutor(aimock.url + "/v1", timeout=timeout) as executor:
        with pytest.raises(ProviderError, match="Nothing was appended") as caught:
            await executor.execute(ask(OPENAI, said))

    assert caught.value.kind == kind


async def test_a_server_that_is_busy_once_is_waited_for(
    aimock: Aimock, fixed_clock: clock.FixedClock
) -> None:
    """As long as it asks for; then it answers, and the report tells of the pause [EXE-04]."""
    async with kb.RetryingExecutor(ProviderExecutor(aimock.url + "/v1")) as executor:
        run = await kb.Agent(executor, OPENAI).run("busy once")

    assert run.output == "Now."
    assert [event.wait for event in run.events if isinstance(event, kb.events.LLMCallRetrying)] == [7.0]
    assert any("attempt 1 failed" in line for line in run.report().attention)


async def test_a_wrong_key_is_named_by_its_variable(aimock: Aimock) -> None:
    """Where to look, and not what is there [EXE-06]."""
    async with ProviderExecutor(aimock.url + "/v1") as executor:
        with pytest.raises(ProviderError, match="Look at the value of OPENAI_API_KEY") as caught:
            await executor.execute(ask(OPENAI, "bad key"))

    assert not caught.value.may_pass


async def test_a_server_that_wants_a_key_after_all_is_told_of_the_option() -> None:
    """A compatible server gets no key of another provider [EXE-06]."""
    error = await error_for(reply({"error": {"message": "No."}}, 401), "openai-compatible:qwen3")

    assert "key_variable='MY_SERVER_KEY'" in str(error)


async def test_an_account_without_credit_is_not_asked_again() -> None:
    """It comes as a rate limit and does not pass [EXE-04]."""
    body = {"error": {"message": "You exceeded your current quota.", "code": "insufficient_quota"}}
    error = await error_for(reply(body, 429))

    assert error.kind == "refused"
    assert not error.may_pass
    assert "no credit left" in str(error)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, {"error": {"message": "Blocked.", "code": "content_filter"}}),
        (403, {"error": {"message": "The input was flagged by moderation."}}),
    ],
)
async def test_a_refusal_for_its_content_says_so(status: int, body: Any) -> None:
    """It is no matter of the key [EXE-04]."""
    error = await error_for(reply(body, status))

    assert error.kind == "refused"
    assert "content filter" in str(error)


async def test_long_words_of_a_provider_are_cut() -> None:
    """An error is read by people [EXE-04]."""
    error = await error_for(reply({"error": {"message": "word " * 500}}, 400))

    assert len(str(error)) < 600
    assert "…" in str(error)


async def test_an_error_without_json_gives_its_text() -> None:
    """Gateways answer in plain words [EXE-04]."""
    error = await error_for(reply("upstream is gone", 503, "text/plain"))

    assert "upstream is gone" in str(error)


# ------------------------------------------------------------------------------------------- waiting


async def test_the_seconds_to_wait_are_kept(aimock: Aimock) -> None:
    """As a number [EXE-04]."""
    async with ProviderExecutor(aimock.url + "/v1") as executor:
        with pytest.raises(ProviderError, match="Wait 7 s") as caught:
            await executor.execute(ask(OPENAI, "rate limit"))

    assert caught.value.retry_after == 7.0


async def test_a_date_to_wait_for_becomes_seconds(fixed_clock: clock.FixedClock) -> None:
    """Counted from our clock [EXE-04]."""
    when = clock.now().strftime("%a, %d %b %Y %H:%M:") + f"{clock.now().second + 9:02d} GMT"
    error = await error_for(reply({"error": {"message": "Slow down."}}, 429, Retry_After=when))

    assert error.retry_after == pytest.approx(9.0, abs=1.0)


async def test_a_wait_in_the_body_is_found() -> None:
    """Google puts it there [EXE-04]."""
    body = {
        "error": {
            "code": 429,
            "message": "Slow down.",
            "status": "RESOURCE_EXHAUSTED",
            "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "11s"}],
        }
    }
    error = await error_for(reply(body, 429), GEMINI)

    assert error.retry_after == 11.0


# ------------------------------------------------------------------------------------------- context

TOO_LONG = {
    "OpenAI": (
        OPENAI,
        {
            "message": "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000.",
            "code": "context_length_exceeded",
        },
        8192,
    ),
    "OpenAI, newer": (
        OPENAI,
        {
            "message": "Your input exceeds the context window of this model.",
            "code": "context_length_exceeded",
        },
        None,
    ),
    "Anthropic": (CLAUDE, {"message": "prompt is too long: 210000 tokens > 200000 maximum"}, 200_000),
    "Anthropic, with the answer": (
        CLAUDE,
        {
            "message": "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease it"
        },
        200_000,
    ),
    "Google": (
        GEMINI,
        {
            "message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
        },
        1_048_576,
    ),
    "Mistral": (
        "mistral:mistral-small",
        {
            "message": "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum "
            "context length"
        },
        32_768,
    ),
    "OpenRouter": (
        "openrouter:openai/gpt-4o",
        {
            "message": "This endpoint's maximum context length is 128000 tokens. However, you requested about 130000."
        },
        128_000,
    ),
    "vLLM": (
        "openai-compatible:qwen3",
        {
            "message": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens."
        },
        4096,
    ),
    "llama.cpp": (
        "openai-compatible:qwen3",
        {"message": "the request exceeds the available context size (4096 tokens), try increasing it"},
        4096,
    ),
    "LM Studio": (
        "openai-compatible:qwen3",
        {"message": "The model is loaded with context length of only 4,096 tokens, which is not enough"},
        4096,
    ),
}


@pytest.mark.parametrize(("model", "error", "limit"), TOO_LONG.values(), ids=TOO_LONG)
async def test_a_request_that_is_too_long_is_known(
    model: str, error: dict[str, str], limit: int | None
) -> None:
    """In the words of each provider, with the limit where they say it [EXE-04]."""
    found = await error_for(reply({"type": "error", "error": error}, 400), model)

    assert isinstance(found, ContextOverflowError)
    assert found.limit == limit
    assert "Compress the history first" in str(found)


async def test_a_limit_of_the_answer_is_no_limit_of_the_context() -> None:
    """Compressing would not help [EXE-04]."""
    error = await error_for(
        reply(
            {"error": {"message": "max_tokens is too large: 99999. This model supports at most 16384."}}, 400
        )
    )

    assert not isinstance(error, ContextOverflowError)


# ------------------------------------------------------------------------------------------- models

NO_SUCH_MODEL = {
    "OpenAI": (
        "openai:gpt-4o-minni",
        404,
        {
            "message": "The model `gpt-4o-minni` does not exist or you do not have access.",
            "code": "model_not_found",
        },
        "openai:gpt-4o-mini",
    ),
    "Anthropic": (
        "anthropic:claude-sonet-4-5",
        404,
        {"type": "not_found_error", "message": "model: claude-sonet-4-5"},
        "anthropic:claude-sonnet-4-5",
    ),
    "Google": (
        "google:gemini-2.5-proo",
        404,
        {"message": "models/gemini-2.5-proo is not found for API version v1beta", "status": "NOT_FOUND"},
        "google:gemini-2.5-pro",
    ),
    "OpenRouter": (
        "openrouter:openai/gpt-4oo",
        400,
        {"message": "openai/gpt-4oo is not a valid model ID", "code": 400},
        "openrouter:openai/gpt-4o",
    ),
    "Ollama": ("ollama:qwen3", 404, {"message": "model 'qwen3' not found"}, "ollama pull qwen3"),
}


@pytest.mark.parametrize(("model", "status", "error", "hint"), NO_SUCH_MODEL.values(), ids=NO_SUCH_MODEL)
async def test_a_model_that_is_not_there_has_a_near_one(
    model: str, status: int, error: dict[str, Any], hint: str
) -> None:
    """Only the server can know; the name that was meant is often in the list [EXE-04]."""
    found = await error_for(reply({"type": "error", "error": error}, status), model)

    assert isinstance(found, UnknownModelError)
    assert hint in str(found)


async def test_a_path_that_is_not_there_is_no_matter_of_the_model() -> None:
    """The address is wrong [EXE-04]."""
    error = await error_for(reply({"detail": "Not Found"}, 404))

    assert isinstance(error, ProviderError)
    assert "/chat/completions" in str(error)
    assert "base_url" in str(error)


# ------------------------------------------------------------------------------------------- nothing in it


@pytest.mark.parametrize(
    ("finish_reason", "kind", "words"),
    [
        ("stop", "bad_answer", "an empty answer"),
        ("length", "refused", "cut by the limit"),
        ("content_filter", "refused", "its content filter stopped it"),
    ],
)
async def test_an_answer_with_nothing_in_it_is_anerror_for(finish_reason: str, kind: str, words: str) -> None:
    """With the reason, where there is one [EXE-04]."""
    error = await error_for(reply(chat({"role": "assistant", "content": None}, finish_reason)))

    assert error.kind == kind
    assert words in str(error)


async def test_a_refusal_in_the_answer_gives_its_words() -> None:
    """OpenAI answers so when it will not fill in a schema [EXE-04]."""
    said = {"role": "assistant", "content": None, "refusal": "I cannot help with that."}
    error = await error_for(reply(chat(said)))

    assert error.kind == "refused"
    assert "I cannot help with that." in str(error)


@pytest.mark.parametrize("text", ["", "  \n"])
async def test_blanks_are_no_answer(text: str) -> None:
    """Nor is a stream of them [EXE-04]."""
    assert (await error_for(reply(chat(text)))).kind == "bad_answer"


# ------------------------------------------------------------------------------------------- and nothing else


@pytest.mark.parametrize(
    "answer",
    [reply({"error": {"message": "No."}}, 401), reply("{", 200), reply("<html>", 200, "text/html"), None],
    ids=["status", "json", "page", "nothing"],
)
async def test_no_error_of_a_library_hangs_on_ours(answer: bytes | None) -> None:
    """Its headers would be printed with it [EXE-06]."""
    error = await error_for(answer, timeout=0.2)

    assert error.__cause__ is None
    assert error.__context__ is None


async def test_a_failed_run_of_an_agent_keeps_its_history() -> None:
    """Nothing is appended for an answer that did not come [EXE-04]."""
    async with (
        Wire([reply({"error": {"message": "No."}}, 400)]) as wire,
        ProviderExecutor(wire.url) as executor,
    ):
        agent = kb.Agent(executor, model=OPENAI)
        with pytest.raises(ProviderError):
            await agent.run("hello")

    assert agent.last_run is not None
    assert [message for message in agent.last_run.prompt.messages if message.role == "assistant"] == []
