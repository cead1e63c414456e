"""The lock view: who read, wrote and waited on which LLM context, as text, as HTML and as a picture."""

from __future__ import annotations

from koogbook.notebook.views.lock_view.picture import lock_picture
from koogbook.notebook.views.lock_view.state import LockState, Outcome, QueueRow, SessionRow, lock_state
from koogbook.notebook.views.look.glyphs import glyph
from koogbook.notebook.views.look.markup import Element, h
from koogbook.notebook.views.look.measure import count, duration, plain, thousands, wrapped
from koogbook.notebook.views.look.pieces import (
    Column,
    frame,
    legend_word,
    pair,
    status_line,
    status_word,
    table,
)

__all__ = ["lock_body", "lock_element", "lock_state", "lock_text"]

_ENDS = 20
_COLUMNS = 52
_MOST_REFUSALS = 3
_SHOWN_ROWS = 40
_REMEDY = "Instead: hand the open session on, or open the second one after the first block has ended."

_MARKS: dict[Outcome, str] = {
    "committed": "committed",
    "discarded": "discarded",
    "ended": "done",
    "open": "open",
    "waiting": "waiting",
    "refused": "refused",
    "timed out": "timed out",
    "gave up": "skipped",
}


# ------------------------------------------------------------------------------------------- text


def lock_text(state: LockState) -> str:
    """The view as ASCII text of at most 100 columns."""
    lines = [f"Lock view   {plain(state.status, 86)}"]
    if not state.total:
        return lines[0]
    column = state.seconds / _COLUMNS
    lines += [
        "",
        f"  one column = {plain(duration(column))}   W write held   R read held   . waiting   > not over",
        "",
        f"  {'context, who':<22}  {_scale(state)}",
    ]
    rows = [row for lane in state.lanes for row in lane.sessions]
    left_out = len(rows) - 2 * _ENDS if len(rows) > 3 * _ENDS else 0
    shown = {row.number for row in (rows[:_ENDS] + rows[-_ENDS:] if left_out else rows)}
    for lane in state.lanes:
        lines.append(f"  {plain(lane.context, 40)}   {count(len(lane.sessions), 'session')}")
        hidden = sum(row.number not in shown for row in lane.sessions)
        for row in lane.sessions:
            if row.number in shown:
                strip = _strip(row, column)
                lines.append(f"    {plain(row.who, 13):<13}  {row.mode:<5}  {strip}  {_outcome(row)}")
            elif hidden:
                lines.append(
                    f"    ... {thousands(hidden)} more sessions not drawn; all are in the counts below"
                )
                hidden = 0
    if state.queue:
        lines += ["", *_queue_lines(state.queue)]
    lines += ["", *wrapped(f"{plain(state.counts)}.")]
    if state.waits:
        lines += wrapped(plain(state.waits))
    for row in state.refused[:_MOST_REFUSALS]:
        lines += [
            "",
            f"REFUSED: NestedSessionError in {plain(row.context, 24)}, raised at once; nothing committed.",
            f"  first, still open  {plain(row.first, 60)}   {row.first_mode}",
            f"  second, refused    {plain(row.place, 60)}   {row.mode}",
            *wrapped(_REMEDY),
        ]
    if len(state.refused) > _MOST_REFUSALS:
        lines += ["", f"{len(state.refused) - _MOST_REFUSALS} more refused"]
    return "\n".join(line.rstrip() for line in lines)


def _scale(state: LockState) -> str:
    marks = [" "] * (_COLUMNS + 12)
    for place in range(0, _COLUMNS, 13):
        text = plain(duration(state.seconds * place / _COLUMNS))
        marks[place : place + len(text)] = text
    end = "now" if state.live else plain(duration(state.seconds))
    marks[_COLUMNS : _COLUMNS + len(end)] = end
    return "".join(marks)


def _strip(row: SessionRow, column: float) -> str:
    def at(seconds: float) -> int:
        return min(int(seconds / column), _COLUMNS - 1) if column else 0

    line = [" "] * (_COLUMNS + 1)
    held_from = at(row.end if row.acquired is None else row.acquired)
    if row.waited > 0:
        line[at(row.opened) : held_from + (row.acquired is None)] = "." * (
            held_from + (row.acquired is None) - at(row.opened)
        )
    if row.acquired is not None:
        letter = "W" if row.mode == "write" else "R"
        end = max(at(row.end), held_from)
        line[held_from : end + 1] = letter * (end + 1 - held_from)
    if row.outcome == "refused":
        line[at(row.end)] = "X"
    if not row.over:
        line[at(row.end) + 1] = ">"
    return "".join(line)


def _outcome(row: SessionRow) -> str:
    return row.outcome.upper() if row.outcome in ("refused", "timed out", "discarded") else row.outcome


def _queue_lines(queue: tuple[QueueRow, ...]) -> list[str]:
    lines = [
        "  Now",
        f"  {'context':<14}  {'place':<5}  {'mode':<5}  {'who':<14}  {'code':<16}  {'since':>10}  waits for",
    ]
    lines += [
        f"  {plain(row.context, 14):<14}  {row.place:<5}  {row.mode:<5}  {plain(row.who, 14):<14}  "
        f"{plain(row.code, 16):<16}  {plain(duration(row.since)):>10}  {_waits_for(row)}"
        for row in queue[:_ENDS]
    ]
    if len(queue) > _ENDS:
        lines.append(f"  ... {len(queue) - _ENDS} more")
    return lines


def _waits_for(row: QueueRow) -> str:
    return plain(", ".join(row.waits_for) or "-", 18)


# ------------------------------------------------------------------------------------------- HTML


def lock_element(state: LockState) -> Element:
    """The view as an element: lanes, queue, what was refused and why, and all sessions as a table."""
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
        body=[*lock_body(state), _sessions(state)],
        foot=state.counts,
    )


def lock_body(state: LockState) -> list[Element]:
    """The picture of the sessions with its legend, who holds and waits now, what was refused, the longest wait."""
    body = [
        _legend(state),
        h("div", lock_picture(state), cls="kb-scroll"),
        h("p", "A wide picture: it scrolls sideways.", cls="kb-band kb-small kb-quiet kb-narrow"),
    ]
    parts = [_queue(state.queue)] if state.queue else []
    parts += [_refusals(state.refused)] if state.refused else []
    if parts:
        body.append(
            h("div", *(h("div", part, cls="kb-half kb-panel") for part in parts), cls="kb-split kb-ruled")
        )
    body.append(h("p", state.waits, cls="kb-band kb-small kb-quiet kb-ruled"))
    return body


def _name(state: LockState) -> str:
    first, others = state.lanes[0].context, len(state.lanes) - 1
    return f"{first} and {count(others, 'other context')}" if others else first


def _legend(state: LockState) -> Element:
    marks = [
        pair(h("span", cls="kb-key kb-fill-accent"), "write, held"),
        pair(h("span", cls="kb-key kb-key-read"), "read, held"),
        pair(h("span", cls="kb-key kb-key-wait"), "waiting"),
    ]
    shown = {row.outcome for lane in state.lanes for row in lane.sessions}
    marks += [
        legend_word(word) for word in ("committed", "discarded", "refused", "timed out") if word in shown
    ]
    return h("div", *marks, cls="kb-band kb-small kb-quiet kb-keys")


def _queue(queue: tuple[QueueRow, ...]) -> Element:
    columns = [
        Column("place"),
        Column("context"),
        Column("session"),
        Column("who"),
        Column("code"),
        Column("since", True),
    ]
    rows = queue[:_ENDS]
    return h(
        "div",
        h(
            "h4",
            "Now ",
            h("span", "in the order in which the lock is given", cls="kb-small kb-quiet"),
            cls="kb-h4",
        ),
        table(
            columns,
            [
                (
                    status_word("holds" if row.place == "holds" else "waiting", row.place),
                    row.context,
                    row.mode,
                    row.who,
                    h("code", row.code, cls="kb-code"),
                    duration(row.since),
                )
                for row in rows
            ],
            "Sessions that hold a lock or wait for it",
            lambda place: "kb-t-accent" if rows[place].place == "holds" else "",
        ),
        h("p", f"{len(queue) - _ENDS} more wait", cls="kb-p kb-quiet") if len(queue) > _ENDS else None,
    )


def _refusals(refused: tuple[SessionRow, ...]) -> Element:
    more = len(refused) - _MOST_REFUSALS
    return h(
        "div",
        *(_refusal(row) for row in refused[:_MOST_REFUSALS]),
        h("p", _REMEDY, cls="kb-p"),
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
        h(
            "div",
            _place("lock", "first, still open", row.first_mode, row.first, ""),
            _place("failed", "second, refused", row.mode, row.place, "bad"),
            cls="kb-box kb-places",
        ),
        cls="kb-block",
    )


def _place(mark: str, word: str, mode: str, place: str, tone: str) -> Element:
    return h(
        "div",
        glyph(mark, tone=tone or "accent"),
        h("span", word, cls="kb-strong"),
        h("span", f"{mode} session", cls="kb-quiet"),
        h("code", place or "unknown place", cls="kb-code kb-push"),
        cls="kb-row",
    )


def _sessions(state: LockState) -> Element:
    rows = [row for lane in state.lanes for row in lane.sessions]
    left_out = len(rows) - _SHOWN_ROWS
    if left_out > 0:
        first = sorted(rows, key=lambda row: row.outcome in ("committed", "ended"))[:_SHOWN_ROWS]
        chosen = {row.number for row in first}
        rows = [row for row in rows if row.number in chosen]
    columns = [
        Column("who"),
        Column("session"),
        Column("context"),
        Column("code"),
        Column("asked at", True),
        Column("waited", True),
        Column("held", True),
        Column("end"),
    ]
    return h(
        "details",
        h("summary", f"The same as a table ({count(state.total, 'session')})"),
        table(
            columns,
            [
                (
                    row.who,
                    row.mode,
                    row.context,
                    h("code", row.place, cls="kb-code"),
                    duration(row.opened),
                    duration(row.waited) if row.waited > 0.0005 else "-",
                    "never" if row.acquired is None else duration(row.end - row.acquired),
                    status_word(_MARKS[row.outcome], row.outcome),
                )
                for row in rows
            ],
            "Sessions by context, in the order in which they were asked for",
        ),
        h(
            "p",
            f"{count(left_out, 'session')} left out here, of those that went well; all are counted below.",
            cls="kb-p kb-quiet",
        )
        if left_out > 0
        else None,
        cls="kb-more",
    )
