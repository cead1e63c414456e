"""What can be done in a graph view: select, find, fold."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import koogbook as kb
from koogbook.errors import ViewError
from koogbook.notebook.views.graph_view.picture import graph_picture
from koogbook.notebook.views.graph_view.state import FOLD_ABOVE, graph_state
from koogbook.notebook.views.look.markup import Element, live_tree, render, render_static


def small() -> kb.Strategy:
    """Two nodes and a subgraph with one in it."""
    trip = kb.strategy("trip", input=str, output=str)

    @trip.node
    async def plan(ctx: kb.Context, text: str) -> str:
        return text + "!"

    @trip.node
    async def broken(ctx: kb.Context, text: str) -> str:
        raise RuntimeError("no seats")

    check = trip.subgraph("check", input=str, output=str)

    @check.node
    async def price(ctx: kb.Context, text: str) -> str:
        return text

    check.start >> price >> check.finish
    trip.start >> plan >> check >> trip.finish
    trip.edge(check, broken, when=lambda output: output == "fail!")
    broken >> trip.finish
    return trip


def large(graphs: int) -> kb.Strategy:
    """So many subgraphs of ten nodes each, one after the other."""
    big = kb.strategy("big", input=str, output=str)
    before: Any = big.start
    for number in range(graphs):
        part = big.subgraph(f"part{number}", input=str, output=str)
        inner: Any = part.start
        for step in range(10):

            async def same(ctx: kb.Context, text: str) -> str:
                return text

            made = part.node(name=f"step{step}")(same)
            inner >> made
            inner = made
        inner >> part.finish
        before >> part
        before = part
    before >> big.finish
    return big


def boxes(element: Element) -> set[str]:
    """The paths of the nodes that have a box in the picture."""
    found: set[str] = set()
    stack: list[Element | str] = [element]
    while stack:
        one = stack.pop()
        if isinstance(one, Element):
            if one.live.get("data-do") == "select":
                found.add(one.live["data-value"])
            stack.extend(one.children)
    return found


async def run_of(trip: kb.Strategy, text: str = "Rome") -> kb.Run:
    """One run of it."""
    return await kb.Agent(kb.OfflineExecutor(), "offline", trip).run(text)


async def test_a_node_that_is_clicked_is_a_python_object() -> None:
    """With the node itself and what went through it. [NBK-05]"""
    trip = small()
    view = kb.graph(await run_of(trip))

    view.act("select", "trip/plan")

    assert view.selected is not None
    assert (
        view.selected.path,
        view.selected.visits,
        view.selected.last_input,
        view.selected.last_output,
    ) == (
        "trip/plan",
        1,
        "Rome",
        "Rome!",
    )


def test_a_node_of_a_strategy_is_the_node_that_was_defined() -> None:
    """Before anything has run, too."""
    trip = small()
    check = trip.subgraph("check", input=str, output=str)
    view = kb.graph(trip, selected="check/price")

    assert view.selected is not None
    assert view.selected.node is check.nodes["price"]


async def test_the_error_of_a_failed_node_is_there() -> None:
    """What it raised stands in the selection and in the panel."""
    agent = kb.Agent(kb.OfflineExecutor(), "offline", small())
    with pytest.raises(RuntimeError):
        await agent.run("fail")

    view = kb.graph(agent.last_run, selected="broken")

    assert view.selected is not None
    assert (view.selected.error, "no seats" in str(view)) == ("RuntimeError: no seats", True)


def test_a_second_click_lets_go() -> None:
    """What is selected and clicked again is not selected any more."""
    view = kb.graph(small())

    view.act("select", "plan")
    view.act("select", "trip/plan")

    assert view.selected is None


def test_escape_lets_go() -> None:
    """``back`` is what Escape sends."""
    view = kb.graph(small(), selected="plan")

    view.act("back")

    assert view.selected is None


def test_views_of_one_strategy_share_what_is_selected() -> None:
    """And tell it to whoever shows them. [NBK-11]"""
    trip = small()
    one, two = kb.graph(trip), kb.graph(trip)
    told: list[str] = []
    two.watch(lambda: told.append(str(two.selected and two.selected.path)))

    one.act("select", "plan")

    assert told == ["trip/plan"]


def test_views_of_two_strategies_share_nothing() -> None:
    """Equal names are not one object."""
    one, two = kb.graph(small()), kb.graph(small())

    one.act("select", "plan")

    assert two.selected is None


def test_a_node_that_was_taken_out_is_not_selected_any_more() -> None:
    """A view of a strategy that a cell has changed goes on. [NBK-03]"""
    trip = small()
    view = kb.graph(trip, selected="broken")

    trip.remove("broken")
    view.refresh()

    assert (view.selected, "broken" in str(view)) == (None, False)


def test_a_node_that_is_not_there_is_refused_with_those_that_are() -> None:
    """A slip is one line with the remedy."""
    with pytest.raises(ViewError, match=r"There is no node 'plam' in 'trip'. It has: start, .*plan"):
        kb.graph(small(), selected="plam")


def test_what_a_view_cannot_do_is_refused_with_what_it_can() -> None:
    """An unknown word names the nearest one."""
    with pytest.raises(ViewError, match=r"cannot do 'selct'. Did you mean 'select'"):
        kb.graph(small()).act("selct", "plan")


def test_finding_selects_the_first_node_with_that_text() -> None:
    """Upper and lower case do not matter. [NBK-05]"""
    view = kb.graph(small())

    view.act("find", " PRI ")

    assert view.selected is not None
    assert view.selected.path == "trip/check/price"


def test_finding_nothing_is_said() -> None:
    """The view says so and selects nothing."""
    view = kb.graph(small(), selected="plan")

    with pytest.raises(ViewError, match="No node has 'zzz'"):
        view.act("find", "zzz")

    assert view.selected is None


def test_a_subgraph_folds_and_opens() -> None:
    """Folded, it is one box that counts what is in it. [NBK-05]"""
    view = kb.graph(small())
    open_at_first = boxes(view.element)

    view.act("fold", "check")
    folded = boxes(view.element)
    view.act("fold", "check")

    assert (open_at_first - folded, boxes(view.element)) == (
        {"trip/check/start", "trip/check/price", "trip/check/finish"},
        open_at_first,
    )
    assert "folded" not in render(view.element)


def test_a_folded_subgraph_says_how_much_is_in_it() -> None:
    """With the worst state of them."""
    view = kb.graph(small())

    view.act("fold", "check")

    assert "3 folded, 3 not reached" in render(view.element)


def test_a_large_graph_begins_folded() -> None:
    """Only what is asked for is open. [NBK-05]"""
    view = kb.graph(large(8))

    assert (len(view.state.nodes) > FOLD_ABOVE, len(boxes(view.element))) == (True, 10)


def test_selecting_inside_a_folded_subgraph_opens_it() -> None:
    """What is selected can be seen."""
    view = kb.graph(large(8))

    view.act("find", "part3/step4")

    assert ({"big/part3/step4", "big/part4/step4"} & boxes(view.element)) == {"big/part3/step4"}


@given(st.sets(st.sampled_from([f"big/part{number}" for number in range(8)])))
def test_every_node_is_in_the_picture_or_in_one_folded_box(toggled: set[str]) -> None:
    """Nothing is lost by folding, whatever is folded."""
    state = graph_state(SHAPE, toggled=toggled)
    drawn = graph_picture(state)

    assert drawn is not None
    shown = boxes(drawn)
    hidden = {node.path for node in state.nodes} - shown
    assert shown == {
        node.path for node in state.nodes if not any(node.path.startswith(f"{one}/") for one in state.folded)
    }
    assert all(any(path.startswith(f"{one}/") for one in state.folded) for path in hidden)


SHAPE = large(8).shape()


def test_controls_are_in_the_live_form_alone() -> None:
    """Nothing waits for a click where there is no front end. [NBK-10]"""
    element = kb.graph(small(), selected="plan").element
    static, page, live = render_static(element), render(element), str(live_tree(element))

    assert [re.search(r"<(button|input|select)\b", form) for form in (static, page)] == [None, None]
    assert ("data-do" in static + page, "'button'" in live, "'input'" in live) == (False, True, True)


def test_each_node_of_the_picture_can_be_reached_and_has_a_name() -> None:
    """The keyboard and a screen reader get what the eye gets. [NBK-11]"""
    element = kb.graph(small()).element
    names = re.findall(r"'aria-label': '(trip/[^']*)'", str(live_tree(element)))

    assert (len(names), "trip/plan, not reached" in names) == (len(boxes(element)), True)


def test_only_state_changes_are_read_out() -> None:
    """The time that passes is not spoken. [NBK-11]"""
    view = kb.graph(small())

    assert re.search(r"'span', \{'role': 'status', 'class': 'kb-hidden'\}", str(live_tree(view.element)))


def test_a_graph_of_what_is_none_is_refused() -> None:
    """One line says what it takes."""
    with pytest.raises(TypeError, match="graph takes a strategy, a run or an agent, not 'trip'"):
        kb.graph("trip")


async def test_what_changed_since_the_last_run_stands_under_the_graph() -> None:
    """With the checkpoints that the change concerns. [NBK-03]"""
    trip = small()
    await run_of(trip)

    @trip.node
    async def plan(ctx: kb.Context, text: str) -> int:
        return len(text)

    view = kb.graph(trip)

    assert "changed since the last run: node plan redefined" in str(view)
    assert "checkpoints saved after trip/plan can no longer be resumed" in render_static(view.element)


async def test_the_next_run_takes_note_and_the_graph_is_quiet_again() -> None:
    """What a run has told is no news any more."""
    trip = small()
    await run_of(trip)
    trip.remove("broken")
    await run_of(trip)

    assert "changed" not in str(kb.graph(trip))


def test_building_is_no_change() -> None:
    """Before the first run, cells may be run again as often as one likes."""
    trip = small()

    @trip.node
    async def plan(ctx: kb.Context, text: str) -> str:
        return text

    assert "changed" not in str(kb.graph(trip))
