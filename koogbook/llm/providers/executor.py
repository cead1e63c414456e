"""The executor that asks real models."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from typing import Any

from koogbook.errors import ExecutorError
from koogbook.events import Notice
from koogbook.llm.executor import ClosableExecutor, Frame, tell
from koogbook.llm.providers.connections import Connections, address_problem, base_url_of, is_local
from koogbook.llm.providers.exchange import Exchange
from koogbook.llm.providers.faults import Faults
from koogbook.llm.providers.keys import (
    Redactor,
    custom_headers,
    is_variable_name,
    read_key,
    secrets_in_url,
    shown_url,
)
from koogbook.llm.providers.models import Target
from koogbook.llm.providers.names import provider_of, require_installed, with_limits
from koogbook.llm.providers.reading import Question, Reading
from koogbook.llm.providers.to_provider import outgoing
from koogbook.llm.request import Request
from koogbook.messages.message import Message
from koogbook.messages.model import LLModel, as_model


class ProviderExecutor(ClosableExecutor):
    """Asks the model that its name chooses: ``"openai:gpt-5"`` (Koog's ``MultiLLMPromptExecutor``).

    Providers are openai, openai-responses, anthropic, google, bedrock, mistral, ollama, deepseek, openrouter, and
    openai-compatible for any other server that speaks OpenAI's protocol. Keys come from the environment and from
    nowhere else; they are read at each request, and nothing that leaves this object holds one. Nothing is asked twice:
    that is for wrappers. It works on several event loops, and the connections of each are closed when it ends.
    Libraries are loaded beside the event loop; a request of thousands of messages is put together on it, and holds it
    up for as long as that takes (a second or more).

    Args:
        base_url: The address of another server, for all models of this executor; it gets the key of the provider
            that is named. For a server that is not the provider's own name ``openai-compatible`` (vLLM, LM Studio).
        key_variable: The environment variable with the key, in place of the provider's own.
        timeout: Seconds to wait for an answer, or for the next piece of a streamed one.

    Raises:
        ValueError: ``timeout`` is no positive number, ``base_url`` no HTTP address, ``key_variable`` no name.
    """

    def __init__(
        self, base_url: str | None = None, *, key_variable: str | None = None, timeout: float = 600.0
    ) -> None:
        if (
            isinstance(timeout, bool)
            or not isinstance(timeout, int | float)
            or not 0 < timeout < float("inf")
        ):
            raise ValueError(f"timeout is a number of seconds above 0, not {timeout!r}.")
        problem = address_problem(base_url) if base_url is not None else None
        if problem is not None:
            raise ValueError(
                f"The base_url {problem}. It is an address such as 'http://127.0.0.1:8000/v1'; a key comes from the "
                "environment, and key_variable= names its variable."
            )
        if key_variable is not None and not is_variable_name(key_variable):
            raise ValueError(
                "key_variable is the name of an environment variable, such as 'MY_SERVER_KEY', never the key itself: "
                "capital letters, digits and underscores."
            )
        self._base_url = base_url
        self._key_variable = key_variable
        self._timeout = float(timeout)
        self._connections = Connections(self._timeout)

    def resolve(self, model: LLModel | str) -> LLModel:
        """The model with the size of its context, where that is known.

        Raises:
            UnknownModelError: The name has no provider, or an unknown one. A model that nobody here has heard of is
                not refused: new ones come out every week.
            ExecutorError: The provider's library is not installed; the message has the line to type.
            MissingKeyError: The environment has no key for it.
        """
        named = as_model(model)
        self._target(named)
        return with_limits(named)

    def cache_place(self, model: LLModel | str) -> str:
        """The address that would be asked for that model, without anything secret: another one answers otherwise.

        Raises:
            UnknownModelError: The name has no provider, or an unknown one.
            ExecutorError: The address in the environment is none.
        """
        provider = provider_of(as_model(model))
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "<region>"
        default = provider.default_url.replace("<region>", region)
        return shown_url(base_url_of(provider, self._base_url) or default)

    async def execute(self, request: Request) -> Message:
        """The model's answer.

        Raises:
            ProviderError: It did not answer as asked; see there for the kinds.
            ContextOverflowError: The request is longer than the model's context.
            UnknownModelError: The provider has no such model.
            MissingKeyError: The environment has no key for it.
            ExecutorClosedError: After :meth:`close`.
        """
        question = await self._question(request)
        return await question.answer()

    async def stream(self, request: Request) -> AsyncIterator[Frame]:
        """The same in frames, as they come; raises what :meth:`execute` raises.

        Leaving early closes the connection, so that the provider need not go on.
        """
        reading = Reading(await self._question(request))
        try:
            while frames := await reading.next():
                for frame in frames:
                    yield frame
        finally:
            await reading.close()

    async def close(self) -> None:
        """Let go of connections. Idempotent."""
        self._closed = True
        await self._connections.close()

    def __repr__(self) -> str:
        where = f"base_url={shown_url(self._base_url)!r}" if self._base_url else ""
        key = f"key_variable={self._key_variable!r}" if self._key_variable else ""
        return f"ProviderExecutor({', '.join(text for text in (where, key) if text)})"

    def _target(self, model: LLModel) -> Target:
        provider = provider_of(model)
        require_installed(provider)
        base_url = base_url_of(provider, self._base_url)
        return Target(provider, base_url, read_key(provider, self._key_variable, is_local=is_local(base_url)))

    async def _question(self, request: Request) -> Question:
        self._require_open()
        target = self._target(request.model)
        redactor = Redactor(
            (self._key_variable,),
            (target.key, *secrets_in_url(target.base_url), *custom_headers(target.provider).values()),
        )
        faults = Faults(
            model=request.model,
            provider=target.provider,
            base_url=target.base_url,
            key_variable=self._key_variable,
            timeout=self._timeout,
            redactor=redactor,
            is_closed=lambda: self._closed,
        )
        lines = await self._connections.lines()
        fault: ExecutorError | None = None
        model: Any = None
        try:
            model = await lines.model(target, request.model.id)
        except Exception as problem:
            fault = faults.fault(problem, Exchange())
        if fault is not None:
            raise fault
        sent = outgoing(request, target.provider, model)
        for what in sent.not_sent:
            tell(Notice, kind="request", text=f"{request.model} was not sent {what}", level="warning")
        return Question(
            model=model,
            outgoing=sent,
            answered_by=str(request.model),
            faults=faults,
            redactor=redactor,
            timeout=self._timeout,
            says_its_end=target.provider.says_its_end,
        )
