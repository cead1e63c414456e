"""When a definition is one from before, come again, and what it has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from koogbook.errors import RedefinitionError
from koogbook.functions import is_new_version, is_same_function
from koogbook.runtime.changes import note_change, take_back
from koogbook.runtime.code_lines import code_for, edge_code
from koogbook.runtime.node import Edge, Node
from koogbook.runtime.ready.functions import is_same_given
from koogbook.runtime.same_type import has_other_fields, is_same_type
from koogbook.runtime.subgraphs.options import SubgraphOptions
from koogbook.state.codec import describe_type

if TYPE_CHECKING:
    from koogbook.code_place import Cell
    from koogbook.runtime.builder import Subgraph


def settle(graph: Subgraph, edge: Edge) -> None:
    """Put an edge that is new, or has just got a step, in the place of the one that it defines again.

    Raises:
        RedefinitionError: There is one and the strategy was made with ``redefine=False``.
    """
    edges = graph.edges
    if edge not in edges:
        return
    text, edge.noted = edge.noted, ""  # of an edge that was not whole yet
    take_back(graph, text)
    before = edge.replaced
    if before is not None:
        if is_same_edge(before, edge):
            _note_difference(graph, before, edge)
            return
        # It was taken for the other one until it got its condition.
        edges.replace(edge, before)
        edges.append(edge)
        edge.replaced = None
    known = next((one for one in edges.leaving(edge.source) if is_same_edge(one, edge)), None)
    if known is None:
        _note_added_beside(graph, edge)
        return
    edges.remove(edge)
    if not graph.redefine:
        raise RedefinitionError(
            f"{known!r} of {graph.path!r} exists and the strategy was made with redefine=False. Nothing was changed. "
            f"Remove it first: {code_for(graph)}.remove({edge_code(known)})."
        )
    _note_difference(graph, known, edge)
    edges.replace(known, edge)
    edge.replaced, known.replaced = known, None


def is_same_edge(known: Edge, edge: Edge) -> bool:
    """Whether an edge is defined again, rather than another one added between the same nodes.

    A label decides where both have one. Otherwise the conditions do, and where it cannot be told whether they are the
    same, both edges stay: nothing that somebody wrote is lost.
    """
    if known is edge or known.source is not edge.source or known.target is not edge.target:
        return False
    if known.conditional != edge.conditional:
        return False
    if (known.given_label and edge.given_label) or not edge.conditional:
        return known.given_label == edge.given_label
    before = [step.function for step in known.steps if step.kind == "when"]
    now = [step.function for step in edge.steps if step.kind == "when"]
    return len(before) == len(now) and all(map(_is_same_condition, before, now))


def is_unchanged_edge(known: Edge, edge: Edge) -> bool:
    """Whether an edge that was defined again does what it did."""
    return (
        known.label == edge.label
        and len(known.steps) == len(edge.steps)
        and all(
            before.kind == now.kind and is_same_function(before.function, now.function)
            for before, now in zip(known.steps, edge.steps, strict=True)
        )
    )


def difference(known: Node, node: Node) -> str:
    """What a definition of a node changes, in words; empty when it is the one from before."""
    changed = []
    if not is_same_type(known.input_type, node.input_type):
        changed.append(f"input {describe_type(known.input_type)} -> {describe_type(node.input_type)}")
    if not is_same_type(known.output_type, node.output_type):
        changed.append(
            f"output {describe_type(known.output_type)} -> {describe_type(node.output_type)}: {unusable(known)}"
        )
    elif has_other_fields(known.output_type, node.output_type):
        changed.append(
            f"other fields in {describe_type(node.output_type)}: checkpoints saved after {known.path} are resumed "
            "where what they hold still fits"
        )
    if known.kind == node.kind == "compress" and known.note != node.note:
        changed.append(f"{known.note} -> {node.note}")
    if known.kind != node.kind:
        changed.append(f"{known.kind} -> {node.kind}")
    elif known.thread != node.thread:
        changed.append("in a thread now" if node.thread else "in no thread any more")
    if known.subgraph is not None and node.subgraph is not known.subgraph:
        changed.append(f"its nodes are gone: {unusable(known)}")
    if not changed and known.note == node.note and is_same_function(known.function, node.function):
        return ""
    return f"node {node.name} redefined" + (f" ({', '.join(changed)})" if changed else "")


def note_types(strategy: Subgraph, input: Any, output: Any) -> None:
    """Note that a strategy takes or gives another type than before."""
    for what, before, now in (
        ("input", strategy.input_type, input),
        ("output", strategy.output_type, output),
    ):
        if not is_same_type(before, now):
            note_change(strategy, f"{what} {describe_type(before)} -> {describe_type(now)}")


def options_difference(name: str, known: SubgraphOptions, options: SubgraphOptions) -> str:
    """What other options change about a subgraph, in words; empty where they do what they did."""
    changed = [
        f"{option} {_shown(before)} -> {_shown(now)}"
        for option in options.__struct_fields__
        if option != "finish_tool"  # made anew with each definition, of what the others say
        and not is_same_given(before := getattr(known, option), now := getattr(options, option))
    ]
    return f"node {name} redefined ({', '.join(changed)})" if changed else ""


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_shown, value))}]"
    if callable(value):
        return str(getattr(value, "name", getattr(value, "__name__", type(value).__name__)))
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def unusable(node: Node) -> str:
    """Which checkpoints nothing can go on from when this node is gone or gives another type."""
    where = "after" if node.subgraph is None else "after or inside"
    return f"checkpoints saved {where} {node.path} can no longer be resumed"


def _is_same_condition(known: Any, condition: Any) -> bool:
    label = getattr(known, "label", None)
    if isinstance(label, str):
        by_content = "__eq__" in vars(type(known))
        return bool(known == condition) if by_content else label == getattr(condition, "label", None)
    return is_same_function(known, condition) or is_new_version(known, condition)


def _note_difference(graph: Subgraph, known: Edge, edge: Edge) -> None:
    if not is_unchanged_edge(known, edge):
        _note(graph, edge, "redefined")


def _note_added_beside(graph: Subgraph, edge: Edge) -> None:
    """After a first run, a second condition between two nodes may be the first one, edited: say that both count."""
    beside = [
        one
        for one in graph.edges.leaving(edge.source)
        # What the same cell has defined before goes when the cell ends, unless it is defined again.
        if one is not edge and one.target is edge.target and not is_stale(one, edge.cell)
    ]
    if graph.root.was_run and edge.conditional and any(one.conditional for one in beside):
        _note(
            graph,
            edge,
            "added beside another one, which is tried first: give both a label=, or remove the old one",
        )


def _note(graph: Subgraph, edge: Edge, what: str) -> None:
    edge.noted = f"edge {edge.source.name} >> {edge.target.name} {what}"
    note_change(graph, edge.noted)


def is_stale(part: Node | Edge, cell: Cell | None) -> bool:
    """Whether a node or edge is of an earlier run of this cell."""
    return cell is not None and part.cell is not None and part.cell.id == cell.id and part.cell.run < cell.run
