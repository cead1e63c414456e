"""The graph view as an object: what it is of, and what can be done in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from koogbook import clock
from koogbook.agents.traced_run import TracedStrategy
from koogbook.errors import ViewError
from koogbook.events import Event, NodeCompleted, NodeFailed, NodeStarting
from koogbook.notebook.views.graph_view.model import GraphState
from koogbook.notebook.views.graph_view.state import graph_state
from koogbook.notebook.views.graph_view.view import graph_element, graph_text
from koogbook.notebook.views.look.markup import Element
from koogbook.notebook.views.recorded import as_view_error, is_going_on, no_such_file, recorded
from koogbook.notebook.views.view import Action, View, run_behind
from koogbook.runtime.shape import GraphShape


class SelectedNode(Struct, frozen=True, kw_only=True):
    """The node that is selected: the node itself, and the objects that went through it in the run that is shown.

    ``visits`` counts from 1; ``last_input`` and ``last_output`` are None where there was none, ``error`` is empty.
    """

    path: str
    node: Any
    visits: int
    last_input: Any = None
    last_output: Any = None
    error: str = ""


class GraphView(View[GraphState]):
    """A strategy as a graph, or a run of it with what happened in each node; made by ``kb.graph``."""

    title = "Strategy graph"
    shares = "nodes"
    exports = " For the graph as a picture or a text: kb.export_graph(run, 'graph.svg')."

    def __init__(self, of: Any, run: Any = None, *, selected: str | None = None) -> None:
        strategy = getattr(of, "strategy", of)
        self._strategy = strategy
        self._run = of if hasattr(of, "events") else run
        self._toggled: frozenset[str] = frozenset()
        #: The strategy as it was when it was looked at last: to check a large one takes time.
        self._seen: GraphShape | None = None
        super().__init__(of if run is None else run)
        if selected is not None:
            self.select(self._path(selected))

    def look(self) -> GraphState:
        """The state of the strategy after what happened so far."""
        self._seen = None
        return graph_state(
            self._shape(),
            self._events(),
            selected=self._known_selection(),
            toggled=self._toggled,
            now=clock.glance() if self.goes_on else None,
            changes=getattr(self._strategy, "changes_since_run", ()),
        )

    def to_text(self) -> str:
        """ASCII text of at most 100 columns."""
        return graph_text(self.state)

    @property
    def element(self) -> Element:
        """The markup, for a page."""
        return graph_element(self.state)

    @property
    def goes_on(self) -> bool:
        """While the run does."""
        return is_going_on(self._run)

    @property
    def selected(self) -> SelectedNode | None:
        """The selected node with its last input and output, or None."""
        path = self._known_selection()
        if path is None:
            return None
        events = [event for event in self._events() if event.path == path]
        begun = [event for event in events if isinstance(event, NodeStarting)]
        ended = [event for event in events if isinstance(event, NodeCompleted)]
        failed = [event for event in events if isinstance(event, NodeFailed)]
        return SelectedNode(
            path=path,
            node=_node_at(self._strategy, path),
            visits=len(begun),
            last_input=begun[-1].input if begun else None,
            last_output=ended[-1].output if ended else None,
            error=failed[-1].error if failed else "",
        )

    def actions(self) -> Mapping[str, Action]:
        """Select a node by its path, let go of it, fold a subgraph or open it, find a node by a part of its name."""
        return {"select": self._select, "back": self._back, "fold": self._fold, "find": self._find_node}

    def _select(self, value: str) -> None:
        path = self._path(value)
        self.select("" if path == self._subject.selected else path)

    def _back(self, value: str) -> None:
        self.select("")

    def _fold(self, value: str) -> None:
        path = self._path(value)
        self._toggled ^= {path}

    def _find_node(self, value: str) -> None:
        wanted = value.strip().casefold()
        found = [node.path for node in self._shape().nodes if wanted in node.path.casefold()]
        self.select(found[0] if wanted and found else "")
        if wanted and not found:
            raise ViewError(f"No node has {value.strip()!r} in its path.")

    def _shape(self) -> GraphShape:
        if self._seen is None:
            shape = self._strategy.shape
            self._seen = shape() if callable(shape) else shape
        return self._seen

    def refresh(self) -> None:
        """Look again, at the strategy as it is now."""
        self._seen = None
        super().refresh()

    def _events(self) -> Sequence[Event]:
        events: Sequence[Event] = self._run.events if self._run is not None else ()
        return events

    def _path(self, given: str) -> str:
        """The whole path of a node that may be given without the strategy's name.

        Raises:
            ViewError: There is none; the message lists those there are.
        """
        shape = self._shape()
        paths = {node.path for node in shape.nodes}
        for path in (given, f"{shape.name}/{given}"):
            if path in paths:
                return path
        names = ", ".join(node.path.removeprefix(f"{shape.name}/") for node in shape.nodes[:20])
        raise ViewError(f"There is no node {given!r} in {shape.name!r}. It has: {names}.")

    def _known_selection(self) -> str | None:
        """What is selected, if it is still there: a cell may have taken the node out."""
        selected = self._subject.selected
        return selected if any(node.path == selected for node in self._shape().nodes) else None


def graph(
    strategy: Any, run: Any = None, *, selected: str | None = None, run_id: str | None = None
) -> GraphView:
    """The graph of a strategy, or of a run with what happened in it.

    Args:
        strategy: A strategy, a run, or an agent; or the events of a run, or the path of a trace file.
        run: A run of that strategy, its events, or the path of its trace.
        selected: Name or path of the node to show in detail.
        run_id: Which run of a trace that holds several.

    Raises:
        TypeError: It is none of these.
        TraceError: The file is not there, is no trace, or cannot be read.
        ViewError: There is no such node or run, or the trace does not hold the graph.
    """
    if run is None:
        of = run_behind(recorded(strategy, run_id))
    else:
        of, run = run_behind(strategy), run_behind(recorded(run, run_id))
    with as_view_error():
        shape = getattr(getattr(of, "strategy", of), "shape", None)
    if shape is None:
        raise TypeError(
            f"graph takes a strategy, a run or an agent, not {strategy!r:.60}. A recorded run is given by its events, "
            f"or by the path of its trace.{no_such_file(strategy)}"
        )
    return GraphView(of, run, selected=selected)


def _node_at(strategy: Any, path: str) -> Any:
    """The node of a strategy, or of the compiled one of a run, at a path; of a recorded one, its shape."""
    if isinstance(strategy, TracedStrategy):
        return next(node.shape for node in strategy.all_nodes() if node.path == path)
    graph, node = getattr(strategy, "graph", strategy), None
    for name in path.split("/")[1:]:
        node = graph.nodes[name]
        graph = node.subgraph
    return node
