"""PRF-02: the cost of a step of a strategy that does nothing, and of building one."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import floors
import peers
from harness import Bound, Case, Column, Measures, Table
from workload import LINE_NODES, LOOP_STEPS

import koogbook as kb
from koogbook.runtime.compiled import compile_strategy

OWN = "koogbook, a listener, all events kept"
FLOOR = "one asyncio task per step"
LEAST = "nodes awaited directly"
BUILT = "koogbook, plain functions"
TYPED = "koogbook, annotated functions"
LIST = "a list of functions"


def counting_strategy() -> kb.Strategy:
    """Two nodes that hand a number to each other until it is large enough."""
    counting = kb.strategy("count", input=int, output=int)

    @counting.node
    async def a(ctx: kb.Context, number: int) -> int:
        return number + 1

    @counting.node
    async def b(ctx: kb.Context, number: int) -> int:
        return number + 1

    counting.start >> a
    for own, other in ((a, b), (b, a)):
        counting.edge(own, counting.finish, when=_is_done, label="done")
        counting.edge(own, other)
    return counting


def _is_done(number: int) -> bool:
    return number >= LOOP_STEPS


def koogbook_loop() -> Measures:
    seen = 0

    def listen(event: Any) -> None:
        nonlocal seen
        seen += 1

    agent = kb.Agent(kb.OfflineExecutor(), "offline", counting_strategy(), max_iterations=LOOP_STEPS + 10)
    agent.on(listen)

    async def run() -> float:
        started = time.perf_counter()
        done = await agent.run(0)
        seconds = time.perf_counter() - started
        assert done.output == LOOP_STEPS
        assert seen == len(done.events) > 3 * LOOP_STEPS
        return seconds

    return {"seconds": asyncio.run(run())}


def table() -> Table:
    known = (
        ("burr", peers.BURR, peers.burr_loop),
        ("pydantic_graph", peers.PYDANTIC_GRAPH, peers.pydantic_graph_loop),
        ("langgraph", peers.LANGGRAPH, peers.langgraph_loop),
    )
    return Table(
        statement="PRF-02",
        title=f"a loop of two nodes, {LOOP_STEPS:,} steps",
        cases=[
            Case(OWN, "koogbook", koogbook_loop),
            Case(FLOOR, "floor", floors.task_per_step),
            Case(LEAST, "floor", floors.await_per_step),
            *(Case(name, "peer", run) for name, there, run in known if there),
        ],
        columns=[Column("seconds", "us a step", 1e-6 * LOOP_STEPS, 2)],
        bounds=[
            Bound(OWN, "burr", 0.15),
            Bound(OWN, "langgraph", 0.04),
            Bound(OWN, FLOOR, 2.0),
            Bound(OWN, FLOOR, 0.5, text="the aim: koogbook / one asyncio task per step"),
        ],
        missing=[name for name, there, _ in known if not there],
        notes=["peers run without listeners or a record of events."],
    )


def koogbook_line(function: Any) -> Measures:
    """Define, check and compile a line of nodes, then run it once as the first run of an agent."""
    started = time.perf_counter()
    line = kb.strategy("line")
    nodes = [line.node(function, name=f"n{number}") for number in range(LINE_NODES)]
    last = line.start
    for node in nodes:
        last = last >> node
    last >> line.finish
    compile_strategy(line)
    built = time.perf_counter() - started
    agent = kb.Agent(kb.OfflineExecutor(), "offline", line, max_iterations=LINE_NODES)

    async def run() -> float:
        started = time.perf_counter()
        done = await agent.run(0)
        seconds = time.perf_counter() - started
        assert done.output == LINE_NODES
        return seconds

    return {"seconds": built, "run": asyncio.run(run())}


async def _plain(ctx, number):  # type: ignore[no-untyped-def]
    return number + 1


async def _typed(ctx: kb.Context, number: int) -> int:
    return number + 1


def build_table() -> Table:
    return Table(
        statement="BUILD",
        title=f"a line of {LINE_NODES:,} nodes, built and run once",
        cases=[
            Case(BUILT, "koogbook", lambda: koogbook_line(_plain)),
            Case(TYPED, "koogbook", lambda: koogbook_line(_typed)),
            Case(LIST, "floor", floors.list_of_nodes),
            *([Case("burr", "peer", peers.burr_line)] if peers.BURR else []),
        ],
        columns=[
            Column("seconds", "ms to build", 1e-3, 2),
            Column("run", "us a node to run", 1e-6 * LINE_NODES, 2),
        ],
        bounds=[
            Bound(BUILT, "burr", 1.0),
            Bound(BUILT, "burr", 0.3, "run", "a run of it / burr"),
        ],
        missing=[] if peers.BURR else ["burr"],
        notes=["burr's actions declare which fields they read and write, and check no types."],
    )
