"""The lock view as text."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from koogbook.notebook.views.lock_view.picture import run_names
from koogbook.notebook.views.lock_view.queue import QueueRow
from koogbook.notebook.views.lock_view.refusal import ERROR, code_lines, remedy, what_happened, why
from koogbook.notebook.views.lock_view.rows import ERRORS, SessionRow
from koogbook.notebook.views.lock_view.state import Lane, LockState, SelectedSession
from koogbook.notebook.views.look.isolates import set_apart, unmarked
from koogbook.notebook.views.look.measure import count, duration, plain, thousands, wrapped

_ENDS = 20
_COLUMNS = 52
_MOST_REFUSALS = 3


def lock_text(state: LockState) -> str:
    """The view as ASCII text of at most 100 columns."""
    file = f"{plain(state.source, 24)}   " if state.source else ""
    lines = [f"Lock view   {file}{_ascii(state.status, 86 - len(file))}"]
    notes = [line for note in state.notes for line in wrapped(f"! {_ascii(note, 600)}")]
    if not state.total:
        return "\n".join([*lines, *notes])
    column = _span(state) / _COLUMNS
    lines += [
        "",
        f"  one column = {plain(duration(column))}   W write held   R read held   . waiting   > not over",
        *(wrapped(_ascii(zoomed(state))) if state.zoom else []),
        "",
        f"  {'context, who':<22}  {_scale(state)}",
        *_lane_lines(state, column),
    ]
    if state.queue:
        lines += ["", *_queue_lines(state)]
    if state.next_up:
        lines += wrapped(_ascii(state.next_up))
    if state.selected is not None:
        lines += ["", *_selected_lines(state.selected, state.runs)]
    if state.later is not None:
        lines += ["", *wrapped(f"Selected: {_ascii(not_yet(state.later))}")]
    lines += ["", *wrapped(f"{plain(state.counts)}.")]
    if state.waits:
        lines += wrapped(_ascii(state.waits))
    lines += notes
    for row in state.refused[:_MOST_REFUSALS]:
        lines += ["", *_refusal_lines(row)]
    if len(state.refused) > _MOST_REFUSALS:
        lines += ["", f"{len(state.refused) - _MOST_REFUSALS} more refused"]
    return "\n".join(line.rstrip() for line in lines)


def zoomed(state: LockState) -> str:
    """Which part of a long run is enlarged; empty where all of it is shown."""
    zoom = state.zoom
    if zoom is None:
        return ""
    return (
        f"Sessions {thousands(zoom.first)} to {thousands(zoom.last)} of {thousands(_in_all(state))}, "
        f"from {duration(zoom.begin)} to {duration(zoom.end)}."
    )


def _in_all(state: LockState) -> int:
    return sum(len(lane.sessions) for lane in state.whole)


def _ascii(sentence: str, length: int | None = None) -> str:
    return plain(unmarked(sentence), length)


def _refusal_lines(row: SessionRow) -> list[str]:
    lines = wrapped(f"REFUSED: {ERROR} {_ascii(what_happened(row))}", indent="")
    lines += wrapped(_ascii(why(row)))
    for word, place, mode, code in (
        ("first, still open", row.first, row.first_mode, row.first_code),
        ("second, refused", row.place, row.mode, row.code),
    ):
        lines.append(f"  {word:<17}  {plain(place, 60)}   {mode}")
        if code is not None and code.lines:
            shown = code_lines(code)
            width = len(str(shown[-1].number))
            lines += [
                f"    {'>' if line.marked else ' '}{line.number:>{width}}  {plain(line.text, 84)}"
                for line in shown
            ]
    return lines + wrapped(remedy(row))


def not_yet(row: SessionRow) -> str:
    """What is said of a selected session that the moment shown does not know."""
    who = f"{row.mode} {set_apart(row.who)} ({set_apart(row.place)})"
    return f"{who} is not asked for yet: that comes at {duration(row.opened)}."


def _lane_lines(state: LockState, column: float) -> list[str]:
    """The sessions of each lane; of many the first and the last ones, and the number of the others."""
    lanes = [_within(state, lane) for lane in state.lanes]
    runs = run_names(state.runs)
    rows = [row for lane in lanes for row in lane.sessions]
    left_out = len(rows) > 3 * _ENDS
    shown = {row.number for row in (rows[:_ENDS] + rows[-_ENDS:] if left_out else rows)}
    selected = state.selected.row.number if state.selected else None
    lines: list[str] = []
    hidden = contexts = 0

    def left() -> list[str]:
        within = f" in {count(contexts, 'more context')}" if contexts else ""
        text = f"    ... {count(hidden, 'more session')}{within} not drawn; all are in the counts below"
        return [text] if hidden else []

    for lane in lanes:
        visible = [row for row in lane.sessions if row.number in shown]
        if not visible:
            hidden, contexts = hidden + len(lane.sessions), contexts + 1
            continue
        lines += left()
        hidden = contexts = 0
        run = f"{plain(runs[lane.run], 24)}   " if lane.run in runs else ""
        lines.append(f"  {plain(lane.context, 40)}   {run}{count(len(lane.sessions), 'session')}")
        for row in lane.sessions:
            if row.number not in shown:
                hidden += 1
                continue
            lines += left()
            hidden = 0
            mark = ">" if row.number == selected else " "
            strip = _strip(row, column, _begin(state))
            lines.append(f"  {mark} {plain(row.who, 13):<13}  {row.mode:<5}  {strip}  {_outcome(row)}")
    return lines + left()


def _within(state: LockState, lane: Lane) -> Lane:
    """A lane with what it has in the part that is enlarged."""
    zoom = state.zoom
    return lane if zoom is None else replace(lane, sessions=tuple(filter(zoom.holds, lane.sessions)))


def _begin(state: LockState) -> float:
    return state.zoom.begin if state.zoom else 0.0


def _span(state: LockState) -> float:
    return state.zoom.end - state.zoom.begin if state.zoom else state.seconds


def _scale(state: LockState) -> str:
    marks = [" "] * (_COLUMNS + 12)
    begin, span = _begin(state), _span(state)
    for place in range(0, _COLUMNS, 13):
        text = plain(duration(begin + span * place / _COLUMNS))
        marks[place : place + len(text)] = text
    end = "now" if state.live and state.replay is None else plain(duration(begin + span))
    marks[_COLUMNS : _COLUMNS + len(end)] = end
    return "".join(marks)


def _strip(row: SessionRow, column: float, begin: float) -> str:
    def at(seconds: float) -> int:
        return min(max(int((seconds - begin) / column), 0), _COLUMNS - 1) if column else 0

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
    """How it ended, in 20 characters at most; capitals are for trouble."""
    word = _capitals(row)
    if row.stopped:
        word = "never closed" if row.stopped == "run" else f"{word} at end"
    return f"{word}, SLOW" if row.slow else word


def _capitals(row: SessionRow) -> str:
    return row.outcome.upper() if row.outcome in ERRORS else row.outcome


def queue_title(state: LockState) -> str:
    """When the queue was as it is shown."""
    if state.replay is not None:
        return f"At {duration(state.replay.at)}"
    return {"": "Now", "run": "At the end of the run", "trace": "At the end of the trace"}[state.stopped]


def _queue_lines(state: LockState) -> list[str]:
    lines = [
        f"  {queue_title(state)}",
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


def _selected_lines(selected: SelectedSession, runs: Sequence[str]) -> list[str]:
    row = selected.row
    name = f"{row.mode} {plain(row.who, 24)} in {plain(row.context, 24)} ({plain(row.place, 24)})"
    figures = ", ".join(f"{word} {figure}" for word, figure in session_figures(row))
    lines = wrapped(f"Selected: {name}, {row.word.replace(row.outcome, _capitals(row), 1)}", indent="")
    lines += wrapped(plain(f"session {position(selected)}: {figures}"))
    if runs:
        lines += wrapped(plain(f"run {row.run}", 90))
    if selected.waited_for:
        waits = "waits" if row.outcome == "waiting" and not row.stopped else "waited"
        lines += wrapped(_ascii(f"{waits} for {', '.join(selected.waited_for)}", 400))
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
    so_far = "" if row.over else " or more" if row.stopped else " so far"
    waits = f"{duration(row.waited)}{so_far if row.acquired is None else ''}"
    figures = [
        ("asked at", duration(row.opened)),
        ("waited", waits if row.queued else "no"),
        ("held", "never" if row.held is None else f"{duration(row.held)}{so_far}"),
    ]
    if row.outcome == "committed":
        figures += [("messages", thousands(row.messages)), ("tokens", thousands(row.tokens))]
    return figures
