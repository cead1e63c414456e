"""The graph view of parallel blocks, and of subgraphs with a context of their own."""

from __future__ import annotations

import asyncio
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

import koogbook as kb
from koogbook.notebook.views.graph_view.model import GraphState, NodeRow
from koogbook.notebook.views.graph_view.state import graph_state
from koogbook.notebook.views.graph_view.view import graph_element, graph_svg, graph_text
from koogbook.notebook.views.look.markup import render
from koogbook.runtime.builder import Strategy
from koogbook.runtime.parallel.merges import Merge, fold, select_by_max


def trip(merge: Merge, *, on_error: Any = "cancel") -> Strategy[Any, Any]:
    """``rail``, ``air`` and a subgraph ``hotel`` at once; the length of the input decides who fails and who waits."""
    made = kb.strategy("trip", input=str, output=Any)
    block = made.parallel("offers", merge=merge, on_error=on_error)

    @block.node
    async def rail(ctx: Any, text: str) -> str:
        if text == "wait":
            await asyncio.sleep(60)
        return text

    @block.node
    async def air(ctx: Any, text: str) -> str:
        if text == "fail":
            await asyncio.sleep(0)
            raise ValueError("no seats")
        if text == "wait":
            await asyncio.sleep(60)
        return f"{text}, by air"

    hotel = block.subgraph("hotel", tools=[], history="fresh")

    @hotel.node
    async def look(ctx: Any, text: str) -> str:
        if text in ("wait", "fail"):
            await asyncio.sleep(60)
        return text

    hotel.start >> look >> hotel.finish
    made.start >> block >> made.finish
    return made


async def ran(strategy: Strategy[Any, Any], text: str) -> GraphState:
    """The state after a run, failed or not."""
    agent = kb.Agent(kb.OfflineExecutor(), "offline", strategy)
    try:
        await agent.run(text)
    except ValueError:
        assert text == "fail"
    assert agent.last_run is not None
    return graph_state(strategy.shape(), agent.last_run.events)


def row(state: GraphState, path: str) -> NodeRow:
    """The row of one node."""
    return next(found for found in state.nodes if found.path == f"trip/{path}")


def test_the_head_of_a_block_says_that_it_is_one() -> None:
    """With the number of its branches; how it merges stands at the merge [NBK-03]."""
    state = graph_state(trip(select_by_max(len)).shape())

    assert row(state, "offers").head == "parallel \u00b7 3 branches"
    assert (row(state, "offers/finish").name, row(state, "offers/finish").head) == (
        "merge",
        "select_by_max(len)",
    )


def test_the_head_of_a_subgraph_says_what_is_its_own() -> None:
    """Tools, model, history [NBK-03]."""
    assert (
        row(graph_state(trip(fold(0, max)).shape()), "offers/hotel").head == "no tools \u00b7 fresh history"
    )


def test_the_merge_is_the_last_node_of_its_block() -> None:
    """It stands at the bottom, under the branches [NBK-03]."""
    inside = [
        one.path for one in graph_state(trip(fold(0, max)).shape()).nodes if one.parent == "trip/offers"
    ]

    assert inside == [f"trip/offers/{name}" for name in ("start", "rail", "air", "hotel", "finish")]


async def test_the_branch_that_was_chosen_is_marked() -> None:
    """In the row, in the picture and in words [NBK-03]."""
    state = await ran(trip(select_by_max(len)), "x")

    assert [one.path for one in state.nodes if one.chosen] == ["trip/offers/air"]
    assert row(state, "offers/air").fact == "chosen"
    assert "chose air" in row(state, "offers").fact
    assert "(chosen)" in graph_text(state)


async def test_a_fold_chooses_nobody() -> None:
    """All branches count alike [NBK-03]."""
    state = await ran(trip(fold("", lambda total, one: total + one)), "x")

    assert not any(one.chosen for one in state.nodes)
    assert row(state, "offers").fact == "fold"


async def test_branches_that_run_are_lit_at_once() -> None:
    """The sentence names them, and the edges to them are live [NBK-03]."""
    strategy = trip(fold(0, max))
    agent = kb.Agent(kb.OfflineExecutor(), "offline", strategy)
    task = asyncio.ensure_future(agent.run("wait"))
    for _ in range(20):
        await asyncio.sleep(0)
    assert agent.last_run is not None
    state = graph_state(strategy.shape(), agent.last_run.events)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    running = {one.path for one in state.nodes if one.status == "running"}
    assert running == {f"trip/offers{inner}" for inner in ("", "/rail", "/air", "/hotel", "/hotel/look")}
    assert state.status.startswith("running 3 nodes at once: rail, air, look")
    assert {edge.target for edge in state.edges if edge.live} == running
    assert "running rail, air, look" in render(graph_element(state))


async def test_a_branch_that_failed_is_red_and_the_others_were_stopped() -> None:
    """Who was cancelled has not failed, and the sentence names who has [NBK-03]."""
    state = await ran(trip(fold(0, max)), "fail")

    states = {name: row(state, f"offers/{name}").status for name in ("air", "hotel", "hotel/look", "finish")}
    assert states == {
        "air": "failed",
        "hotel": "stopped",
        "hotel/look": "stopped",
        "finish": "not reached",
    }
    assert state.status.startswith("failed in offers/air")


async def test_a_block_that_goes_on_without_a_branch_is_visited() -> None:
    """The branch stays red [NBK-03]."""
    strategy = trip(fold("", lambda total, one: total + one), on_error="collect")
    strategy.nodes["offers"].subgraph.remove("hotel")  # type: ignore[union-attr]
    state = await ran(strategy, "fail")

    assert (row(state, "offers").status, row(state, "offers/air").status) == ("visited", "failed")


@pytest.mark.parametrize("folded", [frozenset(), frozenset({"trip/offers"})], ids=["open", "folded"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_picture_is_well_formed_open_and_folded(theme: Any, folded: frozenset[str]) -> None:
    """A folded block is one box that says how much is in it [NBK-03]."""
    state = graph_state(trip(select_by_max(len)).shape(), toggled=folded)
    drawn = graph_svg(state, theme)
    texts = [one.text or "" for one in ElementTree.fromstring(drawn).iter() if one.tag.endswith("text")]

    assert ("merge" in texts) == (not folded)
    assert any("8 folded" in text for text in texts) == bool(folded)


def test_every_kind_of_node_can_be_looked_at_closely() -> None:
    """Blocks and merges have panels, too [NBK-03]."""
    strategy = trip(select_by_max(len))
    for node in strategy.shape().nodes:
        state = graph_state(strategy.shape(), selected=node.path)
        assert f"Selected: {node.path}" in graph_text(state)
        assert render(graph_element(state))


def test_branches_are_no_choice_of_edges() -> None:
    """All of them are taken at once [NBK-03]."""
    state = graph_state(trip(fold(0, max)).shape(), selected="trip/offers/start")

    assert "taken at once" in render(graph_element(state))
    assert "otherwise" not in graph_text(state).partition("Selected")[0]
