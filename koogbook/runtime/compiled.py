"""The frozen form of a strategy that a run works on; what is redefined later does not touch it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from koogbook.runtime.adjacency import in_order
from koogbook.runtime.checking.boundaries import checked
from koogbook.runtime.checking.checks import require_runnable
from koogbook.runtime.details import details_of
from koogbook.runtime.node import NodeFunction, Step
from koogbook.runtime.parallel.policies import Join
from koogbook.runtime.shape import FindingShape, GraphShape, NodeKind
from koogbook.runtime.shaping import shape_of
from koogbook.runtime.subgraphs.options import SubgraphOptions
from koogbook.runtime.threads import in_thread

if TYPE_CHECKING:
    from koogbook.runtime.builder import Strategy, Subgraph


#: What counts against the limit of iterations.
_COUNTING = ("node", "compress")
#: Where a value comes into a graph, or leaves it.
_BOUNDARIES = ("start", "finish", "merge")


class CompiledEdge(Struct, eq=False):
    """An edge of a run."""

    target: CompiledNode
    steps: tuple[Step, ...]
    label: str
    order: int


class CompiledNode(Struct, eq=False):
    """A node of a run.

    ``counts`` says that it counts against the limit of iterations, ``wraps`` that interceptors go around it: ordinary
    nodes, parallel blocks, and subgraphs with a context of their own. ``options`` are those of such a subgraph,
    ``join`` is how the branches of a parallel block become one.
    """

    name: str
    path: str
    function: NodeFunction
    kind: NodeKind
    input_type: Any
    output_type: Any
    subgraph: CompiledGraph | None = None
    options: SubgraphOptions | None = None
    join: Join | None = None
    counts: bool = False
    wraps: bool = False
    place: str = ""
    note: str = ""
    thread: bool = False
    details: tuple[str, ...] = ()
    edges: tuple[CompiledEdge, ...] = ()


class CompiledGraph:
    """A graph of a run."""

    __slots__ = ("finish", "nodes", "path", "start")

    def __init__(self, path: str, nodes: dict[str, CompiledNode]) -> None:
        self.path = path
        self.nodes = nodes
        self.start = nodes["start"]
        self.finish = nodes["finish"]

    def all_nodes(self) -> Iterator[CompiledNode]:
        """Every node, those of subgraphs included."""
        for node in self.nodes.values():
            yield node
            if node.subgraph is not None:
                yield from node.subgraph.all_nodes()

    def find(self, path: str) -> CompiledNode | None:
        """The node at a path (``strategy/subgraph/node``), or None."""
        own, _, rest = path.partition("/")
        if own != self.path.rpartition("/")[2] or not rest:
            return None
        name, _, deeper = rest.partition("/")
        node = self.nodes.get(name)
        if node is None or not deeper:
            return node
        return None if node.subgraph is None else node.subgraph.find(rest)


class CompiledStrategy:
    """A strategy ready to run: its graph, its own version, the types of its input and output, and what was found."""

    __slots__ = ("_shape", "findings", "graph", "input_type", "name", "output_type", "version")

    def __init__(self, strategy: Strategy, findings: tuple[FindingShape, ...]) -> None:
        self.name = strategy.name
        self.version = strategy.version
        self.input_type = strategy.input_type
        self.output_type = strategy.output_type
        self.findings = findings
        self.graph = _compile(strategy)
        self._shape: GraphShape | None = None

    @property
    def shape(self) -> GraphShape:
        """The strategy as plain data, findings included; made when it is asked for first."""
        if self._shape is None:
            self._shape = shape_of(self.graph, self.version, self.findings)
        return self._shape


def compile_strategy(strategy: Strategy) -> CompiledStrategy:
    """Freeze a strategy for a run.

    Raises:
        StrategyCheckError: It cannot run; see :func:`koogbook.runtime.checking.checks.require_runnable`.
    """
    return CompiledStrategy(strategy, require_runnable(strategy))


def _compile(graph: Subgraph) -> CompiledGraph:
    path = graph.path
    at = f"{path}/"
    nodes: dict[str, CompiledNode] = {}
    for name, node in graph.nodes.items():
        kind, inner, function, options, join = node.kind, node.subgraph, node.function, None, None
        if inner is not None:
            options, join = inner.own_options, inner.join
        elif kind in _BOUNDARIES:
            function = checked(kind, at + name, node.output_type, function)
        elif node.thread:
            function = in_thread(function)
        counts = kind in _COUNTING
        nodes[name] = CompiledNode(
            name,
            at + name,
            function,
            kind,
            node.input_type,
            node.output_type,
            None if inner is None else _compile(inner),
            options,
            join,
            counts,
            counts or join is not None or options is not None,
            node.place,
            node.note,
            node.thread,
            () if inner is None else details_of(inner),
        )
    for node, leaving in graph.edges.by_source.items():
        if len(leaving) == 1:
            edge = leaving[0]
            only = nodes[edge.target.name]
            nodes[node.name].edges = (
                CompiledEdge(only, tuple(edge.steps), edge.label, 0)
                if edge.steps
                else CompiledEdge(only, (), edge.given_label, 0),
            )
            continue
        nodes[node.name].edges = tuple(
            CompiledEdge(nodes[edge.target.name], tuple(edge.steps), edge.label, order)
            for order, edge in enumerate(in_order(leaving))
        )
    return CompiledGraph(path, nodes)
