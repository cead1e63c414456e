"""Widths of text without a browser, and the forms in which numbers are written."""

from __future__ import annotations

import math
import textwrap
import unicodedata
from functools import lru_cache

from koogbook.notebook.views.look.markup import one_line

#: Advance widths of Helvetica and Arial in thousandths of the size, for the characters from space to tilde.
_ASCII = (
    *(278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278),
    *(556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556),
    *(1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778),
    *(667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556),
    *(333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556),
    *(556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584),
)
_SIGNS = {"\u00d7": 584, "\u00b7": 278, "\u2192": 1000, "\u2026": 1000, "\u2212": 584}
_LATIN, _WIDE = 620, 1000

# Where Helvetica is missing, DejaVu Sans stands in; it is at most this much wider.
_REGULAR_SLACK, _BOLD_SLACK = 1.16, 1.31
_MONO_WIDTH = 0.602

_PLAIN = str.maketrans(
    {
        "\u00d7": "x",
        "\u00b7": "-",
        "\u2192": "->",
        "\u2026": "...",
        "\u2212": "-",
        "\u2013": "-",
        "\u2014": "-",
        "\u2018": "'",
        "\u2019": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u00a0": " ",
    }
)


@lru_cache(maxsize=4096)
def text_width(text: str, size: float = 12, *, bold: bool = False, mono: bool = False) -> float:
    """The width in px that a text takes at most, with the fonts that pictures ask for."""
    if mono:
        return sum(2 if _is_wide(sign) else 1 for sign in text) * size * _MONO_WIDTH
    units = sum(_advance(sign) for sign in text)
    return units / 1000 * size * (_BOLD_SLACK if bold else _REGULAR_SLACK)


def _advance(sign: str) -> int:
    code = ord(sign)
    if 32 <= code < 127:
        return _ASCII[code - 32]
    if sign in _SIGNS:
        return _SIGNS[sign]
    if unicodedata.combining(sign) or code in (0x200D, 0xFE0F):
        return 0
    return _WIDE if _is_wide(sign) else _LATIN


def _is_wide(sign: str) -> bool:
    return ord(sign) >= 0x2400 and (ord(sign) < 0x2E80 or unicodedata.east_asian_width(sign) in "WF")


def cut_middle(text: str, length: int = 24, mark: str = "\u2026") -> str:
    """A text of at most ``length`` characters; a longer one loses its middle: names differ at both ends."""
    if len(text) <= length:
        return text
    left = length - len(mark)
    if left < 2:
        return text[:length]
    end = left // 2
    return text[: left - end] + mark + text[len(text) - end :]


def cut_end(text: str, length: int, mark: str = "\u2026") -> str:
    """A text of at most ``length`` characters; a longer one loses its end."""
    return text if len(text) <= length else text[: max(length - len(mark), 0)].rstrip() + mark[:length]


def fit(text: str, width: float, size: float = 12, *, bold: bool = False, mono: bool = False) -> str:
    """The text, cut in the middle until it fits into ``width`` px; at least one character and the mark."""
    if text_width(text, size, bold=bold, mono=mono) <= width:
        return text
    short, long = 2, len(text)
    while short < long:
        middle = (short + long + 1) // 2
        if text_width(cut_middle(text, middle), size, bold=bold, mono=mono) <= width:
            short = middle
        else:
            long = middle - 1
    return cut_middle(text, short)


def plain(text: str, length: int | None = None) -> str:
    """One line of ASCII, signs without a plain form as escapes; cut in the middle to ``length``."""
    line = one_line(text).translate(_PLAIN).replace("\u240a", " ").replace("\u2409", " ")
    line = line.encode("ascii", "backslashreplace").decode("ascii")
    return line if length is None else cut_middle(line, length, "..")


def wrapped(text: str, width: int = 98, indent: str = "  ") -> list[str]:
    """Lines of at most ``width`` characters, the later ones deeper."""
    return textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent + "  ")


def duration(seconds: float) -> str:
    """A time as people read it: ``1.4 ms``, ``840 ms``, ``1.39 s``, ``12.4 s``, ``3 min 12 s``, ``2 h 05 min``."""
    if not math.isfinite(seconds):
        return "unknown"
    if seconds < 0:
        return f"-{duration(-seconds)}"
    milliseconds = seconds * 1000
    if 0 < milliseconds < 9.95:
        return f"{milliseconds:.1f} ms".replace(".0 ms", " ms") if milliseconds >= 0.05 else "<0.1 ms"
    if milliseconds < 999.5:
        return f"{milliseconds:.0f} ms"
    if seconds < 9.995:
        return f"{seconds:.2f} s"
    if seconds < 119.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def thousands(number: float) -> str:
    """A count with commas: ``12,345``; a minus is a real one (:func:`plain` turns it back)."""
    return f"{round(number):,}".replace("-", "\u2212")


def percent(share: float, *, signed: bool = False) -> str:
    """A share as a percentage: 0.82 is ``82 %``, signed ``+82 %``; a minus is a real one.

    A share that is not all is never written as 100 %, one that is something never as 0 %.
    """
    value = round(share * 100)
    if abs(value) == 100 and abs(share) < 1:
        value = 99 if value > 0 else -99
    text = f"{abs(value)} %" if value or not share else "<1 %"
    sign = "\u2212" if share < 0 else "+" if signed and share > 0 else ""
    return sign + text


def count(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun: ``1 node``, ``1,204 nodes``."""
    return f"{thousands(number)} {one if number == 1 else many or one + 's'}"
