"""An answer that comes in frames: how frames get through the interceptors, and what a session gives its user.

Interceptors wrap a request as ``await call(request)`` and get the whole answer; they know nothing of frames. Their
chain runs in a task of its own, and goes on from one frame to the next only when that is asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from koogbook.errors import SessionClosedError, StreamOpenError
from koogbook.events import Notice
from koogbook.llm.executor import EndFrame, Frame, TextFrame
from koogbook.llm.wait_cycles import works_for
from koogbook.messages.message import Message, assistant

if TYPE_CHECKING:
    from koogbook.pipeline import EventLog

#: Hands a frame to whoever reads the stream; returns when the next one is asked for.
Emit = Callable[[Frame], Awaitable[None]]

_LEFT = "its reader left it"


class FrameStream:
    """Runs a chain from frame to frame; ``start`` gets the function that hands a frame over."""

    __slots__ = ("_go_on", "_ready", "_start", "_task")

    def __init__(self, start: Callable[[Emit], Coroutine[Any, Any, Message]]) -> None:
        self._start = start
        self._task: asyncio.Task[Message] | None = None
        self._ready: asyncio.Future[Frame | None] | None = None
        self._go_on: asyncio.Future[None] | None = None

    async def next(self) -> Frame | None:
        """The next frame; the :class:`EndFrame` with what the chain returned at the end; None after it.

        Raises:
            StreamOpenError: Another task waits for a frame already.
        """
        if self._ready is not None and not self._ready.done():
            raise StreamOpenError(
                "Another task reads this streamed answer already, and each frame is for one reader. Nothing was "
                "changed. Read it in one task, and hand on what it gives."
            )
        if self._task is not None and self._task.done():
            return None
        loop = asyncio.get_running_loop()
        self._ready = loop.create_future()
        if self._task is None:
            self._task = loop.create_task(self._start(self._emit))
            self._task.add_done_callback(self._done)
        elif self._go_on is not None and not self._go_on.done():
            self._go_on.set_result(None)
        works_for(self._task, asyncio.current_task())
        try:
            return await self._ready
        except asyncio.CancelledError:
            await self.leave()
            raise

    async def leave(self) -> None:
        """Stop early: the chain is cancelled where it waits, and has cleaned up when this returns. Idempotent."""
        task = self._task
        if task is None or task.done():
            return
        if self._ready is not None and not self._ready.done():
            self._ready.set_result(None)
        task.cancel(_LEFT)
        await asyncio.wait({task})

    async def _emit(self, frame: Frame) -> None:
        ready = self._ready
        if ready is None or ready.done():  # it was left, and something in the chain went on all the same
            raise asyncio.CancelledError(_LEFT)
        self._go_on = asyncio.get_running_loop().create_future()
        ready.set_result(frame)
        await self._go_on

    def _done(self, task: asyncio.Task[Message]) -> None:
        problem = None if task.cancelled() else task.exception()
        ready = self._ready
        if ready is None or ready.done():
            return
        if task.cancelled():
            ready.cancel()
        elif problem is not None:
            ready.set_exception(problem)
        else:
            ready.set_result(EndFrame(task.result()))


class ReplyStream:
    """The frames of an answer, as they come; made by ``session.request_streaming()``.

    Iterate it: ``async for frame in stream``. Nothing is sent before the first frame is asked for. When the last
    frame has been read, a write session appends the whole answer, once. Whoever leaves earlier says so with
    ``async with stream:`` around the loop or ``await stream.aclose()``. The end of the session does it, too: what the
    session changed is committed then, and after that the executor's stream is closed.

    ``message`` is the answer once it is whole, or what was kept of it; None before and without.

    Raises:
        SessionClosedError: On iteration, when the session has ended.
        StreamOpenError: On iteration, when another task waits for a frame already.
    """

    __slots__ = (
        "_cut",
        "_ended",
        "_frames",
        "_keep_partial",
        "_log",
        "_opened",
        "_over",
        "_texts",
        "message",
    )

    def __init__(
        self,
        opened: Callable[[ReplyStream], FrameStream],
        ended: Callable[[Message | None], bool],
        log: EventLog,
        *,
        keep_partial: bool,
    ) -> None:
        self._opened = opened
        self._ended = ended
        self._log = log
        self._keep_partial = keep_partial
        self._frames: FrameStream | None = None
        self._texts: list[str] = []
        self._over = False
        self._cut = False
        self.message: Message | None = None

    @property
    def is_open(self) -> bool:
        """Its first frame was asked for, and it has not come to an end."""
        return self._frames is not None and not self._over

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._texts)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Frame:
        if self._over:
            self._raise_if_cut()
            raise StopAsyncIteration
        if self._frames is None:
            self._frames = self._opened(self)
        try:
            frame = await self._frames.next()
        except StreamOpenError:
            raise
        except BaseException as problem:
            what = self.end(broke_off=not isinstance(problem, asyncio.CancelledError))
            problem.add_note(
                f"The streamed answer broke off after {len(self._texts)} pieces of text: {what}."
            )
            raise
        if frame is None or self._over:  # somebody else left it meanwhile
            self._raise_if_cut()
            raise StopAsyncIteration
        if isinstance(frame, TextFrame):
            self._texts.append(frame.text)
        if isinstance(frame, EndFrame):
            self._over = True
            self._ended(frame.message)
            self.message = frame.message
        return frame

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Read no further: nothing is appended, or with ``keep_partial`` the text so far. Idempotent."""
        self.end()
        if self._frames is not None:
            await self._frames.leave()

    def _raise_if_cut(self) -> None:
        if self._cut:
            raise SessionClosedError(
                "Cannot use session after it was closed: its 'async with' block ended before this streamed answer was "
                "whole. Read it to its end inside the block."
            )

    def end(self, *, of_session: bool = False, broke_off: bool = False) -> str:
        """What :meth:`aclose` does to the history, without telling the executor; what became of the answer in words."""
        self._cut = self._cut or (of_session and self.is_open)
        if self._over or self._frames is None:
            self._over = True
            return "nothing more was appended"
        self._over = True
        if self._keep_partial and self.text:
            self.message = assistant(self.text, finish_reason="partial", metadata={"partial": True})
        appended = self._ended(self.message)
        if self.message is None:
            what = "nothing of it was appended"
        elif appended:
            what = "its text so far was appended to the session's history as a partial message"
        else:
            what = "its text so far is in stream.message"
        # One that broke off is told as a request that failed; here only what was kept of it.
        if self.message is not None or not broke_off:
            how = "broke off" if broke_off else "was left before its end"
            self._log.emit_quietly(Notice, kind="stream", text=f"A streamed answer {how}: {what}.")
        return what

    def __repr__(self) -> str:
        state = "open" if self.is_open else "over" if self._over else "not begun"
        return f"<streamed answer, {state}, {len(self._texts)} pieces of text>"
