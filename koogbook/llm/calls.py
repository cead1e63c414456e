"""Requests of a run on their way to the executor: numbered, recorded, counted, intercepted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from koogbook import clock
from koogbook.errors import ExecutorError
from koogbook.events import LLMCallCompleted, LLMCallFailed, LLMCallStarting
from koogbook.llm.executor import PromptExecutor
from koogbook.llm.request import Purpose, Request
from koogbook.messages.message import Message
from koogbook.pipeline import EventLog, Interceptor, current_path, wrapped, wrappers


class CallRecord(Struct, frozen=True, kw_only=True):
    """One request as it went out, and what came back; numbers count from 1 within the run."""

    number: int
    path: str
    request: Request
    reply: Message | None
    seconds: float
    error: str = ""


class PurposeUsage(Struct, frozen=True, kw_only=True):
    """Calls and tokens for one purpose; tokens are the provider's figures, estimates where it gave none."""

    purpose: Purpose
    calls: int
    input_tokens: int
    output_tokens: int


class ModelCalls:
    """The way from a session to the executor, shared by all contexts of a run."""

    __slots__ = ("_chain", "executor", "log", "records")

    def __init__(
        self, executor: PromptExecutor, log: EventLog, interceptors: Sequence[Interceptor] = ()
    ) -> None:
        self.executor = executor
        self.log = log
        self.records: list[CallRecord] = []
        self._chain: Callable[[Request], Awaitable[Message]] = wrapped(
            wrappers(interceptors, "around_llm_call", log.acted), self._send
        )

    async def execute(self, request: Request) -> Message:
        """The executor's answer to this request, after the interceptors had their say.

        Raises:
            ExecutorError: What came back is no assistant message.
        """
        reply = await self._chain(request)
        _require_answer(reply, "The chain of interceptors")
        return reply

    def usage(self) -> tuple[PurposeUsage, ...]:
        """What was spent, for each purpose apart."""
        spent: dict[Purpose, list[int]] = {}
        for record in self.records:
            sums = spent.setdefault(record.request.purpose, [0, 0, 0])
            sums[0] += 1
            if record.reply is not None:
                usage = record.reply.usage
                given = usage.input_tokens if usage else None
                made = usage.output_tokens if usage else None
                sums[1] += record.request.tokens if given is None else given
                sums[2] += record.reply.tokens if made is None else made
        return tuple(
            PurposeUsage(purpose=purpose, calls=sums[0], input_tokens=sums[1], output_tokens=sums[2])
            for purpose, sums in spent.items()
        )

    async def _send(self, request: Request) -> Message:
        number = len(self.records) + 1
        self.records.append(
            CallRecord(number=number, path=current_path.get(), request=request, reply=None, seconds=0.0)
        )
        started = clock.monotonic()
        try:
            self.log.emit(
                LLMCallStarting,
                call=number,
                purpose=request.purpose,
                model=str(request.model),
                messages=len(request.messages),
                tokens=request.tokens,
                tools=tuple(spec.name for spec in request.tools),
            )
            reply = await self.executor.execute(request)
            _require_answer(reply, f"The executor {type(self.executor).__name__}")
        except BaseException as problem:
            self._failed(number, request, clock.monotonic() - started, problem)
            raise
        seconds = clock.monotonic() - started
        self.records[number - 1] = CallRecord(
            number=number, path=current_path.get(), request=request, reply=reply, seconds=seconds
        )
        self.log.emit(
            LLMCallCompleted,
            call=number,
            purpose=request.purpose,
            seconds=seconds,
            usage=reply.usage,
            finish_reason=reply.finish_reason,
        )
        return reply

    def _failed(self, number: int, request: Request, seconds: float, problem: BaseException) -> None:
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
            LLMCallFailed,
            call=number,
            purpose=request.purpose,
            seconds=seconds,
            error=error,
            cancelled=isinstance(problem, asyncio.CancelledError),
        )


def _require_answer(reply: object, who: str) -> None:
    if not isinstance(reply, Message) or reply.role != "assistant":
        what = f"a message of role {reply.role}" if isinstance(reply, Message) else type(reply).__name__
        raise ExecutorError(
            f"{who} answered with {what}; an answer is an assistant message. Nothing was appended."
        )
