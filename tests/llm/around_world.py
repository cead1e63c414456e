"""What the tests of executors around other ones share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import koogbook as kb
from koogbook.errors import ProviderError
from koogbook.llm.calls import ModelCalls
from koogbook.llm.executor import EndFrame, Frame, TextFrame
from koogbook.llm.request import Request
from koogbook.messages.model import LLModel
from koogbook.pipeline import EventLog


def asked(text: str = "x", model: str = "openai:a", **fields: Any) -> Request:
    """A request with one user message."""
    return Request(messages=(kb.user(text),), model=kb.ScriptedExecutor([]).resolve(model), **fields)


def busy(retry_after: float | None = None, kind: str = "overloaded") -> ProviderError:
    """An error that may pass."""
    return ProviderError("The provider is busy.", kind=kind, retry_after=retry_after)


def refused() -> ProviderError:
    """One that does not."""
    return ProviderError("The provider refused.", kind="refused")


def in_a_run(executor: Any) -> ModelCalls:
    """The way to an executor as a run has it, with its events."""
    return ModelCalls(executor, EventLog("run-1", "chat-1"))


def told(calls: ModelCalls, kind: type) -> list[Any]:
    """The events of one kind."""
    return [event for event in calls.log.events if isinstance(event, kind)]


async def frames(executor: Any, request: Request) -> list[Frame]:
    """All frames of a streamed answer."""
    return [frame async for frame in executor.stream(request)]


def text_of(read: list[Frame]) -> str:
    """What the frames before the last one say."""
    return "".join(frame.text for frame in read if isinstance(frame, TextFrame))


class Named(kb.ScriptedExecutor):
    """A scripted executor that knows models of its own provider only, and says whether it was closed."""

    @property
    def is_closed(self) -> bool:
        """After ``close()``."""
        return self._closed

    def resolve(self, model: LLModel | str) -> LLModel:
        """A name with ``unknown`` in it has no model."""
        found = super().resolve(model)
        if "unknown" in found.id:
            raise kb.errors.UnknownModelError(f"There is no model {found}.")
        return found


class Broken(Named):
    """Gives so many pieces of a streamed answer and then breaks off."""

    def __init__(self, pieces: int, error: BaseException) -> None:
        super().__init__([])
        self._pieces = pieces
        self._error = error
        self.left = 0

    async def stream(self, request: Request) -> AsyncIterator[Frame]:
        """See the class."""
        self.requests.append(request)
        try:
            for number in range(self._pieces):
                yield TextFrame(f"{number} ")
            raise self._error
        finally:
            self.left += 1


def whole(read: list[Frame]) -> kb.Message:
    """The message in the last frame."""
    end = read[-1]
    assert isinstance(end, EndFrame)
    return end.message
