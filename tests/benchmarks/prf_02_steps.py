"""PRF-02: the cost of a step of a strategy that does nothing."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import floors
import peers
from harness import Bound, Case, Column, Measures, Table
from workload import LOOP_STEPS

import koogbook as kb

OWN = "koogbook, a listener, all events kept"
FLOOR = "one asyncio task per step"
LEAST = "nodes awaited directly"


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
