"""The models of pydantic-ai, and the clients that carry their requests."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

from koogbook.errors import ExecutorError
from koogbook.llm.providers.exchange import Watch
from koogbook.llm.providers.keys import custom_headers
from koogbook.llm.providers.names import Provider

#: Seconds to open a connection; an address that does not answer is known sooner than a slow answer.
_CONNECT_SECONDS = 10.0


class Target:
    """Where a request goes and with which key; its ``repr`` has no key."""

    __slots__ = ("base_url", "key", "provider")

    def __init__(self, provider: Provider, base_url: str | None, key: str | None) -> None:
        self.provider = provider
        self.base_url = base_url
        self.key = key

    @property
    def place(self) -> tuple[str, str | None, str | None]:
        """What a client depends on: after another key is set, another client is made."""
        return (self.provider.name, self.base_url, self.key)

    def __repr__(self) -> str:
        return f"<requests to {self.provider.name}>"


def client_for(target: Target, timeout: float) -> Any:
    """What carries the requests: an HTTP client, for bedrock that of its library."""
    if target.provider.name == "bedrock":
        return _bedrock_client(target, timeout)
    import httpx2

    connect = min(_CONNECT_SECONDS, timeout)
    limits: dict[str, float | None] = {
        "connect": connect,
        "read": timeout,
        "write": timeout,
        # Not quite the others: google's library takes four times 5 s for limits that nobody chose, and warns.
        "pool": timeout + 1,
    }
    watch = Watch(limits)
    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(**limits),
        verify=_certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")),
        # How many go out at once is for whoever asks; those that had to wait here would count as slow answers.
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=100),
        event_hooks={"request": [watch.requested], "response": [watch.responded]},
    )


@cache
def _certificates(file: str | None, folder: str | None) -> Any:
    """What servers are trusted by; to read it takes longer than all else of a client. The names are read inside."""
    import httpx2

    return httpx2.create_ssl_context()


def model_at(target: Target, name: str, client: Any) -> Any:
    """The model of that name, asked through that client."""
    provider, key, base_url = target.provider, target.key, target.base_url
    if provider.name == "anthropic":
        from anthropic import AsyncAnthropic
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        anthropic = AsyncAnthropic(
            api_key=key or "none", base_url=base_url, http_client=client, max_retries=0
        )
        return AnthropicModel(name, provider=AnthropicProvider(anthropic_client=anthropic))
    if provider.name == "google":
        from pydantic_ai.models.google import GoogleModel
        from pydantic_ai.providers.google import GoogleProvider

        return GoogleModel(
            name, provider=GoogleProvider(api_key=key or "none", base_url=base_url, http_client=client)
        )
    if provider.name == "mistral":
        from pydantic_ai.models.mistral import MistralModel
        from pydantic_ai.providers.mistral import MistralProvider

        return MistralModel(
            name, provider=MistralProvider(api_key=key or "none", base_url=base_url, http_client=client)
        )
    if provider.name == "bedrock":
        from pydantic_ai.models.bedrock import BedrockConverseModel
        from pydantic_ai.providers.bedrock import BedrockProvider

        return BedrockConverseModel(name, provider=BedrockProvider(bedrock_client=client))
    return _openai_model(target, name, client)


def _openai_model(target: Target, name: str, client: Any) -> Any:
    """A model of OpenAI, or of one of the many that speak its protocol."""
    from openai import AsyncOpenAI, Omit

    from koogbook.llm.providers.chat_models import chat_class

    base_url = target.base_url or target.provider.default_url
    ours = target.provider.name in ("openai", "openai-responses")
    headers: dict[str, Any] = {}
    if not ours:
        # What the SDK takes from the environment, and would send to whoever it is told to.
        names = ("OpenAI-Organization", "OpenAI-Project", *custom_headers(target.provider))
        headers = {name: Omit() for name in names if name.lower() != "authorization"}
        headers["Authorization"] = f"Bearer {target.key or 'none'}"
    # Without a key the SDK refuses to start, and would take OPENAI_API_KEY for a server that it is not meant for.
    openai = AsyncOpenAI(
        api_key=target.key or "none",
        base_url=base_url,
        http_client=client,
        max_retries=0,
        default_headers=headers,
    )
    match target.provider.name:
        case "openai":
            from pydantic_ai.models.openai import OpenAIChatModel
            from pydantic_ai.providers.openai import OpenAIProvider

            return chat_class(OpenAIChatModel)(name, provider=OpenAIProvider(openai_client=openai))
        case "openai-responses":
            from pydantic_ai.models.openai import OpenAIResponsesModel
            from pydantic_ai.providers.openai import OpenAIProvider

            return OpenAIResponsesModel(name, provider=OpenAIProvider(openai_client=openai))
        case "ollama":
            from pydantic_ai.models.ollama import OllamaModel
            from pydantic_ai.providers.ollama import OllamaProvider

            return chat_class(OllamaModel)(name, provider=OllamaProvider(openai_client=openai))
        case "deepseek":
            from pydantic_ai.models.openai import OpenAIChatModel
            from pydantic_ai.providers.deepseek import DeepSeekProvider

            return chat_class(OpenAIChatModel)(name, provider=DeepSeekProvider(openai_client=openai))
        case "openrouter":
            from pydantic_ai.models.openrouter import OpenRouterModel
            from pydantic_ai.providers.openrouter import OpenRouterProvider

            return chat_class(OpenRouterModel)(name, provider=OpenRouterProvider(openai_client=openai))
        case _:
            from pydantic_ai.models.openai import OpenAIChatModel
            from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

            return chat_class(OpenAIChatModel)(
                name, provider=OpenAICompatibleProvider("openai-compatible", openai_client=openai)
            )


def _bedrock_client(target: Target, timeout: float) -> Any:
    """The client of Amazon's library, with keys of the environment alone and without its retries."""
    import boto3
    from botocore.config import Config
    from botocore.session import Session
    from botocore.tokens import FrozenAuthToken

    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if not region:
        raise ExecutorError(
            "bedrock needs a region, and neither AWS_REGION nor AWS_DEFAULT_REGION is set. Nothing was sent. Set it, "
            "for example: os.environ['AWS_REGION'] = 'eu-central-1'."
        )
    settings: dict[str, Any] = {
        "read_timeout": timeout,
        "connect_timeout": min(_CONNECT_SECONDS, timeout),
        "retries": {"total_max_attempts": 1},
        "max_pool_connections": 100,
    }
    pair = os.environ.get("AWS_ACCESS_KEY_ID", "").strip() == target.key
    if target.key is not None and not pair:

        class WithToken(Session):  # type: ignore[misc, unused-ignore]
            def get_auth_token(self, **_: Any) -> Any:
                return FrozenAuthToken(target.key)

            def get_credentials(self) -> None:
                return None

        session = boto3.Session(botocore_session=WithToken(), region_name=region)
        settings["signature_version"] = "bearer"
    else:
        session = boto3.Session(
            aws_access_key_id=target.key or "none",
            aws_secret_access_key=os.environ.get("AWS_SECRET_ACCESS_KEY", "").strip() or "none",
            aws_session_token=os.environ.get("AWS_SESSION_TOKEN", "").strip() or None,
            region_name=region,
        )
    return session.client("bedrock-runtime", config=Config(**settings), endpoint_url=target.base_url)
