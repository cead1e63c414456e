"""The rows of a prompt diff as one table: both histories side by side, or in one column where there is no room."""

from __future__ import annotations

from collections.abc import Sequence

from koogbook.messages.word_diff import WordSpan
from koogbook.notebook.views.diff_checks import numbers
from koogbook.notebook.views.diff_layout import EDITED_ROW, ROW, Layout, Placed, lay_out
from koogbook.notebook.views.diff_lines import BRACKETS, MIDDLE, bracket_picture, middle_picture
from koogbook.notebook.views.diff_model import (
    DiffState,
    FoldedRow,
    LeftOutRow,
    LeftRow,
    MessageRow,
    RightRow,
    RowFate,
    SentenceRow,
    SummaryRow,
)
from koogbook.notebook.views.diff_rows import merged_spans
from koogbook.notebook.views.glyphs import glyph
from koogbook.notebook.views.look import STATES
from koogbook.notebook.views.markup import Element, h
from koogbook.notebook.views.measure import count, thousands

TINTS: dict[RowFate, str] = {"edited": "t-warn", "dropped": "t-bad", "memory": "t-mem"}
_NUMBER, _TOKENS, _FATE = 30, 100, 76
_TRACK = 44
_CELLS = 4

# A saved cell repeats these in every cell, so they say no more than needed. Widths are in the columns, lines between
# rows on the rows.
_TD = "padding:0 4px;text-align:"
_ONE_LINE = _TD + "left;white-space:nowrap;overflow:hidden;text-overflow:ellipsis"
_EDGE = "padding:0;vertical-align:top"
_HEAD = "padding:6px 4px;font-weight:400;text-align:left;vertical-align:bottom"
_TABLE = (
    "border-collapse:collapse;table-layout:fixed;width:100%;margin:0;border:0;font-size:12px;line-height:17px;"
)
_RULE = "background:transparent;border:0;border-bottom:1px solid var(--kb-"
_TWO_LINES = "white-space:normal;overflow:hidden;line-height:17px;max-height:34px"


def side_by_side(state: DiffState) -> Element:
    """Before at the left, after at the right, lines between; each table row is one line of the layout."""
    layout = lay_out(state)
    most = max((row.tokens for band in state.bands for row in band.left), default=0)
    side = (_NUMBER, None, _TOKENS, _FATE)
    widths = (BRACKETS, *side, MIDDLE, *side)
    return h(
        "div",
        h(
            "table",
            h("caption", "Messages before and after, with tokens and fate", cls="kb-hidden"),
            h("colgroup", *(h("col", width=width) for width in widths)),
            h("thead", _side_heads(state), _column_heads()),
            h("tbody", *_lines(state, layout, most)),
            style=_TABLE + "min-width:640px",
        ),
        cls="kb-scroll",
    )


def _side_heads(state: DiffState) -> Element:
    def head(word: str, messages: int, tokens: int, cells: int) -> Element:
        size = f" {count(messages, 'message')} \u00b7 {thousands(tokens)} tokens"
        return h(
            "th",
            h("strong", word, cls="kb-strong"),
            h("span", size, cls="kb-quiet"),
            scope="colgroup",
            colspan=cells,
            style=_HEAD.replace("6px 4px", "8px 12px"),
        )

    return h(
        "tr",
        head("Before", state.messages_before, state.tokens_before, _CELLS + 1),
        h("td", style=_HEAD),
        head(
            "Offered" if state.status == "refused" else "After", state.messages_after, state.tokens_after, 4
        ),
    )


def _column_heads() -> Element:
    def heads() -> list[Element]:
        return [
            h("th", word, scope="col", cls="kb-small kb-quiet", style=f"{_TD}{align};padding:3px {pad}px")
            for word, align, pad in (
                ("no.", "right", 4),
                ("message", "left", 4),
                ("tokens", "right", 4),
                ("fate", "left", 6),
            )
        ]

    return h("tr", h("td", style=_EDGE), *heads(), h("td", style=_EDGE), *heads())


def _lines(state: DiffState, layout: Layout, most: int) -> list[Element]:
    rows: list[Element] = []
    total = len(layout.heights)
    for line, height in enumerate(layout.heights):
        cells: list[Element] = []
        if line == 0:
            cells.append(h("td", bracket_picture(state, layout), rowspan=total, style=_EDGE))
        cells += _cut(state) if line == layout.cut_line else _side(layout.left.get(line), most)
        if line == 0:
            cells.append(h("td", middle_picture(state, layout), rowspan=total, style=_EDGE))
        cells += _cut(state) if line == layout.cut_line else _side(layout.right.get(line), most)
        rows.append(h("tr", *cells, style=f"height:{height}px;{_RULE}line2)"))
    return rows


def _cut(state: DiffState) -> list[Element]:
    words = f"\u2026 {count(state.cut_messages, 'message')} in rows that are left out here"
    return [h("td", words, colspan=_CELLS, cls="kb-quiet kb-t-sunk", style=_TD + "center")]


def _side(placed: Placed | None, most: int) -> list[Element]:
    if placed is None:
        return []
    lines = placed.lines
    match placed.row:
        case None:
            return [h("td", colspan=_CELLS, rowspan=lines, cls="kb-t-sunk", style=_TD + "left")]
        case LeftOutRow():
            return [_left_out(placed.row, lines)]
        case SentenceRow():
            return _sentence(placed.row, lines)
        case row:
            return _cells(row, most)


# ------------------------------------------------------------------------------------------- cells


def _cells(row: MessageRow | FoldedRow | SummaryRow, most: int) -> list[Element]:
    match row:
        case FoldedRow():
            tone = " kb-t-sunk"
            number: Element | str = glyph("folded", tone="ink2")
            text = h("span", fold_text(row), cls="kb-quiet")
        case SummaryRow():
            tone = ""
            number = glyph("summary", tone="sum")
            text = h("span", h("strong", row.name, cls="kb-strong kb-sum"), " ", _summary_words(row))
        case MessageRow():
            tone = f" kb-{_tint(row)}" if _tint(row) else ""
            number, text = str(row.position), message_text(row)
    edge = ";border-left:3px solid var(--kb-sum)" if isinstance(row, SummaryRow) else ""
    fate: RowFate = "new" if isinstance(row, SummaryRow) else row.fate
    word = "new" if isinstance(row, SummaryRow) else row.word
    lit = not isinstance(row, SummaryRow) and row.lit
    end = ";border-right:3px solid var(--kb-sum)" if lit else ""
    tokens = h("span", *token_bar(row.tokens, most, fate), thousands(row.tokens))
    return [
        h("td", number, cls=f"kb-quiet{tone}", style=f"{_TD}right{edge}"),
        h("td", text, cls=tone.strip(), style=_TD + "left"),
        h("td", tokens, cls=f"kb-num{tone}", style=_TD + "right"),
        h("td", fate_word(fate, word), cls=tone.strip(), style=f"{_TD}left;padding-left:6px{end}"),
    ]


def _tint(row: MessageRow) -> str:
    return "t-sum" if row.lit else TINTS.get(row.fate, "")


def fold_text(row: FoldedRow) -> str:
    """What a folded row stands for."""
    word = "unchanged" if row.fate == "kept" else row.word
    return f"{thousands(row.count)} {word} messages, {row.first} to {row.last}"


def _summary_words(row: SummaryRow) -> Element:
    made = f"summary of {count(len(row.sources), 'message')}" if row.sources else "summary"
    size = f" \u00b7 {thousands(row.source_tokens)} \u2192 {thousands(row.tokens)}" if row.sources else ""
    return h("span", made + size, cls="kb-quiet")


def message_text(row: MessageRow, spans: Sequence[WordSpan] = ()) -> Element:
    """The mark of the role and the text in one line, or in two where words of it changed."""
    mark = glyph(row.role, row.role, tone=_role_tone(row))
    tag = "code" if row.code else "span"
    cls = "kb-code" if row.code else ""
    changed = spans or row.spans
    if changed:
        words: list[Element | str] = [_marked(span) for span in changed]
        return h("div", mark, " ", h(tag, *words, cls=cls), style=_TWO_LINES)
    if row.fate == "dropped":
        struck = h("s", row.text, style="text-decoration:line-through", cls=f"{cls} kb-quiet".strip())
        return h("span", mark, " ", struck)
    return h("span", mark, " ", h(tag, row.text, cls=cls, style="white-space:nowrap" if row.code else None))


def _role_tone(row: MessageRow) -> str:
    return {"user": "accent", "memory": "mem", "summary": "sum"}.get(row.role, "ink2")


def _marked(span: WordSpan) -> Element | str:
    if span.kind == "same":
        return span.text
    tag, cls = ("del", "kb-removed") if span.kind == "removed" else ("ins", "kb-added")
    return h(tag, span.text, cls=cls)


def token_bar(tokens: int, most: int, fate: RowFate) -> list[Element | str]:
    """A bar to the scale of the largest message, and a space before its number."""
    tone = {"dropped": "bad", "summarised": "sum", "memory": "mem", "new": "sum", "edited": "warn"}.get(
        fate, ""
    )
    width = max(2.0, tokens / most * _TRACK) if most and tokens else 0
    fill = h(
        "span",
        cls=f"kb-fill kb-fill-{tone}" if tone else "kb-fill",
        style=f"width:{min(width, _TRACK):.0f}px",
    )
    return [h("span", fill, cls="kb-track", style=f"width:{_TRACK}px;float:left;margin:6px 0 0 2px"), " "]


def fate_word(fate: RowFate, word: str) -> Element:
    """The mark of a fate and its word."""
    mark, tone = STATES[fate]
    return h(
        "span",
        glyph(mark, tone=tone),
        " ",
        word,
        cls="kb-small" + (f" kb-{tone}" if tone != "ink2" else " kb-quiet"),
    )


def _left_out(row: LeftOutRow, lines: int) -> Element:
    what = h("strong", f"{count(row.count, 'message')} left out", cls="kb-bad kb-strong")
    size = f"{thousands(row.tokens)} tokens"
    why = "; ".join(row.reasons) or "no reason given"
    if lines == 1:
        inner = h("span", what, f" \u00b7 {size} \u00b7 {why}", cls="kb-small kb-quiet")
    else:
        inner = h(
            "div",
            h("div", what, h("span", f" \u00b7 {size}", cls="kb-quiet")),
            h("div", why, cls="kb-small kb-quiet", style="white-space:normal"),
            style=f"overflow:hidden;max-height:{lines * ROW - 6}px;padding:0 16px",
        )
    return h("td", inner, colspan=_CELLS, rowspan=lines, cls="kb-hatch", style=_TD + "center")


def _sentence(row: SentenceRow, lines: int) -> list[Element]:
    tone = "kb-t-sum" if row.lit else ""
    text = h("div", row.text, style=f"white-space:normal;overflow:hidden;max-height:{lines * ROW - 2}px")
    return [
        h(
            "td",
            str(row.number),
            rowspan=lines,
            cls=f"kb-quiet {tone}".strip(),
            style=_TD + "right;border-left:3px solid var(--kb-sum)",
        ),
        h("td", text, rowspan=lines, colspan=2, cls=tone, style=_TD + "left"),
        h(
            "td",
            sources_word(row),
            rowspan=lines,
            cls=tone,
            style=_TD + "left;padding-left:6px;white-space:normal",
        ),
    ]


def sources_word(row: SentenceRow) -> Element:
    """Which originals a sentence rests on, and whether word for word."""
    if not row.sources:
        return h("span", "no source", cls="kb-small kb-warn")
    found = f"from {numbers(row.sources, 4)}"
    return h("span", found + (" verbatim" if row.verbatim else ""), cls="kb-small kb-sum")


# ------------------------------------------------------------------------------------------- one column


def inline(state: DiffState) -> Element:
    """Both histories in one column, in the order of the original one."""
    most = max((row.tokens for band in state.bands for row in band.left), default=0)
    rows: list[Element] = []
    for index, band in enumerate(state.bands):
        if index == state.cut_at:
            rows.append(h("tr", *_cut(state), style=f"height:{ROW}px;{_RULE}line2)"))
        if band.same:
            rows.append(_inline_same(band.left[0], band.right[0], most))
            continue
        rows += [_tr(_cells(row, most)) for row in band.left]
        rows += [_inline_right(row, most) for row in band.right]
    widths = (_NUMBER, None, _TOKENS, _FATE)
    return h(
        "table",
        h("caption", "Messages, with tokens and fate", cls="kb-hidden"),
        h("colgroup", *(h("col", width=width) for width in widths)),
        h("tbody", *rows),
        style=_TABLE,
    )


def _tr(cells: Sequence[Element], height: int = ROW) -> Element:
    return h("tr", *cells, style=f"height:{height}px;{_RULE}line2)")


def _inline_same(left: LeftRow, right: RightRow, most: int) -> Element:
    cells = _cells(left, most)
    if not (isinstance(left, MessageRow) and isinstance(right, MessageRow) and left.spans):
        return _tr(cells)
    text = message_text(left, merged_spans(left.spans, right.spans))
    cells[1] = h("td", text, cls=cells[1].cls, style=_TD + "left")
    return _tr(cells, EDITED_ROW)


def _inline_right(row: RightRow, most: int) -> Element:
    match row:
        case LeftOutRow():
            why = "; ".join(row.reasons) or "no reason given"
            span = f"{row.first} to {row.last}" if row.last > row.first else str(row.first)
            text = h("span", glyph("dropped"), f" {span} left out: {why}", cls="kb-small kb-bad")
            return _tr(
                [h("td", text, colspan=_CELLS, style=_TD + "left;white-space:normal;padding-left:34px")]
            )
        case SentenceRow():
            return _tr(_sentence(row, 1) if len(row.text) < 60 else _tall_sentence(row))
        case _:
            return _tr(_cells(row, most))


def _tall_sentence(row: SentenceRow) -> list[Element]:
    number, _, sources = _sentence(row, 1)
    text = h("div", row.text, style="white-space:normal;padding:4px 0")
    return [
        number,
        h("td", text, colspan=2, cls=number.cls.replace("kb-quiet", "").strip(), style=_TD + "left"),
        sources,
    ]
