"""Building a parallel block: a graph whose nodes are branches, between its start and its merge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn, get_args

from koogbook.errors import GraphError
from koogbook.runtime.adjacency import Edges
from koogbook.runtime.changes import note_change
from koogbook.runtime.node import Edge, Node
from koogbook.runtime.parallel.merges import as_merge
from koogbook.runtime.parallel.policies import Join, OnError
from koogbook.runtime.subgraph import In, Out, Subgraph


class Parallel(Subgraph[In, Out]):
    """A block of branches, made by ``graph.parallel(name, merge=...)``.

    Each node and each subgraph that is put into it is a branch: ``@block.node``, ``block.subgraph(...)``, a ready node.
    Its edges follow from that: one from the start to each branch, in the order in which these were put in, and one from
    there to the merge, which stands in the place of the finish node.
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
        self._join: Join | None = None
        self._made: Edges | None = None
        self._has_cells = False
        super().__init__(name, input=input, output=output, parent=parent, redefine=redefine)
        self.finish.kind = "merge"
        self.finish.input_type = Any

    @property
    def join(self) -> Join | None:
        """The merge, and what happens when a branch fails."""
        return self._join

    @join.setter
    def join(self, join: Join | None) -> None:
        known, self._join = self._join, join
        if join is None:
            return
        self.finish.note = repr(join.merge)
        if known is not None and known != join and self.parent is not None:
            note_change(self.parent, f"node {self.name} redefined ({_difference(known, join)})")

    @property
    def branches(self) -> tuple[Node, ...]:
        """The branches, in the order in which they were put in; results come in the same order."""
        return tuple(node for node in self.nodes.values() if node.kind not in ("start", "merge"))

    @property
    def edges(self) -> Edges:
        """From the start to each branch, and from there to the merge; each is the cell's that its branch is."""
        made = self._made
        if made is None:
            made = self._made = Edges(_edges(self))
        if self._has_cells:
            for edge in made:
                edge.cell = (edge.target if edge.source is self.start else edge.source).cell
        return made

    @edges.setter
    def edges(self, edges: Iterable[Edge]) -> None:
        """Other branches are there: the edges follow from them, whatever is given."""
        self._made = None

    def edge(self, *ends: Any, **options: Any) -> NoReturn:
        """A block has no other edges than its own.

        Raises:
            GraphError: Always, with what to write in place of it.
        """
        raise GraphError(
            f"The edges of the parallel block {self.path!r} follow from its branches, and no other can be added. "
            f"Nothing was changed. For a branch of several steps, put a subgraph in: branch = {self.name}.subgraph("
            "'name'), with edges from branch.start to branch.finish; a condition on what the merge gives stands on an "
            f"edge behind the block: {_around(self)}.edge({self.name}, ..., when=...)."
        )

    def remove(self, *what: Node | Edge | str) -> None:
        """Take branches out.

        Raises:
            GraphError: Not there, or it is no branch.
        """
        if any(isinstance(one, Edge) for one in what):
            raise GraphError(
                f"The edges of the parallel block {self.path!r} follow from its branches. Nothing was changed. Take a "
                f"branch out with {self.name}.remove('name')."
            )
        super().remove(*what)

    def _put(self, node: Node, replace: bool = False) -> Node:
        branch = super()._put(node, replace)
        self._made = None
        self._has_cells = self._has_cells or branch.cell is not None
        return branch

    def take_types(self, input: Any, output: Any) -> None:
        """Declare again what each branch takes and what the merge gives."""
        super().take_types(input, output)
        self.finish.input_type = Any


def join_of(merge: Any, on_error: OnError, name: str) -> Join:
    """The merge and the policy of a block.

    Raises:
        GraphError: One of them cannot be; the message names the block.
    """
    if on_error not in get_args(OnError):
        raise GraphError(
            f"on_error of the parallel block {name!r} is 'cancel' or 'collect', not {on_error!r:.60}."
        )
    try:
        return Join(merge=as_merge(merge), on_error=on_error)
    except GraphError as problem:
        problem.add_note(f"of the parallel block {name!r}")
        raise


def _edges(block: Parallel) -> Iterator[Edge]:
    for branch in block.branches:
        yield Edge(block.start, branch, place=branch.place)
        yield Edge(branch, block.finish, place=branch.place)


def _difference(known: Join, join: Join) -> str:
    changed = [
        f"{before} -> {now}"
        for before, now in (
            (repr(known.merge), repr(join.merge)),
            (f"on_error={known.on_error!r}", f"on_error={join.on_error!r}"),
        )
        if before != now
    ]
    return ", ".join(changed) or "its merge"


def _around(block: Subgraph) -> str:
    return "strategy" if block.parent is None else block.parent.name
