"""What begins ends, once, where it began: over all kinds of events, and over runs of all sorts."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traced_runs import answers, crosser, travelled, traveller, weather

import koogbook as kb
from koogbook import events
from koogbook.agents.run import Run
from koogbook.events import Event
from koogbook.features.event_handler import EventHandler
from koogbook.runtime.parallel.merges import select_by_index
from koogbook.runtime.subgraph import Subgraph

#: Each kind of beginning with its kinds of ends, and the fields by which an end belongs to a beginning.
PAIRS: dict[type[Event], tuple[tuple[type[Event], ...], tuple[str, ...]]] = {
    events.RunStarting: ((events.RunCompleted, events.RunFailed), ()),
    events.StrategyStarting: ((events.StrategyCompleted, events.StrategyFailed), ("strategy",)),
    events.SubgraphStarting: ((events.SubgraphCompleted, events.SubgraphFailed), ()),
    events.BranchStarting: ((events.BranchCompleted, events.BranchFailed), ("order",)),
    events.NodeStarting: ((events.NodeCompleted, events.NodeFailed), ("visit",)),
    events.LLMCallStarting: ((events.LLMCallCompleted, events.LLMCallFailed), ("call", "purpose")),
    events.ToolCallStarting: (
        (events.ToolCallCompleted, events.ToolCallFailed),
        ("number", "tool", "call_id"),
    ),
    events.CompressionStarting: ((events.CompressionCompleted, events.CompressionFailed), ()),
    events.SessionOpened: (
        (events.SessionClosed, events.SessionRefused, events.SessionTimedOut),
        ("session",),
    ),
}
#: What the parts of a graph begin with: they stand in one another.
GRAPH = (
    events.RunStarting,
    events.StrategyStarting,
    events.SubgraphStarting,
    events.BranchStarting,
    events.NodeStarting,
)


@pytest.mark.parametrize("name", [name for name in events.__all__ if name.endswith("Starting")])
def test_every_kind_of_beginning_has_its_ends(name: str) -> None:
    """Completed and failed; and one that failed says whether it was cancelled. [AGT-03]"""
    word = name.removesuffix("Starting")
    completed, failed = getattr(events, f"{word}Completed"), getattr(events, f"{word}Failed")

    assert "error" in failed.__struct_fields__
    assert "cancelled" in failed.__struct_fields__
    assert {"time", "at", "run_id", "session_id", "path"} <= set(completed.__struct_fields__)


@pytest.mark.parametrize("name", [name for name in events.__all__ if name.endswith(("Completed", "Failed"))])
def test_every_kind_of_end_has_its_beginning(name: str) -> None:
    """But for a listener, which fails on an event, and a tool call whose arguments do not fit. [AGT-03]"""
    word = name.removesuffix("Completed").removesuffix("Failed")

    assert f"{word}Starting" in events.__all__ or word in ("Handler", "ToolValidation")


def test_every_beginning_is_looked_at_in_runs() -> None:
    """A streamed call is a call; a session is opened. [AGT-03]"""
    starting = {getattr(events, name) for name in events.__all__ if name.endswith("Starting")}

    assert starting - {events.LLMStreamingStarting} == set(PAIRS) - {events.SessionOpened}


def spans_of(told: Sequence[Event]) -> list[tuple[int, int, Event]]:
    """Where each thing begins and ends: positions in the events, and the beginning.

    Raises:
        AssertionError: Something has no end, or two, or an end that never began.
    """
    found = []
    for kind, (ends, by) in PAIRS.items():
        open_: dict[tuple[Any, ...], list[int]] = {}
        for place, event in enumerate(told):
            key = (event.path, *(getattr(event, name, None) for name in by))
            if isinstance(event, kind):
                assert by == () or key not in open_ or not open_[key], f"{event.name} twice at {key}"
                open_.setdefault(key, []).append(place)
            elif isinstance(event, ends):
                assert open_.get(key), f"{event.name} at {key} never began"
                begun = open_[key].pop()
                streamed = isinstance(told[begun], events.LLMStreamingStarting)
                assert streamed == event.name.startswith("LLMStreaming")
                found.append((begun, place, told[begun]))
        left = [key for key, places in open_.items() if places]
        assert left == [], f"{kind.__name__} never ended: {left}"
    return found


def require_symmetric(run: Run) -> None:
    """Everything ends once, and stands within what it is a part of."""
    told = run.events
    spans = spans_of(told)
    graph = [span for span in spans if isinstance(span[2], GRAPH)]
    for begin, end, event in graph:
        for other_begin, other_end, other in graph:
            if other is not event and is_within(other.path, event.path):
                apart = other_end < begin or other_begin > end
                inside = begin < other_begin and other_end < end
                around = other_begin < begin and end < other_end
                assert apart or inside or around, (event, other)
    for begin, end, event in spans:
        if event.path:
            nodes = [span for span in graph if span[2].path in (event.path, event.parent)]
            assert any(first <= begin and end <= last for first, last, _ in nodes) or "/" not in event.path
    assert isinstance(told[0], events.RunStarting)
    assert isinstance(told[-1], events.RunCompleted | events.RunFailed)
    assert {(event.run_id, event.session_id) for event in told} == {(run.run_id, run.session_id)}


def is_within(path: str, outer: str) -> bool:
    """Whether a path is another one or leads on from it."""
    return path == outer or path.startswith(f"{outer}/")


@pytest.mark.parametrize("make", [traveller, crosser])
@pytest.mark.parametrize("end", ["", "error", "wait"])
async def test_a_run_with_everything_in_it_is_symmetric(make: Callable[..., kb.Agent], end: str) -> None:
    """A subgraph, tools, a stream, a compression, branches; completed, failed and cancelled. [AGT-03]"""
    run = await travelled(make(end=end))

    require_symmetric(run)
    assert len(run.events) > 15


# ------------------------------------------------------------------------------------------- runs of all sorts


async def ask(ctx: kb.Context) -> None:
    """A request."""
    async with ctx.llm.write_session() as session:
        session.append(kb.user("How is it?"))
        await session.request()


async def stream(ctx: kb.Context) -> None:
    """A stream to its end."""
    async with ctx.llm.write_session() as session:
        session.append(kb.user("How is it?"))
        async for _ in session.request_streaming():
            pass


async def leave_a_stream(ctx: kb.Context) -> None:
    """A stream that is left after its first frame."""
    async with ctx.llm.write_session() as session:
        session.append(kb.user("How is it?"))
        async with session.request_streaming() as frames:
            async for _ in frames:
                break


async def call(ctx: kb.Context) -> None:
    """Tools that return, raise, wait for a while, and are none."""
    names = (
        ("weather", '{"city":"Bonn"}'),
        ("weather", '{"city":"Nowhere"}'),
        ("late", "{}"),
        ("nothing", "{}"),
    )
    await ctx.run_tools(kb.assistant(calls=[kb.ToolCall(tool, args) for tool, args in names]))


async def compress(ctx: kb.Context) -> None:
    """A compression of something."""
    async with ctx.llm.write_session() as session:
        session.append(*(kb.user(f"A long story, part {number}, with many words.") for number in range(6)))
        await session.replace_history_with_tldr(kb.WholeHistory())


async def read(ctx: kb.Context) -> None:
    """A look."""
    async with ctx.llm.read_session():
        pass


async def nest(ctx: kb.Context) -> None:
    """A session in another one, which is refused."""
    async with ctx.llm.write_session(), ctx.llm.read_session():
        pass


async def raises(ctx: kb.Context) -> None:
    """An error."""
    raise LookupError("no coat")


async def waits(ctx: kb.Context) -> None:
    """Until it is cancelled, in a session."""
    async with ctx.llm.write_session():
        await asyncio.sleep(30)


async def fails(ctx: kb.Context) -> None:
    """A request that nobody answers."""
    async with ctx.llm.write_session() as session:
        session.append(kb.user("Fail!"))
        await session.request()


async def late() -> str:
    """Takes a while."""
    await asyncio.sleep(0.002)
    return "now"


def answer(request: kb.Request) -> Any:
    """As everywhere, but where it is to fail."""
    if request.messages[-1].text == "Fail!":
        raise OSError("gone")
    return answers(request)


MILD = [ask, stream, leave_a_stream, call, compress, read]
ACTIONS = st.lists(st.sampled_from([*MILD, *MILD, nest, raises, waits, fails]), max_size=2)


def put(graph: Subgraph, name: str, actions: Sequence[Callable[[kb.Context], Any]]) -> Any:
    """A node that does this."""

    async def do(ctx: kb.Context, text: str) -> str:
        for action in actions:
            await action(ctx)
        return text

    return graph.node(do, name=name)


@settings(max_examples=60)
@given(plan=st.lists(ACTIONS, min_size=5, max_size=5), at_once=st.booleans())
async def test_any_run_is_symmetric(plan: list[list[Any]], at_once: bool) -> None:
    """In nodes, subgraphs and branches, whatever happens there. [AGT-03]"""
    trip = kb.strategy("trip", input=str, output=str)
    inner = trip.subgraph("inner")
    block = trip.parallel("block", merge=select_by_index(lambda results: 0))
    first, second, third = (
        put(trip, "first", plan[0]),
        put(inner, "second", plan[1]),
        put(inner, "third", plan[2]),
    )
    put(block, "east", plan[3])
    put(block, "west", plan[4])
    inner.start >> second >> third >> inner.finish
    trip.start >> first >> inner >> block >> trip.finish
    agent = kb.Agent(kb.ScriptedExecutor(answer), "offline", trip, tools=[weather, late])
    runs = [asyncio.ensure_future(agent.run("x", f"chat-{number}")) for number in range(1 + at_once)]
    seen: list[Run] = []
    await asyncio.wait(runs, timeout=0.05)
    for task in runs:
        task.cancel()
    await asyncio.wait(runs)
    for task in runs:
        if task.cancelled() or task.exception() is not None:
            continue
        seen.append(task.result())
    if agent.last_run is not None:
        seen.append(agent.last_run)
    for run in seen:
        require_symmetric(run)


# ------------------------------------------------------------------------------------------- nothing by itself


async def test_with_every_package_there_and_nothing_installed_nothing_is_kept(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file, no history, no checkpoint, no span: a feature is on where it is installed. [AGT-02a]"""
    from opentelemetry import trace

    import koogbook.features.open_telemetry.spans
    import koogbook.features.persistence.feature
    import koogbook.features.tracing  # noqa: F401

    began: list[Any] = []
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: began.append(1))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    async with traveller() as agent:
        first = await travelled(agent)
        second = await travelled(agent)

    assert list(tmp_path.rglob("*")) == []
    assert began == []
    assert first.calls[0].request.messages[0].text == second.calls[0].request.messages[0].text == "Be brief."
    assert len(first.calls[0].request.messages) == len(second.calls[0].request.messages) == 3
    assert (second.resumed, second.last_checkpoint, second.installed, second.acted) == (False, None, (), ())
    kinds = Counter(event.name for event in second.events)
    assert not any(name.startswith(("Checkpoint", "Tombstone")) for name in kinds)


async def test_what_only_listens_changes_nothing_and_did_not_act() -> None:
    """A report says so. [AGT-02]"""
    plain = await travelled(traveller())
    watched = await travelled(traveller().install(EventHandler(on_event=lambda event: None)))

    assert [event.name for event in watched.events] == [event.name for event in plain.events]
    assert (watched.output, watched.acted, watched.installed) == (plain.output, (), ("EventHandler",))
