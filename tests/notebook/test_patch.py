"""What is sent to the front end when a view changes."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from live_trees import TREES, applied

from koogbook.notebook.widgets.patch import changes


def rows(count: int, picked: int | None = None) -> list[Any]:
    """A list of many rows, one of them picked."""
    return [
        "ul",
        {},
        [["li", {"class": "picked" if at == picked else ""}, [f"row {at}"]] for at in range(count)],
    ]


@given(TREES, TREES)
def test_the_changes_make_the_one_tree_into_the_other(before: Any, after: Any) -> None:
    """Whatever was shown and whatever comes, the changes lead from the one to the other. [KB-138]"""
    assert applied(deepcopy(before), changes(before, after)) == after


@given(TREES)
def test_a_tree_that_is_as_it_was_needs_no_change(tree: Any) -> None:
    """Nothing is sent when nothing has changed."""
    assert changes(tree, deepcopy(tree)) == []


@given(st.integers(0, 400), st.integers(0, 399))
def test_an_update_costs_the_same_at_row_five_and_at_row_four_hundred(count: int, picked: int) -> None:
    """What is sent does not grow with what is shown. [KB-138]"""
    sent = json.dumps(changes(rows(count), rows(count, picked)))

    assert len(sent) < 120


def test_a_row_that_is_added_is_sent_alone() -> None:
    """A list that grows by one row is not sent anew. [KB-138]"""
    assert changes(rows(500), rows(501)) == [[[], "s", 500, 0, [["li", {"class": ""}, ["row 500"]]]]]


def test_a_row_that_is_taken_out_of_the_middle_moves_the_others() -> None:
    """The rows behind it stay what they are."""
    fewer = rows(10)
    del fewer[2][4]

    assert changes(rows(10), fewer) == [[[], "s", 4, 1, []]]
