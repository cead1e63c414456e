"""Building a parallel block: a graph whose nodes are branches, between its start and its merge."""

from __future__ import annotations

from typing import Any

from koogbook.runtime.parallel_options import Join, OnError
from koogbook.runtime.subgraph import Subgraph


class Parallel(Subgraph):
    """A block of branches; made by ``graph.parallel(name, merge=...)``."""


def join_of(merge: Any, on_error: OnError, name: str) -> Join:
    """The merge and the policy of a block."""
    return Join(merge=merge, on_error=on_error)
