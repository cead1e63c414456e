"""The lock on an event loop that runs what is ready in any order: nobody may rely on tasks being woken in turn."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from lock_world import STEPS, Mode, World, passed

from koogbook import clock
from koogbook.events import (
    Event,
    SessionAcquired,
    SessionClosed,
    SessionEvent,
    SessionOpened,
    SessionTimedOut,
)
from koogbook.llm.context import LLMContext


class ShufflingLoop(asyncio.SelectorEventLoop):
    """Runs what is ready in an order drawn from a seed."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._pick = random.Random(seed)

    def _run_once(self) -> None:
        ready: Any = self._ready  # type: ignore[attr-defined]
        shuffled = list(ready)
        self._pick.shuffle(shuffled)
        ready.clear()
        ready.extend(shuffled)
        super()._run_once()  # type: ignore[misc]


class ShuffledWorld(World):
    """Who comes first is what the events say: several who come at once do so in any order."""

    def __init__(self, context: LLMContext, fixed: clock.FixedClock) -> None:
        super().__init__(context, fixed)
        self.heard = 0

    def come(self, mode: Mode, patience: float) -> None:
        """One more visitor, of whom the model hears."""
        self._come(mode, patience)

    def hear(self) -> None:
        """Bring the model up to date."""
        events = self.context.log.events
        for event in events[self.heard :]:
            number = self.visitors.get(event.session) if isinstance(event, SessionEvent) else None
            if number is None:
                continue
            if isinstance(event, SessionOpened):
                self.model.come(number, event.mode, event.at + self.patience[number])
            elif isinstance(event, SessionClosed | SessionTimedOut):
                self.model.gone(number)
        self.heard = len(events)


@pytest.mark.parametrize("seed", range(20))
def test_the_laws_hold_whatever_the_order_in_which_tasks_run(make_context: Any, seed: int) -> None:
    """No writer beside another, nobody passed, readers together, nobody lost, free at the end [SES-09, SES-11]."""
    fixed = clock.FixedClock()
    pick = random.Random(seed)
    steps = pick.choices(STEPS, k=700)
    with clock.use(fixed), asyncio.Runner(loop_factory=lambda: ShufflingLoop(seed)) as runner:
        world = ShuffledWorld(make_context(), fixed)
        runner.run(world.play(steps, pick))
    events = world.context.log.events

    assert world.broken == []
    assert passed(events, world.joined()) == []
    assert sum(world.done.values()) >= 400


@pytest.mark.parametrize(
    ("order", "told"),
    [
        ("r1 w2 +1 +2", []),
        ("r1 r2 +2 +1", []),
        ("w1 r2 +2 +1", ["session 2 (read) passed one that came earlier"]),
        ("r1 w2 +2 +1", ["session 2 (write) passed one that came earlier"]),
        ("w1 r2 r3 +1 +3 +2", []),
    ],
)
def test_one_who_passes_another_is_noticed(order: str, told: list[str]) -> None:
    """The law is looked after: ``w1`` comes, ``+1`` enters."""
    same: dict[str, Any] = {"context": "trip", "who": "", "place": ""}
    modes: dict[str, Any] = {"r": "read", "w": "write", "+": "read"}
    events: list[Event] = [
        (SessionAcquired if what == "+" else SessionOpened)(session=int(number), mode=modes[what], **same)
        for what, number in order.split()
    ]

    assert passed(events, set()) == told


def test_the_shuffling_loop_shuffles() -> None:
    """Tasks that are started in turn do not run in turn."""
    ran: list[int] = []

    async def run(number: int) -> None:
        ran.append(number)

    async def all_of_them() -> None:
        await asyncio.gather(*(run(number) for number in range(50)))

    with asyncio.Runner(loop_factory=lambda: ShufflingLoop(0)) as runner:
        runner.run(all_of_them())

    assert ran != sorted(ran)
    assert sorted(ran) == list(range(50))
