"""The edges of a graph by number and by source are the same edges."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import koogbook as kb
from koogbook.runtime.adjacency import Edges
from koogbook.runtime.node import Edge


async def _same(ctx: Any, value: Any) -> Any:
    return value


_GRAPH = kb.strategy("s")
_NODES = [_GRAPH.node(_same, name=name) for name in "abc"]

_Change = tuple[str, int, int]


@given(
    st.lists(
        st.tuples(st.sampled_from(["append", "remove", "replace"]), st.integers(0, 9), st.integers(0, 2))
    )
)
def test_edges_are_a_list_whatever_is_done_to_them(changes: list[_Change]) -> None:
    """One that takes the place of another stands where that stood, among all and among those of its source [GRA-12]."""
    edges, plain = Edges(), list[Edge]()
    for what, place, source in changes:
        if what == "append" or not plain:
            edge = Edge(_NODES[source], _NODES[0])
            edges.append(edge)
            plain.append(edge)
            continue
        place %= len(plain)
        known = plain[place]
        if what == "remove":
            edges.remove(known)
            plain.remove(known)
        else:
            plain[place] = Edge(known.source, _NODES[1])
            edges.replace(known, plain[place])

    assert edges == plain
    assert (len(edges), list(edges), [edge in edges for edge in plain]) == (
        len(plain),
        plain,
        [True] * len(plain),
    )
    for node in _NODES:
        assert edges.leaving(node) == tuple(edge for edge in plain if edge.source is node)
        assert edges.has_leaving(node) == any(edge.source is node for edge in plain)


def test_an_edge_that_is_not_there_is_not_taken_out() -> None:
    """As of a dictionary."""
    with pytest.raises(KeyError):
        Edges().remove(Edge(_NODES[0], _NODES[1]))
