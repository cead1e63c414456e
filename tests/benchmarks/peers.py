"""The same work in other frameworks, each as its own documentation does it. Imported only where they are installed."""

from __future__ import annotations

import asyncio
import logging
import operator
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, TypedDict

from harness import Measures, is_installed
from workload import (
    BRANCH_SECONDS,
    BRANCHES,
    LINE_NODES,
    LOOP_STEPS,
    SAVED_STEPS,
    TEXTS,
    bytes_in,
    fresh_folder,
    over_the_ideal,
    summed_up,
)

# Peers that report their use over the network would measure that as well.
for _name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2", "BURR_TELEMETRY_ENABLED"):
    os.environ.setdefault(_name, "false")

LANGGRAPH = is_installed("langgraph.graph")
LANGGRAPH_SQLITE = LANGGRAPH and is_installed("langgraph.checkpoint.sqlite", "aiosqlite")
BURR = is_installed("burr.core")
BURR_SQLITE = BURR and is_installed("aiosqlite")
PYDANTIC_GRAPH = is_installed("pydantic_graph")


class CounterState(TypedDict):
    n: int


@dataclass
class Counter:
    n: int = 0


def langgraph_loop() -> Measures:
    from langgraph.graph import END, START, StateGraph

    async def count_up(state: CounterState) -> CounterState:
        return {"n": state["n"] + 1}

    graph = StateGraph(CounterState)
    for own, other in (("a", "b"), ("b", "a")):
        graph.add_node(own, count_up)
        graph.add_conditional_edges(
            own, lambda state, to=other: to if state["n"] < LOOP_STEPS else END, [other, END]
        )
    graph.add_edge(START, "a")
    compiled = graph.compile()

    async def run() -> float:
        started = time.perf_counter()
        done = await compiled.ainvoke({"n": 0}, {"recursion_limit": LOOP_STEPS + 10})
        seconds = time.perf_counter() - started
        assert done["n"] == LOOP_STEPS
        return seconds

    return {"seconds": asyncio.run(run())}


def burr_loop() -> Measures:
    _quiet_burr()
    from burr.core import ApplicationBuilder, action, expr

    @action(reads=["n"], writes=["n"])
    async def first(state: Any) -> Any:
        return state.update(n=state["n"] + 1)

    @action(reads=["n"], writes=["n"])
    async def second(state: Any) -> Any:
        return state.update(n=state["n"] + 1)

    @action(reads=["n"], writes=[])
    async def end(state: Any) -> Any:
        return state

    done_when = expr(f"n >= {LOOP_STEPS}")
    application = (
        ApplicationBuilder()
        .with_actions(a=first, b=second, end=end)
        .with_transitions(("a", "end", done_when), ("a", "b"), ("b", "end", done_when), ("b", "a"))
        .with_state(n=0)
        .with_entrypoint("a")
        .build()
    )

    async def run() -> float:
        started = time.perf_counter()
        _, _, state = await application.arun(halt_after=["end"])
        seconds = time.perf_counter() - started
        assert state["n"] == LOOP_STEPS
        return seconds

    return {"seconds": asyncio.run(run())}


def burr_line() -> Measures:
    _quiet_burr()
    from burr.core import ApplicationBuilder, action

    @action(reads=["n"], writes=["n"])
    async def count_up(state: Any) -> Any:
        return state.update(n=state["n"] + 1)

    names = [f"n{number}" for number in range(LINE_NODES)]
    started = time.perf_counter()
    application = (
        ApplicationBuilder()
        .with_actions(**dict.fromkeys(names, count_up))
        .with_transitions(*pairwise(names))
        .with_state(n=0)
        .with_entrypoint(names[0])
        .build()
    )
    built = time.perf_counter() - started

    async def run() -> float:
        started = time.perf_counter()
        _, _, state = await application.arun(halt_after=[names[-1]])
        seconds = time.perf_counter() - started
        assert state["n"] == LINE_NODES
        return seconds

    return {"seconds": built, "run": asyncio.run(run())}


def pydantic_graph_loop() -> Measures:
    import pydantic_graph

    builder = pydantic_graph.GraphBuilder(state_type=Counter, input_type=int, output_type=int)

    async def count_up(ctx: Any) -> int:
        ctx.state.n += 1
        return int(ctx.state.n)

    first = builder.step(count_up, node_id="a")
    second = builder.step(count_up, node_id="b")
    edges = [builder.edge_from(builder.start_node).to(first)]
    for own, other in ((first, second), (second, first)):
        choice = (
            builder.decision()
            .branch(builder.match(int, matches=lambda n: n >= LOOP_STEPS).to(builder.end_node))
            .branch(builder.match(int).to(other))
        )
        edges.append(builder.edge_from(own).to(choice))
    builder.add(*edges)
    graph = builder.build()

    async def run() -> float:
        started = time.perf_counter()
        done = await graph.run(state=Counter(), inputs=0)
        seconds = time.perf_counter() - started
        assert done == LOOP_STEPS
        return seconds

    return {"seconds": asyncio.run(run())}


async def _sleep_and_give(number: int) -> int:
    await asyncio.sleep(BRANCH_SECONDS)
    return number


def _timed(run: Callable[[], Awaitable[int]]) -> Measures:
    """Measure branches that are set up already, and whose numbers ``run`` gives added up."""

    async def timed() -> float:
        started = time.perf_counter()
        total = await run()
        seconds = time.perf_counter() - started
        assert total == sum(range(BRANCHES))
        return seconds

    return over_the_ideal(asyncio.run(timed()))


def langgraph_branches() -> Measures:
    from langgraph.graph import END, START, StateGraph
    from langgraph.types import Send

    async def branch(state: Any) -> Any:
        return {"numbers": [await _sleep_and_give(state["number"])]}

    graph = StateGraph(TypedDict("NumbersState", {"numbers": Annotated[list, operator.add]}))
    graph.add_node("split", lambda state: {})
    graph.add_node("branch", branch)
    graph.add_edge(START, "split")
    graph.add_conditional_edges(
        "split", lambda state: [Send("branch", {"number": number}) for number in range(BRANCHES)], ["branch"]
    )
    graph.add_edge("branch", END)
    compiled = graph.compile()

    async def run() -> int:
        return sum((await compiled.ainvoke({"numbers": []}))["numbers"])

    return _timed(run)


def burr_branches() -> Measures:
    _quiet_burr()
    from burr.core import ApplicationBuilder, action
    from burr.core.parallelism import MapStates

    @action(reads=["number"], writes=["given"])
    async def branch(state: Any) -> Any:
        return state.update(given=await _sleep_and_give(state["number"]))

    class Branches(MapStates):  # type: ignore[misc]
        @property
        def reads(self) -> list[str]:
            return []

        @property
        def writes(self) -> list[str]:
            return ["total"]

        def action(self, state: Any, inputs: Any) -> Any:
            return branch

        async def states(self, state: Any, context: Any, inputs: Any) -> Any:
            for number in range(BRANCHES):
                yield state.update(number=number)

        async def reduce(self, state: Any, states: Any) -> Any:
            return state.update(total=sum([one["given"] async for one in states]))

        def is_async(self) -> bool:
            return True

    application = (
        ApplicationBuilder()
        .with_actions(branches=Branches())
        .with_transitions()
        .with_state(number=0)
        .with_entrypoint("branches")
        .build()
    )

    async def run() -> int:
        _, _, state = await application.arun(halt_after=["branches"])
        return int(state["total"])

    return _timed(run)


def pydantic_graph_branches() -> Measures:
    import pydantic_graph

    builder = pydantic_graph.GraphBuilder(input_type=int, output_type=list[int])

    async def split(ctx: Any) -> list[int]:
        return list(range(BRANCHES))

    async def branch(ctx: Any) -> int:
        return await _sleep_and_give(ctx.inputs)

    first = builder.step(split, node_id="split")
    mapped = builder.step(branch, node_id="branch")
    joined = builder.join(pydantic_graph.reduce_list_append, initial_factory=list[int])
    builder.add(
        builder.edge_from(builder.start_node).to(first),
        builder.edge_from(first).map().to(mapped),
        builder.edge_from(mapped).to(joined),
        builder.edge_from(joined).to(builder.end_node),
    )
    graph = builder.build()

    async def run() -> int:
        return sum(await graph.run(inputs=0))

    return _timed(run)


def langgraph_saving(channel: str) -> Callable[[], Measures]:
    """``channel`` is ``"delta"`` (stores only what is new; beta) or ``"add_messages"`` (the documented way)."""

    def run() -> Measures:
        with fresh_folder() as folder:
            seconds, marks = asyncio.run(_langgraph_run(channel, str(folder / "langgraph.db")))
            return summed_up(seconds, marks, bytes_in(folder))

    return run


async def _langgraph_run(channel: str, path: str) -> tuple[float, list[float]]:
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
    from langgraph.graph import END, START, StateGraph

    marks: list[float] = []
    make = _plain_message if channel == "delta" else _human_message

    async def say(state: Any) -> Any:
        marks.append(time.perf_counter())
        return {"messages": [make(len(state["messages"]))]}

    graph = StateGraph(_delta_schema() if channel == "delta" else _messages_schema())
    for own, other in (("a", "b"), ("b", "a")):
        graph.add_node(own, say)
        graph.add_conditional_edges(
            own, lambda state, to=other: to if len(state["messages"]) < SAVED_STEPS else END, [other, END]
        )
    graph.add_edge(START, "a")
    async with AsyncSqliteSaver.from_conn_string(path) as saver:
        await saver.setup()
        compiled = graph.compile(checkpointer=saver)
        config: Any = {"recursion_limit": SAVED_STEPS + 10, "configurable": {"thread_id": "chat"}}
        started = time.perf_counter()
        done = await compiled.ainvoke({"messages": []}, config)
        seconds = time.perf_counter() - started
    assert len(done["messages"]) == SAVED_STEPS
    return seconds, marks


def _plain_message(number: int) -> Any:
    return {"role": "user", "content": TEXTS[number], "id": f"m{number}"}


def _human_message(number: int) -> Any:
    from langchain_core.messages import HumanMessage

    return HumanMessage(content=TEXTS[number], id=f"m{number}")


def _delta_schema() -> Any:
    from langgraph.channels.delta import DeltaChannel

    def extend(messages: list[Any], writes: list[list[Any]]) -> list[Any]:
        for more in writes:
            messages = operator.add(messages, more)
        return messages

    return TypedDict("DeltaState", {"messages": Annotated[list, DeltaChannel(extend)]})


def _messages_schema() -> Any:
    from langgraph.graph import add_messages

    return TypedDict("MessagesState", {"messages": Annotated[list, add_messages]})


def burr_saving() -> Measures:
    _quiet_burr()
    with fresh_folder() as folder:
        seconds, marks = asyncio.run(_burr_run(str(folder / "burr.db")))
        return summed_up(seconds, marks, bytes_in(folder))


async def _burr_run(path: str) -> tuple[float, list[float]]:
    from burr.core import ApplicationBuilder, action, expr
    from burr.integrations.persisters.b_aiosqlite import AsyncSQLitePersister

    marks: list[float] = []

    def say(state: Any) -> Any:
        marks.append(time.perf_counter())
        number = state["n"]
        return state.append(messages=_plain_message(number)).update(n=number + 1)

    @action(reads=["messages", "n"], writes=["messages", "n"])
    async def first(state: Any) -> Any:
        return say(state)

    @action(reads=["messages", "n"], writes=["messages", "n"])
    async def second(state: Any) -> Any:
        return say(state)

    @action(reads=["n"], writes=[])
    async def end(state: Any) -> Any:
        return state

    done_when = expr(f"n >= {SAVED_STEPS}")
    async with AsyncSQLitePersister.from_values(path) as persister:
        await persister.initialize()
        application = await (
            ApplicationBuilder()
            .with_actions(a=first, b=second, end=end)
            .with_transitions(("a", "end", done_when), ("a", "b"), ("b", "end", done_when), ("b", "a"))
            .with_identifiers(app_id="chat", partition_key="all")
            .with_state(messages=[], n=0)
            .with_entrypoint("a")
            .with_state_persister(persister)
            .abuild()
        )
        started = time.perf_counter()
        _, _, state = await application.arun(halt_after=["end"])
        seconds = time.perf_counter() - started
    assert len(state["messages"]) == SAVED_STEPS
    return seconds, marks


def _quiet_burr() -> None:
    logging.getLogger("burr").setLevel(logging.ERROR)
