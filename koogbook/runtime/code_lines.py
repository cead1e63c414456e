"""How a line to paste names a graph, and an edge in it."""

from __future__ import annotations

from collections.abc import Container
from keyword import iskeyword
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from koogbook.runtime.node import Edge
    from koogbook.runtime.subgraph import Subgraph


def as_variable(name: str, otherwise: str) -> str:
    """The variable that holds what has this name, as far as one can be called so."""
    return name if name.isidentifier() and not iskeyword(name) else otherwise


def code_for(graph: Subgraph) -> str:
    """``trip``, ``trip.nodes['plan'].subgraph``."""
    return code_at(graph.path)


def code_at(path: str) -> str:
    """The same for the path of a graph."""
    root, *inner = path.split("/")
    return as_variable(root, "strategy") + "".join(f".nodes[{name!r}].subgraph" for name in inner)


def edge_code(edge: Edge, without: Container[Edge] = ()) -> str:
    """An edge by its ends and its label, which stay when others go: ``trip.find_edge('a', 'b')``.

    By its place where these mean another one of several: ``trip.edges[3]``. ``without`` are edges that will be gone.
    """
    graph = edge.source.graph
    if not is_found_by_name(edge, without):
        return f"{code_for(graph)}.edges[{list(graph.edges).index(edge)}]"
    label = f", {edge.label!r}" if edge.label else ""
    return f"{code_for(graph)}.find_edge({edge.source.name!r}, {edge.target.name!r}{label})"


def is_found_by_name(edge: Edge, without: Container[Edge] = ()) -> bool:
    """Whether the ends and the label of an edge mean this one, and not a later one of the same."""
    for one in reversed(edge.source.graph.edges.leaving(edge.source)):
        if one is edge:
            return True
        if one.target is edge.target and one not in without and one.label == edge.label:
            return False
    return True
