"""Agents and stores for the tests of persistence."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import koogbook as kb
from koogbook.events import Notice
from koogbook.features.persistence.checkpoint import Checkpoint
from koogbook.features.persistence.storage import CheckpointFilter


class Boom(Exception):
    """What stops a run on purpose."""


@dataclass
class Seat:
    """A value that a checkpoint can hold."""

    row: int
    letter: str


class Client:
    """A value that no checkpoint can hold."""


SEAT = kb.storage_key("seat", Seat)
CLIENT = kb.storage_key("client", Client)


def notices(run: kb.Run | None, kind: str) -> list[str]:
    """The texts of a run's notices of one kind."""
    assert run is not None
    return [event.text for event in run.events if isinstance(event, Notice) and event.kind == kind]


async def set_client(ctx: kb.Context) -> None:
    """Keep one value that can be stored and one that cannot."""
    ctx.storage.set(SEAT, Seat(7, "A"))
    ctx.storage.set(CLIENT, Client())


class PlainCheckpoints:
    """A store of somebody's own: three methods and a list."""

    def __init__(self) -> None:
        self.saved: list[Checkpoint] = []

    async def get_checkpoints(
        self, session_id: str, filter: CheckpointFilter | None = None
    ) -> list[Checkpoint]:
        """See :class:`koogbook.features.persistence.storage.CheckpointStorage`."""
        own = [one for one in self.saved if one.info.session_id == session_id]
        return [one for one in own if filter is None or filter(one.info)]

    async def save_checkpoint(self, session_id: str, checkpoint: Checkpoint) -> None:
        """See :class:`koogbook.features.persistence.storage.CheckpointStorage`."""
        self.saved.append(checkpoint)

    async def get_latest_checkpoint(
        self, session_id: str, filter: CheckpointFilter | None = None
    ) -> Checkpoint | None:
        """See :class:`koogbook.features.persistence.storage.CheckpointStorage`."""
        return next(reversed(await self.get_checkpoints(session_id, filter)), None)


class Trip:
    """An agent of three nodes (plan, book, pay) whose nodes can be made to do things, and a record of what ran.

    ``book`` fails while ``broken`` is true. ``during`` maps a node's name to what it does besides.
    """

    def __init__(self, storage: Any = None, **options: Any) -> None:
        self.ran: list[tuple[str, str]] = []
        self.broken = False
        self.during: dict[str, Callable[[kb.Context], Any]] = options.pop("during", {})
        executor = options.pop("executor", kb.OfflineExecutor())
        installed = {
            name: options.pop(name)
            for name in ("automatic", "resume", "on_save_error", "on_busy", "strict")
            if name in options
        }
        self.strategy = self._strategy(options.pop("name", "trip"), options.pop("version", "1"))
        self.agent = kb.Agent(
            executor,
            options.pop("model", "offline"),
            self.strategy,
            **{"id": "traveller", "system_prompt": "rules", "max_iterations": 9, **options},
        )
        self.agent.install(kb.Persistence(storage, **installed))

    async def run(self, input: Any = "Rome", session_id: str = "s") -> kb.Run:
        """Run it."""
        return await self.agent.run(input, session_id=session_id)

    async def crash(self, input: Any = "Rome", session_id: str = "s") -> kb.Run:
        """Run it until ``book`` fails, and give the run as far as it came."""
        self.broken = True
        with suppress(Boom):
            await self.run(input, session_id)
        self.broken = False
        assert self.agent.last_run is not None
        return self.agent.last_run

    async def _step(self, ctx: kb.Context, name: str, text: str) -> str:
        self.ran.append((name, text))
        if name in self.during:
            await self.during[name](ctx)
        if name == "book" and self.broken:
            raise Boom(name)
        async with ctx.llm.write_session() as session:
            session.append(kb.user(f"{name} {text}"))
        return f"{name}({text})"

    def _strategy(self, name: str, version: str) -> kb.Strategy:
        trip = kb.strategy(name, input=str, output=str, version=version)

        @trip.node
        async def plan(ctx: kb.Context, text: str) -> str:
            return await self._step(ctx, "plan", text)

        @trip.node
        async def book(ctx: kb.Context, text: str) -> str:
            return await self._step(ctx, "book", text)

        @trip.node
        async def pay(ctx: kb.Context, text: str) -> str:
            return await self._step(ctx, "pay", text)

        trip.start >> plan >> book >> pay >> trip.finish
        return trip
