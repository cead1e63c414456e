"""The frozen form of a strategy that a run works on; what is redefined later does not touch it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from koogbook.runtime.checks import edges_of, require_runnable
from koogbook.runtime.node import NodeFunction, Step
from koogbook.runtime.parallel_options import Join
from koogbook.runtime.shape import GraphShape, NodeKind
from koogbook.runtime.subgraph_options import SubgraphOptions
from koogbook.runtime.threads import in_thread

if TYPE_CHECKING:
    from koogbook.runtime.builder import Strategy, Subgraph


class CompiledEdge:
    """An edge of a run."""

    __slots__ = ("label", "order", "steps", "target")

    def __init__(self, target: CompiledNode, steps: tuple[Step, ...], label: str, order: int) -> None:
        self.target = target
        self.steps = steps
        self.label = label
        self.order = order


class CompiledNode:
    """A node of a run.

    ``counts`` says that it counts against the limit of iterations, ``wraps`` that interceptors go around it: ordinary
    nodes, parallel blocks, and subgraphs with a context of their own. ``options`` are those of such a subgraph,
    ``join`` is how the branches of a parallel block become one.
    """

    __slots__ = (
        "counts",
        "edges",
        "function",
        "input_type",
        "join",
        "kind",
        "name",
        "options",
        "output_type",
        "path",
        "subgraph",
        "wraps",
    )

    def __init__(
        self,
        name: str,
        path: str,
        function: NodeFunction,
        kind: NodeKind,
        input_type: Any,
        output_type: Any,
        subgraph: CompiledGraph | None,
        options: SubgraphOptions | None = None,
        join: Join | None = None,
    ) -> None:
        self.name = name
        self.path = path
        self.function = function
        self.kind: NodeKind = kind
        self.input_type = input_type
        self.output_type = output_type
        self.subgraph = subgraph
        self.options = options
        self.join = join
        self.counts = kind in ("node", "compress")
        self.wraps = self.counts or kind == "parallel" or options is not None
        self.edges: tuple[CompiledEdge, ...] = ()


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
    """A strategy ready to run: its graph, its shape, its own version, and the type of its input."""

    __slots__ = ("graph", "input_type", "name", "output_type", "shape", "version")

    def __init__(self, strategy: Strategy, shape: GraphShape) -> None:
        self.name = strategy.name
        self.version = strategy.version
        self.input_type = strategy.input_type
        self.output_type = strategy.output_type
        self.shape = shape
        self.graph = _compile(strategy)


def compile_strategy(strategy: Strategy) -> CompiledStrategy:
    """Freeze a strategy for a run.

    Raises:
        StrategyCheckError: It cannot run; see :func:`koogbook.runtime.checks.require_runnable`.
    """
    return CompiledStrategy(strategy, require_runnable(strategy))


def _compile(graph: Subgraph) -> CompiledGraph:
    nodes = {
        name: CompiledNode(
            name,
            node.path,
            in_thread(node.function) if node.thread else node.function,
            node.kind,
            node.input_type,
            node.output_type,
            None if node.subgraph is None else _compile(node.subgraph),
            None if node.subgraph is None else node.subgraph.own_options,
            None if node.subgraph is None else node.subgraph.join,
        )
        for name, node in graph.nodes.items()
    }
    for name, node in graph.nodes.items():
        nodes[name].edges = tuple(
            CompiledEdge(nodes[edge.target.name], tuple(edge.steps), edge.label, order)
            for order, edge in enumerate(edges_of(graph, node))
        )
    return CompiledGraph(graph.path, nodes)
