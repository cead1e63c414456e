"""What the groups of methods that make up a graph need of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from koogbook.code_place import calling_place
from koogbook.runtime.node import Node, NodeFunction
from koogbook.runtime.shape import NodeKind

if TYPE_CHECKING:
    from koogbook.runtime.subgraph import Subgraph


class GraphMethods:
    """A group of methods of :class:`~koogbook.runtime.subgraph.Subgraph`, which has all groups."""

    if TYPE_CHECKING:

        @property
        def _graph(self) -> Subgraph: ...

        def _put(self, node: Node, replace: bool = False) -> Node: ...

    def _ready(
        self,
        name: str,
        function: NodeFunction,
        *,
        replace: bool,
        kind: NodeKind = "node",
        note: str = "",
        input: Any = Any,
        output: Any = Any,
    ) -> Node:
        return self._put(
            Node(
                name,
                function,
                self._graph,
                kind=kind,
                input_type=input,
                output_type=output,
                place=calling_place(),
                note=note,
                ready=True,
            ),
            replace,
        )
