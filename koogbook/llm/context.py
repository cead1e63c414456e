"""The LLM context of a running agent: prompt, tools and model behind one fair lock."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from koogbook import clock
from koogbook.llm.calls import ModelCalls
from koogbook.llm.rw_lock import LockStatistics, RWLock, Ticket, require_timeout
from koogbook.llm.scope import SessionScope
from koogbook.llm.session import LLMReadSession
from koogbook.llm.write_session import LLMWriteSession
from koogbook.messages.ledger import Ledger
from koogbook.messages.model import LLModel
from koogbook.messages.prompt import Prompt
from koogbook.pipeline import EventLog
from koogbook.tools.tool import ToolRegistry

#: (session, strategy or None, preserve_memory, allow_longer) -> what became of each message
Compressor = Callable[[LLMWriteSession, Any, bool, bool | None], Awaitable[Ledger]]


class Committed(Struct, frozen=True):
    """The last committed state of a context, as an immutable value."""

    prompt: Prompt
    tools: ToolRegistry
    model: LLModel


class LLMContext:
    """Holds what sessions read and write (Koog's ``AIAgentLLMContext``).

    ``wait_limit`` and ``slow_after`` are in seconds.

    ``compat="koog"`` switches Koog's own defaults on where they are less careful.

    The lock guards this one context. It orders neither two runs on one session id nor other processes. ``lock`` is
    another one than the fair :class:`RWLock` that is made where it is left out.
    """

    __slots__ = (
        "__weakref__",
        "_main",
        "_scopes",
        "_watched",
        "calls",
        "committed",
        "compat",
        "compressor",
        "lock",
        "log",
        "name",
        "over",
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
        lock: RWLock | None = None,
    ) -> None:
        self.name = name
        self.compat = compat
        self.committed = Committed(prompt, tools, model)
        self.calls = calls
        self.log: EventLog = calls.log
        self.compressor = compressor
        self.wait_limit = require_timeout(wait_limit)
        self.slow_after = require_timeout(slow_after)
        self.lock = RWLock(name) if lock is None else lock
        #: What has ended that it belonged to, in words: a later change of it is gone, and said so.
        self.over = ""
        #: The task that made it, which is the run's own: sessions of other tasks that have a name are told by it.
        self._main = _current_task()
        #: The sessions that hold the lock or wait for it.
        self._scopes: dict[int, SessionScope[Any]] = {}
        #: The loop on which somebody looks after slow sessions; None when nobody does.
        self._watched: asyncio.AbstractEventLoop | None = None

    def fork(
        self,
        name: str,
        *,
        prompt: Prompt | None = None,
        tools: ToolRegistry | None = None,
        model: LLModel | None = None,
    ) -> LLMContext:
        """An independent context that begins with what is committed here, or with what is given, on a lock of its own.

        Requests of both go the same way and are counted together.
        """
        committed = self.committed
        return LLMContext(
            name,
            prompt=committed.prompt if prompt is None else prompt,
            tools=committed.tools if tools is None else tools,
            model=committed.model if model is None else model,
            calls=self.calls,
            compressor=self.compressor,
            wait_limit=self.wait_limit,
            slow_after=self.slow_after,
            compat=self.compat,
        )

    def read_session(self, *, timeout: float | None = None) -> SessionScope[LLMReadSession]:
        """A scope that reads (Koog's ``readSession``): ``async with ctx.llm.read_session() as session``.

        A task that reads already joins what it holds and never waits. Otherwise as for :meth:`write_session`.

        ``timeout`` bounds the wait for the lock, in seconds (default 10; ``math.inf`` waits for ever).

        Raises:
            ValueError: ``timeout`` is negative or not a number.
            NestedSessionError: On entering, when this task, or one that waits for it, has a session open on the same
                context that excludes this one.
            SessionTimeoutError: On entering, when the lock was not to be had in time.
            WrongLoopError: On entering, when sessions on this context are open or wait on another event loop.
        """
        return SessionScope(self, LLMReadSession, "read", timeout)

    def write_session(self, *, timeout: float | None = None) -> SessionScope[LLMWriteSession]:
        """A scope that may change prompt, tools and model (Koog's ``writeSession``).

        ``async with ctx.llm.write_session() as session``; what it changed is committed when the block ends normally.

        ``timeout`` bounds the wait for the lock, in seconds (default 10; ``math.inf`` waits for ever).

        The lock is not re-entrant. Where Koog hangs for ever, a second session of the task that holds the lock is
        refused at once. One of another task is refused within a moment when the holder waits for that task: by
        ``await``, ``asyncio.gather``, ``wait`` for all, ``wait_for``, ``shield`` or the end of a ``TaskGroup``, through
        any number of tasks and other contexts between. A wait by way of a queue, an event, a condition, a thread,
        ``as_completed``, ``wait`` for the first one, or the groups of other libraries cannot be seen: there the
        ``timeout`` ends it. A task that the holder does not wait for just waits.

        Raises:
            ValueError: ``timeout`` is negative or not a number.
            NestedSessionError: On entering, when this task, or one that waits for it, has a session open on the same
                context.
            SessionTimeoutError: On entering, when the lock was not to be had in time.
            WrongLoopError: On entering, when sessions on this context are open or wait on another event loop.
        """
        return SessionScope(self, LLMWriteSession, "write", timeout)

    def _who(self, node: str) -> str:
        """Whose session it is: the node's, or that of a task which somebody gave a name."""
        task = asyncio.current_task()
        if task is None or (self._main is not None and self._main() is task):
            return node
        name = task.get_name()
        return node if name.startswith("Task-") else name

    def statistics(self) -> LockStatistics:
        """Who holds the lock and who waits, without taking it."""
        return self.lock.statistics()

    def _commit(self, prompt: Prompt, tools: ToolRegistry, model: LLModel) -> Prompt:
        """Write back what a session changed; the prompt that was there before."""
        before = self.committed
        if prompt is not before.prompt or tools is not before.tools or model is not before.model:
            self.committed = Committed(prompt, tools, model)
        return before.prompt

    def _drop(self, left_behind: Sequence[Ticket]) -> None:
        """End the sessions of an event loop that was closed while they were open or waited: nothing there goes on."""
        for ticket in left_behind:
            self._scopes.pop(ticket.number).drop()
        named = ", ".join(
            f"the {one.mode} session of {one.who or 'a task'} at {one.place}" for one in left_behind
        )
        self.log.notice(
            "sessions dropped",
            f"The event loop that context {self.name!r} was used on is closed, and sessions were left on it: {named}. "
            "They were ended and nothing of them was committed; the context can be used on this loop.",
        )

    def _watch(self, loop: asyncio.AbstractEventLoop | None, seconds: float | None = None) -> None:
        """Look after the sessions that hold the lock for long, with one timer for all of them, on the running loop.

        The timer stays when the run has ended, which is cheaper than to cancel one for each session; it does not keep
        the context alive.
        """
        self._watched = loop
        weak_look = weakref.WeakMethod(self._look)
        clock.call_later(
            self.slow_after if seconds is None else seconds, partial(_call_if_alive, weak_look, loop)
        )

    def _look(self, loop: asyncio.AbstractEventLoop | None) -> None:
        if self._watched is not loop:
            return
        ages = [scope.report_if_slow(self.slow_after) for scope in list(self._scopes.values())]
        young = [age for age in ages if age is not None]
        self._watched = None
        if young:
            self._watch(loop, self.slow_after - max(young))

    def restore(self, committed: Committed) -> None:
        """Put back a saved state before a run goes on; no session may be open."""
        self.committed = committed


def _call_if_alive(method: weakref.WeakMethod[Any], loop: asyncio.AbstractEventLoop | None) -> None:
    called = method()
    if called is not None:
        called(loop)


def _current_task() -> weakref.ref[asyncio.Task[Any]] | None:
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no loop is running: made beforehand
        return None
    return None if task is None else weakref.ref(task)
