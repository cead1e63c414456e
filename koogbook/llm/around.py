"""What an executor that stands around another one needs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from koogbook.errors import ExecutorError
from koogbook.llm.executor import ClosableExecutor, Frame, PromptExecutor
from koogbook.llm.request import Request
from koogbook.messages.model import LLModel


class AroundExecutor(ClosableExecutor):
    """What the executors around another one share: models, and being closed.

    Closing it closes what it was made around as well, as Koog's do: both are mostly made in one line. Who shares an
    executor among several closes that one, and leaves what stands around it.

    Raises:
        TypeError: What it is made around is no executor.
    """

    def __init__(self, executor: PromptExecutor) -> None:
        self.executor = require_executor(executor, type(self).__name__)

    def resolve(self, model: LLModel | str) -> LLModel:
        """See :class:`~koogbook.llm.executor.PromptExecutor`; the one inside knows."""
        return self.executor.resolve(model)

    async def close(self) -> None:
        """Answer no more, and close the executor inside. Idempotent."""
        self._closed = True
        await self.executor.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} around {type(self.executor).__name__}>"


def require_executor(executor: Any, who: str) -> PromptExecutor:
    """The executor, if it is one.

    Raises:
        TypeError: It has no ``execute``, or is a class.
    """
    if isinstance(executor, type) or not callable(getattr(executor, "execute", None)):
        raise TypeError(
            f"{who} stands around an executor, not {executor!r:.60}. Nothing was made. "
            f"Give it one: {who}(kb.OfflineExecutor(), ...)."
        )
    found: PromptExecutor = executor
    return found


@asynccontextmanager
async def streamed(executor: PromptExecutor, request: Request) -> AsyncIterator[AsyncIterator[Frame]]:
    """The frames of an executor's answer; its stream is closed at the end of the block, however that is left.

    Raises:
        ExecutorError: The executor has no stream.
    """
    ask = getattr(executor, "stream", None)
    if ask is None:
        raise ExecutorError(
            f"{type(executor).__name__} gives no stream: it has no method 'stream'. Nothing was sent. "
            "Ask without frames: session.request()."
        )
    frames = ask(request)
    try:
        yield frames
    finally:
        close = getattr(frames, "aclose", None)
        if close is not None:
            await close()


def in_words(problem: BaseException) -> str:
    """An exception as an event and a report tell it."""
    return f"{type(problem).__name__}: {problem}"
