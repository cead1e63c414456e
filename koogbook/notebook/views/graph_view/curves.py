"""The outlines of an SVG picture as points and the codes that matplotlib gives them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

_MOVE, _LINE, _QUADRATIC, _CUBIC, _CLOSE = 1, 2, 3, 4, 79
_STEPS_OF_ARC = 24
_TOKEN = re.compile(r"([A-Za-z])|(-?(?:\d+\.?\d*|\.\d+))")
_ARGUMENTS = {"M": 2, "L": 2, "H": 1, "V": 1, "Q": 4, "C": 6, "S": 4, "A": 7, "Z": 0}

Point = tuple[float, float]
Command = tuple[int, Point]


class Affine:
    """A shift and a scale, as the groups of our pictures have."""

    def __init__(self, x: float = 0.0, y: float = 0.0, scale: float = 1.0) -> None:
        self.x = x
        self.y = y
        self.scale = scale

    def of(self, x: float, y: float) -> Point:
        """Where a point stands in the picture."""
        return self.x + x * self.scale, self.y + y * self.scale

    def then(self, transform: str) -> Affine:
        """With the transformation of a group inside: ``translate(x y) scale(s)``."""
        numbers = [float(found) for found in re.findall(r"-?[\d.]+", transform)]
        dx, dy, scale = (*numbers, 1.0)[:3] if len(numbers) >= 2 else (0.0, 0.0, 1.0)
        x, y = self.of(dx, dy)
        return Affine(x, y, self.scale * scale)


def rectangle(x: float, y: float, width: float, height: float, radius: float) -> list[Command]:
    """A rectangle with round corners; with the radius of half its sides, a circle."""
    r = min(radius, width / 2, height / 2)
    # The distance of the handles that makes a curve the quarter of a circle.
    k = r * (1 - 0.5523)
    right, bottom = x + width, y + height
    return [
        (_MOVE, (x + r, y)),
        (_LINE, (right - r, y)),
        *_curve((right - k, y), (right, y + k), (right, y + r)),
        (_LINE, (right, bottom - r)),
        *_curve((right, bottom - k), (right - k, bottom), (right - r, bottom)),
        (_LINE, (x + r, bottom)),
        *_curve((x + k, bottom), (x, bottom - k), (x, bottom - r)),
        (_LINE, (x, y + r)),
        *_curve((x, y + k), (x + k, y), (x + r, y)),
        (_CLOSE, (x + r, y)),
    ]


def _curve(*points: Point) -> list[Command]:
    return [(_CUBIC, point) for point in points]


def commands_of(path: str) -> list[Command]:
    """The points of an SVG path.

    Raises:
        ValueError: It has a command that our pictures do not use.
    """
    found: list[Command] = []
    x = y = 0.0
    begin = handle = (0.0, 0.0)
    for letter, given in _split(path):
        kind, relative = letter.upper(), letter.islower()
        ox, oy = (x, y) if relative else (0.0, 0.0)
        if kind == "Z":
            found.append((_CLOSE, begin))
            x, y = begin
        elif kind == "A":
            end = (given[5] + ox, given[6] + oy)
            found += [(_LINE, point) for point in _arc((x, y), given, end)]
            x, y = end
        elif kind in "HV":
            x, y = (given[0] + ox, y) if kind == "H" else (x, given[0] + oy)
            found.append((_LINE, (x, y)))
        else:
            points = [(given[at] + ox, given[at + 1] + oy) for at in range(0, len(given), 2)]
            if kind == "S":
                points.insert(0, (2 * x - handle[0], 2 * y - handle[1]))
            code = {"M": _MOVE, "L": _LINE, "Q": _QUADRATIC}.get(kind, _CUBIC)
            found += [(code, point) for point in points]
            x, y = points[-1]
            if kind == "M":
                begin = (x, y)
        handle = found[-2][1] if kind in "CS" else (x, y)
    return found


def _split(path: str) -> Iterator[tuple[str, list[float]]]:
    """Each command with its numbers; further numbers repeat it, after a move as lines."""
    letter, numbers = "", list[float]()
    for found in _TOKEN.finditer(path):
        if found[1]:
            letter, numbers = found[1], []
            if letter.upper() not in _ARGUMENTS:
                raise ValueError(f"{letter!r} is no command of our pictures")
            if letter in "zZ":
                yield letter, []
            continue
        numbers.append(float(found[2]))
        if len(numbers) == _ARGUMENTS[letter.upper()]:
            yield letter, numbers
            letter, numbers = {"M": "L", "m": "l"}.get(letter, letter), []


def _arc(start: Point, given: list[float], end: Point) -> list[Point]:
    """Points of the arc of a circle."""
    radius, large, sweep = given[0], bool(given[3]), bool(given[4])
    dx, dy = end[0] - start[0], end[1] - start[1]
    chord = math.hypot(dx, dy)
    radius = max(radius, chord / 2)
    off = math.sqrt(max(radius**2 - chord**2 / 4, 0)) * (-1 if large == sweep else 1)
    cx = (start[0] + end[0]) / 2 - dy / chord * off
    cy = (start[1] + end[1]) / 2 + dx / chord * off
    first = math.atan2(start[1] - cy, start[0] - cx)
    turn = math.atan2(end[1] - cy, end[0] - cx) - first
    if sweep and turn < 0:
        turn += 2 * math.pi
    elif not sweep and turn > 0:
        turn -= 2 * math.pi
    angles = [first + turn * step / _STEPS_OF_ARC for step in range(1, _STEPS_OF_ARC + 1)]
    return [(cx + radius * math.cos(angle), cy + radius * math.sin(angle)) for angle in angles]
