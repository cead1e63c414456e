"""PRF-07: what a hundred branches at once cost beside the time that each of them takes."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import floors
import peers
from harness import Bound, Case, Column, Measures, Table
from workload import BRANCH_SECONDS, BRANCHES, over_the_ideal

import koogbook as kb
from koogbook.runtime.parallel.merges import fold

OWN = "koogbook, a listener, all events kept"
FLOOR = "asyncio.gather"


def branching_strategy() -> kb.Strategy:
    """A parallel block whose branches sleep and give their number; the numbers are added up."""
    strategy = kb.strategy("branches", input=int, output=int)
    block = strategy.parallel("block", merge=fold(0, lambda total, number: total + number), output=int)
    for number in range(BRANCHES):
        block.node(name=f"branch {number}")(_sleeping(number))
    strategy.start >> block >> strategy.finish
    return strategy


def _sleeping(number: int) -> Any:
    async def branch(ctx: kb.Context, value: Any) -> int:
        await asyncio.sleep(BRANCH_SECONDS)
        return number

    return branch


def koogbook_branches() -> Measures:
    seen = 0

    def listen(event: Any) -> None:
        nonlocal seen
        seen += 1

    agent = kb.Agent(kb.OfflineExecutor(), "offline", branching_strategy(), max_iterations=BRANCHES + 10)
    agent.on(listen)

    async def run() -> float:
        started = time.perf_counter()
        done = await agent.run(0)
        seconds = time.perf_counter() - started
        assert done.output == sum(range(BRANCHES))
        assert seen == len(done.events) > 6 * BRANCHES
        return seconds

    return over_the_ideal(asyncio.run(run()))


def table() -> Table:
    known = (
        ("burr", peers.BURR, peers.burr_branches),
        ("pydantic_graph", peers.PYDANTIC_GRAPH, peers.pydantic_graph_branches),
        ("langgraph", peers.LANGGRAPH, peers.langgraph_branches),
    )
    return Table(
        statement="PRF-07",
        title=f"{BRANCHES} branches that sleep {BRANCH_SECONDS * 1e3:.0f} ms, and their sum",
        cases=[
            Case(OWN, "koogbook", koogbook_branches),
            Case(FLOOR, "floor", floors.gathered_branches),
            *(Case(name, "peer", run) for name, there, run in known if there),
        ],
        columns=[Column("over", "ms over the ideal", 1e-3, 2), Column("seconds", "ms", 1e-3, 1)],
        bounds=[Bound(OWN, "burr", 0.5, "over"), Bound(OWN, FLOOR, 3.0, "over")],
        missing=[name for name, there, _ in known if not there],
        notes=[
            "koogbook's time is that of a whole run, which freezes and checks the strategy first; peers are built "
            "before, and run without listeners or a record of events.",
            "a branch of koogbook has a copy of the history with a lock of its own, and a copy of the storage.",
        ],
    )
