"""The table of checkpoints as plain text: ASCII, at most 100 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from msgspec import Struct

from koogbook.notebook.views.checkpoint_view.selection import Selection
from koogbook.notebook.views.checkpoint_view.state import CheckpointRow, CheckpointState, Row, RunRow
from koogbook.notebook.views.checkpoint_view.table import Detail
from koogbook.notebook.views.look.isolates import unmarked
from koogbook.notebook.views.look.measure import count, cut_middle, plain, thousands, wrapped

COLUMNS = 100
_LOUD = ("with warning", "not resumable")
_LONGEST_ID = 8
_CLOCK = 12
_MOST_FORKS = 6
#: What to say of a store in which nothing is.
NOTHING_YET = "Nothing saved yet. The first checkpoint is written after the first node of a run."


def checkpoint_text(state: CheckpointState) -> str:
    """The table, then what is to know about rows that are not plain, then the one that is selected."""
    sessions = plain(" ".join(state.sessions), 60)
    store = plain(state.store, min(40, COLUMNS - len(f"Checkpoints  {sessions}  ")))
    title = "  ".join(filter(None, ("Checkpoints", sessions, store)))
    head = [title, *wrap(_sentence(state), COLUMNS, subsequent_indent="  ")]
    if state.not_checked:
        head += wrap(f"LOOK HERE: {plain(state.not_checked)}", COLUMNS, subsequent_indent="  ")
    if not state.total:
        return "\n".join([*head, "", f"  {NOTHING_YET}"] if state.is_new else head)
    head += wrap(_chosen(state), COLUMNS, subsequent_indent="  ")
    if not state.rows:
        return "\n".join([*head, "", "  No checkpoint passes the filter."])
    blocks = [head, _table(state), _legend(state), *(_detail(detail) for detail in state.details)]
    if state.selection is not None:
        blocks.append(_selection(state.selection))
    if state.compared is not None:
        blocks.append(state.compared.text.split("\n"))
    lines = "\n\n".join("\n".join(block) for block in blocks if block)
    return "\n".join(line.rstrip()[:COLUMNS] for line in lines.split("\n"))


def page_words(state: CheckpointState) -> list[str]:
    """Which rows of how many are on the page, and which page it is, of several.

    Rows of the tree may stand for several checkpoints.
    """
    pages = state.pages
    span = f"{pages.first:,} to {pages.last:,} of {pages.rows:,}" if pages.rows else "none"
    if state.is_tree and pages.rows != state.total:
        span = f"rows {span} ({count(state.total, 'checkpoint')})"
    if pages.pages == 1:
        return [span]
    other = 1 if pages.number == pages.pages else pages.number + 1
    return [span, f"page {pages.number:,} of {pages.pages:,}, another: view.turn_to({other})"]


def sort_words(state: CheckpointState) -> str:
    """How the rows are sorted."""
    choice = state.choice
    if choice.sort:
        return f"by {choice.sort}, largest first" if choice.descending else f"by {choice.sort}"
    if not state.is_tree:
        return "as in the tree"
    return "a parent before its children, a fork right under its parent"


def _sentence(state: CheckpointState) -> str:
    when = f"; {state.day}, UTC" if state.day else "; UTC" if state.rows else ""
    return plain(unmarked(state.sentence)) + when


def _chosen(state: CheckpointState) -> str:
    """Filter, order and page in words; empty where nothing is chosen and all is on one page."""
    choice = state.choice
    words = [f"filter: {plain(choice.filter)}"] if choice.filter.strip() else []
    if choice.sort:
        words.append(f"sorted {sort_words(state)}")
    if words or state.pages.pages > 1:
        words += page_words(state)
    return "; ".join(words)


def _table(state: CheckpointState) -> list[str]:
    shape = _shape(state)
    head = _columns(
        shape, "tree", "id", "time", "after node", "ver", "msgs", "tokens", "new kB", "parent", "verdict"
    )
    return [head, "  " + "-" * (COLUMNS - 2), *(_row(row, shape) for row in state.rows)]


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


def _shape(state: CheckpointState) -> _Shape:
    rows = state.rows
    ids = _short_ids([*_ids(rows)])
    single = [row for row in rows if isinstance(row, CheckpointRow)]
    lanes = 1 + max(max([row.lane, *row.passing, *_branches(row)]) for row in rows) if state.is_tree else 0
    time = max((len(row.time) for row in single), default=8)
    widths = {
        "tree": max(4, 2 * lanes - 1) if lanes else 0,
        "id": max([4, *(len(ids[row.id]) for row in single)]),
        "time": 8 if time <= _CLOCK else time,
        "version": max([3, *(len(thousands(row.version)) for row in single)]),
        "messages": max([4, *(len(thousands(row.messages)) for row in single)]),
        "tokens": max([6, *(len(thousands(row.tokens)) for row in single)]),
        "bytes": max([6, *(len(_kilobytes(row.bytes)) for row in single)]),
        "parent": max([6, *(len(ids[row.parent]) for row in single if row.parent is not None)]),
    }
    verdict = max([7, *(len(_verdict(row)) for row in single)])
    node = COLUMNS - 2 - sum(widths.values()) - verdict - 2 * (9 if lanes else 8)
    return _Shape(ids=ids, node=max(node, 10), **widths)


def _columns(shape: _Shape, *cells: str) -> str:
    tree, id, time, node, version, messages, tokens, bytes, parent, verdict = cells
    lanes = f"{tree:<{shape.tree}}  " if shape.tree else ""
    return (
        f"  {lanes}{id:<{shape.id}}  {time:<{shape.time}}  {node:<{shape.node}}  "
        f"{version:>{shape.version}}  {messages:>{shape.messages}}  {tokens:>{shape.tokens}}  "
        f"{bytes:>{shape.bytes}}  {parent:<{shape.parent}}  {verdict}"
    )


def _row(row: Row, shape: _Shape) -> str:
    if isinstance(row, RunRow):
        span = f"{shape.ids[row.first]} to {shape.ids[row.last]}"
        words = (
            f"{count(row.count, 'checkpoint')} of {plain(row.session, 20)} in a row, {span}, "
            f"{_kilobytes(row.bytes)} kB, {_verdict(row)}"
        )
        return f"  {_lanes(row):<{shape.tree}}  {words}"
    line = _columns(
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
    return f"> {line[2:]}" if row.selected else line


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
    if not state.is_tree:
        return []
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
    saved = f"; saved by version {plain(' '.join(detail.versions))}" if detail.versions else ""
    lines = [f"({detail.number}) {plain(ids)}: {detail.word}{saved}"]
    for reason in detail.reasons:
        lines += wrap(plain(reason), COLUMNS, initial_indent="    - ", subsequent_indent="      ")
    return lines


def _selection(selected: Selection) -> list[str]:
    lines = [f"Selected: {plain(selected.id, 40)} {selected.sentence}"]
    lines += [] if selected.on_page else ["  its row is not on the page that is shown"]
    for difference in selected.differences:
        word = "" if difference.stored and difference.now else " is gone" if difference.stored else " is new"
        lines += wrapped(plain(difference.what) + (word if difference.stored or difference.now else ""))
        lines += [f"    - stored  {plain(difference.stored, 80)}"] if difference.stored else []
        lines += [f"    + now     {plain(difference.now, 80)}"] if difference.now else []
    for reason in selected.reasons:
        lines += wrapped(plain(reason))
    if selected.fits is not None:
        lines.append(f"  the last one before it that can be resumed: {plain(selected.fits[1], 40)}")
    lines += [f"  {name:<16}  {plain(unmarked(value), 78)}" for name, value in selected.facts]
    lines.append("  what you can do")
    for way in selected.ways:
        words = [way.word, *[""] * (len(way.lines) - 1)]
        lines += [
            f"    {word:<12}  {plain(unmarked(line), 80)}"
            for word, line in zip(words, way.lines, strict=True)
        ]
    if selected.inside is not None:
        lines.append("  in it")
        lines += [f"    {name:<12}  {plain(unmarked(value), 80)}" for name, value in selected.inside.facts]
        lines += wrapped(f"output: {plain(selected.inside.output, 400)}", indent="    ")
    return lines
