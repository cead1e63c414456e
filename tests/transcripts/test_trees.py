"""The line of a conversation that is a tree, and the branches that leave it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from koogbook.errors import TranscriptError
from koogbook.transcripts.trees import Branch, Node, last_leaf, line_to


def tree(**parents: str | None) -> list[Node]:
    """Nodes with these parents, in this order."""
    return [Node(own, parent) for own, parent in parents.items()]


FORKED = tree(a=None, b="a", c="b", d="a", e="d")


def test_the_line_leads_from_the_root_to_the_end() -> None:
    """Whatever leaves it on the way is no part of it [KB-157]."""
    assert line_to(FORKED, "e").ids == ("a", "d", "e")


def test_a_branch_has_its_nodes_and_the_node_it_leaves() -> None:
    """A reader is told how much it does not see [KB-157]."""
    assert line_to(FORKED, "e").branches == (Branch(("b", "c"), "a"),)


def test_a_branch_of_a_branch_leaves_the_branch() -> None:
    """No node is counted twice."""
    line = line_to(tree(a=None, b="a", c="b", d="b", e="a"), "e")

    assert line.branches == (Branch(("b", "c"), "a"), Branch(("d",), "b"))


def test_a_second_root_begins_a_branch_without_a_fork() -> None:
    """Two conversations may lie in one file."""
    assert line_to(tree(a=None, b="a", x=None, y="x"), "b").branches == (Branch(("x", "y"), None),)


def test_the_line_may_end_inside_the_tree() -> None:
    """What follows its end is a branch that leaves there."""
    assert line_to(FORKED, "b").branches == (Branch(("c",), "b"), Branch(("d", "e"), "a"))


def test_a_parent_that_is_not_there_is_named_by_its_child() -> None:
    """The child counts as a root."""
    line = line_to(tree(b="a", c="b"), "c")

    assert (line.ids, line.missing) == (("b", "c"), ("b",))


@pytest.mark.parametrize(
    "parents",
    [
        {"a": "b", "b": "a"},
        {"a": "a"},
        {"a": None, "x": "y", "y": "x"},
        {"a": None, "x": "y", "y": "x", "z": "y"},
    ],
    ids=["whole", "itself", "beside", "with a tail"],
)
def test_a_circle_of_parents_is_an_error(parents: dict[str, str | None]) -> None:
    """Anywhere in the tree; a walk along it would not end [KB-157]."""
    with pytest.raises(
        TranscriptError, match=r"parents of each other in a circle: .* <- .*Nothing was loaded"
    ):
        line_to(tree(**parents), "a")


def test_an_end_that_is_not_there_is_an_error() -> None:
    """The message names what there is."""
    with pytest.raises(TranscriptError, match=r"no node 'z' among 5.*a, b, c"):
        line_to(FORKED, "z")


def test_of_two_nodes_with_one_id_the_first_counts() -> None:
    """Logs repeat entries where a session is resumed."""
    assert line_to([*FORKED, Node("e", "c")], "e").ids == ("a", "d", "e")


def test_a_line_of_many_nodes_is_walked() -> None:
    """Depth is no matter of the interpreter's stack."""
    nodes = [Node(str(at), str(at - 1) if at else None) for at in range(20_000)]

    assert len(line_to(nodes, "19999").ids) == 20_000


def test_the_last_leaf_is_the_last_node_without_children() -> None:
    """A log ends where it was written last [KB-157]."""
    assert (last_leaf(FORKED), last_leaf([])) == ("e", None)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=30), st.integers(0, 29))
def test_every_node_is_on_the_line_or_on_one_branch(steps: list[int], end: int) -> None:
    """Nothing is counted twice, and nothing is left out."""
    nodes = [Node(str(at), None if step == 0 or not at else str(step % at)) for at, step in enumerate(steps)]
    line = line_to(nodes, str(end % len(nodes)))

    together = [*line.ids, *(own for branch in line.branches for own in branch.ids)]
    assert sorted(together) == sorted(node.id for node in nodes)
