"""A run out of its trace: everything that can be seen of it, and nothing that goes on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from msgspec import Struct

from koogbook.agents.run import LastCheckpoint, Run, RunState
from koogbook.errors import TraceError
from koogbook.events import (
    BranchStarting,
    CheckpointSaved,
    Event,
    NodeStarting,
    Notice,
    RunCompleted,
    RunFailed,
    RunStarting,
    StrategyStarting,
    TombstoneSaved,
)
from koogbook.llm.call_record import CallRecord, calls_of
from koogbook.llm.usage import PurposeUsage, usage_by_purpose
from koogbook.messages.prompt import Prompt
from koogbook.runtime.shape import GraphShape, NodeKind, NodeShape
from koogbook.trace import load_trace

Kind = TypeVar("Kind", bound=Event)


class RecordedError(Exception):
    """The exception that ended a recorded run, as its trace has it: its class and its text, and no traceback."""


class TracedNode(Struct, frozen=True):
    """A node of a recorded strategy; ``counts`` says that it counted against the limit of iterations."""

    shape: NodeShape

    @property
    def path(self) -> str:
        """Where it is: ``strategy/subgraph/node``."""
        return self.shape.path

    @property
    def counts(self) -> bool:
        """Start, finish and what encloses others do not."""
        return self.shape.kind in ("node", "compress")


class TracedStrategy(Struct, frozen=True):
    """A strategy as a run had it, without its functions: its shape, or ``nodes`` that ran and why there is no shape."""

    name: str
    found: GraphShape | None
    nodes: tuple[NodeShape, ...] = ()
    missing: str = ""

    @property
    def shape(self) -> GraphShape:
        """The nodes and edges as the run had them.

        Raises:
            TraceError: They are not in its trace.
        """
        if self.found is None:
            raise TraceError(f"{self.missing} With the strategy itself: kb.graph(strategy, path).")
        return self.found

    @property
    def graph(self) -> TracedStrategy:
        """Itself: all nodes are here."""
        return self

    def all_nodes(self) -> Iterator[TracedNode]:
        """Every node, those of subgraphs included; those that ran, where the shape is not in the trace."""
        return map(TracedNode, self.nodes if self.found is None else self.found.nodes)


class TracedRun(Run):
    """A run as its events tell of it; made by :func:`load_run` and :func:`run_of`.

    It has what a run has, but for ``prompt`` and ``storage``, which no trace holds. ``state`` is ``running`` where the
    trace ends before the run did.

    Raises:
        TraceError: On asking for what its trace does not hold.
    """

    __slots__ = ("_calls", "_events", "_strategy")

    def __init__(self, events: Iterable[Event]) -> None:
        self._events = tuple(events)
        self._calls: tuple[CallRecord, ...] | None = None
        self._strategy: TracedStrategy | None = None
        begun, completed, failed = self._last(RunStarting), self._last(RunCompleted), self._last(RunFailed)
        self.installed = () if begun is None else begun.features
        self.output = None if completed is None else completed.output
        self.error = None if failed is None else RecordedError(failed.error)

    def _last(self, kind: type[Kind]) -> Kind | None:
        return next((event for event in reversed(self._events) if isinstance(event, kind)), None)

    @property
    def run_id(self) -> str:
        """The call of ``agent.run``."""
        return self._events[0].run_id

    @property
    def session_id(self) -> str:
        """The conversation."""
        return self._events[0].session_id

    @property
    def agent_id(self) -> str:
        """The agent; empty where the trace does not begin with the run."""
        begun = self._last(RunStarting)
        return "" if begun is None else begun.agent_id

    @property
    def strategy(self) -> TracedStrategy:
        """The shape of the strategy that ran."""
        if self._strategy is None:
            started, begun = self._last(StrategyStarting), self._last(RunStarting)
            name = "" if begun is None else begun.strategy
            if started is not None and isinstance(started.graph, GraphShape):
                self._strategy = TracedStrategy(started.strategy, started.graph)
            elif nodes := _nodes_that_ran(self._events):
                missing = f"The graph of run {self.run_id} is not in its trace"
                if started is not None:
                    why = "as it is in none of version 1"
                elif isinstance(self._events[0], RunStarting):
                    why = "since the event that holds it, StrategyStarting, was lost or not written"
                else:
                    why = "which begins later than the run: the event that holds it, StrategyStarting, is not there"
                self._strategy = TracedStrategy(name, None, nodes, f"{missing}, {why}.")
            else:
                self._strategy = TracedStrategy(name, GraphShape(name=name, nodes=(), edges=()))
        return self._strategy

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything that happened, in order, as far as the trace goes."""
        return self._events

    @property
    def prompt(self) -> Prompt:
        """No trace holds it."""
        self._refuse("prompt", "What the model saw last: run.calls[-1].request.messages.")

    @property
    def storage(self) -> Any:
        """No trace holds it."""
        self._refuse("storage", "What a node gave is in the output of its event.")

    def _refuse(self, what: str, instead: str) -> NoReturn:
        raise TraceError(f"The {what} of run {self.run_id} is in no trace. {instead}")

    @property
    def acted(self) -> tuple[str, ...]:
        """The installed features that changed or kept something, in the order they first did."""
        ended = self._last(RunCompleted) or self._last(RunFailed)
        return () if ended is None else ended.acted

    @property
    def state(self) -> RunState:
        """How far the trace goes, or how the run ended."""
        failed = self._last(RunFailed)
        if failed is not None:
            return "cancelled" if failed.cancelled else "failed"
        return "running" if self._last(RunCompleted) is None else "completed"

    @property
    def iterations(self) -> int:
        """Node runs so far, those before a resume included."""
        last = self._last(NodeStarting)
        return 0 if last is None else last.iteration

    @property
    def calls(self) -> tuple[CallRecord, ...]:
        """The requests to the model, as they went out, with their answers."""
        if self._calls is None:
            self._calls = calls_of(self._events)
        return self._calls

    @property
    def usage(self) -> tuple[PurposeUsage, ...]:
        """Calls, tokens and cost, for each purpose apart."""
        return usage_by_purpose(self.calls)

    @property
    def last_checkpoint(self) -> LastCheckpoint | None:
        """What was really saved last, tombstones included; None when nothing was."""
        for event in reversed(self._events):
            if isinstance(event, CheckpointSaved):
                return LastCheckpoint(event.checkpoint, event.version, event.path, event.left_out)
            if isinstance(event, TombstoneSaved):
                return LastCheckpoint(event.checkpoint, event.version, event.path)
        return None

    def notice(self, kind: str, text: str) -> None:
        """Add something that was noticed now to the events, at their end; the file stays as it is."""
        last = self._events[-1]
        noticed = Notice(
            time=last.time,
            at=last.at,
            run_id=last.run_id,
            session_id=last.session_id,
            kind=kind,
            text=text,
        )
        self._events = (*self._events, noticed)

    def __repr__(self) -> str:
        return f"<run {self.run_id} of session {self.session_id!r}, {self.state}, {len(self._events)} events, traced>"


def _nodes_that_ran(events: Iterable[Event]) -> tuple[NodeShape, ...]:
    """The nodes that events are of, as far as those tell what they are: with their paths, and in no graph."""
    paths = list(dict.fromkeys(event.path for event in events if isinstance(event, NodeStarting)))
    enclosing = {event.parent for event in events}
    blocks = {event.parent for event in events if isinstance(event, BranchStarting)}
    nodes = []
    for path in paths:
        parent, _, name = path.rpartition("/")
        kind: NodeKind = "node"
        if path in enclosing:
            kind = "parallel" if path in blocks else "subgraph"
        elif name in ("start", "finish"):
            kind = "start" if name == "start" else "finish"
        elif name == "merge" and parent in blocks:
            kind = "merge"
        nodes.append(NodeShape(path=path, name=name, kind=kind))
    return tuple(nodes)


def load_run(path: str | Path, run_id: str | None = None) -> TracedRun:
    """The run of a trace file, to look at: ``report()``, ``calls``, ``usage``, and as what a view is of.

    Args:
        path: The file.
        run_id: Which run, where it holds several.

    Raises:
        TypeError: The path is none.
        TraceError: The file is no trace, or holds no run, several, or none of this id; the message lists them.
    """
    return run_of(load_trace(path), run_id)


def run_of(events: Iterable[Event], run_id: str | None = None) -> TracedRun:
    """The run that events are of, or one of several.

    Raises:
        TraceError: They are of no run, of several, or of none of this id; the message lists those there are.
    """
    events = tuple(events)
    runs = dict.fromkeys(event.run_id for event in events if event.run_id)
    if run_id is not None and run_id not in runs:
        raise TraceError(f"There is no run {run_id!r:.60} in these events. {_listed(runs)}")
    if run_id is None and len(runs) != 1:
        what = "These events are of no run." if not runs else f"These events are of {len(runs)} runs."
        raise TraceError(f"{what} {_listed(runs)}")
    wanted = next(iter(runs)) if run_id is None else run_id
    return TracedRun(event for event in events if event.run_id == wanted)


def _listed(runs: Iterable[str]) -> str:
    ids = list(runs)
    if not ids:
        return "kb.save_trace(run, path) writes those of a run."
    more = f" and {len(ids) - 12} more" if len(ids) > 12 else ""
    return f"There is {', '.join(ids[:12])}{more}. Say which: run_id={ids[-1]!r}."
