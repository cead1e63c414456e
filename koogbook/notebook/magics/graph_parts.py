"""The nodes and edges that the line of a magic names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from koogbook.errors import GraphError
from koogbook.notebook.magics.current import Current
from koogbook.notebook.magics.parsing import Given
from koogbook.notebook.magics.user_code import UserCode
from koogbook.notebook.magics.wrong_use import WrongUse, listed, nearest
from koogbook.runtime.builder import Subgraph
from koogbook.runtime.node import Node, Step


def graph_of(current: Current, given: Given) -> Subgraph:
    """The strategy or subgraph that a line is about.

    Raises:
        WrongUse: It names none, or names none and there is no current one.
    """
    text = given.text("--strategy")
    return current.strategy() if text is None else current.code.find(text, Subgraph, "strategy", "--strategy")


def node_names(graph: Subgraph) -> dict[str, Node]:
    """All nodes by the names that a line may have for them: ``answer``, and ``sub/answer`` inside a subgraph."""
    return dict(_named(graph, ""))


def _named(graph: Subgraph, prefix: str) -> Iterator[tuple[str, Node]]:
    for node in graph.nodes.values():
        yield prefix + node.name, node
        if node.subgraph is not None:
            yield from _named(node.subgraph, f"{prefix}{node.name}/")


def node_of(graph: Subgraph, name: str) -> Node:
    """The node of a name, or of a whole path with the strategy in front.

    Raises:
        WrongUse: There is none; with the nearest name.
    """
    known = node_names(graph)
    found = known.get(name) or known.get(name.removeprefix(f"{graph.path}/"))
    if found is None:
        raise WrongUse(
            f"There is no node {name!r} in {graph.path!r}.",
            f"{nearest(name, known)} It has: {listed(known)}.",
        )
    return found


def ends_of(graph: Subgraph, words: Iterable[str]) -> list[tuple[Subgraph, Node, Node]]:
    """The edges of a chain ``a >> b >> c``, each with the graph that it is in.

    Raises:
        WrongUse: It is no chain of nodes of one graph that an edge can join.
    """
    chain = [name.strip() for name in " ".join(words).split(">>")]
    if len(chain) < 2 or not all(chain) or any(" " in name for name in chain):
        raise WrongUse(
            f"{' '.join(words)!r} is no chain of nodes.", "Write, for example: %koog_edge prepare >> answer"
        )
    nodes = [node_of(graph, name) for name in chain]
    return [(_joinable(source, target), source, target) for source, target in pairwise(nodes)]


def _joinable(source: Node, target: Node) -> Subgraph:
    if source.graph is not target.graph:
        raise WrongUse(
            f"{source.path} and {target.path} are in different graphs, and no edge leads from one to the other.",
            "Lead the edge to the subgraph itself; inside, it begins at start and ends at finish.",
        )
    if source.kind == "finish":
        raise WrongUse(f"The finish node of {source.graph.path!r} has no way out.")
    if target.kind == "start":
        raise WrongUse(f"Nothing leads back to the start node of {target.graph.path!r}.")
    return source.graph


def sources_of(graph: Subgraph, names: Iterable[str]) -> list[Node]:
    """The nodes of this very graph that edges to a new node begin at.

    Raises:
        WrongUse: There is none of a name, or it cannot be the beginning of an edge there.
    """
    found = [node_of(graph, name) for name in names]
    for node in found:
        if node.graph is not graph:
            raise WrongUse(
                f"{node.path} is not in {graph.path!r} itself, where the new node is.",
                "Name the subgraph with --strategy, or its node without its inner one.",
            )
        if node.kind == "finish":
            raise WrongUse(f"The finish node of {graph.path!r} has no way out.")
    return found


def edge_options(code: UserCode, given: Given) -> dict[str, Any]:
    """What the line says of an edge, as :meth:`koogbook.Strategy.edge` takes it.

    Raises:
        WrongUse: A condition or a transformation is no function of the right kind.
    """
    options: dict[str, Any] = {}
    for flag in ("when", "map"):
        text = given.text(f"--{flag}")
        if text is None:
            continue
        function = code.edge_function(text, f"--{flag}")
        try:
            Step("when" if flag == "when" else "map", function)
        except GraphError as problem:
            raise WrongUse(f"--{flag}: {problem}") from None
        options[flag] = function
    label = given.text("--label")
    return {**options, "label": label} if label is not None else options
