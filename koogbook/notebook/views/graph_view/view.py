"""The graph view: a strategy with what its last run did, as text, as HTML and as a picture."""

from __future__ import annotations

from koogbook.notebook.views.graph_view.picture import MOST_BOXES, graph_picture
from koogbook.notebook.views.graph_view.state import (
    EdgeRow,
    GraphState,
    NodeDetail,
    NodeRow,
    VisitRow,
    graph_state,
)
from koogbook.notebook.views.look.controls import button, field, keys, tools
from koogbook.notebook.views.look.glyphs import glyph
from koogbook.notebook.views.look.markup import Element, Theme, h, svg_bytes
from koogbook.notebook.views.look.measure import count, duration, plain, thousands, wrapped
from koogbook.notebook.views.look.pieces import (
    STATES,
    Column,
    Tone,
    bar,
    chip,
    frame,
    legend_word,
    picture,
    stats,
    status_glyph,
    status_line,
    status_word,
    table,
)

__all__ = ["graph_element", "graph_main", "graph_state", "graph_svg", "graph_text", "node_panel", "spoken"]

_SHOWN_ENDS = 20
_MOST_CHANGES = 5
_KINDS = {
    "start": "start",
    "finish": "finish",
    "node": "function",
    "compress": "history compression",
    "subgraph": "subgraph",
}
_NARROW_PAGE, _PAGE = 570, 1040


# ------------------------------------------------------------------------------------------- text


def graph_text(state: GraphState) -> str:
    """The view as ASCII text of at most 100 columns."""
    run = f"   run {plain(state.run, 20)}" if state.run else ""
    head = f"Strategy graph   {plain(state.name, 30)}{run}"
    lines = [head, *wrapped(plain(state.status)), ""]
    lines.append(f"  {'node':<24}  {'state':<11}  {'visits':>6}  {'time':>11}  then, how often, ^ leads back")
    lines.append(f"  {'-' * 24}  {'-' * 11}  {'-' * 6}  {'-' * 11}  {'-' * 36}")
    out: dict[str, list[EdgeRow]] = {}
    for edge in state.edges:
        out.setdefault(edge.source, []).append(edge)
    rows = list(state.nodes)
    middle: list[str] = []
    if len(rows) > 3 * _SHOWN_ENDS:
        middle = [f"  ... {thousands(len(rows) - 2 * _SHOWN_ENDS)} more nodes"]
    first = rows[:_SHOWN_ENDS] if middle else rows
    last = rows[-_SHOWN_ENDS:] if middle else []
    selected = state.selected.path if state.selected else ""
    for node in first:
        lines += _node_lines(node, out.get(node.path, []), node.path == selected)
    lines += middle
    for node in last:
        lines += _node_lines(node, out.get(node.path, []), node.path == selected)
    if state.selected is not None:
        lines += ["", *_detail_lines(state.selected)]
    for finding in state.findings:
        word = "TO DO" if finding.level == "error" else "note"
        lines += ["", *wrapped(f"{word}: {plain(finding.text)} {plain(finding.remedy)}")]
    if state.changes:
        lines += ["", *(line for text in _changed(state) for line in wrapped(plain(text)))]
    if state.earlier_runs:
        lines += ["", f"{count(state.earlier_runs, 'earlier run')} not shown"]
    return "\n".join(line.rstrip() for line in lines)


def _node_lines(node: NodeRow, edges: list[EdgeRow], selected: bool) -> list[str]:
    status = node.status.upper() if node.status in ("failed", "running") else node.status
    name = plain("  " * node.depth + ("|- " if node.depth else "") + node.name, 24)
    time = plain(duration(node.seconds)) if node.seconds else "-"
    then = _then(edges)
    fact = plain(node.fact)
    if fact and len(then) == 1 and len(then[0]) + len(fact) < 32:
        then = [f"{then[0]}   ({fact})"]
    elif fact:
        then.append(f"({fact})")
    start = f"{'>' if selected else ' '} {name:<24}  {status:<11}  {node.visits:>6}  {time:>11}  "
    lines = [start + plain(then[0], 100 - len(start)) if then else start]
    lines += [" " * len(start) + plain(line, 100 - len(start)) for line in then[1:]]
    return lines


def _then(edges: list[EdgeRow]) -> list[str]:
    if len(edges) == 1 and not edges[0].conditional:
        return [_target(edges[0])]
    return [
        f"{place}. {plain(edge.label or 'otherwise', 15)} -> {_target(edge)}"
        for place, edge in enumerate(edges, start=1)
    ]


def _target(edge: EdgeRow) -> str:
    """Where an edge leads and how often it was taken; ``^`` says that it leads back."""
    return f"{plain(edge.target_name, 13)} {'^ ' if edge.back else ''}x{edge.taken}"


def _detail_lines(detail: NodeDetail) -> list[str]:
    place = f"   defined in {plain(detail.place, 30)}" if detail.place else ""
    lines = [f"Selected: {plain(detail.path, 50)}   {_KINDS[detail.kind]}{place}"]
    if detail.visits:
        lines.append(f"  {'visit':>5}  {'time':>12}  {'in':>8}  {'out':>8}  left by")
        lines += [
            f"  {row.visit:>5}  {'-' if row.seconds is None else plain(duration(row.seconds)):>12}"
            f"  {_tokens(row.tokens_in, '-'):>8}  {_tokens(row.tokens_out, '-'):>8}  {plain(row.left_by, 40)}"
            for row in detail.visits
        ]
    if detail.error:
        lines += wrapped(f"FAILED: {plain(detail.error)}")
    if detail.output_visit:
        lines += wrapped(f"last output (visit {detail.output_visit}): {plain(detail.output, 170)}")
    return lines


# ------------------------------------------------------------------------------------------- HTML


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
        name=f"{state.name} \u00b7 run {state.run}" if state.run else state.name,
        status=status_line(state.status_word, state.status),
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
    subgraphs = {node.path for node in state.nodes if node.kind == "subgraph"}
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
    running = [node.name for node in state.nodes if node.status == "running"]
    return f"running {running[-1]}" if running else state.status


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
    drawn = graph_picture(state)
    if drawn is None:
        text = f"{count(len(state.nodes), 'node')} are more than a picture can hold."
        drawn = picture(
            420,
            48,
            f"Strategy graph {state.name}",
            text,
            h("text", text, x=14, y=28, font_size=12, fill="var(--kb-ink)"),
        )
    return svg_bytes(drawn, theme)


def _changed(state: GraphState) -> list[str]:
    """The last changes, one line each; a long list is cut at its beginning."""
    left_out = len(state.changes) - _MOST_CHANGES
    head = [f"{count(left_out, 'earlier change')} since the last run left out"] if left_out > 0 else []
    return [*head, *(f"changed since the last run: {text}" for text in state.changes[-_MOST_CHANGES:])]


def _to_do(state: GraphState) -> list[Element]:
    changed = [
        h("div", status_glyph("edited"), h("span", text), cls="kb-todo kb-t-sunk") for text in _changed(state)
    ]
    return changed + [
        h(
            "div",
            glyph("warning", tone="warn"),
            h(
                "span",
                h("strong", "To do: " if finding.level == "error" else "To look at: ", cls="kb-strong"),
                f"{finding.text} {finding.remedy}",
            ),
            cls="kb-todo",
        )
        for finding in state.findings
    ]


def _all_nodes(state: GraphState) -> Element:
    rows = list(state.nodes)
    left_out = max(len(rows) - 3 * _SHOWN_ENDS, 0)
    if left_out:
        rows = rows[: 3 * _SHOWN_ENDS]
    columns = [Column("node"), Column("state"), Column("visits", True), Column("time", True), Column("fact")]
    return h(
        "details",
        h("summary", f"The same as a table ({count(len(state.nodes), 'node')})"),
        table(
            columns,
            [
                (
                    h("code", node.path.removeprefix(f"{state.name}/"), cls="kb-code"),
                    status_word(node.status),
                    thousands(node.visits),
                    duration(node.seconds) if node.visits else "never",
                    node.fact,
                )
                for node in rows
            ],
            f"Nodes of {state.name} in the order of their definition",
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


def node_panel(detail: NodeDetail) -> Element:
    """All about one node, at the side of a graph."""
    about = [detail.path.replace("/", " / "), _KINDS[detail.kind]]
    if detail.note:
        about.append(detail.note)
    if detail.place:
        about.append(f"defined in {detail.place}")
    return h(
        "div",
        h(
            "div",
            h("strong", detail.name, cls="kb-panel-title"),
            chip(*_state_chip(detail)),
            cls="kb-pair kb-panel-head",
        ),
        h("p", " \u00b7 ".join(about), cls="kb-p kb-small kb-quiet"),
        h("p", h("code", detail.types, cls="kb-code kb-quiet"), cls="kb-p") if detail.types else None,
        h("div", stats(detail.figures), cls="kb-block"),
        _visits(detail) if detail.visits else None,
        h(
            "div",
            h("h4", "Error", cls="kb-h4"),
            h("pre", detail.error, cls="kb-pre kb-bad"),
            cls="kb-block",
        )
        if detail.error
        else None,
        h(
            "div",
            h(
                "h4",
                "Last output ",
                h("span", f"visit {detail.output_visit}", cls="kb-small kb-quiet"),
                cls="kb-h4",
            ),
            h("pre", detail.output or "(an empty text)", cls="kb-pre"),
            cls="kb-block",
        )
        if detail.output_visit
        else None,
        _edges_out(detail) if detail.edges else None,
        h(
            "p",
            "in Python: ",
            h(
                "code",
                "view.selected.last_output" if detail.output_visit else "view.selected.node",
                cls="kb-code",
            ),
            cls="kb-p kb-small kb-quiet kb-live",
        ),
        cls="kb-side kb-panel",
    )


def _state_chip(detail: NodeDetail) -> tuple[str, Tone]:
    text: str = detail.status
    if detail.status == "running" and detail.visits:
        text += f" \u00b7 visit {detail.visits[-1].visit}"
    return text, STATES[detail.status][1]


def _visits(detail: NodeDetail) -> Element:
    longest = max((row.seconds or 0 for row in detail.visits), default=0) or 1
    with_tokens = any(row.tokens_in is not None for row in detail.visits)
    shown = detail.visits if len(detail.visits) <= 2 * _SHOWN_ENDS else detail.visits[-2 * _SHOWN_ENDS :]
    columns = [Column("visit", True), Column(""), Column("time", True)]
    if with_tokens:
        columns += [Column("in", True), Column("out", True)]
    columns.append(Column("left by"))
    left_out = len(detail.visits) - len(shown)
    return h(
        "div",
        h("h4", "Visits", cls="kb-h4"),
        table(
            columns,
            [_visit_cells(row, longest, with_tokens) for row in shown],
            f"Visits of {detail.name}",
            lambda place: "kb-t-accent" if shown[place].status == "running" else "",
        ),
        h("p", f"{count(left_out, 'earlier visit')} left out", cls="kb-p kb-quiet") if left_out else None,
        cls="kb-block",
    )


def _visit_cells(row: VisitRow, longest: float, with_tokens: bool) -> list[Element | str]:
    time = "" if row.seconds is None else duration(row.seconds)
    cells: list[Element | str] = [thousands(row.visit), bar((row.seconds or 0) / longest, "", 56), time]
    if with_tokens:
        cells += [_tokens(row.tokens_in, ""), _tokens(row.tokens_out, "")]
    cells.append(row.left_by if row.status == "visited" else status_word(row.status))
    return cells


def _tokens(value: int | None, without: str) -> str:
    return without if value is None else thousands(value)


def _edges_out(detail: NodeDetail) -> Element:
    return h(
        "div",
        h(
            "h4",
            "Edges out ",
            h("span", "tried in this order", cls="kb-small kb-quiet"),
            cls="kb-h4",
        ),
        h(
            "ol",
            *(
                h(
                    "li",
                    h("span", str(place), cls="kb-quiet kb-small"),
                    h("span", f"{edge.label or 'otherwise'} \u2192 {edge.target_name}"),
                    h(
                        "span",
                        chip(f"taken \u00d7{edge.taken}", "accent" if edge.live else "")
                        if edge.taken
                        else chip("not taken"),
                        cls="kb-push",
                    ),
                    cls="kb-row",
                )
                for place, edge in enumerate(detail.edges, start=1)
            ),
            cls="kb-list kb-box",
        ),
        cls="kb-block",
    )
