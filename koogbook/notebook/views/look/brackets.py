"""Brackets beside rows: a call and its results belong together, and a call without one is left open."""

from __future__ import annotations

from koogbook.notebook.views.look.markup import Element, h

#: The width of the column that brackets stand in.
BRACKETS = 12

_CORNER = 4


def bracket(top: float, bottom: float, x: float = 0, *, open: bool = False) -> Element | None:
    """From the middle of one row to that of another, at the left edge ``x`` of their column; None for one row.

    An ``open`` one begins at ``top`` and leads nowhere: the result is missing.
    """
    left, right = x + 3, x + BRACKETS - 1
    if open:
        return _path(f"M{right:g} {top:g}h-4q-{_CORNER} 0 -{_CORNER} {_CORNER}v6", dash="2 2")
    if bottom <= top:
        return None
    return _path(
        f"M{right:g} {top:g}H{left + _CORNER:g}q-{_CORNER} 0 -{_CORNER} {_CORNER}"
        f"V{bottom - _CORNER:g}q0 {_CORNER} {_CORNER} {_CORNER}H{right:g}"
    )


def _path(d: str, *, dash: str | None = None) -> Element:
    return h("path", d=d, fill="none", stroke="var(--kb-ink2)", stroke_width=1.2, stroke_dasharray=dash)
