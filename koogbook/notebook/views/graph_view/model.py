"""What a graph view shows, as plain data."""

from __future__ import annotations

from msgspec import Struct

from koogbook.notebook.views.graph_view.record import NodeStatus
from koogbook.runtime.shape import FindingShape, NodeKind


class VisitRow(Struct, frozen=True, kw_only=True):
    """One visit of the selected node; ``left_by`` is the label of the edge that was taken, or its target."""

    visit: int
    status: NodeStatus
    seconds: float | None
    tokens_in: int | None
    tokens_out: int | None
    left_by: str


class EdgeRow(Struct, frozen=True, kw_only=True):
    """An edge and how often it was taken; ``live`` says that it led to what is running now."""

    source: str
    target: str
    target_name: str
    order: int
    label: str
    conditional: bool
    taken: int
    live: bool
    back: bool


class NodeRow(Struct, frozen=True, kw_only=True):
    """A node and what became of it; ``fact`` is the one thing worth knowing beside visits and time.

    ``head`` says what a subgraph has of its own, and of a parallel block that it is one; of a merge it says how.
    ``chosen`` is true of the branch whose output the merge has taken.
    """

    path: str
    name: str
    kind: NodeKind
    parent: str
    depth: int
    status: NodeStatus
    visits: int
    failures: int
    seconds: float
    fact: str
    types: str
    inside: int
    head: str = ""
    chosen: bool = False


class NodeDetail(Struct, frozen=True, kw_only=True):
    """All about the selected node."""

    path: str
    name: str
    kind: NodeKind
    status: NodeStatus
    place: str
    note: str
    details: tuple[str, ...]
    types: str
    figures: tuple[tuple[str, str], ...]
    visits: tuple[VisitRow, ...]
    output: str
    output_visit: int
    error: str
    edges: tuple[EdgeRow, ...]


class GraphState(Struct, frozen=True, kw_only=True):
    """A strategy with the states of its nodes; ``status`` is the sentence that stands above everything.

    ``earlier_runs`` counts the runs in the events that are not shown, ``folded`` are the paths of the subgraphs that
    are drawn as one box, ``changes`` is what was defined again since the last run. ``steady`` says that boxes have room
    for the figures of any moment, so that none of them moves while a run goes on.
    """

    name: str
    run: str
    status: str
    status_word: str
    nodes: tuple[NodeRow, ...]
    edges: tuple[EdgeRow, ...]
    findings: tuple[FindingShape, ...]
    selected: NodeDetail | None
    earlier_runs: int
    folded: frozenset[str] = frozenset()
    changes: tuple[str, ...] = ()
    steady: bool = False
