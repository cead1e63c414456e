"""Waits and holds as the lock view draws them, all of one row in a few shapes: a race has hundreds."""

from __future__ import annotations

from collections.abc import Sequence

from koogbook.events import SessionMode
from koogbook.notebook.views.look.markup import Element, h, number

#: The height of a held bar; a waiting one is thinner.
BAR = 14
_WAIT, _TOP = 10, 3
_LEAST, _ROUND = 1.5, 2
#: Px between the lines of a wait; fewer in a coarse one.
_HATCH = (5, 9)

#: From x to x, and whether it goes on beyond: then its right end is open.
Span = tuple[float, float, bool]


def held_bars(spans: Sequence[Span], mode: SessionMode, *, coarse: bool) -> list[Element]:
    """Writes are filled, reads outlined; ``coarse`` ones have no round corners, which are most of what is written."""
    if not spans:
        return []
    if mode == "write":
        path = "".join(_box(*span, BAR, 0, coarse) for span in spans)
        return [h("path", d=path, fill="var(--kb-accent)")]
    path = "".join(_box(*span, BAR, 0.6, coarse) for span in spans)
    return [h("path", d=path, fill="var(--kb-t-sum)", stroke="var(--kb-sum)", stroke_width=1.2)]


def waiting_bars(spans: Sequence[Span], *, coarse: bool) -> list[Element]:
    """Waits are hatched; ``coarse`` ones with fewer lines."""
    shown = [span for span in spans if span[1] - span[0] >= 1]
    if not shown:
        return []
    boxes = "".join(_box(*span, _WAIT, 0.5, coarse) for span in shown)
    lines = "".join(_hatching(left, right - left, _HATCH[coarse]) for left, right, _ in shown)
    return [
        h("path", d=boxes, fill="var(--kb-paper)", stroke="var(--kb-warn)"),
        h("path", d=lines, stroke="var(--kb-warn)", stroke_opacity="0.6") if lines else h("g"),
    ]


def _box(left: float, right: float, goes_on: bool, height: float, inset: float, coarse: bool) -> str:
    """A box in the middle of the row, its corners round where it is wide; without its right side where it goes on."""
    x, width = left + inset, max(right - left - 2 * inset, _LEAST)
    y, tall = _TOP + (BAR - height) / 2 + inset, height - 2 * inset
    r = _ROUND if width > 4 * _ROUND and not coarse else 0
    corner = f"a{r} {r} 0 0 0 " if r else ""
    if goes_on:
        turns = (f"{corner}-{r} {r}", f"{corner}{r} {r}") if r else ("", "")
        side, down = number(width - r), number(tall - 2 * r)
        return f"M{number(x + width)} {number(y)}h-{side}{turns[0]}v{down}{turns[1]}h{side}"
    if not r:
        return f"M{number(x)} {number(y)}h{number(width)}v{number(tall)}h-{number(width)}z"
    across, down = number(width - 2 * r), number(tall - 2 * r)
    return (
        f"M{number(x + width - r)} {number(y)}h-{across}{corner}-{r} {r}v{down}{corner}{r} {r}h{across}"
        f"{corner}{r}-{r}v-{down}{corner}-{r}-{r}z"
    )


def _hatching(left: float, width: float, hatch: int) -> str:
    """Lines from the upper right to the lower left, each cut where the box ends.

    Each begins where the one before ended and says how far that is, which is short: there are thousands.
    """
    top = _TOP + (BAR - _WAIT) / 2
    path: list[str] = []
    x = y = 0.0
    for start in range(hatch, int(width + _WAIT), hatch):
        right, upper = min(start, width), max(start - width, 0)
        across = min(right, _WAIT - upper)
        move = (
            f"m{number(right - x)} {number(upper - y)}"
            if path
            else f"M{number(left + right)} {number(top + upper)}"
        )
        path.append(f"{move}l-{number(across)} {number(across)}")
        x, y = right - across, upper + across
    return "".join(path)
