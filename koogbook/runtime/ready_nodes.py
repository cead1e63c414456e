"""Ready nodes: what nearly every strategy does, as methods that add a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from koogbook.code_place import calling_place
from koogbook.runtime.node import Node
from koogbook.runtime.ready import compress_function, compress_note

if TYPE_CHECKING:
    from koogbook.runtime.subgraph import Subgraph


class ReadyNodes:
    """The ready nodes of a graph (Koog's predefined nodes); each method adds one and gives it."""

    def _put(self, node: Node, replace: bool = False) -> Node:
        raise NotImplementedError

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
                self._graph,
                kind="compress",
                place=calling_place(),
                note=compress_note(strategy),
            ),
            replace,
        )

    @property
    def _graph(self) -> Subgraph:
        raise NotImplementedError
