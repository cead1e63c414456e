"""The picture of a lock race: a lane for each lock, a row for each reader and writer, all on one time axis."""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import replace

from koogbook.notebook.views.lab_view.marks import held_bars, waiting_bars
from koogbook.notebook.views.lab_view.state import RaceLane, RaceState, RaceTask, wait
from koogbook.notebook.views.look.markup import Element, h, number
from koogbook.notebook.views.look.measure import count
from koogbook.notebook.views.look.pieces import picture


class Sheet(Struct, frozen=True, kw_only=True):
    """Measures of a picture in px: where its time axis begins and ends, and where the figures of a row end.

    Without ``sessions`` it has no room for how often each one entered. ``ticks`` is how many the axis has at most,
    ``most`` how wide the picture may be shown.
    """

    width: int
    left: int
    right: int
    sessions: int | None
    longest: int
    ticks: int
    most: int


WIDE = Sheet(width=940, left=92, right=772, sessions=846, longest=926, ticks=10, most=1081)
NARROW = Sheet(width=600, left=80, right=510, sessions=None, longest=588, ticks=5, most=760)

_ROW, _AXIS, _HEAD, _GAP, _PAD = 20, 28, 32, 6, 8
_NICE = (1, 2, 5)
#: With more tasks or more sessions than this the bars are coarse: a picture of many stays small enough to be saved.
_FEW_TASKS, _FEW_SESSIONS = 16, 300


def race_picture(state: RaceState, sheet: Sheet = WIDE) -> Element:
    """The lanes as an ``svg`` element, as wide as there is room for it."""
    drawing = _Drawing(state, sheet)
    shapes: list[Element] = []
    y = float(_AXIS)
    for place, lane in enumerate(state.lanes):
        drawn, height = drawing.lane(lane)
        ground = h("rect", x=0, y=0, width=sheet.width, height=height, fill="var(--kb-sunk)")
        shapes.append(h("g", None if place % 2 else ground, *drawn, transform=f"translate(0 {number(y)})"))
        y += height
    whole = picture(sheet.width, y, "Lock race", f"{state.name}. {state.status}.", *drawing.axis(), *shapes)
    # On a page that is written from right to left the picture stays as it is.
    attributes = {"style": f"width:100%;max-width:{sheet.most}px;height:auto", "direction": "ltr"}
    return replace(whole, attributes={**whole.attributes, **attributes})


class _Drawing:
    def __init__(self, state: RaceState, sheet: Sheet) -> None:
        plan = state.plan
        self._sheet = sheet
        self._seconds = plan.seconds
        self._coarse = plan.readers + plan.writers > _FEW_TASKS or plan.expected_sessions > _FEW_SESSIONS
        self._step = _tick_step(plan.seconds, sheet.ticks)
        self._ticks = [place * self._step for place in range(int(plan.seconds / self._step + 1e-9) + 1)]

    def x(self, seconds: float) -> float:
        """Where a moment stands."""
        sheet = self._sheet
        return round(sheet.left + (sheet.right - sheet.left) * seconds / self._seconds, 1)

    def axis(self) -> list[Element]:
        """The times over the lanes, and the heads of the figures."""
        sheet = self._sheet
        marks = []
        for tick in self._ticks:
            x = self.x(tick)
            anchor = "start" if not tick else "end" if sheet.right - x < 8 else "middle"
            marks.append(_text(_tick_text(tick, self._step), x, 18, anchor=anchor))
        return [*marks, *self._figures("sessions", "longest wait", 18)]

    def lane(self, lane: RaceLane) -> tuple[list[Element], float]:
        """One lock: its name and rule, then the readers, then the writers; and the height of that."""
        rows: list[Element] = []
        y = float(_HEAD)
        for place, task in enumerate(lane.tasks):
            if place and task.mode != lane.tasks[place - 1].mode:
                y += _GAP
            rows.append(h("g", *self._row(task), transform=f"translate(0 {number(y)})"))
            y += _ROW
        down = f"{_HEAD - 4}V{number(y + 2)}"
        head = h(
            "text",
            h("tspan", lane.title, font_size=12.5, font_weight=600, fill="var(--kb-ink)"),
            h("tspan", lane.rule, dx=8),
            x=14,
            y=20,
            font_size=11,
            fill="var(--kb-ink2)",
        )
        grid = "".join(f"M{number(self.x(tick))} {down}" for tick in self._ticks)
        end = h("path", d=f"M{self._sheet.right} {down}", stroke="var(--kb-line)")
        return [head, h("path", d=grid, stroke="var(--kb-line2)"), end, *rows], y + _PAD

    def _row(self, task: RaceTask) -> list[Element]:
        """A reader or a writer: its name, its waits and holds, how often it entered and how long it waited at most."""
        spans = [
            (self.x(row.opened), self.x(row.end if row.acquired is None else row.acquired), row)
            for row in task.sessions
        ]
        waits = [(x, held, row.outcome == "waiting") for x, held, row in spans if row.waited > 0]
        holds = [
            (held, self.x(row.end), row.outcome == "open")
            for _, held, row in spans
            if row.acquired is not None
        ]
        words = f"{task.who}: {count(task.entered, 'session')}, longest wait {wait(task.longest)}"
        return [
            h("title", words),
            _text(task.who, 14, 14, fill="var(--kb-ink)"),
            *waiting_bars(waits, coarse=self._coarse),
            *held_bars(holds, task.mode, coarse=self._coarse),
            *self._figures(
                str(task.entered),
                wait(task.longest),
                14,
                fill="var(--kb-ink)",
                tone="var(--kb-warn)" if task.overtaken else "",
            ),
        ]

    def _figures(
        self, sessions: str, longest: str, y: float, *, fill: str = "var(--kb-ink2)", tone: str = ""
    ) -> list[Element]:
        """The end of a row, or its heads; with a tone the longest wait is one to look at."""
        sheet = self._sheet
        shown = [
            _text(longest, sheet.longest, y, anchor="end", fill=tone or fill, weight=600 if tone else None)
        ]
        if sheet.sessions is not None:
            shown.insert(0, _text(sessions, sheet.sessions, y, anchor="end", fill=fill))
        return shown


def _text(
    text: str,
    x: float,
    y: float,
    *,
    anchor: str = "start",
    fill: str = "var(--kb-ink2)",
    weight: int | None = None,
) -> Element:
    return h("text", text, x=x, y=y, font_size=11, fill=fill, text_anchor=anchor, font_weight=weight)


def _tick_step(seconds: float, most: int) -> float:
    """The distance of ticks: a round number, so that there are not too many."""
    power = 10.0 ** math.floor(math.log10(seconds / most))
    return next((nice * power for nice in _NICE if seconds / (nice * power) <= most + 1e-9), 10 * power)


def _tick_text(tick: float, step: float) -> str:
    if step < 0.1:
        return f"{tick * 1000:,.{0 if step >= 0.00099 else 1}f} ms"
    return f"{tick:,.{0 if step >= 1 else 1}f} s"
