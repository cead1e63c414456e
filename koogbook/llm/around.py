"""What an executor that stands around another one needs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from koogbook.errors import ExecutorError
from koogbook.llm.executor import ClosableExecutor, Frame, PromptExecutor
from koogbook.llm.request import Request
from koogbook.messages.message import Usage
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

    def cache_place(self, model: LLModel) -> str:
        """Where the executor inside would send a request for this model; empty where it does not say."""
        return place_of(self.executor, model)

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


def place_of(executor: PromptExecutor, model: LLModel) -> str:
    """Where an executor sends requests for a model, as its ``cache_place`` says; empty where it has none."""
    say = getattr(executor, "cache_place", None)
    return str(say(model)) if callable(say) else ""


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


def spent_on(problem: BaseException, asked: LLModel) -> dict[str, Any]:
    """The fields of an event that say what a failed request cost all the same; none where nobody says it."""
    usage = getattr(problem, "usage", None)
    if not isinstance(usage, Usage):
        return {}
    # An error for several models has the usage of the last one.
    counted: BaseException = problem
    while counted.__cause__ is not None and getattr(counted.__cause__, "usage", None) is usage:
        counted = counted.__cause__
    return {"usage": usage, "spent_by": str(getattr(counted, "model", "") or asked)}


def in_words(problem: BaseException) -> str:
    """An exception as an event and a report tell it."""
    return f"{type(problem).__name__}: {problem}"
