"""The table of checkpoints as plain text: ASCII, at most 100 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from msgspec import Struct

from koogbook.notebook.views.checkpoint_view.state import (
    CheckpointRow,
    CheckpointState,
    CutRow,
    Detail,
    Row,
    RunRow,
)
from koogbook.notebook.views.look.measure import count, cut_middle, plain, thousands

COLUMNS = 100
_LOUD = ("with warning", "not resumable")
_FIRST_AND_LAST = 20
_LONGEST_ID = 8
_CLOCK = 12
_MOST_FORKS = 6


def checkpoint_text(state: CheckpointState) -> str:
    """The table, then what is to know about rows that are not plain."""
    title = "  ".join(
        filter(None, ("Checkpoints", plain(" ".join(state.sessions), 60), plain(state.store, 40)))
    )
    head = [title, state.sentence + (f"; {state.day}, UTC" if state.day else "; UTC" if state.rows else "")]
    if not state.rows:
        return "\n".join([*head, "", "  The first one is saved after the first node of a run."])
    blocks = [head, _table(state), _legend(state), *(_detail(detail) for detail in state.details)]
    lines = "\n\n".join("\n".join(block) for block in blocks if block)
    return "\n".join(line.rstrip()[:COLUMNS] for line in lines.split("\n"))


def _table(state: CheckpointState) -> list[str]:
    shape = _shape(state.rows)
    head = _columns(
        shape, "tree", "id", "time", "after node", "ver", "msgs", "tokens", "new kB", "parent", "verdict"
    )
    drawn = [_row(row, shape) for row in state.rows]
    return [head, "  " + "-" * (COLUMNS - 2), *_shortened(drawn)]


class _Shape(Struct, frozen=True):
    """How wide each column is; the path takes what is left."""

    ids: dict[str, str]
    tree: int
    id: int
    time: int
    node: int
    version: int
    messages: int
    tokens: int
    bytes: int
    parent: int


def _shape(rows: Sequence[Row]) -> _Shape:
    ids = _short_ids([*_ids(rows)])
    single = [row for row in rows if isinstance(row, CheckpointRow)]
    lanes = 1 + max(max([row.lane, *row.passing, *_branches(row)]) for row in rows)
    time = max((len(row.time) for row in single), default=8)
    widths = {
        "tree": max(4, 2 * lanes - 1),
        "id": max([4, *(len(ids[row.id]) for row in single)]),
        "time": 8 if time <= _CLOCK else time,
        "version": max([3, *(len(thousands(row.version)) for row in single)]),
        "messages": max([4, *(len(thousands(row.messages)) for row in single)]),
        "tokens": max([6, *(len(thousands(row.tokens)) for row in single)]),
        "bytes": max([6, *(len(_kilobytes(row.bytes)) for row in single)]),
        "parent": max([6, *(len(ids[row.parent]) for row in single if row.parent is not None)]),
    }
    verdict = max([7, *(len(_verdict(row)) for row in single)])
    node = COLUMNS - 2 - sum(widths.values()) - verdict - 2 * 9
    return _Shape(ids=ids, node=max(node, 10), **widths)


def _columns(shape: _Shape, *cells: str) -> str:
    tree, id, time, node, version, messages, tokens, bytes, parent, verdict = cells
    return (
        f"  {tree:<{shape.tree}}  {id:<{shape.id}}  {time:<{shape.time}}  {node:<{shape.node}}  "
        f"{version:>{shape.version}}  {messages:>{shape.messages}}  {tokens:>{shape.tokens}}  "
        f"{bytes:>{shape.bytes}}  {parent:<{shape.parent}}  {verdict}"
    )


def _row(row: Row, shape: _Shape) -> str:
    if isinstance(row, CutRow):
        return f"       ... {count(row.count, 'checkpoint')} left out here ..."
    if isinstance(row, RunRow):
        span = f"{shape.ids[row.first]} to {shape.ids[row.last]}"
        words = (
            f"{count(row.count, 'checkpoint')} in a row, {span}, {_kilobytes(row.bytes)} kB, {_verdict(row)}"
        )
        return f"  {_lanes(row):<{shape.tree}}  {words}"
    return _columns(
        shape,
        _lanes(row),
        shape.ids[row.id],
        row.time[: shape.time],
        _path(row, shape.node),
        thousands(row.version),
        thousands(row.messages),
        thousands(row.tokens),
        _kilobytes(row.bytes),
        "-" if row.parent is None else shape.ids[row.parent],
        _verdict(row),
    )


def _path(row: CheckpointRow, room: int) -> str:
    """The whole path if there is room, else the node, else both ends of it."""
    whole = plain(row.folder + row.node)
    kind = f" [{row.kind}]" if row.kind not in ("node", "tombstone", "fork") else ""
    for text in (whole + kind, whole, plain(row.node) + kind, plain(row.node)):
        if len(text) <= room:
            return text
    return cut_middle(plain(row.node), room, "..")


def _verdict(row: CheckpointRow | RunRow) -> str:
    word = row.word.upper() if row.word in _LOUD else row.word
    return f"{word} ({row.note})" if row.note is not None else word


def _kilobytes(bytes: int) -> str:
    return f"{bytes / 1000:,.1f}"


def _shortened(lines: list[str]) -> list[str]:
    limit = 2 * _FIRST_AND_LAST
    if len(lines) <= limit + _FIRST_AND_LAST:
        return lines
    hidden = f"       ... {count(len(lines) - limit, 'row')} more ..."
    return [*lines[:_FIRST_AND_LAST], hidden, *lines[-_FIRST_AND_LAST:]]


def _lanes(row: Row) -> str:
    sign = "T" if isinstance(row, CheckpointRow) and row.word == "ended" else "o"
    if isinstance(row, RunRow):
        sign = ":"
    last = max([row.lane, *row.passing, *_branches(row)])
    cells = []
    for lane in range(last + 1):
        if lane == row.lane:
            cells.append(sign)
        elif lane in _branches(row):
            cells.append(".")
        else:
            cells.append("|" if lane in row.passing else "-" if _crossed(row, lane) else " ")
    joined = cells[0]
    for lane in range(1, last + 1):
        joined += ("-" if _crossed(row, lane) else " ") + cells[lane]
    return joined


def _crossed(row: Row, lane: int) -> bool:
    return row.lane < lane <= max(_branches(row), default=0)


def _branches(row: Row) -> tuple[int, ...]:
    return row.branches if isinstance(row, CheckpointRow) else ()


def _ids(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        if isinstance(row, RunRow):
            yield from (row.first, row.last)
        elif isinstance(row, CheckpointRow):
            yield row.id
            if row.parent is not None:
                yield row.parent


def _short_ids(ids: Sequence[str]) -> dict[str, str]:
    """Each id, cut to as many characters as tell all of them apart, at least eight."""
    whole = dict.fromkeys(ids)
    length = _LONGEST_ID
    while len({id[:length] for id in whole}) < len(whole):
        length += 1
    return {id: plain(id[:length], 16) for id in whole}


def _legend(state: CheckpointState) -> list[str]:
    forks: dict[str, str] = {}
    for row in state.rows:
        if isinstance(row, CheckpointRow) and row.fork and row.parent is not None:
            forks.setdefault(row.session, row.parent)
    words = ["o checkpoint", "T ended"]
    if any(isinstance(row, RunRow) for row in state.rows):
        words.append(": several in a row")
    ids = _short_ids([*_ids(state.rows)])
    words += [f"{session} is a fork of {ids[parent]}" for session, parent in [*forks.items()][:_MOST_FORKS]]
    if len(forks) > _MOST_FORKS:
        words.append(f"and {count(len(forks) - _MOST_FORKS, 'fork')} more")
    return wrap(
        "   ".join(plain(word, 60) for word in words), COLUMNS, initial_indent="  ", subsequent_indent="  "
    )


def _detail(detail: Detail) -> list[str]:
    ids = " ".join(detail.ids[:6]) + (f" and {len(detail.ids) - 6} more" if len(detail.ids) > 6 else "")
    saved = f"; saved by version {' '.join(detail.versions)}" if detail.versions else ""
    lines = [f"({detail.number}) {plain(ids)}: {detail.word}{saved}"]
    for reason in detail.reasons:
        lines += wrap(plain(reason), COLUMNS, initial_indent="    - ", subsequent_indent="      ")
    return lines
