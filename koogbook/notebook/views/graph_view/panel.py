"""The panel of the node that is selected in a graph."""

from __future__ import annotations

from koogbook.notebook.views.graph_view.model import EdgeRow, NodeDetail, VisitRow
from koogbook.notebook.views.graph_view.text import KINDS, SHOWN_ENDS, tokens_or
from koogbook.notebook.views.look.isolates import name, own_way, path_apart, sentence, set_apart
from koogbook.notebook.views.look.markup import Element, h
from koogbook.notebook.views.look.measure import count, duration, thousands
from koogbook.notebook.views.look.pieces import (
    STATES,
    Column,
    Tone,
    bar,
    chip,
    heading,
    stats,
    status_word,
    table,
)


def node_panel(detail: NodeDetail) -> Element:
    """All about one node, at the side of a graph."""
    about = [path_apart(detail.path).replace("/", " / "), KINDS[detail.kind]]
    if detail.note:
        about.append(set_apart(detail.note))
    about += [set_apart(one) for one in detail.details]
    if detail.place:
        about.append(f"defined in {set_apart(detail.place)}")
    return h(
        "div",
        h(
            "div",
            h("strong", name(detail.name), cls="kb-panel-title"),
            chip(*_state_chip(detail)),
            cls="kb-pair kb-panel-head",
        ),
        h("p", *sentence(" \u00b7 ".join(about)), cls="kb-p kb-small kb-quiet"),
        h("p", h("code", *sentence(detail.types), cls="kb-code kb-quiet"), cls="kb-p")
        if detail.types
        else None,
        h("div", stats(detail.figures), cls="kb-block"),
        _visits(detail) if detail.visits else None,
        h(
            "div",
            heading("Error"),
            h("pre", detail.error, cls="kb-pre kb-bad", **own_way(detail.error)),
            cls="kb-block",
        )
        if detail.error
        else None,
        h(
            "div",
            heading(
                "Last output ",
                h("span", f"visit {detail.output_visit}", cls="kb-small kb-quiet"),
            ),
            h("pre", detail.output or "(an empty text)", cls="kb-pre", **own_way(detail.output)),
            cls="kb-block",
        )
        if detail.output_visit
        else None,
        _edges_out(detail) if detail.edges else None,
        h(
            "p",
            "in Python: the view's ",
            h(
                "code",
                ".selected.last_output" if detail.output_visit else ".selected.node",
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
    shown = detail.visits if len(detail.visits) <= 2 * SHOWN_ENDS else detail.visits[-2 * SHOWN_ENDS :]
    columns = [Column("visit", True), Column(""), Column("time", True)]
    if with_tokens:
        columns += [Column("in", True), Column("out", True)]
    columns.append(Column("left by"))
    left_out = len(detail.visits) - len(shown)
    return h(
        "div",
        heading("Visits"),
        table(
            columns,
            [_visit_cells(row, longest, with_tokens) for row in shown],
            f"Visits of {set_apart(detail.name)}",
            lambda place: "kb-t-accent" if shown[place].status == "running" else "",
        ),
        h("p", f"{count(left_out, 'earlier visit')} left out", cls="kb-p kb-quiet") if left_out else None,
        cls="kb-block",
    )


def _visit_cells(row: VisitRow, longest: float, with_tokens: bool) -> list[Element | str]:
    time = "" if row.seconds is None else duration(row.seconds)
    cells: list[Element | str] = [thousands(row.visit), bar((row.seconds or 0) / longest, "", 56), time]
    if with_tokens:
        cells += [tokens_or(row.tokens_in, ""), tokens_or(row.tokens_out, "")]
    cells.append(row.left_by if row.status == "visited" else status_word(row.status))
    return cells


def _leads_to(edge: EdgeRow, otherwise: str) -> list[Element | str]:
    return sentence(f"{set_apart(edge.label or otherwise)} \u2192 {set_apart(edge.target_name)}")


def _edges_out(detail: NodeDetail) -> Element:
    # Several without a condition are the branches of a block.
    at_once = len(detail.edges) > 1 and not any(edge.conditional for edge in detail.edges)
    return h(
        "div",
        heading(
            "Edges out ",
            h("span", "taken at once" if at_once else "tried in this order", cls="kb-small kb-quiet"),
        ),
        h(
            "ol",
            *(
                h(
                    "li",
                    h("span", str(place), cls="kb-quiet kb-small"),
                    h("span", *_leads_to(edge, "branch" if at_once else "otherwise")),
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
