"""From checkpoints in a store to what their table shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from koogbook.features.persistence.checkpoint import CheckpointInfo
from koogbook.notebook.views.checkpoint_view.tree import TreeRow, tree_rows
from koogbook.notebook.views.look.measure import count

VerdictWord = Literal["resumable", "with warning", "not resumable", "ended"]
RowWord = VerdictWord | Literal["not checked"]

#: Up to so many checkpoints each has a row; beyond, straight runs become one row with their count.
MOST_ROWS = 60
_SHORTEST_RUN = 3
_OPEN_AT_THE_END = 20
_FIRST = 20
_WORDS: tuple[RowWord, ...] = ("resumable", "with warning", "not resumable", "ended", "not checked")


class Verdict(Struct, frozen=True):
    """Whether the code as it is now can go on from a checkpoint, and why not or what to know."""

    word: VerdictWord
    reasons: tuple[str, ...] = ()


class CheckpointRow(Struct, frozen=True, kw_only=True):
    """One checkpoint. ``folder`` and ``node`` are its path; ``note`` is the number of its details, or None."""

    id: str
    session: str
    version: int
    kind: str
    time: str
    folder: str
    node: str
    messages: int
    tokens: int
    bytes: int
    parent: str | None
    parent_missing: bool
    word: RowWord
    note: int | None
    left_out: tuple[str, ...]
    lane: int
    parent_row: int | None
    fork: bool
    branches: tuple[int, ...]
    passing: tuple[int, ...]


class RunRow(Struct, frozen=True, kw_only=True):
    """A straight run of one session and one verdict in one row: nothing forks in it."""

    first: str
    last: str
    session: str
    count: int
    bytes: int
    word: RowWord
    note: int | None
    lane: int
    parent_row: int | None
    passing: tuple[int, ...]


class CutRow(Struct, frozen=True):
    """The place where the middle of a very long table is left out, with how many checkpoints."""

    count: int
    lane: int = 0
    parent_row: None = None
    passing: tuple[int, ...] = ()


Row = CheckpointRow | RunRow | CutRow


class Detail(Struct, frozen=True):
    """What to know about checkpoints, said once for all that it is true of."""

    number: int
    word: RowWord
    ids: tuple[str, ...]
    versions: tuple[str, ...]
    reasons: tuple[str, ...]


class CheckpointState(Struct, frozen=True, kw_only=True):
    """All that the table shows; ``day`` is the date of all rows, or empty where each row has its own."""

    store: str
    sessions: tuple[str, ...]
    total: int
    sentence: str
    day: str
    rows: tuple[Row, ...]
    details: tuple[Detail, ...]


def checkpoint_state(
    infos: Sequence[CheckpointInfo],
    *,
    verdicts: Mapping[str, Verdict] | None = None,
    store: str = "",
    sessions: Sequence[str] = (),
) -> CheckpointState:
    """What a table of checkpoints shows.

    Args:
        infos: The checkpoints, in any order.
        verdicts: By checkpoint id; one without is "not checked", a tombstone "ended".
        store: What they are kept in, such as ``SqliteCheckpoints, lesson.db``.
        sessions: The session ids that the table is about; without them, those of the checkpoints.
    """
    judged = {info.id: _verdict(info, verdicts or {}) for info in infos}
    details = _details(infos, judged)
    notes = {id: detail.number for detail in details for id in detail.ids}
    tree = tree_rows(infos)
    days = {f"{info.created:%Y-%m-%d}" for info in infos}
    rows = [_row(row, judged, notes, one_day=len(days) == 1) for row in tree]
    return CheckpointState(
        store=store,
        sessions=tuple(sessions) or tuple(dict.fromkeys(row.info.session_id for row in tree)),
        total=len(infos),
        sentence=_sentence([judged[info.id][0] for info in infos]),
        day=days.pop() if len(days) == 1 else "",
        rows=tuple(rows) if len(rows) <= MOST_ROWS else _cut(list(_runs(rows))),
        details=details,
    )


def _verdict(info: CheckpointInfo, verdicts: Mapping[str, Verdict]) -> tuple[RowWord, tuple[str, ...]]:
    found = verdicts.get(info.id)
    if found is not None:
        return found.word, found.reasons
    return ("ended" if info.is_tombstone else "not checked"), ()


def _sentence(words: Sequence[RowWord]) -> str:
    if not words:
        return "no checkpoints yet"
    counts = Counter(words)
    parts = [f"{counts[word]:,} {word}" for word in _WORDS if counts[word]]
    return f"{count(len(words), 'checkpoint')}: {', '.join(parts)}"


def _details(
    infos: Sequence[CheckpointInfo], judged: Mapping[str, tuple[RowWord, tuple[str, ...]]]
) -> tuple[Detail, ...]:
    groups: dict[tuple[RowWord, tuple[str, ...]], list[CheckpointInfo]] = {}
    for row in tree_rows(infos):
        word, reasons = judged[row.info.id]
        if row.info.left_out:
            reasons = (*reasons, _left_out(row.info.left_out))
        if reasons:
            groups.setdefault((word, reasons), []).append(row.info)
    return tuple(
        Detail(
            number,
            word,
            tuple(dict.fromkeys(info.id for info in members)),
            tuple(dict.fromkeys(info.strategy_version for info in members if info.strategy_version)),
            reasons,
        )
        for number, ((word, reasons), members) in enumerate(groups.items(), start=1)
    )


def _left_out(keys: Sequence[str]) -> str:
    return f"saved without {count(len(keys), 'storage key')} that cannot be encoded: {', '.join(keys)}"


def _row(
    row: TreeRow,
    judged: Mapping[str, tuple[RowWord, tuple[str, ...]]],
    notes: Mapping[str, int],
    *,
    one_day: bool,
) -> CheckpointRow:
    info = row.info
    folder, slash, node = info.path.rpartition("/")
    clock = f"{info.created:%H:%M:%S}.{info.created.microsecond // 1000:03}"
    return CheckpointRow(
        id=info.id,
        session=info.session_id,
        version=info.version,
        kind=info.kind,
        time=clock if one_day else f"{info.created:%Y-%m-%d} {clock[:8]}",
        folder=folder + slash,
        node=node,
        messages=info.messages,
        tokens=info.tokens,
        bytes=info.bytes,
        parent=info.parent,
        parent_missing=info.parent is not None and row.parent_row is None,
        word=judged[info.id][0],
        note=notes.get(info.id),
        left_out=info.left_out,
        lane=row.lane,
        parent_row=row.parent_row,
        fork=row.fork,
        branches=row.branches,
        passing=row.passing,
    )


# ------------------------------------------------------------------------------------------- long tables


def _runs(rows: Sequence[CheckpointRow]) -> Iterator[CheckpointRow | RunRow]:
    """Straight runs in one row each; parents are counted again in the rows that are left."""
    new_row: dict[int, int] = {}
    made = 0
    for run in _straight(rows):
        first = run[0]
        parent_row = None if (old := rows[first].parent_row) is None else new_row[old]
        if len(run) < _SHORTEST_RUN:
            for row in run:
                new_row[row] = made
                old = rows[row].parent_row
                yield replace(rows[row], parent_row=None if old is None else new_row[old])
                made += 1
            continue
        new_row.update(dict.fromkeys(run, made))
        made += 1
        yield RunRow(
            first=rows[first].id,
            last=rows[run[-1]].id,
            session=rows[first].session,
            count=len(run),
            bytes=sum(rows[row].bytes for row in run),
            lane=rows[first].lane,
            parent_row=parent_row,
            word=rows[first].word,
            note=rows[first].note,
            passing=rows[first].passing,
        )


def _straight(rows: Sequence[CheckpointRow]) -> Iterator[list[int]]:
    run: list[int] = []
    for index, row in enumerate(rows):
        forks = bool(row.branches or row.fork) or row.word == "ended"
        follows = bool(run) and row.parent_row == run[-1] and _alike(row, rows[run[-1]])
        if forks or index >= len(rows) - _OPEN_AT_THE_END:
            if run:
                yield run
            yield [index]
            run = []
        elif follows:
            run.append(index)
        else:
            if run:
                yield run
            run = [index]
    if run:
        yield run


def _alike(row: CheckpointRow, other: CheckpointRow) -> bool:
    return (row.session, row.word, row.note) == (other.session, other.word, other.note)


def _cut(rows: Sequence[CheckpointRow | RunRow]) -> tuple[Row, ...]:
    """The first and the last rows where even the runs are too many."""
    if len(rows) <= MOST_ROWS:
        return tuple(rows)
    tail = len(rows) - (MOST_ROWS - _FIRST)
    gone = rows[_FIRST:tail]
    missing = sum(row.count if isinstance(row, RunRow) else 1 for row in gone)
    shift = tail - _FIRST - 1
    kept: list[Row] = [*rows[:_FIRST], CutRow(missing)]
    for row in rows[tail:]:
        parent = row.parent_row
        if parent is not None and _FIRST <= parent < tail:
            parent = None
        elif parent is not None and parent >= tail:
            parent -= shift
        kept.append(replace(row, parent_row=parent))
    return tuple(kept)
