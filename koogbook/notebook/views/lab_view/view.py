"""The lock race as an element: the figures of each lock, and below them what happened."""

from __future__ import annotations

from koogbook.notebook.views.lab_view.picture import NARROW, race_picture
from koogbook.notebook.views.lab_view.state import RaceRow, RaceState, wait
from koogbook.notebook.views.look.markup import Element, h
from koogbook.notebook.views.look.measure import thousands
from koogbook.notebook.views.look.pieces import Column, bar, frame, pair, status_line, status_word, table

_COLUMNS = (
    Column("lock", cls="kb-word"),
    Column("who", cls="kb-word"),
    Column("sessions", True),
    Column("mean wait", True),
    Column("longest wait", True),
    Column("overtaken by", True),
    Column("still waiting"),
)


def race_element(state: RaceState) -> Element:
    """The view as an element."""
    return frame(
        icon="lock",
        title="Lock race",
        name=state.name,
        status=status_line(state.status_word, state.status),
        body=[
            _table(state),
            _legend(),
            h("div", race_picture(state), cls="kb-wide"),
            h("div", race_picture(state, NARROW), cls="kb-narrow"),
            h(
                "div",
                h("p", state.terms, cls="kb-small kb-quiet", style="margin:0 0 4px"),
                h(
                    "p",
                    "What happened on one lock, to go through it again: ",
                    h("code", 'kb.locks(race.events("reader-first"))', cls="kb-code"),
                    cls="kb-small kb-quiet",
                    style="margin:0",
                ),
                cls="kb-ruled kb-band",
            ),
        ],
        foot=state.given,
    )


def _table(state: RaceState) -> Element:
    longest = max(row.longest_wait for row in state.rows)
    return h(
        "div",
        table(
            _COLUMNS,
            [_cells(row, longest) for row in state.rows],
            "Sessions and waits of the readers and the writers of each lock",
        ),
        cls="kb-scroll",
    )


def _cells(row: RaceRow, longest: float) -> list[Element | str]:
    share = row.longest_wait / longest if longest else 0.0
    still = f"{row.waiting} of {row.tasks}"
    return [
        h("span", row.lock, cls="kb-strong"),
        row.who,
        thousands(row.sessions),
        wait(row.mean_wait),
        h(
            "span",
            h("span", bar(share, "warn", 96), cls="kb-wide"),
            " ",
            h("span", wait(row.longest_wait), style="display:inline-block;min-width:72px"),
        ),
        thousands(row.overtaken),
        status_word("waiting", still) if row.starving else still,
    ]


def _legend() -> Element:
    return h(
        "div",
        pair(h("span", cls="kb-key kb-fill-accent"), "write, held"),
        pair(h("span", cls="kb-key kb-key-read"), "read, held"),
        pair(h("span", cls="kb-key kb-key-wait"), "waiting"),
        h("span", "open at the right: not over when the race ends"),
        cls="kb-band kb-small kb-quiet kb-keys",
    )
