"""A run in which everything happens, stopped at each of its events: nothing is in the way afterwards."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from rich_run import OUTPUT, rich_agent

import koogbook as kb
from koogbook import events
from koogbook.llm.context import LLMContext
from koogbook.messages.pairing import pair_messages
from koogbook.pipeline import Interceptor
from koogbook.trace.wholeness import gaps_of

#: The run has more events than this, and fewer than a dozen tests of twenty cover.
LEAST_EVENTS = 120
SHARES = 12


class Stop(Exception):
    """What a listener raises."""


@pytest.fixture(params=["cancelled", "failed"])
def how(request: pytest.FixtureRequest) -> str:
    """How the run is stopped: its task is cancelled, or a listener raises."""
    word: str = request.param
    return word


async def stopped_at(number: int, how: str, agent: kb.Agent) -> kb.Run | None:
    """A run that is stopped at its event of this number; None where it came to its end before."""
    seen = 0

    def stop(event: events.Event) -> None:
        nonlocal seen
        seen += 1
        if seen == number:
            if how == "failed":
                raise Stop
            task.cancel()

    task = asyncio.ensure_future(agent.on(stop).run("To Beijing", "chat-1"))
    with contextlib.suppress(asyncio.CancelledError, Stop):
        await task
    assert seen >= number or not task.cancelled()
    return agent.last_run if seen >= number else None


class Seen(Interceptor):
    """A feature that remembers the LLM contexts of the nodes that ran, those of branches and subgraphs too."""

    key = "Seen"
    subscriptions: tuple[Any, ...] = ()

    def __init__(self) -> None:
        self.contexts: set[LLMContext] = set()

    def install(self, agent: Any) -> Seen:
        """It is its own installation."""
        return self

    @property
    def interceptors(self) -> tuple[Interceptor, ...]:
        """Itself."""
        return (self,)

    def bind(self, context: Any) -> None:
        """Nothing for nodes."""

    async def close(self) -> None:
        """Nothing to flush."""

    async def around_node(
        self, context: Any, node: Any, value: Any, call: Callable[[Any], Awaitable[Any]]
    ) -> Any:
        """Remember and go on."""
        self.contexts.add(context.llm)
        return await call(value)


def is_free(context: LLMContext) -> bool:
    """Whether nobody holds its lock or waits for it."""
    state = context.statistics()
    return (state.readers, state.writer, state.queue) == ((), None, ())


async def test_the_run_comes_to_its_end_when_nobody_stops_it() -> None:
    """And it is as rich as it is meant to be."""
    seen = Seen()
    run = await rich_agent(seen).run("To Beijing", "chat-1")
    kinds = {event.name for event in run.events}

    assert run.output == OUTPUT
    assert len(run.events) > LEAST_EVENTS
    assert len(seen.contexts) == 6  # its own, three branches, the subgraph in one of them, the one at the end
    assert {
        "BranchesMerged",
        "BranchCompleted",
        "CompressionCompleted",
        "LLMStreamingCompleted",
        "PromptChanged",
        "SubgraphCompleted",
        "ToolCallCompleted",
    } <= kinds


@pytest.mark.parametrize("share", range(SHARES))
async def test_a_run_stopped_at_any_event_leaves_nothing_in_the_way(how: str, share: int) -> None:
    """No lock is held, no task goes on, the committed history is whole, and what began has an end [AGT-06, AGT-03]."""
    total = len((await rich_agent().run("To Beijing")).events)
    for number in range(share + 1, total + 1, SHARES):
        seen = Seen()
        run = await stopped_at(number, how, rich_agent(seen))
        assert run is not None, number
        assert asyncio.all_tasks() == {asyncio.current_task()}, number
        assert all(map(is_free, seen.contexts)), number
        assert pair_messages(run.prompt.messages).defects == (), number
        assert run.state != "running", number
        assert gaps_of(run.events) == "", number


@pytest.mark.parametrize("share", range(SHARES))
async def test_a_run_stopped_at_any_event_can_be_gone_on_with(how: str, share: int) -> None:
    """What is in the store is readable and whole: the same agent resumes it and gives the same [AGT-06].

    A run that failed is stopped at every third of its events, since it is stopped in the same way.
    """
    fresh = rich_agent(kb.Persistence(storage=kb.MemoryCheckpoints()))
    total = len((await fresh.run("To Beijing")).events)
    for number in range(share + 1, total + 1, SHARES * (1 if how == "cancelled" else 3)):
        store = kb.MemoryCheckpoints()
        agent = rich_agent(kb.Persistence(storage=store))
        await stopped_at(number, how, agent)
        for found in await store.get_checkpoints("chat-1"):
            assert pair_messages(found.messages).defects == (), number
        again = await agent.run("To Beijing", "chat-1")
        assert again.output == OUTPUT, number


async def test_an_agent_that_was_stopped_at_every_event_runs_as_on_its_first_day(how: str) -> None:
    """One and the same agent, again and again [AGT-06]."""
    agent = rich_agent()
    total = len((await agent.run("To Beijing")).events)
    counted = 0
    stop_at = 0

    def stop(event: events.Event) -> None:
        nonlocal counted
        counted += 1
        if counted == stop_at:
            if how == "failed":
                raise Stop
            task.cancel()

    agent.on(stop)
    for number in range(1, total + 1, 7):
        counted, stop_at = 0, number
        task = asyncio.ensure_future(agent.run("To Beijing", "chat-1"))
        with contextlib.suppress(asyncio.CancelledError, Stop):
            await task
    stop_at = 0

    assert (await agent.run("To Beijing", "chat-1")).output == OUTPUT
