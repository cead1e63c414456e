"""The table of checkpoints as plain text: ASCII, at most 100 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from koogbook.notebook.views.checkpoint_state import CheckpointRow, CheckpointState, Detail, RunRow
from koogbook.notebook.views.measure import count, cut_middle, plain, thousands

COLUMNS = 100
_LOUD = ("with warning", "not resumable")
_FIRST_AND_LAST = 20
_LONGEST_ID = 8
_NODE = 24


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
    rows = state.rows
    ids = _short_ids([*_ids(rows)])
    lanes = 1 + max(max([row.lane, *row.passing, *_branches(row)]) for row in rows)
    tree = max(4, 2 * lanes)
    wide = max(4, *(len(ids[id]) for id in ids))
    time = max(len(row.time) if isinstance(row, CheckpointRow) else 0 for row in rows)
    time = 8 if time <= 12 else time
    node = max(_NODE - max(0, tree - 4) - max(0, 2 * wide - 12) - max(0, time - 8), 12)
    head = (
        f"  {'tree':<{tree}}  {'id':<{wide}}  {'time':<{time}}  {'after node':<{node}}  "
        f"{'ver':>4}  {'msgs':>5}  {'tokens':>7}  {'new kB':>7}  {'parent':<{max(wide, 6)}}  verdict"
    )
    lines = [head, "  " + "-" * (min(len(head) + 6, COLUMNS) - 2)]
    drawn = [_row(row, ids, tree, wide, time, node) for row in rows]
    return lines + _shortened(drawn)


def _shortened(lines: list[str]) -> list[str]:
    limit = 2 * _FIRST_AND_LAST
    if len(lines) <= limit + _FIRST_AND_LAST:
        return lines
    hidden = f"       ... {count(len(lines) - limit, 'row')} more ..."
    return [*lines[:_FIRST_AND_LAST], hidden, *lines[-_FIRST_AND_LAST:]]


def _row(row: CheckpointRow | RunRow, ids: dict[str, str], tree: int, wide: int, time: int, node: int) -> str:
    drawn = f"  {_lanes(row):<{tree}}  "
    if isinstance(row, RunRow):
        span = f"{ids[row.first]} to {ids[row.last]}"
        return f"{drawn}{count(row.count, 'checkpoint')} in a row, {span}, {row.bytes / 1000:.1f} kB"
    parent = ids[row.parent] if row.parent is not None else "-"
    word = row.word.upper() if row.word in _LOUD else row.word
    note = f" ({row.note})" if row.note is not None else ""
    kind = "" if row.kind in ("node", "tombstone") else f" [{row.kind}]"
    path = plain(cut_middle(row.folder + row.node, node - len(kind), "..")) + kind
    return (
        f"{drawn}{ids[row.id]:<{wide}}  {row.time[:time]:<{time}}  {path[:node]:<{node}}  "
        f"{row.version:>4}  {thousands(row.messages):>5}  {thousands(row.tokens):>7}  "
        f"{row.bytes / 1000:>7.1f}  {parent:<{max(wide, 6)}}  {word}{note}"
    )


def _lanes(row: CheckpointRow | RunRow) -> str:
    sign = ":" if isinstance(row, RunRow) else "T" if row.word == "ended" else "o"
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


def _crossed(row: CheckpointRow | RunRow, lane: int) -> bool:
    return row.lane < lane <= max(_branches(row), default=0)


def _branches(row: CheckpointRow | RunRow) -> tuple[int, ...]:
    return row.branches if isinstance(row, CheckpointRow) else ()


def _ids(rows: Sequence[CheckpointRow | RunRow]) -> Iterator[str]:
    for row in rows:
        if isinstance(row, RunRow):
            yield from (row.first, row.last)
        else:
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
    words += [f"{session} is a fork of {parent}" for session, parent in list(forks.items())[:3]]
    if len(forks) > 3:
        words.append(f"{len(forks) - 3} more forks")
    return ["  " + plain("   ".join(words), COLUMNS - 2)]


def _detail(detail: Detail) -> list[str]:
    ids = " ".join(detail.ids[:6]) + (f" and {len(detail.ids) - 6} more" if len(detail.ids) > 6 else "")
    saved = f"; saved by version {' '.join(detail.versions)}" if detail.versions else ""
    lines = [f"({detail.number}) {plain(ids)}: {detail.word}{saved}"]
    for reason in detail.reasons:
        lines += wrap(plain(reason), COLUMNS, initial_indent="    - ", subsequent_indent="      ")
    return lines
