"""Building a strategy, node by node and edge by edge; defining a name again replaces it in place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, overload

from koogbook.code_place import Cell, calling_place, defining_cell
from koogbook.errors import ForeignNodeError, GraphError, RedefinitionError
from koogbook.runtime.cells import Withdrawn, foreign, put_back, require_no_conflict, touched
from koogbook.runtime.node import Edge, Node, NodeFunction, Step, annotated_types
from koogbook.runtime.ready import compress_function, compress_note
from koogbook.runtime.redefinition import difference, settle, unusable
from koogbook.runtime.shape import FindingShape, GraphShape

_RESERVED = ("start", "finish")


async def _identity(ctx: Any, value: Any) -> Any:
    return value


class Subgraph:
    """A graph with a start and a finish node, and itself a node where it stands in another one.

    Koog's ``AIAgentSubgraph``. Made by :func:`strategy` or by ``parent.subgraph(name)``. ``changes`` says in words what
    was defined again or taken out, in subgraphs too.
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
        self.was_run = False
        #: What was taken out while the cell that has defined it before is still running.
        self.withdrawn: list[Withdrawn] = []
        self.cell: Cell | None = None
        self._told = 0
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

    @property
    def root(self) -> Subgraph:
        """The strategy that this graph is in, or is."""
        return self if self.parent is None else self.parent.root

    def all_graphs(self) -> Iterator[Subgraph]:
        """This graph and those inside of it, outer ones first."""
        yield self
        for node in self.nodes.values():
            if node.subgraph is not None:
                yield from node.subgraph.all_graphs()

    @overload
    def node(self, function: NodeFunction, /) -> Node: ...
    @overload
    def node(
        self, /, *, name: str | None = None, note: str = "", replace: bool = False
    ) -> Callable[[NodeFunction], Node]: ...
    def node(
        self,
        function: NodeFunction | None = None,
        /,
        *,
        name: str | None = None,
        note: str = "",
        replace: bool = False,
    ) -> Node | Callable[[NodeFunction], Node]:
        """Make a node of an async function ``(ctx, input) -> output`` (Koog's ``node``); usable as a decorator.

        A node of this name that exists is replaced in place, and its edges stay. In a notebook that is for the cell
        that has defined it; another cell takes the node over with ``replace=True``.

        Raises:
            GraphError: The function is not async or takes other arguments.
            RedefinitionError: The name is taken and the strategy was made with ``redefine=False``, or another cell
                defines a node of this name. Nothing was changed.
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
                ),
                replace,
            )

        return add if function is None else add(function)

    def compress_history(
        self,
        strategy: Any = None,
        *,
        name: str = "compress_history",
        preserve_memory: bool = True,
        allow_longer: bool | None = None,
        replace: bool = False,
    ) -> Node:
        """A node that compresses the history and passes its input on (Koog's ``nodeLLMCompressHistory``).

        Two in one graph need names of their own: defining a name again replaces the node, as everywhere; in another
        cell of a notebook, with ``replace=True``.

        Raises:
            RedefinitionError: As for :meth:`node`.
        """
        return self._put(
            Node(
                name,
                compress_function(strategy, preserve_memory, allow_longer),
                self,
                kind="compress",
                place=calling_place(),
                note=compress_note(strategy),
            ),
            replace,
        )

    def subgraph(self, name: str, *, input: Any = Any, output: Any = Any, replace: bool = False) -> Subgraph:
        """A graph inside this one (Koog's ``subgraph``); it may stand in edges as a node does.

        One of this name that exists is the same object still, with its nodes and the types that are given now. In a
        notebook it stays the cell's that has defined it first, unless another one says ``replace=True``.

        Raises:
            RedefinitionError: As for :meth:`node`, where the name is taken by something that is no subgraph.
        """
        _require_name(name, "A subgraph")
        put_back(self.root)
        known = self.nodes.get(name)
        made = known.subgraph if known is not None else None
        if made is None:
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
            ),
            replace,
        )
        made.input_type = made.start.input_type = made.start.output_type = input
        made.output_type = made.finish.input_type = made.finish.output_type = output
        return made

    @property
    def as_node(self) -> Node:
        """This subgraph as a node of its parent.

        Raises:
            GraphError: It is a whole strategy, or was removed from its parent.
        """
        if self.parent is None:
            raise GraphError(f"{self.name!r} is a whole strategy and stands in no other graph.")
        put_back(self.root)
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
        """Add an edge (Koog's ``edge(a forwardTo b)``); the same edge again replaces the one before in its place.

        Edges of the same ends are the same when their labels are, or, where one has none, their conditions: a function
        of the same name, or a lambda of the same text. Otherwise both stay.

        Conditional edges of a node are tried in the order they were added; the one without a condition is its
        *else* and tried last, wherever it was added.

        Args:
            source: A node, a subgraph, or its name.
            target: Likewise.
            when: Function of ``(output)`` or ``(ctx, output)``, sync or async; true takes the edge (``onCondition``).
            map: Function of the same kind that changes the output on its way (``transformed``).
            label: What the drawing says; it tells apart several edges between the same nodes.

        Raises:
            ForeignNodeError: A node of another strategy object.
            GraphError: A name that is not there, an edge out of the finish node, or a function of other arguments.
        """
        put_back(self.root)
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
        edge.cell = defining_cell()
        touched(self.root, edge.cell)
        self.edges.append(edge)
        settle(self, edge)
        return edge

    def remove(self, *what: Node | Edge | str) -> None:
        """Take out nodes (with all their edges) or edges.

        Raises:
            GraphError: Not there, or a start or finish node.
        """
        put_back(self.root)
        for one in what:
            if isinstance(one, Edge):
                if one not in self.edges:
                    raise GraphError(f"{one!r} is not in {self.path!r}; its edges are {self.edges}.")
                self.edges.remove(one)
                self._changed(f"edge {one.source.name} >> {one.target.name} removed")
                continue
            node = self._find(one)
            if node.name in _RESERVED:
                raise GraphError(f"The {node.name} node belongs to every graph and cannot be removed.")
            del self.nodes[node.name]
            self.edges = [edge for edge in self.edges if node not in (edge.source, edge.target)]
            self._changed(f"node {node.name} removed: {unusable(node)}")

    def _settle(self, edge: Edge) -> None:
        put_back(self.root)
        settle(self, edge)

    def _take_back(self, text: str) -> None:
        """Undo the newest note of a change, here and in the graphs around this one."""
        for graph, line in self._lines(text) if text else ():
            if line in graph.changes:
                at = len(graph.changes) - 1 - graph.changes[::-1].index(line)
                del graph.changes[at]
                graph._told -= at < graph._told

    def _changed(self, text: str) -> None:
        """Note a change, here and in the graphs around this one."""
        for graph, line in self._lines(text):
            graph.changes.append(line)

    def _lines(self, text: str) -> Iterator[tuple[Subgraph, str]]:
        yield self, text
        outer = self.parent
        while outer is not None:
            yield outer, f"in {self.path}: {text}"
            outer = outer.parent

    def _put(self, node: Node, replace: bool = False) -> Node:
        _require_name(node.name, "A node")
        if node.name in _RESERVED:
            raise GraphError(f"{node.name!r} is the name of a node that every graph has. Choose another one.")
        put_back(self.root)
        node.cell = defining_cell()
        known = self.nodes.get(node.name)
        if known is None:
            touched(self.root, node.cell)
            self.nodes[node.name] = node
            return node
        if not self.redefine:
            raise RedefinitionError(
                f"{known.path!r} is defined at {known.place} and the strategy was made with redefine=False. "
                "Remove it first, or choose another name."
            )
        if not replace:
            if node.subgraph is None or node.subgraph is not known.subgraph:
                require_no_conflict(known, node)
            elif (known.cell and known.cell.id) != (node.cell and node.cell.id):
                # It was asked for, so that something can be put in, and stays whose it was.
                node.cell, node.place = known.cell, known.place
        touched(self.root, node.cell)
        changed = difference(known, node)
        if changed:
            self._changed(changed)
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
            raise ForeignNodeError(foreign(self, what))
        return what


class Strategy(Subgraph):
    """A whole strategy: the root graph of an agent (Koog's ``AIAgentGraphStrategy``). Made by :func:`strategy`."""

    def __init__(self, name: str, *, input: Any, output: Any, version: str, redefine: bool) -> None:
        super().__init__(name, input=input, output=output, redefine=redefine)
        self.version = version
        self.cell = defining_cell()
        touched(self, self.cell)

    def check(self) -> tuple[FindingShape, ...]:
        """What is wrong or odd about the graph, errors first; empty when it can run."""
        return self.shape().findings

    def shape(self) -> GraphShape:
        """The strategy as plain data, findings included."""
        from koogbook.runtime.checks import shape_of

        return shape_of(self)

    @property
    def changes_since_run(self) -> tuple[str, ...]:
        """What was changed since the last run began, each once; nothing before the first one."""
        return tuple(dict.fromkeys(self.changes[self._told :])) if self.was_run else ()

    def take_untold_changes(self) -> tuple[str, ...]:
        """The changes since the last call, each once: what a run tells of the strategy before it starts."""
        self.was_run = True
        untold = self.changes_since_run
        self._told = len(self.changes)
        return untold

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
