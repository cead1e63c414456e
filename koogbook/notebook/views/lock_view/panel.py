"""The panel of the session that is selected."""

from __future__ import annotations

from koogbook.events import SessionMode
from koogbook.notebook.views.lock_view.rows import Outcome, SessionRow
from koogbook.notebook.views.lock_view.state import LockState, SelectedSession
from koogbook.notebook.views.lock_view.text import not_yet, position, session_figures
from koogbook.notebook.views.look.controls import button
from koogbook.notebook.views.look.glyphs import glyph
from koogbook.notebook.views.look.markup import Element, h
from koogbook.notebook.views.look.measure import duration
from koogbook.notebook.views.look.pieces import stats, status_word

#: The word of the mark that stands before an outcome.
MARKS: dict[Outcome, str] = {
    "committed": "committed",
    "discarded": "discarded",
    "ended": "done",
    "open": "open",
    "waiting": "waiting",
    "refused": "refused",
    "timed out": "timed out",
    "gave up": "skipped",
}
_MOST_NAMES = 12


def session_panel(state: LockState) -> Element | None:
    """All about the selected session; None where none is selected."""
    if state.later is not None:
        return h(
            "div",
            _head(state.later.who, status_word("not reached", "not yet"), None),
            h("p", not_yet(state.later), cls="kb-p kb-quiet"),
            cls="kb-half kb-panel",
        )
    if state.selected is None:
        return None
    row = state.selected.row
    return h(
        "div",
        _head(row.who, status_word(MARKS[row.outcome], row.outcome), state.selected),
        h(
            "p",
            f"{row.mode} session {position(state.selected)} \u00b7 {row.context} \u00b7 ",
            h("code", row.place, cls="kb-code"),
            cls="kb-p kb-small kb-quiet",
        ),
        h("div", stats(session_figures(row)), cls="kb-block"),
        *_facts(row, state.selected.waited_for),
        refused_places(row) if row.outcome == "refused" else None,
        h(
            "div",
            h("h4", "Error", cls="kb-h4"),
            h("pre", row.error, cls="kb-pre kb-bad"),
            cls="kb-block",
        )
        if row.error
        else None,
        h(
            "p",
            "in Python: ",
            h("code", "view.selected", cls="kb-code"),
            cls="kb-p kb-small kb-quiet kb-live",
        ),
        cls="kb-half kb-panel",
    )


def _head(who: str, outcome: Element, selected: SelectedSession | None) -> Element:
    steps = (
        h(
            "div",
            button(
                "Previous",
                "previous",
                key="[",
                off=selected.position == 1,
                name="Select the session that was asked for before",
            ),
            button(
                "Next",
                "next",
                key="]",
                off=selected.position == selected.total,
                name="Select the session that was asked for next",
            ),
            cls="kb-tools kb-push kb-live",
        )
        if selected
        else None
    )
    return h(
        "div",
        h("strong", who, cls="kb-panel-title"),
        outcome,
        steps,
        cls="kb-pair kb-panel-head",
        style="display:flex;flex-wrap:wrap",
    )


def _facts(row: SessionRow, waited_for: tuple[str, ...]) -> list[Element]:
    facts: list[tuple[str, str]] = []
    if waited_for:
        more = len(waited_for) - _MOST_NAMES
        names = ", ".join(waited_for[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
        facts.append(("waits for " if row.outcome == "waiting" else "waited for ", names))
    if row.holders:
        facts.append(("the lock was held by ", ", ".join(row.holders)))
    if row.slow:
        facts.append(("held for long: ", f"over {duration(row.slow)}"))
    if row.outcome == "discarded":
        facts.append(("nothing was committed: ", "the prompt is what it was before"))
    if row.outcome == "gave up":
        facts.append(("left the queue: ", "it never had the lock"))
    return [h("p", h("span", word, cls="kb-quiet"), h("span", text), cls="kb-p") for word, text in facts]


def refused_places(row: SessionRow) -> Element:
    """Both places of a nested session: the one that is still open, and the one that was refused."""
    return h(
        "div",
        _place("lock", "first, still open", row.first_mode, row.first, ""),
        _place("failed", "second, refused", row.mode, row.place, "bad"),
        cls="kb-box kb-places",
    )


def _place(mark: str, word: str, mode: SessionMode, place: str, tone: str) -> Element:
    return h(
        "div",
        glyph(mark, tone=tone or "accent"),
        h("span", word, cls="kb-strong"),
        h("span", f"{mode} session", cls="kb-quiet"),
        h("code", place or "unknown place", cls="kb-code kb-push"),
        cls="kb-row",
    )
