"""An executor that answers from a script: a list, in order, or a rule."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

from msgspec import Struct

from koogbook import clock
from koogbook.errors import ExecutorError, ScriptExhaustedError
from koogbook.llm.executor import EndFrame, Frame, LocalExecutor, frames_of
from koogbook.llm.request import Request
from koogbook.messages.message import Message, assistant
from koogbook.messages.parts import ToolCall


class BrokenAnswer(Struct, frozen=True):
    """An answer that breaks off: a stream gives the words of ``text`` and then raises ``error``.

    Asked for without a stream, it raises at once, as a provider's library does.
    """

    text: str
    error: BaseException


Answer = str | Message | ToolCall | list[ToolCall] | BrokenAnswer | BaseException
Rule = Callable[[Request], Answer | Awaitable[Answer]]


class ScriptedExecutor(LocalExecutor):
    """Gives the answers of a list one after another, or asks a rule for each request.

    An answer is a text, a message, one or several tool calls, an exception to raise, or a :class:`BrokenAnswer`.
    ``requests`` keeps what was asked.

    Raises:
        ScriptExhaustedError: More requests than answers.
    """

    def __init__(self, script: Iterable[Answer] | Rule) -> None:
        super().__init__()
        if isinstance(script, str | Message | ToolCall | dict):
            raise TypeError(
                f"A script is a list of answers or a function of the request, not {type(script).__name__}. "
                f"For one answer: ScriptedExecutor([{script!r:.40}])."
            )
        self._rule = script if callable(script) else None
        self._answers = [] if callable(script) else list(script)
        self.requests: list[Request] = []

    async def answer(self, request: Request) -> Message:
        """See the class."""
        given = await self._given(request)
        if isinstance(given, BrokenAnswer):
            raise given.error
        return self._message(given)

    async def stream(self, request: Request) -> AsyncIterator[Frame]:
        """See :class:`~koogbook.llm.executor.PromptExecutor`."""
        self._require_open()
        given = await self._given(request)
        message = assistant(given.text) if isinstance(given, BrokenAnswer) else self._message(given)
        for frame in frames_of(message):
            await clock.sleep(0)
            if isinstance(given, BrokenAnswer) and isinstance(frame, EndFrame):
                raise given.error
            yield frame

    async def _given(self, request: Request) -> Answer:
        self.requests.append(request)
        return await self._next(request)

    def _message(self, given: Answer) -> Message:
        if isinstance(given, BaseException):
            raise given
        if isinstance(given, Message):
            return given
        if isinstance(given, str):
            return assistant(given, metadata={"answered_by": "ScriptedExecutor", "model": False})
        calls = [given] if isinstance(given, ToolCall) else given
        if not isinstance(calls, list) or not all(isinstance(call, ToolCall) for call in calls):
            raise ExecutorError(
                f"Answer {len(self.requests)} of the script is {given!r:.60}; an answer is a text, a message, a tool "
                "call, a list of tool calls, or an exception to raise."
            )
        return assistant(calls=calls, metadata={"answered_by": "ScriptedExecutor", "model": False})

    async def _next(self, request: Request) -> Answer:
        if self._rule is not None:
            given = self._rule(request)
            return await given if inspect.isawaitable(given) else given
        asked = len(self.requests)
        if asked > len(self._answers):
            raise ScriptExhaustedError(
                f"The script has {len(self._answers)} answers and this is request {asked} "
                f"(purpose {request.purpose!r}). Add an answer, or give a rule: ScriptedExecutor(lambda request: ...)."
            )
        return self._answers[asked - 1]
