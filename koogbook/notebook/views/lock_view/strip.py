"""A long lane as one strip: how much of each moment a session was open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from koogbook.notebook.views.lock_view.rows import SessionRow
from koogbook.notebook.views.lock_view.sheet import Sheet
from koogbook.notebook.views.look.markup import Element, h
from koogbook.notebook.views.look.measure import text_width, thousands


def strip(
    sessions: Sequence[SessionRow],
    total: int,
    begin: float,
    seconds: float,
    sheet: Sheet,
    y: float,
    height: float,
    column: int,
    *,
    explained_on: str,
) -> tuple[list[Element], float]:
    """Columns: the share of each moment in which a write (below) and reads (above) were open; and how high all is.

    Args:
        sessions: What is drawn.
        total: How many the lane has in all that is shown.
        begin: When the axis begins.
        seconds: The length of the axis.
        sheet: The measures of the picture.
        y: The top of the strip.
        height: The height of the strip in px.
        column: The width of a column in px.
        explained_on: The colour of the paper where a line of text stands under it; empty where none does.
    """
    bins = sheet.axis // column
    write, read = [0.0] * (bins + 1), [0.0] * (bins + 1)
    for row in sessions:
        if row.acquired is not None:
            _add(
                write if row.mode == "write" else read,
                row.acquired - begin,
                row.end - begin,
                seconds / bins,
                bins,
            )
    x = sheet.left
    shapes = [
        h("rect", x=x, y=y, width=bins * column, height=height, fill="var(--kb-hover)"),
        h("path", d=_columns(write, column, x, y + height, height), fill="var(--kb-accent)"),
    ]
    lifted = _columns(read, column, x, y + height, height, [min(value, 1.0) for value in write])
    if lifted:
        shapes.append(h("path", d=lifted, fill="var(--kb-t-sum)", stroke="var(--kb-sum)"))
    if not explained_on:
        return shapes, height + 4
    many = f"{thousands(total)} sessions: the share of each moment in which one was open, reads above writes"
    text = f"{many}; below, the longest waits and what is not over"
    if text_width(text, 11) > sheet.axis + sheet.right - 8:
        text = many
    halo: dict[str, Any] = {
        "stroke": explained_on,
        "stroke_width": 4,
        "paint_order": "stroke",
        "stroke_linejoin": "round",
    }
    shapes.append(h("text", text, x=x, y=y + height + 13, font_size=11, fill="var(--kb-ink2)", **halo))
    return shapes, height + 16


def _add(bins: list[float], start: float, end: float, size: float, last: int) -> None:
    first, final = max(int(start / size), 0), min(int(end / size), last - 1)
    for place in range(first, final + 1):
        bins[place] += max(min(end, (place + 1) * size) - max(start, place * size), 0) / size


def _columns(
    values: Sequence[float],
    width: int,
    left: float,
    bottom: float,
    height: float,
    under: Sequence[float] | None = None,
) -> str:
    """The columns as a path; neighbours of the same height are one."""
    parts: list[str] = []
    place, bins = 0, len(values) - 1
    while place < bins:
        drawn = _column(values, under, place, height)
        end = place + 1
        while end < bins and _column(values, under, end, height) == drawn:
            end += 1
        base, tall = drawn
        if tall >= 0.05:
            foot = bottom - base
            parts.append(
                f"M{left + place * width:g} {foot:.1f}v-{tall:.1f}h{(end - place) * width}V{foot:.1f}z"
            )
        place = end
    return "".join(parts)


def _column(
    values: Sequence[float], under: Sequence[float] | None, place: int, height: float
) -> tuple[float, float]:
    base = under[place] if under else 0.0
    return round(base * height, 1), round(min(values[place], 1.0 - base) * height, 1)
