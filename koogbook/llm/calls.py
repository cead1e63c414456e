"""Requests of a run on their way to the executor: numbered, recorded, counted, intercepted."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from koogbook import clock
from koogbook.errors import ExecutorError
from koogbook.events import (
    LLMCallCompleted,
    LLMCallFailed,
    LLMCallStarting,
    LLMStreamingCompleted,
    LLMStreamingFailed,
    LLMStreamingFrame,
    LLMStreamingStarting,
)
from koogbook.llm.call_record import CallRecord
from koogbook.llm.executor import (
    EndFrame,
    PromptExecutor,
    ReasoningFrame,
    TextFrame,
    ToolCallFrame,
    frames_of,
    teller,
)
from koogbook.llm.request import Request
from koogbook.llm.streaming import Emit, FrameStream
from koogbook.llm.usage import PurposeUsage, usage_by_purpose
from koogbook.messages.message import Message
from koogbook.messages.parts import Text, ToolCall
from koogbook.pipeline import EventLog, Interceptor, current_path, wrapped, wrappers

#: The events of a request: it starts, is answered, fails.
_WHOLE = (LLMCallStarting, LLMCallCompleted, LLMCallFailed)
_IN_FRAMES = (LLMStreamingStarting, LLMStreamingCompleted, LLMStreamingFailed)


class ModelCalls:
    """The way from a session to the executor, shared by all contexts of a run."""

    __slots__ = ("_around", "_chain", "executor", "log", "records")

    def __init__(
        self, executor: PromptExecutor, log: EventLog, interceptors: Sequence[Interceptor] = ()
    ) -> None:
        self.executor = executor
        self.log = log
        self.records: list[CallRecord] = []
        self._around = wrappers(interceptors, "around_llm_call", log.acted)
        self._chain: Callable[[Request], Awaitable[Message]] = wrapped(self._around, self._send)

    async def execute(self, request: Request) -> Message:
        """The executor's answer to this request, after the interceptors had their say.

        Raises:
            ExecutorError: What came back is no assistant message.
        """
        reply = await self._chain(request)
        _require_answer(reply, "The chain of interceptors")
        return reply

    def stream(self, request: Request) -> FrameStream:
        """The same in frames; the last one, an :class:`EndFrame`, has what the interceptors made of the answer.

        Nothing is sent before the first frame is asked for. An interceptor may ask again only as long as no frame was
        given, and where it answers by itself, its answer comes in frames as well.

        Raises:
            ExecutorError: On reading: what came back is no assistant message, or the stream has no last frame.
        """

        async def answered(emit: Emit) -> Message:
            reader = _Reader(emit)
            reply: Message = await wrapped(self._around, partial(self._send, reader=reader))(request)
            _require_answer(reply, "The chain of interceptors")
            if not reader.frames:
                for frame in frames_of(reply):
                    if not isinstance(frame, EndFrame):
                        await emit(frame)
            return reply

        return FrameStream(answered)

    def usage(self) -> tuple[PurposeUsage, ...]:
        """What was spent, for each purpose apart."""
        return usage_by_purpose(self.records)

    async def _send(self, request: Request, reader: _Reader | None = None) -> Message:
        starting, completed, failed = _WHOLE if reader is None else _IN_FRAMES
        number = len(self.records) + 1
        self.records.append(
            CallRecord(number=number, path=current_path.get(), request=request, reply=None, seconds=0.0)
        )
        started = clock.monotonic()
        told = teller.set(lambda kind, fields: self.log.emit(kind, call=number, **fields))
        try:
            self.log.emit(
                starting,
                call=number,
                purpose=request.purpose,
                model=str(request.model),
                messages=len(request.messages),
                tokens=request.tokens,
                tools=tuple(spec.name for spec in request.tools),
            )
            if reader is None:
                reply = await _answer_of(self.executor, request)
            else:
                reply = await self._read(request, number, reader)
            _require_answer(reply, f"The executor {type(self.executor).__name__}")
        except BaseException as problem:
            self._failed(failed, number, request, clock.monotonic() - started, problem, reader)
            raise
        finally:
            teller.reset(told)
        seconds = clock.monotonic() - started
        self.records[number - 1] = CallRecord(
            number=number, path=current_path.get(), request=request, reply=reply, seconds=seconds
        )
        self.log.emit(
            completed,
            call=number,
            purpose=request.purpose,
            seconds=seconds,
            usage=reply.usage,
            finish_reason=reply.finish_reason,
            **_frames(reader),
        )
        return reply

    async def _read(self, request: Request, number: int, reader: _Reader) -> Message:
        """The answer of a stream whose frames go to the reader, one by one."""
        if reader.frames:
            raise ExecutorError(
                "An interceptor asked again after a part of the answer was given to its reader, who cannot take it "
                "back. Nothing was appended. Ask again only as long as no frame came."
            )
        frames = _stream_of(self.executor, request)
        pieces: list[str] = []
        try:
            async for frame in frames:
                if isinstance(frame, EndFrame):
                    self._compare(pieces, frame.message)
                    return frame.message
                reader.frames += 1
                kind, text = _told(frame)
                if kind == "text":
                    pieces.append(text)
                self.log.emit(LLMStreamingFrame, call=number, kind=kind, text=text)
                await reader.emit(frame)
        finally:
            close = getattr(frames, "aclose", None)
            closing = None if close is None else close()
            if inspect.isawaitable(closing):
                await closing
        raise ExecutorError(
            f"The executor {type(self.executor).__name__} ended its stream after {reader.frames} frames without the "
            "last one, an EndFrame with the whole answer: it broke off."
        )

    def _compare(self, pieces: list[str], message: object) -> None:
        """Say so where what the reader saw is not what the history gets."""
        if isinstance(message, Message):
            whole = "".join(part.text for part in message.parts if isinstance(part, Text))
            if whole != "".join(pieces):
                self.log.notice(
                    "stream", "The text that came in frames is not the text of the answer that is appended."
                )

    def _failed(
        self,
        kind: type[LLMCallFailed],
        number: int,
        request: Request,
        seconds: float,
        problem: BaseException,
        reader: _Reader | None,
    ) -> None:
        error = f"{type(problem).__name__}: {problem}"
        self.records[number - 1] = CallRecord(
            number=number,
            path=current_path.get(),
            request=request,
            reply=None,
            seconds=seconds,
            error=error,
        )
        self.log.emit_quietly(
            kind,
            call=number,
            purpose=request.purpose,
            seconds=seconds,
            error=error,
            cancelled=isinstance(problem, asyncio.CancelledError),
            **_frames(reader),
        )


class _Reader:
    """Who reads a streamed answer, and how many frames it has got."""

    __slots__ = ("emit", "frames")

    def __init__(self, emit: Emit) -> None:
        self.emit = emit
        self.frames = 0


def _frames(reader: _Reader | None) -> dict[str, int]:
    return {} if reader is None else {"frames": reader.frames}


def _told(frame: object) -> tuple[str, str]:
    """What an event says of a frame: its kind and its text."""
    match frame:
        case TextFrame(text=str(text)):
            return "text", text
        case ReasoningFrame(text=str(text)):
            return "reasoning", text
        case ToolCallFrame(call=ToolCall() as call):
            return "tool call", f"{call.tool} {call.args}"
        case _:
            raise ExecutorError(
                f"A stream gives frames, and {frame!r:.60} is none: a TextFrame or ReasoningFrame with a text, a "
                "ToolCallFrame with a call, and an EndFrame with the answer at the end."
            )


async def _answer_of(executor: PromptExecutor, request: Request) -> Message:
    asked = executor.execute(request)
    if not inspect.isawaitable(asked):
        raise ExecutorError(
            f"{type(executor).__name__}.execute is no async function: write 'async def execute(self, request)'."
        )
    return await asked


def _stream_of(executor: PromptExecutor, request: Request) -> AsyncIterator[Any]:
    ask = getattr(executor, "stream", None)
    frames: Any = None if ask is None else ask(request)
    if not hasattr(frames, "__aiter__"):
        if inspect.iscoroutine(frames):
            frames.close()
        raise ExecutorError(
            f"{type(executor).__name__} gives no stream: it needs 'async def stream(self, request)' that yields "
            "frames, an EndFrame last. Nothing was sent. Ask without frames: session.request()."
        )
    found: AsyncIterator[Any] = frames
    return found


def _require_answer(reply: object, who: str) -> None:
    if not isinstance(reply, Message) or reply.role != "assistant":
        what = f"a message of role {reply.role}" if isinstance(reply, Message) else type(reply).__name__
        raise ExecutorError(
            f"{who} answered with {what}; an answer is an assistant message. Nothing was appended."
        )
