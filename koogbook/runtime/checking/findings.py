"""What is wrong with one graph, or odd about it: errors stop a strategy from running, warnings do not.

The work grows with the nodes and edges, and not with their product.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace

from koogbook.runtime.checking.type_fit import can_fit
from koogbook.runtime.code_lines import as_variable, code_for, edge_code, is_found_by_name
from koogbook.runtime.shape import FindingShape
from koogbook.state.codec import describe_type

if TYPE_CHECKING:
    from koogbook.runtime.node import Edge, Node
    from koogbook.runtime.subgraph import Subgraph

#: For how many nodes it is looked up which of their edges without a condition leads on.
_MOST_WALKS = 20

#: What makes a value one of these types, as far as a line to paste can know.
_MAKES = {str: "str", int: "int", float: "float", bool: "bool", list: "list", dict: "dict"}


def findings_of(graph: Subgraph, *, goes: bool = False) -> Iterator[FindingShape]:
    """The findings of a graph and the graphs inside it; ``goes`` says that a line of the graph around takes it out.

    Their lines mend when they are pasted one after the other, those of errors first: each still finds what it is about
    when the ones before it were pasted.
    """
    out: set[Node] = set()
    for finding in _own(graph, out):
        # The line that takes the graph out is a warning's, and the lines of errors stand before it.
        yield replace(finding, line="") if goes and finding.level == "warning" else finding
    for node in graph.nodes.values():
        if node.subgraph is not None:
            yield from findings_of(node.subgraph, goes=goes or node in out)


def _own(graph: Subgraph, out: set[Node]) -> Iterator[FindingShape]:
    """The findings of a graph, those inside it left out; ``out`` gets the nodes that a line takes out."""
    yield from _twice(graph)
    if graph.join is not None and len(graph.nodes) == 2:
        yield _without_branches(graph)
        return
    if not _is_one_line(graph):
        yield from _ways(graph, out)
    edges, sources = graph.edges, graph.edges.by_source
    several: list[Node] = []
    if len(edges) > len(sources):
        several = [node for node in graph.nodes.values() if len(sources.get(node, ())) > 1]
    to_go = _to_go(graph, several) if graph.join is None else {}
    yield from _types(graph, to_go)
    yield from _second_elses(graph, to_go)
    for node in several:
        yield from _unclear(node, to_go, out)


def _twice(graph: Subgraph) -> Iterator[FindingShape]:
    """Names that the same run of the same code defines twice: the first definition is nowhere."""
    twice = [node for node in graph.nodes.values() if node.replaced_at]
    if twice and graph.options.finish_tool is not None:  # the nodes of a task, which is what was defined
        yield _defined_twice(graph.path, twice[0], "another name")
        return
    for node in twice:
        yield _defined_twice(node.path, node, "name=" if node.subgraph is None else "another name")


def _defined_twice(path: str, node: Node, name: str) -> FindingShape:
    in_loop = node.replaced_at == node.place
    where = f"more than once at {node.place}" if in_loop else f"twice, at {node.replaced_at} and {node.place}"
    own = "a name= of its own" if name == "name=" else "a name of its own"
    return FindingShape(
        level="warning",
        kind="defined_twice",
        path=path,
        text=f"{path} is defined {where}; the {'last' if in_loop else 'second'} one is in force.",
        remedy=f"Give each {own}." if in_loop else f"Give one of them {name}.",
    )


def _is_one_line(graph: Subgraph) -> bool:
    """Whether the graph is one line from start through every node to finish."""
    edges, left = graph.edges, len(graph.nodes) - 1
    if not len(edges) == len(edges.by_source) == left:
        return False
    node, leaving = graph.start, edges.by_source
    while left and node in leaving:
        node = leaving[node][0].target
        left -= 1
    return not left and node is graph.finish


def _reach(starts: Iterable[Node], edges: dict[Node, list[Node]]) -> set[Node]:
    seen = set(starts)
    stack = list(seen)
    while stack:
        for target in edges.get(stack.pop(), ()):
            if target not in seen:
                seen.add(target)
                stack.append(target)
    return seen


def _ways(graph: Subgraph, out: set[Node]) -> Iterator[FindingShape]:
    """What cannot be reached, and what leads nowhere; ``out`` gets the nodes that a line takes out."""
    following: dict[Node, list[Node]] = {}
    leading: dict[Node, list[Node]] = {}
    for edge in graph.edges:
        following.setdefault(edge.source, []).append(edge.target)
        leading.setdefault(edge.target, []).append(edge.source)
    forward, backward = _reach([graph.start], following), _reach([graph.finish], leading)
    if len(forward) == len(backward) == len(graph.nodes):
        return
    where, nodes = graph.path, graph.nodes.values()
    dead_ends = [node for node in nodes if node not in following and node is not graph.finish]
    to_dead_end = _reach(dead_ends, leading)
    if graph.start not in following:
        ends = (graph.start, graph.finish)
        own = [node for node in nodes if node not in ends]
        first = next((node for node in own if node not in leading), own[0] if own else graph.finish)
        yield _no_edge("no_start", graph.start, f"{where} has no first node.", "start >> NODE", first)
        # The edge to add reaches those behind it, and they are not to be taken out.
        forward |= _reach([first], following)
    elif graph.finish not in forward:
        # In a cycle without a way out the last node is as good as any, and has an edge that goes on.
        last = next((node for node in dead_ends if node in forward), None)
        last = last or next(node for node in reversed(list(nodes)) if node in forward)
        text = f"{where}: finish cannot be reached from start."
        yield _no_edge("no_finish", graph.finish, text, "NODE >> finish", last)
    for node in nodes:
        if node is graph.start or node is graph.finish:
            continue
        if node not in forward:
            out.add(node)
            yield FindingShape(
                level="warning",
                kind="unreachable",
                path=node.path,
                text=f"{node.path} is never reached.",
                remedy=f"Add an edge that leads to it: NODE >> {node.name}; or take it out.",
                line=f"{code_for(graph)}.remove({node.name!r})",
            )
        elif node not in following:
            yield _no_edge("no_way_out", node, f"{node.path} has no way out.", f"{node.name} >> finish", node)
        elif node not in backward and node not in to_dead_end:
            text = f"{node.path} is in a cycle, or leads into one, that never ends."
            yield _no_edge("no_exit", node, text, f"{node.name} >> finish", node)


def _no_edge(kind: str, node: Node, text: str, edge: str, end: Node) -> FindingShape:
    source, target = ("start", end.name) if kind == "no_start" else (end.name, "finish")
    goes_on = kind != "no_start" and node.graph.edges.has_leaving(end)
    more = ", when=lambda value: True" if goes_on else ""
    return FindingShape(
        level="error",
        kind=kind,
        path=node.path,
        text=text,
        remedy=f"Add an edge: {edge}.",
        edge=edge,
        line=f"{code_for(node.graph)}.edge({source!r}, {target!r}{more})",
    )


def _without_branches(graph: Subgraph) -> FindingShape:
    made = as_variable(graph.name, "block")
    return FindingShape(
        level="error",
        kind="no_branches",
        path=graph.path,
        text=f"{graph.path} is a parallel block without a branch.",
        remedy=f"Put a node into it: @{made}.node above an async function.",
    )


def _to_go(graph: Subgraph, several: Sequence[Node]) -> dict[Edge, Sequence[Edge]]:
    """The edges without a condition that have to go, each with all such edges of its node; of each node one stays."""
    to_go: dict[Edge, Sequence[Edge]] = {}
    walks = 0
    for node in several:
        plain = [edge for edge in graph.edges.leaving(node) if not edge.conditional]
        if len(plain) < 2:
            continue
        # The first one stays, unless the finish could then not be reached any more.
        walks += 1
        few = walks <= _MOST_WALKS
        stays = next((edge for edge in plain if not few or _leads_on(graph, edge, to_go)), plain[0])
        to_go.update((edge, plain) for edge in plain if edge is not stays)
    return to_go


def _second_elses(graph: Subgraph, to_go: dict[Edge, Sequence[Edge]]) -> Iterator[FindingShape]:
    """One finding for each edge that has to go."""
    by_name = [edge for edge in to_go if is_found_by_name(edge)]
    if len(by_name) == len(to_go):
        in_order = by_name
    else:  # first those that are named by their places, the last one first, so that the places of the others stay
        in_order = [edge for edge in reversed(graph.edges) if edge in to_go and edge not in by_name] + by_name
    for edge in in_order:
        node, plain = edge.source, to_go[edge]
        targets = ", ".join(one.target.name for one in plain)
        yield _at_edge(
            "error",
            "second_else",
            node,
            f"{node.path} has {len(plain)} edges without a condition, to {targets}; only one can be taken.",
            "strategy.remove one of them, or give it when=.",
            edge,
            f"{code_for(graph)}.remove({edge_code(edge)})",
        )


def _leads_on(graph: Subgraph, edge: Edge, without: Container[Edge]) -> bool:
    """Whether an edge leads to the finish and not through its own node, when these edges are gone."""
    if edge.target is edge.source:
        return False
    seen, stack = {edge.source, edge.target}, [edge.target]
    while stack:
        node = stack.pop()
        if node is graph.finish:
            return True
        for one in graph.edges.leaving(node):
            if one not in without and one.target not in seen:
                seen.add(one.target)
                stack.append(one.target)
    return False


def _unclear(node: Node, to_go: Container[Edge], out: Container[Node]) -> Iterator[FindingShape]:
    """Several conditional edges that look the same."""
    conditional = [edge for edge in node.graph.edges.leaving(node) if edge.conditional]
    counts = Counter((edge.target, edge.label) for edge in conditional)
    for (target, label), count in counts.items():
        if count > 1:
            last = next(
                edge for edge in reversed(conditional) if edge.target is target and edge.label == label
            )
            # Its place may be another one when the lines before this one were pasted.
            stays_put = node not in out and is_found_by_name(last, to_go)
            yield _at_edge(
                "warning",
                "same_edge",
                node,
                f"{node.path} has several edges to {target.name} that are all called {label!r}.",
                "Give each a label=, or strategy.remove those that are left over.",
                last,
                f"{code_for(node.graph)}.remove({edge_code(last, to_go)})" if stays_put else "",
            )


def _types(graph: Subgraph, to_go: Container[Edge]) -> Iterator[FindingShape]:
    """Edges whose ends declare types that no value is both of, but for those that have to go anyway."""
    fits: dict[tuple[int, int], bool] = {}
    for edge in graph.edges:
        given, wanted = edge.source.output_type, edge.target.input_type
        if given is wanted or given is Any or wanted is Any or edge in to_go:
            continue
        if edge.target is graph.finish and graph.join is not None:  # what the merge makes of all of them
            continue
        key = (id(given), id(wanted))
        if key not in fits:
            fits[key] = can_fit(given, wanted)
        if not fits[key] and not edge.mapped:
            yield _at_edge(
                "error",
                "types",
                edge.target,
                f"{edge.source.path} gives {describe_type(given)} and {edge.target.name} takes "
                f"{describe_type(wanted)}.",
                f"Mend an annotation: {edge.target.name} takes what the block takes."
                if graph.join is not None
                else f"Add map= to the edge {edge.source.name} >> {edge.target.name}, or mend an annotation.",
                edge,
                f"{edge_code(edge)}.map({_MAKES.get(wanted, 'lambda value: ...')})",
            )


def _at_edge(
    level: Literal["error", "warning"],
    kind: str,
    node: Node,
    text: str,
    remedy: str,
    edge: Edge,
    line: str,
) -> FindingShape:
    ends = f"{edge.source.name} >> {edge.target.name}"
    return FindingShape(
        level=level,
        kind=kind,
        path=node.path,
        text=text,
        remedy=remedy if ends in remedy else f"{remedy} Edge: {ends}",
        edge=ends,
        line="" if edge.source.graph.join is not None else line,  # nobody wrote the edges of a parallel block
    )
