"""The prompt diff: what a compression, or any change of a history, kept, dropped and made."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from koogbook.notebook.views.diff_view.model import Check, DiffState, FullText, Selection, Total
from koogbook.notebook.views.diff_view.panel import panel
from koogbook.notebook.views.diff_view.state import diff_state, diff_state_of
from koogbook.notebook.views.diff_view.table import inline, side_by_side
from koogbook.notebook.views.diff_view.text import diff_text, sentence
from koogbook.notebook.views.look.controls import button, choice, keys, tools
from koogbook.notebook.views.look.glyphs import glyph
from koogbook.notebook.views.look.isolates import name as own
from koogbook.notebook.views.look.isolates import own_way, phrase, set_apart
from koogbook.notebook.views.look.isolates import sentence as words
from koogbook.notebook.views.look.markup import Element, h
from koogbook.notebook.views.look.measure import count, percent, thousands
from koogbook.notebook.views.look.pieces import STATES, Column, frame, heading, pair, status_word, table

__all__ = ["DiffState", "Selection", "diff_element", "diff_state", "diff_state_of", "diff_text"]

#: Of more rows than these, a live view has the table in one form only.
_MOST_IN_BOTH = 60
_TONES = {
    "kept": "ink2",
    "edited": "warn",
    "memory": "mem",
    "summarised": "sum",
    "dropped": "bad",
    "new": "ok",
}
_FACT_STATES = {"verbatim": "ok", "in a summary": "summarised", "lost": "lost", "never there": "skipped"}
_CHECK_STATES = {"ok": "ok", "note": "paused", "bad": "failed"}


def diff_element(state: DiffState) -> Element:
    """The diff as markup."""
    body = [_totals(state)]
    if state.status == "refused":
        body.insert(0, _refused(state))
    body += [_pager(state)] if state.page.count else []
    body.append(h("div", *_rows(state)))
    # Always there, so that a selection changes nothing around it.
    body.append(h("div", panel(state.detail) if state.detail else None))
    body.append(_proofs(state))
    if state.texts:
        body.append(_full_texts(state))
    said = sentence(state)
    return frame(
        icon="diff",
        title="Prompt diff",
        name=phrase(state.name),
        status=said[0].upper() + said[1:],
        body=body,
        foot=_foot(state),
        tools=_tools(state),
        keys=_keys(state),
    )


def _rows(state: DiffState) -> list[Element]:
    """The table for both widths of a page, or for the one that a reader chose."""
    if not state.bands:
        return [h("p", "Both histories are empty.", cls="kb-band kb-quiet")]
    match state.choices.form:
        case "side by side":
            return [side_by_side(state)]
        case "inline":
            return [inline(state)]
        case _:
            return [h("div", side_by_side(state), cls="kb-wide"), h("div", inline(state), cls="kb-narrow")]


def of_one_form(state: DiffState) -> DiffState:
    """For a live view: of many rows one table alone, so that it stays small; of few ones both, as they are."""
    rows = sum(max(len(band.left), len(band.right)) for band in state.bands)
    if state.choices.form or rows <= _MOST_IN_BOTH:
        return state
    return replace(state, choices=replace(state.choices, form="side by side"))


def _tools(state: DiffState) -> Element:
    """What can be done beside selecting: the next change, the next lost fact, all runs, another compression."""
    numbered = [(str(number), word) for number, word in enumerate(state.compressions, start=1)]
    opened = state.choices.all_open
    return tools(
        choice("compression", str(state.compression), numbered, name="Compression of the run")
        if len(numbered) > 1
        else None,
        button("Next change", "next", key="n", off=not state.changes),
        button("Lost fact", "lost", key="f", off=all(row.found != "lost" for row in state.facts))
        if state.facts
        else None,
        button(
            "Fold" if opened else "Unfold",
            "unfold",
            key="x",
            name="Fold all runs" if opened else "Unfold all runs",
        )
        if state.folds
        else None,
    )


def _keys(state: DiffState) -> Element:
    return keys(
        ("\u2191 \u2193", "move"),
        ("Enter", "inspect"),
        ("n", "next change"),
        *((("f", "lost fact"),) if state.facts else ()),
        ("s", "sources"),
        *((("x", "fold" if state.choices.all_open else "unfold"),) if state.folds else ()),
        *((("[ ]", "page"),) if state.page.count else ()),
        ("Esc", "leave"),
    )


def _pager(state: DiffState) -> Element:
    """Which part of a long diff is shown, and the ways to the others."""
    page = state.page
    here = (
        f"page {page.number} of {page.count}"
        if page.number
        else f"start and end of {count(page.count, 'page')}"
    )
    form = of_one_form(state).choices.form
    return h(
        "div",
        button("Start and end", "page", "0", on=not page.number),
        button("Earlier", "page", "earlier", key="[", off=not page.number),
        button("Later", "page", "later", key="]", off=page.number == page.count),
        h("span", h("strong", here, cls="kb-strong"), f" \u00b7 {page.words}", cls="kb-small"),
        tools(
            button("Side by side", "form", "side by side", on=form == "side by side"),
            button("Inline", "form", "inline", on=form == "inline"),
        ),
        cls="kb-band",
        style="display:flex;flex-wrap:wrap;align-items:center;gap:4px 8px",
    )


def _refused(state: DiffState) -> Element:
    words = (
        f"Refused: {thousands(state.tokens_after)} tokens are not fewer than {thousands(state.tokens_before)}. "
        "The prompt is as it was; this is what was offered."
    )
    return h("div", status_word("refused", words), cls="kb-todo kb-t-bad")


def _foot(state: DiffState) -> str:
    words = ["struck and hatched: left out", "diamond: into a summary"]
    if state.page.number:
        words.append(f"page {state.page.number} of {state.page.count}")
    if state.cut_messages:
        words.append(f"{count(state.cut_messages, 'message')} not shown in rows")
    return " \u00b7 ".join(words)


# ------------------------------------------------------------------------------------------- totals


def _totals(state: DiffState) -> Element:
    scale = max(state.tokens_before, state.tokens_after, 1)
    cell = "padding:3px 8px 3px 0;border:0;font-size:12px;line-height:14px;text-align:"
    rows = [
        h(
            "tr",
            h(
                "th",
                word,
                scope="row",
                cls="kb-quiet kb-small",
                style=cell + "left;font-weight:400;width:44px",
            ),
            h("td", _bar(state.totals, scale, after=after), style=cell + "left"),
            h(
                "td",
                thousands(tokens),
                cls="kb-num kb-strong",
                style=cell + "right;width:64px;padding-right:0",
            ),
            style="background:transparent",
        )
        for word, tokens, after in (
            ("before", state.tokens_before, False),
            ("after", state.tokens_after, True),
        )
    ]
    right = [*([set_apart(state.strategy)] if state.strategy else []), *state.effort]
    return h(
        "div",
        h(
            "table",
            h("caption", "Tokens before and after, to one scale", cls="kb-hidden"),
            h("tbody", *rows),
            style="border-collapse:collapse;width:100%;margin:0;border:0;table-layout:auto",
        ),
        h(
            "div",
            *(part for total in state.totals for part in (_legend(total), " ")),
            h("strong", f"{percent(-state.saved_share, signed=True)} tokens", cls=_saved_tone(state)),
            style="display:flex;flex-wrap:wrap;padding-top:4px",
        ),
        h("div", *words(" \u00b7 ".join(right)), cls="kb-small kb-quiet", style="padding-top:2px")
        if right
        else None,
        cls="kb-band",
    )


def _saved_tone(state: DiffState) -> str:
    if not state.tokens_before or state.tokens_after == state.tokens_before:
        return "kb-small kb-quiet kb-push"
    return f"kb-small kb-push kb-strong {'kb-ok' if state.saved_share > 0 else 'kb-bad'}"


def _bar(totals: tuple[Total, ...], scale: int, *, after: bool) -> Element:
    pieces = [(total.fate, total.tokens_after if after else total.tokens) for total in totals]
    return h(
        "div",
        *(
            h("span", style=f"{_paint(fate)};width:{max(tokens / scale * 100 - 0.15, 0.15):.2f}%;{_PIECE}")
            for fate, tokens in pieces
            if tokens
        ),
        style="height:12px;line-height:0;white-space:nowrap;font-size:0;overflow:hidden;border-radius:3px;background:var(--kb-hover)",
        aria_hidden="true",
    )


_PIECE = "display:inline-block;height:12px;margin-right:0.15%"


def _paint(fate: str) -> str:
    if fate == "dropped":
        stripes = "repeating-linear-gradient(135deg,var(--kb-bad) 0 2px,var(--kb-paper) 2px 5px)"
        return f"background-color:var(--kb-t-bad);background-image:{stripes}"
    return f"background-color:var(--kb-{_TONES[fate]})"


def _legend(total: Total) -> Element:
    swatch = "display:inline-block;width:9px;height:9px;border-radius:2px;margin-right:6px"
    sizes = thousands(total.tokens)
    if total.fate == "new":
        sizes = f"+{thousands(total.tokens_after)}"
    elif total.fate != "dropped" and total.tokens_after != total.tokens:
        sizes += f" \u2192 {thousands(total.tokens_after)}"
    return h(
        "span",
        h("span", style=f"{_paint(total.fate)};{swatch}", aria_hidden="true"),
        f"{thousands(total.messages)} {total.word} \u00b7 {sizes}",
        cls="kb-small kb-quiet",
        style="margin-right:14px",
    )


# ------------------------------------------------------------------------------------------- proofs


def _proofs(state: DiffState) -> Element:
    halves = [h("div", *panel, cls="kb-half kb-panel") for panel in (_facts(state), _checks(state)) if panel]
    return h("div", *halves, cls="kb-split", style="border-top:1px solid var(--kb-line)")


def _facts(state: DiffState) -> list[Element]:
    if not state.facts:
        return []
    held = sum(row.found in ("verbatim", "in a summary") for row in state.facts)
    lost = [index for index, row in enumerate(state.facts) if row.found == "lost"]
    columns = [Column("fact"), Column("as"), Column("found"), Column("messages")]
    rows: list[list[Element | str]] = [
        [
            h("code", own(row.fact), cls="kb-code"),
            row.kind,
            status_word(_FACT_STATES[row.found], row.word),
            row.where,
        ]
        for row in state.facts
    ]
    return [
        heading(
            "Must keep ",
            h("span", f"{held} of {len(state.facts)} found", cls="kb-small kb-quiet"),
        ),
        table(
            columns,
            rows,
            "Facts that must survive, and where they are",
            lambda index: "kb-t-bad" if index in lost else "",
        ),
    ]


def _checks(state: DiffState) -> list[Element]:
    return [
        heading("Checks"),
        h(
            "ul",
            *(h("li", _check(check), cls="kb-p") for check in state.checks),
            cls="kb-list",
        ),
    ]


def _check(check: Check) -> Element:
    mark, tone = STATES[_CHECK_STATES[check.state]]
    said = phrase(check.text)
    return pair(
        glyph(mark, check.state, tone=tone),
        h("strong", said, cls="kb-strong") if check.state == "bad" else said,
    )


# ------------------------------------------------------------------------------------------- full texts


def _full_texts(state: DiffState) -> Element:
    left_out = (
        f"{count(state.texts_left_out, 'message')} more, left out to keep this page small: "
        "ledger.before[n] and ledger.after[n] have all"
    )
    return h(
        "details",
        h("summary", "Messages in full", cls="kb-band", style="cursor:pointer;border:0"),
        *_text_items(state.texts),
        h("p", left_out, cls="kb-band kb-small kb-quiet") if state.texts_left_out else None,
        style="border-top:1px solid var(--kb-line);font-size:12px",
    )


def _text_items(texts: tuple[FullText, ...]) -> Iterator[Element]:
    for text in texts:
        side = "" if text.side == "before" else "after "
        head = f"{side}{text.position} {text.role} \u00b7 {count(text.tokens, 'token')}"
        more = f"\n\u2026 {count(text.left_out, 'character')} left out" if text.left_out else ""
        yield h(
            "details",
            h("summary", head, style="cursor:pointer"),
            h("pre", text.text + more, cls="kb-pre", **own_way(text.text)),
            style="padding:2px 12px 4px 24px",
        )
