"""How a line to paste names a graph, and an edge in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from koogbook.runtime.node import Edge
    from koogbook.runtime.subgraph import Subgraph


def code_for(graph: Subgraph) -> str:
    """``trip``, ``trip.nodes['plan'].subgraph``."""
    return code_at(graph.path)


def code_at(path: str) -> str:
    """The same for the path of a graph."""
    root, *inner = path.split("/")
    return (root if root.isidentifier() else "strategy") + "".join(
        f".nodes[{name!r}].subgraph" for name in inner
    )


def edge_code(edge: Edge) -> str:
    """An edge by its ends and its label, which stay when others go: ``trip.find_edge('a', 'b')``."""
    label = f", {edge.label!r}" if edge.label else ""
    return f"{code_for(edge.source.graph)}.find_edge({edge.source.name!r}, {edge.target.name!r}{label})"
