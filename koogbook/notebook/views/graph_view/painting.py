"""A picture as PNG, painted by matplotlib from the same elements that are its SVG."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any

from koogbook.notebook.views.graph_view.curves import Affine, commands_of, rectangle
from koogbook.notebook.views.look.markup import Element
from koogbook.notebook.views.look.styles import TOKENS, Theme

#: Dots for each px of the picture.
_SCALE = 2
_POINTS_PER_INCH = 72
_VARIABLE = re.compile(r"var\(--kb-([a-z0-9-]+)\)")
#: Isolates of directions, which a font has no signs for.
_UNSEEN = dict.fromkeys(range(0x2066, 0x206A))
#: Who has no sign for a character asks the next one; those that are not installed are left out.
_FONTS = (
    "DejaVu Sans",
    *(
        "Noto Sans CJK SC",
        "Noto Sans CJK JP",
        "Source Han Sans SC",
        "WenQuanYi Micro Hei",
        "Droid Sans Fallback",
    ),
    *("Noto Sans Arabic", "Noto Sans Hebrew", "Noto Emoji", "Symbola"),
)
_UNPAINTED = ("title", "desc")


def paint_png(drawn: Element, theme: Theme) -> bytes:
    """An ``svg`` element of rectangles, circles, paths and texts as a PNG of two dots a px; same picture, same bytes.

    Characters that no installed font has are boxes, as everywhere.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    width, height = float(drawn.attributes["width"]), float(drawn.attributes["height"])
    figure = Figure(
        figsize=(width / _POINTS_PER_INCH, height / _POINTS_PER_INCH), dpi=_POINTS_PER_INCH * _SCALE
    )
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    canvas: Any = FigureCanvasAgg(figure)
    painter = _Painter(axes, canvas.get_renderer(), TOKENS[theme])
    out = BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*[Gg]lyph .*missing")
        painter.paint(drawn.children, Affine(), painter.colours["ink"])
        figure.savefig(out, format="png", facecolor=painter.colours["paper"], metadata={"Software": None})
    return out.getvalue()


class _Painter:
    def __init__(self, axes: Any, renderer: Any, colours: Mapping[str, str]) -> None:
        from matplotlib.font_manager import fontManager

        self.colours = colours
        self._axes = axes
        self._renderer = renderer
        installed = {font.name for font in fontManager.ttflist}
        self._fonts = [name for name in _FONTS if name in installed]
        #: What is painted later lies over what was painted before.
        self._order = 0

    def paint(self, children: Sequence[Element | str], at: Affine, ink: str) -> None:
        for child in children:
            if isinstance(child, str) or child.tag in _UNPAINTED or "kb-live" in child.cls.split():
                continue
            attributes = child.attributes
            if child.tag == "g":
                own = self._colour(attributes["color"], ink) if "color" in attributes else ink
                self.paint(child.children, at.then(attributes.get("transform", "")), own or ink)
            elif child.tag == "text":
                self._text(child, at, ink)
            else:
                self._shape(child, at, ink)

    def _colour(self, value: str, ink: str) -> str | None:
        if value == "none":
            return None
        named = _VARIABLE.fullmatch(value)
        return self.colours[named[1]] if named else ink if value == "currentColor" else value

    def _shape(self, element: Element, at: Affine, ink: str) -> None:
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        given = element.attributes
        number = {name: float(given.get(name, 0)) for name in ("x", "y", "width", "height", "rx")}
        if element.tag == "path":
            commands = commands_of(given["d"])
        elif element.tag == "circle":
            x, y, r = (float(given[name]) for name in ("cx", "cy", "r"))
            commands = rectangle(x - r, y - r, 2 * r, 2 * r, r)
        else:
            commands = rectangle(*number.values())
        codes, points = zip(*commands, strict=True)
        stroke = self._colour(given.get("stroke", "none"), ink)
        fill = self._colour(given.get("fill", "#000000"), ink)
        width = float(given.get("stroke-width", 1)) * at.scale if stroke else 0
        dashes = [float(one) for one in given.get("stroke-dasharray", "").split()]
        self._order += 1
        self._axes.add_patch(
            PathPatch(
                Path([at.of(x, y) for x, y in points], codes),
                facecolor=fill or "none",
                edgecolor=(stroke, float(given.get("stroke-opacity", 1))) if stroke else "none",
                linewidth=width,
                # matplotlib counts dashes in widths of the line.
                linestyle=(0, [one * at.scale / width for one in dashes]) if dashes and width else "solid",
                capstyle=given.get("stroke-linecap", "butt"),
                joinstyle=given.get("stroke-linejoin", "miter"),
                zorder=self._order,
                clip_on=False,
            )
        )

    def _text(self, element: Element, at: Affine, ink: str) -> None:
        pieces = [
            (text.translate(_UNSEEN), given, given is not element.attributes and first)
            for given, first, text in _pieces(element, element.attributes)
        ]
        widths = [self._width(text, given) for text, given, _ in pieces]
        gaps = [float(given.get("dx", 0)) if is_first else 0.0 for _, given, is_first in pieces]
        x, y = at.of(float(element.attributes["x"]), float(element.attributes["y"]))
        if element.attributes.get("text-anchor") == "middle":
            x -= (sum(widths) + sum(gaps)) / 2
        self._order += 1
        for (text, given, _), width, gap in zip(pieces, widths, gaps, strict=True):
            x += gap
            self._axes.text(
                x,
                y,
                text,
                color=self._colour(given.get("fill", "currentColor"), ink),
                fontproperties=self._font(given),
                verticalalignment="baseline",
                parse_math=False,
                zorder=self._order,
                clip_on=False,
            )
            x += width

    def _width(self, text: str, given: Mapping[str, str]) -> float:
        width: float = self._renderer.get_text_width_height_descent(text, self._font(given), False)[0]
        return width / _SCALE

    def _font(self, given: Mapping[str, str]) -> Any:
        from matplotlib.font_manager import FontProperties

        bold = int(given.get("font-weight", 400)) >= 600
        return FontProperties(
            family=self._fonts, size=float(given["font-size"]) * 0.94, weight="bold" if bold else "normal"
        )


def _pieces(element: Element, given: dict[str, str]) -> Iterator[tuple[dict[str, str], bool, str]]:
    """The runs of a text, each with its attributes and whether it is the first of its element."""
    first = True
    for child in element.children:
        if isinstance(child, str):
            yield given, first, child
            first = False
        elif child.tag not in _UNPAINTED:
            inner = {**{name: one for name, one in given.items() if name != "dx"}, **child.attributes}
            for own, own_first, text in _pieces(child, inner):
                yield own, own_first, text
                first = False
