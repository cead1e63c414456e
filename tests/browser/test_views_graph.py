"""The graph view as a browser draws it."""

from __future__ import annotations

from typing import Any

import pytest

from koogbook.events import EdgeTaken, Event, NodeCompleted, NodeFailed, NodeStarting, RunStarting
from koogbook.notebook.views.graph_view.model import GraphState
from koogbook.notebook.views.graph_view.state import graph_state
from koogbook.notebook.views.graph_view.view import graph_element
from koogbook.notebook.views.look.markup import render_static
from koogbook.notebook.views.page import Section, page
from koogbook.runtime.shape import EdgeShape, GraphShape, NodeShape


def node(path: str, kind: Any = "node") -> NodeShape:
    """A node of the strategy, with types that are as long as real ones."""
    name = path.rpartition("/")[2]
    return NodeShape(
        path=f"s/{path}", name=name, kind=kind, input_type="list[Message]", output_type="Message"
    )


def edge(source: str, target: str, order: int = 0, label: str = "") -> EdgeShape:
    """An edge; one with a label has a condition."""
    return EdgeShape(
        source=f"s/{source}", target=f"s/{target}", order=order, conditional=bool(label), label=label
    )


LONG = "wait_until_every_single_ticket_was_booked_and_paid"
SHAPE = GraphShape(
    name="s",
    nodes=(
        node("start", "start"),
        node("prepare"),
        node("compress", "compress"),
        node("ask_model"),
        node("run_tools"),
        node("verify", "subgraph"),
        node(LONG),
        node("finish", "finish"),
        node("verify/start", "start"),
        node("verify/WWWWWWWWWWWWWWWWWW"),
        node("verify/escalate"),
        node("verify/finish", "finish"),
    ),
    edges=(
        edge("start", "prepare"),
        edge("prepare", "compress", 0, "over 6k tokens"),
        edge("prepare", "ask_model", 1),
        edge("compress", "ask_model"),
        edge("ask_model", "run_tools", 0, "tool calls"),
        edge("run_tools", "ask_model", 0, "results"),
        edge("ask_model", "verify", 1, "text answer"),
        edge("verify", "finish", 0, "accepted by the reader"),
        edge("verify", "ask_model", 1, "rejected"),
        edge("verify", LONG, 2, "not yet \u4e0d\u786e\u5b9a"),
        edge(LONG, LONG, 0, "again"),
        edge(LONG, "prepare", 1, "from the start, because everything has changed"),
        edge("verify/start", "verify/WWWWWWWWWWWWWWWWWW"),
        edge("verify/WWWWWWWWWWWWWWWWWW", "verify/finish", 0, "all facts found"),
        edge("verify/WWWWWWWWWWWWWWWWWW", "verify/escalate", 1),
        edge("verify/escalate", "verify/finish"),
    ),
)


def at(when: float, kind: type[Event], path: str = "", /, **fields: Any) -> Event:
    """An event at a second of the run."""
    return kind(at=when, run_id="1", path=f"s/{path}" if path else "", **fields)


EVENTS = [
    at(0, RunStarting, agent_id="a", strategy="s"),
    at(0, NodeStarting, "prepare", visit=1, iteration=1),
    at(1, NodeCompleted, "prepare", visit=1, seconds=1.0),
    at(1, EdgeTaken, "prepare", target="s/compress", order=0, label="over 6k tokens"),
    at(1, NodeStarting, "compress", visit=1, iteration=2),
    at(2, NodeFailed, "compress", visit=1, seconds=1.0, error="ExecutorError: the provider said no"),
    at(3, NodeStarting, "ask_model", visit=1234, iteration=3),
]
STATES = [graph_state(SHAPE), graph_state(SHAPE, EVENTS, selected="s/ask_model")]
NAMES = ["empty", "running"]


def document(state: GraphState) -> str:
    """The view on a page of its own."""
    return page("Graph", None, [Section("graph", "Strategy graph", "", graph_element(state))])


@pytest.mark.parametrize("width", [1100, 640])
@pytest.mark.parametrize("state", STATES, ids=NAMES)
def test_no_text_of_the_graph_lies_on_another(chromium_page, collisions, state, width):
    """Names, times and labels can be read, long and Chinese ones, too."""
    assert collisions(chromium_page(document(state), width=width)) == []


@pytest.mark.parametrize("state", STATES, ids=NAMES)
def test_the_widths_hold_in_the_widest_usual_font(chromium_page, collisions, state):
    """Boxes are measured without a browser and have room for DejaVu Sans."""
    html = document(state).replace("-apple-system", "'DejaVu Sans'")

    assert collisions(chromium_page(html)) == []


@pytest.mark.parametrize("state", STATES, ids=NAMES)
def test_the_page_of_a_graph_does_not_scroll_sideways(chromium_page, sideways, state):
    """A wide picture scrolls in its own box."""
    assert sideways(chromium_page(document(state), width=640)) == 0


@pytest.mark.parametrize(("theme", "paper"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(22, 25, 29)")])
def test_the_page_follows_the_theme_of_the_system(chromium_page, theme, paper):
    """Nobody is blinded at night."""
    shown = chromium_page(document(STATES[0]), theme=theme)

    assert shown.evaluate("getComputedStyle(document.querySelector('.kb-card')).backgroundColor") == paper


def test_the_panel_goes_under_the_picture_on_a_narrow_page(chromium_page):
    """At 640 px nothing stands side by side."""
    shown = chromium_page(document(STATES[1]), width=640)

    picture, panel = (shown.locator(name).bounding_box() for name in (".kb-main", ".kb-side"))

    assert panel["y"] >= picture["y"] + picture["height"]


def test_the_static_picture_loads_from_its_address(chromium_page):
    """The image in a notebook is a picture that the browser can decode."""
    shown = chromium_page(render_static(graph_element(STATES[1])))

    assert shown.evaluate("[...document.images].filter(image => !image.naturalWidth).length") == 0
