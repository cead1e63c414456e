"""The lock view as an element: who read, wrote and waited on which LLM context."""

from __future__ import annotations

from collections.abc import Sequence

from koogbook.notebook.views.lock_view.marks import ENDED, SLOW, STOPPED, key, marked
from koogbook.notebook.views.lock_view.panel import WIDE_PART, session_panel
from koogbook.notebook.views.lock_view.picture import lock_picture
from koogbook.notebook.views.lock_view.refusal import refusal
from koogbook.notebook.views.lock_view.rows import Outcome, SessionRow, Stopped
from koogbook.notebook.views.lock_view.sheet import NARROW, WIDE
from koogbook.notebook.views.lock_view.state import WINDOW, LockState
from koogbook.notebook.views.lock_view.table import selectable, session_link, session_table
from koogbook.notebook.views.lock_view.text import queue_title
from koogbook.notebook.views.lock_view.track import enlarged, track
from koogbook.notebook.views.look.controls import button, keys, tools
from koogbook.notebook.views.look.glyphs import glyph
from koogbook.notebook.views.look.isolates import name, phrase, sentence, set_apart
from koogbook.notebook.views.look.markup import Element, h
from koogbook.notebook.views.look.measure import count, duration
from koogbook.notebook.views.look.pieces import STATES, Column, frame, heading, pair, status_glyph, table

_MOST_QUEUED = 20
_MOST_REFUSALS = 3


def lock_element(state: LockState) -> Element:
    """The view as an element: lanes, queue, the selected session, what was refused and why, and all as a table."""
    mark, tone = STATES[state.status_word]
    status = pair(glyph(mark, state.status_word, tone=tone), h("span", *sentence(state.status)))
    if not state.total:
        empty = h(
            "p",
            "Sessions appear here as soon as a node opens one: ",
            h("code", "async with ctx.llm.write_session() as session:", cls="kb-code"),
            cls="kb-p kb-quiet",
        )
        return frame(
            icon="lock",
            title="Lock view",
            name=state.source,
            status=status,
            body=[*_notes(state), h("div", empty, cls="kb-panel")],
            foot=state.counts,
        )
    return frame(
        icon="lock",
        title="Lock view",
        name=phrase(_name(state)),
        status=status,
        body=[*_body(state, select="select", whole=True), session_table(state)],
        foot=state.counts,
        tools=_tools(state),
        keys=_keys(state),
        spoken="the replay plays" if state.replay is not None and state.replay.playing else state.status,
    )


def lock_body(state: LockState, *, select: str = "", python: str = "") -> list[Element]:
    """The picture of the sessions with its legend, who holds and waits now, what was refused, the longest wait.

    For another view.

    Args:
        state: What is shown.
        select: The action of that view that selects a session; without one nothing can be clicked.
        python: The attribute of that view that gives the selected session.
    """
    return _body(state, select=select, whole=False, python=python)


def _body(state: LockState, *, select: str, whole: bool, python: str = ".selected") -> list[Element]:
    """``whole`` is the view itself, with what goes through a run that is over."""
    zoom = "zoom" if whole else ""
    body = [
        *_notes(state),
        _legend(state),
        h("div", lock_picture(state, sheet=WIDE, select=select, zoom=zoom), cls="kb-scroll kb-wide"),
        h("div", lock_picture(state, sheet=NARROW, select=select, zoom=zoom), cls="kb-scroll kb-narrow"),
    ]
    if whole and not state.goes_on and state.total > WINDOW:
        body.append(enlarged(state))
    if whole and not state.goes_on and state.seconds > 0:
        body.append(track(state))
    picked = state.selected.row.number if state.selected else None
    refused = [row for row in state.refused if row.number != picked]
    # Each part has its place in the live form, too, where it is not shown: what is sent for a click stays small.
    parts = [
        session_panel(state, steps=whole, python=python),
        _half(_queue(state, select), "flex-basis:330px") if state.queue or state.replay is not None else None,
        _half(_refusals(refused, others=len(refused) < len(state.refused)), WIDE_PART) if refused else None,
    ]
    shown = any(part is not None for part in parts)
    body.append(
        h(
            "div",
            *(part or h("div", cls="kb-live", live={"style": "display:none"}) for part in parts),
            cls="kb-split kb-ruled" if shown else "kb-split",
        )
    )
    body.append(h("p", *sentence(state.waits), cls="kb-band kb-small kb-quiet kb-ruled"))
    return body


def _half(part: Element, style: str | None = None) -> Element:
    return h("div", part, cls="kb-half kb-panel", style=style)


def _notes(state: LockState) -> list[Element]:
    """What is to be said of the file that the events come from."""
    return [
        h("div", status_glyph("warning"), h("span", *sentence(note)), cls="kb-todo") for note in state.notes
    ]


def _tools(state: LockState) -> Element:
    nothing = state.selected is None and state.later is None
    return tools(
        button(
            "Error", "error", key="e", name="Select the first error, then the next one", off=not state.errors
        ),
        button("Close", "back", key="Escape", name="Close the panel of the session", off=nothing),
    )


def _keys(state: LockState) -> Element:
    replay = [("Space", "replay"), (",", "earlier"), (".", "later")] if not state.goes_on else []
    return keys(
        ("\u2190 \u2192", "session"), ("Enter", "inspect"), *replay, ("e", "first error"), ("Esc", "leave")
    )


def _name(state: LockState) -> str:
    """The first context and how many others there are."""
    first, others = set_apart(state.whole[0].context), len(state.whole) - 1
    contexts = f"{first} and {count(others, 'other context')}" if others else first
    return f"{contexts} \u00b7 {set_apart(state.source)}" if state.source else contexts


#: What stands in the legend where it is in the picture, with the word for it.
_LEGEND: tuple[tuple[Outcome, str], ...] = (
    ("committed", "committed"),
    ("discarded", "discarded, nothing committed"),
    ("refused", "refused"),
    ("timed out", "timed out"),
    ("gave up", "gave up waiting"),
)
_LEFT_OPEN: tuple[tuple[Stopped, str], ...] = (
    ("run", "never closed"),
    ("trace", "not over when the trace ends"),
)


def _legend(state: LockState) -> Element:
    rows = [row for lane in state.whole for row in lane.sessions]
    outcomes, stopped = {row.outcome for row in rows}, {row.stopped for row in rows}
    return h(
        "div",
        pair(h("span", cls="kb-key kb-fill-accent"), "write, held"),
        pair(h("span", cls="kb-key kb-key-read"), "read, held"),
        pair(h("span", cls="kb-key kb-key-wait"), "waiting"),
        *(key(ENDED[outcome], word) for outcome, word in _LEGEND if outcome in outcomes),
        *(key(STOPPED[why], word) for why, word in _LEFT_OPEN if why in stopped),
        key(SLOW, "slow: held for long") if any(row.slow for row in rows) else None,
        cls="kb-band kb-small kb-quiet kb-keys",
    )


def _queue(state: LockState, select: str) -> Element:
    queue = state.queue
    rows = queue[:_MOST_QUEUED]
    several = len({row.context for row in queue}) > 1
    columns = [
        Column("place", cls="kb-word"),
        *([Column("context")] if several else []),
        Column("session"),
        Column("who"),
        Column("code"),
        Column("since", True),
    ]
    held = STOPPED[state.stopped] if state.stopped else STATES["holds"]
    drawn = table(
        columns,
        [
            (
                marked(held if row.holds else ENDED["asking" if row.asks else "waiting"], row.place),
                *([name(row.context)] if several else []),
                row.mode,
                session_link(row.who, row.number, select) if select else name(row.who),
                h("code", name(row.code), cls="kb-code"),
                duration(row.since),
            )
            for row in rows
        ],
        "Sessions that hold a lock or wait for it",
        lambda place: "kb-t-accent" if rows[place].holds else "",
    )
    more = len(queue) - len(rows)
    title = f"{queue_title(state)} "
    return h(
        "div",
        heading(
            title,
            h("span", "in the order in which the lock is given", cls="kb-small kb-quiet"),
        ),
        (selectable(drawn, [row.number for row in rows], select) if select else drawn)
        if rows
        else h("p", "Nobody holds a lock or waits for one.", cls="kb-p kb-quiet"),
        h("p", f"{count(more, 'session')} more in the queue", cls="kb-p kb-quiet") if more else None,
        h("p", *sentence(state.next_up), cls="kb-p kb-quiet", style="margin:10px 0 0")
        if state.next_up
        else None,
    )


def _refusals(refused: Sequence[SessionRow], *, others: bool) -> Element:
    more = len(refused) - _MOST_REFUSALS
    word = "others" if others else "more"
    return h(
        "div",
        *(refusal(row) for row in refused[:_MOST_REFUSALS]),
        h("p", f"{more} {word} refused; the table has them.", cls="kb-p kb-quiet") if more > 0 else None,
        style="display:flex;flex-direction:column;gap:20px",
    )
