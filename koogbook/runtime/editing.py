"""Adding an edge to a graph, and taking nodes and edges out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from koogbook.code_place import calling_place, defining_cell
from koogbook.errors import GraphError
from koogbook.runtime.adjacency import Edges
from koogbook.runtime.cells import put_back, touched
from koogbook.runtime.changes import note_change
from koogbook.runtime.naming import RESERVED, node_of, require_in_place
from koogbook.runtime.node import Edge, Node, Step
from koogbook.runtime.redefinition import settle, unusable

if TYPE_CHECKING:
    from koogbook.runtime.subgraph import Subgraph

Function = Callable[..., Any]


def add_edge(
    graph: Subgraph, source: Any, target: Any, when: Function | None, map: Function | None, label: str
) -> Edge:
    """See :meth:`Subgraph.edge`."""
    root = graph.root
    if root.withdrawn:
        put_back(root)
    require_in_place(graph)
    if not _is_own(graph, source):
        source = node_of(graph, source, "source")
    if not _is_own(graph, target):
        target = node_of(graph, target, "target")
    edge = Edge(source, target, label, calling_place(2))
    if edge.source is graph.finish:
        raise GraphError(f"The finish node of {graph.path!r} has no way out. Start the edge at another node.")
    if edge.target is graph.start:
        raise GraphError(f"Nothing leads back to the start node of {graph.path!r}. Aim at the node after it.")
    if when is not None:
        edge.steps.append(Step("when", when))
    if map is not None:
        edge.steps.append(Step("map", map))
    edge.cell = cell = defining_cell()
    if cell is not None:
        touched(root, cell)
    if not graph.edges.append(edge):  # the first one out of a node is no other one again
        settle(graph, edge)
    return edge


def _is_own(graph: Subgraph, what: Any) -> bool:
    return type(what) is Node and what.graph is graph and graph.nodes.get(what.name) is what


def take_out(graph: Subgraph, what: Sequence[Node | Edge | str]) -> None:
    """See :meth:`Subgraph.remove`."""
    put_back(graph.root)
    # All of it is looked at before anything is taken out.
    for one in dict.fromkeys([_to_take_out(graph, one) for one in what]):
        if isinstance(one, Edge):
            if one in graph.edges:  # it may have gone with its node
                graph.edges.remove(one)
                note_change(graph, f"edge {one.source.name} >> {one.target.name} removed")
            continue
        del graph.nodes[one.name]
        graph.edges = Edges(edge for edge in graph.edges if one not in (edge.source, edge.target))
        note_change(graph, f"node {one.name} removed: {unusable(one)}")


def _to_take_out(graph: Subgraph, one: Node | Edge | str) -> Node | Edge:
    if isinstance(one, Edge):
        if one not in graph.edges:
            raise GraphError(
                f"{one!r} is not in {graph.path!r}; its edges are {graph.edges}. Nothing was changed."
            )
        return one
    node = node_of(graph, one)
    if node.name in RESERVED:
        raise GraphError(
            f"The {node.name} node belongs to every graph and cannot be removed. Nothing was changed."
        )
    return node


def edge_between(graph: Subgraph, source: Any, target: Any, label: str) -> Edge:
    """See :meth:`Subgraph.find_edge`."""
    put_back(graph.root)
    begin, end = node_of(graph, source), node_of(graph, target)
    between = [edge for edge in graph.edges.leaving(begin) if edge.target is end]
    found = [edge for edge in between if edge.label == label]
    if found:
        return found[-1]
    if not between:
        raise GraphError(
            f"There is no edge {begin.name} >> {end.name} in {graph.path!r}. Nothing was changed. From "
            f"{begin.name} it has: {', '.join(map(repr, graph.edges.leaving(begin))) or 'none'}."
        )
    labels = ", ".join(repr(edge.label) for edge in between)
    raise GraphError(
        f"No edge {begin.name} >> {end.name} in {graph.path!r} has the label {label!r:.60}. Nothing was changed. There "
        f"are: {labels}."
    )
