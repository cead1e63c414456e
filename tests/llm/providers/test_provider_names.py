"""Which provider a name chooses, and what is refused before anything is sent."""

from __future__ import annotations

import sys

import pytest
from provider_world import KEYS

from koogbook.errors import ExecutorError, MissingKeyError, UnknownModelError
from koogbook.llm.providers import names
from koogbook.llm.providers.executor import ProviderExecutor
from koogbook.llm.providers.names import PROVIDERS
from koogbook.messages.model import LLModel


@pytest.mark.parametrize(
    ("name", "context"),
    [
        ("openai:gpt-4o", 128_000),
        ("openai-responses:gpt-5", 400_000),
        ("anthropic:claude-sonnet-5", 1_000_000),
        ("openrouter:openai/gpt-4o", 128_000),
        ("bedrock:anthropic.claude-haiku-4-5-20251001-v1:0", 200_000),
        ("ollama:qwen3", None),
    ],
)
def test_a_model_has_the_size_of_its_context_where_it_is_known(name: str, context: int | None) -> None:
    """From the price table; a model id may hold colons and slashes [EXE-04]."""
    resolved = ProviderExecutor().resolve(name)

    assert (str(resolved), resolved.context_tokens) == (name, context)


def test_a_size_that_was_given_is_kept() -> None:
    """Whoever runs the server knows better [EXE-04]."""
    assert ProviderExecutor().resolve(LLModel("gpt-4o", "openai", 999)).context_tokens == 999


def test_a_model_that_nobody_has_heard_of_is_not_refused() -> None:
    """New ones come out every week [EXE-04]."""
    assert ProviderExecutor().resolve("openai:gpt-99") == LLModel("gpt-99", "openai")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gpt-4o", "'openai:gpt-4o'"),
        ("claude-sonnet-4-5", "'anthropic:claude-sonnet-4-5'"),
        ("my-own", "'openai:my-own'"),
        ("opnai:gpt-4o", "Did you mean 'openai:gpt-4o'"),
        ("Anthropic:claude", "Did you mean 'anthropic:claude'"),
        ("gemini:gemini-2.5-pro", "Did you mean 'google:gemini-2.5-pro'"),
        ("vllm:qwen3", "Did you mean 'openai-compatible:qwen3'"),
        ("zzz:gpt-4o", "Known are openai, openai-responses"),
        ("openai:", "a provider without a model"),
    ],
)
def test_a_name_without_a_known_provider_is_refused_with_the_nearest(name: str, words: str) -> None:
    """And nothing is sent [EXE-04]."""
    with pytest.raises(UnknownModelError, match="Nothing was sent") as caught:
        ProviderExecutor().resolve(name)

    assert words in str(caught.value)


@pytest.mark.parametrize("provider", PROVIDERS.values(), ids=list(PROVIDERS))
def test_a_provider_that_is_not_installed_has_the_line_to_type(
    provider: names.Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has an extra [EXE-04]."""
    monkeypatch.setitem(sys.modules, provider.package, None)
    with pytest.raises(ExecutorError) as caught:
        ProviderExecutor("http://127.0.0.1:1/v1").resolve(f"{provider.name}:m")

    assert f"pip install 'koogbook[{provider.extra}]'" in str(caught.value)


def test_a_compatible_server_needs_an_address() -> None:
    """There is no usual one [EXE-04]."""
    with pytest.raises(UnknownModelError, match="base_url='http"):
        ProviderExecutor().resolve("openai-compatible:qwen3")


# ------------------------------------------------------------------------------------------- keys

NEEDS_KEY = [provider for provider in PROVIDERS.values() if provider.needs_key]


@pytest.mark.parametrize("provider", NEEDS_KEY, ids=[provider.name for provider in NEEDS_KEY])
def test_a_key_that_is_not_there_is_named(provider: names.Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its variable, and how to set it without leaving it in the notebook [EXE-06]."""
    for name in provider.keys:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(MissingKeyError, match=provider.keys[0]) as caught:
        ProviderExecutor().resolve(f"{provider.name}:m")

    assert caught.value.variable == provider.keys[0]
    assert "getpass" in str(caught.value)
    assert "Nothing was sent" in str(caught.value)


def test_either_of_two_variables_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Google has an older one [EXE-06]."""
    monkeypatch.delenv("GOOGLE_API_KEY")
    monkeypatch.setenv("GEMINI_API_KEY", "AIzaOther")

    assert ProviderExecutor().resolve("google:gemini-2.5-pro").provider == "google"


def test_half_of_a_pair_of_keys_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the name of the other half [EXE-06]."""
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(MissingKeyError) as caught:
        ProviderExecutor().resolve("bedrock:m")

    assert caught.value.variable == "AWS_SECRET_ACCESS_KEY"


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8000/v1",
        "http://localhost:1234/v1",
        "http://10.0.0.5/v1",
        "http://vllm:8000/v1",
        "http://[::1]/v1",
    ],
)
def test_a_server_nearby_needs_no_key(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no account [EXE-06]."""
    monkeypatch.delenv("OPENAI_API_KEY")

    assert ProviderExecutor(url).resolve("openai:qwen3").id == "qwen3"


def test_a_server_far_away_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy of a provider asks for its key [EXE-06]."""
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(MissingKeyError):
        ProviderExecutor("https://proxy.example.com/v1").resolve("openai:gpt-4o")


def test_another_variable_may_hold_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """And then it has to [EXE-06]."""
    executor = ProviderExecutor(key_variable="MY_SERVER_KEY")
    with pytest.raises(MissingKeyError, match="MY_SERVER_KEY"):
        executor.resolve("openai:gpt-4o")
    monkeypatch.setenv("MY_SERVER_KEY", "my-own-key")

    assert executor.resolve("openai:gpt-4o").id == "gpt-4o"


@pytest.mark.parametrize("value", ["two words", "line\nbreak", "schlüssel", "tab\there"])
def test_what_no_key_can_be_is_refused_without_being_shown(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A header cannot carry it, and the library's error would print it [EXE-06]."""
    monkeypatch.setenv("OPENAI_API_KEY", value)
    with pytest.raises(MissingKeyError, match="OPENAI_API_KEY") as caught:
        ProviderExecutor().resolve("openai:gpt-4o")

    assert value not in str(caught.value)


def test_a_key_is_never_taken_as_an_argument() -> None:
    """What looks like one in place of a name is refused, and not shown [EXE-06]."""
    with pytest.raises(ValueError, match="never the key itself") as caught:
        ProviderExecutor(key_variable=KEYS["OPENAI_API_KEY"])

    assert KEYS["OPENAI_API_KEY"] not in str(caught.value)


@pytest.mark.parametrize(
    "options", [{"timeout": 0}, {"timeout": float("nan")}, {"timeout": True}, {"base_url": "localhost"}]
)
def test_options_that_cannot_be_are_refused(options: dict[str, object]) -> None:
    """When the executor is made, not at the first request [EXE-04]."""
    with pytest.raises(ValueError, match=next(iter(options))):
        ProviderExecutor(**options)  # type: ignore[arg-type]


def test_a_name_with_a_slash_is_told_with_a_colon() -> None:
    """Other libraries write it so [EXE-04]."""
    with pytest.raises(UnknownModelError, match="'openai:gpt-5'"):
        ProviderExecutor().resolve("openai/gpt-5")
