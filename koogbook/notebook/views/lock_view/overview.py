"""A long run as one strip: the longest wait of each moment, and which part of it is enlarged below."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from koogbook.notebook.views.lock_view.sheet import Sheet
from koogbook.notebook.views.lock_view.state import WINDOW, LockState, in_order
from koogbook.notebook.views.look.controls import does
from koogbook.notebook.views.look.markup import Element, h, number
from koogbook.notebook.views.look.measure import duration, fit, thousands

_TOP, _HEIGHT, _COLUMN = 10, 24, 4
_PLACES = 20


def overview(state: LockState, sheet: Sheet, zoom: str) -> tuple[list[Element], float]:
    """The strip at the top of a picture, and its height; ``zoom`` is the action that enlarges what is clicked."""
    seconds = state.seconds or 0.001
    waits = _longest_waits(state, seconds, sheet.axis // _COLUMN)
    # In a replay the columns grow, and their scale stays.
    longest = max((row.waited for lane in state.whole for row in lane.sessions), default=0.0)
    scale = sheet.axis / seconds
    bottom = _TOP + _HEIGHT
    columns = "".join(
        f"M{sheet.left + place * _COLUMN} {bottom}v-{tall}h{wide * _COLUMN}V{bottom}z"
        for place, wide, tall in _columns(waits, longest)
    )
    text = f"longest wait of each moment, up to {duration(longest)}" if longest else "nobody had to wait"
    shapes = [
        h("rect", x=sheet.left, y=_TOP, width=sheet.axis, height=_HEIGHT, fill="var(--kb-hover)"),
        h("path", d=columns, fill="var(--kb-t-warn)", stroke="var(--kb-warn)") if columns else None,
        h(
            "text",
            fit("all sessions", sheet.left - 20, 11),
            x=14,
            y=_TOP + 16,
            font_size=11,
            fill="var(--kb-ink2)",
        )
        if sheet.beside
        else None,
        h("text", text, x=sheet.left, y=bottom + 14, font_size=11, fill="var(--kb-ink2)"),
    ]
    if state.zoom is not None:
        left, right = (round(sheet.left + at * scale, 1) for at in (state.zoom.begin, state.zoom.end))
        shapes.append(
            h(
                "rect",
                x=left - 1,
                y=_TOP - 3,
                width=max(right - left, 2) + 2,
                height=_HEIGHT + 6,
                rx=2,
                fill="none",
                stroke="var(--kb-accent)",
                stroke_width=2,
            )
        )
    shapes += _places(state, sheet, seconds, zoom) if zoom else []
    return [shape for shape in shapes if shape is not None], bottom + 20


def _longest_waits(state: LockState, seconds: float, bins: int) -> list[float]:
    """For each moment the longest wait that somebody was in who waited then."""
    found = [0.0] * bins
    for lane in state.lanes:
        for row in lane.sessions:
            waited = row.waited
            if waited > 0:
                first = min(int(row.opened / seconds * bins), bins - 1)
                last = min(int((row.opened + waited) / seconds * bins), bins - 1)
                for place in range(first, last + 1):
                    found[place] = max(found[place], waited)
    return found


def _columns(waits: list[float], longest: float) -> Iterator[tuple[int, int, str]]:
    """Place, width and height of each column; neighbours of one height are one."""
    place = 0
    heights = [number(max(wait / longest * _HEIGHT, 1)) if wait > 0 else "" for wait in waits]
    for tall, same in groupby(heights):
        wide = len(list(same))
        if tall:
            yield place, wide, tall
        place += wide


def _places(state: LockState, sheet: Sheet, seconds: float, zoom: str) -> list[Element]:
    """What is clicked: each part of the strip leads to the sessions that were asked for in it."""
    order = in_order(state.whole)
    shapes: list[Element] = []
    width = sheet.axis / _PLACES
    position = 0
    for place in range(_PLACES):
        while position < len(order) - 1 and order[position].opened < seconds * place / _PLACES:
            position += 1
        row = order[position]
        name = f"Enlarge {WINDOW} sessions around {duration(row.opened)}, session {thousands(position + 1)}"
        shapes.append(
            h(
                "g",
                h(
                    "rect",
                    x=round(sheet.left + place * width, 1),
                    y=_TOP - 2,
                    width=round(width, 1),
                    height=_HEIGHT + 4,
                    rx=2,
                    cls="kb-focus",
                    fill="transparent",
                    stroke="none",
                ),
                cls="kb-live",
                live=does(zoom, str(row.number), name=name),
            )
        )
    return shapes
