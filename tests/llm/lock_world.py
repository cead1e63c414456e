"""The fair lock under random visits, beside a model of what it has to do."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable
from typing import Any, Literal

from koogbook import clock
from koogbook.errors import NestedSessionError, SessionTimeoutError
from koogbook.events import (
    Event,
    SessionAcquired,
    SessionClosed,
    SessionEvent,
    SessionOpened,
    SessionRefused,
    SessionTimedOut,
)
from koogbook.llm.context import LLMContext

Mode = Literal["read", "write"]

#: What can be done, as often as it stands here.
STEPS = (
    *("read", "read", "write", "write", "leave", "leave", "leave", "cancel"),
    *("later", "read again", "nest", "leave inner"),
)
#: How long visitors are willing to wait, in seconds.
PATIENCE = (3.0, 10.0, 25.0)
_MOST = 9  # visitors at once


class Model:
    """First come, first served: what the lock has to be."""

    def __init__(self) -> None:
        self.holders: list[int] = []
        self.queue: list[int] = []
        self.modes: dict[int, Mode] = {}
        self.until: dict[int, float] = {}

    def come(self, number: int, mode: Mode, until: float = 0.0) -> None:
        """One more at the end of the queue, who waits until then."""
        self.modes[number] = mode
        self.until[number] = until
        self.queue.append(number)
        self.admit()

    def gone(self, number: int) -> None:
        """Left, cancelled or timed out."""
        self.holders = [other for other in self.holders if other != number]
        self.queue = [other for other in self.queue if other != number]
        self.admit()

    def later(self, now: float) -> None:
        """All whose patience has ended leave."""
        for number in [one for one in self.queue if self.until[one] <= now]:
            self.gone(number)

    def admit(self) -> None:
        """Let in whoever is next, as long as that is possible."""
        while self.queue and self._fits(self.modes[self.queue[0]]):
            self.holders.append(self.queue.pop(0))

    def _fits(self, mode: Mode) -> bool:
        writing = any(self.modes[one] == "write" for one in self.holders)
        return not self.holders or (mode == "read" and not writing)


class World:
    """The real lock with its visitors, and what was seen that may not be."""

    def __init__(self, context: LLMContext, fixed: clock.FixedClock) -> None:
        self.context = context
        self.fixed = fixed
        self.model = Model()
        self.tasks: dict[int, asyncio.Task[None]] = {}
        self.commands: dict[int, asyncio.Queue[str]] = {}
        self.inside: dict[int, Mode] = {}
        self.inner: dict[int, int] = {}
        self.patience: dict[int, float] = {}
        self.visitors: dict[int, int] = {}  # of the sessions, those within a session left out
        self.refused = 0
        self.done: dict[str, int] = {}
        self.broken: list[str] = []

    async def visit(self, number: int, mode: Mode) -> None:
        """One session, held until it is told to leave."""
        kind: Any = self.context.write_session if mode == "write" else self.context.read_session
        scope = kind(timeout=self.patience[number])
        self.visitors[scope.number] = number
        async with scope:
            self.inside[number] = mode
            if "write" in self.inside.values() and len(self.inside) > 1:
                self.broken.append(f"{number} is inside together with {self.inside}")
            try:
                await self._obey(number, mode)
                await asyncio.sleep(0)
            finally:
                del self.inside[number]

    async def _obey(self, number: int, mode: Mode) -> None:
        while (command := await self.commands[number].get()) != "leave":
            if command == "nest":
                await self._nest(mode)
            else:
                self.inner[number] = self.inner.get(number, 0) + 1
                try:
                    async with self.context.read_session():
                        await self._obey(number, mode)
                finally:
                    self.inner[number] -= 1

    async def _nest(self, mode: Mode) -> None:
        scope: Any = self.context.read_session if mode == "write" else self.context.write_session
        try:
            async with scope():
                self.broken.append("a nested session was let in")
        except NestedSessionError:
            self.refused += 1

    async def step(self, what: str, pick: random.Random) -> None:
        """Do one thing to the lock and to the model, if it can be done now."""
        model = self.model
        if what in ("read", "write"):
            if len(model.holders) + len(model.queue) >= _MOST:
                return
            mode: Mode = "read" if what == "read" else "write"
            self.come(mode, pick.choice(PATIENCE))
        elif what == "later":
            # Who is about to come or to go does so first: nobody's patience ends before it has begun.
            await self.settle()
            self.fixed.advance(2)
            model.later(self.fixed.monotonic())
            await self.settle()
        elif what == "cancel":
            if not (chosen := [*model.holders, *model.queue]):
                return
            number = pick.choice(chosen)
            self.tasks[number].cancel()
            model.gone(number)
        else:
            # Only who has been told to come in can be told more.
            await self.settle()
            if not self._tell(what, pick):
                return
        self.done[what] = self.done.get(what, 0) + 1

    def _come(self, mode: Mode, patience: float) -> int:
        number = len(self.tasks)
        self.commands[number] = asyncio.Queue()
        self.patience[number] = patience
        self.tasks[number] = asyncio.ensure_future(self.visit(number, mode))
        return number

    def come(self, mode: Mode, patience: float) -> None:
        """One more visitor; the model knows of it at once, because tasks run in the order in which they were made."""
        number = self._come(mode, patience)
        self.model.come(number, mode, self.fixed.monotonic() + patience)

    def _tell(self, what: str, pick: random.Random) -> bool:
        chosen = list(self.model.holders)
        if what == "read again":
            chosen = [one for one in chosen if self.model.modes[one] == "read"]
        elif what in ("leave", "leave inner"):
            chosen = [one for one in chosen if bool(self.inner.get(one)) == (what == "leave inner")]
        if not chosen:
            return False
        number = pick.choice(chosen)
        self.commands[number].put_nowait("leave" if what == "leave inner" else what)
        if what == "leave":
            self.model.gone(number)
        return True

    async def settle(self) -> None:
        """Let every task run until it has to wait, then compare."""
        for _ in range(12):
            await asyncio.sleep(0)
        self.hear()
        state = self.context.statistics()
        model = self.model
        if sorted(self.inside) != sorted(model.holders):
            self.broken.append(f"inside {sorted(self.inside)}, the model says {model.holders}")
        held = len(state.readers) + (state.writer is not None)
        if held != len(model.holders) + sum(self.inner.values()):
            self.broken.append(f"held by {held}, the model says {model.holders} and {self.inner}")
        if [entry.mode for entry in state.queue] != [model.modes[one] for one in model.queue]:
            self.broken.append(f"queue {state.queue}, the model says {model.queue}")

    def hear(self) -> None:
        """Take from the events what the model does not know yet."""

    async def end(self) -> None:
        """Let everybody leave; what ended otherwise was cancelled or timed out."""
        for number, commands in self.commands.items():
            for _ in range(self.inner.get(number, 0) + 1):
                commands.put_nowait("leave")
        for problem in await asyncio.gather(*self.tasks.values(), return_exceptions=True):
            if not isinstance(problem, None | asyncio.CancelledError | SessionTimeoutError):
                self.broken.append(f"ended with {problem!r}")
        state = self.context.statistics()
        if (state.readers, state.writer, state.queue) != ((), None, ()):
            self.broken.append(f"left behind: {state}")
        self.broken.extend(without_one_end(self.context.log.events))

    def joined(self) -> set[int]:
        """The sessions within a session."""
        opened = [one.session for one in self.context.log.events if isinstance(one, SessionOpened)]
        return {number for number in opened if number not in self.visitors}

    async def play(self, steps: Iterable[str], pick: random.Random) -> World:
        """Do all of it, comparing now and then."""
        for what in steps:
            await self.step(what, pick)
            if pick.random() < 0.5:
                await self.settle()
        await self.settle()
        await self.end()
        return self


def without_one_end(events: Iterable[Event]) -> list[str]:
    """The sessions that were opened and have not one end, but none or several."""
    opened: dict[int, int] = {}
    for event in events:
        if isinstance(event, SessionOpened):
            opened[event.session] = 0
        elif isinstance(event, SessionClosed | SessionRefused | SessionTimedOut):
            opened[event.session] += 1
    return [f"session {number} has {ends} ends" for number, ends in opened.items() if ends != 1]


def passed(events: Iterable[Event], joined: set[int]) -> list[str]:
    """Who entered before one that had come earlier, readers beside readers and those that ``joined`` left out."""
    came: list[SessionEvent] = []
    entered: dict[int, int] = {}
    for at, event in enumerate(events):
        if isinstance(event, SessionOpened):
            came.append(event)
        elif isinstance(event, SessionAcquired):
            entered[event.session] = at
    found: list[str] = []
    last_writer = last = -1
    for event in came:
        number = event.session
        if number not in entered or number in joined:
            continue
        at = entered[number]
        if at < (last if event.mode == "write" else last_writer):
            found.append(f"session {number} ({event.mode}) passed one that came earlier")
        last = max(last, at)
        if event.mode == "write":
            last_writer = max(last_writer, at)
    return found
