"""The messages of a call as a table, in the order in which they were sent.

A notebook repeats each style in each cell, so a cell says no more than it must: widths are in the columns, sizes on
the table, hairlines on the rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from koogbook.notebook.views.diff_view.spans import room_for
from koogbook.notebook.views.look.brackets import BRACKETS, bracket
from koogbook.notebook.views.look.controls import does
from koogbook.notebook.views.look.glyphs import glyph
from koogbook.notebook.views.look.isolates import own_way, sentence, set_apart
from koogbook.notebook.views.look.markup import Element, h
from koogbook.notebook.views.look.measure import count, cut_end, thousands
from koogbook.notebook.views.look.pieces import picture
from koogbook.notebook.views.prompt_view.marks import layer_word, paint, tint
from koogbook.notebook.views.prompt_view.model import CutRow, MessageRow, OffRow, PromptState, Row

ROW = 26
_WINDOW = 640
_TRACK = 44
#: More characters than any width shows of one line.
_MOST_TEXT = 140
_TABLE = (
    "border-collapse:collapse;table-layout:fixed;width:100%;margin:0;border:0;font-size:12px;line-height:17px"
)
_ONE_LINE = "white-space:nowrap;overflow:hidden;text-overflow:ellipsis"
_BESIDE = "float:left;margin-right:4px"
_LEFT = "padding:0 4px;text-align:left"
_RIGHT = "padding:0 4px;text-align:right"
_PICKED = ";box-shadow:inset 3px 0 0 var(--kb-accent)"
_STAYS = "position:sticky;top:0;z-index:1;background:var(--kb-paper);box-shadow:0 1px 0 var(--kb-line)"
#: Widths of the columns: brackets, number, message, layer, bar, tokens, mark.
_COLUMNS: tuple[tuple[int | None, str], ...] = (
    (BRACKETS, ""),
    (38, ""),
    (None, ""),
    (124, ""),
    (_TRACK + 12, "kb-wide"),
    (58, ""),
    (22, ""),
)
_SIGNS = {"new": ("+", "kb-ok"), "edited": ("~", "kb-warn")}


def message_table(state: PromptState) -> Element:
    """The rows of the page that is shown, with brackets beside them."""
    height = len(state.rows) * ROW
    most = max((row.tokens for row in state.rows if isinstance(row, MessageRow)), default=0)
    rows = [_tr(_cells(row, most)) for row in state.rows]
    first = rows[0]
    brackets = h("td", _brackets(state), rowspan=len(rows), style="padding:0;vertical-align:top")
    rows[0] = h("tr", brackets, *first.children, style=first.attributes["style"])
    drawn = h(
        "table",
        h("caption", "Messages in the order in which they were sent", cls="kb-hidden"),
        h("colgroup", *(h("col", width=width, cls=cls) for width, cls in _COLUMNS)),
        h("thead", _heads(), live={"style": "position:sticky;top:0;z-index:1"}),
        h("tbody", *rows),
        style=_TABLE,
    )
    live = {"style": f"overflow:auto;max-height:{_WINDOW}px;scroll-padding:40px 0 8px"}
    return h("div", drawn, cls="kb-scroll", live=live if height > _WINDOW else None)


def _heads() -> Element:
    words = (
        ("", "left", ""),
        ("no.", "right", ""),
        ("message", "left", ""),
        ("layer", "left", ""),
        ("", "left", "kb-wide"),
        ("tokens", "right", ""),
        ("", "left", ""),
    )
    return _tr(
        [
            h(
                "th" if word else "td",
                word,
                scope="col" if word else None,
                cls=f"kb-small kb-quiet {cls}".rstrip(),
                style=f"padding:3px 4px;text-align:{side}",
                live={"style": f"padding:3px 4px;text-align:{side};{_STAYS}"},
            )
            for word, side, cls in words
        ],
        line="line",
    )


def _tr(cells: list[Element], line: str = "line2") -> Element:
    style = f"height:{ROW}px;background:transparent;border:0;border-bottom:1px solid var(--kb-{line})"
    return h("tr", *cells, style=style)


def _cells(row: Row, most: int) -> list[Element]:
    match row:
        case MessageRow():
            return _message(row, most)
        case OffRow():
            return _off(row)
        case CutRow():
            words = f"\u2026 {count(row.messages, 'message')} that are left out here \u2026"
            text = h("div", words, live=does("page", str(row.page)))
            # As many cells as the others have, in each width.
            style = "text-align:center"
            return [
                h("td", text, colspan=5, cls="kb-quiet kb-t-sunk", style=style),
                h("td", cls="kb-wide kb-t-sunk"),
            ]


def _message(row: MessageRow, most: int) -> list[Element]:
    ground = "kb-t-accent" if row.picked else tint(row.layer)
    return [
        h(
            "td",
            str(row.position),
            cls=f"kb-quiet {ground}".rstrip(),
            style=_RIGHT + (_PICKED if row.picked else ""),
        ),
        h("td", _text(row), cls=ground, style=_LEFT),
        h("td", layer_word(row.layer), cls=f"kb-small {ground}".rstrip(), style=f"{_LEFT};{_ONE_LINE}"),
        h("td", _bar(row.tokens, most, row.layer), cls=f"kb-wide {ground}".rstrip(), style=_LEFT),
        h("td", thousands(row.tokens), cls=ground, style=_RIGHT),
        h("td", _novelty(row), cls=ground, style=_LEFT),
    ]


def _text(row: MessageRow) -> Element:
    tone = {"user": "accent", "memory": "mem", "summary": "sum"}.get(row.role, "ink2")
    mark = h("span", glyph(row.role, row.role, tone=tone), style="vertical-align:-1px")
    shown = cut_end(row.text, room_for(row.text, _MOST_TEXT))
    text = h("span", shown, cls="kb-code" if row.code else "")
    as_text: list[Element | str] = [h("span", "(as text) ", cls="kb-small kb-quiet")] if row.as_text else []
    live = does("select", str(row.position), picked=row.picked)
    if not (way := own_way(shown)):
        return h("div", mark, " ", *as_text, text, style=_ONE_LINE, live=live)
    # In a block of its own a text from right to left loses its end where there is no room, not its beginning.
    beside = h("span", mark, " ", *as_text, style=_BESIDE)
    return h("div", beside, h("div", text, style=_ONE_LINE, **way), style=_ONE_LINE, live=live)


def _bar(tokens: int, most: int, layer: str) -> Element:
    filled = min(max(2, round(tokens / most * _TRACK)), _TRACK) if most and tokens else 0
    stops = f"var(--kb-{paint(layer)[0]}) {filled}px,var(--kb-hover) {filled}px"
    return h(
        "span",
        style=f"display:block;width:{_TRACK}px;height:6px;border-radius:3px;background:linear-gradient(90deg,{stops})",
    )


def _novelty(row: MessageRow) -> Element | str:
    """A sign, and no drawn mark: there may be one in each row."""
    if not row.novelty:
        return ""
    sign, tone = _SIGNS[row.novelty]
    return h("strong", sign, cls=f"kb-strong {tone}", role="img", aria_label=row.novelty)


def _off(row: OffRow) -> list[Element]:
    span = (
        f"{thousands(row.first)} to {thousands(row.last)}" if row.last > row.first else thousands(row.first)
    )
    layers = ", ".join(map(set_apart, row.layers))
    words = f" {count(row.count, 'message')} of {layers}, {span}: off"
    text = h("div", glyph("skipped", tone="ink2"), *sentence(words), cls="kb-quiet", style=_ONE_LINE)
    ground = "kb-t-sunk"
    return [
        h("td", cls=ground),
        h("td", text, cls=ground, style=_LEFT),
        h("td", "off", cls=f"kb-small kb-quiet {ground}", style=_LEFT),
        h("td", cls=f"kb-wide {ground}"),
        h("td", thousands(row.tokens), cls=f"kb-quiet {ground}", style=_RIGHT),
        h("td", cls=ground),
    ]


def _brackets(state: PromptState) -> Element:
    """The brackets of the messages that have a row of their own here."""
    places = {
        row.position: (at + 0.5) * ROW for at, row in enumerate(state.rows) if isinstance(row, MessageRow)
    }
    drawn: Iterator[Element | None] = (
        bracket(places[one.first], places[one.last], open=one.open)
        for one in state.brackets
        if one.first in places and one.last in places
    )
    words = "Brackets join a call and its results"
    return picture(BRACKETS, len(state.rows) * ROW, "Calls and results", words, *drawn)
