"""The table of checkpoints with the tree of their forks, and whether the code as it is now can go on from each."""

from __future__ import annotations

from collections.abc import Iterator

from koogbook.notebook.views.checkpoint_view.state import (
    CheckpointRow,
    CheckpointState,
    CutRow,
    Detail,
    Row,
    RowWord,
    RunRow,
    Verdict,
    checkpoint_state,
)
from koogbook.notebook.views.checkpoint_view.text import checkpoint_text
from koogbook.notebook.views.look.glyphs import glyph, glyph_at
from koogbook.notebook.views.look.markup import Element, h
from koogbook.notebook.views.look.measure import count, cut_middle, thousands
from koogbook.notebook.views.look.pieces import Tone, chip, frame, pair, picture

__all__ = ["CheckpointState", "Verdict", "checkpoint_element", "checkpoint_state", "checkpoint_text"]

ROW = 32
TREE = 56
_FIRST_LANE, _LANE = 10, 12
_RADIUS = 4.5
_SHORT_ID = 10  # characters of a parent's id, which stands whole in the row above

_MARKS: dict[RowWord, tuple[str, Tone]] = {
    "resumable": ("done", "ok"),
    "with warning": ("warning", "warn"),
    "not resumable": ("failed", "bad"),
    "ended": ("tombstone", "ink2"),
    "not checked": ("idle", "ink2"),
}
_TD = "padding:0 8px;white-space:nowrap;text-align:"
# A notebook lets pictures shrink with their cell, so the cell has to say how wide it is.
_TREE_CELL = f"padding:0;vertical-align:top;width:{TREE}px;min-width:{TREE}px"
_NODE_CELL = f"{_TD}left;width:100%;min-width:130px;max-width:0;overflow:hidden;text-overflow:ellipsis"


def checkpoint_element(state: CheckpointState) -> Element:
    """The table as markup."""
    if state.rows:
        body = [h("div", _table(state), cls="kb-scroll"), *_details(state)]
    else:
        words = "Nothing saved yet. The first checkpoint is written after the first node of a run."
        body = [h("p", words, cls="kb-panel kb-quiet", style="margin:0")]
    return frame(
        icon="checkpoint",
        title="Checkpoints",
        name=" ".join(state.sessions),
        status=state.sentence[0].upper() + state.sentence[1:],
        body=body,
        foot=_foot(state),
    )


def _foot(state: CheckpointState) -> str:
    words = [state.store] if state.store else []
    if state.rows:
        words.append(f"times are UTC, {state.day}" if state.day else "times are UTC")
        words.append("order: a parent before its children, a fork right under its parent")
    left = sum(len(row.left_out) for row in state.rows if isinstance(row, CheckpointRow))
    if left:
        words.append(f"{count(left, 'storage key')} left out")
    return " \u00b7 ".join(words)


# ------------------------------------------------------------------------------------------- table


def _table(state: CheckpointState) -> Element:
    judged = any(isinstance(row, CheckpointRow) and row.word != "not checked" for row in state.rows)
    several = len({row.session for row in state.rows if isinstance(row, CheckpointRow)}) > 1
    heads = [
        ("", "left", ""),
        ("id", "left", ""),
        *([("session", "left", "kb-wide")] if several else []),
        ("time", "left", "kb-wide"),
        ("after node", "left", ""),
        ("ver", "right", ""),
        ("messages", "right", "kb-wide"),
        ("tokens", "right", ""),
        ("new", "right", "kb-wide"),
        ("parent", "left", "kb-wide"),
        ("against the code now" if judged else "state", "left", ""),
    ]
    rows = [_cells(row, several) for row in state.rows]
    rows[0].insert(0, h("td", _tree(state), rowspan=len(rows), style=_TREE_CELL))
    return h(
        "table",
        h("caption", f"Checkpoints of {' '.join(state.sessions)}", cls="kb-hidden"),
        h("thead", _tr([_head(*head) for head in heads], "line")),
        h("tbody", *(_tr(cells, "line2", ROW) for cells in rows)),
        style="border-collapse:collapse;table-layout:auto;width:100%;margin:0;border:0;font-size:12px;line-height:18px",
    )


def _tr(cells: list[Element], line: str, height: int | None = None) -> Element:
    size = f"height:{height}px;" if height else ""
    style = f"{size}background:transparent;border:0;border-bottom:1px solid var(--kb-{line})"
    return h("tr", *cells, style=style)


def _head(word: str, align: str, cls: str) -> Element:
    style = f"{_TD}{align};padding-top:6px;padding-bottom:6px;font-weight:400"
    if not word:
        return h("td", style=_TREE_CELL)
    return h("th", word, scope="col", cls=f"kb-small kb-quiet {cls}".rstrip(), style=style)


def _cells(row: Row, several: bool) -> list[Element]:
    columns = 10 if several else 9
    if isinstance(row, RunRow):
        return [_run_cell(row, columns)]
    if isinstance(row, CutRow):
        words = f"\u2026 {count(row.count, 'checkpoint')} left out here \u2026"
        return [h("td", words, colspan=columns, cls="kb-quiet kb-t-sunk", style=_TD + "center")]
    quiet = "kb-quiet" if row.word == "ended" else ""
    tone = "kb-accent" if row.lane else "kb-quiet"
    session = h("span", cut_middle(row.session, 14), title=row.session)
    return [
        _td(_id(row.id), "left", quiet),
        *([_td(session, "left", f"{tone} kb-wide")] if several else []),
        _td(row.time, "left", "kb-quiet kb-wide"),
        h("td", *_node(row), cls=quiet, style=_NODE_CELL),
        _td(thousands(row.version), "right", quiet),
        _td(thousands(row.messages), "right", f"{quiet} kb-wide".strip()),
        _td(thousands(row.tokens), "right", quiet),
        _td(size(row.bytes), "right", f"{quiet} kb-wide".strip()),
        _td(_parent(row), "left", "kb-quiet kb-wide"),
        _td(_verdict(row), "left", ""),
    ]


def _td(content: Element | str, align: str, cls: str) -> Element:
    return h("td", content, cls=cls, style=_TD + align)


def _run_cell(row: RunRow, columns: int) -> Element:
    mark, tone = _MARKS[row.word]
    words = f"{count(row.count, 'checkpoint')} in a row"
    ids = h("code", f"{cut_middle(row.first, 16)} \u2026 {cut_middle(row.last, 16)}", cls="kb-code")
    note = f" ({row.note})" if row.note is not None else ""
    return h(
        "td",
        h("span", words, " \u00b7 ", ids, f" \u00b7 {size(row.bytes)} \u00b7 ", cls="kb-quiet"),
        pair(glyph(mark, tone=tone), row.word + note, tone),
        colspan=columns,
        cls="kb-t-sunk",
        style=_TD + "left;max-width:0;overflow:hidden;text-overflow:ellipsis",
    )


def _id(id: str, most: int = 16) -> Element:
    title = id if len(id) > most else None
    return h("code", cut_middle(id, most), cls="kb-code kb-word", title=title)


def _node(row: CheckpointRow) -> Iterator[Element | str]:
    if row.folder:
        yield h("span", row.folder, cls="kb-quiet")
    yield row.node or "(start)"
    if row.kind not in ("node", "tombstone"):
        yield " "
        yield chip(row.kind)
    if row.left_out:
        yield " "
        yield chip(f"{count(len(row.left_out), 'key')} left out", "warn")


def _parent(row: CheckpointRow) -> Element | str:
    if row.parent is None:
        return "none"
    if row.parent_missing:
        return h("span", _id(row.parent, _SHORT_ID), " (not here)")
    return _id(row.parent, _SHORT_ID)


def _verdict(row: CheckpointRow) -> Element:
    mark, tone = _MARKS[row.word]
    note = f" ({row.note})" if row.note is not None else ""
    return pair(glyph(mark, tone=tone), row.word + note, tone)


def size(bytes: int) -> str:
    """Bytes as ``80 B``, ``9.8 kB``, ``1.2 MB``."""
    if bytes < 100:
        return f"{bytes} B"
    if bytes < 999_950:
        return f"{bytes / 1000:.1f} kB"
    return f"{bytes / 1_000_000:,.1f} MB"


# ------------------------------------------------------------------------------------------- tree


def _tree(state: CheckpointState) -> Element:
    forks = len({row.session for row in state.rows if isinstance(row, CheckpointRow) and row.fork})
    return picture(
        TREE,
        ROW * len(state.rows),
        "Tree of checkpoints",
        f"{count(state.total, 'checkpoint')}, {count(forks, 'fork')}",
        *(line for row, entry in enumerate(state.rows) for line in _line(state, row, entry)),
        *(_node_mark(row, entry) for row, entry in enumerate(state.rows)),
    )


def _x(lane: int) -> float:
    return _FIRST_LANE + _LANE * lane


def _y(row: int) -> float:
    return ROW * row + ROW / 2


def _colour(lane: int) -> str:
    return "var(--kb-accent)" if lane else "var(--kb-ink2)"


def _line(state: CheckpointState, row: int, entry: Row) -> Iterator[Element]:
    x, y = _x(entry.lane), _y(row)
    if entry.parent_row is None:
        if isinstance(entry, CheckpointRow) and entry.parent_missing:
            yield _path(f"M{x:g} {y - 15:g}V{y:g}", entry.lane, dash="2 2")
        return
    start = _y(entry.parent_row)
    begin = _x(state.rows[entry.parent_row].lane)
    if begin == x:
        dash = "2 3" if isinstance(entry, RunRow) else None
        yield _path(f"M{x:g} {start:g}V{y:g}", entry.lane, dash=dash)
    else:
        yield _path(f"M{begin:g} {start:g}v8q0 6 6 6H{x - 6:g}q6 0 6 6V{y:g}", entry.lane)


def _path(d: str, lane: int, dash: str | None = None) -> Element:
    return h("path", d=d, fill="none", stroke=_colour(lane), stroke_width=1.5, stroke_dasharray=dash)


def _node_mark(row: int, entry: Row) -> Element:
    x, y, paper = _x(entry.lane), _y(row), "var(--kb-paper)"
    if isinstance(entry, CutRow):
        return _path(f"M{x:g} {y - 8:g}v16", 0, dash="1 4")
    if isinstance(entry, RunRow):
        return h(
            "rect", x=x - 3.5, y=y - 7, width=7, height=14, rx=3.5, fill=paper, stroke=_colour(entry.lane)
        )
    if entry.word == "ended":
        back = h("rect", x=x - 7, y=y - 7, width=14, height=14, fill=paper)
        return h("g", back, glyph_at("tombstone", x - 7, y - 7, tone="ink2"))
    filled = "var(--kb-bad)" if entry.word == "not resumable" else paper
    stroke = "var(--kb-bad)" if entry.word == "not resumable" else _colour(entry.lane)
    return h("circle", cx=x, cy=y, r=_RADIUS, fill=filled, stroke=stroke, stroke_width=1.8)


# ------------------------------------------------------------------------------------------- details


def _details(state: CheckpointState) -> list[Element]:
    if not state.details:
        return []
    panels = (h("div", *_detail(detail), cls="kb-half kb-panel kb-t-sunk") for detail in state.details)
    return [h("div", *panels, cls="kb-split")]


def _detail(detail: Detail) -> Iterator[Element]:
    mark, tone = _MARKS[detail.word]
    ids = " ".join(detail.ids[:8]) + (f" and {len(detail.ids) - 8} more" if len(detail.ids) > 8 else "")
    saved = f"saved by version {' '.join(detail.versions)}" if detail.versions else ""
    yield h(
        "h4",
        pair(
            glyph(mark, tone=tone),
            h("span", f"({detail.number}) ", h("code", ids, cls="kb-code"), f" {detail.word}"),
        ),
        cls="kb-h4",
    )
    if saved:
        yield h("p", saved, cls="kb-p kb-small kb-quiet")
    yield h(
        "ul", *(h("li", reason, cls="kb-p") for reason in detail.reasons), style="margin:0;padding-left:22px"
    )
