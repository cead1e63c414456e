"""One request to one model: asked for the whole answer, or read piece by piece."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from msgspec import Struct

from koogbook.errors import ProviderError
from koogbook.events import Notice
from koogbook.llm.executor import EndFrame, Frame, ReasoningFrame, TextFrame, ToolCallFrame, tell
from koogbook.llm.providers.exchange import Exchange, exchange
from koogbook.llm.providers.faults import Faults
from koogbook.llm.providers.from_provider import call_of, is_half_a_call, message_of, usage_of
from koogbook.llm.providers.keys import Redactor
from koogbook.llm.providers.to_provider import Outgoing
from koogbook.messages.message import Message
from koogbook.messages.parts import Attachment

T = TypeVar("T")


class Question(Struct, frozen=True, kw_only=True):
    """A request that is ready to be sent; ``model`` is the one of pydantic-ai."""

    model: Any
    outgoing: Outgoing
    answered_by: str
    faults: Faults
    redactor: Redactor
    timeout: float
    says_its_end: bool = True

    async def answer(self) -> Message:
        """The whole answer.

        Raises:
            ExecutorError: See :class:`~koogbook.llm.providers.faults.Faults`.
        """
        from pydantic_ai.direct import model_request

        seen = Exchange()
        try:
            with watched(seen):
                response = await self.in_time(
                    model_request(
                        self.model,
                        self.outgoing.messages,
                        model_settings=self.outgoing.settings,  # type: ignore[arg-type]
                        model_request_parameters=self.outgoing.parameters,
                    )
                )
            return self.message(response)
        except Exception as problem:
            fault = self.faults.fault(problem, seen)
        raise fault

    def message(self, response: Any, *, incomplete: bool = False) -> Message:
        """The answer as a message; ``incomplete`` where its end did not come.

        Raises:
            ProviderError: There is nothing in it.
        """
        made = message_of(response, self.answered_by, self.redactor, incomplete=incomplete)
        if made.text.strip() or made.calls or any(isinstance(part, Attachment) for part in made.parts):
            return made
        refusal = str((response.provider_details or {}).get("refusal", ""))
        raise self.faults.empty(made.finish_reason, refusal, made.usage)

    async def in_time(self, work: Awaitable[T], *, began: bool = False) -> T:
        """What that gives, if it comes in time.

        Raises:
            ProviderError: It did not.
        """
        try:
            async with asyncio.timeout(self.timeout) as limit:
                return await work
        except TimeoutError:
            if not limit.expired():
                raise
        raise self.faults.slow(began=began)


class Reading:
    """A streamed answer on its way."""

    __slots__ = ("_began", "_events", "_manager", "_over", "_pieces", "_question", "_seen", "_stream")

    def __init__(self, question: Question) -> None:
        self._question = question
        self._seen = Exchange()
        self._manager: Any = None
        self._stream: Any = None
        self._events: Any = None
        self._pieces = Pieces(question.redactor)
        self._began = False
        self._over = False

    async def next(self) -> tuple[Frame, ...]:
        """The next frames, at least one; none after the end.

        Raises:
            ExecutorError: See :class:`~koogbook.llm.providers.faults.Faults`.
        """
        if self._over:
            return ()
        try:
            return await self._next()
        except Exception as problem:
            fault = self._question.faults.fault(problem, self._seen, began=self._began)
        if isinstance(fault, ProviderError) and fault.usage is None and self._stream is not None:
            # Some say at the beginning what the request cost, and then break off.
            fault.usage = usage_of(self._stream.usage)
        raise fault

    async def close(self) -> None:
        """Let go of the connection; an answer that is not whole yet is cut off. Idempotent."""
        stream, manager = self._stream, self._manager
        self._stream = self._manager = None
        self._over = True
        # What goes wrong while a line is cut says nothing of the answer.
        if stream is not None:
            with suppress(Exception):
                await stream.cancel()
        if manager is not None:
            with suppress(Exception):
                await manager.__aexit__(None, None, None)

    async def _next(self) -> tuple[Frame, ...]:
        if self._events is None:
            await self._open()
        while True:
            event = await self._question.in_time(anext(self._events, None), began=self._began)
            if event is None:
                return self._end()
            frames = tuple(self._pieces.frames(event))
            if frames:
                self._began = True
                return frames

    async def _open(self) -> None:
        from pydantic_ai.direct import model_request_stream

        question = self._question
        with watched(self._seen):
            manager = model_request_stream(
                question.model,
                question.outgoing.messages,
                model_settings=question.outgoing.settings,  # type: ignore[arg-type]
                model_request_parameters=question.outgoing.parameters,
            )
            self._stream = await question.in_time(manager.__aenter__())
        self._manager = manager
        self._events = aiter(self._stream)

    def _end(self) -> tuple[Frame, ...]:
        response = self._stream.get()
        details = response.provider_details or {}
        # Where no word of the provider's is there, the library has made one up.
        unsaid = not (details.get("finish_reason") or details.get("refusal"))
        if unsaid and self._question.says_its_end:
            raise self._question.faults.cut()
        # A server that never gives a reason still says that it is done; a line that was cut does not.
        incomplete = unsaid and not self._seen.done
        if incomplete and any(is_half_a_call(part) for part in response.parts):
            raise self._question.faults.half_a_call()
        frame = EndFrame(self._question.message(response, incomplete=incomplete))
        self._over = True
        if incomplete:
            tell(
                Notice,
                kind="request",
                text=f"The answer of {self._question.answered_by} came to no end: its stream stopped without a reason "
                "and without its last event, so that the end of the text may be missing",
                level="warning",
            )
        return (frame,)


@contextmanager
def watched(seen: Exchange) -> Iterator[None]:
    """Note there what goes over the wire. Nothing is given to a reader inside, so the task stays the same."""
    token = exchange.set(seen)
    try:
        yield
    finally:
        exchange.reset(token)


class Pieces:
    """Makes frames of the events of a stream, without what was sent beside the request."""

    __slots__ = ("_redactor", "_veil")

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._veil = redactor.veil()

    def frames(self, event: Any) -> Iterator[Frame]:
        """The frames in an event; the beginning of what may be a key waits for the next one."""
        match event.event_kind:
            case "part_start" if event.part.part_kind in ("text", "thinking"):
                yield from self._shown(event.part.part_kind, self._veil.over(event.part.content))
            case "part_delta" if event.delta.part_delta_kind in ("text", "thinking"):
                yield from self._shown(
                    event.delta.part_delta_kind, self._veil.over(event.delta.content_delta or "")
                )
            case "part_end" if event.part.part_kind in ("text", "thinking"):
                yield from self._shown(event.part.part_kind, self._veil.rest())
            case "part_end" if event.part.part_kind == "tool-call":
                yield ToolCallFrame(call_of(event.part, self._redactor))
            case _:
                pass

    def _shown(self, kind: str, text: str) -> Iterator[Frame]:
        if text:
            yield TextFrame(text) if kind == "text" else ReasoningFrame(text)
