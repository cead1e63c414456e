"""From checkpoints in a store to what a page of their table shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from koogbook.features.persistence.checkpoint import CheckpointInfo
from koogbook.notebook.views.checkpoint_view.judging import RowWord
from koogbook.notebook.views.checkpoint_view.judging import Verdict as Verdict
from koogbook.notebook.views.checkpoint_view.selection import Compared, Inside, Selection, selection
from koogbook.notebook.views.checkpoint_view.table import (
    CheckpointTable,
    Choice,
    Detail,
    Span,
    checkpoint_key,
)
from koogbook.notebook.views.checkpoint_view.tree import tree_rows
from koogbook.notebook.views.look.measure import count


class CheckpointRow(Struct, frozen=True, kw_only=True):
    """One checkpoint. ``folder`` and ``node`` are its path; ``note`` is the number of its detail, or None.

    ``up`` says that its lane comes from above, ``down`` that it goes on below; ``branches`` are the lanes of forks
    that begin here, ``passing`` those with a line from above to below.
    """

    key: str
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
    selected: bool
    lane: int
    up: bool
    down: bool
    fork: bool
    branches: tuple[int, ...]
    passing: tuple[int, ...]


class RunRow(Struct, frozen=True, kw_only=True):
    """A straight run of one session and one verdict in one row: nothing forks in it."""

    key: str
    first: str
    last: str
    session: str
    count: int
    bytes: int
    word: RowWord
    note: int | None
    lane: int
    up: bool
    down: bool
    passing: tuple[int, ...]


Row = CheckpointRow | RunRow


class Pages(Struct, frozen=True):
    """Where a page stands: its first and last row of so many rows, and its number of so many pages."""

    first: int
    last: int
    rows: int
    number: int
    pages: int


class CheckpointState(Struct, frozen=True, kw_only=True):
    """All that the table shows.

    ``is_new`` says that nothing is stored yet, in no session. ``total`` counts all checkpoints, ``passed`` those that
    pass the filter. ``day`` is the date of all rows, or empty where each row has its own. ``is_tree`` says that the
    rows stand in tree order, all of them, ``is_behind`` that a run has saved more since.
    """

    store: str
    sessions: tuple[str, ...]
    is_new: bool
    total: int
    passed: int
    sentence: str
    is_behind: bool
    not_checked: str
    verdicts: tuple[tuple[RowWord, int], ...]
    day: str
    choice: Choice
    is_tree: bool
    pages: Pages
    rows: tuple[Row, ...]
    details: tuple[Detail, ...]
    selection: Selection | None
    said: str
    compared: Compared | None


def checkpoint_state(
    infos: Sequence[CheckpointInfo],
    *,
    verdicts: Mapping[str, Verdict] | None = None,
    store: str = "",
    sessions: Sequence[str] = (),
    choice: Choice | None = None,
) -> CheckpointState:
    """What a table of checkpoints shows.

    Args:
        infos: The checkpoints, in any order.
        verdicts: By checkpoint id; one without is "not checked", a tombstone "ended".
        store: What they are kept in, such as ``SqliteCheckpoints, lesson.db``.
        sessions: The session ids that the table is about; without them, those of the checkpoints.
        choice: How it is sorted and filtered, and which page it is; by default the first in tree order.

    Raises:
        ViewError: The filter cannot be read.
    """
    known = verdicts or {}
    table = CheckpointTable(tree_rows(infos), lambda info: known.get(info.id))
    return page_state(table, choice or Choice(), store=store, sessions=sessions)


def page_state(
    table: CheckpointTable,
    choice: Choice,
    *,
    store: str = "",
    sessions: Sequence[str] = (),
    selected: int | None = None,
    fork_to: str = "",
    marked: str = "",
    inside: Inside | None = None,
    compared: Compared | None = None,
    said: str = "",
    not_checked: str = "",
    empty: str = "",
    is_behind: bool = False,
) -> CheckpointState:
    """What a page of a table shows.

    Args:
        table: The checkpoints.
        choice: How they are sorted and filtered, and which page it is.
        store: What they are kept in.
        sessions: The session ids that the table is about; without them, the first of those that it has.
        selected: The place of the one that is selected.
        fork_to: The session id that a fork of it would begin.
        marked: The id of the one that is marked for a diff.
        inside: What is in the selected one, where it was read.
        compared: The diff of two of them.
        said: What came of the last action.
        not_checked: Why the verdicts are not worked out, in one sentence.
        empty: What to say of a table without checkpoints.
        is_behind: A run has saved something that is not in the table.
    """
    start, spans = table.page(choice)
    rows = tuple(_row(table, span, selected) for span in spans)
    notes = {row.note for row in rows}
    total, passed = len(table.rows), len(table.passed(choice.filter))
    every = len(table.spans(choice)) if table.is_tree(choice) else passed
    return CheckpointState(
        store=store,
        sessions=tuple(sessions) or table.sessions,
        is_new=not total and not empty,
        total=total,
        passed=passed,
        sentence=_sentence(table, passed, choice, not_checked, empty)
        + ("; a run has saved more since" if is_behind else ""),
        is_behind=is_behind,
        not_checked=not_checked,
        verdicts=table.verdicts(),
        day=table.day,
        choice=choice,
        is_tree=table.is_tree(choice),
        pages=Pages(
            start + 1 if rows else 0, start + len(rows), every, _number(table, choice), table.pages(choice)
        ),
        rows=rows,
        details=tuple(detail for detail in table.details if detail.number in notes),
        selection=None
        if selected is None
        else selection(
            table,
            selected,
            fork_to=fork_to,
            marked=marked,
            inside=inside,
            on_page=range(selected, selected + 1) in spans,
        ),
        said=said,
        compared=compared,
    )


def _number(table: CheckpointTable, choice: Choice) -> int:
    return min(max(choice.page, 1), table.pages(choice))


def _sentence(table: CheckpointTable, passed: int, choice: Choice, not_checked: str, empty: str) -> str:
    if not table.rows:
        return empty or table.sentence()
    words = f"{count(len(table.rows), 'checkpoint')}, not checked" if not_checked else table.sentence()
    return f"{words}; {passed:,} pass the filter" if choice.filter.strip() else words


def _row(table: CheckpointTable, span: Span, selected: int | None) -> Row:
    if len(span) > 1:
        return _run(table, span)
    place = span[0]
    row, judged = table.rows[place], table.judged[place]
    info = row.info
    folder, slash, node = info.path.rpartition("/")
    clock = f"{info.created:%H:%M:%S}.{info.created.microsecond // 1000:03}"
    return CheckpointRow(
        key=checkpoint_key(info),
        id=info.id,
        session=info.session_id,
        version=info.version,
        kind=info.kind,
        time=clock if table.day else f"{info.created:%Y-%m-%d} {clock[:8]}",
        folder=folder + slash,
        node=node,
        messages=info.messages,
        tokens=info.tokens,
        bytes=info.bytes,
        parent=info.parent,
        parent_missing=info.parent is not None and row.parent_row is None,
        word=judged.word,
        note=judged.number,
        left_out=info.left_out,
        selected=place == selected,
        lane=row.lane,
        up=row.parent_row is not None,
        down=row.goes_on,
        fork=row.fork,
        branches=row.branches,
        passing=row.passing,
    )


def _run(table: CheckpointTable, span: Span) -> RunRow:
    first, last, judged = table.rows[span[0]], table.rows[span[-1]], table.judged[span[0]]
    return RunRow(
        key=checkpoint_key(first.info),
        first=first.info.id,
        last=last.info.id,
        session=first.info.session_id,
        count=len(span),
        bytes=sum(table.rows[place].info.bytes for place in span),
        word=judged.word,
        note=judged.number,
        lane=first.lane,
        up=first.parent_row is not None,
        down=last.goes_on,
        passing=first.passing,
    )
