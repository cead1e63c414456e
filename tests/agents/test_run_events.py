"""What a run tells about itself, complete and in order."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import koogbook as kb
from koogbook import events
from koogbook.clock import FixedClock
from koogbook.errors import StuckInNodeError
from koogbook.runtime.builder import Strategy

#: Each beginning with all of its possible ends.
ENDS: dict[type[events.Event], tuple[type[events.Event], ...]] = {
    events.RunStarting: (events.RunCompleted, events.RunFailed),
    events.SubgraphStarting: (events.SubgraphCompleted, events.SubgraphFailed),
    events.NodeStarting: (events.NodeCompleted, events.NodeFailed),
    events.LLMCallStarting: (events.LLMCallCompleted, events.LLMCallFailed),
    events.ToolCallStarting: (events.ToolCallCompleted, events.ToolCallFailed),
    events.SessionOpened: (events.SessionClosed, events.SessionRefused, events.SessionTimedOut),
}


def weather(city: str) -> str:
    """The weather."""
    return "rain"


def broken(city: str) -> str:
    """Always fails."""
    raise ValueError(city)


def _trip(*, ends_badly: bool = False) -> Strategy:
    """Sessions, requests, tools and a subgraph."""
    trip = kb.strategy("trip", input=str)

    @trip.node
    async def ask(ctx: kb.Context, text: str) -> kb.Message:
        async with ctx.llm.write_session() as session:
            session.append(kb.user(text))
            return await session.request()

    tools = trip.subgraph("tools")

    @tools.node
    async def call(ctx: kb.Context, reply: kb.Message) -> int:
        results = await ctx.run_tools(reply)
        async with ctx.llm.write_session() as session:
            session.append(*results)
        return len(results)

    @trip.node
    async def count(ctx: kb.Context, results: int) -> int:
        async with ctx.llm.read_session() as session:
            return len(session.prompt)

    tools.start >> call >> tools.finish
    trip.start >> ask >> tools >> count
    trip.edge(count, trip.finish, when=(lambda value: not ends_badly), label="all is well")
    return trip


def _agent(**options: Any) -> kb.Agent:
    calls = [
        kb.ToolCall("weather", '{"city":"Bonn"}', "c1"),
        kb.ToolCall("broken", '{"city":"Bonn"}', "c2"),
        kb.ToolCall("nowhere", "{}", "c3"),
    ]
    return kb.Agent(
        kb.ScriptedExecutor(lambda request: calls), "offline", _trip(**options), tools=[weather, broken]
    )


async def _events(ends_badly: bool) -> tuple[events.Event, ...]:
    agent = _agent(ends_badly=ends_badly)
    try:
        run = await agent.run("x", "chat-1")
    except StuckInNodeError as problem:
        run = problem.run  # type: ignore[attr-defined]
    return run.events


async def test_a_run_tells_its_story_in_order() -> None:
    """Agent, strategy, nodes, sessions, requests, tools, and back [AGT-03]."""
    told = [event.name for event in await _events(ends_badly=False)]

    assert told == [
        "RunStarting",
        "StrategyStarting",
        *["NodeStarting", "NodeCompleted", "EdgeTaken"],
        *["NodeStarting", "SessionOpened", "SessionAcquired", "LLMCallStarting", "LLMCallCompleted"],
        *["SessionCommitted", "PromptChanged", "SessionClosed", "NodeCompleted", "EdgeTaken"],
        *["NodeStarting", "SubgraphStarting", "NodeStarting", "NodeCompleted", "EdgeTaken", "NodeStarting"],
        *["ToolCallStarting", "ToolCallCompleted", "ToolCallStarting", "ToolCallFailed"],
        "ToolValidationFailed",
        *["SessionOpened", "SessionAcquired", "SessionCommitted", "PromptChanged", "SessionClosed"],
        *["NodeCompleted", "EdgeTaken", "NodeStarting", "NodeCompleted", "SubgraphCompleted"],
        *["NodeCompleted", "EdgeTaken"],
        *["NodeStarting", "SessionOpened", "SessionAcquired", "SessionClosed", "NodeCompleted", "EdgeTaken"],
        *["NodeStarting", "NodeCompleted"],
        "StrategyCompleted",
        "RunCompleted",
    ]


@pytest.mark.parametrize("ends_badly", [False, True], ids=["completed", "failed"])
@pytest.mark.parametrize("start", ENDS, ids=lambda kind: kind.__name__)
async def test_every_start_has_one_end(start: type[events.Event], ends_badly: bool) -> None:
    """However the run ends [AGT-03]."""
    told = await _events(ends_badly)
    starts = Counter(event.path for event in told if isinstance(event, start))
    ends = Counter(event.path for event in told if isinstance(event, ENDS[start]))

    assert starts == ends
    assert starts.total() > 0


@pytest.mark.parametrize("ends_badly", [False, True], ids=["completed", "failed"])
async def test_every_event_carries_run_and_session_id(ends_badly: bool) -> None:
    """None is left out [AGT-03a]."""
    told = await _events(ends_badly)

    assert {event.session_id for event in told} == {"chat-1"}
    assert len({event.run_id for event in told}) == 1
    assert "" not in {event.run_id for event in told}


@pytest.mark.parametrize("ends_badly", [False, True], ids=["completed", "failed"])
async def test_events_are_in_the_order_of_their_times(ticking_clock: FixedClock, ends_badly: bool) -> None:
    """Wall time and monotonic time alike [AGT-03]."""
    told = await _events(ends_badly)

    assert [event.at for event in told] == sorted(event.at for event in told)
    assert [event.time for event in told] == sorted(event.time for event in told)


async def test_what_happens_in_a_node_has_its_path() -> None:
    """Sessions, requests and tools included [AGT-03]."""
    paths = {
        event.name: event.path
        for event in await _events(ends_badly=False)
        if isinstance(event, events.LLMCallStarting | events.ToolCallStarting | events.PromptChanged)
    }

    assert paths == {
        "LLMCallStarting": "trip/ask",
        "ToolCallStarting": "trip/tools/call",
        "PromptChanged": "trip/tools/call",
    }


async def test_listeners_see_every_event_in_the_same_order() -> None:
    """Views are made from these and from nothing else [AGT-03]."""
    seen: list[events.Event] = []
    agent = _agent().on(seen.append)
    run = await agent.run("x", "chat-1")

    assert tuple(seen) == run.events


async def test_closing_is_told() -> None:
    """It belongs to no run [AGT-03]."""
    seen: list[events.Event] = []
    agent = _agent().on(seen.append, events.AgentClosing)
    await agent.close()

    assert [(event.name, event.run_id) for event in seen] == [("AgentClosing", "")]


async def test_a_failed_run_says_where_and_why() -> None:
    """Its last event is its end [AGT-03]."""
    last = (await _events(ends_badly=True))[-1]

    assert isinstance(last, events.RunFailed)
    assert last.error.startswith("StuckInNodeError")
    assert not last.cancelled
