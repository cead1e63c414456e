"""The lock race as text."""

from __future__ import annotations

from koogbook.notebook.views.lab_view.state import RaceState, RaceTask, wait
from koogbook.notebook.views.look.measure import duration, plain, thousands, wrapped

_COLUMNS = 60
_BUSY = 0.4
_HEADS = ("lock", "who", "sessions", "mean wait", "longest wait", "overtaken by", "still waiting")
_WIDTHS = (12, 8, 8, 11, 12, 12, 13)


def race_text(state: RaceState) -> str:
    """The view as ASCII text of at most 100 columns."""
    column = state.plan.seconds / _COLUMNS
    lines = [f"Lock race   {plain(state.name)}", *wrapped(plain(f"{state.status}.")), ""]
    lines += [_line(_HEADS), _line(["-" * width for width in _WIDTHS])]
    lines += [
        _line(
            [
                row.lock,
                row.who,
                thousands(row.sessions),
                wait(row.mean_wait),
                wait(row.longest_wait),
                thousands(row.overtaken),
                f"{row.waiting} of {row.tasks}",
            ]
        )
        for row in state.rows
    ]
    lines += ["", f"  one column = {plain(duration(column))}   W write held   R read held   . waiting"]
    for lane in state.lanes:
        lines += ["", f"  {lane.title}: {lane.rule}", f"  {'':<9}  {_scale(state)}  sessions  longest wait"]
        lines += [
            f"  {task.who:<9}  {_strip(task, column)}  {task.entered:>8}  {plain(wait(task.longest)):>12}"
            for task in lane.tasks
        ]
    lines += ["", *wrapped(state.terms), *wrapped(plain(state.given))]
    return "\n".join(line.rstrip() for line in lines)


def _line(cells: list[str] | tuple[str, ...]) -> str:
    """A line of the table: two columns of words, then figures at the right."""
    padded = [
        f"{cell:<{width}}" if place < 2 else f"{cell:>{width}}"
        for place, (cell, width) in enumerate(zip(map(plain, cells), _WIDTHS, strict=True))
    ]
    return "  " + "  ".join(padded)


def _scale(state: RaceState) -> str:
    marks = [" "] * _COLUMNS
    for place in range(0, _COLUMNS, _COLUMNS // 4):
        text = plain(duration(state.plan.seconds * place / _COLUMNS))
        marks[place : place + len(text)] = text
    return "".join(marks)


def _strip(task: RaceTask, column: float) -> str:
    """What the task mostly did in each column, unless that was next to nothing."""
    held, waited = [0.0] * _COLUMNS, [0.0] * _COLUMNS
    for row in task.sessions:
        acquired = row.end if row.acquired is None else row.acquired
        _add(waited, row.opened, acquired, column)
        _add(held, acquired, row.end, column)
    letter = "W" if task.mode == "write" else "R"
    return "".join(
        " " if has + waits < _BUSY else letter if has >= waits else "."
        for has, waits in zip(held, waited, strict=True)
    )


def _add(columns: list[float], start: float, end: float, column: float) -> None:
    """Add the share of each column that lies between two moments."""
    first, last = int(start / column), min(int(end / column), len(columns) - 1)
    for place in range(first, last + 1):
        columns[place] += max(min(end / column, place + 1) - max(start / column, place), 0.0)
