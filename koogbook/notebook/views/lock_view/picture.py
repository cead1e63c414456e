"""The picture of the sessions on a time axis: one lane per LLM context."""

from __future__ import annotations

import math
from collections.abc import Sequence

from koogbook.notebook.views.lock_view.bars import LABEL, RIGHT, ROW, WIDTH, reach, session_bar
from koogbook.notebook.views.lock_view.rows import ERRORS, SessionRow
from koogbook.notebook.views.lock_view.state import Lane, LockState
from koogbook.notebook.views.lock_view.strip import strip
from koogbook.notebook.views.look.markup import Element, h, number, one_line
from koogbook.notebook.views.look.measure import (
    count,
    cut_middle,
    duration,
    fit,
    text_width,
)
from koogbook.notebook.views.look.pieces import picture

#: A lane with more sessions than this is a strip and its longest waits; so is, with more bars than this in all, each
#: lane that has more than a few.
MOST_BARS, MOST_BARS_IN_ALL = 60, 300
_FEW_BARS = 12
#: More contexts than this have no lane of their own, except for those in which something went wrong.
MOST_LANES = 24
_LONGEST_WAITS, _LONGEST_WAITS_OF_MANY = 8, 2
_REPLAY_ROWS = 3
# Both divide the length of the axis, so that the last column ends where it does.
_COLUMN, _COLUMN_OF_MANY = 4, 6

_AXIS, _PAD = 28, 8
_NICE = (1, 2, 4, 5)


def lock_picture(state: LockState, *, clickable: bool = False) -> Element:
    """The lanes as an ``svg`` element; ``clickable`` bars can be selected in the live form.

    In a replay each bar stands where it stands at the end of the run, so that the picture keeps its size.
    """
    drawing = _Drawing(state, clickable)
    shapes: list[Element] = []
    y = float(_AXIS)
    lanes = _shown(state)
    for place, lane in enumerate(lanes):
        drawn, height = drawing.lane(lane)
        ground = (
            h("rect", x=0, y=0, width=WIDTH, height=height, fill="var(--kb-sunk)") if place % 2 == 0 else None
        )
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
        y += height
    below, rest = y, h("g")
    left_out = len(state.whole) - len(lanes)
    if left_out:
        sessions = sum(len(lane.sessions) for lane in state.whole) - sum(len(lane.sessions) for lane in lanes)
        text = (
            f"{count(left_out, 'more context')} with {count(sessions, 'session')} "
            f"{'is' if left_out == 1 else 'are'} not drawn; all are in the counts below"
        )
        rest = h("text", text, x=14, y=y + 17, font_size=11, fill="var(--kb-ink2)")
        below += 26
    return picture(
        WIDTH,
        below,
        "Lock view",
        f"{state.status}. {state.counts}. {state.waits}",
        h("g", *drawing.axis()),
        h("g", *shapes),
        rest,
        h("g", *drawing.moment(y)),
    )


def _shown(state: LockState) -> list[Lane]:
    """The lanes that are drawn: all, or of too many the first ones with trouble, then the first others."""
    lanes = state.whole
    if len(lanes) <= MOST_LANES:
        return list(lanes)
    first = sorted(range(len(lanes)), key=lambda place: (not _needs_a_look(lanes[place]), place))
    chosen = sorted(first[:MOST_LANES])
    context = state.selected.row.context if state.selected else ""
    # The lane of the selection comes last, so that nothing moves for it.
    chosen += [place for place in first[MOST_LANES:] if lanes[place].context == context]
    return [lanes[place] for place in chosen]


def _needs_a_look(lane: Lane) -> bool:
    return any(row.outcome in ERRORS or not row.over for row in lane.sessions)


class _Drawing:
    def __init__(self, state: LockState, clickable: bool) -> None:
        self._state = state
        self._clickable = clickable
        self._selected = state.selected.row.number if state.selected else None
        self._seconds = state.seconds or 0.001
        self._scale = (WIDTH - LABEL - RIGHT) / self._seconds
        self._step = _tick_step(self._seconds)
        #: In a replay the sessions as they were then, by number; else None.
        self._then = (
            {row.number: row for lane in state.lanes for row in lane.sessions} if state.replay else None
        )
        self._many = sum(min(len(lane.sessions), MOST_BARS) for lane in _shown(state)) > MOST_BARS_IN_ALL

    def x(self, seconds: float) -> float:
        """Where a moment stands."""
        return round(LABEL + seconds * self._scale, 1)

    def axis(self) -> list[Element]:
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
                    y=18,
                    font_size=11,
                    fill="var(--kb-ink2)",
                    text_anchor="middle" if tick else "start",
                )
            )
        return marks

    def grid(self, height: float) -> Element:
        """The lines of the ticks through one lane."""
        lines = "".join(f"M{number(self.x(tick))} 0V{number(height)}" for tick in self._ticks())
        return h("path", d=lines, stroke="var(--kb-line2)")

    def moment(self, bottom: float) -> list[Element]:
        """The line of now, while something is not over, or of the moment that a replay shows."""
        moment = self._moment()
        if moment is None:
            return []
        x, word, width = moment
        return [
            h("path", d=f"M{number(x)} 22V{number(bottom)}", stroke="var(--kb-accent)", stroke_width=1.5),
            h("rect", x=x - width / 2, y=5, width=width, height=17, rx=8.5, fill="var(--kb-accent)"),
            h("text", word, x=x, y=17.5, font_size=11, fill="var(--kb-paper)", text_anchor="middle"),
        ]

    def _moment(self) -> tuple[float, str, float] | None:
        """Where the line stands, the word on it, and the width of that."""
        if self._state.replay is not None:
            word = duration(self._state.replay.at)
            return self.x(self._state.replay.at), word, round(text_width(word, 11) + 14)
        return (self.x(self._seconds), "now", 36) if self._state.live else None

    def lane_head(self, lane: Lane) -> list[Element]:
        """Name of the context and number of its sessions."""
        name = one_line(lane.context)
        return [
            h(
                "text",
                h("title", lane.context),
                fit(cut_middle(name), LABEL - 24, 12.5, bold=True),
                x=14,
                y=22,
                font_size=12.5,
                font_weight=600,
                fill="var(--kb-ink)",
            ),
            h(
                "text",
                count(len(lane.sessions), "session"),
                x=14,
                y=37,
                font_size=11,
                fill="var(--kb-ink2)",
            ),
        ]

    def lane(self, lane: Lane) -> tuple[list[Element], float]:
        """The bars of a lane, and its height."""
        shapes: list[Element] = []
        sessions: Sequence[SessionRow] = lane.sessions
        top = _PAD
        least = 0
        if len(sessions) > (_FEW_BARS if self._many else MOST_BARS):
            shapes += strip(
                [then for row in sessions if (then := self._at_the_moment(row))],
                len(sessions),
                self._seconds,
                LABEL,
                top,
                WIDTH - LABEL - RIGHT,
                ROW,
                _COLUMN_OF_MANY if self._many else _COLUMN,
            )
            top += ROW + 16
            sessions = self._chosen(sessions)
            least = _REPLAY_ROWS if self._then is not None else 0
        levels: list[float] = []
        for row in sessions:
            left, right = reach(row, self.x)
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
                    selected=row.number == self._selected,
                    clickable=self._clickable,
                )
            )
        return shapes, max(top + max(len(levels), least) * ROW + _PAD - 4, 46)

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
        return [place * self._step for place in range(int(self._seconds / self._step + 1e-9) + 1)]


def _tick_step(seconds: float) -> float:
    """The distance of ticks: a round number, eight at most."""
    power = 10.0 ** math.floor(math.log10(seconds / 8))
    return next((nice * power for nice in _NICE if seconds / (nice * power) <= 8), 10 * power)


def _tick_text(tick: float, step: float) -> str:
    if step < 0.1:
        return f"{tick * 1000:,.{0 if step >= 0.001 else 1}f} ms"
    return f"{tick:,.{0 if step >= 1 else 1}f} s"
