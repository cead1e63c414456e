"""The order of checkpoints in a table, parents first, and the lanes of the tree beside it."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence

from msgspec import Struct

from koogbook.features.persistence.checkpoint import CheckpointInfo

#: Lanes that have room beside the table; more forks side by side than that share the last one.
MOST_LANES = 4
# A set of lanes is kept as bits; this is what each set is in words.
_LANES = tuple(
    tuple(lane for lane in range(MOST_LANES) if bits >> lane & 1) for bits in range(1 << MOST_LANES)
)


class TreeRow(Struct, frozen=True, gc=False):
    """One row of the tree.

    ``parent_row`` is None where no parent is in the table. ``fork`` says that the parent is of another session.
    ``goes_on`` says that a child stands further down on the same lane. ``branches`` are the lanes of forks that begin
    here, ``passing`` those with a line from above to below.
    """

    info: CheckpointInfo
    lane: int
    parent_row: int | None
    fork: bool
    goes_on: bool
    branches: tuple[int, ...]
    passing: tuple[int, ...]


def tree_rows(infos: Sequence[CheckpointInfo]) -> tuple[TreeRow, ...]:
    """Every checkpoint once: a parent before its children, forks right under it, then its own session goes on.

    A checkpoint whose parent is not given begins a tree of its own.
    """
    return in_lanes(in_tree_order(infos))


def in_tree_order(infos: Sequence[CheckpointInfo]) -> list[CheckpointInfo]:
    """The checkpoints in the order of :func:`tree_rows`."""
    parents = _parents(infos)
    children: defaultdict[int | None, list[int]] = defaultdict(list)
    for index, parent in enumerate(parents):
        children[parent].append(index)

    def key(index: int) -> tuple[object, ...]:
        info, parent = infos[index], parents[index]
        goes_on = parent is not None and info.session_id == infos[parent].session_id
        return goes_on, info.created, info.session_id, info.version, index

    for family in children.values():
        if len(family) > 1:
            family.sort(key=key, reverse=True)
    order: list[CheckpointInfo] = []
    seen = bytearray(len(infos))

    def follow(waiting: list[int]) -> None:
        while waiting:
            index = waiting.pop()
            if not seen[index]:
                seen[index] = 1
                order.append(infos[index])
                waiting += children.get(index, ())

    follow(list(children.get(None, ())))
    # Rows that are each other's parents have no first one; after all trees they are shown, too, oldest first.
    for start in sorted((index for index in range(len(infos)) if not seen[index]), key=key):
        follow([start])
    return order


def in_lanes(infos: Sequence[CheckpointInfo]) -> tuple[TreeRow, ...]:
    """The rows of checkpoints that are in tree order, or of some of them, with the lanes that they stand on."""
    parent_rows = [
        None if parent is None or parent >= row else parent for row, parent in enumerate(_parents(infos))
    ]
    forks = [
        parent is not None and infos[parent].session_id != info.session_id
        for info, parent in zip(infos, parent_rows, strict=True)
    ]
    lanes = _lanes(infos, parent_rows, forks)
    branches, goes_on = [0] * len(infos), bytearray(len(infos))
    # Where a lane's lines reach: from the row under a parent to the row above its child.
    reach = [[0] * len(infos) for _ in range(MOST_LANES)]
    for row, parent in enumerate(parent_rows):
        if parent is None:
            continue
        lane = lanes[row]
        if lane == lanes[parent]:
            goes_on[parent] = 1
        else:
            branches[parent] |= 1 << lane
        if row - parent > 1:
            reach[lane][parent + 1] = max(reach[lane][parent + 1], row)
    passing = [0] * len(infos)
    for lane, ends in enumerate(reach):
        end = 0
        for row, new in enumerate(ends):
            end = max(end, new)
            if row < end:
                passing[row] |= 1 << lane
    return tuple(
        TreeRow(info, lane, parent, fork, bool(on), _LANES[branch], _LANES[by])
        for info, lane, parent, fork, on, branch, by in zip(
            infos, lanes, parent_rows, forks, goes_on, branches, passing, strict=True
        )
    )


def _parents(infos: Sequence[CheckpointInfo]) -> list[int | None]:
    """The index of each one's parent: of that id in its own session, else in any."""
    anywhere: dict[str, int] = {}
    in_session: dict[tuple[str, str], int] = {}
    for index, info in enumerate(infos):
        anywhere.setdefault(info.id, index)
        in_session.setdefault((info.session_id, info.id), index)
    found: list[int | None] = []
    for index, info in enumerate(infos):
        parent = None
        if info.parent is not None:
            parent = in_session.get((info.session_id, info.parent), anywhere.get(info.parent))
        found.append(None if parent == index else parent)
    return found


def _lanes(
    infos: Sequence[CheckpointInfo], parent_rows: Sequence[int | None], forks: Sequence[bool]
) -> list[int]:
    """A lane per session; sessions that do not stand side by side may share one."""
    spans: dict[str, list[int]] = {}
    for row, info in enumerate(infos):
        parent_row = parent_rows[row]
        start = row if parent_row is None else parent_row + 1
        span = spans.setdefault(info.session_id, [start, row])
        span[1] = row
    lane_of: dict[str, int] = {}
    # The last lane takes whatever has no room, so that only the others need to know what they hold.
    taken: list[tuple[list[int], list[int]]] = [([], []) for _ in range(MOST_LANES - 1)]
    for row, info in enumerate(infos):
        if info.session_id in lane_of:
            continue
        parent_row = parent_rows[row]
        least = lane_of[infos[parent_row].session_id] + 1 if forks[row] and parent_row is not None else 0
        first, last = spans[info.session_id]
        lane_of[info.session_id] = next(
            (lane for lane in range(least, MOST_LANES - 1) if _took(*taken[lane], first, last)),
            MOST_LANES - 1,
        )
    return [lane_of[info.session_id] for info in infos]


def _took(starts: list[int], ends: list[int], first: int, last: int) -> bool:
    """Take the rows from ``first`` to ``last`` of a lane, if none of them is taken."""
    place = bisect_right(starts, last)
    if place and ends[place - 1] >= first:
        return False
    starts.insert(place, first)
    ends.insert(place, last)
    return True
