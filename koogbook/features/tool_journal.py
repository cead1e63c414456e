"""The feature that keeps the journal of tool executions: a row before a tool runs, and its end before anything else."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeVar

from koogbook import clock
from koogbook.events import Notice
from koogbook.messages.message import Message
from koogbook.messages.parts import ToolCall
from koogbook.pipeline import EventLog, Interceptor, Stage, current_path
from koogbook.runtime.context import Context
from koogbook.tools.environment import let_through
from koogbook.tools.failures import in_words
from koogbook.tools.journal import JournalStorage, Status, ToolExecution, tool_executions

T = TypeVar("T")
OnError = Literal["raise", "log"]
_METHODS = ("begin", "end", "executions")

#: The run that the current task belongs to. A run that a tool starts on another agent has its own, and puts it back.
_current: ContextVar[Context | None] = ContextVar("koogbook_journal_run", default=None)


@dataclass(frozen=True)
class ToolJournal:
    """Keeps every tool execution of an agent durably: which tool, with which arguments, and how it ended.

    A row is written before the tool runs, and its end before its result goes on, so that after a crash it is known
    what ran and what may have run. What another feature answers in place of a tool did not run and is not in it. Where
    one nearer to the tool tries again, or puts another result in place of the tool's, the row is of what came of it.

    Args:
        storage: Where it is kept: ``SqliteJournal()``, also in the file of the checkpoints, or ``MemoryJournal()``.
        on_error: ``"raise"`` stops the run when the journal cannot be written, before the tool runs; ``"log"`` reports
            it and goes on without.

    Raises:
        TypeError: The storage is none.
        ValueError: ``on_error`` is another word.
    """

    key: ClassVar[str] = "ToolJournal"
    storage: JournalStorage
    on_error: OnError = "raise"

    def __post_init__(self) -> None:
        if isinstance(self.storage, type) or not all(hasattr(self.storage, one) for one in _METHODS):
            raise TypeError(
                f"storage is where tool executions are kept, not {self.storage!r:.60}. For a file: "
                'kb.ToolJournal(kb.SqliteJournal("path.db")).'
            )
        if self.on_error not in ("raise", "log"):
            raise ValueError(f"on_error is 'raise' or 'log', not {self.on_error!r}.")

    def install(self, agent: Any) -> InstalledToolJournal:
        """Make the state of one installation."""
        return InstalledToolJournal(self)


class InstalledToolJournal:
    """One installation of :class:`ToolJournal` on one agent."""

    key = "ToolJournal"
    subscriptions: tuple[Any, ...] = ()

    def __init__(self, config: ToolJournal) -> None:
        self.config = config
        self.storage = config.storage
        self.interceptors = (JournalInterceptor(config),)

    def bind(self, ctx: Context) -> RunJournal:
        """What ``ctx.feature("ToolJournal")`` gives."""
        return RunJournal(self.storage, ctx)

    async def close(self) -> None:
        """Nothing to flush: each row was awaited. The storage belongs to whoever made it."""


class RunJournal:
    """The journal of one run's session, for its nodes."""

    __slots__ = ("_ctx", "storage")

    def __init__(self, storage: JournalStorage, ctx: Context) -> None:
        self.storage = storage
        self._ctx = ctx

    def executions(self) -> tuple[ToolExecution, ...]:
        """Those of this session so far, of earlier runs too; ``run_id`` tells them apart."""
        return self.storage.executions(self._ctx.session_id)


class JournalInterceptor(Interceptor):
    """Writes a row around each tool call, nearest to the tool: with the arguments that it really gets."""

    stage = Stage.INNERMOST

    def __init__(self, config: ToolJournal) -> None:
        self._storage = config.storage
        self._raises = config.on_error == "raise"

    async def around_run(self, run: Context, value: Any, call: Callable[[Any], Awaitable[Any]]) -> Any:
        """Remember whose tool calls these are."""
        token = _current.set(run)
        try:
            return await call(value)
        finally:
            _current.reset(token)

    async def around_tool_call(
        self, tool_call: ToolCall, call: Callable[[ToolCall], Awaitable[Message]]
    ) -> Message:
        """Write the row, run the tool, write its end."""
        run = _current.get()
        if run is None:  # no run of an agent that has this feature
            return await call(tool_call)
        began = clock.monotonic()
        number = await self._begin(run, tool_call)
        if number is None:
            return await call(tool_call)
        before = len(run.log.events)
        ran: list[tuple[EventLog, int]] = []
        token = let_through.set(ran)
        try:
            result = await call(tool_call)
        except BaseException as problem:
            end = _told(run, before, ran) or _raised(problem)
            await _whole(self._end(run, number, end, began))
            raise
        finally:
            let_through.reset(token)
        end = _answered(result, lambda: _told(run, before, ran))
        lost = await _whole(self._end(run, number, end, began))
        if lost is not None and self._raises:
            raise lost
        return result

    async def _begin(self, run: Context, tool_call: ToolCall) -> int | None:
        """The number that the store gave; None where it failed and the run is to go on."""
        writing = asyncio.ensure_future(self._write_begin(run, tool_call))
        try:
            number = await _whole(writing)
        except asyncio.CancelledError:
            if isinstance(kept := writing.result(), int):  # it is in the journal, and will not run
                end = _End("cancelled", error="cancelled before it ran")
                await _whole(self._end(run, kept, end, clock.monotonic()))
            raise
        if isinstance(number, int):
            run.log.acted["ToolJournal"] = None
            return number
        if self._raises:
            raise number
        return None

    async def _write_begin(self, run: Context, tool_call: ToolCall) -> int | Exception:
        started = ToolExecution(
            number=0,
            session_id=run.session_id,
            run_id=run.run_id,
            path=current_path.get(),
            call_id=tool_call.id,
            tool=tool_call.tool,
            args=tool_call.args,
            started=clock.now(),
        )
        try:
            return await self._storage.begin(started)
        except Exception as problem:
            _say(run, f"a call of {tool_call.tool}", problem)
            return problem

    async def _end(self, run: Context, number: int, end: _End, began: float) -> Exception | None:
        seconds = clock.monotonic() - began
        try:
            await self._storage.end(
                run.session_id, number, status=end.status, output=end.output, error=end.error, seconds=seconds
            )
        except Exception as problem:
            _say(run, f"the end of tool execution {number} ({end.status})", problem)
            return problem
        return None


@dataclass(frozen=True)
class _End:
    """How an execution ended."""

    status: Status
    output: str = ""
    error: str = ""


def _told(run: Context, before: int, ran: list[tuple[EventLog, int]]) -> _End | None:
    """How the last of these executions ended, by the events behind so many; None where they do not say.

    They have it from the tool itself: a listener that raises afterwards does not change what the tool did, and the
    words around an error are for the model.
    """
    # Only of this run: an interceptor in between may ask another agent, whose tools run in its own.
    number = next((number for log, number in reversed(ran) if log is run.log), None)
    since = run.log.events[before:] if number is not None else ()
    for told in tool_executions(event for event in since if getattr(event, "number", None) == number):
        return None if told.status == "started" else _End(told.status, told.output, told.error)
    return None


def _raised(problem: BaseException) -> _End:
    status: Status = "cancelled" if isinstance(problem, asyncio.CancelledError) else "failed"
    return _End(status, error=in_words(problem))


def _answered(result: Any, told: Callable[[], _End | None]) -> _End:
    """What came of a call that gave a result: the output is what the model gets, whatever the tool gave.

    A tool that succeeded did so also where an interceptor made an error of it, since what it did is done.
    """
    if not isinstance(result, Message) or not result.results:  # of an interceptor; it is refused further out
        return told() or _End("failed", error=f"no result, but {type(result).__name__}")
    only = result.results[0]
    if not only.is_error:
        return _End("succeeded", output=only.output)
    end = told() or _End("failed", error=only.output)
    if end.status == "succeeded":
        return replace(end, output=only.output)
    # Without the words around it, where it is the tool's own error still.
    return end if only.output.endswith(end.error) else replace(end, error=only.output)


def _say(run: Context, what: str, problem: Exception) -> None:
    text = f"{what} is not in the journal of tool executions: {type(problem).__name__}: {problem}"
    # Quietly: a cancellation may be on its way, and no listener may put anything in its place.
    run.log.emit_quietly(Notice, kind="tool execution not kept", text=text, level="warning")
    # Also to the program's log: after a crash nobody has the report any more.
    logging.getLogger("koogbook").warning("session %r: %s", run.session_id, text)


async def _whole(work: Coroutine[Any, Any, T] | asyncio.Future[T]) -> T:
    """Await work to its end, however often the task is cancelled meanwhile; the cancellation comes after it."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as problem:
            cancelled = problem
    if cancelled is not None:
        raise cancelled
    return task.result()
