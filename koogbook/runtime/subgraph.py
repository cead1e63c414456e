"""Building a graph, node by node and edge by edge; defining a name again replaces it in place."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, Literal, overload

from typing_extensions import TypeVar

from koogbook.code_place import Cell, calling_place, defining_cell
from koogbook.errors import ForeignNodeError, GraphError, RedefinitionError
from koogbook.runtime.cells import Withdrawn, foreign, put_back, require_no_conflict, touched
from koogbook.runtime.node import Edge, Node, Step, annotated_types
from koogbook.runtime.parallel_options import Join, OnError
from koogbook.runtime.ready_nodes import ReadyNodes
from koogbook.runtime.redefinition import difference, settle, unusable
from koogbook.runtime.shape import NodeKind
from koogbook.runtime.subgraph_options import HandOut, SubgraphOptions, require_options

if TYPE_CHECKING:
    from koogbook.messages.model import LLModel, LLMParams
    from koogbook.runtime.parallel import Parallel

#: A bare ``Subgraph`` takes and gives anything.
In = TypeVar("In", default=Any)
Out = TypeVar("Out", default=Any)
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
G = TypeVar("G", bound="Subgraph")

_RESERVED = ("start", "finish")


async def _identity(ctx: Any, value: Any) -> Any:
    return value


class Subgraph(ReadyNodes, Generic[In, Out]):
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
        options: SubgraphOptions | None = None,
    ) -> None:
        _require_name(name, "A strategy" if parent is None else "A subgraph")
        self.name = name
        self.input_type = input
        self.output_type = output
        self.parent = parent
        self.redefine = redefine
        self.options = SubgraphOptions() if options is None else options
        #: How branches become one, where it is a parallel block.
        self.join: Join | None = None
        self.changes: list[str] = []
        self.was_run = False
        #: What was taken out while the cell that has defined it before is still running.
        self.withdrawn: list[Withdrawn] = []
        self.cell: Cell | None = None
        self._told = 0
        place = calling_place()
        self.start: Node[In, In] = Node(
            "start", _identity, self, kind="start", input_type=input, output_type=input, place=place
        )
        self.finish: Node[Out, Out] = Node(
            "finish", _identity, self, kind="finish", input_type=output, output_type=output, place=place
        )
        self.nodes: dict[str, Node] = {"start": self.start, "finish": self.finish}
        self.edges: list[Edge] = []

    @property
    def path(self) -> str:
        """``strategy/subgraph``."""
        return self.name if self.parent is None else f"{self.parent.path}/{self.name}"

    @property
    def own_options(self) -> SubgraphOptions | None:
        """Its options, where they give it a context of its own."""
        return self.options if self.options.has_own_context else None

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
    def node(self, function: Callable[[Any, A], Awaitable[B]], /) -> Node[A, B]: ...
    @overload
    def node(
        self,
        /,
        *,
        name: str | None = None,
        note: str = "",
        replace: bool = False,
        thread: Literal[False] = False,
    ) -> Callable[[Callable[[Any, A], Awaitable[B]]], Node[A, B]]: ...
    @overload
    def node(
        self, /, *, thread: Literal[True], name: str | None = None, note: str = "", replace: bool = False
    ) -> Callable[[Callable[[Any, A], B]], Node[A, B]]: ...
    def node(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str | None = None,
        note: str = "",
        replace: bool = False,
        thread: bool = False,
    ) -> Any:
        """Make a node of an async function ``(ctx, input) -> output`` (Koog's ``node``); usable as a decorator.

        A node of this name that exists is replaced in place, and its edges stay. In a notebook that is for the cell
        that has defined it; another cell takes the node over with ``replace=True``. With ``thread=True`` it is a plain
        function that blocks, and runs in a thread; there ``ctx.call(function, ...)`` awaits an async function.

        Raises:
            GraphError: The function is not async (or, with ``thread=True``, is) or takes other arguments.
            RedefinitionError: The name is taken and the strategy was made with ``redefine=False``, or another cell
                defines a node of this name. Nothing was changed.
        """

        def add(made: Callable[..., Any]) -> Node:
            chosen = str(name or getattr(made, "__name__", ""))
            input_type, output_type = annotated_types(made, chosen, thread=thread)
            return self._put(
                Node(
                    chosen,
                    made,
                    self,
                    input_type=input_type,
                    output_type=output_type,
                    place=calling_place(),
                    note=note,
                    thread=thread,
                ),
                replace,
            )

        return add if function is None else add(function)

    @overload
    def subgraph(
        self,
        name: str,
        *,
        input: type[A],
        output: type[B],
        tools: Any = None,
        model: LLModel | str | None = None,
        params: LLMParams | None = None,
        history: Literal["inherit", "fresh"] | None = None,
        system_prompt: str | list[str] | None = None,
        hand_out: HandOut = "nothing",
        on_failure: Literal["discard", "keep"] = "discard",
        replace: bool = False,
    ) -> Subgraph[A, B]: ...
    @overload
    def subgraph(
        self,
        name: str,
        *,
        input: Any = Any,
        output: Any = Any,
        tools: Any = None,
        model: LLModel | str | None = None,
        params: LLMParams | None = None,
        history: Literal["inherit", "fresh"] | None = None,
        system_prompt: str | list[str] | None = None,
        hand_out: HandOut = "nothing",
        on_failure: Literal["discard", "keep"] = "discard",
        replace: bool = False,
    ) -> Subgraph: ...
    def subgraph(
        self,
        name: str,
        *,
        input: Any = Any,
        output: Any = Any,
        tools: Any = None,
        model: LLModel | str | None = None,
        params: LLMParams | None = None,
        history: Literal["inherit", "fresh"] | None = None,
        system_prompt: str | list[str] | None = None,
        hand_out: HandOut = "nothing",
        on_failure: Literal["discard", "keep"] = "discard",
        replace: bool = False,
    ) -> Subgraph:
        """A graph inside this one (Koog's ``subgraph``); it may stand in edges as a node does.

        Without options it is a group of nodes on the context around it. With any of ``tools``, ``model``, ``params``,
        ``history`` and ``system_prompt`` it runs on a context of its own, which begins as a copy: on success its
        messages become those of the context around it, on failure nothing does; tools, model and parameters around it
        stay as they were.

        One of this name that exists is the same object still, with its nodes and the types and options that are given
        now. In a notebook it stays the cell's that has defined it first, unless another one says ``replace=True``.

        Args:
            name: Its name, unique in this graph.
            input: What it takes.
            output: What it gives.
            tools: The tools on offer in it: all of those around it when left out, none with ``[]``, a list of tools,
                functions or names of tools around it, or ``kb.tools_for_task(...)``, chosen by the model.
            model: The model that is asked in it.
            params: The parameters of its requests, all of them.
            history: ``"inherit"`` begins with the messages around it, and its final ones take their place;
                ``"fresh"`` begins with the system messages alone, and those around it stay as they were.
            system_prompt: System messages of its own, in place of those around it, as long as it runs.
            hand_out: What a fresh history adds to the one around it: ``"nothing"``, ``"last"`` (the last answer),
                ``"all"`` (all but system messages), or a function of its messages that gives some.
            on_failure: ``"keep"`` hands the messages over also where it failed.
            replace: Take the name over from another cell.

        Raises:
            GraphError: An option that cannot be, or that does not go with another one.
            RedefinitionError: As for :meth:`node`, where the name is taken by something that is no subgraph.
        """
        options = SubgraphOptions(
            tools=tools,
            model=model,
            params=params,
            history=history,
            system_prompt=system_prompt,
            hand_out=hand_out,
            on_failure=on_failure,
        )
        require_options(options, name)
        made = self._inner(name, Subgraph)
        if made is None:
            made = Subgraph(name, input=input, output=output, parent=self, redefine=self.redefine)
        made.options = options
        self._put_inner(made, "subgraph", input, output, replace)
        return made

    def parallel(
        self,
        name: str,
        *,
        merge: Any,
        input: Any = Any,
        output: Any = Any,
        on_error: OnError = "cancel",
        replace: bool = False,
    ) -> Parallel:
        """A block of branches that run at once (Koog's ``parallel``); it stands in edges as a node does.

        Each node or subgraph that is put into it is a branch: ``@block.node``, ``block.subgraph(...)``. All get the
        block's input, each on a copy of the context and its storage; their outputs are merged in the order in which
        they were defined.

        Args:
            name: Its name, unique in this graph.
            merge: How the outputs become one, and what becomes of the histories and the storages of the branches:
                ``kb.fold(...)``, ``kb.select_by(...)``, ``kb.select_by_max(...)``, ``kb.select_by_index(...)``, or a
                function of the results, sync or async.
            input: What each branch takes.
            output: What the merge gives.
            on_error: When a branch fails, ``"cancel"`` stops the others and fails; ``"collect"`` goes on without it.
            replace: Take the name over from another cell.

        Raises:
            GraphError: An option that cannot be.
            RedefinitionError: As for :meth:`node`.
        """
        from koogbook.runtime.parallel import Parallel, join_of

        join = join_of(merge, on_error, name)
        made = self._inner(name, Parallel)
        if made is None:
            made = Parallel(name, input=input, output=output, parent=self, redefine=self.redefine)
        made.join = join
        self._put_inner(made, "parallel", input, output, replace)
        return made

    def _inner(self, name: str, kind: type[G]) -> G | None:
        """The graph of this kind and name that is there already."""
        _require_name(name, "A subgraph")
        put_back(self.root)
        known = self.nodes.get(name)
        made = known.subgraph if known is not None else None
        return made if type(made) is kind else None

    def _put_inner(self, made: Subgraph, kind: NodeKind, input: Any, output: Any, replace: bool) -> None:
        self._put(
            Node(
                made.name,
                _identity,
                self,
                kind=kind,
                input_type=input,
                output_type=output,
                place=calling_place(),
                subgraph=made,
            ),
            replace,
        )
        made.take_types(input, output)

    def take_types(self, input: Any, output: Any) -> None:
        """Declare again what it takes and gives."""
        self.input_type = self.start.input_type = self.start.output_type = input
        self.output_type = self.finish.input_type = self.finish.output_type = output

    @property
    def as_node(self) -> Node[In, Out]:
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

    def __rshift__(self, target: Node[Out, C] | Subgraph[Out, C]) -> Node[Out, C]:
        return self.as_node >> target

    @overload
    def edge(
        self,
        source: Node[Any, A] | Subgraph[Any, A] | str,
        target: Node[A, Any] | Subgraph[A, Any] | str,
        *,
        when: Callable[..., Any] | None = None,
        label: str = "",
    ) -> Edge: ...
    @overload
    def edge(
        self,
        source: Node | Subgraph | str,
        target: Node[B, Any] | Subgraph[B, Any] | str,
        *,
        map: Callable[..., Any],
        when: Callable[..., Any] | None = None,
        label: str = "",
    ) -> Edge: ...
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

    @property
    def _graph(self) -> Subgraph:
        return self

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


def _require_name(name: str, what: str) -> None:
    if not isinstance(name, str) or not name or "/" in name:
        raise GraphError(f"{what} needs a name without '/', which parts the steps of a path; got {name!r}.")
