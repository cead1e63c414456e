"""The lines of a graph layout: heights of the rows, bends between them, lanes for the links that go up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from koogbook.notebook.views.graph_view.rows import Item, Loop, Piece

LABEL_HEIGHT = 18
_TRACK = 10
_STRAIGHT = 0.5
_NUDGE = 14
_LANE = 14
_SIDE_PORT = 12
_FAR_LEFT = float("-inf")

Points = list[tuple[float, float]]


class _Bend:
    """A sideways piece in the space between two rows; ``y`` is set when all of that space are known."""

    __slots__ = ("end", "high", "low", "start", "track", "y")

    def __init__(self, start: float, end: float) -> None:
        self.start = start
        self.end = end
        self.low = min(start, end)
        self.high = max(start, end)
        self.track = 0
        self.y = 0.0


class Routing:
    """Routes of all links; made when the order of the rows is known and run when the x of all items is."""

    def __init__(
        self,
        rows: Sequence[Sequence[Item]],
        chains: Mapping[int, Sequence[Piece]],
        loops: Sequence[tuple[int, Item, Item]],
        loop_labels: Mapping[int, int],
    ) -> None:
        numbers = sorted({row[0].row for row in rows} | set(loop_labels.values()))
        self._rows = {number: place for place, number in enumerate(numbers)}
        self._numbers = numbers
        self._items = {row[0].row: row for row in rows}
        self._chains = chains
        self._loop_labels = loop_labels
        #: Rows of boxes with the label of a loop in them: no line but that loop's may run sideways there.
        quiet: dict[int, int] = {}
        for link, row in loop_labels.items():
            if row % 2:
                quiet.setdefault(row, link)
        self.loops = [self._loop(link, source, target, quiet) for link, source, target in loops]
        self._bends: list[list[_Bend]] = [[] for _ in range(len(numbers) + 1)]

    def _loop(self, link: int, source: Item, target: Item, quiet: Mapping[int, int]) -> Loop:
        side_out = self._is_leftmost(source) and quiet.get(source.row, link) == link
        side_in = self._is_leftmost(target) and quiet.get(target.row, link) == link
        return Loop(link, source, target, side_out, side_in)

    def _is_leftmost(self, item: Item) -> bool:
        return all(other.box is None for other in self._items[item.row][: item.place])

    def run(self, label_widths: Mapping[int, float]) -> dict[int, tuple[Points, tuple[float, float] | None]]:
        """The corners and the middle of the label of each link; sets the y of all items."""
        bends = {
            piece: self._bend(self._rows[piece.bottom.row], *ends)
            for chain in self._chains.values()
            for piece in chain
            if (ends := _ends(piece)) is not None
        }
        out_bends: dict[int, _Bend] = {}
        in_bends: dict[int, _Bend] = {}
        for loop in self.loops:
            if not loop.side_out:
                start = loop.source.x + loop.source.out_ports[loop.link]
                out_bends[loop.link] = self._bend(self._rows[loop.source.row] + 1, start, _FAR_LEFT)
            if not loop.side_in:
                end = loop.target.x + loop.target.in_ports[loop.link]
                in_bends[loop.link] = self._bend(self._rows[loop.target.row], _FAR_LEFT, end)
        middles = self._set_heights()
        placed: dict[int, tuple[Points, tuple[float, float] | None]] = {}
        for link, chain in self._chains.items():
            placed[link] = _forward(chain, bends)
        self._run_loops(placed, label_widths, middles, out_bends, in_bends)
        return placed

    def _bend(self, space: int, start: float, end: float) -> _Bend:
        bend = _Bend(start, end)
        self._bends[space].append(bend)
        return bend

    def _set_heights(self) -> list[float]:
        """Set the y of items and bends, top to bottom; the middles of all rows."""
        y = 0.0
        middles: list[float] = []
        for place in range(len(self._numbers) + 1):
            tracks = _set_tracks(self._bends[place])
            above = self._numbers[place - 1] % 2 if place else None
            below = self._numbers[place] % 2 if place < len(self._numbers) else None
            first = 8 if above is None else 12
            for bend in self._bends[place]:
                bend.y = y + first + bend.track * _TRACK
            if tracks:
                y += first + (tracks - 1) * _TRACK + (18 if below else 12)
            elif above is not None and below is not None:
                y += 24 if above and below else 20 if below else 12
            if below is not None:
                row = self._items.get(self._numbers[place], ())
                height = max((item.height for item in row), default=0) if below else LABEL_HEIGHT
                for item in row:
                    item.y = y + height / 2
                middles.append(y + height / 2)
                y += height
        return middles

    # --------------------------------------------------------------------------------------- loops

    def _run_loops(
        self,
        placed: dict[int, tuple[Points, tuple[float, float] | None]],
        label_widths: Mapping[int, float],
        middles: Sequence[float],
        out_bends: Mapping[int, _Bend],
        in_bends: Mapping[int, _Bend],
    ) -> None:
        """Short loops get the inner lanes, long ones the outer; each lane is as wide as its label."""
        edges = [
            min((item.x - item.left for item in self._items.get(number, ())), default=float("inf"))
            for number in self._numbers
        ]
        shortest_first = sorted(
            self.loops, key=lambda loop: (loop.source.row - loop.target.row, loop.source.row, loop.link)
        )
        lanes: dict[int, float] = {}
        for loop in shortest_first:
            first = max(self._rows[loop.target.row] - (not loop.side_in), 0)
            last = min(self._rows[loop.source.row] + (not loop.side_out), len(edges) - 1)
            half = label_widths[loop.link] / 2 if label_widths[loop.link] else 0
            free = min(edges[first : last + 1])
            lanes[loop.link] = round(free - _LANE - half, 1)
            edges[first : last + 1] = [lanes[loop.link] - half] * (last + 1 - first)
        side_ports = _side_ports(shortest_first)
        for loop in self.loops:
            lane = lanes[loop.link]
            points = self._loop_points(loop, lane, side_ports, out_bends, in_bends)
            label = None
            if loop.link in self._loop_labels:
                label = (lane, middles[self._rows[self._loop_labels[loop.link]]])
            placed[loop.link] = points, label

    def _loop_points(
        self,
        loop: Loop,
        lane: float,
        side_ports: Mapping[tuple[int, bool], float],
        out_bends: Mapping[int, _Bend],
        in_bends: Mapping[int, _Bend],
    ) -> Points:
        source, target, link = loop.source, loop.target, loop.link
        if loop.side_out:
            y = side_ports[link, True]
            points = [(source.x - source.left, y), (lane, y)]
        else:
            bend = out_bends[link]
            points = [(bend.start, source.y + source.box_height / 2), (bend.start, bend.y), (lane, bend.y)]
        if loop.side_in:
            y = side_ports[link, False]
            points += [(lane, y), (target.x - target.left, y)]
        else:
            bend = in_bends[link]
            points += [(lane, bend.y), (bend.end, bend.y), (bend.end, target.y - target.box_height / 2)]
        return points


def _side_ports(shortest_first: Sequence[Loop]) -> dict[tuple[int, bool], float]:
    """The y at which loops leave (True) and enter (False) the side of a box, so that they cross least.

    Those that leave are above, the shortest first; those that enter below, the longest first.
    """
    leaving: dict[Item, list[tuple[int, bool]]] = {}
    for loop in shortest_first:
        if loop.side_out:
            leaving.setdefault(loop.source, []).append((loop.link, True))
    for loop in reversed(shortest_first):
        if loop.side_in:
            leaving.setdefault(loop.target, []).append((loop.link, False))
    ports: dict[tuple[int, bool], float] = {}
    for item, ends in leaving.items():
        step = min(_SIDE_PORT, (item.box_height - 12) / max(len(ends) - 1, 1))
        first = item.y - step * (len(ends) - 1) / 2
        ports.update({end: first + place * step for place, end in enumerate(ends)})
    return ports


def _ends(piece: Piece) -> tuple[float, float] | None:
    """Both x of a piece that has to bend; a short bend is avoided by moving where it meets a box."""
    start, end = piece.start, piece.end
    bottom = piece.bottom
    if abs(start - end) <= _STRAIGHT:
        if bottom.box is None:
            bottom.x = start
        else:
            bottom.in_ports[piece.link] = start - bottom.x
        return None
    if abs(start - end) < _NUDGE and bottom.box is not None:
        wanted = start - bottom.x
        others = [port for link, port in bottom.in_ports.items() if link != piece.link]
        if abs(wanted) <= bottom.left - 10 and all(abs(port - wanted) >= 10 for port in others):
            bottom.in_ports[piece.link] = wanted
            return None
    return start, end


def _forward(
    chain: Sequence[Piece], bends: Mapping[Piece, _Bend]
) -> tuple[Points, tuple[float, float] | None]:
    top, bottom = chain[0].top, chain[-1].bottom
    points = [(chain[0].start, top.y + top.box_height / 2)]
    for piece in chain:
        bend = bends.get(piece)
        if bend is not None:
            points += [(bend.start, bend.y), (bend.end, bend.y)]
    points.append((points[-1][0], bottom.y - bottom.box_height / 2))
    slot = chain[0].bottom
    return points, (slot.x, slot.y) if slot.is_label else None


def _set_tracks(bends: Sequence[_Bend]) -> int:
    """Give each bend of one space a track, so that no two touch; how many tracks there are.

    Among those to the right the one that starts farthest right is on top, to the left the mirror image: then
    lines of one direction that keep their order never cross. The direction on top is the one with which fewer
    vertical pieces fall on each other.
    """
    rightward = sorted((bend for bend in bends if bend.end > bend.start), key=lambda bend: -bend.start)
    leftward = sorted((bend for bend in bends if bend.end < bend.start), key=lambda bend: bend.start)
    ends = {bend.end for bend in rightward}
    starts = {bend.start for bend in rightward}
    left_first = sum(bend.start in ends for bend in leftward)
    right_first = sum(bend.end in starts for bend in leftward)
    order = [*leftward, *rightward] if left_first > right_first else [*rightward, *leftward]
    tracks: list[list[_Bend]] = []
    for bend in order:
        level = len(tracks)
        while level and not any(
            bend.low < other.high + _TRACK and other.low < bend.high + _TRACK for other in tracks[level - 1]
        ):
            level -= 1
        if level == len(tracks):
            tracks.append([])
        tracks[level].append(bend)
        bend.track = level
    return len(tracks)
