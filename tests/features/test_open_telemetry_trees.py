"""Which spans a run makes, and what stands in which."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from opentelemetry import trace
from span_trees import named, of, the, tree
from traced_runs import crosser, traveller

import koogbook as kb
from koogbook.features.open_telemetry import OpenTelemetry


async def test_a_run_is_a_tree_of_spans(watch: Any) -> None:
    """Agent, strategy, nodes and subgraphs, requests and tools. [AGT-04]"""
    _, spans = await watch(traveller())

    assert tree(spans) == [
        "invoke_agent trip",
        "  strategy trip",
        "    node start",
        "    subgraph look",
        "      node start",
        "      node ask",
        "        chat offline",
        "      node call",
        "        execute_tool weather",
        "        execute_tool weather",
        "        execute_tool",
        "        chat offline",
        "      node finish",
        "    node tell",
        "      chat offline",
        "    node shorten",
        "      chat offline",
        "    node sum_up",
        "    node finish",
    ]


async def test_branches_have_their_own_spans(watch: Any) -> None:
    """What happens in one, at the same time as the other, stands in it. [AGT-04]"""
    _, spans = await watch(crosser())
    both = the(spans, "node both")
    east, west = the(spans, "branch east"), the(spans, "branch west")

    for branch, inner in (
        (east, ["chat offline", *["execute_tool weather"] * 2, "execute_tool"]),
        (west, ["chat offline"]),
    ):
        assert branch.parent is not None
        assert both.context is not None
        assert branch.parent.span_id == both.context.span_id
        node = the(
            [span for span in spans if span.parent and span.parent.span_id == branch.context.span_id],
            branch.name.replace("branch", "node"),
        )  # type: ignore[union-attr]
        found = [span.name for span in spans if span.parent and span.parent.span_id == node.context.span_id]  # type: ignore[union-attr]
        assert sorted(found) == sorted(inner)
    assert of(west)["koogbook.branch.order"] == 1
    assert (east.start_time or 0) < (west.end_time or 0)
    assert (west.start_time or 0) < (east.end_time or 0)


async def test_runs_at_once_have_their_own_trees(provider: Any, memory: Any) -> None:
    """No span has its parent in another run. [AGT-04]"""
    agent = crosser().install(OpenTelemetry(provider))
    runs = await asyncio.gather(*(agent.run(text, f"chat-{text}") for text in "abc"))
    spans = memory.get_finished_spans()
    by_id = {span.context.span_id: span for span in spans}

    for span in spans:
        if span.parent:
            assert of(by_id[span.parent.span_id])["koogbook.run.id"] == of(span)["koogbook.run.id"]
    assert {of(span)["koogbook.run.id"] for span in spans} == {run.run_id for run in runs}
    assert len({span.context.trace_id for span in spans}) == 3


async def test_a_run_stands_in_the_span_of_its_caller(provider: Any, memory: Any) -> None:
    """A request that a server answers, for instance. [AGT-04]"""
    agent = crosser().install(OpenTelemetry(provider))
    with provider.get_tracer("app").start_as_current_span("POST /chat") as outer:
        await agent.run("x")

    assert tree(memory.get_finished_spans())[:2] == ["POST /chat", "  invoke_agent trip"]
    assert (
        outer.get_span_context().trace_id
        == the(memory.get_finished_spans(), "strategy trip").context.trace_id
    )  # type: ignore[union-attr]


def _one_tool(tool: Any) -> kb.Agent:
    executor = kb.ScriptedExecutor(
        [kb.assistant(calls=[kb.ToolCall(tool.name, f'{{"city": "{city}"}}', city) for city in "ab"]), "done"]
    )
    return kb.Agent(executor, "offline", kb.single_run_strategy(), tools=[tool])


async def test_an_agent_inside_a_tool_stands_in_the_span_of_the_tool(provider: Any, memory: Any) -> None:
    """In one trace, each in its own call, also when the calls are run at once. [AGT-04]"""
    inner = crosser().install(OpenTelemetry(provider))

    @kb.tool
    async def ask_the_other(city: str) -> str:
        """Ask another agent."""
        await inner.run(city)
        return city

    await _one_tool(ask_the_other).install(OpenTelemetry(provider)).run("x")
    spans = memory.get_finished_spans()
    outer = {span.context.span_id for span in named(spans, "execute_tool ask_the_other")}
    runs = [span for span in named(spans, "invoke_agent trip") if span.parent]

    assert len({span.context.trace_id for span in spans}) == 1
    assert len(outer) == 2
    assert {span.parent.span_id for span in runs if span.parent} == outer


@pytest.mark.parametrize("in_thread", [False, True])
async def test_spans_of_the_users_code_stand_in_what_goes_on(
    provider: Any, memory: Any, in_thread: bool
) -> None:
    """Those of a node stand in the node's, those of a tool in the tool's, in a thread too. [AGT-04]"""
    tracer = provider.get_tracer("app")

    def look(city: str) -> str:
        """Look it up."""
        with tracer.start_as_current_span(f"database {city}"):
            return city

    async def looks(city: str) -> str:
        """Look it up."""
        return look(city)

    tool = kb.Tool(look, name="look") if in_thread else kb.Tool(looks, name="look")
    await _one_tool(tool).install(OpenTelemetry(provider)).run("x")
    spans = memory.get_finished_spans()
    by_id = {span.context.span_id: span for span in spans}

    for city in "ab":
        parent = by_id[the(spans, f"database {city}").parent.span_id]  # type: ignore[union-attr]
        assert (parent.name, of(parent)["gen_ai.tool.call.id"]) == ("execute_tool look", city)


async def test_what_is_over_is_no_longer_current(provider: Any, memory: Any) -> None:
    """Between a request and the next one a span stands in the node; around the strategy, in the run. [AGT-04]"""
    tracer = provider.get_tracer("app")
    trip = kb.strategy("trip")

    @trip.node
    async def asks(ctx: kb.Context, value: Any) -> Any:
        for number in range(2):
            async with ctx.llm.write_session() as session:
                session.append(kb.user("?"))
                await session.request()
            tracer.start_span(f"after {number}").end()
        return value

    trip.start >> asks >> trip.finish
    agent = kb.Agent(kb.OfflineExecutor(), "offline", trip).install(OpenTelemetry(provider))
    for kind in (kb.events.StrategyStarting, kb.events.RunCompleted):  # listeners are told before features
        agent.on(lambda event: tracer.start_span(f"on {event.name}").end(), kind)
    await agent.run("x")
    spans = list(memory.get_finished_spans())
    by_id = {span.context.span_id: span.name for span in spans}

    assert {
        span.name: by_id[span.parent.span_id] for span in spans if span.name.startswith(("after", "on"))
    } == {
        "after 0": "node asks",
        "after 1": "node asks",
        "on StrategyStarting": "invoke_agent trip",
        "on RunCompleted": "invoke_agent trip",
    }


@pytest.mark.parametrize("make", [traveller, crosser])
@pytest.mark.parametrize("how", ["completed", "failed", "cancelled", "abandoned stream"])
async def test_after_a_run_the_current_span_is_that_of_before(provider: Any, make: Any, how: str) -> None:
    """However it ends. [AGT-04]"""
    agent = make().install(OpenTelemetry(provider))
    streams: list[Any] = []
    caller = asyncio.current_task()
    assert caller is not None

    def interfere(event: Any) -> None:
        if event.path.endswith(("tell", "west")):
            if how == "failed":
                raise RuntimeError("no")
            caller.cancel()

    if how in ("failed", "cancelled"):
        agent.on(interfere, kb.events.LLMCallStarting)
    if how == "abandoned stream":

        async def leaves(ctx: Any, value: Any) -> Any:
            async with ctx.llm.read_session() as session:
                stream = session.request_streaming()
                streams.append(stream)
                await anext(stream)
            return value

        leaving = kb.strategy("leaving")
        leaving.start >> leaving.node(leaves) >> leaving.finish
        agent = kb.Agent(kb.OfflineExecutor(), "offline", leaving).install(OpenTelemetry(provider))
    with provider.get_tracer("app").start_as_current_span("cell") as outer:
        try:
            await agent.run("x")
        except (RuntimeError, asyncio.CancelledError):
            caller.uncancel()

        assert trace.get_current_span() is outer
    assert agent.last_run is not None
    assert agent.last_run.state == {"abandoned stream": "completed"}.get(how, how)


@pytest.mark.parametrize("make", [traveller, crosser])
@pytest.mark.parametrize("end", ["", "error", "wait"])
async def test_spans_have_the_times_of_the_events(watch: Any, make: Any, end: str) -> None:
    """The run from its first event to its last, everything else within its parent; and all of them end. [AGT-04]"""
    run, spans = await watch(make(end=end))
    whole = the(spans, "invoke_agent trip")
    by_id = {span.context.span_id: span for span in spans}

    assert whole.start_time == round(run.events[0].time * 1e9)
    assert whole.end_time == round(run.events[-1].time * 1e9)
    for span in spans:
        if span.parent:
            outer = by_id[span.parent.span_id]
            assert outer.start_time <= span.start_time <= span.end_time <= outer.end_time
    started = [
        event
        for event in run.events
        if event.name.endswith("Starting") and event.name not in ("SubgraphStarting", "CompressionStarting")
    ]
    assert len(spans) == len(started) + len(
        [event for event in run.events if event.name == "ToolValidationFailed"]
    )
