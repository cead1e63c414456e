"""The order of checkpoints in a table, parents first, and the lanes of the tree beside it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from msgspec import Struct

from koogbook.features.persistence.checkpoint import CheckpointInfo

#: Lanes that have room beside the table; more forks side by side than that share the last one.
MOST_LANES = 4


class TreeRow(Struct, frozen=True):
    """One row of the tree.

    ``parent_row`` is None where no parent is in the table. ``fork`` says that the parent is of another session.
    ``branches`` are the lanes of forks that begin here, ``passing`` those with a line from above to below.
    """

    info: CheckpointInfo
    lane: int
    parent_row: int | None
    fork: bool
    branches: tuple[int, ...]
    passing: tuple[int, ...]


def tree_rows(infos: Sequence[CheckpointInfo]) -> tuple[TreeRow, ...]:
    """Every checkpoint once: a parent before its children, forks right under it, then its own session goes on.

    A checkpoint whose parent is not given begins a tree of its own.
    """
    parents = _parents(infos)
    order = _order(infos, parents)
    row_of = {index: row for row, index in enumerate(order)}
    ordered = [infos[index] for index in order]
    parent_rows = [_earlier(parents[index], row_of, row) for row, index in enumerate(order)]
    lanes = _lanes(ordered, parent_rows)
    passing: list[set[int]] = [set() for _ in order]
    branches: list[set[int]] = [set() for _ in order]
    for row, parent_row in enumerate(parent_rows):
        if parent_row is None:
            continue
        if lanes[row] != lanes[parent_row]:
            branches[parent_row].add(lanes[row])
        for between in range(parent_row + 1, row):
            passing[between].add(lanes[row])
    return tuple(
        TreeRow(
            info,
            lanes[row],
            parent_rows[row],
            _is_fork(ordered, parent_rows, row),
            tuple(sorted(branches[row])),
            tuple(sorted(passing[row])),
        )
        for row, info in enumerate(ordered)
    )


def _earlier(parent: int | None, row_of: dict[int, int], row: int) -> int | None:
    """The row of a parent; None if it does not stand above, as in rows that are each other's parents."""
    if parent is None or row_of[parent] >= row:
        return None
    return row_of[parent]


def _is_fork(infos: Sequence[CheckpointInfo], parent_rows: Sequence[int | None], row: int) -> bool:
    parent_row = parent_rows[row]
    return parent_row is not None and infos[parent_row].session_id != infos[row].session_id


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


def _order(infos: Sequence[CheckpointInfo], parents: Sequence[int | None]) -> list[int]:
    children: defaultdict[int | None, list[int]] = defaultdict(list)
    for index, parent in enumerate(parents):
        children[parent].append(index)

    def key(index: int) -> tuple[object, ...]:
        info, parent = infos[index], parents[index]
        goes_on = parent is not None and info.session_id == infos[parent].session_id
        return goes_on, info.created, info.session_id, info.version, index

    order: list[int] = []
    seen: set[int] = set()
    # Rows that are each other's parents have no first one; after all trees they are shown, too, oldest first.
    for start in [*sorted(children[None], key=key), *sorted(range(len(infos)), key=key)]:
        waiting = [start]
        while waiting:
            index = waiting.pop()
            if index not in seen:
                seen.add(index)
                order.append(index)
                waiting += sorted(children[index], key=key, reverse=True)
    return order


def _lanes(infos: Sequence[CheckpointInfo], parent_rows: Sequence[int | None]) -> list[int]:
    """A lane per session; sessions that do not stand side by side may share one."""
    spans: dict[str, list[int]] = {}
    for row, info in enumerate(infos):
        parent_row = parent_rows[row]
        start = row if parent_row is None else parent_row + 1
        span = spans.setdefault(info.session_id, [min(start, row), row])
        span[1] = row
    taken: list[list[tuple[int, int]]] = [[] for _ in range(MOST_LANES)]
    lane_of: dict[str, int] = {}
    for row, info in enumerate(infos):
        if info.session_id in lane_of:
            continue
        parent_row = parent_rows[row]
        fork = _is_fork(infos, parent_rows, row) and parent_row is not None
        least = lane_of[infos[parent_row].session_id] + 1 if fork and parent_row is not None else 0
        first, last = spans[info.session_id]
        lane = next(
            (
                lane
                for lane in range(least, MOST_LANES)
                if all(last < start or end < first for start, end in taken[lane])
            ),
            MOST_LANES - 1,
        )
        taken[lane].append((first, last))
        lane_of[info.session_id] = lane
    return [lane_of[info.session_id] for info in infos]
