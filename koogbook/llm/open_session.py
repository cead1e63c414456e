"""What every session has: a prompt, tools and a model for a while, and an end after which it refuses every use."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from koogbook.errors import SessionClosedError, WrongLoopError
from koogbook.llm.streaming import ReplyStream
from koogbook.messages.message import Message
from koogbook.messages.model import LLModel, LLMParams, as_model
from koogbook.messages.prompt import Prompt
from koogbook.tools.tool import ToolRegistry

if TYPE_CHECKING:
    from koogbook.llm.context import LLMContext


class OpenSession:
    """The prompt, tools and model of a context as they were when it began, and the streams that end with it.

    Raises:
        SessionClosedError: On every use after the block.
        WrongLoopError: On a request from another event loop.
    """

    #: Whether its answers go into the history, behind what stands there.
    _keeps = False

    __slots__ = (
        "_asking",
        "_closed",
        "_context",
        "_fault",
        "_loop",
        "_model",
        "_prompt",
        "_streams",
        "_tools",
    )

    def __init__(self, context: LLMContext, prompt: Prompt, tools: ToolRegistry, model: LLModel) -> None:
        self._context = context
        self._prompt = prompt
        self._tools = tools
        self._model = model
        self._closed = False
        self._loop = asyncio.get_running_loop()
        self._streams: tuple[ReplyStream, ...] = ()
        self._fault: BaseException | None = None
        self._asking = 0

    @property
    def prompt(self) -> Prompt:
        """The messages with their parameters."""
        self._require_open()
        return self._prompt

    @property
    def tools(self) -> ToolRegistry:
        """The tools that :meth:`request` offers."""
        self._require_open()
        return self._tools

    @property
    def model(self) -> LLModel:
        """The model that is asked."""
        self._require_open()
        return self._model

    @property
    def params(self) -> LLMParams:
        """The parameters of requests."""
        self._require_open()
        return self._prompt.params

    @property
    def messages(self) -> tuple[Message, ...]:
        """Short for ``session.prompt.messages``."""
        return self.prompt.messages

    def _stream_ended(self, reply: Message | None) -> bool:
        """Take what a stream leaves; whether there is a history that took it."""
        return reply is not None and not self._closed and self._take(reply)

    def _resolved(self, model: LLModel | str) -> LLModel:
        return self._context.calls.executor.resolve(as_model(model))

    def _notice(self, kind: str, text: str) -> None:
        self._context.log.notice(kind, text)

    def _take(self, reply: Message) -> bool:
        """What a session does with a reply, and whether it kept it; a reading one leaves the history alone."""
        return False

    def _require_open(self) -> None:
        if self._closed:
            raise SessionClosedError(
                "Cannot use session after it was closed: its 'async with' block has ended. Nothing was sent or "
                "changed. Keep the call inside the block, take plain values out of it, or open a new session; "
                "ctx.llm.committed can be read at any time."
            )

    def _require_whole(self) -> None:
        """Refuse to go on while an answer that belongs into the history is not there yet; see the writing one."""

    def _require_loop(self) -> None:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            raise WrongLoopError(
                f"This session was opened on {self._loop!r} and is used on {loop!r}. Nothing was sent. Use a session "
                "where it was opened, or hand the work over with asyncio.run_coroutine_threadsafe."
            )

    def _ending(self) -> None:
        """The block is over; called before anything is committed. What fails is raised when the lock is free."""
        for stream in self._streams:
            try:
                stream.end(of_session=True)
            except BaseException as fault:
                self._fault = self._fault or fault

    async def _ended(self) -> None:
        """What is left to await when the session has ended and the lock is free."""
        streams, self._streams = self._streams, ()
        for stream in streams:
            await stream.aclose()
        if self._fault is not None:
            raise self._fault

    def _close(self) -> None:
        self._closed = True
