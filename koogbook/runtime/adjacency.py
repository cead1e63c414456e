"""The edges of a graph, in the order they were added, and at hand by the node that they leave."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    from koogbook.runtime.node import Edge, Node


class Edges(Sequence["Edge"]):
    """The edges of a graph as a sequence; adding, replacing and taking out one does not look at the others.

    Each edge has a number that grows: who takes the place of another one takes its number over.
    """

    __slots__ = ("_by_number", "_leaving", "_next", "_numbers")

    def __init__(self, edges: Iterable[Edge] = ()) -> None:
        self._by_number: dict[int, Edge] = {}
        self._numbers: dict[Edge, int] = {}
        self._leaving: dict[Node, list[Edge]] = {}
        self._next = 0
        for edge in edges:
            self.append(edge)

    def append(self, edge: Edge) -> bool:
        """Put an edge behind all others; whether it is the first one out of its node."""
        number = self._next
        self._next = number + 1
        self._numbers[edge] = number
        self._by_number[number] = edge
        leaving = self._leaving
        source = edge.source
        if source in leaving:
            leaving[source].append(edge)
            return False
        leaving[source] = [edge]
        return True

    def remove(self, edge: Edge) -> None:
        """Take an edge out.

        Raises:
            KeyError: It is not there.
        """
        number = self._numbers.pop(edge)
        del self._by_number[number]
        leaving = self._leaving[edge.source]
        leaving.remove(edge)
        if not leaving:
            del self._leaving[edge.source]

    def replace(self, known: Edge, edge: Edge) -> None:
        """Put an edge in the place of another one of the same source.

        Raises:
            KeyError: The other one is not there.
        """
        number = self._numbers.pop(known)
        self._numbers[edge] = number
        # A key that is there keeps its place among the others.
        self._by_number[number] = edge
        leaving = self._leaving[known.source]
        leaving[leaving.index(known)] = edge

    def leaving(self, node: Node) -> tuple[Edge, ...]:
        """The edges out of a node, as they were added."""
        return tuple(self._leaving.get(node, ()))

    def has_leaving(self, node: Node) -> bool:
        """Whether any edge leaves a node."""
        return node in self._leaving

    @property
    def by_source(self) -> Mapping[Node, Sequence[Edge]]:
        """The nodes that an edge leaves, each with its edges as they were added; to look at only."""
        return self._leaving

    def __contains__(self, edge: object) -> bool:
        return edge in self._numbers

    def __iter__(self) -> Iterator[Edge]:
        return iter(self._by_number.values())

    def __len__(self) -> int:
        return len(self._by_number)

    @overload
    def __getitem__(self, at: int) -> Edge: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Edge]: ...
    def __getitem__(self, at: int | slice) -> Edge | Sequence[Edge]:
        return list(self._by_number.values())[at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Edges | list | tuple) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self._by_number.values()))


def in_order(edges: Sequence[Edge]) -> Sequence[Edge]:
    """The edges out of one node in the order they are tried: conditional ones as added, then its *else*."""
    if len(edges) < 2:
        return edges
    return [edge for edge in edges if edge.conditional] + [edge for edge in edges if not edge.conditional]
