"""Strategies with a parallel block, and what a run of one told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import koogbook as kb
from koogbook import clock, events
from koogbook.runtime.parallel.block import Parallel
from koogbook.runtime.parallel.merge_kinds import Merge
from koogbook.runtime.parallel.merges import fold

NOTES = kb.storage_key("notes", list[str])
COUNT = kb.storage_key("count", int)

Branch = Callable[[kb.Context, Any], Awaitable[Any]]


class Client:
    """What has no encoding."""


CLIENT = kb.storage_key("client", Client)


def block_of(merge: Any, branches: Mapping[str, Branch], **options: Any) -> tuple[kb.Strategy, Parallel]:
    """A strategy ``trip`` with ``before``, the block ``research`` and ``after``."""
    trip = kb.strategy("trip")
    block = trip.parallel("research", merge=merge, **options)
    for name, branch in branches.items():
        block.node(name=name)(branch)

    @trip.node
    async def before(ctx: kb.Context, value: Any) -> Any:
        async with ctx.llm.write_session() as session:
            session.append(kb.user("before"))
        ctx.storage.set(NOTES, ["before"])
        return value

    @trip.node
    async def after(ctx: kb.Context, value: Any) -> Any:
        return value

    trip.start >> before >> block >> after >> trip.finish
    return trip, block


def agent_of(strategy: kb.Strategy, **options: Any) -> kb.Agent:
    """An agent without a model."""
    return kb.Agent(kb.OfflineExecutor(), "offline", strategy, **options)


async def run_of(merge: Any, branches: Mapping[str, Branch], **options: Any) -> kb.Run:
    """Run a block of these branches."""
    return await agent_of(block_of(merge, branches, **options)[0]).run("Rome")


def says(
    *texts: str,
    gives: Any = None,
    notes: list[str] | None = None,
    count: int | None = None,
    sleep: float | None = None,
) -> Branch:
    """A branch that appends messages and stores values; it gives its first text, or ``gives``."""

    async def branch(ctx: kb.Context, value: Any) -> Any:
        if sleep is not None:
            await clock.sleep(sleep)
        async with ctx.llm.write_session() as session:
            session.append(*map(kb.user, texts))
        if notes is not None:
            ctx.storage.get_value(NOTES).extend(notes)
        if count is not None:
            ctx.storage.set(COUNT, count)
        return gives if gives is not None else texts[0]

    return branch


def gives(output: Any) -> Branch:
    """A branch that only gives something."""

    async def branch(ctx: kb.Context, value: Any) -> Any:
        return output

    return branch


def fails(problem: BaseException) -> Branch:
    """A branch that raises."""

    async def branch(ctx: kb.Context, value: Any) -> Any:
        raise problem

    return branch


def history(run: kb.Run) -> list[str]:
    """The texts of the messages that a run ended with."""
    return [message.text for message in run.prompt.messages]


def stored(run: kb.Run, key: Any) -> Any:
    """What a run's storage ended with under a key."""
    return run.storage.get(key)


def told(run: kb.Run | None, kind: type[Any], /, **fields: Any) -> list[Any]:
    """A run's events of one kind, with these fields."""
    assert run is not None
    return [
        event
        for event in run.events
        if isinstance(event, kind) and all(getattr(event, name) == value for name, value in fields.items())
    ]


def notices(run: kb.Run | None, kind: str) -> list[tuple[str, str]]:
    """Level and text of the notices of one kind."""
    return [(event.level, event.text) for event in told(run, events.Notice, kind=kind)]


BRANCHES = {
    "museums": says("m1", "m2", gives=1, notes=["Prado"]),
    "parks": says("p1", gives=2, count=7),
    "hotels": gives(0),
}


def folded(**policies: Any) -> Merge:
    """A fold of all outputs."""
    return fold(0, lambda total, output: total + 1, **policies)


def results(run: kb.Run) -> tuple[Any, ...]:
    """History and storage that a run ended with."""
    return history(run), stored(run, NOTES), stored(run, COUNT)
