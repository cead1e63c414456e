"""Where the boxes of a graph stand and how its edges run, without a browser and without a graph library.

The method is the layered one: edges that close a loop are set aside, the others give each box a row by the
longest path, barycentres order the rows, and each row is placed by isotonic regression, which keeps the order
and the distances exactly and moves everything else as little as it can. Two things are added. A label has a
row of its own between two rows of boxes and takes part in all of this, so it cannot meet a box or a label.
Edges that close a loop run in lanes at the left; their labels stand in rows that no line crosses sideways.

The result depends on the input alone; everything happens in the order of definition.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from koogbook.notebook.views.graph_view.routes import LABEL_HEIGHT, Routing
from koogbook.notebook.views.graph_view.rows import Item, Piece, set_ports, set_positions

SATELLITE_LINE = 10
SATELLITE_LABEL = 23
SATELLITE_HEIGHT = 68
_SATELLITE_TALLEST = 60
_SATELLITE_GAP = 56
_SWEEPS, _SWEEPS_WITHOUT_GAIN = 8, 3
_LOOSE_IN_A_ROW = 4


class Box(Struct, frozen=True):
    """A node to place, with its size in px; ``even`` spreads its lines around its middle, and none is the main one."""

    id: str
    width: float
    height: float
    even: bool = False


class Link(Struct, frozen=True):
    """An edge to draw; ``label_width`` is 0 without a label."""

    source: str
    target: str
    label_width: float = 0


class Rect(Struct, frozen=True):
    """A rectangle by its upper left corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The x of the right side."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """The y of the lower side."""
        return self.y + self.height


class Route(Struct, frozen=True):
    """The corners of an edge from its source to its target, and where its label stands."""

    points: tuple[tuple[float, float], ...]
    label: Rect | None = None
    back: bool = False


class Layout(Struct, frozen=True):
    """Everything placed, from 0, 0; the routes are in the order of the links."""

    width: float
    height: float
    boxes: dict[str, Rect]
    routes: tuple[Route, ...]


def layout(boxes: Sequence[Box], links: Sequence[Link]) -> Layout:
    """Place boxes and edges, top to bottom from the first box; the last few layouts are remembered.

    Raises:
        KeyError: A link names a box that is not there.
    """
    return _layout(tuple(boxes), tuple(links))


@lru_cache(maxsize=32)
def _layout(boxes: tuple[Box, ...], links: tuple[Link, ...]) -> Layout:
    if not boxes:
        return Layout(0, 0, {}, ())
    index = {box.id: number for number, box in enumerate(boxes)}
    ends = [(index[link.source], index[link.target]) for link in links]
    satellites = _satellites(boxes, ends)
    hidden = set(satellites.values())
    back = back_links(len(boxes), ends)
    forward = [
        number
        for number, (source, target) in enumerate(ends)
        if number not in back and source not in hidden and target not in hidden
    ]
    layers = _layers(len(boxes), [ends[number] for number in forward])
    _settle_loose(layers, ends)
    loops = [
        number
        for number, (source, target) in enumerate(ends)
        if number in back and source not in hidden and target not in hidden
    ]

    # Row 2 i + 1 holds the boxes of layer i, row 2 i the labels above them, where there are any.
    label_rows = {2 * layers[ends[number][0]] + 2 for number in forward if links[number].label_width}
    loop_labels: dict[int, int] = {}
    for number in loops:
        if links[number].label_width:
            source, target = (layers[end] for end in ends[number])
            loop_labels[number] = _label_row(source, target, label_rows)
            if source != target:
                label_rows.add(loop_labels[number])

    items: dict[int, Item] = {}
    rows: dict[int, list[Item]] = {}
    for number, box in enumerate(boxes):
        if number not in hidden:
            item = Item(2 * layers[number] + 1, box.width / 2, box.width / 2, box.height, box=number)
            item.even = box.even
            if number in satellites:
                gap = _satellite_gap(number, satellites[number], ends, links)
                item.right += gap + boxes[satellites[number]].width
                item.height = max(item.height, SATELLITE_HEIGHT)
            items[number] = item
            rows.setdefault(item.row, []).append(item)
    chains: dict[int, list[Piece]] = {}
    for number in forward:
        chains[number] = _chain(number, ends[number], links[number], items, rows, label_rows)
    ordered = [rows[row] for row in sorted(rows)]
    _order(ordered)
    routing = Routing(
        ordered, chains, [(n, items[ends[n][0]], items[ends[n][1]]) for n in loops], loop_labels
    )
    set_ports(items.values(), routing.loops)
    set_positions(ordered)
    placed = routing.run({number: link.label_width for number, link in enumerate(links)})

    rects: dict[str, Rect] = {}
    for number, box in enumerate(boxes):
        if number in items:
            item = items[number]
            rects[box.id] = Rect(item.x - box.width / 2, item.y - box.height / 2, box.width, box.height)
    routes: dict[int, Route] = {}
    for number, (points, label) in placed.items():
        rect = None
        if label is not None:
            width = links[number].label_width
            rect = Rect(label[0] - width / 2, label[1] - LABEL_HEIGHT / 2, width, LABEL_HEIGHT)
        routes[number] = Route(tuple(points), rect, number in back)
    for owner, satellite in satellites.items():
        box = boxes[satellite]
        first = rects[boxes[owner].id]
        middle = items[owner].y
        left = first.right + _satellite_gap(owner, satellite, ends, links)
        rects[box.id] = Rect(left, middle - box.height / 2, box.width, box.height)
        for number, (source, target) in enumerate(ends):
            if {source, target} == {owner, satellite}:
                routes[number] = _satellite_route(links[number], source == owner, first.right, left, middle)
    return _from_zero(boxes, rects, [routes[number] for number in range(len(links))])


# ------------------------------------------------------------------------------------------- structure


def back_links(count: int, ends: Sequence[tuple[int, int]]) -> set[int]:
    """The links that close a loop: depth first from the first box, links in their order."""
    out: list[list[int]] = [[] for _ in range(count)]
    for number, (source, _) in enumerate(ends):
        out[source].append(number)
    state = [0] * count
    back: set[int] = set()
    for root in range(count):
        if state[root]:
            continue
        state[root] = 1
        stack = [(root, iter(out[root]))]
        while stack:
            node, pending = stack[-1]
            for number in pending:
                target = ends[number][1]
                if state[target] == 1:
                    back.add(number)
                elif not state[target]:
                    state[target] = 1
                    stack.append((target, iter(out[target])))
                    break
            else:
                state[node] = 2
                stack.pop()
    return back


def _layers(count: int, ends: Sequence[tuple[int, int]]) -> list[int]:
    """The longest path to each box."""
    out: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for source, target in ends:
        out[source].append(target)
        waiting[target] += 1
    layers = [0] * count
    ready = [node for node in range(count) if not waiting[node]]
    for node in ready:
        for target in out[node]:
            layers[target] = max(layers[target], layers[node] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    return layers


def _settle_loose(layers: list[int], ends: Sequence[tuple[int, int]]) -> None:
    """Boxes without any link stand in short rows under the others; one row could be of any width."""
    linked = {0, *(end for pair in ends for end in pair)}
    loose = [node for node in range(len(layers)) if node not in linked]
    below = max(layers[node] for node in linked) + 1
    for place, node in enumerate(loose):
        layers[node] = below + place // _LOOSE_IN_A_ROW


def _satellites(boxes: Sequence[Box], ends: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Boxes that only answer another one: one link from it, one back. They stand at its right."""
    sources: list[list[int]] = [[] for _ in boxes]
    targets: list[list[int]] = [[] for _ in boxes]
    for source, target in ends:
        targets[source].append(target)
        sources[target].append(source)
    found: dict[int, int] = {}
    for number in range(1, len(boxes)):
        if len(sources[number]) != 1 or sources[number] != targets[number]:
            continue
        owner = sources[number][0]
        small = max(boxes[owner].height, boxes[number].height) <= _SATELLITE_TALLEST
        if small and owner not in (number, *found) and owner not in found.values():
            found[owner] = number
    return found


def _satellite_gap(
    owner: int, satellite: int, ends: Sequence[tuple[int, int]], links: Sequence[Link]
) -> float:
    widths = [
        link.label_width for link, pair in zip(links, ends, strict=True) if set(pair) == {owner, satellite}
    ]
    return max(_SATELLITE_GAP, max(widths) + 24)


def _satellite_route(link: Link, there: bool, left: float, right: float, middle: float) -> Route:
    side = -1 if there else 1
    y = middle + side * SATELLITE_LINE
    label = None
    if link.label_width:
        centre = middle + side * SATELLITE_LABEL
        label = Rect(
            (left + right - link.label_width) / 2, centre - LABEL_HEIGHT / 2, link.label_width, LABEL_HEIGHT
        )
    points = ((left, y), (right, y)) if there else ((right, y), (left, y))
    return Route(points, label, not there)


def _label_row(source: int, target: int, present: set[int]) -> int:
    """The row for the label of a link that goes up: one that is there already, else the middle one."""
    if source == target:
        return 2 * source + 1
    middle = target + source + 1
    candidates = range(2 * target + 2, 2 * source + 1, 2)
    return min(candidates, key=lambda row: (row not in present, abs(row - middle), row))


def _chain(
    number: int,
    ends: tuple[int, int],
    link: Link,
    items: dict[int, Item],
    rows: dict[int, list[Item]],
    label_rows: set[int],
) -> list[Piece]:
    """The pieces of a link from row to row: a slot in each row that it passes, its label in the first."""
    top, end = items[ends[0]], items[ends[1]]
    pieces: list[Piece] = []
    direct = end.row == top.row + 2
    width = link.label_width
    for row in range(top.row + 1, end.row):
        if row % 2 or row in label_rows:
            half = width / 2 if not pieces and width else 4.0
            slot = Item(row, half, half, 0)
            slot.is_label = not pieces and bool(width)
            rows.setdefault(row, []).append(slot)
            pieces.append(Piece(number, top, slot, direct))
            top = slot
    pieces.append(Piece(number, top, end, direct))
    return pieces


# ------------------------------------------------------------------------------------------- order


def _order(rows: list[list[Item]]) -> None:
    """Order each row by barycentres, down and up in turn, and keep the order with the fewest crossings."""
    _number(rows)
    best, fewest = [list(row) for row in rows], _crossings(rows)
    since = 0
    for sweep in range(_SWEEPS):
        if not fewest or since == _SWEEPS_WITHOUT_GAIN:
            break
        down = sweep % 2 == 0
        for row in rows[1:] if down else rows[-2::-1]:
            row.sort(key=Item.barycentre_above if down else Item.barycentre_below)
            for place, item in enumerate(row):
                item.place = place
        crossings = _crossings(rows)
        since += 1
        if crossings < fewest:
            best, fewest, since = [list(row) for row in rows], crossings, 0
    rows[:] = best
    _number(rows)


def _number(rows: list[list[Item]]) -> None:
    for row in rows:
        for place, item in enumerate(row):
            item.place = place


def _crossings(rows: list[list[Item]]) -> int:
    total = 0
    for row in rows[:-1]:
        seen: list[int] = []
        for item in row:
            lower = [piece.bottom.place for piece in item.down]
            total += sum(len(seen) - bisect_right(seen, place) for place in lower)
            for place in lower:
                insort(seen, place)
    return total


def _from_zero(boxes: Sequence[Box], rects: dict[str, Rect], routes: Sequence[Route]) -> Layout:
    """Everything moved so that the picture begins at 0, 0, in tenths of a px."""
    labels = [route.label for route in routes if route.label]
    shapes = [*rects.values(), *labels]
    points = [point for route in routes for point in route.points]
    left = min(min(rect.x for rect in shapes), min((x for x, _ in points), default=0.0))
    top = min(min(rect.y for rect in shapes), min((y for _, y in points), default=0.0))
    right = max(max(rect.right for rect in shapes), max((x for x, _ in points), default=0.0))
    bottom = max(max(rect.bottom for rect in shapes), max((y for _, y in points), default=0.0))

    def moved(rect: Rect) -> Rect:
        return Rect(round(rect.x - left, 1), round(rect.y - top, 1), rect.width, rect.height)

    return Layout(
        round(right - left, 1),
        round(bottom - top, 1),
        {box.id: moved(rects[box.id]) for box in boxes},
        tuple(
            Route(
                tuple((round(x - left, 1), round(y - top, 1)) for x, y in route.points),
                moved(route.label) if route.label else None,
                route.back,
            )
            for route in routes
        ),
    )
