"""The picture of the sessions on a time axis: one lane per LLM context."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from koogbook.notebook.views.lock_view.bars import BAR, ROW, reach, session_bar
from koogbook.notebook.views.lock_view.overview import overview
from koogbook.notebook.views.lock_view.rows import ERRORS, SessionRow
from koogbook.notebook.views.lock_view.sheet import WIDE, Sheet
from koogbook.notebook.views.lock_view.state import WINDOW, Lane, LockState
from koogbook.notebook.views.lock_view.strip import strip
from koogbook.notebook.views.look.isolates import name as own
from koogbook.notebook.views.look.isolates import turned
from koogbook.notebook.views.look.markup import Element, h, number, one_line
from koogbook.notebook.views.look.measure import count, cut_middle, duration, fit, text_width
from koogbook.notebook.views.look.pieces import picture

#: More contexts than this have no lane of their own, except for those in which something went wrong.
MOST_LANES = 24
_LONGEST_WAITS, _LONGEST_WAITS_OF_MANY = 8, 2
_REPLAY_ROWS = 3

_AXIS, _PAD, _HEAD = 28, 8, 27
_NICE = (1, 2, 4, 5)


def lock_picture(state: LockState, *, sheet: Sheet = WIDE, select: str = "", zoom: str = "") -> Element:
    """The lanes as an ``svg`` element.

    In a replay each bar stands where it stands at the end of the run, so that the picture keeps its size.

    Args:
        state: What is drawn.
        sheet: Its measures.
        select: The action that selects a session by a click on its bar; without one no bar can be clicked.
        zoom: The action that enlarges a part of a long run.
    """
    drawing = _Drawing(state, sheet, select)
    shapes: list[Element] = []
    top = 0.0
    above: list[Element] = []
    if not state.goes_on and state.total > WINDOW:
        above, top = overview(state, sheet, zoom)
    y = top + _AXIS
    bands: list[tuple[float, float]] = []
    lanes = drawing.lanes
    for place, lane in enumerate(lanes):
        paper = "var(--kb-paper)" if place % 2 else "var(--kb-sunk)"
        drawn, height = drawing.lane(lane, paper)
        ground = h("rect", x=0, y=0, width=sheet.width, height=height, fill=paper) if place % 2 == 0 else None
        shapes.append(
            h(
                "g",
                ground,
                *drawing.lane_head(lane),
                drawing.grid(height),
                h("g", *drawn),
                # A lane that grows moves the others, and changes nothing in them.
                transform=f"translate(0 {number(y)})",
            )
        )
        bands.append((y, y + height))
        y += height
    below, rest = y, h("g")
    if drawing.left_out:
        rest = h("text", drawing.left_out, x=14, y=y + 17, font_size=11, fill="var(--kb-ink2)")
        below += 26
    drawn_picture = picture(
        sheet.width,
        below,
        "Lock view",
        f"{state.status}. {state.counts}. {state.waits}",
        h("g", *above),
        h("g", *drawing.axis(top)),
        h("g", *shapes),
        rest,
        h("g", *drawing.moment(top, bands)),
    )
    # On a page that is written from right to left the picture stays as it is.
    attributes = {**drawn_picture.attributes, "style": sheet.style, "direction": "ltr"}
    return replace(drawn_picture, attributes=attributes)


def _shown(state: LockState) -> list[Lane]:
    """The lanes that are drawn: all, or of too many the first ones with trouble, then the first others."""
    lanes = [lane for lane in state.whole if _within(state, lane.sessions)]
    if len(lanes) <= MOST_LANES:
        return lanes
    first = sorted(range(len(lanes)), key=lambda place: (not _needs_a_look(lanes[place]), place))
    chosen = sorted(first[:MOST_LANES])
    # The lane of the selection comes last, so that nothing moves for it.
    selected = state.selected.row if state.selected else None
    for place in first[MOST_LANES:]:
        if selected is not None and (lanes[place].context, lanes[place].run) == (
            selected.context,
            selected.run,
        ):
            chosen.append(place)
    return [lanes[place] for place in chosen]


def _within(state: LockState, sessions: Sequence[SessionRow]) -> list[SessionRow]:
    """The sessions of which something lies in the part that is enlarged."""
    zoom = state.zoom
    return list(sessions) if zoom is None else [row for row in sessions if zoom.holds(row)]


def _needs_a_look(lane: Lane) -> bool:
    return any(row.outcome in ERRORS or not row.over for row in lane.sessions)


def run_names(runs: Sequence[str]) -> dict[str, str]:
    """The runs by short names: as many letters as tell them apart, six at least."""
    length = 6
    while len({run[:length] for run in runs}) < len(runs):
        length += 1
    return {run: f"run {run[:length]}" for run in runs}


class _Drawing:
    def __init__(self, state: LockState, sheet: Sheet, select: str) -> None:
        self._state = state
        self._sheet = sheet
        self._select = select
        self._selected = state.selected.row.number if state.selected else None
        self._begin = state.zoom.begin if state.zoom else 0.0
        self._seconds = ((state.zoom.end if state.zoom else state.seconds) - self._begin) or 0.001
        self._scale = sheet.axis / self._seconds
        self._step = _tick_step(self._seconds, sheet.ticks)
        self._runs = run_names(state.runs)
        #: In a replay the sessions as they were then, by number; else None.
        self._then = (
            {row.number: row for lane in state.lanes for row in lane.sessions} if state.replay else None
        )
        self.lanes = _shown(state)
        # Beside its own sessions an enlarged part has those that reach into it.
        self._most_bars = 2 * WINDOW if state.zoom else sheet.most_bars
        bars = sum(min(len(_within(state, lane.sessions)), self._most_bars) for lane in self.lanes)
        self._many = bars > sheet.most_in_all
        self._explained = False

    def x(self, seconds: float) -> float:
        """Where a moment stands; one outside of the part that is enlarged stands at its edge."""
        place = min(max(seconds - self._begin, 0.0), self._seconds)
        return round(self._sheet.left + place * self._scale, 1)

    @property
    def left_out(self) -> str:
        """What is said of the contexts that have no lane."""
        lanes = self._state.whole
        number = len(lanes) - len(self.lanes)
        if not number:
            return ""
        drawn = sum(len(lane.sessions) for lane in self.lanes)
        sessions = sum(len(lane.sessions) for lane in lanes) - drawn
        return (
            f"{count(number, 'more context')} with {count(sessions, 'session')} "
            f"{'is' if number == 1 else 'are'} not drawn; all are in the counts below"
        )

    def axis(self, top: float) -> list[Element]:
        """The times over the lanes; those that would run into the mark of the moment are left out."""
        moment = self._moment()
        marks = []
        for tick in self._ticks():
            x = self.x(tick)
            if moment is not None and abs(moment[0] - x) < 28 + moment[2] / 2:
                continue
            marks.append(
                h(
                    "text",
                    _tick_text(tick, self._step),
                    x=x,
                    y=top + 18,
                    font_size=11,
                    fill="var(--kb-ink2)",
                    text_anchor="middle" if x > self._sheet.left + 1 else "start",
                )
            )
        return marks

    def grid(self, height: float) -> Element:
        """The lines of the ticks through one lane."""
        top = 0 if self._sheet.beside else _HEAD - 4
        lines = "".join(f"M{number(self.x(tick))} {top}V{number(height)}" for tick in self._ticks())
        return h("path", d=lines, stroke="var(--kb-line2)")

    def moment(self, top: float, bands: Sequence[tuple[float, float]]) -> list[Element]:
        """The line of now, while something is not over, or of the moment that a replay shows.

        ``bands`` are the top and the bottom of each lane.
        """
        moment = self._moment()
        if moment is None:
            return []
        x, word, width = moment
        middle = max(x, width / 2 + 2)  # The word does not leave the picture.
        axis = top + _AXIS
        # Where the names stand above the lanes, the line leaves them out as the grid does.
        parts = (
            [(top + 22, max((bottom for _, bottom in bands), default=axis))]
            if self._sheet.beside
            else [(top + 22, axis), *((above + _HEAD - 4, bottom) for above, bottom in bands)]
        )
        return [
            h(
                "path",
                d="".join(f"M{number(x)} {number(start)}V{number(end)}" for start, end in parts),
                stroke="var(--kb-accent)",
                stroke_width=1.5,
            ),
            h(
                "rect",
                x=middle - width / 2,
                y=top + 5,
                width=width,
                height=17,
                rx=8.5,
                fill="var(--kb-accent)",
            ),
            h(
                "text",
                word,
                x=middle,
                y=top + 17.5,
                font_size=11,
                fill="var(--kb-paper)",
                text_anchor="middle",
            ),
        ]

    def _moment(self) -> tuple[float, str, float] | None:
        """Where the line stands, the word on it, and the width of that."""
        if self._state.replay is not None:
            at = self._state.replay.at
            if not self._begin <= at <= self._begin + self._seconds:
                return None
            word = duration(at)
            return self.x(at), word, round(text_width(word, 11) + 14)
        return (self.x(self._state.seconds), "now", 36) if self._state.live else None

    def lane_head(self, lane: Lane) -> list[Element]:
        """Name of the context and number of its sessions, and the run where there are several."""
        sheet = self._sheet
        below = [
            *([self._runs[lane.run]] if lane.run in self._runs else []),
            count(len(lane.sessions), "session"),
        ]
        small: dict[str, Any] = {"font_size": 11, "font_weight": 400, "fill": "var(--kb-ink2)"}
        joined = " \u00b7 ".join(below)
        room = sheet.left - 24 if sheet.beside else sheet.axis - 20 - text_width(joined, 11)
        shown = fit(cut_middle(one_line(lane.context)), room, 12.5, bold=True)
        direction = turned(shown)
        follows = not sheet.beside and not direction
        name = h(
            "text",
            h("title", own(lane.context)) if shown != lane.context else None,
            shown,
            h("tspan", joined, dx=8, **small) if follows else None,
            x=14,
            y=22 if sheet.beside else 18,
            font_size=12.5,
            font_weight=600,
            fill="var(--kb-ink)",
            **direction,
        )
        if follows:
            return [name]
        if not sheet.beside:
            return [name, h("text", joined, x=sheet.left + sheet.axis - 6, y=18, text_anchor="end", **small)]
        return [
            name,
            *(h("text", text, x=14, y=37 + 14 * place, **small) for place, text in enumerate(below)),
        ]

    def lane(self, lane: Lane, paper: str) -> tuple[list[Element], float]:
        """The bars of a lane on paper of this colour, and its height."""
        sheet = self._sheet
        shapes: list[Element] = []
        sessions: Sequence[SessionRow] = _within(self._state, lane.sessions)
        top: float = _PAD if sheet.beside else _HEAD
        least = 0
        if len(sessions) > (sheet.few if self._many else self._most_bars):
            drawn = [then for row in sessions if (then := self._at_the_moment(row))]
            column = sheet.columns[self._many]
            columns, height = strip(
                drawn,
                len(sessions),
                self._begin,
                self._seconds,
                sheet,
                top,
                ROW,
                column,
                explained_on="" if self._explained else paper,
            )
            shapes += columns
            top += height
            self._explained = True
            sessions = self._chosen(sessions)
            least = _REPLAY_ROWS if self._then is not None else 0
        levels: list[float] = []
        for row in sessions:
            left, right = reach(row, self.x, sheet)
            level = next((place for place, end in enumerate(levels) if end + 4 <= left), len(levels))
            if level == len(levels):
                levels.append(right)
            else:
                levels[level] = right
            then = self._at_the_moment(row)
            # What has not been asked for yet has its place already, so that what is sent stays small.
            shapes.append(
                h("g")
                if then is None
                else session_bar(
                    then,
                    self.x,
                    top + level * ROW,
                    sheet,
                    selected=row.number == self._selected,
                    select=self._select,
                )
            )
        height = top + max(len(levels), least) * ROW + _PAD - (ROW - BAR) + 2
        least_height = (60 if self._runs else 46) if sheet.beside else 0
        return shapes, max(height, least_height)

    def _at_the_moment(self, row: SessionRow) -> SessionRow | None:
        """A session of the whole run as it was at the moment that is shown; None before it was asked for."""
        return row if self._then is None else self._then.get(row.number)

    def _chosen(self, sessions: Sequence[SessionRow]) -> list[SessionRow]:
        """Of a long lane: what waited longest in the whole run, what is not over at the moment, what is selected."""
        most = _LONGEST_WAITS_OF_MANY if self._many else _LONGEST_WAITS
        waits = sorted((row for row in sessions if row.waited > 0), key=lambda row: (-row.waited, row.number))
        unfinished = [row for row in sessions if (then := self._at_the_moment(row)) and not then.over]
        chosen = {row.number for row in [*waits[:most], *unfinished[:most]]} | {self._selected}
        return [row for row in sessions if row.number in chosen]

    def _ticks(self) -> list[float]:
        first = math.ceil(self._begin / self._step - 1e-9)
        last = math.floor((self._begin + self._seconds) / self._step + 1e-9)
        return [place * self._step for place in range(first, last + 1)]


def _tick_step(seconds: float, most: int) -> float:
    """The distance of ticks: a round number, so that there are not too many."""
    power = 10.0 ** math.floor(math.log10(seconds / most))
    return next((nice * power for nice in _NICE if seconds / (nice * power) <= most), 10 * power)


def _tick_text(tick: float, step: float) -> str:
    if step < 0.1:
        return f"{tick * 1000:,.{0 if step >= 0.001 else 1}f} ms"
    return f"{tick:,.{0 if step >= 1 else 1}f} s"
