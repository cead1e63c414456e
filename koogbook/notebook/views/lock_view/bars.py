"""One session as a bar in the picture: waiting, held, its name, how it ended, and that it is selected."""

from __future__ import annotations

from typing import Any

from koogbook.notebook.views.lock_view.marks import bar_marks
from koogbook.notebook.views.lock_view.rows import SessionRow
from koogbook.notebook.views.lock_view.sheet import Place, Sheet
from koogbook.notebook.views.look.controls import does
from koogbook.notebook.views.look.glyphs import glyph_at
from koogbook.notebook.views.look.isolates import sentence, set_apart, turned, unmarked
from koogbook.notebook.views.look.markup import Element, h, number, one_line
from koogbook.notebook.views.look.measure import cut_end, duration, text_width

#: From the top of one row of bars to the next, and the height of a bar.
ROW, BAR = 26, 20
_WAIT, _MARK, _LEAST = 14, 15, 3


def reach(row: SessionRow, x: Place, sheet: Sheet) -> tuple[float, float]:
    """From the beginning to the end of the bar and all that stands beside it."""
    left, right = x(row.opened), _last(row, x)
    marks = len(bar_marks(row))
    if marks:
        right += 3 + marks * _MARK
    if row.outcome == "refused":
        words = text_width(_refusal(row), 11) + 8
        # Where the axis ends there may be the line of now.
        if right + words > sheet.left + sheet.axis and left - words > sheet.left:
            left -= words
        else:
            right += words
    return left, right


def session_bar(
    row: SessionRow, x: Place, y: float, sheet: Sheet, *, selected: bool = False, select: str = ""
) -> Element:
    """The bar of a session, its top at ``y``.

    ``select`` is the action that selects it in the live form; without one it cannot be clicked.
    """
    opened, end = x(row.opened), x(row.end)
    held_from = end if row.acquired is None else x(row.acquired)
    marks = bar_marks(row)
    last = _last(row, x)
    shapes: list[Element | None] = []
    if select or selected:
        # Of a bar that is not selected it is there in the live form alone, to be met by a click where the bar is only a
        # few pixels wide, to show the focus, and so that what is sent for a selection stays small.
        shapes.append(
            h(
                "rect",
                **_around(opened, last, len(marks), y),
                cls="kb-focus" if selected else "kb-focus kb-live",
                fill="transparent",
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
    for place, (drawing, tone) in enumerate(marks):
        shapes.append(glyph_at(drawing, last + 3 + place * _MARK, y + 4, 12, tone))
    if row.outcome == "refused":
        before = reach(row, x, sheet)[0] < opened
        shapes.append(
            h(
                "text",
                _refusal(row),
                x=opened - 6 if before else last + 4 + len(marks) * _MARK,
                y=y + 14,
                font_size=11,
                fill="var(--kb-bad)",
                text_anchor="end" if before else None,
            )
        )
    words = described(row)
    live = does(select, str(row.number), name=unmarked(words), picked=selected) if select else None
    return h("g", h("title", *sentence(words)), *shapes, live=live)


def described(row: SessionRow) -> str:
    """One session in words, its names set apart."""
    words = [f"{row.mode} {set_apart(row.who)}, {set_apart(row.place)}", row.word]
    if row.queued:
        words.append(f"waited {duration(row.waited)}")
    if row.held is not None:
        words.append(f"held {duration(row.held)}")
    if row.outcome == "refused":
        words.append(f"{row.first_mode} session from {set_apart(row.first)} still open")
    if row.error:
        words.append(set_apart(cut_end(row.error, 120)))
    return ", ".join(words)


def _around(left: float, right: float, marks: int, y: float) -> dict[str, Any]:
    """The box around a bar and the marks behind it, 2 px from both."""
    width = right - left + marks * _MARK
    return {"x": left - 2, "y": y - 2, "width": width + 4, "height": BAR + 4, "rx": 5}


def _last(row: SessionRow, x: Place) -> float:
    """Where a bar ends; before the moment itself where there is only a mark, so that the mark stands at the moment."""
    opened, end = x(row.opened), x(row.end)
    if row.acquired is None and end - opened < 1:
        return opened - 3
    return end if row.acquired is None else max(end, x(row.acquired) + _LEAST)


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
    text = h("text", name, x=x, y=y + 14, font_size=11, fill=colour, **turned(name))
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
