"""What an agent takes for the number of node runs."""

from __future__ import annotations

from typing import Any

import pytest

import koogbook as kb
from koogbook.errors import GraphError


@pytest.mark.parametrize("given", [True, False, 0, -1, 1.0, "9", None])
def test_the_number_of_node_runs_is_a_whole_number_from_one_on(given: Any) -> None:
    """``True`` would be one node run, and was meant as something else [AGT-01]."""
    trip = kb.strategy("trip")
    trip.start >> trip.finish

    with pytest.raises(GraphError, match=rf"max_iterations counts .* got {given!r}"):
        kb.Agent(kb.OfflineExecutor(), "offline", trip, max_iterations=given)
