"""One session's way into the lock and out of it, told step by step as events."""

from __future__ import annotations

import itertools
from collections.abc import Coroutine
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from koogbook import clock
from koogbook.code_place import calling_line, excerpt
from koogbook.errors import NestedSessionError, SessionClosedError, SessionTimeoutError
from koogbook.events import (
    Notice,
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
from koogbook.llm.rw_lock import LockStatistics, Mode, Ticket, require_timeout
from koogbook.llm.session import LLMReadSession
from koogbook.messages.prompt import Prompt
from koogbook.pipeline import current_path

if TYPE_CHECKING:
    from koogbook.llm.context import LLMContext

_session_numbers = itertools.count(1)
_CLOCK_ERROR = 1e-6  # seconds; timers and sums of floats are not more exact
_FRAMES_INSIDE = 2  # from a scope up to who called write_session()
_Session = TypeVar("_Session", bound=LLMReadSession)


class SessionScope(Ticket, Generic[_Session]):
    """The ``async with`` around one session, and its wish for the lock; made by the context, used once."""

    __slots__ = (
        "_acquired",
        "_asked",
        "_context",
        "_dropped",
        "_kind",
        "_node",
        "_reported",
        "_session",
        "_timeout",
    )

    def __init__(self, context: LLMContext, kind: type[_Session], mode: Mode, timeout: float | None) -> None:
        self._timeout = context.wait_limit if timeout is None else require_timeout(timeout)
        self._node = node = current_path.get()
        who, place = node.rpartition("/")[2], calling_line(_FRAMES_INSIDE)
        super().__init__(next(_session_numbers), mode, who, *place)
        self._context = context
        self._kind = kind
        self._session: _Session | None = None
        self._asked = self._reported = self._dropped = False
        self._acquired: float | None = None

    async def __aenter__(self) -> _Session:
        context = self._context
        lock = context.lock
        if self._asked:
            raise SessionClosedError(
                f"The session from {self.place} was entered before, and each is for one block. Nothing was changed. "
                "Ask the context for another one: ctx.llm.write_session() or ctx.llm.read_session()."
            )
        self._asked = True
        self.who = context._who(self.who)
        self.since = clock.monotonic()
        try:
            context._scopes[self.number] = self
            self._opened()
            entered = lock.try_acquire(self)
            if lock.left_behind:
                context._drop(lock.take_left_behind())
            if not entered:
                self._waiting(*lock.ahead_of(self))
                await lock.queue_up(self, self._timeout)
            self._entered()
            if context._watched is not lock.loop:
                context._watch(lock.loop)
            state = context.committed
            self._session = session = self._kind(context, state.prompt, state.tools, state.model)
        except BaseException as problem:
            self._not_entered(problem)
            raise
        return session

    def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> Coroutine[Any, Any, None]:
        # A plain function: it is done before anything is awaited, so that no cancellation, not even one of a task that
        # was made of it and never ran, comes between commit and release.
        self._leave(problem)
        assert self._session is not None
        return self._session._ended()

    def _leave(self, problem: BaseException | None) -> None:
        context, session = self._context, self._session
        if session is None or session._closed:
            if self._dropped and problem is not None:
                return
            raise SessionClosedError(f"The session from {self.place} is not open. Nothing was changed.")
        session._ending()
        context._scopes.pop(self.number, None)
        before: Prompt | None = None
        if problem is None and self.mode == "write":
            before = context._commit(session._prompt, session._tools, session._model)
        session._close()
        context.lock.release(self)
        if problem is not None:
            self._discarded(f"{type(problem).__name__}: {problem}")
            return
        try:
            if before is not None:
                self._committed(before, session._prompt)
        except BaseException:
            self._closed(may_raise=False)
            raise
        self._closed()

    def drop(self) -> None:
        """End a session on an event loop that was closed: whatever becomes of its task, it is over."""
        self._dropped = True
        if self._session is not None:
            self._session._close()
        self._discarded("its event loop was closed")

    def report_if_slow(self, limit: float) -> float | None:
        """Report once that the lock has been held for ``limit`` seconds; the seconds so far while that is to come."""
        if self._acquired is None:
            return None
        held = clock.monotonic() - self._acquired
        if held < limit - _CLOCK_ERROR:
            return held
        if not self._reported:
            self._reported = True
            self._emit_quietly(SessionSlow, held=held)
        return None

    def _not_entered(self, problem: BaseException) -> None:
        """Leave lock and queue, whatever it was that went wrong, and say so."""
        context = self._context
        holders = _holders(context.lock.statistics())
        context.lock.withdraw(self)
        context._scopes.pop(self.number, None)
        if self._dropped:
            return
        if isinstance(problem, NestedSessionError) and (against := self.against) is not None:
            self._emit_quietly(
                SessionRefused,
                first=against.place,
                first_mode=against.mode,
                first_code=excerpt(against.path, against.line),
                code=excerpt(self.path, self.line),
                waits=self.waits,
            )
        elif isinstance(problem, SessionTimeoutError):
            waited = clock.monotonic() - self.since
            self._emit_quietly(SessionTimedOut, waited=waited, holders=holders)
        else:
            self._discarded(f"{type(problem).__name__}: {problem}")

    # ---- what is told; those of every session are made without a detour, because they come at every step

    def _opened(self) -> None:
        log = self._context.log
        log.add(
            SessionOpened(
                time=log.offset + self.since,
                at=self.since,
                run_id=log.run_id,
                session_id=log.session_id,
                path=self._node,
                context=self._context.name,
                session=self.number,
                mode=self.mode,
                who=self.who,
                place=self.place,
            )
        )

    def _waiting(self, ahead: tuple[int, ...], ahead_more: int) -> None:
        log, at = self._context.log, clock.monotonic()
        log.add(
            SessionWaiting(
                time=log.offset + at,
                at=at,
                run_id=log.run_id,
                session_id=log.session_id,
                path=self._node,
                context=self._context.name,
                session=self.number,
                mode=self.mode,
                who=self.who,
                place=self.place,
                ahead=ahead,
                ahead_more=ahead_more,
            )
        )

    def _entered(self) -> None:
        log = self._context.log
        self._acquired = at = clock.monotonic()
        log.add(
            SessionAcquired(
                time=log.offset + at,
                at=at,
                run_id=log.run_id,
                session_id=log.session_id,
                path=self._node,
                context=self._context.name,
                session=self.number,
                mode=self.mode,
                who=self.who,
                place=self.place,
                waited=at - self.since,
            )
        )

    def _committed(self, before: Prompt, after: Prompt) -> None:
        log, at = self._context.log, clock.monotonic()
        log.add(
            SessionCommitted(
                time=log.offset + at,
                at=at,
                run_id=log.run_id,
                session_id=log.session_id,
                path=self._node,
                context=self._context.name,
                session=self.number,
                mode=self.mode,
                who=self.who,
                place=self.place,
                messages=len(after),
                tokens=after.tokens,
            )
        )
        if after is not before and (len(after) != len(before) or not after.is_extension_of(before)):
            log.emit(
                PromptChanged,
                self._node,
                context=self._context.name,
                messages_before=len(before),
                messages=len(after),
                tokens_before=before.tokens,
                tokens=after.tokens,
                replaced=not after.is_extension_of(before),
            )
            if self._context.over:
                log.emit_quietly(
                    Notice,
                    self._node,
                    kind="late change",
                    text=f"{self.who} at {self.place} changed the history of {self._context.over}, which had ended: "
                    "nothing of it goes on. Await the task before it ends.",
                )

    def _discarded(self, error: str) -> None:
        """The session is over without a commit; one that never held the lock has lost nothing."""
        if self.mode == "write" and self._acquired is not None:
            self._emit_quietly(SessionDiscarded, error=error)
        self._closed(may_raise=False)

    def _closed(self, *, may_raise: bool = True) -> None:
        log, at = self._context.log, clock.monotonic()
        event = SessionClosed(
            time=log.offset + at,
            at=at,
            run_id=log.run_id,
            session_id=log.session_id,
            path=self._node,
            context=self._context.name,
            session=self.number,
            mode=self.mode,
            who=self.who,
            place=self.place,
            held=0.0 if self._acquired is None else at - self._acquired,
        )
        (log.add if may_raise else log.add_quietly)(event)

    def _emit_quietly(self, kind: type[SessionEvent], **fields: Any) -> None:
        self._context.log.emit_quietly(
            kind,
            self._node,
            context=self._context.name,
            session=self.number,
            mode=self.mode,
            who=self.who,
            place=self.place,
            **fields,
        )


def _holders(statistics: LockStatistics) -> tuple[str, ...]:
    held = [*statistics.readers, *([statistics.writer] if statistics.writer else [])]
    return tuple(f"{entry.who} {entry.place}" for entry in held)
