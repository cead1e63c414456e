"""What answers a request: the protocol that every executor keeps, offline or not."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Protocol, Self

from msgspec import Struct

from koogbook import clock
from koogbook.errors import ExecutorClosedError
from koogbook.events import Event
from koogbook.llm.request import Request
from koogbook.messages.message import Message
from koogbook.messages.model import LLModel, as_model
from koogbook.messages.parts import Reasoning, Text, ToolCall


class TextFrame(Struct, frozen=True):
    """A piece of the answer's text, as it comes (Koog's ``StreamFrame.TextDelta``)."""

    text: str


class ReasoningFrame(Struct, frozen=True):
    """A piece of what the model thinks before it answers (Koog's ``StreamFrame.ReasoningDelta``)."""

    text: str


class ToolCallFrame(Struct, frozen=True):
    """A tool call, once all of it is known (Koog's ``StreamFrame.ToolCallComplete``)."""

    call: ToolCall


class EndFrame(Struct, frozen=True):
    """The last frame of a stream, with the whole answer (Koog's ``StreamFrame.End``)."""

    message: Message


Frame = TextFrame | ReasoningFrame | ToolCallFrame | EndFrame


class PromptExecutor(Protocol):
    """Answers requests (Koog's ``PromptExecutor``)."""

    async def execute(self, request: Request) -> Message:
        """The assistant message that answers.

        Raises:
            ExecutorClosedError: After :meth:`close`.
        """

    def stream(self, request: Request) -> AsyncIterator[Frame]:
        """The same answer in frames; the last one is an :class:`EndFrame`. One that comes to no end broke off."""

    def resolve(self, model: LLModel | str) -> LLModel:
        """The model that this executor would use for that name, with what is known of it."""

    async def close(self) -> None:
        """Let go of connections. Idempotent."""


#: Takes the events of the request that is on its way in this task: ``(kind, fields)``; None outside of a run.
teller: ContextVar[Callable[[type[Event], dict[str, Any]], None] | None] = ContextVar(
    "koogbook_teller", default=None
)


def tell(kind: type[Event], /, **fields: Any) -> None:
    """Say what an executor did besides asking: it waited, asked another model, left something out.

    The event gets the number of the request, a notice in its text; outside of a run nobody listens.
    """
    told = teller.get()
    if told is not None:
        told(kind, fields)


#: A word with the blanks after it; blanks alone where a text begins with them.
_PIECE = re.compile(r"\S+\s*|\s+")


def frames_of(message: Message) -> Iterator[Frame]:
    """An answer that is there as the frames of a stream: texts word by word, the end last."""
    for part in message.parts:
        if isinstance(part, Text):
            yield from (TextFrame(piece) for piece in _PIECE.findall(part.text))
        elif isinstance(part, Reasoning):
            yield ReasoningFrame(part.text)
        elif isinstance(part, ToolCall):
            yield ToolCallFrame(part)
    yield EndFrame(message)


class Closing:
    """What is closed at the end of an ``async with`` block."""

    async def close(self) -> None:
        """Let go of what it holds. Idempotent."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class ClosableExecutor(Closing):
    """An executor that answers until it is closed, and then refuses."""

    _closed = False

    async def close(self) -> None:
        """See :class:`PromptExecutor`."""
        self._closed = True

    def _require_open(self) -> None:
        if self._closed:
            raise ExecutorClosedError(
                f"This {type(self).__name__} was closed and answers no more. Nothing was sent. "
                "Make a new one for the agent, or close it later."
            )


class LocalExecutor(ClosableExecutor):
    """What the executors that answer in this process share: being closed, and a stream that gives words one by one."""

    async def execute(self, request: Request) -> Message:
        """See :class:`PromptExecutor`."""
        self._require_open()
        return await self.answer(request)

    async def answer(self, request: Request) -> Message:
        """The answer of this executor."""
        raise TypeError(f"{type(self).__name__} does not say how it answers.")

    async def stream(self, request: Request) -> AsyncIterator[Frame]:
        """See :class:`PromptExecutor`."""
        for frame in frames_of(await self.execute(request)):
            # As with a real one, others have their turn between two frames, and whoever left is noticed.
            await clock.sleep(0)
            yield frame

    def resolve(self, model: LLModel | str) -> LLModel:
        """See :class:`PromptExecutor`."""
        return as_model(model)
