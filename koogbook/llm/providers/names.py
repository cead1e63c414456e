"""The providers by name, what each needs, and what is known of their models."""

from __future__ import annotations

from difflib import get_close_matches
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from msgspec import Struct

from koogbook.errors import ExecutorError, UnknownModelError
from koogbook.messages.model import LLModel, as_model


class Provider(Struct, frozen=True, kw_only=True):
    """What has to be known of a provider before anything is asked.

    ``keys`` are the variables that may hold its key, the first found is used; ``extra`` is what pip installs for it,
    ``package`` the module that this brings. ``system`` is the name that its signatures carry, ``catalogue`` where the
    price table lists its models. ``says_its_end`` is False where some servers end a stream without saying why.
    """

    name: str
    extra: str
    package: str
    keys: tuple[str, ...] = ()
    base_url_variable: str = ""
    default_url: str = ""
    needs_key: bool = True
    system: str = ""
    catalogue: str = ""
    says_its_end: bool = True

    @property
    def speaks_chat(self) -> bool:
        """Whether it is asked in OpenAI's chat protocol."""
        return self.package == "openai" and self.name != "openai-responses"


PROVIDERS: dict[str, Provider] = {
    one.name: one
    for one in (
        Provider(
            name="openai",
            extra="openai",
            package="openai",
            keys=("OPENAI_API_KEY",),
            base_url_variable="OPENAI_BASE_URL",
            default_url="https://api.openai.com/v1",
            system="openai",
            catalogue="openai",
        ),
        Provider(
            name="openai-responses",
            extra="openai",
            package="openai",
            keys=("OPENAI_API_KEY",),
            base_url_variable="OPENAI_BASE_URL",
            default_url="https://api.openai.com/v1",
            system="openai",
            catalogue="openai",
        ),
        Provider(
            name="openai-compatible",
            extra="openai",
            package="openai",
            needs_key=False,
            system="openai-compatible",
            says_its_end=False,
        ),
        Provider(
            name="anthropic",
            extra="anthropic",
            package="anthropic",
            keys=("ANTHROPIC_API_KEY",),
            base_url_variable="ANTHROPIC_BASE_URL",
            default_url="https://api.anthropic.com",
            system="anthropic",
            catalogue="anthropic",
        ),
        Provider(
            name="google",
            extra="google",
            package="google.genai",
            keys=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
            base_url_variable="GOOGLE_GEMINI_BASE_URL",
            default_url="https://generativelanguage.googleapis.com",
            system="google",
            catalogue="google",
        ),
        Provider(
            name="bedrock",
            extra="bedrock",
            package="boto3",
            keys=("AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID"),
            base_url_variable="AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
            default_url="https://bedrock-runtime.<region>.amazonaws.com",
            system="bedrock",
            catalogue="aws",
        ),
        Provider(
            name="mistral",
            extra="mistral",
            package="mistralai",
            keys=("MISTRAL_API_KEY",),
            base_url_variable="MISTRAL_BASE_URL",
            default_url="https://api.mistral.ai",
            system="mistral",
            catalogue="mistral",
        ),
        Provider(
            name="ollama",
            extra="openai",
            package="openai",
            keys=("OLLAMA_API_KEY",),
            base_url_variable="OLLAMA_BASE_URL",
            default_url="http://127.0.0.1:11434/v1",
            needs_key=False,
            system="ollama",
        ),
        Provider(
            name="deepseek",
            extra="openai",
            package="openai",
            keys=("DEEPSEEK_API_KEY",),
            base_url_variable="DEEPSEEK_BASE_URL",
            default_url="https://api.deepseek.com",
            system="deepseek",
            catalogue="deepseek",
        ),
        Provider(
            name="openrouter",
            extra="openrouter",
            package="openai",
            keys=("OPENROUTER_API_KEY",),
            base_url_variable="OPENROUTER_BASE_URL",
            default_url="https://openrouter.ai/api/v1",
            system="openrouter",
            catalogue="openrouter",
        ),
    )
}

#: What people call them.
OTHER_WORDS = {
    "aws": "bedrock",
    "claude": "anthropic",
    "gemini": "google",
    "google-gla": "google",
    "gpt": "openai",
    "llama.cpp": "openai-compatible",
    "lmstudio": "openai-compatible",
    "openai-chat": "openai",
    "vllm": "openai-compatible",
}


def provider_of(model: LLModel) -> Provider:
    """The provider that a model's name chooses.

    Raises:
        UnknownModelError: The name has no provider, or one that is not in the table.
    """
    found = PROVIDERS.get(model.provider)
    if found is not None and model.id:
        return found
    if found is not None:
        raise UnknownModelError(
            f"{model.provider!r} is a provider without a model. Nothing was sent. Write 'provider:model', "
            f"for example {_example(found)!r}."
        )
    if not model.provider:
        raise UnknownModelError(
            f"The model {model.id!r} names no provider. Nothing was sent. Write 'provider:model', for example "
            f"{_with_provider(model.id)!r}."
        )
    word = model.provider.lower()
    near = OTHER_WORDS.get(word) or next(iter(get_close_matches(word, PROVIDERS, n=1, cutoff=0.5)), None)
    hint = f"Did you mean {near + ':' + model.id!r}? " if near else ""
    raise UnknownModelError(
        f"There is no provider {model.provider!r}, as in {str(model)!r}. Nothing was sent. {hint}"
        f"Known are {', '.join(PROVIDERS)}."
    )


def require_installed(provider: Provider) -> None:
    """Refuse a provider whose library is not there.

    Raises:
        ExecutorError: The extra has to be installed.
    """
    for package in ("pydantic_ai", provider.package):
        if not _is_there(package):
            raise ExecutorError(
                f"Models of {provider.name!r} need the package {package}, which is not installed. Nothing was sent. "
                f"Install it: pip install 'koogbook[{provider.extra}]'"
            )


def _is_there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # the package around it is not there
        return False


def with_limits(model: LLModel | str) -> LLModel:
    """A model with the size of its context, where the price table knows it and nobody said it."""
    named = as_model(model)
    provider = provider_of(named)
    if named.context_tokens is not None:
        return named
    return LLModel(named.id, named.provider, _context_of(provider, named.id), named.max_output_tokens)


def nearest_model(provider: Provider, name: str) -> str | None:
    """The known model of that provider whose name is most like this one."""
    known = known_models(provider)
    return next(iter(get_close_matches(name, [one for one in known if one != name], n=1, cutoff=0.6)), None)


@lru_cache
def known_models(provider: Provider) -> tuple[str, ...]:
    """The models of a provider that the price table lists; none where it has no list."""
    return tuple(model.id for model in _listed(provider))


def _listed(provider: Provider) -> list[Any]:
    if not provider.catalogue:
        return []
    from genai_prices.data_snapshot import get_snapshot

    models: list[Any] = get_snapshot().find_provider(None, provider.catalogue, None).models
    return models


def _context_of(provider: Provider, name: str) -> int | None:
    if not provider.catalogue:
        return None
    from genai_prices.data_snapshot import get_snapshot

    try:
        _, found = get_snapshot().find_provider_model(name, None, provider.catalogue, None)
    except LookupError:
        return None
    size: int | None = found.context_window
    return size


def _with_provider(name: str) -> str:
    """The name with the provider that lists it, OpenAI where none does; ``provider/model`` is how others write it."""
    before, slash, after = name.partition("/")
    if slash and after and before in PROVIDERS:
        return f"{before}:{after}"
    if not _is_there("genai_prices"):
        return f"openai:{name}"
    for provider in ("openai", "anthropic", "google", "mistral", "deepseek"):
        if name in known_models(PROVIDERS[provider]):
            return f"{provider}:{name}"
    return f"openai:{name}"


def _example(provider: Provider) -> str:
    names = {"anthropic": "claude-sonnet-4-5", "google": "gemini-2.5-pro", "ollama": "qwen3"}
    return f"{provider.name}:{names.get(provider.name, 'gpt-5')}"
