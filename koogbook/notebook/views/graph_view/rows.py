"""The rows of a graph layout: what stands in them, where lines meet a box, and the x of everything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

BETWEEN = 16
_PORT_DISTANCE = 40
_PORT_INSET = 14
_PASSES = 4
_MAIN = 1000


class Item:
    """Something with a place in a row: a box (with its satellite), a label, or the slot of a passing line.

    ``x`` is the middle of the box itself; ``left`` and ``right`` say how far the item reaches from there.
    """

    __slots__ = (
        "box",
        "box_height",
        "down",
        "even",
        "height",
        "in_ports",
        "is_label",
        "left",
        "out_ports",
        "place",
        "right",
        "row",
        "up",
        "x",
        "y",
    )

    def __init__(self, row: int, left: float, right: float, height: float, box: int | None = None) -> None:
        self.row = row
        self.left = left
        self.right = right
        self.height = height
        #: The height of the box itself; the item is higher where labels stand over and under it.
        self.box_height = height
        self.box = box
        self.is_label = False
        #: Its lines stand around its middle.
        self.even = False
        self.place = 0
        self.x = 0.0
        self.y = 0.0
        self.up: list[Piece] = []
        self.down: list[Piece] = []
        #: Distance of each line from the middle, by the number of its link.
        self.in_ports: dict[int, float] = {}
        self.out_ports: dict[int, float] = {}

    def barycentre_above(self) -> float:
        """The mean place of the neighbours above; its own place without any."""
        return sum(piece.top.place for piece in self.up) / len(self.up) if self.up else self.place

    def barycentre_below(self) -> float:
        """The mean place of the neighbours below; its own place without any."""
        return sum(piece.bottom.place for piece in self.down) / len(self.down) if self.down else self.place


class Piece:
    """The part of a link between two rows that follow each other."""

    __slots__ = ("bottom", "direct", "link", "top", "weight")

    def __init__(self, link: int, top: Item, bottom: Item, direct: bool) -> None:
        self.link = link
        self.top = top
        self.bottom = bottom
        #: Its link leads to the next row of boxes.
        self.direct = direct
        # Long lines are kept straight first: a bend in one is seen from afar.
        self.weight = (1.0, 2.0, 8.0)[(top.box is None) + (bottom.box is None)]
        top.down.append(self)
        bottom.up.append(self)

    @property
    def start(self) -> float:
        """The x at the upper end."""
        return self.top.x + self.top.out_ports.get(self.link, 0.0)

    @property
    def end(self) -> float:
        """The x at the lower end."""
        return self.bottom.x + self.bottom.in_ports.get(self.link, 0.0)


class Loop:
    """A link that goes up, in a lane at the left; it meets a box at the side where nothing is in its way."""

    __slots__ = ("link", "side_in", "side_out", "source", "target")

    def __init__(self, link: int, source: Item, target: Item, side_out: bool, side_in: bool) -> None:
        self.link = link
        self.source = source
        self.target = target
        self.side_out = side_out
        self.side_in = side_in


def set_ports(items: Iterable[Item], loops: Iterable[Loop]) -> None:
    """Say where each line meets its boxes: the main one in the middle, the others beside it."""
    loops_out: dict[Item, list[int]] = {}
    loops_in: dict[Item, list[int]] = {}
    for loop in loops:
        if not loop.side_out:
            loops_out.setdefault(loop.source, []).append(loop.link)
        if not loop.side_in:
            loops_in.setdefault(loop.target, []).append(loop.link)
    for item in items:
        half = item.left - _PORT_INSET
        below = sorted(item.down, key=lambda piece: piece.bottom.place)
        item.out_ports = _ports(loops_out.get(item, []), below, half, even=item.even)
        above = sorted(item.up, key=lambda piece: piece.top.place)
        item.in_ports = _ports(loops_in.get(item, []), above, half, even=item.even)
        for piece in item.down:
            if piece.direct and not item.out_ports[piece.link]:
                for part in (piece, *(piece.bottom.down if piece.bottom.is_label else ())):
                    part.weight *= _MAIN
        for piece in item.up:
            if piece.direct and not item.in_ports[piece.link]:
                piece.weight *= 4


def _ports(
    loops: Sequence[int], pieces: Sequence[Piece], half: float, *, even: bool = False
) -> dict[int, float]:
    """Distances from the middle, left to right; the first direct link has 0, so that a chain is one line.

    With ``even`` they stand around the middle.
    """
    ports = [*loops, *(piece.link for piece in pieces)]
    if not ports:
        return {}
    first = min(pieces, key=lambda piece: (not piece.direct, piece.link)).link if pieces else ports[0]
    main = (len(ports) - 1) / 2 if even else ports.index(first)
    step = min(_PORT_DISTANCE, half / max(main, len(ports) - 1 - main, 1))
    return {link: (place - main) * step for place, link in enumerate(ports)}


# ------------------------------------------------------------------------------------------- positions


def set_positions(rows: Sequence[Sequence[Item]]) -> None:
    """Give each item its x: close to its neighbours above and below, in order, with room between them."""
    for row in rows:
        x = 0.0
        for item in row:
            x += item.left
            item.x = x
            x += item.right + BETWEEN
        for item in row:
            item.x -= (x - BETWEEN) / 2
    for turn in range(_PASSES):
        down = turn % 2 == 0
        for row in rows[1:] if down else rows[-2::-1]:
            _place(row, up=down, down=not down)
    for row in rows:
        _place(row, up=True, down=True)
    for row in rows[1:]:
        _place(row, up=True, down=False)
    for row in reversed(rows):
        _straighten(row)
    for row in rows:
        for item in row:
            item.x = round(item.x, 1)


def _straighten(row: Sequence[Item]) -> None:
    """Move the slot of a passing line over the next one below, where its neighbours leave room for that."""
    for place, item in enumerate(row):
        if item.box is not None or item.is_label:
            continue
        wanted = item.down[0].end
        left = row[place - 1] if place else None
        right = row[place + 1] if place + 1 < len(row) else None
        fits = (left is None or left.x + left.right + BETWEEN + item.left <= wanted) and (
            right is None or wanted + item.right + BETWEEN + right.left <= right.x
        )
        if fits:
            item.x = wanted


def _place(row: Sequence[Item], *, up: bool, down: bool) -> None:
    wishes: list[float] = []
    weights: list[float] = []
    for item in row:
        total = weight = 0.0
        if up:
            for piece in item.up:
                total += piece.weight * (piece.start - item.in_ports.get(piece.link, 0.0))
                weight += piece.weight
        if down:
            for piece in item.down:
                total += piece.weight * (piece.end - item.out_ports.get(piece.link, 0.0))
                weight += piece.weight
        wishes.append(total / weight if weight else item.x)
        weights.append(weight or 0.1)
    if len(row) == 1:
        row[0].x = wishes[0]
        return
    offsets = [0.0]
    for left, right in pairwise(row):
        offsets.append(offsets[-1] + left.right + right.left + BETWEEN)
    moved = _isotonic([wish - offset for wish, offset in zip(wishes, offsets, strict=True)], weights)
    for item, position, offset in zip(row, moved, offsets, strict=True):
        item.x = position + offset


def _isotonic(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The nearest sequence that never falls: neighbours that do are pooled at their weighted mean."""
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(values, weights, strict=True):
        mean, mass, size = value, weight, 1
        while pools and pools[-1][0] > mean:
            other, other_mass, other_size = pools.pop()
            mean = (mean * mass + other * other_mass) / (mass + other_mass)
            mass += other_mass
            size += other_size
        pools.append((mean, mass, size))
    return [mean for mean, _, size in pools for _ in range(size)]
