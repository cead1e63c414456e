"""The cells of a row of a prompt diff: number, message, tokens, fate.

A notebook repeats each style in each cell, so a cell says no more than it must: widths are in the columns, sizes on
the table, hairlines on the rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from koogbook.messages.word_diff import WordSpan
from koogbook.notebook.views.diff_view.checks import sources_words
from koogbook.notebook.views.diff_view.layout import ROW
from koogbook.notebook.views.diff_view.model import (
    FoldedRow,
    LeftOutRow,
    MessageRow,
    RowFate,
    SentenceRow,
    SummaryRow,
    fold_words,
)
from koogbook.notebook.views.look.glyphs import glyph
from koogbook.notebook.views.look.markup import Element, h
from koogbook.notebook.views.look.measure import count, thousands
from koogbook.notebook.views.look.pieces import STATES

CELLS = 4
LEFT = "padding:0 4px;text-align:left"
ONE_LINE = LEFT + ";white-space:nowrap;overflow:hidden;text-overflow:ellipsis"

_RIGHT = "padding:0 4px;text-align:right"
_FATE = "padding:0 4px 0 6px;text-align:left"
_CENTRE = "padding:0 4px;text-align:center"
_TRACK = 44
_TINTS: dict[RowFate, str] = {"edited": "kb-t-warn", "dropped": "kb-t-bad", "memory": "kb-t-mem"}
_BARS: dict[RowFate, str] = {
    "kept": "ink2",
    "edited": "warn",
    "dropped": "bad",
    "summarised": "sum",
    "memory": "mem",
    "new": "sum",
}


def cells(row: MessageRow | FoldedRow | SummaryRow, most: int) -> list[Element]:
    """Four cells; ``most`` are the tokens that fill a bar."""
    match row:
        case MessageRow():
            return _message_cells(row, most)
        case FoldedRow():
            number, text = glyph("folded", tone="ink2"), h("span", _fold_text(row), cls="kb-quiet")
            return _four(number, text, row.tokens, most, row.fate, row.word, "kb-t-sunk", row.lit)
        case SummaryRow():
            number, text = glyph("summary", tone="sum"), _summary_text(row)
            found = _four(number, text, row.tokens, most, "new", "new", "", False)
            found[0].attributes["style"] += ";border-left:3px solid var(--kb-sum)"
            return found


def _message_cells(row: MessageRow, most: int) -> list[Element]:
    tint = "kb-t-sum" if row.lit else _TINTS.get(row.fate, "")
    text = message_text(row)
    return _four(str(row.position), text, row.tokens, most, row.fate, row.word, tint, row.lit)


def _four(
    number: Element | str,
    text: Element,
    tokens: int,
    most: int,
    fate: RowFate,
    word: str,
    tint: str,
    lit: bool,
) -> list[Element]:
    end = ";border-right:3px solid var(--kb-sum)" if lit else ""
    return [
        h("td", number, cls=f"kb-quiet {tint}".rstrip(), style=_RIGHT),
        h("td", text, cls=tint, style=LEFT if text.tag == "div" else ONE_LINE),
        h("td", _bar(tokens, most, fate), " ", thousands(tokens), cls=tint, style=_RIGHT),
        h("td", _fate_word(fate, word), cls=tint, style=_FATE + end),
    ]


def _bar(tokens: int, most: int, fate: RowFate) -> Element:
    filled = min(max(2, round(tokens / most * _TRACK)), _TRACK) if most and tokens else 0
    stops = f"var(--kb-{_BARS[fate]}) {filled}px,var(--kb-hover) {filled}px"
    return h(
        "span",
        style=f"float:left;width:{_TRACK}px;height:6px;margin:6px 0 0 2px;border-radius:3px;"
        f"background:linear-gradient(90deg,{stops})",
    )


def _fate_word(fate: RowFate, word: str) -> Element:
    mark, tone = STATES[fate]
    return h("span", _mark(mark), f" {word}", cls=f"kb-small kb-{'quiet' if tone == 'ink2' else tone}")


def _mark(name: str, label: str | None = None, tone: str = "") -> Element:
    """A mark on the line of a text, a little lower than it would stand by itself."""
    return h("span", glyph(name, label, tone=tone), style="vertical-align:-1px")


def _fold_text(row: FoldedRow) -> str:
    return f"{fold_words(row)}, {row.first} to {row.last}"


def _summary_text(row: SummaryRow) -> Element:
    words = f" summary of {count(len(row.sources), 'message')}" if row.sources else " summary"
    size = f" \u00b7 {thousands(row.source_tokens)} \u2192 {thousands(row.tokens)}" if row.sources else ""
    return h("span", h("strong", row.name, cls="kb-sum"), h("span", words + size, cls="kb-quiet"))


def message_text(row: MessageRow, spans: Sequence[WordSpan] = ()) -> Element:
    """The mark of the role and the text in one line, or in two where words of it changed."""
    tone = {"user": "accent", "memory": "mem", "summary": "sum"}.get(row.role, "ink2")
    mark = _mark(row.role, row.role, tone)
    cls = "kb-code" if row.code else ""
    if changed := spans or row.spans:
        words = h("span", *(_span(span) for span in changed), cls=cls)
        return h("div", mark, " ", words, style="white-space:normal;overflow:hidden;max-height:34px")
    tag = "s" if row.fate == "dropped" else "span"
    return h("span", mark, " ", h(tag, row.text, cls=f"{cls} kb-quiet".strip() if tag == "s" else cls))


def _span(span: WordSpan) -> Element | str:
    if span.kind == "same":
        return span.text
    tag, cls = ("del", "kb-removed") if span.kind == "removed" else ("ins", "kb-added")
    return h(tag, span.text, cls=cls)


def paper(lines: int) -> Element:
    """Nothing, over so many lines."""
    return h("td", colspan=CELLS, rowspan=lines, cls="kb-t-sunk")


def cut_cell(messages: int) -> Element:
    """The place where rows were left out of a long diff."""
    words = f"\u2026 {count(messages, 'message')} in rows that are left out here \u2026"
    return h("td", words, colspan=CELLS, cls="kb-quiet kb-t-sunk", style=_CENTRE)


def left_out_cell(row: LeftOutRow, lines: int) -> Element:
    """The hatched block opposite a run of dropped messages: count, tokens, reason."""
    what = h("strong", f"{count(row.count, 'message')} left out", cls="kb-bad")
    size, why = f" \u00b7 {count(row.tokens, 'token')}", "; ".join(row.reasons)
    if lines == 1:
        words = h("span", what, size, f" \u00b7 {why}" if why else None, cls="kb-small kb-quiet")
        style = _CENTRE + ";white-space:nowrap;overflow:hidden;text-overflow:ellipsis"
        return h("td", words, colspan=CELLS, cls="kb-hatch", style=style)
    block = h(
        "div",
        h("div", what, h("span", size, cls="kb-quiet")),
        h("div", why, cls="kb-small kb-quiet") if why else None,
        style=f"white-space:normal;overflow:hidden;max-height:{lines * ROW - 6}px;padding:0 16px",
    )
    return h("td", block, colspan=CELLS, rowspan=lines, cls="kb-hatch", style=_CENTRE)


def sentence_cells(row: SentenceRow, lines: int | None) -> list[Element]:
    """A numbered sentence over so many lines with its sources; None lets it take the room that it needs."""
    tint = "kb-t-sum" if row.lit else ""
    room = f"overflow:hidden;max-height:{lines * ROW - 2}px" if lines else "padding:4px 0"
    text = h("div", row.text, style=f"white-space:normal;{room}")
    edge = _RIGHT + ";border-left:3px solid var(--kb-sum)"
    return [
        h("td", str(row.number), rowspan=lines, cls=f"kb-quiet {tint}".rstrip(), style=edge),
        h("td", text, rowspan=lines, colspan=2, cls=tint, style=LEFT),
        h("td", _sources(row), rowspan=lines, cls=tint, style=_FATE + ";white-space:normal"),
    ]


def _sources(row: SentenceRow) -> Element:
    return h("span", sources_words(row), cls=f"kb-small {'kb-sum' if row.sources else 'kb-warn'}")
