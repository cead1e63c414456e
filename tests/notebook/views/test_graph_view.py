"""What the graph view says, and its three forms."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from koogbook.events import (
    CompressionCompleted,
    EdgeTaken,
    Event,
    LLMCallCompleted,
    NodeCompleted,
    NodeFailed,
    NodeStarting,
    RunCompleted,
    RunFailed,
    RunStarting,
    StrategyStarting,
    SubgraphCompleted,
    SubgraphStarting,
)
from koogbook.messages.ledger import Ledger
from koogbook.messages.message import Usage, user
from koogbook.notebook.views.graph_view.model import GraphState, NodeRow
from koogbook.notebook.views.graph_view.picture import MOST_BOXES
from koogbook.notebook.views.graph_view.state import graph_state
from koogbook.notebook.views.graph_view.view import graph_element, graph_svg, graph_text
from koogbook.notebook.views.look.markup import render, render_static
from koogbook.runtime.shape import EdgeShape, FindingShape, GraphShape, NodeShape

HOSTILE = "</text><script>\"'&\x00\ud83c\u202e"


def node(path: str, kind: Any = "node") -> NodeShape:
    """A node of the strategy."""
    return NodeShape(path=f"trip/{path}", name=path.rpartition("/")[2], kind=kind)


def edge(source: str, target: str, order: int = 0, label: str = "") -> EdgeShape:
    """An edge; one with a label has a condition."""
    return EdgeShape(
        source=f"trip/{source}", target=f"trip/{target}", order=order, conditional=bool(label), label=label
    )


SHAPE = GraphShape(
    name="trip",
    nodes=(
        node("start", "start"),
        node("compress", "compress"),
        node("ask"),
        node("tools"),
        node("verify", "subgraph"),
        node("finish", "finish"),
        node("verify/start", "start"),
        node("verify/check"),
        node("verify/finish", "finish"),
    ),
    edges=(
        edge("start", "compress"),
        edge("compress", "ask"),
        edge("ask", "tools", 0, "tool calls"),
        edge("ask", "verify", 1),
        edge("tools", "ask"),
        edge("verify", "finish"),
        edge("verify/start", "verify/check"),
        edge("verify/check", "verify/finish"),
    ),
    findings=(
        FindingShape(level="error", kind="k", path="trip/ask", text="trip/ask is odd.", remedy="Look at it."),
    ),
)


def at(when: float, kind: type[Event], path: str = "", /, run: str = "41", **fields: Any) -> Event:
    """An event at a second of the run."""
    return kind(at=when, run_id=run, path=f"trip/{path}" if path else "", **fields)


def ran(second: float, path: str, visit: int = 1, output: Any = None, took: float = 1.0) -> list[Event]:
    """One visit of a node, from its start to its end."""
    return [
        at(second, NodeStarting, path, visit=visit, iteration=visit),
        at(second + took, NodeCompleted, path, visit=visit, seconds=took, output=output),
    ]


def left(second: float, path: str, target: str, order: int = 0, label: str = "") -> Event:
    """An edge that was taken."""
    return at(second, EdgeTaken, path, target=f"trip/{target}", order=order, label=label)


def compressed(second: float) -> Event:
    """A compression that kept one of four equal messages."""
    before = tuple(
        user("a long word " * 40, id=f"m{place}", time=datetime(2026, 1, 1, tzinfo=UTC)) for place in range(4)
    )
    ledger = Ledger(strategy="LastN(1)", status="applied", before=before, after=before[:1], fates=())
    return at(second, CompressionCompleted, "compress", ledger=ledger)


BEGIN: list[Event] = [
    at(0, RunStarting, agent_id="a", strategy="trip"),
    at(0, StrategyStarting, strategy="trip"),
    *ran(0, "start", took=0.0),
    left(0, "start", "compress"),
    at(0, NodeStarting, "compress", visit=1, iteration=1),
    compressed(0.8),
    at(0.8, NodeCompleted, "compress", visit=1, seconds=0.8),
    left(0.8, "compress", "ask"),
]
LOOP: list[Event] = [
    *BEGIN,
    at(1, NodeStarting, "ask", visit=1, iteration=2),
    at(1.9, LLMCallCompleted, "ask", call=1, purpose="node", seconds=0.9, usage=Usage(1000, 50)),
    at(2, NodeCompleted, "ask", visit=1, seconds=1.0, output="the first answer"),
    left(2, "ask", "tools", 0, "tool calls"),
    *ran(2, "tools", took=0.5),
    left(2.5, "tools", "ask"),
    at(2.5, NodeStarting, "ask", visit=2, iteration=4),
]


def row(state: GraphState, path: str) -> NodeRow:
    """The row of one node."""
    return next(found for found in state.nodes if found.path == f"trip/{path}")


def test_before_the_first_run_the_view_says_so():
    """A strategy can be looked at while it is written."""
    assert graph_state(SHAPE).status.startswith("nothing has run yet")


def test_a_running_node_is_named_with_its_visit():
    """The sentence above the picture says what is going on now."""
    assert graph_state(SHAPE, LOOP).status == "running ask, visit 2 \u00b7 2.50 s \u00b7 iteration 4"


def test_a_completed_run_says_how_many_nodes_it_visited():
    """The end of a run is one sentence, too."""
    state = graph_state(SHAPE, [*LOOP[:-1], at(3, RunCompleted)])

    assert state.status == "completed in 3.00 s \u00b7 4 of 9 nodes visited"


def test_a_failed_run_says_where_and_why():
    """An error is seen without looking for it."""
    failed = at(3, NodeFailed, "ask", visit=2, seconds=0.5, error="TimeoutError: no answer")

    state = graph_state(SHAPE, [*LOOP, failed, at(3, RunFailed, error="TimeoutError: no answer")])

    assert state.status == "failed in ask after 3.00 s: TimeoutError: no answer"


def test_a_cancelled_run_is_no_failure():
    """Stopping a cell is not an error of the strategy."""
    state = graph_state(SHAPE, [*LOOP, at(3, RunFailed, error="CancelledError: ", cancelled=True)])

    assert state.status_word == "stopped"


def test_a_node_without_an_end_in_a_run_that_is_over_has_failed():
    """Nothing is shown as running for ever."""
    state = graph_state(SHAPE, [*LOOP, at(3, RunFailed, error="boom")])

    assert row(state, "ask").status == "failed"


@pytest.mark.parametrize(
    ("path", "status", "visits", "seconds"),
    [
        ("start", "visited", 1, 0.0),
        ("compress", "visited", 1, 0.8),
        ("ask", "running", 2, 1.0),
        ("verify", "not reached", 0, 0),
    ],
)
def test_each_node_has_state_visits_and_time(path, status, visits, seconds):
    """The numbers of a node are those of its events."""
    found = row(graph_state(SHAPE, LOOP), path)

    assert (found.status, found.visits, found.seconds) == (status, visits, seconds)


@pytest.mark.parametrize(
    ("path", "fact"), [("compress", "\u221275 %"), ("ask", "1,050 tokens"), ("tools", "")]
)
def test_each_node_has_one_fact(path, fact):
    """A compression says what it saved, a node with a model its tokens."""
    assert row(graph_state(SHAPE, LOOP), path).fact == fact


def test_a_node_that_failed_once_and_then_ran_says_both():
    """A retry does not hide what it was for."""
    retried = [
        at(1, NodeStarting, "ask", visit=1, iteration=1),
        at(2, NodeFailed, "ask", visit=1, seconds=1.0, error="TimeoutError"),
        *ran(2, "ask", visit=2),
    ]

    found = row(graph_state(SHAPE, [*BEGIN, *retried]), "ask")

    assert (found.status, found.fact) == ("visited", "1 failed")


def test_edges_count_how_often_they_were_taken():
    """The path of a run can be read from its edges."""
    state = graph_state(SHAPE, LOOP)

    assert [found.taken for found in state.edges] == [1, 1, 1, 0, 1, 0, 0, 0]


def test_the_edge_to_the_running_node_is_live():
    """One sees where the run came from."""
    state = graph_state(SHAPE, LOOP)

    assert [(found.source, found.target) for found in state.edges if found.live] == [
        ("trip/tools", "trip/ask")
    ]


def test_nodes_of_a_subgraph_follow_it():
    """A table reads in the order of the graph, whatever the order of the definition."""
    assert [found.name for found in graph_state(SHAPE).nodes] == [
        "start", "compress", "ask", "tools", "verify", "start", "check", "finish", "finish",
    ]  # fmt: skip


def test_a_subgraph_that_a_resumed_run_enters_counts_as_visited():
    """A run that goes on inside a subgraph has no start of its node."""
    resumed = [
        at(0, RunStarting, agent_id="a", strategy="trip"),
        at(0, StrategyStarting, strategy="trip", resumed_after="trip/verify/start"),
        at(0, SubgraphStarting, "verify"),
        *ran(0, "verify/check"),
        at(1, SubgraphCompleted, "verify"),
    ]

    assert row(graph_state(SHAPE, resumed), "verify").status == "visited"


def test_only_the_last_run_is_shown_and_the_others_are_counted():
    """Visits of two runs are never added up."""
    state = graph_state(SHAPE, [*LOOP, at(9, RunStarting, run="42", agent_id="a", strategy="trip")])

    assert (state.run, state.earlier_runs, row(state, "ask").visits) == ("42", 1, 0)


def test_runs_of_other_strategies_are_not_counted():
    """A log of several agents gives each its own picture."""
    other = at(9, RunStarting, run="77", agent_id="b", strategy="other")

    assert graph_state(SHAPE, [*LOOP, other]).run == "41"


def test_the_selected_node_lists_its_visits_and_how_each_was_left():
    """The panel says what the picture has no room for."""
    detail = graph_state(SHAPE, LOOP, selected="trip/ask").selected

    assert detail is not None
    assert [(found.visit, found.tokens_in, found.left_by) for found in detail.visits] == [
        (1, 1000, "tool calls"),
        (2, None, "running"),
    ]


def test_the_selected_node_shows_its_last_output():
    """One sees what a node gave without running it again."""
    detail = graph_state(SHAPE, LOOP, selected="trip/ask").selected

    assert detail is not None
    assert (detail.output, detail.output_visit) == ("the first answer", 1)


class Unshowable:
    """An output whose repr fails."""

    def __repr__(self) -> str:
        raise ValueError("no repr today")


def test_an_output_that_cannot_be_shown_does_not_stop_the_view():
    """A view never fails because of somebody's object."""
    events = [*BEGIN, *ran(1, "ask", output=Unshowable())]

    detail = graph_state(SHAPE, events, selected="trip/ask").selected

    assert detail is not None
    assert detail.output == "<Unshowable without a repr: ValueError>"


def test_edges_of_the_selected_node_stand_in_the_order_in_which_they_are_tried():
    """The order decides, so it is shown."""
    detail = graph_state(SHAPE, LOOP, selected="trip/ask").selected

    assert detail is not None
    assert [found.target for found in detail.edges] == ["trip/tools", "trip/verify"]


def test_a_selected_node_that_is_not_there_is_an_error():
    """A misspelt path shows no other node."""
    with pytest.raises(KeyError):
        graph_state(SHAPE, selected="trip/nowhere")


# ------------------------------------------------------------------------------------------- forms


def states() -> Sequence[GraphState]:
    """A strategy that never ran, one that runs, and one with hostile names."""
    return [graph_state(SHAPE), graph_state(SHAPE, LOOP, selected="trip/ask"), graph_state(hostile(), [])]


def hostile() -> GraphShape:
    """A strategy in which every text is an attack."""
    strange = NodeShape(
        path="trip/x", name=HOSTILE, kind="node", input_type=HOSTILE, place=HOSTILE, note=HOSTILE
    )
    back = EdgeShape(source="trip/x", target="trip/x", order=0, conditional=True, label=HOSTILE)
    finding = FindingShape(level="warning", kind="k", path="trip/x", text=HOSTILE, remedy=HOSTILE)
    return GraphShape(name="trip", nodes=(strange,), edges=(back,), findings=(finding,))


def large(size: int) -> GraphShape:
    """A chain of so many nodes."""
    nodes = tuple(node(f"n{place}") for place in range(size))
    return GraphShape(
        name="trip", nodes=nodes, edges=tuple(edge(f"n{place}", f"n{place + 1}") for place in range(size - 1))
    )


@pytest.mark.parametrize("state", states(), ids=["empty", "running", "hostile"])
def test_the_text_is_plain_and_narrow(state):
    """It can go to any terminal: ASCII, 100 columns."""
    text = graph_text(state)

    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 100


def test_the_text_marks_what_is_selected_and_what_is_running():
    """State is a word, in capitals where one has to look."""
    line = next(found for found in graph_text(states()[1]).splitlines() if found.startswith(">"))

    assert line.split()[:4] == [">", "ask", "RUNNING", "2"]


def test_the_text_of_many_nodes_says_how_many_it_leaves_out():
    """Nothing is left out without a count."""
    assert "... 460 more nodes" in graph_text(graph_state(large(500)))


@pytest.mark.parametrize("state", states(), ids=["empty", "running", "hostile"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_picture_is_well_formed(state, theme):
    """Hostile names do not break the document, and no colour needs a style sheet."""
    document = graph_svg(state, theme)

    assert ElementTree.fromstring(document).tag == "{http://www.w3.org/2000/svg}svg"
    assert b"var(" not in document


@pytest.mark.parametrize("form", [render, render_static])
def test_hostile_names_open_no_element(form):
    """A label written by a model is text in both forms of the page."""
    assert "<script" not in form(graph_element(graph_state(hostile(), [])))


@pytest.mark.parametrize("state", states(), ids=["empty", "running", "hostile"])
def test_the_same_state_gives_the_same_bytes(state):
    """A saved notebook does not change when nothing changed."""
    assert render_static(graph_element(state)) == render_static(graph_element(state))


def test_what_is_left_to_do_stands_under_the_picture():
    """A finding of the check comes with its remedy."""
    assert "trip/ask is odd. Look at it." in render(graph_element(graph_state(SHAPE)))


def test_many_nodes_fold_their_subgraphs():
    """Above 60 nodes a subgraph is one box with a count and the worst state in it."""
    many = GraphShape(name="trip", nodes=(*SHAPE.nodes, *large(60).nodes), edges=SHAPE.edges)

    assert b"3 folded, 3 not reached" in graph_svg(graph_state(many), "light")


def test_a_graph_that_no_picture_holds_says_so():
    """Too many boxes give a sentence instead of a picture that nobody can read."""
    state = graph_state(large(MOST_BOXES + 1))

    assert "501 nodes are more than a picture can hold" in render(graph_element(state))
    assert b"501 nodes are more than a picture can hold" in graph_svg(state, "light")


def test_a_saved_view_of_fifty_nodes_is_small():
    """A cell output stays far under 200 kB."""
    assert len(render_static(graph_element(graph_state(large(50))))) < 150_000
