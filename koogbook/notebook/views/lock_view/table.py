"""The sessions as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from koogbook.notebook.views.lock_view.marks import outcome_word
from koogbook.notebook.views.lock_view.picture import run_names
from koogbook.notebook.views.lock_view.rows import SessionRow
from koogbook.notebook.views.lock_view.state import LockState
from koogbook.notebook.views.look.controls import row_does, text_button
from koogbook.notebook.views.look.isolates import name
from koogbook.notebook.views.look.markup import Attribute, Element, h
from koogbook.notebook.views.look.measure import count, duration, thousands
from koogbook.notebook.views.look.pieces import Column, table

_SHOWN_ROWS = 40
_COLUMNS = (
    Column("who"),
    Column("session"),
    Column("context"),
    Column("code"),
    Column("asked at", True),
    Column("waited", True),
    Column("held", True),
    Column("end"),
)


def session_table(state: LockState) -> Element:
    """All sessions, or of many those with trouble and the first others; a click on a row selects its session."""
    rows = [row for lane in state.lanes for row in lane.sessions]
    left_out, trouble = len(rows) - _SHOWN_ROWS, 0
    if left_out > 0:
        zoom = state.zoom
        first = sorted(rows, key=lambda row: (zoom is not None and not zoom.holds(row), _went_well(row)))
        first = first[:_SHOWN_ROWS]
        chosen = {row.number for row in first}
        trouble = sum(not _went_well(row) for row in rows if row.number not in chosen)
        rows = [row for row in rows if row.number in chosen]
    selected = state.selected.row.number if state.selected else None
    runs = run_names(state.runs)
    return h(
        "details",
        h("summary", f"The same as a table ({count(state.total, 'session')})"),
        selectable(
            table(
                (*_COLUMNS[:3], Column("run", cls="kb-word"), *_COLUMNS[3:]) if state.runs else _COLUMNS,
                [_cells(row, runs) for row in rows],
                "Sessions by context, in the order in which they were asked for",
                lambda place: "kb-t-accent kb-picked" if rows[place].number == selected else "",
            ),
            [row.number for row in rows],
        ),
        h("p", _left_out(left_out, trouble), cls="kb-p kb-quiet") if left_out > 0 else None,
        cls="kb-more",
    )


def _went_well(row: SessionRow) -> bool:
    return row.outcome in ("committed", "ended")


def _left_out(number: int, trouble: int) -> str:
    those = f"{thousands(trouble)} of them with trouble" if trouble else "of those that went well"
    return f"{count(number, 'session')} left out here, {those}; all are counted below."


def selectable(drawn: Element, numbers: Sequence[int], select: str = "select") -> Element:
    """A table whose rows select the sessions of these numbers."""
    *before, body = drawn.children
    assert isinstance(body, Element)
    rows = [
        replace(row, live=_live(row_does(select, str(number))))
        for row, number in zip(body.children, numbers, strict=True)
        if isinstance(row, Element)
    ]
    return replace(drawn, children=(*before, replace(body, children=tuple(rows))))


def session_link(who: str, number: int, select: str = "select") -> Element:
    """The name of a session, which selects it in the live form."""
    return text_button(name(who), select, str(number))


def _live(attributes: Mapping[str, Attribute]) -> dict[str, str]:
    return dict(h("tr", live=attributes).live)


def _cells(row: SessionRow, runs: Mapping[str, str]) -> list[Element | str]:
    return [
        session_link(row.who, row.number),
        row.mode,
        name(row.context),
        *([runs.get(row.run, "-").removeprefix("run ")] if runs else []),
        h("code", name(row.place), cls="kb-code"),
        duration(row.opened),
        duration(row.waited) if row.queued else "-",
        "never" if row.held is None else duration(row.held),
        outcome_word(row),
    ]
