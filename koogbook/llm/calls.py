"""Requests of a run on their way to the executor: numbered, recorded, counted, intercepted."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any

from koogbook import clock
from koogbook.errors import ExecutorError
from koogbook.events import (
    Event,
    LLMCallCompleted,
    LLMCallFailed,
    LLMCallStarting,
    LLMStreamingCompleted,
    LLMStreamingFailed,
    LLMStreamingFrame,
    LLMStreamingStarting,
    Notice,
)
from koogbook.llm.around import spent_on
from koogbook.llm.call_record import CallRecord, Calls, RequestChange
from koogbook.llm.cut_answers import cut_in_words
from koogbook.llm.executor import (
    EndFrame,
    PromptExecutor,
    ReasoningFrame,
    TextFrame,
    ToolCallFrame,
    frames_of,
    teller,
)
from koogbook.llm.layers import Layers
from koogbook.llm.request import Request
from koogbook.llm.streaming import Emit, FrameStream
from koogbook.llm.usage import PurposeUsage, usage_by_purpose
from koogbook.messages.message import Message
from koogbook.messages.parts import Text, ToolCall
from koogbook.pipeline import (
    EventLog,
    Interceptor,
    Wrapper,
    wrapped,
    wrappers,
    wrapping_features,
)

#: The events of a request: it starts, is answered, fails.
_WHOLE = (LLMCallStarting, LLMCallCompleted, LLMCallFailed)
_IN_FRAMES = (LLMStreamingStarting, LLMStreamingCompleted, LLMStreamingFailed)

#: What interceptors did so far to the request that is on its way in this task.
_changes: ContextVar[tuple[RequestChange, ...]] = ContextVar("koogbook_request_changes", default=())


class ModelCalls:
    """The way from a session to the executor, shared by all contexts of a run.

    ``layers`` is where features say to which layer the messages belong that they have loaded.
    """

    __slots__ = ("_around", "_chain", "_count", "_known", "executor", "layers", "log")

    def __init__(
        self, executor: PromptExecutor, log: EventLog, interceptors: Sequence[Interceptor] = ()
    ) -> None:
        self.executor = executor
        self.log = log
        self.layers = Layers()
        self._count = 0
        self._known = Calls()
        around = wrappers(interceptors, "around_llm_call", log.acted)
        features = wrapping_features(interceptors, "around_llm_call")
        self._around = [
            partial(_noted, feature, wrapper) for feature, wrapper in zip(features, around, strict=True)
        ]
        self._chain: Callable[[Request], Awaitable[Message]] = wrapped(self._around, self._send)

    @property
    def records(self) -> list[CallRecord]:
        """The requests so far, as the events of the run tell of them."""
        return self._known.read(self.log.events)

    async def execute(self, request: Request) -> Message:
        """The executor's answer to this request, after the interceptors had their say.

        Raises:
            ExecutorError: What came back is no assistant message.
        """
        reply = await self._sent(self._chain, request)
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
            chain = wrapped(self._around, partial(self._send, reader=reader))
            reply = await self._sent(chain, request)
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

    async def _sent(self, chain: Callable[[Request], Awaitable[Message]], request: Request) -> Message:
        """The answer of a chain that keeps what its own interceptors change, whatever request it is made in."""
        if not self._around:
            return await chain(request)
        token = _changes.set(())
        try:
            return await chain(request)
        finally:
            _changes.reset(token)

    async def _send(self, request: Request, reader: _Reader | None = None) -> Message:
        starting, completed, failed = _WHOLE if reader is None else _IN_FRAMES
        self._count = number = self._count + 1
        started = clock.monotonic()
        told = teller.set(partial(self._tell, number))
        try:
            self.log.emit(
                starting,
                call=number,
                purpose=request.purpose,
                model=str(request.model),
                messages=len(request.messages),
                tokens=request.tokens,
                tools=tuple(spec.name for spec in request.tools),
                request=request,
                changes=_changes.get() if self._around else (),
                marks=self.layers.marks or None,
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
        self.log.emit(
            completed,
            call=number,
            purpose=request.purpose,
            seconds=seconds,
            usage=reply.usage,
            finish_reason=reply.finish_reason,
            reply=reply,
            **_frames(reader),
        )
        cut = cut_in_words(request, reply)
        if cut:
            self._tell(number, Notice, {"kind": "answer cut", "text": cut})
        return reply

    def _tell(self, number: int, kind: type[Event], fields: dict[str, Any]) -> None:
        if kind is Notice:
            fields = {**fields, "text": f"request {number}: {fields['text']}"}
        elif "call" in kind.__struct_fields__:
            fields = {**fields, "call": number}
        self.log.emit(kind, **fields)

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
        notes = "; ".join(getattr(problem, "__notes__", ()))
        error = f"{type(problem).__name__}: {problem}{f' ({notes})' if notes else ''}"
        self.log.emit_quietly(
            kind,
            call=number,
            purpose=request.purpose,
            seconds=seconds,
            error=error,
            cancelled=isinstance(problem, asyncio.CancelledError),
            **spent_on(problem, request.model),
            **_frames(reader),
        )


async def _noted(
    feature: str, wrapper: Wrapper, call: Callable[[Request], Awaitable[Message]], request: Request
) -> Message:
    """An interceptor at work; what it hands on goes with the request that goes out."""

    async def handed_on(given: Request) -> Message:
        if given is request:
            return await call(given)
        if not isinstance(given, Request):
            raise ExecutorError(
                f"The interceptor {feature} handed on {type(given).__name__} in place of a request. Nothing was sent. "
                "Write: return await call(msgspec.structs.replace(request, messages=...))."
            )
        change = RequestChange(feature=feature, before=request, after=given)
        token = _changes.set((*_changes.get(), change))
        try:
            return await call(given)
        finally:
            _changes.reset(token)

    reply: Message = await wrapper(handed_on, request)
    return reply


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
