"""Adding an edge to a graph, and taking nodes and edges out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from koogbook.code_place import calling_place, defining_cell
from koogbook.errors import GraphError
from koogbook.runtime.adjacency import Edges
from koogbook.runtime.cells import put_back, touched
from koogbook.runtime.changes import note_change
from koogbook.runtime.naming import RESERVED, node_of
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
    if not _is_own(graph, source):
        source = node_of(graph, source)
    if not _is_own(graph, target):
        target = node_of(graph, target)
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
    for one in what:
        if isinstance(one, Edge):
            if one not in graph.edges:
                raise GraphError(f"{one!r} is not in {graph.path!r}; its edges are {graph.edges}.")
            graph.edges.remove(one)
            note_change(graph, f"edge {one.source.name} >> {one.target.name} removed")
            continue
        node = node_of(graph, one)
        if node.name in RESERVED:
            raise GraphError(f"The {node.name} node belongs to every graph and cannot be removed.")
        del graph.nodes[node.name]
        graph.edges = Edges(edge for edge in graph.edges if node not in (edge.source, edge.target))
        note_change(graph, f"node {node.name} removed: {unusable(node)}")
