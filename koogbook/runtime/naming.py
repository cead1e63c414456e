"""Names of nodes and graphs: what can be one, and what a name or an object means in a graph."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal
from unicodedata import category

from koogbook.errors import ForeignNodeError, GraphError
from koogbook.runtime.cells import foreign
from koogbook.runtime.code_lines import as_variable
from koogbook.runtime.node import Node

if TYPE_CHECKING:
    from koogbook.runtime.subgraph import Subgraph

#: The names of the nodes that every graph has.
RESERVED = ("start", "finish")

#: The end of an edge; empty where it is about no edge that is being added.
End = Literal["source", "target", ""]

#: Line breaks, control characters, and halves of characters, which nothing can be written in.
_BREAK_LINES = frozenset({"Cc", "Zl", "Zp", "Cs"})

#: These, blanks, and marks such as joiners, which shape the letters beside them.
_UNSEEN = _BREAK_LINES | {"Zs", "Cf"}


def require_name(name: Any, what: str) -> None:
    """Refuse what cannot be a step of a path.

    Raises:
        GraphError: It is no text, empty or blank, or holds a ``/``, a line break or a control character.
    """
    if not isinstance(name, str) or not name or "/" in name:
        raise GraphError(f"{what} needs a name without '/', which parts the steps of a path; got {name!r}.")
    if name.isidentifier():
        return
    kinds = {category(one) for one in name}
    if kinds <= _UNSEEN:
        raise GraphError(f"{what} needs a name that can be seen; got {name!r}, which is blank.")
    if kinds & _BREAK_LINES:
        raise GraphError(
            f"{what} needs a name without line breaks and control characters, so that paths and reports keep to their "
            f"lines; got {name!r}. Write it on one line, with spaces."
        )


def node_of(graph: Subgraph, what: Any, end: End = "") -> Node:
    """The node of a graph that a name, a node or a subgraph means; ``end`` says at which end of an edge it is to be.

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
                f"An edge joins nodes, not {what!r:.80}. Nothing was changed. {_remedy(graph, what, end)}"
            )
        what = node
    known: Node = what
    if known.graph is not graph or graph.nodes.get(known.name) is not known:
        raise ForeignNodeError(foreign(graph, known))
    return known


def require_in_place(graph: Subgraph) -> None:
    """Refuse a subgraph that is not in its strategy any more, or is inside of one that is not.

    Raises:
        ForeignNodeError: What is put into it would be nowhere.
    """
    around = graph
    while (parent := around.parent) is not None:
        node = parent.nodes.get(around.name)
        if node is None or node.subgraph is not around:
            raise ForeignNodeError(_out_of_place(graph, around, parent, node))
        around = parent


def _out_of_place(graph: Subgraph, gone: Subgraph, parent: Subgraph, node: Node | None) -> str:
    """What has become of a graph, or of one around it; ``node`` is what has its name now."""
    kind = "subgraph" if gone.join is None else "parallel block"
    inside = "" if gone is graph else f" {graph.path!r} is inside of it."
    if node is None:
        return (
            f"The {kind} {gone.path!r} was taken out of {parent.path!r}, and what is put into it would be nowhere."
            f"{inside} Nothing was changed. Define it again first, and use what that gives."
        )
    return (
        f"{node.path!r} was defined again as a {node.kind} at {node.place}, and this is the {kind} from before."
        f"{inside} Nothing was changed. Use what that definition gave, or give one of the two another name."
    )


def _remedy(graph: Subgraph, what: Any, end: End) -> str:
    made = as_variable(graph.name, "strategy" if graph.parent is None else "subgraph")
    if isinstance(what, list | tuple | set):
        if end == "source":
            return "Write an edge from each of them; several may lead to one node."
        return "Write an edge for each of them, with when= where one of several is to be taken."
    if callable(what):
        return f"Decorate the function with @{made}.node."
    return f"Give it what @{made}.node or a ready node has given, or the name of a node."


def _near(name: str, graph: Subgraph) -> str:
    near = get_close_matches(name, graph.nodes, n=1, cutoff=0.5)
    if near:
        return f"Did you mean {near[0]!r}? "
    for inner in graph.all_graphs():
        if inner is not graph and name in inner.nodes:
            return f"{inner.path!r} has one of this name; an edge stays inside one graph. "
    return ""
