"""The lock view as an element: who read, wrote and waited on which LLM context."""

from __future__ import annotations

from koogbook.notebook.views.lock_view.bars import LABEL, RIGHT, WIDTH
from koogbook.notebook.views.lock_view.panel import refused_places, session_panel
from koogbook.notebook.views.lock_view.picture import lock_picture
from koogbook.notebook.views.lock_view.rows import SessionRow
from koogbook.notebook.views.lock_view.state import LockState
from koogbook.notebook.views.lock_view.table import selectable, session_link, session_table
from koogbook.notebook.views.lock_view.text import REMEDY
from koogbook.notebook.views.look.controls import button, keys, slider, tools
from koogbook.notebook.views.look.glyphs import glyph
from koogbook.notebook.views.look.markup import Element, h
from koogbook.notebook.views.look.measure import count, duration
from koogbook.notebook.views.look.pieces import (
    Column,
    frame,
    legend_word,
    pair,
    status_line,
    status_word,
    table,
)

_MOST_QUEUED = 20
_MOST_REFUSALS = 3
#: Half the thumb of a track: its middle, not its edge, stands at both ends of the time axis.
_HALF_THUMB = 8


def lock_element(state: LockState) -> Element:
    """The view as an element: lanes, queue, the selected session, what was refused and why, and all as a table."""
    status = status_line(state.status_word, state.status)
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
            name="",
            status=status,
            body=[h("div", empty, cls="kb-panel")],
            foot=state.counts,
        )
    return frame(
        icon="lock",
        title="Lock view",
        name=_name(state),
        status=status,
        body=[*_body(state, selecting=True), session_table(state)],
        foot=state.counts,
        tools=_tools(state),
        keys=_keys(state),
        spoken="the replay plays" if state.replay is not None and state.replay.playing else state.status,
    )


def lock_body(state: LockState) -> list[Element]:
    """The picture of the sessions with its legend, who holds and waits now, what was refused, the longest wait.

    For another view: nothing in it can be clicked.
    """
    return _body(state, selecting=False)


def _body(state: LockState, *, selecting: bool) -> list[Element]:
    body = [
        _legend(state),
        h("div", lock_picture(state, clickable=selecting), cls="kb-scroll"),
        h("p", "A wide picture: it scrolls sideways.", cls="kb-band kb-small kb-quiet kb-narrow"),
    ]
    if selecting and not state.goes_on and state.seconds > 0:
        body.append(_track(state))
    # Each part has its place in the live form, too, where it is not shown: what is sent for a click stays small.
    parts = [
        session_panel(state),
        _half(_queue(state, selecting)) if state.queue or state.replay is not None else None,
        _half(_refusals(state.refused)) if state.refused else None,
    ]
    shown = any(part is not None for part in parts)
    body.append(
        h(
            "div",
            *(part or h("div", cls="kb-live", live={"style": "display:none"}) for part in parts),
            cls="kb-split kb-ruled" if shown else "kb-split",
        )
    )
    body.append(h("p", state.waits, cls="kb-band kb-small kb-quiet kb-ruled"))
    return body


def _half(part: Element) -> Element:
    return h("div", part, cls="kb-half kb-panel")


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


def _track(state: LockState) -> Element:
    """The replay: under the time axis, as long as it, with the moment in words."""
    replay = state.replay
    at = state.seconds if replay is None else replay.at
    playing = replay is not None and replay.playing
    whole = f"at the end, {duration(state.seconds)}: {state.status}"
    words = state.status if replay is not None else whole
    return h(
        "div",
        h(
            "div",
            h(
                "div",
                button("\u2039", "earlier", key=",", name="Go to the session event before", off=at <= 0),
                button(
                    "Pause" if playing else "Play",
                    "play",
                    key=" ",
                    name="Pause the replay" if playing else "Play the run again",
                    on=playing,
                ),
                button("\u203a", "later", key=".", name="Go to the next session event", off=replay is None),
                style=f"display:flex;gap:4px;flex:none;width:{LABEL - 14 - _HALF_THUMB}px;padding-left:14px",
            ),
            slider("at", at, most=state.seconds, name="Moment of the replay", said=words),
            h(
                "div",
                button("End", "end", name="Leave the replay: the run as it ended", off=replay is None),
                style=f"flex:none;width:{RIGHT - _HALF_THUMB - 6}px;padding-left:6px",
            ),
            # The last button is wider than the picture's margin that it stands under.
            style=f"display:flex;align-items:center;width:{WIDTH}px;max-width:calc(100% - 32px);margin:0 auto",
        ),
        h("p", words, cls="kb-p kb-small kb-quiet", style="margin:4px 14px 0"),
        cls="kb-live",
        style="padding:6px 0;border-top:1px solid var(--kb-line2)",
    )


def _name(state: LockState) -> str:
    first, others = state.whole[0].context, len(state.whole) - 1
    return f"{first} and {count(others, 'other context')}" if others else first


def _legend(state: LockState) -> Element:
    marks = [
        pair(h("span", cls="kb-key kb-fill-accent"), "write, held"),
        pair(h("span", cls="kb-key kb-key-read"), "read, held"),
        pair(h("span", cls="kb-key kb-key-wait"), "waiting"),
    ]
    shown = {row.outcome for lane in state.whole for row in lane.sessions}
    marks += [
        legend_word(word) for word in ("committed", "discarded", "refused", "timed out") if word in shown
    ]
    return h("div", *marks, cls="kb-band kb-small kb-quiet kb-keys")


def _queue(state: LockState, selecting: bool) -> Element:
    columns = [
        Column("place"),
        Column("context"),
        Column("session"),
        Column("who"),
        Column("code"),
        Column("since", True),
    ]
    queue = state.queue
    rows = queue[:_MOST_QUEUED]
    drawn = table(
        columns,
        [
            (
                status_word("holds" if row.place == "holds" else "waiting", row.place),
                row.context,
                row.mode,
                session_link(row.who, row.number) if selecting else row.who,
                h("code", row.code, cls="kb-code"),
                duration(row.since),
            )
            for row in rows
        ],
        "Sessions that hold a lock or wait for it",
        lambda place: "kb-t-accent" if rows[place].place == "holds" else "",
    )
    more = len(queue) - len(rows)
    return h(
        "div",
        h(
            "h4",
            "Now " if state.replay is None else f"At {duration(state.replay.at)} ",
            h("span", "in the order in which the lock is given", cls="kb-small kb-quiet"),
            cls="kb-h4",
        ),
        (selectable(drawn, [row.number for row in rows]) if selecting else drawn)
        if rows
        else h("p", "Nobody holds a lock or waits for one.", cls="kb-p kb-quiet"),
        h("p", f"{count(more, 'session')} more in the queue", cls="kb-p kb-quiet") if more else None,
    )


def _refusals(refused: tuple[SessionRow, ...]) -> Element:
    more = len(refused) - _MOST_REFUSALS
    return h(
        "div",
        *(_refusal(row) for row in refused[:_MOST_REFUSALS]),
        h("p", REMEDY, cls="kb-p"),
        h("p", f"{more} more refused; the table has them.", cls="kb-p kb-quiet") if more > 0 else None,
    )


def _refusal(row: SessionRow) -> Element:
    return h(
        "div",
        h(
            "p",
            glyph("failed", "refused", tone="bad"),
            " ",
            h("strong", "NestedSessionError", cls="kb-strong"),
            f" in {row.context}, raised at once; nothing waits, nothing was committed.",
            cls="kb-text",
        ),
        refused_places(row),
        cls="kb-block",
    )
