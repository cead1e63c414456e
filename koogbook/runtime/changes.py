"""What was changed about a strategy, in words: each graph has its own lines, and those of the graphs in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from koogbook.runtime.subgraph import Subgraph


def note_change(graph: Subgraph, text: str) -> None:
    """Note a change, in a graph and in those around it."""
    for one, line in _lines(graph, text):
        one.changes.append(line)


def take_back(graph: Subgraph, text: str) -> None:
    """Undo the newest note of a change, in a graph and in those around it."""
    for one, line in _lines(graph, text) if text else ():
        if line in one.changes:
            at = len(one.changes) - 1 - one.changes[::-1].index(line)
            del one.changes[at]
            one.told -= at < one.told


def _lines(graph: Subgraph, text: str) -> Iterator[tuple[Subgraph, str]]:
    yield graph, text
    outer = graph.parent
    while outer is not None:
        yield outer, f"in {graph.path}: {text}"
        outer = outer.parent
