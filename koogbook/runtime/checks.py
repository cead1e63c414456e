"""What is wrong with a graph before it runs, and the graph as plain data."""

from __future__ import annotations

import inspect
import types
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

from koogbook.errors import StrategyCheckError
from koogbook.runtime.cells import withdraw_so_far
from koogbook.runtime.shape import EdgeShape, FindingShape, GraphShape, NodeShape
from koogbook.state.codec import describe_type

if TYPE_CHECKING:
    from koogbook.runtime.builder import Strategy, Subgraph
    from koogbook.runtime.node import Edge, Node


def shape_of(strategy: Strategy) -> GraphShape:
    """A strategy with its subgraphs as plain data, findings included.

    What the running notebook cell does not define any more is withdrawn before.
    """
    withdraw_so_far(strategy)
    nodes: list[NodeShape] = []
    edges: list[EdgeShape] = []
    findings: list[FindingShape] = []
    for graph in strategy.all_graphs():
        nodes.extend(
            NodeShape(
                path=node.path,
                name=node.name,
                kind=node.kind,
                input_type=describe_type(node.input_type),
                output_type=describe_type(node.output_type),
                place=node.place,
                note=node.note,
            )
            for node in graph.nodes.values()
        )
        for source in graph.nodes.values():
            edges.extend(
                EdgeShape(
                    source=edge.source.path,
                    target=edge.target.path,
                    order=order,
                    conditional=edge.conditional,
                    label=edge.label,
                    mapped=any(step.kind == "map" for step in edge.steps),
                )
                for order, edge in enumerate(edges_of(graph, source))
            )
        findings.extend(_findings(graph))
    findings.sort(key=lambda finding: finding.level)
    return GraphShape(name=strategy.name, nodes=tuple(nodes), edges=tuple(edges), findings=tuple(findings))


def require_runnable(strategy: Strategy) -> GraphShape:
    """The shape of a strategy that can run.

    Raises:
        StrategyCheckError: The check found errors; the message names each node and remedy.
    """
    shape = shape_of(strategy)
    errors = [finding for finding in shape.findings if finding.level == "error"]
    if errors:
        listed = "\n".join(f"  - {finding.text} {finding.remedy}" for finding in errors)
        raise StrategyCheckError(
            f"Strategy {strategy.name!r} cannot run yet, {len(errors)} to do:\n{listed}",
            findings=shape.findings,
        )
    return shape


def edges_of(graph: Subgraph, node: Node) -> list[Edge]:
    """The edges out of a node in the order they are tried: conditional ones as added, then its *else*."""
    found = [edge for edge in graph.edges if edge.source is node]
    return [edge for edge in found if edge.conditional] + [edge for edge in found if not edge.conditional]


def _reach(start: Node, edges: Iterable[tuple[Node, Node]]) -> set[Node]:
    following: dict[Node, list[Node]] = {}
    for source, target in edges:
        following.setdefault(source, []).append(target)
    seen = {start}
    stack = [start]
    while stack:
        for target in following.get(stack.pop(), ()):
            if target not in seen:
                seen.add(target)
                stack.append(target)
    return seen


def _findings(graph: Subgraph) -> Iterator[FindingShape]:
    ends = [(edge.source, edge.target) for edge in graph.edges]
    forward = _reach(graph.start, ends)
    backward = _reach(graph.finish, [(target, source) for source, target in ends])
    leaving = {source for source, _ in ends}
    dead_ends = {node for node in graph.nodes.values() if node not in leaving and node is not graph.finish}
    back = [(target, source) for source, target in ends]
    to_dead_end = {node for end in dead_ends for node in _reach(end, back)}
    where = graph.path
    if graph.start not in leaving:
        yield _finding("error", "no_start", graph.start, f"{where} has no first node.", "start >> NODE")
    elif graph.finish not in forward:
        yield _finding(
            "error",
            "no_finish",
            graph.finish,
            f"{where}: finish cannot be reached from start.",
            "NODE >> finish",
        )
    for node in graph.nodes.values():
        if node is graph.start or node is graph.finish:
            continue
        if node not in forward:
            yield _finding(
                "warning", "unreachable", node, f"{node.path} is never reached.", f"NODE >> {node.name}"
            )
        elif node not in leaving:
            yield _finding(
                "error", "no_way_out", node, f"{node.path} has no way out.", f"{node.name} >> finish"
            )
        elif node not in backward and node not in to_dead_end:
            yield _finding(
                "error",
                "no_exit",
                node,
                f"{node.path} is in a cycle, or leads into one, that never ends.",
                f"{node.name} >> finish",
            )
    for node in graph.nodes.values():
        open_edges = [edge for edge in graph.edges if edge.source is node and not edge.conditional]
        if len(open_edges) > 1:
            targets = ", ".join(edge.target.name for edge in open_edges)
            yield _finding(
                "error",
                "second_else",
                node,
                f"{node.path} has {len(open_edges)} edges without a condition, to {targets}; only one can be taken.",
                f"strategy.remove one of them, or give it when=. Edge: {node.name} >> {open_edges[1].target.name}",
                plain=True,
            )
    for source, target, label in _unclear(graph):
        yield _finding(
            "warning",
            "same_edge",
            source,
            f"{source.path} has several edges to {target.name} that are all called {label!r}.",
            f"Give each a label=, or strategy.remove those that are left over. Edge: {source.name} >> {target.name}",
            plain=True,
        )
    for edge in graph.edges:
        if not any(step.kind == "map" for step in edge.steps) and not _can_fit(
            edge.source.output_type, edge.target.input_type
        ):
            yield _finding(
                "error",
                "types",
                edge.target,
                f"{edge.source.path} gives {describe_type(edge.source.output_type)} and {edge.target.name} takes "
                f"{describe_type(edge.target.input_type)}.",
                f"Add map= to the edge {edge.source.name} >> {edge.target.name}, or mend an annotation.",
                plain=True,
            )


def _unclear(graph: Subgraph) -> list[tuple[Node, Node, str]]:
    """What several conditional edges have in common that look the same."""
    counts = Counter((edge.source, edge.target, edge.label) for edge in graph.edges if edge.conditional)
    return [one for one, count in counts.items() if count > 1]


def _finding(
    level: Any, kind: str, node: Node, text: str, remedy: str, *, plain: bool = False
) -> FindingShape:
    return FindingShape(
        level=level,
        kind=kind,
        path=node.path,
        text=text,
        remedy=remedy if plain else f"Add an edge: {remedy}.",
    )


def _can_fit(given: Any, wanted: Any) -> bool:
    """Whether some value of the one type could be one of the other; unknown types always fit."""
    return any(_classes_fit(left, right) for left in _members(given) for right in _members(wanted))


def _members(declared: Any) -> list[Any]:
    if get_origin(declared) is Annotated:
        return _members(get_args(declared)[0])
    if get_origin(declared) in (Union, types.UnionType):
        return [member for one in get_args(declared) for member in _members(one)]
    return [type(None) if declared is None else get_origin(declared) or declared]


def _classes_fit(given: Any, wanted: Any) -> bool:
    # Any is a class since Python 3.11, and fits everything all the same.
    if Any in (given, wanted) or not isinstance(given, type) or not isinstance(wanted, type):
        return True
    if given in (int, bool) and wanted is float:
        return True
    if _is_abstract(given) or _is_abstract(wanted):  # some class could be both
        return True
    try:
        return issubclass(given, wanted) or issubclass(wanted, given)
    except TypeError:  # a typed dictionary, which cannot be asked
        return True


def _is_abstract(one: type) -> bool:
    return inspect.isabstract(one) or getattr(one, "_is_protocol", False)
