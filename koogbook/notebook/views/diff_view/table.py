"""The rows of a prompt diff as a table: both histories side by side, or in one column where there is no room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from koogbook.notebook.views.diff_view.cells import (
    CELLS,
    LEFT,
    cells,
    cut_cell,
    left_out_cell,
    message_text,
    paper,
    sentence_cells,
)
from koogbook.notebook.views.diff_view.layout import EDITED_ROW, ROW, Layout, Placed, lay_out
from koogbook.notebook.views.diff_view.lines import MIDDLE, bracket_picture, middle_picture
from koogbook.notebook.views.diff_view.model import (
    DiffState,
    LeftOutRow,
    LeftRow,
    MessageRow,
    RightRow,
    SentenceRow,
    Side,
)
from koogbook.notebook.views.diff_view.spans import merged_spans
from koogbook.notebook.views.look.brackets import BRACKETS
from koogbook.notebook.views.look.glyphs import glyph
from koogbook.notebook.views.look.isolates import sentence, told_apart
from koogbook.notebook.views.look.markup import Attribute, Element, h
from koogbook.notebook.views.look.measure import count, thousands

_SIDE = (30, None, 100, 76)
_NARROWEST = 640
_WINDOW = 640
#: What is scrolled to stands below the head, not under it.
_IN_WINDOW = f"overflow:auto;max-height:{_WINDOW}px;scroll-padding:64px 0 8px"
_STAYS = "position:sticky;top:0;z-index:1"
_OVER_ROWS = "background:var(--kb-paper);box-shadow:0 1px 0 var(--kb-line)"
_TABLE = (
    "border-collapse:collapse;table-layout:fixed;width:100%;margin:0;border:0;font-size:12px;line-height:17px"
)
_PICTURE = "padding:0;vertical-align:top"
_SIDE_HEAD = "padding:8px 12px;font-size:12px;font-weight:400;text-align:left;vertical-align:bottom"


def side_by_side(state: DiffState) -> Element:
    """Before at the left, after at the right, lines between; each table row is one line of the layout."""
    layout = lay_out(state)
    return _in_window(
        _table(
            "Messages before and after, with tokens and fate",
            (BRACKETS, *_SIDE, MIDDLE, *_SIDE),
            _lines(state, layout),
            h("thead", _side_heads(state), _column_heads(), live={"style": _STAYS}),
            f"{_TABLE};min-width:{_NARROWEST}px",
        ),
        layout.height,
    )


def inline(state: DiffState) -> Element:
    """Both histories in one column, in the order of the original one."""
    rows = [row for index in range(len(state.bands)) for row in _inline_band(state, index)]
    return _in_window(_table("Messages, with tokens and fate", _SIDE, rows, None, _TABLE), len(rows) * ROW)


def _in_window(drawn: Element, height: int) -> Element:
    """Of a tall table the live form shows a window, so that what is selected in it can be read below it."""
    live = {"style": _IN_WINDOW} if height > _WINDOW else None
    return h("div", drawn, cls="kb-scroll", live=live)


def _table(
    caption: str, widths: Sequence[int | None], rows: Sequence[Element], head: Element | None, style: str
) -> Element:
    return h(
        "table",
        h("caption", caption, cls="kb-hidden"),
        h("colgroup", *(h("col", width=width) for width in widths)),
        head,
        h("tbody", *rows),
        style=style,
    )


def _tr(row: Sequence[Element], height: int = ROW, line: str = "line2") -> Element:
    style = f"height:{height}px;background:transparent;border:0;border-bottom:1px solid var(--kb-{line})"
    return h("tr", *row, style=style)


def _most_tokens(state: DiffState) -> int:
    return max((row.tokens for band in state.bands for row in band.left), default=0)


# ------------------------------------------------------------------------------------------- two columns


def _side_heads(state: DiffState) -> Element:
    word = "Offered" if state.status == "refused" else "After"
    return _tr(
        [
            _side_head("Before", state.messages_before, state.tokens_before, CELLS + 1),
            _head("td", style=""),
            _side_head(word, state.messages_after, state.tokens_after, CELLS),
        ],
        line="line",
    )


def _side_head(word: str, messages: int, tokens: int, columns: int) -> Element:
    size = f" {count(messages, 'message')} \u00b7 {thousands(tokens)} tokens"
    name = h("strong", word, cls="kb-strong")
    return _head(
        "th", name, h("span", size, cls="kb-quiet"), scope="colgroup", colspan=columns, style=_SIDE_HEAD
    )


def _head(tag: str, *children: Element | str, style: str, cls: str = "", **attributes: Attribute) -> Element:
    """A cell of the head. In the live form the head stays where rows move, and collapsed borders move with the rows."""
    live = {"style": f"{style};{_OVER_ROWS}".lstrip(";")}
    return h(tag, *children, cls=cls, style=style or None, live=live, **attributes)


def _column_heads() -> Element:
    heads = [
        _head(
            "th",
            word,
            scope="col",
            cls="kb-small kb-quiet",
            style=f"padding:3px 4px 3px {left}px;text-align:{align}",
        )
        for word, align, left in (
            ("no.", "right", 4),
            ("message", "left", 4),
            ("tokens", "right", 4),
            ("fate", "left", 6),
        )
    ]
    return _tr([_head("td", style=""), *heads, _head("td", style=""), *heads])


def _lines(state: DiffState, layout: Layout) -> list[Element]:
    most = _most_tokens(state)
    rows: list[Element] = []
    for line, height in enumerate(layout.heights):
        cut = line == layout.cut_line
        left = (
            [cut_cell(state.cut_messages, state.page.cut)]
            if cut
            else _side(layout.left.get(line), most, "before")
        )
        right = [paper(1)] if cut else _side(layout.right.get(line), most, "after")
        if line == 0:
            left = [_picture(bracket_picture(state, layout), layout), *left]
            right = [_picture(middle_picture(state, layout), layout), *right]
        rows.append(_tr([*left, *right], height))
    return rows


def _picture(drawn: Element, layout: Layout) -> Element:
    return h("td", drawn, rowspan=len(layout.heights), style=_PICTURE)


def _side(placed: Placed | None, most: int, side: Side) -> list[Element]:
    if placed is None:
        return []
    match placed.row:
        case None:
            return [paper(placed.lines)]
        case LeftOutRow():
            return [left_out_cell(placed.row, placed.lines)]
        case SentenceRow():
            return sentence_cells(placed.row, placed.lines)
        case row:
            return cells(row, most, side)


# ------------------------------------------------------------------------------------------- one column


def _inline_band(state: DiffState, index: int) -> Iterator[Element]:
    band, most = state.bands[index], _most_tokens(state)
    if index == state.cut_at:
        yield _tr([cut_cell(state.cut_messages, state.page.cut)])
    if band.same:
        yield _inline_same(band.left[0], band.right[0], most)
        return
    for row in band.left:
        yield _tr(cells(row, most))
    for right in band.right:
        yield _inline_right(right, most)


def _inline_same(left: LeftRow, right: RightRow, most: int) -> Element:
    found = cells(left, most)
    if not (isinstance(left, MessageRow) and isinstance(right, MessageRow) and left.spans):
        return _tr(found)
    text = message_text(left, "before", merged_spans(left.spans, right.spans))
    found[1] = h("td", text, cls=found[1].cls, style=LEFT)
    return _tr(found, EDITED_ROW)


def _inline_right(row: RightRow, most: int) -> Element:
    match row:
        case LeftOutRow():
            span = f"{row.first} to {row.last}" if row.last > row.first else str(row.first)
            why = f": {'; '.join(map(told_apart, row.reasons))}" if row.reasons else ""
            words = h("span", glyph("dropped"), *sentence(f" {span} left out{why}"), cls="kb-small kb-bad")
            return _tr([h("td"), h("td", words, colspan=CELLS - 1, style=LEFT)])
        case SentenceRow():
            return _tr(sentence_cells(row, None))
        case _:
            return _tr(cells(row, most, "after"))
