"""What answers a request: the protocol that every executor keeps, offline or not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Protocol, Self

from msgspec import Struct

from koogbook.errors import ExecutorClosedError
from koogbook.llm.request import Request
from koogbook.messages.message import Message
from koogbook.messages.model import LLModel, as_model


class TextFrame(Struct, frozen=True):
    """A piece of the answer's text, as it comes."""

    text: str


class EndFrame(Struct, frozen=True):
    """The last frame of a stream, with the whole answer."""

    message: Message


Frame = TextFrame | EndFrame


class PromptExecutor(Protocol):
    """Answers requests (Koog's ``PromptExecutor``)."""

    async def execute(self, request: Request) -> Message:
        """The assistant message that answers.

        Raises:
            ExecutorClosedError: After :meth:`close`.
        """

    def stream(self, request: Request) -> AsyncIterator[Frame]:
        """The same answer in frames; the last one is an :class:`EndFrame`."""

    def resolve(self, model: LLModel | str) -> LLModel:
        """The model that this executor would use for that name, with what is known of it."""

    async def close(self) -> None:
        """Let go of connections. Idempotent."""


class LocalExecutor:
    """What the executors that answer in this process share: being closed, and a stream of one frame."""

    def __init__(self) -> None:
        self._closed = False

    async def execute(self, request: Request) -> Message:
        """See :class:`PromptExecutor`."""
        self._require_open()
        return await self.answer(request)

    async def answer(self, request: Request) -> Message:
        """The answer of this executor."""
        raise TypeError(f"{type(self).__name__} does not say how it answers.")

    async def stream(self, request: Request) -> AsyncIterator[Frame]:
        """See :class:`PromptExecutor`."""
        message = await self.execute(request)
        if message.text:
            yield TextFrame(message.text)
        yield EndFrame(message)

    def resolve(self, model: LLModel | str) -> LLModel:
        """See :class:`PromptExecutor`."""
        return as_model(model)

    async def close(self) -> None:
        """See :class:`PromptExecutor`."""
        self._closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _require_open(self) -> None:
        if self._closed:
            raise ExecutorClosedError(
                f"This {type(self).__name__} was closed and answers no more. Nothing was sent. "
                "Make a new one for the agent, or close it later."
            )
