"""The panel of the session that is selected."""

from __future__ import annotations

from koogbook.notebook.views.lock_view.marks import outcome_word
from koogbook.notebook.views.lock_view.refusal import refusal
from koogbook.notebook.views.lock_view.rows import SessionRow
from koogbook.notebook.views.lock_view.state import LockState, SelectedSession
from koogbook.notebook.views.lock_view.text import not_yet, position, session_figures
from koogbook.notebook.views.look.controls import button
from koogbook.notebook.views.look.isolates import name, sentence, set_apart
from koogbook.notebook.views.look.markup import Element, h
from koogbook.notebook.views.look.measure import duration
from koogbook.notebook.views.look.pieces import heading, stats, status_word

#: A part with code in it takes more of the line that it stands in.
WIDE_PART = "flex:2 1 620px"
_MOST_NAMES = 12


def session_panel(state: LockState, *, steps: bool = True, python: str = ".selected") -> Element | None:
    """All about the selected session; None where none is selected.

    Args:
        state: What is shown.
        steps: Whether there are buttons for the session before and after it.
        python: The attribute of the view that gives the session.
    """
    if state.later is not None:
        return h(
            "div",
            _head(state.later.who, status_word("not reached", "not yet"), None),
            h("p", *sentence(not_yet(state.later)), cls="kb-p kb-quiet"),
            cls="kb-half kb-panel",
        )
    if state.selected is None:
        return None
    row = state.selected.row
    return h(
        "div",
        _head(row.who, outcome_word(row), state.selected if steps else None),
        h(
            "p",
            f"{row.mode} session {position(state.selected)} \u00b7 ",
            name(row.context),
            " \u00b7 ",
            h("code", name(row.place), cls="kb-code"),
            " \u00b7 " if state.runs else None,
            h("code", f"run {row.run}", cls="kb-code") if state.runs else None,
            cls="kb-p kb-small kb-quiet",
        ),
        h("div", stats(session_figures(row)), cls="kb-block"),
        *_facts(row, state.selected.waited_for, state.selected.waited_for_more),
        h("div", refusal(row), cls="kb-block") if row.outcome == "refused" else None,
        h(
            "div",
            heading("Error"),
            h("pre", row.error, cls="kb-pre kb-bad", dir="auto"),
            cls="kb-block",
            style="margin-top:14px",
        )
        if row.error
        else None,
        h(
            "p",
            "in Python: the view's ",
            h("code", python, cls="kb-code"),
            cls="kb-p kb-small kb-quiet kb-live",
        ),
        cls="kb-half kb-panel",
        style=WIDE_PART if row.outcome == "refused" else None,
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
        h("strong", name(who), cls="kb-panel-title"),
        outcome,
        steps,
        cls="kb-pair kb-panel-head",
        style="display:flex;flex-wrap:wrap",
    )


def _facts(row: SessionRow, waited_for: tuple[str, ...], more: int) -> list[Element]:
    facts: list[tuple[str, str]] = []
    if waited_for:
        more += max(len(waited_for) - _MOST_NAMES, 0)
        names = ", ".join(waited_for[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
        waits = row.outcome == "waiting" and not row.stopped
        facts.append(("waits for " if waits else "waited for ", names))
    if row.holders:
        facts.append(("the lock was held by ", ", ".join(map(set_apart, row.holders))))
    if row.slow:
        facts.append(("held for long: ", f"over {duration(row.slow)} when that was reported"))
    if row.outcome == "discarded":
        facts.append(("nothing was committed: ", "the prompt is what it was before"))
    if row.outcome == "gave up":
        facts.append(("left the queue: ", "it never had the lock"))
    if row.stopped == "trace":
        facts.append(("the trace ends here: ", "what became of it is not known"))
    if row.stopped == "run":
        facts.append(("the run ended before it: ", "the lock was not given back by then"))
    return [
        h("p", h("span", word, cls="kb-quiet"), h("span", *sentence(text)), cls="kb-p")
        for word, text in facts
    ]
