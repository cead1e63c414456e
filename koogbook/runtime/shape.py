"""A strategy as plain data: what views, exports and fingerprints are made from."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

#: A ``parallel`` block holds a start, its branches, and a ``merge`` in the place of the finish node.
NodeKind = Literal["start", "finish", "node", "compress", "subgraph", "parallel", "merge"]


class NodeShape(Struct, frozen=True, kw_only=True, gc=False):
    """A node: its path (``strategy/subgraph/node``), kind, types in words, and the place that defined it.

    ``thread`` says that it blocks and runs in a thread. ``details`` are what a subgraph has of its own and how a
    parallel block becomes one, in words: ``("model fast", "history fresh")``.
    """

    path: str
    name: str
    kind: NodeKind
    input_type: str = "Any"
    output_type: str = "Any"
    place: str = ""
    note: str = ""
    thread: bool = False
    details: tuple[str, ...] = ()


class EdgeShape(Struct, frozen=True, kw_only=True, gc=False):
    """An edge between two paths of one graph; ``order`` is its place among the edges of its source."""

    source: str
    target: str
    order: int
    conditional: bool
    label: str = ""
    mapped: bool = False


class FindingShape(Struct, frozen=True, kw_only=True, gc=False):
    """Something that the check of a strategy found; ``remedy`` is what to do about it.

    ``edge`` are the names of the ends of the edge it is about, or should be (``a >> b``); ``line`` is one to paste,
    empty where no line mends it.
    """

    level: Literal["error", "warning"]
    kind: str
    path: str
    text: str
    remedy: str
    edge: str = ""
    line: str = ""


class GraphShape(Struct, frozen=True, kw_only=True):
    """A strategy with all its nodes and edges, subgraphs included, in the order of their definition.

    The nodes of a subgraph stand in the same lists; their paths begin with the path of the subgraph. ``version`` is the
    strategy's own.
    """

    name: str
    nodes: tuple[NodeShape, ...]
    edges: tuple[EdgeShape, ...]
    findings: tuple[FindingShape, ...] = ()
    version: str = "1"
