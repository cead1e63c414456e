"""The report of a run, live or from its trace, names the branches that a merge went on without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import koogbook as kb
from koogbook.agents.traced_run import load_run


def failing_block(branches: int) -> kb.Agent:
    """An agent with a parallel block of so many branches that fail, and one that does not."""
    trip = kb.strategy("trip", input=str, output=Any)
    block = trip.parallel(
        "block", merge=kb.fold([], lambda found, output: [*found, output]), on_error="collect"
    )

    def failing(number: int) -> None:
        @block.node(name=f"b{number}")
        async def fail(ctx: kb.Context, text: str) -> str:
            raise ValueError(text)

    for number in range(branches):
        failing(number)
    block.do_nothing(name="well")
    trip.start >> block >> trip.finish
    return kb.Agent(kb.OfflineExecutor(), "offline", trip)


@pytest.mark.parametrize(
    ("branches", "named"),
    [
        (1, "b0"),
        (5, "b0, b1, b2, b3, b4"),
        (6, "b0, b1, b2, b3, b4 and 1 more"),
        (8, "b0, b1, b2, b3, b4 and 3 more"),
    ],
)
async def test_a_report_names_five_branches_that_failed_and_counts_the_others(
    tmp_path: Path, branches: int, named: str
) -> None:
    """None is named and counted as well [AGT-03]."""
    run = await failing_block(branches).run("x")
    said = f"block: fold, without {named}, which failed; history"

    assert said in str(run.report())
    assert said in str(load_run(kb.save_trace(run, tmp_path / "t.jsonl")).report())
