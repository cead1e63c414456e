"""Names of nodes and graphs: what can be one, and what a name or an object means in a graph."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from koogbook.errors import ForeignNodeError, GraphError
from koogbook.runtime.cells import foreign
from koogbook.runtime.node import Node

if TYPE_CHECKING:
    from koogbook.runtime.subgraph import Subgraph

#: The names of the nodes that every graph has.
RESERVED = ("start", "finish")


def require_name(name: Any, what: str) -> None:
    """Refuse what cannot be a step of a path.

    Raises:
        GraphError: It is no text, empty, or holds a ``/``.
    """
    if not isinstance(name, str) or not name or "/" in name:
        raise GraphError(f"{what} needs a name without '/', which parts the steps of a path; got {name!r}.")


def node_of(graph: Subgraph, what: Any) -> Node:
    """The node of a graph that a name, a node or a subgraph means.

    Raises:
        GraphError: No node has this name, or it is none of these.
        ForeignNodeError: It is a node of another graph, or was taken out of this one.
    """
    if isinstance(what, str):
        found = graph.nodes.get(what)
        if found is None:
            raise GraphError(
                f"There is no node {what!r} in {graph.path!r}. {_near(what, graph)}"
                f"It has: {', '.join(graph.nodes)}. Nothing was changed."
            )
        return found
    if not isinstance(what, Node):
        node = getattr(what, "as_node", None)
        if not isinstance(node, Node):
            raise GraphError(
                f"An edge joins nodes, not {what!r:.80}. Nothing was changed. {_remedy(graph, what)}"
            )
        what = node
    known: Node = what
    if known.graph is not graph or graph.nodes.get(known.name) is not known:
        raise ForeignNodeError(foreign(graph, known))
    return known


def require_in_place(graph: Subgraph) -> None:
    """Refuse a subgraph whose name means something else by now.

    Raises:
        ForeignNodeError: What is put into it would be nowhere.
    """
    parent = graph.parent
    node = None if parent is None else parent.nodes.get(graph.name)
    if node is not None and node.subgraph is not graph:
        raise ForeignNodeError(
            f"{node.path!r} was defined again as a {node.kind} at {node.place}, and this is the {_kind(graph)} from "
            "before. Nothing was changed. Use what that definition gave, or give one of the two another name."
        )


def _kind(graph: Subgraph) -> str:
    return "subgraph" if graph.join is None else "parallel block"


def _remedy(graph: Subgraph, what: Any) -> str:
    if isinstance(what, list | tuple | set):
        return "Write an edge for each of them, with when= where one of several is to be taken."
    if callable(what):
        return f"Decorate the function with @{graph.name}.node."
    return f"Give it what @{graph.name}.node or a ready node has given, or the name of a node."


def _near(name: str, graph: Subgraph) -> str:
    near = get_close_matches(name, graph.nodes, n=1, cutoff=0.5)
    if near:
        return f"Did you mean {near[0]!r}? "
    for inner in graph.all_graphs():
        if inner is not graph and name in inner.nodes:
            return f"{inner.path!r} has one of this name; an edge stays inside one graph. "
    return ""
