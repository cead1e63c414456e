"""The marks: 14 x 14 drawings in the colour of their text, one shape for each state, fate, role and view."""

from __future__ import annotations

from koogbook.notebook.views.look.markup import Element, h

PAPER = "var(--kb-paper)"
INK = "currentColor"


def _line(path: str, width: float = 1.5, colour: str = INK, cls: str = "") -> Element:
    return h(
        "path",
        cls=cls,
        d=path,
        fill="none",
        stroke=colour,
        stroke_width=width,
        stroke_linecap="round",
        stroke_linejoin="round",
    )


def _solid(path: str) -> Element:
    return h("path", d=path, fill=INK)


def _disc(radius: float, x: float = 7, y: float = 7) -> Element:
    return h("circle", cx=x, cy=y, r=radius, fill=INK)


def _ring(radius: float, x: float = 7, y: float = 7, width: float = 1.5) -> Element:
    return h("circle", cx=x, cy=y, r=radius, fill="none", stroke=INK, stroke_width=width)


def _on_paper(path: str) -> Element:
    return _line(path, 1.7, PAPER)


_CROSS = "M5 5l4 4M9 5l-4 4"
_OCTAGON = "M4.5 1h5L13 4.5v5L9.5 13h-5L1 9.5v-5z"

GLYPHS: dict[str, tuple[Element, ...]] = {
    # states
    "done": (_disc(6), _on_paper("M4.2 7.3l1.9 1.9L9.9 5")),
    "running": (
        h("circle", cx=7, cy=7, r=5.5, fill="none", stroke=INK, stroke_width=1.8, stroke_opacity="0.3"),
        _line("M7 1.5A5.5 5.5 0 0 1 12.5 7", 1.8, cls="kb-spin"),
        _disc(2),
    ),
    "failed": (_solid(_OCTAGON), _on_paper(_CROSS)),
    "idle": (
        h(
            "circle",
            cx=7,
            cy=7,
            r=5.5,
            fill="none",
            stroke=INK,
            stroke_width=1.4,
            stroke_dasharray="2.2 2.12",
        ),
    ),
    "skipped": (_ring(5.5), _line("M4.5 7h5")),
    "warning": (
        h("path", d="M7 1.2L13.2 12.6H.8z", fill=INK, stroke=INK, stroke_linejoin="round"),
        _on_paper("M7 5.2v3.2M7 10.7v.1"),
    ),
    "waiting": (
        _line("M3 1.3h8M3 12.7h8"),
        _line("M4.2 1.5v1.8L7 7l2.8-3.7V1.5M4.2 12.5v-1.8L7 7l2.8 3.7v1.8"),
    ),
    "paused": (_disc(6), _on_paper("M5.4 4.9v4.2M8.6 4.9v4.2")),
    "tombstone": (_line("M3 12.5V6a4 4 0 0 1 8 0v6.5M1.2 12.6h11.6M5.3 6.5h3.4M7 4.9v4"),),
    # fates
    "kept": (_line("M3 5.2h8M3 8.8h8"),),
    "edited": (_line("M2 8c1.5-2.8 3.2-2.8 5-1s3.5 1.8 5-1"),),
    "dropped": (_line("M3 7h8"),),
    "summary": (_solid("M7 1l6 6-6 6-6-6z"),),
    "memory": (_solid("M3.3 1.3h7.4v11.2L7 9.6l-3.7 2.9z"),),
    "added": (_line("M3 7h8M7 3v8"),),
    "committed": (
        h("rect", x=1, y=1, width=12, height=12, rx=2.5, fill=INK),
        _on_paper("M4.2 7.3l1.9 1.9L9.9 5"),
    ),
    "discarded": (
        h("rect", x=1.8, y=1.8, width=10.4, height=10.4, rx=2, fill="none", stroke=INK, stroke_width=1.5),
        _line(_CROSS),
    ),
    "folded": (_line("M5.2 3l4 4-4 4"),),
    "open": (_line("M3 5.2l4 4 4-4"),),
    # roles
    "system": (_line("M7 1.2l5 2.9v5.8l-5 2.9-5-2.9V4.1z"), _ring(1.6)),
    "user": (_ring(2.6, 7, 4.2), _line("M2 12.7c.4-2.9 2.3-4.1 5-4.1s4.6 1.2 5 4.1")),
    "assistant": (
        _solid("M7 1c.6 3.7 2.3 5.4 6 6-3.7.6-5.4 2.3-6 6-.6-3.7-2.3-5.4-6-6 3.7-.6 5.4-2.3 6-6z"),
    ),
    "call": (_line("M1.5 7h9M7.3 3.8L10.5 7l-3.2 3.2M12.7 1.8v10.4"),),
    "result": (_line("M12.5 7h-9M6.7 3.8L3.5 7l3.2 3.2M1.3 1.8v10.4"),),
    # views and the rest
    "graph": (
        _ring(1.7, 7, 2.7),
        _ring(1.7, 3.2, 11.1),
        _ring(1.7, 10.8, 11.1),
        _line("M6.3 4.3L3.9 9.5M7.7 4.3l2.4 5.2"),
    ),
    "lock": (
        h("rect", x=2.4, y=6.2, width=9.2, height=6.6, rx=1.5, fill="none", stroke=INK, stroke_width=1.5),
        _line("M4.5 6V4.1a2.5 2.5 0 0 1 5 0V6"),
    ),
    "diff": (_line("M1.6 2.6h4v8.8h-4zM8.4 2.6h4v8.8h-4zM3 5.2h1.2M3 7.4h1.2M9.8 5.2H11"),),
    "checkpoint": (
        h("ellipse", cx=7, cy=3.3, rx=4.9, ry=1.9, fill="none", stroke=INK, stroke_width=1.5),
        _line("M2.1 3.3v7.4c0 1.1 2.2 1.9 4.9 1.9s4.9-.8 4.9-1.9V3.3"),
        _line("M2.1 7c0 1.1 2.2 1.9 4.9 1.9s4.9-.8 4.9-1.9"),
    ),
    "fork": (
        _ring(1.6, 3.6, 2.9),
        _ring(1.6, 3.6, 11.1),
        _ring(1.6, 10.4, 4.3),
        _line("M3.6 4.6v4.8M10.4 6c0 2.5-2.9 2.7-5.9 3.9"),
    ),
    "back": (_line("M2.2 5.4h6.2a3.4 3.4 0 0 1 0 6.8H5M4.9 2.6L2 5.4l2.9 2.8"),),
    "eye": (_line("M1 7c1.6-2.7 3.6-4 6-4s4.4 1.3 6 4c-1.6 2.7-3.6 4-6 4S2.6 9.7 1 7z"), _ring(1.7)),
    "page": (_line("M3 1.5h5.2L11 4.3v8.2H3zM8 1.7v2.8h2.8M5.2 7.2h3.6M5.2 9.7h3.6"),),
}


def glyph(name: str, label: str | None = None, size: float = 14, tone: str = "") -> Element:
    """A mark in running text; with a label it is an image of that name, without one a word stands beside it.

    ``tone`` is a token (``ok``, ``bad``); without one the mark has the colour of its text.
    """
    return h(
        "svg",
        *GLYPHS[name],
        cls="kb-glyph",
        width=size,
        height=size,
        viewBox="0 0 14 14",
        role="img" if label else None,
        aria_label=label,
        aria_hidden=None if label else "true",
        color=f"var(--kb-{tone})" if tone else None,
    )


def glyph_at(name: str, x: float, y: float, size: float = 14, tone: str = "") -> Element:
    """A mark inside a picture, its upper left corner at ``x``, ``y``."""
    scale = "" if size == 14 else f" scale({size / 14:.3f})"
    return h(
        "g",
        *GLYPHS[name],
        transform=f"translate({x:.1f} {y:.1f}){scale}",
        color=f"var(--kb-{tone})" if tone else None,
    )
