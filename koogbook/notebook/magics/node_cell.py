"""``%%koog_node``: the async function of a cell becomes a node of a strategy."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import koogbook as kb
from koogbook.code_place import Notebook
from koogbook.errors import RedefinitionError
from koogbook.notebook import frame
from koogbook.notebook.magics.current import Current
from koogbook.notebook.magics.graph_parts import edge_options, graph_of, sources_of
from koogbook.notebook.magics.parsing import Given
from koogbook.notebook.magics.wrong_use import WrongUse
from koogbook.runtime.builder import Subgraph
from koogbook.runtime.node import Node


class NodeCell:
    """One run of a ``%%koog_node`` cell: made from its line, finished after its body has run.

    Everything that can be wrong with the line is found before the body runs.
    """

    def __init__(self, current: Current, given: Given, function: str) -> None:
        self._code = current.code
        self._function = function
        self._name = given.text("--name") or function
        self._note = given.text("--note") or ""
        self._replace = given.switch("--replace")
        self._thread = given.switch("--thread")
        self._graph: Subgraph = graph_of(current, given)
        self._sources = sources_of(self._graph, given.texts("--after"))
        self._options = edge_options(current.code, given)
        if self._options and not self._sources:
            raise WrongUse(
                f"{', '.join(f'--{name}' for name in self._options)} belongs to an edge, and there is none.",
                "Add --after NODE",
            )
        self._with_graph = not given.switch("--no-graph")
        self._before = current.code.held(function)

    def finish(self, notebook: Notebook) -> None:
        """Make the node and its edges, and show the graph.

        Raises:
            WrongUse: The name holds a node already, or no function.
            GraphError: The function cannot be a node. The name then holds what it held before.
        """
        try:
            made = self._make(notebook)
        except Exception:
            self.abandon()
            raise
        self._code.assign(self._function, made)
        for source in self._sources:
            self._graph.edge(source, made, **self._options)
        if self._with_graph:
            frame.show(kb.graph(self._graph.root))

    def abandon(self) -> None:
        """The cell has failed: where its body has put a bare function in place of a node, the node is back."""
        if isinstance(self._before, Node):
            self._code.assign(self._function, self._before)

    def _make(self, notebook: Notebook) -> Node:
        function: Any = self._code.held(self._function)
        if isinstance(function, Node):
            raise WrongUse(
                f"{self._function} is a node already, by @{function.graph.name}.node above the function.",
                "Drop one of both: the decorator, or %%koog_node.",
            )
        try:
            add: Any = self._graph.node
            made: Node = add(name=self._name, note=self._note, replace=self._replace, thread=self._thread)(
                function
            )
        except RedefinitionError as problem:
            raise WrongUse(
                str(problem), "Here that is --replace." if self._graph.redefine else ""
            ) from problem
        if isinstance(function, FunctionType):
            code = function.__code__
            named = notebook.file_name(code.co_filename)
            made.place = made.place if named is None else f"{named}:{code.co_firstlineno}"
        return made
