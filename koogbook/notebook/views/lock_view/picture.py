"""The picture of the sessions on a time axis: one lane per LLM context."""

from __future__ import annotations

import math
from collections.abc import Sequence

from koogbook.notebook.views.lock_view.state import Lane, LockState, SessionRow
from koogbook.notebook.views.look.glyphs import glyph_at
from koogbook.notebook.views.look.markup import Element, h, number, one_line
from koogbook.notebook.views.look.measure import (
    count,
    cut_end,
    cut_middle,
    duration,
    fit,
    text_width,
    thousands,
)
from koogbook.notebook.views.look.pieces import STATES, picture

#: A lane with more sessions than this is one row of density and its longest waits.
MOST_BARS = 60
_LONGEST_WAITS = 8
_BIN = 4

_WIDTH, _LABEL, _RIGHT = 1040, 148, 60
_AXIS, _ROW, _BAR, _WAIT, _PAD = 28, 26, 20, 14, 8
_MARK = 18
_NICE = (1, 2, 4, 5)


def lock_picture(state: LockState) -> Element:
    """The lanes as an ``svg`` element."""
    drawing = _Drawing(state)
    shapes: list[Element] = []
    y = float(_AXIS)
    for place, lane in enumerate(state.lanes):
        drawn, height = drawing.lane(lane, y)
        if place % 2 == 0:
            shapes.append(h("rect", x=0, y=y, width=_WIDTH, height=height, fill="var(--kb-sunk)"))
        shapes += drawing.lane_head(lane, y)
        shapes += drawing.grid(y, y + height)
        shapes += drawn
        y += height
    return picture(
        _WIDTH,
        y,
        "Lock view",
        f"{state.status}. {state.counts}. {state.waits}",
        *drawing.axis(),
        *shapes,
        *drawing.now(y),
    )


class _Drawing:
    def __init__(self, state: LockState) -> None:
        self._state = state
        self._seconds = state.seconds or 0.001
        self._scale = (_WIDTH - _LABEL - _RIGHT) / self._seconds
        self._step = _tick_step(self._seconds)

    def x(self, seconds: float) -> float:
        """Where a moment stands."""
        return round(_LABEL + seconds * self._scale, 1)

    def axis(self) -> list[Element]:
        """The times over the lanes; those that would run into the mark of now are left out."""
        now = self.x(self._seconds)
        marks = []
        for tick in self._ticks():
            x = self.x(tick)
            if self._state.live and now - x < 46:
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

    def grid(self, top: float, bottom: float) -> list[Element]:
        """The lines of the ticks through one lane."""
        return [
            h("path", d=f"M{number(self.x(tick))} {number(top)}V{number(bottom)}", stroke="var(--kb-line2)")
            for tick in self._ticks()
        ]

    def now(self, bottom: float) -> list[Element]:
        """The line of now, while something is not over."""
        if not self._state.live:
            return []
        x = self.x(self._seconds)
        return [
            h("path", d=f"M{number(x)} 22V{number(bottom)}", stroke="var(--kb-accent)", stroke_width=1.5),
            h("rect", x=x - 18, y=5, width=36, height=17, rx=8.5, fill="var(--kb-accent)"),
            h("text", "now", x=x, y=17.5, font_size=11, fill="var(--kb-paper)", text_anchor="middle"),
        ]

    def lane_head(self, lane: Lane, y: float) -> list[Element]:
        """Name of the context and number of its sessions."""
        name = one_line(lane.context)
        return [
            h(
                "text",
                h("title", lane.context),
                fit(cut_middle(name), _LABEL - 24, 12.5, bold=True),
                x=14,
                y=y + 22,
                font_size=12.5,
                font_weight=600,
                fill="var(--kb-ink)",
            ),
            h(
                "text",
                count(len(lane.sessions), "session"),
                x=14,
                y=y + 37,
                font_size=11,
                fill="var(--kb-ink2)",
            ),
        ]

    def lane(self, lane: Lane, y: float) -> tuple[list[Element], float]:
        """The bars of a lane from ``y`` on, and its height."""
        shapes: list[Element] = []
        sessions: Sequence[SessionRow] = lane.sessions
        top = y + _PAD
        if len(sessions) > MOST_BARS:
            shapes += self._density(sessions, top)
            top += _ROW + 16
            unfinished = [row for row in sessions if not row.over]
            waits = sorted(
                (row for row in sessions if row.waited > 0), key=lambda row: (-row.waited, row.number)
            )
            chosen = {row.number for row in [*waits[:_LONGEST_WAITS], *unfinished[:_LONGEST_WAITS]]}
            sessions = [row for row in sessions if row.number in chosen]
        rows: list[float] = []
        for row in sessions:
            left, right = self._reach(row)
            level = next((place for place, end in enumerate(rows) if end + 4 <= left), len(rows))
            if level == len(rows):
                rows.append(right)
            else:
                rows[level] = right
            shapes.append(self._session(row, top + level * _ROW))
        return shapes, max(top - y + len(rows) * _ROW + _PAD - 4, 46)

    def _reach(self, row: SessionRow) -> tuple[float, float]:
        """From the beginning of the bar to the end of all that stands beside it."""
        right = max(self.x(row.end), self.x(row.opened) + 3) + (_MARK if _end_mark(row) else 0)
        if row.outcome == "refused":
            right += text_width(_refusal(row), 11) + 4
        return self.x(row.opened), right

    def _session(self, row: SessionRow, y: float) -> Element:
        opened, end = self.x(row.opened), self.x(row.end)
        held_from = end if row.acquired is None else self.x(row.acquired)
        shapes: list[Element | None] = []
        wait_width = held_from - opened
        if row.waited > 0 and wait_width >= 1:
            shapes.append(_hatched(opened, y + (_BAR - _WAIT) / 2, wait_width, _WAIT))
        if row.acquired is not None:
            shapes.append(_held(row, held_from, y, max(end - held_from, 3)))
        shapes.append(_bar_name(row, opened, held_from, end, y))
        mark = _end_mark(row)
        if mark:
            x = max(end, held_from + 3) + 3
            glyph, tone = STATES[mark]
            shapes.append(glyph_at(glyph, x, y + 4, 12, tone))
            if row.outcome == "refused":
                shapes.append(
                    h("text", _refusal(row), x=x + 16, y=y + 14, font_size=11, fill="var(--kb-bad)")
                )
        return h("g", h("title", described(row)), *shapes)

    def _density(self, sessions: Sequence[SessionRow], y: float) -> list[Element]:
        """A strip of columns: how much of each moment a write (below) and reads (above) were open."""
        bins = math.ceil((_WIDTH - _LABEL - _RIGHT) / _BIN)
        write, read = [0.0] * (bins + 1), [0.0] * (bins + 1)
        for row in sessions:
            if row.acquired is not None:
                _add(
                    write if row.mode == "write" else read, row.acquired, row.end, self._seconds / bins, bins
                )
        shapes = [
            h("rect", x=_LABEL, y=y, width=bins * _BIN, height=_ROW, fill="var(--kb-hover)"),
            h("path", d=_columns(write, bins, y + _ROW), fill="var(--kb-accent)"),
        ]
        lifted = _columns(read, bins, y + _ROW, [min(value, 1.0) for value in write])
        if lifted:
            shapes.append(h("path", d=lifted, fill="var(--kb-sum)"))
        hidden = len(sessions)
        text = (
            f"{thousands(hidden)} sessions, as the share of each moment in which one was open; "
            "below, the longest waits and what is not over"
        )
        shapes.append(h("text", text, x=_LABEL, y=y + _ROW + 13, font_size=11, fill="var(--kb-ink2)"))
        return shapes

    def _ticks(self) -> list[float]:
        return [place * self._step for place in range(int(self._seconds / self._step + 1e-9) + 1)]


def described(row: SessionRow) -> str:
    """One session in words."""
    words = [f"{row.mode} {row.who}, {row.place}", row.outcome]
    if row.waited > 0.0005:
        words.append(f"waited {duration(row.waited)}")
    if row.acquired is not None:
        words.append(f"held {duration(row.end - row.acquired)}")
    if row.outcome == "refused":
        words.append(f"{row.first_mode} session from {row.first} still open")
    if row.error:
        words.append(cut_end(row.error, 120))
    return ", ".join(words)


def _end_mark(row: SessionRow) -> str:
    """The word of the mark behind a bar; a read that ended has none, it has changed nothing."""
    return {"ended": "", "open": "", "waiting": "", "gave up": "skipped"}.get(row.outcome, row.outcome)


def _refusal(row: SessionRow) -> str:
    return f"nested {row.mode} refused"


def _held(row: SessionRow, x: float, y: float, width: float) -> Element:
    if row.mode == "read":
        return h(
            "rect",
            x=x + 0.6,
            y=y + 0.6,
            width=max(width - 1.2, 1.8),
            height=_BAR - 1.2,
            rx=3 if width > 8 else 1,
            fill="var(--kb-t-sum)",
            stroke="var(--kb-sum)",
            stroke_width=1.3,
        )
    if row.outcome == "discarded" and width > 8:
        end, step = x + width, _BAR / 4
        teeth = "".join(f"L{number(end - 4 * (place % 2))} {number(y + place * step)}" for place in range(5))
        return h(
            "path",
            d=f"M{number(x)} {number(y)}{teeth}L{number(x)} {number(y + _BAR)}z",
            fill="var(--kb-accent)",
        )
    return h("rect", x=x, y=y, width=width, height=_BAR, rx=min(3, width / 2), fill="var(--kb-accent)")


def _hatched(x: float, y: float, width: float, height: float) -> Element:
    """A thin box with slanted lines, each cut where the box ends: a pattern would need an id."""
    lines = []
    for start in range(6, int(width + height), 6):
        from_x, from_y = min(start, width), max(start - width, 0)
        to_x, to_y = max(start - height, 0), min(start, height)
        lines.append(f"M{number(x + from_x)} {number(y + from_y)}L{number(x + to_x)} {number(y + to_y)}")
    return h(
        "g",
        h(
            "rect",
            x=x,
            y=y,
            width=width,
            height=height,
            rx=2,
            fill="var(--kb-paper)",
            stroke="var(--kb-warn)",
        ),
        h("path", d="".join(lines), stroke="var(--kb-warn)", stroke_width=1, stroke_opacity="0.6")
        if lines
        else None,
    )


def _bar_name(row: SessionRow, opened: float, held_from: float, end: float, y: float) -> Element | None:
    """The name in the held part if it fits, else in the waiting part on paper, else its first letters."""
    name = one_line(row.who)
    held, waiting = end - held_from - 12, held_from - opened - 12
    colour = "var(--kb-sum)" if row.mode == "read" else "var(--kb-paper)"
    width = text_width(name, 11)
    ground = None
    if row.acquired is not None and width <= held:
        x = held_from + 6
    elif width <= waiting - 4:
        x, colour = opened + 8, "var(--kb-warn)"
        ground = _name_ground(opened, y, width)
    elif row.acquired is not None and (short := _shortened(name, held)):
        x, name = held_from + 6, short
    elif row.acquired is None and (short := _shortened(name, waiting - 4)):
        x, name, colour = opened + 8, short, "var(--kb-warn)"
        ground = _name_ground(opened, y, text_width(short, 11))
    else:
        return None
    text = h("text", name, x=x, y=y + 14, font_size=11, fill=colour)
    return h("g", ground, text) if ground else text


def _name_ground(opened: float, y: float, width: float) -> Element:
    return h(
        "rect",
        x=opened + 4,
        y=y + (_BAR - _WAIT) / 2 + 1,
        width=width + 8,
        height=_WAIT - 2,
        fill="var(--kb-paper)",
    )


def _shortened(name: str, width: float) -> str:
    """The first letters of a name, three at least, or nothing."""
    for length in range(len(name) - 1, 2, -1):
        if text_width(f"{name[:length]}\u2026", 11) <= width:
            return f"{name[:length]}\u2026"
    return ""


def _add(bins: list[float], start: float, end: float, size: float, last: int) -> None:
    first, final = int(start / size), min(int(end / size), last - 1)
    for place in range(first, final + 1):
        bins[place] += max(min(end, (place + 1) * size) - max(start, place * size), 0) / size


def _columns(values: Sequence[float], bins: int, bottom: float, under: Sequence[float] | None = None) -> str:
    parts = []
    for place in range(bins):
        height = min(values[place], 1.0 - (under[place] if under else 0.0)) * _ROW
        if height >= 0.05:
            base = bottom - (under[place] * _ROW if under else 0)
            parts.append(f"M{_LABEL + place * _BIN} {base:.1f}v-{height:.1f}h{_BIN}V{base:.1f}z")
    return "".join(parts)


def _tick_step(seconds: float) -> float:
    """The distance of ticks: a round number, eight at most."""
    power = 10.0 ** math.floor(math.log10(seconds / 8))
    return next((nice * power for nice in _NICE if seconds / (nice * power) <= 8), 10 * power)


def _tick_text(tick: float, step: float) -> str:
    if step < 0.1:
        return f"{tick * 1000:,.{0 if step >= 0.001 else 1}f} ms"
    return f"{tick:,.{0 if step >= 1 else 1}f} s"
