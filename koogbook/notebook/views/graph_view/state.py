"""What the graph view says about a strategy and its last run, as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from koogbook.events import (
    BranchesMerged,
    EdgeTaken,
    Event,
    NodeStarting,
    RunCompleted,
    RunFailed,
    RunStarting,
    StrategyStarting,
)
from koogbook.messages.message import Message
from koogbook.notebook.views.graph_view.layout import back_links
from koogbook.notebook.views.graph_view.model import EdgeRow, GraphState, NodeDetail, NodeRow, VisitRow
from koogbook.notebook.views.graph_view.record import NodeRecord
from koogbook.notebook.views.look.isolates import path_apart, set_apart
from koogbook.notebook.views.look.measure import count, cut_end, duration, thousands
from koogbook.runtime.shape import EdgeShape, GraphShape, NodeShape

#: A graph of more nodes than this begins with its subgraphs folded.
FOLD_ABOVE = 60

#: Nodes that have nodes in them.
FRAMES = ("subgraph", "parallel")

_PREVIEW = 600
_MOST_NAMES = 5


def graph_state(
    shape: GraphShape,
    events: Sequence[Event] = (),
    *,
    selected: str | None = None,
    toggled: Set[str] = frozenset(),
    now: float | None = None,
    changes: Sequence[str] = (),
) -> GraphState:
    """The state of a strategy after the last run in the events.

    Args:
        shape: The strategy.
        events: What happened, of one run or of several.
        selected: The path of a node.
        toggled: The paths of subgraphs that are folded where they would be open, and the other way round. A graph of
            more than :data:`FOLD_ABOVE` nodes begins with its subgraphs folded, but for those around what runs or is
            selected.
        now: The time on the monotonic clock while the run goes on; without it, the last event's.
        changes: What was defined again since the last run, in words.

    Raises:
        KeyError: The strategy has no node ``selected``.
    """
    runs = _runs(shape.name, events)
    run = runs[-1] if runs else ""
    records: dict[str, NodeRecord] = {node.path: NodeRecord() for node in shape.nodes}
    taken: Counter[tuple[str, str, int]] = Counter()
    #: The edge by which each node was reached last.
    came_by: dict[str, tuple[str, str, int]] = {}
    starting: RunStarting | None = None
    ending: RunCompleted | RunFailed | None = None
    resumed = ""
    last: Event | None = None
    iteration = 0
    for event in events:
        if event.run_id != run:
            continue
        last = event
        if isinstance(event, RunStarting):
            starting = event
        elif isinstance(event, RunCompleted | RunFailed):
            ending = event
        elif isinstance(event, StrategyStarting):
            resumed = event.resumed_after
        record = records.get(event.path)
        if record is None:
            continue
        if isinstance(event, NodeStarting):
            iteration = event.iteration
        elif isinstance(event, EdgeTaken):
            came_by[event.target] = edge_taken = (event.path, event.target, event.order)
            taken[edge_taken] += 1
        elif isinstance(event, BranchesMerged) and event.winner:
            _choose(records, event)
        record.note(event)
    for record in records.values():
        if ending is not None:
            record.end()
        elif now is not None:
            record.so_far(now)

    shapes = {node.path: node for node in shape.nodes}
    all_running = [path for path, record in records.items() if record.status == "running"]
    running = _innermost(all_running)
    back = _leading_back(shape)
    edges = tuple(
        _edge_row(edge, shapes, taken, came_by, all_running, back=number in back)
        for number, edge in enumerate(shape.edges)
    )
    inside = Counter(parent for node in shape.nodes for parent in _parents(node.path, shapes))
    nodes = tuple(
        _node_row(node, records[node.path], inside[node.path], shapes)
        for node in _nested(shape.nodes, shapes)
    )
    end = now if now is not None and ending is None else None if last is None else last.at
    seconds = end - starting.at if end is not None and starting is not None else None
    word, status = _sentence(
        shape, records, running, ending, resumed, seconds, iteration, changed=bool(changes)
    )
    return GraphState(
        name=shape.name,
        run=run,
        status=status,
        status_word=word,
        nodes=nodes,
        edges=edges,
        findings=shape.findings,
        selected=None if selected is None else _detail(shapes[selected], records[selected], edges),
        earlier_runs=max(len(runs) - 1, 0),
        folded=_folded(shape.nodes, running, selected, toggled),
        changes=tuple(changes),
        steady=bool(run),
    )


def _runs(strategy: str, events: Iterable[Event]) -> list[str]:
    """The runs of this strategy, in the order in which they began."""
    found: dict[str, None] = {}
    for event in events:
        if isinstance(event, RunStarting):
            if event.strategy == strategy:
                found.setdefault(event.run_id)
        elif isinstance(event, NodeStarting) and event.path.partition("/")[0] == strategy:
            found.setdefault(event.run_id)
    return list(found)


def _parents(path: str, shapes: dict[str, NodeShape]) -> list[str]:
    """The subgraphs around a node, the innermost first."""
    found = []
    parent = path.rpartition("/")[0]
    while parent:
        if parent in shapes:
            found.append(parent)
        parent = parent.rpartition("/")[0]
    return found


def _nested(nodes: Sequence[NodeShape], shapes: dict[str, NodeShape]) -> list[NodeShape]:
    """Nodes in the order of their definition, those of a subgraph behind it, finish nodes last."""
    children: dict[str, list[NodeShape]] = {}
    for node in sorted(nodes, key=lambda node: node.kind in ("finish", "merge")):
        parents = _parents(node.path, shapes)
        children.setdefault(parents[0] if parents else "", []).append(node)
    found: list[NodeShape] = []
    stack = list(reversed(children.get("", [])))
    while stack:
        node = stack.pop()
        found.append(node)
        stack.extend(reversed(children.get(node.path, [])))
    return found


def _folded(
    nodes: Sequence[NodeShape], running: Sequence[str], selected: str | None, toggled: Set[str]
) -> frozenset[str]:
    every = {node.path for node in nodes if node.kind in FRAMES}
    open_for = [*running, *([selected] if selected is not None else [])]
    at_first = (
        {path for path in every if not any(one.startswith(f"{path}/") for one in open_for)}
        if len(nodes) > FOLD_ABOVE
        else set()
    )
    return frozenset(at_first ^ (every & toggled))


def _edge_row(
    edge: EdgeShape,
    shapes: dict[str, NodeShape],
    taken: Counter[tuple[str, str, int]],
    came_by: Mapping[str, tuple[str, str, int]],
    running: Sequence[str],
    *,
    back: bool,
) -> EdgeRow:
    key = (edge.source, edge.target, edge.order)
    return EdgeRow(
        source=edge.source,
        target=edge.target,
        target_name=shown_name(shapes[edge.target]),
        order=edge.order,
        label=edge.label or ("condition" if edge.conditional else ""),
        conditional=edge.conditional,
        taken=taken[key],
        live=edge.target in running and key == came_by.get(edge.target),
        back=back,
    )


def _leading_back(shape: GraphShape) -> set[int]:
    """The edges that close a loop, as the picture has them."""
    places = {node.path: place for place, node in enumerate(shape.nodes)}
    return back_links(len(places), [(places[edge.source], places[edge.target]) for edge in shape.edges])


def _node_row(node: NodeShape, record: NodeRecord, inside: int, shapes: dict[str, NodeShape]) -> NodeRow:
    parents = _parents(node.path, shapes)
    return NodeRow(
        path=node.path,
        name=shown_name(node),
        kind=node.kind,
        parent=parents[0] if parents else "",
        depth=len(parents),
        status=record.status,
        visits=len(record.visits),
        failures=record.failures,
        seconds=sum(record.seconds.values()),
        fact=record.fact,
        types=_types(node),
        inside=inside,
        head=_head(node, shapes),
        chosen=record.chosen,
    )


def shown_name(node: NodeShape) -> str:
    """What a node is called in a picture."""
    return "merge" if node.kind == "merge" else node.name


def _head(node: NodeShape, shapes: Mapping[str, NodeShape]) -> str:
    if node.kind == "merge":
        return node.note
    words = list(node.details)
    if node.kind == "parallel":
        around = f"{node.path}/"
        branches = sum(
            path.startswith(around) and "/" not in path[len(around) :] and one.kind not in ("start", "merge")
            for path, one in shapes.items()
        )
        # How it merges stands at the merge.
        words = [
            "parallel",
            count(branches, "branch", "branches"),
            *(word for word in words if not word.startswith("merge ")),
        ]
    return " \u00b7 ".join(words)


def _innermost(paths: Sequence[str]) -> list[str]:
    """Those that are not around another one: branches run at once, the blocks around them run in them."""
    around = {parent for path in paths for parent in _prefixes(path)}
    return [path for path in paths if path not in around]


def _prefixes(path: str) -> Iterable[str]:
    while path := path.rpartition("/")[0]:
        yield path


def _choose(records: Mapping[str, NodeRecord], event: BranchesMerged) -> None:
    """Mark the branch that a merge has chosen; the event may be told of the block or of the merge in it."""
    block = event.path if f"{event.path}/{event.winner}" in records else event.path.rpartition("/")[0]
    winner = records.get(f"{block}/{event.winner}")
    if winner is not None:
        winner.chosen = True


def _types(node: NodeShape) -> str:
    return (
        ""
        if node.kind in ("start", "finish", "merge")
        else f"{set_apart(node.input_type)} \u2192 {set_apart(node.output_type)}"
    )


# ------------------------------------------------------------------------------------------- the sentence


def _sentence(
    shape: GraphShape,
    records: dict[str, NodeRecord],
    running: Sequence[str],
    ending: RunCompleted | RunFailed | None,
    resumed: str,
    seconds: float | None,
    iteration: int,
    *,
    changed: bool,
) -> tuple[str, str]:
    visited = sum(bool(record.visits) for record in records.values())
    time = "" if seconds is None else duration(seconds)
    after = f"resumed after {_short(shape, resumed)}" if resumed else ""
    if isinstance(ending, RunCompleted):
        return "done", _joined(
            f"completed in {time}", f"{visited} of {count(len(records), 'node')} visited", after
        )
    if isinstance(ending, RunFailed):
        ended = [path for path, record in records.items() if record.status == "stopped"]
        failed = [path for path, record in records.items() if record.status == "failed"] or ended
        where = f" in {_short(shape, _innermost(failed)[-1])}" if failed else ""
        if ending.cancelled:
            return "stopped", _joined(f"stopped{where} after {time}", after)
        return "failed", _joined(
            f"failed{where} after {time}: {set_apart(cut_end(ending.error, 120))}", after
        )
    if len(running) > 1:
        names = ", ".join(set_apart(path.rpartition("/")[2]) for path in running[:_MOST_NAMES])
        more = f" and {len(running) - _MOST_NAMES} more" if len(running) > _MOST_NAMES else ""
        return "running", _joined(
            f"running {len(running)} nodes at once: {names}{more}", time, f"iteration {iteration}", after
        )
    if running:
        path = running[-1]
        visit = records[path].visit
        return "running", _joined(
            f"running {_short(shape, path)}, visit {visit}", time, f"iteration {iteration}", after
        )
    if visited:
        return "running", _joined(
            f"between two nodes, {visited} of {count(len(records), 'node')} visited", time
        )
    nothing = "not run since it was changed" if changed else "nothing has run yet"
    return "not reached", _joined(nothing, count(len(shape.nodes), "node"), count(len(shape.edges), "edge"))


def _short(shape: GraphShape, path: str) -> str:
    return path_apart(path.removeprefix(f"{shape.name}/"))


def _joined(*parts: str) -> str:
    return " \u00b7 ".join(part for part in parts if part)


# ------------------------------------------------------------------------------------------- the selection


def _detail(node: NodeShape, record: NodeRecord, edges: Sequence[EdgeRow]) -> NodeDetail:
    tokens = record.tokens.values()
    figures = [("visits", thousands(len(record.visits))), ("time", duration(sum(record.seconds.values())))]
    if tokens:
        figures += [
            ("tokens in", thousands(sum(pair[0] for pair in tokens))),
            ("tokens out", thousands(sum(pair[1] for pair in tokens))),
        ]
    elif record.result:
        figures.append(("tokens" if record.result.endswith("%") else "result", record.result))
    visits = tuple(
        VisitRow(
            visit=visit,
            status=status,
            seconds=record.seconds.get(visit),
            tokens_in=record.tokens[visit][0] if visit in record.tokens else None,
            tokens_out=record.tokens[visit][1] if visit in record.tokens else None,
            left_by=record.left_by.get(visit, "" if status == "visited" else status),
        )
        for visit, status in sorted(record.visits.items())
    )
    return NodeDetail(
        path=node.path,
        name=shown_name(node),
        kind=node.kind,
        status=record.status,
        place=node.place,
        note=node.note,
        details=(*node.details, *(("in a thread",) if node.thread else ())),
        types=_types(node),
        figures=tuple(figures),
        visits=visits,
        output=_preview(record.output) if record.done else "",
        output_visit=record.done,
        error=record.error,
        edges=tuple(
            sorted((edge for edge in edges if edge.source == node.path), key=lambda edge: edge.order)
        ),
    )


def _preview(value: Any) -> str:
    """An output as text, cut; values that cannot say what they are do not stop a view."""
    if isinstance(value, Message):
        calls = [f"{call.tool}({call.args})" for call in value.calls]
        text = "\n".join([*([value.text] if value.text else []), *calls])
    elif isinstance(value, str):
        text = value
    else:
        try:
            text = repr(value)
        except Exception as problem:
            text = f"<{type(value).__name__} without a repr: {type(problem).__name__}>"
    return cut_end(text, _PREVIEW)
