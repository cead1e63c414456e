"""What happens in the graph: subgraphs, branches, nodes, and the edges by which they are left."""

from __future__ import annotations

from typing import Any

from koogbook.events.event import Event


class SubgraphStarting(Event, frozen=True, kw_only=True):
    """A subgraph starts (Koog's SubgraphExecutionStarting)."""


class SubgraphCompleted(Event, frozen=True, kw_only=True):
    """A subgraph reached its finish node (Koog's SubgraphExecutionCompleted)."""


class SubgraphFailed(Event, frozen=True, kw_only=True):
    """A subgraph ended with an exception or was cancelled (Koog's SubgraphExecutionFailed)."""

    error: str
    cancelled: bool = False


class BranchStarting(Event, frozen=True, kw_only=True):
    """A branch of a parallel block starts, on its own copy of the context; ``order`` is its place, from 0."""

    order: int


class BranchCompleted(Event, frozen=True, kw_only=True):
    """A branch gave its output."""

    order: int
    seconds: float


class BranchFailed(Event, frozen=True, kw_only=True):
    """A branch raised, or was cancelled: by the failure of another one, or with the whole run."""

    order: int
    seconds: float
    error: str
    cancelled: bool = False


class BranchesMerged(Event, frozen=True, kw_only=True):
    """The outputs of the branches became one, and the run goes on with one context.

    ``merge`` says how (``fold``, ``select_by_max``, ...), ``history`` and ``storage`` by which policies, ``winner`` is
    the name of the branch that was chosen, empty where there is none. ``failed`` are the branches that failed and were
    left out, ``thrown_away`` says of each branch what of its writes did not get into the context that goes on.
    """

    merge: str
    history: str
    storage: str
    winner: str = ""
    failed: tuple[str, ...] = ()
    thrown_away: tuple[str, ...] = ()


class NodeStarting(Event, frozen=True, kw_only=True):
    """A node starts, start and finish included (Koog's NodeExecutionStarting); ``visit`` counts from 1 in the run."""

    visit: int
    iteration: int
    input: Any = None


class NodeCompleted(Event, frozen=True, kw_only=True):
    """A node returned (Koog's NodeExecutionCompleted)."""

    visit: int
    seconds: float
    output: Any = None


class NodeFailed(Event, frozen=True, kw_only=True):
    """A node raised or was cancelled (Koog's NodeExecutionFailed)."""

    visit: int
    seconds: float
    error: str
    cancelled: bool = False


class EdgeTaken(Event, frozen=True, kw_only=True):
    """The edge by which a node was left: ``order`` is its place in the order in which they are tried."""

    target: str
    order: int
    label: str = ""
