"""An answer that comes in frames: how frames get through the interceptors, and what a session gives its user.

Interceptors wrap a request as ``await call(request)`` and get the whole answer; they know nothing of frames. The chain
of them is therefore one coroutine that is run step by step: where the innermost call has a frame, it yields it up
through all wrappers, and the step ends with it. Everything else that the chain waits for goes on to the event loop
untouched. It all happens in the task that asks for the next frame, so locks, cancellation and context variables are
what they are without a stream.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from koogbook.events import Notice
from koogbook.llm.executor import EndFrame, Frame, TextFrame
from koogbook.messages.message import Message, assistant

if TYPE_CHECKING:
    from koogbook.pipeline import EventLog

#: Hands a frame to whoever reads the stream.
Emit = Callable[[Frame], Awaitable[None]]


class StreamLeft(BaseException):
    """Raised inside a chain whose reader wants no more frames; like a cancellation, nobody but the chain sees it."""


class _Handover:
    """What a chain yields for a frame."""

    __slots__ = ("frame",)

    def __init__(self, frame: Frame) -> None:
        self.frame = frame

    def __await__(self) -> Generator[_Handover, None, None]:
        yield self


class FrameStream:
    """Runs a chain from frame to frame; ``start`` gets the function that hands a frame over."""

    __slots__ = ("_chain", "_end", "_over", "_started")

    def __init__(self, start: Callable[[Emit], Coroutine[Any, Any, Message]]) -> None:
        self._chain = start(_hand_over)
        self._started = False
        self._over = False
        self._end: Message | None = None

    async def next(self) -> Frame | None:
        """The next frame; the :class:`EndFrame` with what the chain returned at the end; None after it."""
        if self._over:
            return None
        self._started = True
        return await _Step(self, None)

    async def leave(self) -> None:
        """Stop early: the chain gets :class:`StreamLeft` where it waits, and may clean up. Idempotent."""
        if self._over:
            return
        if not self._started:
            self._over = True
            self._chain.close()
            return
        try:
            await _Step(self, StreamLeft("its reader left it"))
        except StreamLeft:
            return
        # Something in the chain caught it and went on; it is not asked again.
        self._over = True
        self._chain.close()

    def step(self, problem: BaseException | None) -> Generator[Any, Any, Frame | None]:
        """One step of the chain, as a generator that yields to the event loop."""
        given: Any = None
        while True:
            try:
                waits_for = self._chain.send(given) if problem is None else self._chain.throw(problem)
            except StopIteration as end:
                self._over = True
                return EndFrame(end.value)
            except BaseException:
                self._over = True
                raise
            if isinstance(waits_for, _Handover):
                return waits_for.frame
            try:
                given, problem = (yield waits_for), None
            except BaseException as thrown:
                given, problem = None, thrown


class _Step:
    __slots__ = ("_problem", "_stream")

    def __init__(self, stream: FrameStream, problem: BaseException | None) -> None:
        self._stream = stream
        self._problem = problem

    def __await__(self) -> Generator[Any, Any, Frame | None]:
        return self._stream.step(self._problem)


async def _hand_over(frame: Frame) -> None:
    await _Handover(frame)


class ReplyStream:
    """The frames of an answer, as they come; made by ``session.request_streaming()``.

    Iterate it: ``async for frame in stream``. Nothing is sent before the first frame is asked for. When the last
    frame has been read, a write session appends the whole answer, once. Whoever leaves earlier says so with
    ``async with stream:`` around the loop or ``await stream.aclose()``; the end of the session does it, too.

    ``message`` is the answer once it is whole, or what was kept of it; None before and without.

    Raises:
        SessionClosedError: On iteration, when the session has ended.
    """

    __slots__ = ("_ended", "_frames", "_keep_partial", "_log", "_opened", "_over", "_texts", "message")

    def __init__(
        self,
        opened: Callable[[ReplyStream], FrameStream],
        ended: Callable[[Message | None], None],
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
            raise StopAsyncIteration
        if self._frames is None:
            self._frames = self._opened(self)
        try:
            frame = await self._frames.next()
        except BaseException as problem:
            kept = self.end()
            problem.add_note(
                f"The streamed answer broke off after {len(self._texts)} pieces of text; "
                f"{'what had come was appended' if kept else 'nothing of it was appended'}."
            )
            raise
        if isinstance(frame, TextFrame):
            self._texts.append(frame.text)
        if isinstance(frame, EndFrame):
            self._over = True
            self.message = frame.message
            self._ended(frame.message)
        if frame is None:
            raise StopAsyncIteration
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

    def end(self) -> Message | None:
        """What :meth:`aclose` does to the history, without telling the executor; what was kept is returned."""
        if self._over:
            return None
        self._over = True
        if self._frames is None:
            return None
        if self._keep_partial and self.text:
            self.message = assistant(self.text, finish_reason="partial", metadata={"partial": True})
        kept = self.message
        what = "its text so far was appended as a partial message" if kept else "nothing was appended"
        self._log.emit_quietly(
            Notice, kind="stream", text=f"A streamed answer was left before its end: {what}."
        )
        self._ended(kept)
        return kept

    def __repr__(self) -> str:
        state = "open" if self.is_open else "over" if self._over else "not begun"
        return f"<streamed answer, {state}, {len(self._texts)} pieces of text>"
