"""The plain data of a strategy, made from its frozen form when somebody asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from koogbook.runtime.shape import EdgeShape, FindingShape, GraphShape, NodeShape
from koogbook.state.codec import describe_type

if TYPE_CHECKING:
    from koogbook.runtime.compiled import CompiledEdge, CompiledGraph, CompiledNode


def shape_of(graph: CompiledGraph, version: str, findings: tuple[FindingShape, ...]) -> GraphShape:
    """A strategy with all its nodes and edges, those of outer graphs first."""
    graphs = list(_graphs(graph))
    words: dict[int, str] = {}
    return GraphShape(
        name=graph.path,
        nodes=tuple(_node(node, words) for one in graphs for node in one.nodes.values()),
        edges=tuple(
            _edge(node, edge) for one in graphs for node in one.nodes.values() for edge in node.edges
        ),
        findings=findings,
        version=version,
    )


def _graphs(graph: CompiledGraph) -> Iterator[CompiledGraph]:
    yield graph
    for node in graph.nodes.values():
        if node.subgraph is not None:
            yield from _graphs(node.subgraph)


def _node(node: CompiledNode, words: dict[int, str]) -> NodeShape:
    """``words`` keeps how each type is called: most nodes of a strategy share a few of them."""
    taken, given = node.input_type, node.output_type
    return NodeShape(
        path=node.path,
        name=node.name,
        kind=node.kind,
        input_type=words.get(id(taken)) or _described(taken, words),
        output_type=words.get(id(given)) or _described(given, words),
        place=node.place,
        note=node.note,
        thread=node.thread,
        details=node.details,
    )


def _edge(node: CompiledNode, edge: CompiledEdge) -> EdgeShape:
    kinds = {step.kind for step in edge.steps}
    return EdgeShape(
        source=node.path,
        target=edge.target.path,
        order=edge.order,
        conditional="when" in kinds,
        label=edge.label,
        mapped="map" in kinds,
    )


def _described(declared: Any, words: dict[int, str]) -> str:
    text = words[id(declared)] = describe_type(declared)
    return text
