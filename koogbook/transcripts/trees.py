"""Conversations kept as a tree of nodes: the line to one end, and the branches that leave it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from koogbook.errors import TranscriptError
from koogbook.transcripts.transcript import preview


class Node(Struct, frozen=True):
    """One node of a tree; ``parent`` is None at a root."""

    id: str
    parent: str | None = None


class Branch(Struct, frozen=True):
    """Nodes beside a line, from the first to a leaf.

    ``fork`` is the node that they leave from, on the line or on a branch named before; None where they have a root of
    their own.
    """

    ids: tuple[str, ...]
    fork: str | None = None

    @property
    def end(self) -> str:
        """The leaf."""
        return self.ids[-1]


class Line(Struct, frozen=True):
    """The nodes from a root to one end, and all others: each node is on the line or on exactly one branch.

    ``missing`` has the nodes, of the line and of branches, whose parent is not there; each of them counts as a root.
    """

    ids: tuple[str, ...]
    branches: tuple[Branch, ...] = ()
    missing: tuple[str, ...] = ()


def line_to(nodes: Sequence[Node], end: str) -> Line:
    """The line from the root to ``end``; of nodes with the same id the first counts.

    Branches come in the order of their leaves. The walk takes time in proportion to the nodes.

    Raises:
        TranscriptError: ``end`` is none of the nodes, or nodes are parents of each other in a circle.
    """
    parents: dict[str, str | None] = {}
    for node in nodes:
        parents.setdefault(node.id, node.parent)
    if end not in parents:
        raise TranscriptError(
            f"There is no node {preview(end)!r} among {len(parents):,}. Nothing was loaded. Name one of them: "
            f"{preview(', '.join(parents), 200)}."
        )
    missing = tuple(own for own, parent in parents.items() if parent is not None and parent not in parents)
    taken: set[str] = set()
    line, _ = _up(end, parents, taken)
    branches: list[Branch] = []
    for leaf in _leaves(parents):
        if leaf not in taken:
            ids, fork = _up(leaf, parents, taken)
            branches.append(Branch(ids, fork))
    left = next((own for own in parents if own not in taken), None)
    if left is not None:
        _up(left, parents, taken)  # what no leaf leads to is a circle
    return Line(line, tuple(branches), missing)


def last_leaf(nodes: Iterable[Node]) -> str | None:
    """The last node that is no parent of another; None where there is none."""
    parents = {node.id: node.parent for node in nodes}
    return next(reversed(_leaves(parents)), None)


def _leaves(parents: Mapping[str, str | None]) -> list[str]:
    inner = set(parents.values())
    return [own for own in parents if own not in inner]


def _up(end: str, parents: Mapping[str, str | None], taken: set[str]) -> tuple[tuple[str, ...], str | None]:
    """The nodes from the one after a taken one, or from a root, to ``end``; and the taken one."""
    walked: dict[str, None] = {}
    at: str | None = end
    while at is not None and at in parents and at not in taken:
        if at in walked:
            circle = list(walked)[list(walked).index(at) :]
            raise TranscriptError(
                f"{len(circle):,} nodes are parents of each other in a circle: "
                f"{' <- '.join(map(preview, [*circle[:5], at]))}. Nothing was loaded: there is no first message. "
                "Mend the parent of one of them, or export the conversation again."
            )
        walked[at] = None
        at = parents[at]
    taken.update(walked)
    return tuple(reversed(walked)), at if at in parents else None
