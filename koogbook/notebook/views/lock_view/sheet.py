"""The two sizes of the picture: beside its lanes a wide one has their names, a narrow one has them above."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

#: From seconds to where they stand in the picture.
Place = Callable[[float], float]


class Sheet(Struct, frozen=True, kw_only=True):
    """Measures of a picture in px: its width, and how far from its edges the time axis ends.

    ``beside``: names stand beside the lanes. A lane with more than ``most_bars`` sessions is a strip and its longest
    waits; so is, with more than ``most_in_all`` bars, each lane that has more than ``few``. ``ticks`` is how many the
    axis has at most, ``columns`` are the widths of a strip's columns, with few lanes and with many: they divide the
    axis, so that the last column ends where it does. ``scales`` is how small and how large it may be shown.
    """

    width: int
    left: int
    right: int
    beside: bool
    most_bars: int
    most_in_all: int
    few: int
    ticks: int
    columns: tuple[int, int]
    scales: tuple[float, float]

    @property
    def axis(self) -> int:
        """The length of the time axis."""
        return self.width - self.left - self.right

    @property
    def style(self) -> str:
        """How it fits the place where it is shown."""
        least, most = (round(self.width * scale) for scale in self.scales)
        low = f"min-width:{least}px;" if least else ""
        return f"width:100%;{low}max-width:{most}px;height:auto"


WIDE = Sheet(
    width=940,
    left=148,
    right=72,
    beside=True,
    most_bars=60,
    most_in_all=300,
    few=12,
    ticks=8,
    columns=(4, 6),
    scales=(0.0, 1.15),
)
NARROW = Sheet(
    width=600,
    left=16,
    right=56,
    beside=False,
    most_bars=30,
    most_in_all=100,
    few=6,
    ticks=5,
    columns=(4, 6),
    scales=(0.8, 1.27),
)
