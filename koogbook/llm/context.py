"""The LLM context of a running agent: prompt, tools and model behind one fair lock."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from types import TracebackType
from typing import Any, Generic, TypeVar

from msgspec import Struct

from koogbook import clock
from koogbook.code_place import calling_place
from koogbook.errors import NestedSessionError, SessionClosedError, SessionTimeoutError
from koogbook.events import (
    PromptChanged,
    SessionAcquired,
    SessionClosed,
    SessionCommitted,
    SessionDiscarded,
    SessionEvent,
    SessionOpened,
    SessionRefused,
    SessionSlow,
    SessionTimedOut,
    SessionWaiting,
)
from koogbook.llm.calls import ModelCalls
from koogbook.llm.rw_lock import LockStatistics, Mode, RWLock, Ticket, require_timeout
from koogbook.llm.session import LLMReadSession, LLMWriteSession
from koogbook.messages.ledger import Ledger
from koogbook.messages.model import LLModel
from koogbook.messages.prompt import Prompt
from koogbook.pipeline import EventLog, current_path
from koogbook.tools.tool import ToolRegistry

#: (session, strategy or None, preserve_memory, allow_longer) -> what became of each message
Compressor = Callable[[LLMWriteSession, Any, bool, bool | None], Awaitable[Ledger]]

_session_numbers = itertools.count(1)
_CLOCK_ERROR = 1e-6  # seconds; timers and sums of floats are not more exact
_Session = TypeVar("_Session", bound=LLMReadSession)


class Committed(Struct, frozen=True):
    """The last committed state of a context, as an immutable value."""

    prompt: Prompt
    tools: ToolRegistry
    model: LLModel


class LLMContext:
    """Holds what sessions read and write (Koog's ``AIAgentLLMContext``).

    ``wait_limit`` and ``slow_after`` are in seconds.

    ``compat="koog"`` switches Koog's own defaults on where they are less careful.

    The lock guards this one context. It orders neither two runs on one session id nor other processes.
    """

    __slots__ = (
        "__weakref__",
        "_open",
        "_watch",
        "calls",
        "committed",
        "compat",
        "compressor",
        "lock",
        "log",
        "name",
        "slow_after",
        "wait_limit",
    )

    def __init__(
        self,
        name: str,
        *,
        prompt: Prompt,
        tools: ToolRegistry,
        model: LLModel,
        calls: ModelCalls,
        compressor: Compressor,
        wait_limit: float = 10.0,
        slow_after: float = 30.0,
        compat: str = "",
    ) -> None:
        self.name = name
        self.compat = compat
        self.committed = Committed(prompt, tools, model)
        self.calls = calls
        self.log: EventLog = calls.log
        self.compressor = compressor
        self.wait_limit = require_timeout(wait_limit)
        self.slow_after = slow_after
        self.lock = RWLock(name)
        self._open: dict[int, SessionScope[Any]] = {}
        self._watch: clock.TimerHandle | None = None

    def read_session(self, *, timeout: float | None = None) -> SessionScope[LLMReadSession]:
        """A scope that reads (Koog's ``readSession``): ``async with ctx.llm.read_session() as session``.

        ``timeout`` bounds the wait for the lock, in seconds (default 10; ``math.inf`` waits for ever).

        Raises:
            ValueError: ``timeout`` is negative or not a number.
            NestedSessionError: On entering, when this task has a write session open on the same context.
            SessionTimeoutError: On entering, when the lock was not to be had in time.
        """
        return SessionScope(self, LLMReadSession, "read", timeout)

    def write_session(self, *, timeout: float | None = None) -> SessionScope[LLMWriteSession]:
        """A scope that may change prompt, tools and model (Koog's ``writeSession``).

        ``async with ctx.llm.write_session() as session``; what it changed is committed when the block ends normally.

        ``timeout`` bounds the wait for the lock, in seconds (default 10; ``math.inf`` waits for ever).

        Raises:
            ValueError: ``timeout`` is negative or not a number.
            NestedSessionError: On entering, when this task has any session open on the same context.
            SessionTimeoutError: On entering, when the lock was not to be had in time.
        """
        return SessionScope(self, LLMWriteSession, "write", timeout)

    def statistics(self) -> LockStatistics:
        """Who holds the lock and who waits, without taking it."""
        return self.lock.statistics()

    def entered(self, scope: SessionScope[Any], number: int) -> None:
        """A session holds the lock now; one timer for all of them looks after those that hold it for long."""
        self._open[number] = scope
        if self._watch is None:
            self._look_after(self.slow_after)

    def left(self, number: int) -> None:
        """A session holds the lock no more."""
        self._open.pop(number, None)

    def _look(self) -> None:
        ages = [scope.report_if_slow(self.slow_after) for scope in list(self._open.values())]
        young = [age for age in ages if age is not None]
        self._watch = None
        if young:
            self._look_after(self.slow_after - max(young))

    def _look_after(self, seconds: float) -> None:
        # The timer stays when the run has ended, which is cheaper than to cancel one for each session; it may not keep
        # the context alive.
        weak_look = weakref.WeakMethod(self._look)
        self._watch = clock.call_later(seconds, partial(_call_if_alive, weak_look))

    def restore(self, committed: Committed) -> None:
        """Put back a saved state before a run goes on; no session may be open."""
        self.committed = committed


class SessionScope(Generic[_Session]):
    """The ``async with`` around one session; made by the context, used once."""

    __slots__ = (
        "_acquired",
        "_asked",
        "_context",
        "_kind",
        "_path",
        "_reported",
        "_session",
        "_ticket",
        "_timeout",
    )

    def __init__(self, context: LLMContext, kind: type[_Session], mode: Mode, timeout: float | None) -> None:
        self._context = context
        self._kind = kind
        self._timeout = context.wait_limit if timeout is None else require_timeout(timeout)
        self._session: _Session | None = None
        self._reported = False
        self._asked: float | None = None
        self._acquired: float | None = None
        self._path = current_path.get()
        who = self._path.rpartition("/")[2]
        self._ticket = Ticket(next(_session_numbers), mode, who, calling_place())

    async def __aenter__(self) -> _Session:
        lock, ticket = self._context.lock, self._ticket
        if self._asked is not None:
            raise SessionClosedError(
                f"The session from {ticket.place} was entered before, and each is for one block. Nothing was changed. "
                "Ask the context for another one: ctx.llm.write_session() or ctx.llm.read_session()."
            )
        self._asked = ticket.since = clock.monotonic()
        try:
            self._emit(SessionOpened)
            if not lock.try_acquire(ticket):
                self._emit(SessionWaiting, ahead=lock.ahead_of(ticket))
                await lock.wait(ticket, self._timeout)
            self._acquired = clock.monotonic()
            self._emit(SessionAcquired, waited=self._acquired - self._asked)
            self._context.entered(self, ticket.number)
            state = self._context.committed
            self._session = self._kind(self._context, state.prompt, state.tools, state.model)
        except BaseException as problem:
            self._not_entered(problem)
            raise
        return self._session

    def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> Coroutine[Any, Any, None]:
        # A plain function: it is done before anything is awaited, so that no cancellation, not even one of a task that
        # was made of it and never ran, comes between commit and release.
        self._leave(problem)
        return _nothing()

    def _leave(self, problem: BaseException | None) -> None:
        context, session = self._context, self._session
        if session is None or session._closed:
            raise SessionClosedError(
                f"The session from {self._ticket.place} is not open. Nothing was changed."
            )
        context.left(self._ticket.number)
        before = context.committed
        writes = self._ticket.mode == "write"
        if writes and problem is None:
            context.committed = Committed(session._prompt, session._tools, session._model)
        session._close()
        context.lock.release(self._ticket)
        if problem is not None:
            self._discarded(problem)
            return
        try:
            if writes:
                self._committed(before.prompt, session._prompt)
        except BaseException:
            self._emit(SessionClosed, quietly=True, held=self._held_for())
            raise
        self._emit(SessionClosed, held=self._held_for())

    def _not_entered(self, problem: BaseException) -> None:
        """Leave lock and queue, whatever it was that went wrong, and say so."""
        lock, ticket = self._context.lock, self._ticket
        holders = _held(lock.statistics())
        lock.withdraw(ticket)
        self._context.left(ticket.number)
        if self._acquired is not None:
            self._discarded(problem)
        elif isinstance(problem, NestedSessionError):
            mode = next((entry.mode for entry in holders if entry.place == problem.first), "write")
            self._emit(SessionRefused, quietly=True, first=problem.first, first_mode=mode)
        elif isinstance(problem, SessionTimeoutError):
            waited = clock.monotonic() - (self._asked or 0.0)
            named = tuple(f"{entry.who} {entry.place}" for entry in holders)
            self._emit(SessionTimedOut, quietly=True, waited=waited, holders=named)
        else:
            self._emit(SessionClosed, quietly=True)

    def _discarded(self, problem: BaseException) -> None:
        if self._ticket.mode == "write":
            self._emit(SessionDiscarded, quietly=True, error=f"{type(problem).__name__}: {problem}")
        self._emit(SessionClosed, quietly=True, held=self._held_for())

    def _held_for(self) -> float:
        return 0.0 if self._acquired is None else clock.monotonic() - self._acquired

    def _committed(self, before: Prompt, after: Prompt) -> None:
        self._emit(SessionCommitted, messages=len(after), tokens=after.tokens)
        if after is not before and (len(after) != len(before) or not after.is_extension_of(before)):
            self._context.log.emit(
                PromptChanged,
                self._path,
                context=self._context.name,
                messages_before=len(before),
                messages=len(after),
                tokens_before=before.tokens,
                tokens=after.tokens,
                replaced=not after.is_extension_of(before),
            )

    def report_if_slow(self, limit: float) -> float | None:
        """Report once that the lock has been held for ``limit`` seconds; the seconds so far while it has not."""
        held = self._held_for()
        if held < limit - _CLOCK_ERROR:
            return held
        if not self._reported:
            self._reported = True
            self._emit(SessionSlow, quietly=True, held=held)
        return None

    def _emit(self, kind: type[SessionEvent], *, quietly: bool = False, **fields: Any) -> None:
        ticket, log = self._ticket, self._context.log
        (log.emit_quietly if quietly else log.emit)(
            kind,
            self._path,
            context=self._context.name,
            session=ticket.number,
            mode=ticket.mode,
            who=ticket.who,
            place=ticket.place,
            **fields,
        )


def _call_if_alive(method: weakref.WeakMethod[Callable[[], None]]) -> None:
    called = method()
    if called is not None:
        called()


async def _nothing() -> None:
    """What is left to await when a session has ended."""


def _held(statistics: LockStatistics) -> list[Any]:
    return [*statistics.readers, *([statistics.writer] if statistics.writer else [])]
