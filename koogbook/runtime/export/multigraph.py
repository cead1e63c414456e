"""A strategy as a networkx graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from koogbook.runtime.shape import GraphShape

if TYPE_CHECKING:
    import networkx


def to_networkx(shape: GraphShape) -> networkx.MultiDiGraph[Any]:
    """The graph as a ``MultiDiGraph``: a node per path, an edge per edge, keyed by its order.

    A node has the fields of :class:`~koogbook.runtime.shape.NodeShape` and ``parent``, the path of the graph that it is
    in; a subgraph is a node, and the nodes in it are nodes with that parent. An edge has those of
    :class:`~koogbook.runtime.shape.EdgeShape` but for its ends. The graph has ``name`` and ``version``.
    """
    import networkx
    from msgspec.structs import asdict

    graph: networkx.MultiDiGraph[Any] = networkx.MultiDiGraph(name=shape.name, version=shape.version)
    for node in shape.nodes:
        graph.add_node(node.path, parent=node.path.rpartition("/")[0], **asdict(node))
    for edge in shape.edges:
        fields = asdict(edge)
        graph.add_edge(fields.pop("source"), fields.pop("target"), key=edge.order, **fields)
    return graph
