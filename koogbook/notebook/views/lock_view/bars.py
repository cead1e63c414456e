"""One session as a bar in the picture: waiting, held, its name, how it ended, and that it is selected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from koogbook.notebook.views.lock_view.rows import SessionRow
from koogbook.notebook.views.look.controls import does
from koogbook.notebook.views.look.glyphs import glyph_at
from koogbook.notebook.views.look.markup import Element, h, number, one_line
from koogbook.notebook.views.look.measure import cut_end, duration, text_width
from koogbook.notebook.views.look.pieces import STATES

#: The width of the picture, and where its time axis ends to the left and, counted from the right edge, to the right.
WIDTH, LABEL, RIGHT = 940, 148, 60
#: From the top of one row of bars to the next, and the height of a bar.
ROW, BAR = 26, 20
_WAIT, _MARK, _LEAST = 14, 18, 3

#: From seconds to where they stand in the picture.
Place = Callable[[float], float]


def reach(row: SessionRow, x: Place) -> tuple[float, float]:
    """From the beginning to the end of the bar and all that stands beside it."""
    left, right = x(row.opened), max(x(row.end), x(row.opened) + _LEAST) + (_MARK if _end_mark(row) else 0)
    if row.outcome == "refused":
        width = text_width(_refusal(row), 11) + 8
        if right + width > WIDTH:
            left -= width
        else:
            right += width
    return left, right


def session_bar(row: SessionRow, x: Place, y: float, *, selected: bool, clickable: bool) -> Element:
    """The bar of a session, its top at ``y``; one that is ``clickable`` can be selected in the live form."""
    opened, end = x(row.opened), x(row.end)
    held_from = end if row.acquired is None else x(row.acquired)
    mark = _end_mark(row)
    last = max(end, held_from + _LEAST)
    shapes: list[Element | None] = []
    if clickable:
        # Its paint, though nobody sees it, is what a click meets where the bar is only a few pixels wide.
        ring = _around(opened, last, mark, y, 3)
        shapes.append(h("rect", **ring, cls="kb-focus kb-live", fill="transparent", stroke="none"))
    if clickable or selected:
        # The halo of a bar that is not selected is there in the live form, so that what is sent stays small.
        shapes.append(
            h(
                "rect",
                **_around(opened, last, mark, y, 2),
                cls="" if selected else "kb-live",
                fill="none",
                stroke="var(--kb-accent)" if selected else "none",
                stroke_width=2,
                stroke_opacity="0.6",
            )
        )
    wait_width = held_from - opened
    if row.waited > 0 and wait_width >= 1:
        shapes.append(_hatched(opened, y + (BAR - _WAIT) / 2, wait_width, _WAIT))
    if row.acquired is not None:
        shapes.append(_held(row, held_from, y, max(end - held_from, _LEAST)))
    shapes.append(_bar_name(row, opened, held_from, end, y))
    if mark:
        glyph, tone = STATES[mark]
        shapes.append(glyph_at(glyph, last + 3, y + 4, 12, tone))
        if row.outcome == "refused":
            before = reach(row, x)[0] < opened
            shapes.append(
                h(
                    "text",
                    _refusal(row),
                    x=opened - 6 if before else last + 19,
                    y=y + 14,
                    font_size=11,
                    fill="var(--kb-bad)",
                    text_anchor="end" if before else None,
                )
            )
    words = described(row)
    live = does("select", str(row.number), name=words, picked=selected) if clickable else None
    return h("g", h("title", words), *shapes, live=live)


def described(row: SessionRow) -> str:
    """One session in words."""
    words = [f"{row.mode} {row.who}, {row.place}", row.outcome]
    if row.waited > 0.0005:
        words.append(f"waited {duration(row.waited)}")
    if row.held is not None:
        words.append(f"held {duration(row.held)}")
    if row.outcome == "refused":
        words.append(f"{row.first_mode} session from {row.first} still open")
    if row.error:
        words.append(cut_end(row.error, 120))
    return ", ".join(words)


def _around(left: float, right: float, mark: str, y: float, away: float) -> dict[str, Any]:
    """The box around a bar and the mark behind it, so many px from both."""
    width = right - left + (15 if mark else 0)
    return {
        "x": left - away,
        "y": y - away,
        "width": width + 2 * away,
        "height": BAR + 2 * away,
        "rx": 3 + away,
    }


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
            height=BAR - 1.2,
            rx=3 if width > 8 else 1,
            fill="var(--kb-t-sum)",
            stroke="var(--kb-sum)",
            stroke_width=1.3,
        )
    if row.outcome == "discarded" and width > 8:
        end, step = x + width, BAR / 4
        teeth = "".join(f"L{number(end - 4 * (place % 2))} {number(y + place * step)}" for place in range(5))
        return h(
            "path",
            d=f"M{number(x)} {number(y)}{teeth}L{number(x)} {number(y + BAR)}z",
            fill="var(--kb-accent)",
        )
    return h("rect", x=x, y=y, width=width, height=BAR, rx=min(3, width / 2), fill="var(--kb-accent)")


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
        y=y + (BAR - _WAIT) / 2 + 1,
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
