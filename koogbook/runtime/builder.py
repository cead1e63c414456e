"""Building a strategy: the root graph of an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from koogbook.code_place import defining_cell
from koogbook.runtime.cells import touched
from koogbook.runtime.shape import FindingShape, GraphShape
from koogbook.runtime.subgraph import In, Out
from koogbook.runtime.subgraph import Subgraph as Subgraph

if TYPE_CHECKING:
    import networkx

A = TypeVar("A")
B = TypeVar("B")


class Strategy(Subgraph[In, Out]):
    """A whole strategy: the root graph of an agent (Koog's ``AIAgentGraphStrategy``). Made by :func:`strategy`."""

    def __init__(self, name: str, *, input: Any, output: Any, version: str, redefine: bool) -> None:
        super().__init__(name, input=input, output=output, redefine=redefine)
        self.version = version
        self.cell = defining_cell()
        touched(self, self.cell)

    def check(self) -> tuple[FindingShape, ...]:
        """What is wrong or odd about the graph, errors first; empty when it can run."""
        from koogbook.runtime.checking.checks import check

        return check(self)

    def shape(self) -> GraphShape:
        """The strategy as plain data, findings included."""
        from koogbook.runtime.checking.checks import check
        from koogbook.runtime.compiled import CompiledStrategy

        return CompiledStrategy(self, check(self)).shape

    @property
    def changes_since_run(self) -> tuple[str, ...]:
        """What was changed since the last run began, each once; nothing before the first one."""
        return tuple(dict.fromkeys(self.changes[self.told :])) if self.was_run else ()

    def take_untold_changes(self) -> tuple[str, ...]:
        """The changes since the last call, each once: what a run tells of the strategy before it starts."""
        self.was_run = True
        untold = self.changes_since_run
        self.told = len(self.changes)
        return untold

    def to_mermaid(self) -> str:
        """The graph as Mermaid text; same strategy, same text, as of all these forms."""
        from koogbook.runtime.export.mermaid import to_mermaid

        return to_mermaid(self.shape())

    def to_dot(self) -> str:
        """The graph in the language of Graphviz; nothing of that is needed to write it."""
        from koogbook.runtime.export.dot import to_dot

        return to_dot(self.shape())

    def to_networkx(self) -> networkx.MultiDiGraph[Any]:
        """The graph as a networkx graph, with the fields of nodes and edges as attributes."""
        from koogbook.runtime.export.multigraph import to_networkx

        return to_networkx(self.shape())

    def to_json(self) -> str:
        """The graph as JSON, which :func:`koogbook.runtime.export.document.graph_from_json` reads back."""
        from koogbook.runtime.export.document import to_json

        return to_json(self.shape())

    def __repr__(self) -> str:
        return f"<strategy {self.name!r}: {len(self.nodes) - 2} nodes, {len(self.edges)} edges>"


@overload
def strategy(
    name: str, *, input: type[A], output: type[B], version: str = "1", redefine: bool = True
) -> Strategy[A, B]: ...
@overload
def strategy(
    name: str, *, input: Any = Any, output: Any = Any, version: str = "1", redefine: bool = True
) -> Strategy: ...
def strategy(
    name: str, *, input: Any = Any, output: Any = Any, version: str = "1", redefine: bool = True
) -> Strategy:
    """A new strategy with typed input and output (Koog's ``strategy<Input, Output>(name)``).

    ``version`` is the strategy's own, kept in checkpoints. With ``redefine=False`` a name that is taken raises.

    Raises:
        GraphError: The name is empty or holds a ``/``.
    """
    return Strategy(name, input=input, output=output, version=version, redefine=redefine)
