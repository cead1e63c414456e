"""The view of a run: one sentence, its figures, the graph as it moves, the locks under it, and how it ended."""

from __future__ import annotations

from koogbook.notebook.views.graph_view.view import graph_main, node_panel, spoken
from koogbook.notebook.views.lock_view.view import lock_body
from koogbook.notebook.views.look.controls import button, keys, tools
from koogbook.notebook.views.look.glyphs import glyph
from koogbook.notebook.views.look.isolates import own_way, phrase, set_apart, told_apart, unmarked
from koogbook.notebook.views.look.markup import Element, h
from koogbook.notebook.views.look.measure import count, plain, wrapped
from koogbook.notebook.views.look.pieces import frame, heading, legend_word, stats, status_line
from koogbook.notebook.views.run_view.state import RunState

_MOST_NOTICES = 5


def run_text(state: RunState) -> str:
    """The view as ASCII text of at most 100 columns."""
    lines = [f"Run   {plain(state.session, 40)}", *wrapped(plain(unmarked(state.graph.status))), ""]
    width = max(len(word) for word, _ in state.figures)
    lines += [f"  {word:<{width}}  {plain(figure, 60)}" for word, figure in state.figures]
    lines += ["", f"  {'node':<24}  {'state':<11}  {'visits':>6}"]
    lines += [
        f"  {plain('  ' * node.depth + node.name, 24):<24}  {node.status:<11}  {node.visits:>6}"
        for node in state.graph.nodes[:40]
    ]
    if len(state.graph.nodes) > 40:
        lines.append(f"  ... {len(state.graph.nodes) - 40} more nodes")
    lines += [
        "",
        *wrapped(f"locks: {plain(state.locks.counts)}. {plain(unmarked(state.locks.waits))}".rstrip()),
    ]
    if state.error:
        lines += ["", *wrapped(f"FAILED: {plain(state.error, 600)}")]
    if state.writing:
        lines += ["", *wrapped(f"being written: {plain(state.writing, 600)}")]
    if state.output:
        lines += ["", *wrapped(f"output: {plain(state.output, 600)}")]
    for text in state.attention:
        lines += wrapped(f"! {plain(text, 400)}")
    return "\n".join(line.rstrip() for line in lines)


def run_element(state: RunState) -> Element:
    """The view as an element."""
    graph = state.graph
    panel = node_panel(graph.selected) if graph.selected is not None else _side(state)
    body = [
        h("div", graph_main(graph), panel, cls="kb-split"),
        *_notices(state),
        *(
            [h("div", *lock_body(state.locks, select="session", python=".session"), cls="kb-ruled")]
            if state.locks.total
            else []
        ),
    ]
    statuses = dict.fromkeys(node.status for node in graph.nodes)
    return frame(
        icon="graph",
        title="Run",
        name=phrase(f"{set_apart(graph.name)} \u00b7 {set_apart(state.session)}"),
        status=status_line(graph.status_word, phrase(graph.status)),
        body=body,
        foot=state.locks.counts,
        legend=[legend_word(status) for status in statuses],
        tools=tools(
            button("Close", "back", key="Escape", name="Close the panel")
            if graph.selected or state.locks.selected
            else None,
            button("Stop", "stop", key="s", name="Stop the run") if state.state == "running" else None,
        ),
        keys=keys(("\u2190 \u2192", "node, session"), ("Enter", "inspect"), ("s", "stop"), ("Esc", "leave")),
        spoken=spoken(graph),
    )


def _side(state: RunState) -> Element:
    left_out = f"{count(state.left_out, 'character')} left out; run.output has all." if state.left_out else ""
    return h(
        "div",
        h("div", stats(state.figures[:4]), stats(state.figures[4:]), cls="kb-block"),
        h(
            "div",
            heading("Error"),
            h("pre", state.error, cls="kb-pre kb-bad", **own_way(state.error)),
            cls="kb-block",
        )
        if state.error
        else None,
        h(
            "div",
            heading("Output"),
            h("pre", state.output, cls="kb-pre", **own_way(state.output)),
            h("p", left_out, cls="kb-p kb-small kb-quiet") if left_out else None,
            cls="kb-block",
        )
        if state.output
        else None,
        h(
            "div",
            heading("Being written"),
            h("pre", state.writing, cls="kb-pre", **own_way(state.writing)),
            cls="kb-block",
        )
        if state.writing
        else None,
        h("p", "The output stands here when the run is over.", cls="kb-p kb-quiet")
        if state.state == "running"
        else None,
        cls="kb-side kb-panel",
    )


def _notices(state: RunState) -> list[Element]:
    more = len(state.attention) - _MOST_NOTICES
    shown = [
        h("div", glyph("warning", "warning", tone="warn"), h("span", phrase(told_apart(text))), cls="kb-todo")
        for text in state.attention[:_MOST_NOTICES]
    ]
    if more > 0:
        shown.append(h("div", f"and {more} more: run.report() has all", cls="kb-todo"))
    return shown
