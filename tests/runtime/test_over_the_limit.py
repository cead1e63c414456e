"""What a run over the limit of node runs says of the work that was done."""

from __future__ import annotations

from typing import Any

import pytest

import koogbook as kb
from koogbook.errors import MaxIterationsError
from koogbook.runtime.builder import Subgraph

WHOLE = "What was done so far is kept."
IN_PART = (
    "What was committed so far to the context of the run is kept, and nothing of the branch or subgraph that"
)


def loop(graph: Subgraph) -> None:
    """Fill a graph with a node that leads back to itself."""

    async def again(ctx: kb.Context, value: Any) -> Any:
        return value

    graph.start >> graph.node(again) >> graph.nodes["again"]
    graph.edge("again", "finish", when=lambda value: False)


@pytest.mark.parametrize(
    ("options", "told"),
    [(None, WHOLE), ({}, WHOLE), ({"history": "fresh"}, IN_PART)],
    ids=["strategy", "group", "own context"],
)
async def test_the_error_says_what_is_kept(options: dict[str, Any] | None, told: str) -> None:
    """All of it, unless the node is on a context that nothing is handed over from [GRA-04]."""
    trip = kb.strategy("trip")
    if options is None:
        loop(trip)
    else:
        part = trip.subgraph("part", **options)
        loop(part)
        trip.start >> part >> trip.finish

    with pytest.raises(MaxIterationsError) as caught:
        await kb.Agent(kb.OfflineExecutor(), "offline", trip, max_iterations=3).run("x")
    assert told in str(caught.value)
    assert ({WHOLE, IN_PART} - {told}).pop() not in str(caught.value)
