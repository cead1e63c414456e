"""The graph view: a strategy with what its last run did, as text, as HTML and as a picture."""

from __future__ import annotations

from koogbook.notebook.views.graph_view.model import GraphState
from koogbook.notebook.views.graph_view.panel import node_panel
from koogbook.notebook.views.graph_view.picture import MOST_BOXES, graph_picture
from koogbook.notebook.views.graph_view.state import FRAMES, graph_state
from koogbook.notebook.views.graph_view.text import SHOWN_ENDS, changed_lines, graph_text
from koogbook.notebook.views.look.controls import button, field, keys, tools
from koogbook.notebook.views.look.glyphs import glyph
from koogbook.notebook.views.look.isolates import (
    path_apart,
    phrase,
    sentence,
    set_apart,
    told_apart,
)
from koogbook.notebook.views.look.markup import Element, Theme, h, svg_bytes
from koogbook.notebook.views.look.measure import count, duration, thousands
from koogbook.notebook.views.look.pieces import (
    STATES,
    Column,
    frame,
    legend_word,
    picture,
    status_glyph,
    status_line,
    status_word,
    table,
)

__all__ = ["graph_element", "graph_main", "graph_state", "graph_svg", "graph_text", "node_panel", "spoken"]

_NARROW_PAGE, _PAGE = 570, 1040


def graph_element(state: GraphState) -> Element:
    """The view as an element: picture, panel of the selected node, what is left to do, and a table of all."""
    body = [
        h("div", graph_main(state), node_panel(state.selected) if state.selected else None, cls="kb-split"),
        *_to_do(state),
        _all_nodes(state),
    ]
    shown = sorted({node.status for node in state.nodes}, key=list(STATES).index)
    foot = count(len(state.nodes), "node") + f" \u00b7 {count(len(state.edges), 'edge')}"
    if state.earlier_runs:
        foot += f" \u00b7 {count(state.earlier_runs, 'earlier run')} not shown"
    return frame(
        icon="graph",
        title="Strategy graph",
        name=phrase(f"{set_apart(state.name)} \u00b7 run {set_apart(state.run)}")
        if state.run
        else state.name,
        status=status_line(state.status_word, phrase(state.status)),
        body=body,
        foot=foot,
        legend=[legend_word(status) for status in shown],
        tools=_tools(state),
        keys=keys(
            ("\u2190 \u2192", "node"), ("Enter", "inspect"), ("f", "fold"), ("/", "find"), ("Esc", "leave")
        ),
        spoken=spoken(state),
    )


def _tools(state: GraphState) -> Element:
    """What can be done beside selecting: find, fold the subgraph that is selected or around the selection, close."""
    subgraphs = {node.path for node in state.nodes if node.kind in FRAMES}
    selected = state.selected.path if state.selected else ""
    around = [path for path in subgraphs if selected == path or selected.startswith(f"{path}/")]
    inner = max(around, key=len, default="")
    return tools(
        field("find", "", name="Find a node", hint="Find", key="/", width=110),
        button("Open" if inner in state.folded else "Fold", "fold", inner, key="f", off=not inner)
        if subgraphs
        else None,
        button("Close", "back", key="Escape", name="Close the panel of the node", off=not selected),
    )


def spoken(state: GraphState) -> str:
    """What is worth saying aloud: what runs, how it ended; not the time that passes."""
    running = [node for node in state.nodes if node.status == "running"]
    inner = [node for node in running if not any(one.parent == node.path for one in running)]
    return f"running {', '.join(set_apart(node.name) for node in inner)}" if inner else state.status


def graph_main(state: GraphState) -> Element:
    """The picture of the graph in a box that scrolls; a wide one pushes the panel under it and says that it scrolls."""
    drawn = graph_picture(state)
    if drawn is None:
        text = (
            f"{count(len(state.nodes), 'node')} are more than a picture can hold (it draws {MOST_BOXES}). "
            "Subgraphs fold into one box each; the text form and the table have them all."
        )
        return h("div", h("p", text, cls="kb-p kb-quiet"), cls="kb-main kb-panel")
    width = float(drawn.attributes["width"])
    always, sometimes = width > _PAGE, width > _NARROW_PAGE
    hint = h(
        "p",
        "A wide picture: it scrolls sideways.",
        cls="kb-p kb-small kb-quiet" if always else "kb-p kb-small kb-quiet kb-narrow",
    )
    return h(
        "div",
        h("div", drawn, cls="kb-scroll"),
        hint if sometimes else None,
        cls="kb-main kb-panel",
        style=f"flex-basis:{width:g}px" if sometimes else None,
    )


def graph_svg(state: GraphState, theme: Theme) -> bytes:
    """The picture alone as an SVG document; for a graph that is too large, one that says so."""
    return svg_bytes(graph_drawing(state), theme)


def graph_drawing(state: GraphState) -> Element:
    """The picture alone as an ``svg`` element; for a graph that is too large, one that says so."""
    drawn = graph_picture(state)
    if drawn is None:
        text = f"{count(len(state.nodes), 'node')} are more than a picture can hold."
        drawn = picture(
            420,
            48,
            f"Strategy graph {set_apart(state.name)}",
            text,
            h("text", text, x=14, y=28, font_size=12, fill="var(--kb-ink)"),
        )
    return drawn


def _to_do(state: GraphState) -> list[Element]:
    changed = [
        h("div", status_glyph("edited"), h("span", phrase(told_apart(text))), cls="kb-todo kb-t-sunk")
        for text in changed_lines(state)
    ]
    return changed + [
        h(
            "div",
            glyph("warning", tone="warn"),
            h(
                "span",
                h("strong", "To do: " if finding.level == "error" else "To look at: ", cls="kb-strong"),
                *sentence(f"{told_apart(finding.text)} {told_apart(finding.remedy)}"),
            ),
            cls="kb-todo",
        )
        for finding in state.findings
    ]


def _all_nodes(state: GraphState) -> Element:
    rows = list(state.nodes)
    left_out = max(len(rows) - 3 * SHOWN_ENDS, 0)
    if left_out:
        rows = rows[: 3 * SHOWN_ENDS]
    columns = [Column("node"), Column("state"), Column("visits", True), Column("time", True), Column("fact")]
    return h(
        "details",
        h("summary", f"The same as a table ({count(len(state.nodes), 'node')})"),
        table(
            columns,
            [
                (
                    h("code", *sentence(path_apart(node.path.removeprefix(f"{state.name}/"))), cls="kb-code"),
                    status_word(node.status),
                    thousands(node.visits),
                    duration(node.seconds) if node.visits else "never",
                    node.fact,
                )
                for node in rows
            ],
            f"Nodes of {set_apart(state.name)} in the order of their definition",
        ),
        h(
            "p",
            f"{count(left_out, 'node')} left out here; the text form has the last ones.",
            cls="kb-p kb-quiet",
        )
        if left_out
        else None,
        cls="kb-more",
    )
