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
    Side,
    SummaryRow,
    fold_words,
    sources_in_words,
)
from koogbook.notebook.views.diff_view.spans import room_for
from koogbook.notebook.views.look.controls import does
from koogbook.notebook.views.look.glyphs import glyph
from koogbook.notebook.views.look.isolates import own_way, sentence, told_apart
from koogbook.notebook.views.look.markup import Element, h
from koogbook.notebook.views.look.measure import count, cut_end, thousands
from koogbook.notebook.views.look.pieces import STATES

CELLS = 4
LEFT = "padding:0 4px;text-align:left"

_ONE_LINE = "white-space:nowrap;overflow:hidden;text-overflow:ellipsis"
_BESIDE = "float:left;margin-right:4px"
_TWO_LINES = "white-space:normal;overflow:hidden;max-height:34px"
#: More characters than any width shows of one line.
_MOST_TEXT = 160
_EDGE = ";border-left:3px solid var(--kb-sum)"
_PICKED = ";box-shadow:inset 3px 0 0 var(--kb-accent)"

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


def cells(row: MessageRow | FoldedRow | SummaryRow, most: int, side: Side = "before") -> list[Element]:
    """Four cells of a row of one side; ``most`` are the tokens that fill a bar."""
    match row:
        case MessageRow():
            tint = _tint(row, _TINTS.get(row.fate, ""))
            return _four(row, str(row.position), message_text(row, side), most, row.fate, row.word, tint)
        case FoldedRow():
            mark = glyph("open" if row.opened else "folded", tone="ink2")
            return _four(row, mark, _fold_text(row), most, row.fate, row.word, _tint(row, "kb-t-sunk"))
        case SummaryRow():
            mark = glyph("summary", tone="sum")
            found = _four(row, mark, _summary_text(row), most, "new", "new", _tint(row, ""))
            found[0].attributes["style"] += "" if row.picked else _EDGE
            return found


def _tint(row: MessageRow | FoldedRow | SummaryRow | SentenceRow, usual: str) -> str:
    return "kb-t-accent" if row.picked else "kb-t-sum" if row.lit else usual


def _four(
    row: MessageRow | FoldedRow | SummaryRow,
    number: Element | str,
    text: Element,
    most: int,
    fate: RowFate,
    word: str,
    tint: str,
) -> list[Element]:
    end = ";border-right:3px solid var(--kb-sum)" if row.lit and not row.picked else ""
    return [
        h("td", number, cls=f"kb-quiet {tint}".rstrip(), style=_RIGHT + (_PICKED if row.picked else "")),
        h("td", text, cls=tint, style=LEFT),
        h("td", _bar(row.tokens, most, fate), " ", thousands(row.tokens), cls=tint, style=_RIGHT),
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


def _fold_text(row: FoldedRow) -> Element:
    word = "Fold" if row.opened else "Open"
    return h(
        "div",
        f"{fold_words(row)}, {row.first} to {row.last}",
        cls="kb-quiet",
        style=_ONE_LINE,
        live=does("fold", str(row.key), name=f"{word} {fold_words(row)}"),
    )


def _summary_text(row: SummaryRow) -> Element:
    words = f" from {sources_in_words(row)}" if row.sources else " summary"
    size = f" \u00b7 {thousands(row.source_tokens)} \u2192 {thousands(row.tokens)}" if row.sources else ""
    return h(
        "div",
        h("strong", row.name, cls="kb-sum"),
        h("span", words + size, cls="kb-quiet"),
        style=_ONE_LINE,
        live=does("select", f"after:{row.position}", picked=row.picked),
    )


def message_text(row: MessageRow, side: Side, spans: Sequence[WordSpan] = ()) -> Element:
    """The mark of the role and the text in one line, or in two where words of it changed."""
    tone = {"user": "accent", "memory": "mem", "summary": "sum"}.get(row.role, "ink2")
    mark = _mark(row.role, row.role, tone)
    cls = "kb-code" if row.code else ""
    live = does("select", f"{side}:{row.position}", picked=row.picked)
    if changed := spans or row.spans:
        way = own_way("".join(span.text for span in changed))
        words = h("span", *(word_span(span) for span in changed), cls=cls, **way)
        return h("div", mark, " ", words, style=_TWO_LINES, live=live)
    tag = "s" if row.fate == "dropped" else "span"
    shown = cut_end(row.text, room_for(row.text, _MOST_TEXT))
    text = h(tag, shown, cls=f"{cls} kb-quiet".strip() if tag == "s" else cls)
    if not (way := own_way(shown)):
        return h("div", mark, " ", text, style=_ONE_LINE, live=live)
    # In a block of its own a text from right to left loses its end where there is no room, not its beginning.
    beside = h("span", mark, style=_BESIDE)
    return h("div", beside, h("div", text, style=_ONE_LINE, **way), style=_ONE_LINE, live=live)


def word_span(span: WordSpan) -> Element | str:
    """A piece of an edited text: struck where it went, underlined where it came."""
    if span.kind == "same":
        return span.text
    tag, cls = ("del", "kb-removed") if span.kind == "removed" else ("ins", "kb-added")
    return h(tag, span.text, cls=cls)


def paper(lines: int) -> Element:
    """Nothing, over so many lines."""
    return h("td", colspan=CELLS, rowspan=lines, cls="kb-t-sunk")


def cut_cell(messages: int, page: int) -> Element:
    """The place where rows were left out of a long diff; a click shows the page on which they begin."""
    words = f"\u2026 {count(messages, 'message')} in rows that are left out here \u2026"
    text = h("div", words, live=does("page", str(page)))
    return h("td", text, colspan=CELLS, cls="kb-quiet kb-t-sunk", style=_CENTRE)


def left_out_cell(row: LeftOutRow, lines: int) -> Element:
    """The hatched block opposite a run of dropped messages: count, tokens, reason."""
    what = h("strong", f"{count(row.count, 'message')} left out", cls="kb-bad")
    size, why = f" \u00b7 {count(row.tokens, 'token')}", "; ".join(map(told_apart, row.reasons))
    if lines == 1:
        words = h("span", what, size, *(sentence(f" \u00b7 {why}") if why else ()), cls="kb-small kb-quiet")
        style = f"{_CENTRE};{_ONE_LINE}"
        return h("td", words, colspan=CELLS, cls="kb-hatch", style=style)
    block = h(
        "div",
        h("div", what, h("span", size, cls="kb-quiet")),
        h("div", *sentence(why), cls="kb-small kb-quiet") if why else None,
        style=f"white-space:normal;overflow:hidden;max-height:{lines * ROW - 6}px;padding:0 16px",
    )
    return h("td", block, colspan=CELLS, rowspan=lines, cls="kb-hatch", style=_CENTRE)


def sentence_cells(row: SentenceRow, lines: int | None) -> list[Element]:
    """A numbered sentence over so many lines with its sources; None lets it take the room that it needs."""
    tint = _tint(row, "")
    room = f"overflow:hidden;max-height:{lines * ROW - 2}px" if lines else "padding:4px 0"
    text = h(
        "div",
        row.text,
        **own_way(row.text),
        style=f"white-space:normal;{room}",
        live=does("select", f"sentence:{row.summary}.{row.number}", picked=row.picked),
    )
    edge = _RIGHT + (_PICKED if row.picked else _EDGE)
    return [
        h("td", str(row.number), rowspan=lines, cls=f"kb-quiet {tint}".rstrip(), style=edge),
        h("td", text, rowspan=lines, colspan=2, cls=tint, style=LEFT),
        h("td", _sources(row), rowspan=lines, cls=tint, style=_FATE + ";white-space:normal"),
    ]


def _sources(row: SentenceRow) -> Element:
    return h("span", sources_words(row), cls=f"kb-small {'kb-sum' if row.sources else 'kb-warn'}")
