"""The graph view as text, and the words that all its forms share."""

from __future__ import annotations

import textwrap

from koogbook.notebook.views.graph_view.model import EdgeRow, GraphState, NodeDetail, NodeRow
from koogbook.notebook.views.look.isolates import unmarked
from koogbook.notebook.views.look.measure import count, duration, plain, thousands, wrapped

#: A long list is shown with so many of its first and of its last entries.
SHOWN_ENDS = 20
_MOST_CHANGES = 5
#: The width of the last column.
_THEN = 36

KINDS = {
    "start": "start",
    "finish": "finish",
    "node": "function",
    "compress": "history compression",
    "subgraph": "subgraph",
    "parallel": "parallel block",
    "merge": "merge of the branches",
}


def graph_text(state: GraphState) -> str:
    """The view as ASCII text of at most 100 columns."""
    run = f"   run {plain(state.run, 20)}" if state.run else ""
    head = f"Strategy graph   {plain(state.name, 30)}{run}"
    lines = [head, *wrapped(plain(unmarked(state.status))), ""]
    lines.append(f"  {'node':<24}  {'state':<11}  {'visits':>6}  {'time':>11}  then, how often, ^ leads back")
    lines.append(f"  {'-' * 24}  {'-' * 11}  {'-' * 6}  {'-' * 11}  {'-' * 36}")
    out: dict[str, list[EdgeRow]] = {}
    for edge in state.edges:
        out.setdefault(edge.source, []).append(edge)
    rows = list(state.nodes)
    middle: list[str] = []
    if len(rows) > 3 * SHOWN_ENDS:
        middle = [f"  ... {thousands(len(rows) - 2 * SHOWN_ENDS)} more nodes"]
    first = rows[:SHOWN_ENDS] if middle else rows
    last = rows[-SHOWN_ENDS:] if middle else []
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
        lines += ["", *(line for text in changed_lines(state) for line in wrapped(plain(text)))]
    if state.earlier_runs:
        lines += ["", f"{count(state.earlier_runs, 'earlier run')} not shown"]
    return "\n".join(line.rstrip() for line in lines)


def _node_lines(node: NodeRow, edges: list[EdgeRow], selected: bool) -> list[str]:
    status = node.status.upper() if node.status in ("failed", "running") else node.status
    name = plain("  " * node.depth + ("|- " if node.depth else "") + node.name, 24)
    time = plain(duration(node.seconds)) if node.seconds else "-"
    then = _then(edges)
    fact = plain(node.head if not node.fact else f"{node.head}; {node.fact}" if node.head else node.fact)
    if fact and len(then) == 1 and len(then[0]) + len(fact) < 32:
        then = [f"{then[0]}   ({fact})"]
    elif fact:
        then += textwrap.wrap(f"({fact})", _THEN)
    start = f"{'>' if selected else ' '} {name:<24}  {status:<11}  {node.visits:>6}  {time:>11}  "
    lines = [start + plain(then[0], 100 - len(start)) if then else start]
    lines += [" " * len(start) + plain(line, 100 - len(start)) for line in then[1:]]
    return lines


def _then(edges: list[EdgeRow]) -> list[str]:
    if not any(edge.conditional for edge in edges):  # one, or the branches of a block
        return [_target(edge) for edge in edges]
    return [
        f"{place}. {plain(edge.label or 'otherwise', 15)} -> {_target(edge)}"
        for place, edge in enumerate(edges, start=1)
    ]


def _target(edge: EdgeRow) -> str:
    """Where an edge leads and how often it was taken; ``^`` says that it leads back."""
    return f"{plain(edge.target_name, 13)} {'^ ' if edge.back else ''}x{edge.taken}"


def _detail_lines(detail: NodeDetail) -> list[str]:
    place = f"   defined in {plain(detail.place, 30)}" if detail.place else ""
    lines = wrapped(f"Selected: {plain(detail.path, 50)}   {KINDS[detail.kind]}{place}", 100, indent="")
    if detail.details:
        lines += wrapped(plain(", ".join(detail.details)), 100)
    if detail.visits:
        lines.append(f"  {'visit':>5}  {'time':>12}  {'in':>8}  {'out':>8}  left by")
        lines += [
            f"  {row.visit:>5}  {'-' if row.seconds is None else plain(duration(row.seconds)):>12}"
            f"  {tokens_or(row.tokens_in, '-'):>8}  {tokens_or(row.tokens_out, '-'):>8}  {plain(row.left_by, 40)}"
            for row in detail.visits
        ]
    if detail.error:
        lines += wrapped(f"FAILED: {plain(detail.error)}")
    if detail.output_visit:
        lines += wrapped(f"last output (visit {detail.output_visit}): {plain(detail.output, 170)}")
    return lines


def changed_lines(state: GraphState) -> list[str]:
    """The last changes, one line each; a long list is cut at its beginning."""
    left_out = len(state.changes) - _MOST_CHANGES
    head = [f"{count(left_out, 'earlier change')} since the last run left out"] if left_out > 0 else []
    return [*head, *(f"changed since the last run: {text}" for text in state.changes[-_MOST_CHANGES:])]


def tokens_or(value: int | None, without: str) -> str:
    """A count of tokens, or what stands where there is none."""
    return without if value is None else thousands(value)
