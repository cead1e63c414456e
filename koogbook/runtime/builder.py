"""Building a strategy, node by node and edge by edge; defining a name again replaces it in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from koogbook.code_place import calling_place
from koogbook.errors import ForeignNodeError, GraphError, RedefinitionError
from koogbook.runtime.node import Edge, Node, NodeFunction, Step, annotated_types
from koogbook.runtime.ready import compress_function
from koogbook.runtime.shape import FindingShape, GraphShape
from koogbook.state.codec import describe_type

_RESERVED = ("start", "finish")


async def _identity(ctx: Any, value: Any) -> Any:
    return value


class Subgraph:
    """A graph with a start and a finish node, and itself a node where it stands in another one.

    Made by :func:`strategy` or by ``parent.subgraph(name)``.
    """

    def __init__(
        self,
        name: str,
        *,
        input: Any = Any,
        output: Any = Any,
        parent: Subgraph | None = None,
        redefine: bool = True,
    ) -> None:
        _require_name(name, "A strategy" if parent is None else "A subgraph")
        self.name = name
        self.input_type = input
        self.output_type = output
        self.parent = parent
        self.redefine = redefine
        self.changes: list[str] = []
        place = calling_place()
        self.start = Node(
            "start", _identity, self, kind="start", input_type=input, output_type=input, place=place
        )
        self.finish = Node(
            "finish", _identity, self, kind="finish", input_type=output, output_type=output, place=place
        )
        self.nodes: dict[str, Node] = {"start": self.start, "finish": self.finish}
        self.edges: list[Edge] = []

    @property
    def path(self) -> str:
        """``strategy/subgraph``."""
        return self.name if self.parent is None else f"{self.parent.path}/{self.name}"

    @overload
    def node(self, function: NodeFunction, /) -> Node: ...
    @overload
    def node(self, /, *, name: str | None = None, note: str = "") -> Callable[[NodeFunction], Node]: ...
    def node(
        self, function: NodeFunction | None = None, /, *, name: str | None = None, note: str = ""
    ) -> Node | Callable[[NodeFunction], Node]:
        """Make a node of an async function ``(ctx, input) -> output``; usable as a decorator.

        A node of this name that exists is replaced in place, and its edges stay.

        Raises:
            GraphError: The function is not async or takes other arguments.
            RedefinitionError: The name is taken and the strategy was made with ``redefine=False``.
        """

        def add(made: NodeFunction) -> Node:
            chosen = str(name or getattr(made, "__name__", ""))
            input_type, output_type = annotated_types(made, chosen)
            return self._put(
                Node(
                    chosen,
                    made,
                    self,
                    input_type=input_type,
                    output_type=output_type,
                    place=calling_place(),
                    note=note,
                )
            )

        return add if function is None else add(function)

    def compress_history(
        self,
        strategy: Any = None,
        *,
        name: str = "compress_history",
        preserve_memory: bool = True,
        allow_longer: bool | None = None,
    ) -> Node:
        """A node that compresses the history and passes its input on (Koog's ``nodeLLMCompressHistory``)."""
        return self._put(
            Node(
                name,
                compress_function(strategy, preserve_memory, allow_longer),
                self,
                kind="compress",
                place=calling_place(),
                note="WholeHistory()" if strategy is None else repr(strategy),
            )
        )

    def subgraph(self, name: str, *, input: Any = Any, output: Any = Any) -> Subgraph:
        """A graph inside this one; its ``as_node`` stands in edges, and it may stand there itself."""
        made = Subgraph(name, input=input, output=output, parent=self, redefine=self.redefine)
        self._put(
            Node(
                name,
                _identity,
                self,
                kind="subgraph",
                input_type=input,
                output_type=output,
                place=calling_place(),
                subgraph=made,
            )
        )
        return made

    @property
    def as_node(self) -> Node:
        """This subgraph as a node of its parent.

        Raises:
            GraphError: It is a whole strategy, or was removed from its parent.
        """
        if self.parent is None:
            raise GraphError(f"{self.name!r} is a whole strategy and stands in no other graph.")
        found = self.parent.nodes.get(self.name)
        if found is None:
            raise GraphError(
                f"Subgraph {self.name!r} was removed from {self.parent.path!r}. Define it again before using it."
            )
        return found

    def __rshift__(self, target: Node | Subgraph) -> Node:
        found = target.as_node if isinstance(target, Subgraph) else target
        return self.as_node >> found

    def __rrshift__(self, source: Node) -> Node:
        return source >> self.as_node

    def edge(
        self,
        source: Node | Subgraph | str,
        target: Node | Subgraph | str,
        *,
        when: Callable[..., Any] | None = None,
        map: Callable[..., Any] | None = None,
        label: str = "",
    ) -> Edge:
        """Add an edge; the same edge again replaces the one before in its place.

        Edges are the same when their ends and labels are, and both have a condition or none; an edge without a label
        has the names of its conditions as one.

        Conditional edges of a node are tried in the order they were added; the one without a condition is its
        *else* and tried last, wherever it was added.

        Args:
            source: A node, a subgraph, or its name.
            target: Likewise.
            when: Function of ``(output)`` or ``(ctx, output)``, sync or async; true takes the edge.
            map: Function of the same kind that changes the output on its way.
            label: What the drawing says.

        Raises:
            ForeignNodeError: A node of another strategy object.
            GraphError: A name that is not there, an edge out of the finish node, or a function of other arguments.
        """
        edge = Edge(self._find(source), self._find(target), label, calling_place())
        if edge.source is self.finish:
            raise GraphError(
                f"The finish node of {self.path!r} has no way out. Start the edge at another node."
            )
        if edge.target is self.start:
            raise GraphError(
                f"Nothing leads back to the start node of {self.path!r}. Aim at the node after it."
            )
        if when is not None:
            edge.steps.append(Step("when", when))
        if map is not None:
            edge.steps.append(Step("map", map))
        self.edges.append(edge)
        self._settle(edge)
        return edge

    def remove(self, *what: Node | Edge | str) -> None:
        """Take out nodes (with all their edges) or edges.

        Raises:
            GraphError: Not there, or a start or finish node.
        """
        for one in what:
            if isinstance(one, Edge):
                if one not in self.edges:
                    raise GraphError(f"{one!r} is not in {self.path!r}; its edges are {self.edges}.")
                self.edges.remove(one)
                self.changes.append(f"edge {one.source.name} >> {one.target.name} removed")
                continue
            node = self._find(one)
            if node.name in _RESERVED:
                raise GraphError(f"The {node.name} node belongs to every graph and cannot be removed.")
            del self.nodes[node.name]
            self.edges = [edge for edge in self.edges if node not in (edge.source, edge.target)]
            self.changes.append(f"node {node.name} removed")

    def _settle(self, edge: Edge) -> None:
        """Put an edge that is new, or has just got a condition, in the place of the one that it defines again."""
        known = next((one for one in self.edges if _is_same(one, edge)), None)
        if known is None or edge not in self.edges:
            return
        self.edges.remove(edge)
        if not self.redefine:
            raise RedefinitionError(
                f"{known!r} of {self.path!r} exists and the strategy was made with redefine=False. Remove it first."
            )
        self.changes.append(f"edge {edge.source.name} >> {edge.target.name} redefined")
        self.edges[self.edges.index(known)] = edge

    def _put(self, node: Node) -> Node:
        _require_name(node.name, "A node")
        if node.name in _RESERVED:
            raise GraphError(f"{node.name!r} is the name of a node that every graph has. Choose another one.")
        known = self.nodes.get(node.name)
        if known is None:
            self.nodes[node.name] = node
            return node
        if not self.redefine:
            raise RedefinitionError(
                f"{known.path!r} is defined at {known.place} and the strategy was made with redefine=False. "
                "Remove it first, or choose another name."
            )
        self.changes.append(_difference(known, node))
        # The old object stays the node, so that edges and variables that hold it mean the new definition.
        for field in Node.__slots__:
            setattr(known, field, getattr(node, field))
        return known

    def _find(self, what: Node | Subgraph | str) -> Node:
        if isinstance(what, Subgraph):
            what = what.as_node
        if isinstance(what, str):
            found = self.nodes.get(what)
            if found is None:
                raise GraphError(
                    f"There is no node {what!r} in {self.path!r}. It has: {', '.join(self.nodes)}."
                )
            return found
        if not isinstance(what, Node):
            raise GraphError(
                f"An edge joins nodes, not {what!r}. Decorate the function with @{self.name}.node."
            )
        if what.graph is not self or self.nodes.get(what.name) is not what:
            raise ForeignNodeError(
                f"{what.path!r} (defined at {what.place}) does not belong to this {self.path!r}. Run the cell that "
                "defines it again, so that it joins this object, or add the edge where the node lives."
            )
        return what


class Strategy(Subgraph):
    """A whole strategy: the root graph of an agent (Koog's ``AIAgentGraphStrategy``). Made by :func:`strategy`."""

    def __init__(self, name: str, *, input: Any, output: Any, version: str, redefine: bool) -> None:
        super().__init__(name, input=input, output=output, redefine=redefine)
        self.version = version

    def check(self) -> tuple[FindingShape, ...]:
        """What is wrong or odd about the graph, errors first; empty when it can run."""
        return self.shape().findings

    def shape(self) -> GraphShape:
        """The strategy as plain data, findings included."""
        from koogbook.runtime.checks import shape_of

        return shape_of(self)

    def to_mermaid(self) -> str:
        """The graph as Mermaid text."""
        from koogbook.runtime.export import to_mermaid

        return to_mermaid(self.shape())

    def __repr__(self) -> str:
        return f"<strategy {self.name!r}: {len(self.nodes) - 2} nodes, {len(self.edges)} edges>"


def strategy(
    name: str, *, input: Any = Any, output: Any = Any, version: str = "1", redefine: bool = True
) -> Strategy:
    """A new strategy with typed input and output (Koog's ``strategy<Input, Output>(name)``).

    ``version`` is the strategy's own, kept in checkpoints. With ``redefine=False`` a name that is taken raises.

    Raises:
        GraphError: The name is empty or holds a ``/``.
    """
    return Strategy(name, input=input, output=output, version=version, redefine=redefine)


def _require_name(name: str, what: str) -> None:
    if not isinstance(name, str) or not name or "/" in name:
        raise GraphError(f"{what} needs a name without '/', which parts the steps of a path; got {name!r}.")


def _is_same(known: Edge, edge: Edge) -> bool:
    return (
        known is not edge
        and known.source is edge.source
        and known.target is edge.target
        and known.conditional == edge.conditional
        and known.label == edge.label
    )


def _difference(known: Node, node: Node) -> str:
    changed = []
    if known.input_type != node.input_type:
        changed.append(f"input {describe_type(known.input_type)} -> {describe_type(node.input_type)}")
    if known.output_type != node.output_type:
        changed.append(
            f"output {describe_type(known.output_type)} -> {describe_type(node.output_type)}: checkpoints saved after "
            f"{known.path} can no longer be resumed"
        )
    if known.kind != node.kind:
        changed.append(f"{known.kind} -> {node.kind}")
    return f"node {node.name} redefined" + (f" ({', '.join(changed)})" if changed else "")
