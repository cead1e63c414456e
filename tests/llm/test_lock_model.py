"""The lock against a model of it, under random visits, departures, cancellations and timeouts."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from koogbook import clock
from koogbook.events import SessionClosed, SessionOpened, SessionRefused, SessionTimedOut
from koogbook.llm.context import LLMContext

Mode = Literal["read", "write"]
WAIT_LIMIT = 10.0

STEPS = st.tuples(
    st.sampled_from(["read", "write", "leave", "leave", "cancel", "later"]),
    st.integers(min_value=0, max_value=20),
    st.booleans(),
)


class Model:
    """First come, first served: what the lock has to be."""

    def __init__(self) -> None:
        self.holders: list[int] = []
        self.queue: list[int] = []
        self.modes: dict[int, Mode] = {}
        self.since: dict[int, float] = {}

    def come(self, number: int, mode: Mode, now: float) -> None:
        """One more at the end of the queue."""
        self.modes[number] = mode
        self.since[number] = now
        self.queue.append(number)
        self.admit()

    def gone(self, number: int) -> None:
        """Left, cancelled or timed out."""
        self.holders = [other for other in self.holders if other != number]
        self.queue = [other for other in self.queue if other != number]
        self.admit()

    def later(self, now: float) -> None:
        """All whose patience has ended leave."""
        for number in [one for one in self.queue if self.since[one] + WAIT_LIMIT <= now]:
            self.gone(number)

    def admit(self) -> None:
        """Let in whoever is next, as long as that is possible."""
        while self.queue and self._fits(self.modes[self.queue[0]]):
            self.holders.append(self.queue.pop(0))

    def _fits(self, mode: Mode) -> bool:
        writing = any(self.modes[one] == "write" for one in self.holders)
        return not self.holders or (mode == "read" and not writing)


class World:
    """The real lock with its visitors, and the model beside it."""

    def __init__(self, context: LLMContext, fixed: clock.FixedClock) -> None:
        self.context = context
        self.fixed = fixed
        self.model = Model()
        self.tasks: dict[int, asyncio.Task[None]] = {}
        self.doors: dict[int, asyncio.Event] = {}
        self.inside: dict[int, Mode] = {}
        self.broken: list[str] = []

    async def visit(self, number: int, mode: Mode) -> None:
        """One session, held until its door opens."""
        scope: Any = self.context.write_session if mode == "write" else self.context.read_session
        async with scope(timeout=WAIT_LIMIT):
            self.inside[number] = mode
            if "write" in self.inside.values() and len(self.inside) > 1:
                self.broken.append(f"{number} is inside together with {self.inside}")
            try:
                await self.doors[number].wait()
                await asyncio.sleep(0)
            finally:
                del self.inside[number]

    async def step(self, what: str, which: int) -> None:
        """Do one thing to the lock and to the model."""
        if what in ("read", "write"):
            mode: Mode = "read" if what == "read" else "write"
            number = len(self.tasks)
            self.doors[number] = asyncio.Event()
            self.tasks[number] = asyncio.ensure_future(self.visit(number, mode))
            self.model.come(number, mode, self.fixed.monotonic())
        elif what == "later":
            # Who is about to come or to go does so first: nobody's patience ends before it has begun.
            await self.settle()
            self.fixed.advance(4)
            self.model.later(self.fixed.monotonic())
            await self.settle()
        else:
            chosen = self.model.holders if what == "leave" else [*self.model.holders, *self.model.queue]
            if chosen:
                number = chosen[which % len(chosen)]
                self.doors[number].set() if what == "leave" else self.tasks[number].cancel()
                self.model.gone(number)

    async def settle(self) -> None:
        """Let every task run until it has to wait, then compare."""
        for _ in range(12):
            await asyncio.sleep(0)
        state = self.context.statistics()
        if sorted(self.inside) != sorted(self.model.holders):
            self.broken.append(f"inside {sorted(self.inside)}, the model says {self.model.holders}")
        if len(state.queue) != len(self.model.queue):
            self.broken.append(f"queue {state.queue}, the model says {self.model.queue}")
        if [entry.mode for entry in state.queue] != [self.model.modes[one] for one in self.model.queue]:
            self.broken.append("the queue is in another order than the model's")

    async def end(self) -> None:
        """Let everybody leave."""
        for door in self.doors.values():
            door.set()
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)


async def _play(context: LLMContext, fixed: clock.FixedClock, steps: list[tuple[str, int, bool]]) -> World:
    world = World(context, fixed)
    for what, which, settled in steps:
        await world.step(what, which)
        if settled:
            await world.settle()
    await world.settle()
    await world.end()
    return world


@settings(max_examples=40)
@given(steps=st.lists(STEPS, min_size=20, max_size=80))
def test_the_lock_does_what_a_plain_queue_does(make_context: Any, steps: list[tuple[str, int, bool]]) -> None:
    """Never two writers, nor a writer beside readers; nobody is passed; free at the end [SES-09, SES-11]."""
    fixed = clock.FixedClock()
    with clock.use(fixed):
        context = make_context()
        world = asyncio.run(_play(context, fixed, steps))
    state = context.statistics()
    opened = [one.session for one in context.log.events if isinstance(one, SessionOpened)]
    ends = (SessionClosed, SessionRefused, SessionTimedOut)
    ended = [one.session for one in context.log.events if isinstance(one, ends)]

    assert world.broken == []
    assert (state.readers, state.writer, state.queue) == ((), None, ())
    assert sorted(ended) == sorted(opened)
