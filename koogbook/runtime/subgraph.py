"""Building a graph, node by node and edge by edge; defining a name again replaces it in place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, Literal, overload

from typing_extensions import TypeVar

from koogbook.code_place import Cell, calling_place, defining_cell
from koogbook.errors import GraphError
from koogbook.runtime.adjacency import Edges
from koogbook.runtime.cells import Withdrawn, put_again, put_back, touched
from koogbook.runtime.changes import note_change
from koogbook.runtime.editing import add_edge, edge_between, take_out
from koogbook.runtime.naming import RESERVED, require_in_place, require_name
from koogbook.runtime.node import Edge, Node
from koogbook.runtime.own_nodes import OwnNodes
from koogbook.runtime.parallel.policies import Join, OnError
from koogbook.runtime.ready.nodes import ReadyNodes
from koogbook.runtime.redefinition import note_types, options_difference, settle
from koogbook.runtime.shape import NodeKind
from koogbook.runtime.subgraphs.options import HandOut, SubgraphOptions, require_options

if TYPE_CHECKING:
    from koogbook.messages.model import LLModel, LLMParams
    from koogbook.runtime.parallel.block import Parallel

#: A bare ``Subgraph`` takes and gives anything.
In = TypeVar("In", default=Any)
Out = TypeVar("Out", default=Any)
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
G = TypeVar("G", bound="Subgraph")


async def _identity(ctx: Any, value: Any) -> Any:
    return value


class Subgraph(OwnNodes, ReadyNodes, Generic[In, Out]):
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
        require_name(name, "A strategy" if parent is None else "A subgraph")
        self.name = name
        self.input_type = input
        self.output_type = output
        self.parent = parent
        #: The strategy that this graph is in, or is.
        self.root: Subgraph = self if parent is None else parent.root
        self.redefine = redefine
        self.options = SubgraphOptions() if options is None else options
        #: How branches become one, where it is a parallel block.
        self.join: Join | None = None
        self.changes: list[str] = []
        self.was_run = False
        #: What was taken out while the cell that has defined it before is still running.
        self.withdrawn: list[Withdrawn] = []
        self.cell: Cell | None = None
        #: How many of the changes a run has told already.
        self.told = 0
        place = calling_place()
        self.start: Node[In, In] = Node(
            "start", _identity, self, kind="start", input_type=input, output_type=input, place=place
        )
        self.finish: Node[Out, Out] = Node(
            "finish", _identity, self, kind="finish", input_type=output, output_type=output, place=place
        )
        self.nodes: dict[str, Node] = {"start": self.start, "finish": self.finish}
        self._edges = Edges()

    @property
    def edges(self) -> Edges:
        """The edges in the order they were added."""
        return self._edges

    @edges.setter
    def edges(self, edges: Iterable[Edge]) -> None:
        self._edges = edges if isinstance(edges, Edges) else Edges(edges)

    @property
    def path(self) -> str:
        """``strategy/subgraph``."""
        return self.name if self.parent is None else f"{self.parent.path}/{self.name}"

    @property
    def own_options(self) -> SubgraphOptions | None:
        """Its options, where they give it a context of its own."""
        return self.options if self.options.has_own_context else None

    def all_graphs(self) -> Iterator[Subgraph]:
        """This graph and those inside of it, outer ones first."""
        yield self
        for node in self.nodes.values():
            if node.subgraph is not None:
                yield from node.subgraph.all_graphs()

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

        Without options it is a group of nodes on the context around it: what they commit stays, model and parameters
        too, also where it fails. With any of ``tools``, ``model``, ``params``,
        ``history`` and ``system_prompt`` it runs on a context of its own, which begins as a copy: on success its
        messages become those of the context around it, on failure nothing does; tools, model and parameters around it
        stay as they were. The storage is the run's own in both cases, and keeps what is written to it.

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
            tools=list(tools) if isinstance(tools, list) else tools,
            model=model,
            params=params,
            history=history,
            system_prompt=list(system_prompt) if isinstance(system_prompt, list) else system_prompt,
            hand_out=hand_out,
            on_failure=on_failure,
        )
        require_options(options, name)
        made = self._inner(name, Subgraph)
        if made is None:
            made = Subgraph(name, input=input, output=output, parent=self, redefine=self.redefine)
            made.options = options
        self._put_inner(made, "subgraph", input, output, replace)
        changed = options_difference(name, made.options, options)
        if changed:
            note_change(self, changed)
        made.options = options
        return made

    @overload
    def parallel(
        self,
        name: str,
        *,
        merge: Any,
        input: type[A],
        output: type[B],
        on_error: OnError = "cancel",
        replace: bool = False,
    ) -> Parallel[A, B]: ...
    @overload
    def parallel(
        self,
        name: str,
        *,
        merge: Any,
        input: Any = Any,
        output: Any = Any,
        on_error: OnError = "cancel",
        replace: bool = False,
    ) -> Parallel: ...
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
        they were defined. The input is no copy: all branches share the very same object, and what one changes in it
        the others see.

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
        from koogbook.runtime.parallel.block import Parallel, join_of

        join = join_of(merge, on_error, name)
        made = self._inner(name, Parallel)
        if made is None:
            made = Parallel(name, input=input, output=output, parent=self, redefine=self.redefine)
            made.join = join
        self._put_inner(made, "parallel", input, output, replace)
        made.join = join
        return made

    def _inner(self, name: str, kind: type[G]) -> G | None:
        """The graph of this kind and name that is there already."""
        require_name(name, "A subgraph")
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
        if self.parent is None:
            note_types(self, input, output)
        self.input_type = self.start.input_type = self.start.output_type = input
        self.output_type = self.finish.input_type = self.finish.output_type = output

    @property
    def as_node(self) -> Node[In, Out]:
        """This subgraph as a node of its parent.

        Raises:
            GraphError: It is a whole strategy, or was removed from its parent, or replaced there.
        """
        if self.parent is None:
            raise GraphError(f"{self.name!r} is a whole strategy and stands in no other graph.")
        put_back(self.root)
        found = self.parent.nodes.get(self.name)
        if found is None:
            raise GraphError(
                f"Subgraph {self.name!r} was removed from {self.parent.path!r}. Define it again before using it."
            )
        require_in_place(self)
        return found

    def __rshift__(self, target: Node[Out, C] | Subgraph[Out, C]) -> Node[Out, C]:
        return self.as_node >> target

    if not TYPE_CHECKING:

        def __rrshift__(self, source: Any) -> Node[In, Out]:
            return self.as_node.__rrshift__(source)

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
        return add_edge(self, source, target, when, map, label)

    def find_edge(
        self, source: Node | Subgraph | str, target: Node | Subgraph | str, label: str = ""
    ) -> Edge:
        """The edge from one node to another with this label, the last one of several.

        One with a condition and no label has the name of the condition for its label.

        Raises:
            GraphError: There is none.
        """
        return edge_between(self, source, target, label)

    def remove(self, *what: Node | Edge | str) -> None:
        """Take out nodes (with all their edges) or edges; all of them, or none where one cannot be.

        Raises:
            GraphError: Not there, or a start or finish node. Nothing was changed.
        """
        take_out(self, what)

    @property
    def _graph(self) -> Subgraph:
        return self

    def _settle(self, edge: Edge) -> None:
        put_back(self.root)
        settle(self, edge)

    def _put(self, node: Node, replace: bool = False) -> Node:
        name, root = node.name, self.root
        if type(name) is not str or not name.isidentifier():
            require_name(name, "A node")
        if name in RESERVED:
            raise GraphError(f"{name!r} is the name of a node that every graph has. Choose another one.")
        if root.withdrawn:
            put_back(root)
        require_in_place(self)
        node.cell = cell = defining_cell()
        if name in self.nodes:
            return put_again(self.nodes[name], node, replace=replace)
        if cell is not None:
            touched(root, cell)
        self.nodes[name] = node
        return node
