"""The lock view as text."""

from __future__ import annotations

from koogbook.notebook.views.lock_view.rows import SessionRow
from koogbook.notebook.views.lock_view.state import LockState, QueueRow, SelectedSession
from koogbook.notebook.views.look.measure import count, duration, plain, thousands, wrapped

REMEDY = "Instead: hand the open session on, or open the second one after the first block has ended."

_ENDS = 20
_COLUMNS = 52
_MOST_REFUSALS = 3


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
        *_lane_lines(state, column),
    ]
    if state.queue:
        lines += ["", *_queue_lines(state)]
    if state.selected is not None:
        lines += ["", *_selected_lines(state.selected)]
    if state.later is not None:
        lines += ["", *wrapped(f"Selected: {plain(not_yet(state.later))}")]
    lines += ["", *wrapped(f"{plain(state.counts)}.")]
    if state.waits:
        lines += wrapped(plain(state.waits))
    for row in state.refused[:_MOST_REFUSALS]:
        lines += [
            "",
            f"REFUSED: NestedSessionError in {plain(row.context, 24)}, raised at once; nothing committed.",
            f"  first, still open  {plain(row.first, 60)}   {row.first_mode}",
            f"  second, refused    {plain(row.place, 60)}   {row.mode}",
            *wrapped(REMEDY),
        ]
    if len(state.refused) > _MOST_REFUSALS:
        lines += ["", f"{len(state.refused) - _MOST_REFUSALS} more refused"]
    return "\n".join(line.rstrip() for line in lines)


def not_yet(row: SessionRow) -> str:
    """What is said of a selected session that the moment shown does not know."""
    return f"{row.mode} {row.who} ({row.place}) is not asked for yet: that comes at {duration(row.opened)}."


def _lane_lines(state: LockState, column: float) -> list[str]:
    """The sessions of each lane; of many the first and the last ones, and the number of the others."""
    rows = [row for lane in state.lanes for row in lane.sessions]
    left_out = len(rows) > 3 * _ENDS
    shown = {row.number for row in (rows[:_ENDS] + rows[-_ENDS:] if left_out else rows)}
    selected = state.selected.row.number if state.selected else None
    lines: list[str] = []
    hidden = contexts = 0

    def left() -> list[str]:
        within = f" in {count(contexts, 'more context')}" if contexts else ""
        text = f"    ... {count(hidden, 'more session')}{within} not drawn; all are in the counts below"
        return [text] if hidden else []

    for lane in state.lanes:
        visible = [row for row in lane.sessions if row.number in shown]
        if not visible:
            hidden, contexts = hidden + len(lane.sessions), contexts + 1
            continue
        lines += left()
        hidden = contexts = 0
        lines.append(f"  {plain(lane.context, 40)}   {count(len(lane.sessions), 'session')}")
        for row in lane.sessions:
            if row.number not in shown:
                hidden += 1
                continue
            lines += left()
            hidden = 0
            mark = ">" if row.number == selected else " "
            lines.append(
                f"  {mark} {plain(row.who, 13):<13}  {row.mode:<5}  {_strip(row, column)}  {_outcome(row)}"
            )
    return lines + left()


def _scale(state: LockState) -> str:
    marks = [" "] * (_COLUMNS + 12)
    for place in range(0, _COLUMNS, 13):
        text = plain(duration(state.seconds * place / _COLUMNS))
        marks[place : place + len(text)] = text
    end = "now" if state.live and state.replay is None else plain(duration(state.seconds))
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


def _queue_lines(state: LockState) -> list[str]:
    lines = [
        "  Now" if state.replay is None else f"  At {plain(duration(state.replay.at))}",
        f"  {'context':<14}  {'place':<5}  {'mode':<5}  {'who':<14}  {'code':<16}  {'since':>10}  waits for",
    ]
    lines += [
        f"  {plain(row.context, 14):<14}  {row.place:<5}  {row.mode:<5}  {plain(row.who, 14):<14}  "
        f"{plain(row.code, 16):<16}  {plain(duration(row.since)):>10}  {_waits_for(row)}"
        for row in state.queue[:_ENDS]
    ]
    if len(state.queue) > _ENDS:
        lines.append(f"  ... {len(state.queue) - _ENDS} more")
    return lines


def _waits_for(row: QueueRow) -> str:
    return plain(", ".join(row.waits_for) or "-", 18)


def _selected_lines(selected: SelectedSession) -> list[str]:
    row = selected.row
    name = f"{row.mode} {plain(row.who, 24)} in {plain(row.context, 24)} ({plain(row.place, 24)})"
    figures = ", ".join(f"{word} {figure}" for word, figure in session_figures(row))
    lines = wrapped(f"Selected: {name}, {_outcome(row)}", indent="")
    lines += wrapped(plain(f"session {position(selected)}: {figures}"))
    if selected.waited_for:
        lines += wrapped(plain(f"waited for {', '.join(selected.waited_for)}", 400))
    if row.holders:
        lines += wrapped(plain(f"the lock was held by {', '.join(row.holders)}", 400))
    if row.outcome == "refused":
        lines += wrapped(plain(f"still open: {row.first_mode} session from {row.first}"))
    if row.error:
        lines += wrapped(f"error: {plain(row.error, 600)}")
    return lines


def position(selected: SelectedSession) -> str:
    """``12 of 5,000``, in the order in which they were asked for."""
    return f"{thousands(selected.position)} of {thousands(selected.total)}"


def session_figures(row: SessionRow) -> list[tuple[str, str]]:
    """Times and sizes of a session, as (word, figure)."""
    held = "never" if row.held is None else duration(row.held)
    figures = [
        ("asked at", duration(row.opened)),
        ("waited", duration(row.waited) if row.waited > 0.0005 else "no"),
        ("held", held if row.over else f"{held} so far" if row.held is not None else held),
    ]
    if row.outcome == "committed":
        figures += [("messages", thousands(row.messages)), ("tokens", thousands(row.tokens))]
    return figures
