"""What stands around the messages of a call: parameters, tools, changes on the way, the answer, other calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from koogbook.notebook.views.look.controls import row_does, text_button
from koogbook.notebook.views.look.glyphs import glyph
from koogbook.notebook.views.look.isolates import name as own
from koogbook.notebook.views.look.isolates import own_way, sentence, set_apart
from koogbook.notebook.views.look.markup import Element, h
from koogbook.notebook.views.look.measure import count, duration, thousands
from koogbook.notebook.views.look.pieces import heading, status_word
from koogbook.notebook.views.prompt_view.marks import layer_word
from koogbook.notebook.views.prompt_view.model import (
    CallRow,
    ChangeRow,
    FullText,
    Preview,
    Previews,
    PromptState,
    ToolRow,
)

_MOST_CALLS = 12
_TALLEST = 220
_STATES = {
    "done": "done",
    "failed": "failed",
    "stopped": "stopped",
    "running": "running",
    "not sent": "empty",
}
_WORDS = {"done": "answered", "stopped": "cancelled", "running": "on its way", "not sent": "not sent"}
_POINTER = "cursor:pointer"
#: Notebooks have a bold type for terms.
TERM = "font-weight:400;white-space:nowrap;margin:0"


def around(state: PromptState) -> Element:
    """Parameters and tools at the left, what happened on the way and the answer at the right."""
    left = [*_parameters(state), *_tools(state.tools)]
    right = [*_changes(state.changes), *_answer(state)]
    halves = [h("div", *half, cls="kb-half kb-panel") for half in (left, right) if half]
    return h("div", *halves, cls="kb-split kb-ruled")


def _heading(word: str, more: str = "") -> Element:
    return heading(f"{word} ", h("span", more, cls="kb-small kb-quiet") if more else None)


def _scrolling(text: str, *more: Element | str | None) -> Element:
    return h(
        "pre",
        text,
        *more,
        cls="kb-pre",
        **own_way(text),
        live={"style": f"max-height:{_TALLEST}px;overflow:auto"},
    )


# ------------------------------------------------------------------------------------------- parameters and tools


def _parameters(state: PromptState) -> Iterator[Element]:
    if not (state.params or state.left_to_provider or state.schema):
        return
    yield _heading("Parameters")
    if state.params:
        pairs = [
            part
            for word, value in state.params
            for part in (
                h("dt", word, cls="kb-quiet", style=TERM),
                h("dd", own(value), style="margin:0;min-width:0;overflow-wrap:anywhere"),
            )
        ]
        grid = "display:grid;grid-template-columns:max-content 1fr;gap:2px 14px;margin:0 0 6px;font-size:12px"
        yield h("dl", *pairs, style=grid)
    if state.left_to_provider:
        said = f"Left to the provider: {', '.join(state.left_to_provider)}."
        yield h("p", said, cls="kb-p kb-small kb-quiet")
    if state.schema:
        yield h(
            "details",
            h("summary", "The schema of the answer that was asked for", style=_POINTER),
            _scrolling(state.schema),
            cls="kb-p",
        )


def _tools(tools: Sequence[ToolRow]) -> Iterator[Element]:
    if not tools:
        return
    tokens = count(sum(tool.tokens for tool in tools), "token")
    yield h("div", _heading("Tools", f"{len(tools)} on offer, {tokens}"), style="margin-top:14px")
    for tool in tools:
        first = tool.description.partition("\n")[0]
        yield h(
            "details",
            h(
                "summary",
                h("code", own(tool.name), cls="kb-code"),
                h("span", f" {count(tool.tokens, 'token')} ", cls="kb-small kb-quiet"),
                own(first),
                style=_POINTER,
            ),
            h(
                "p",
                tool.description,
                cls="kb-p",
                style="white-space:pre-wrap;margin:4px 0",
                **own_way(tool.description),
            )
            if tool.description != first
            else None,
            _scrolling(tool.schema),
            cls="kb-p",
        )


# ------------------------------------------------------------------------------------------- on the way


def _changes(changes: Sequence[ChangeRow]) -> Iterator[Element]:
    if not changes:
        return
    yield _heading("Changed on the way", f"by {count(len(changes), 'interceptor')}, the outermost first")
    for change in changes:
        yield h(
            "div",
            h("p", h("strong", own(change.feature), cls="kb-strong"), cls="kb-p"),
            *_previews("new", "put in", change.added),
            *_previews("dropped", "taken out", change.taken_out),
            *_previews("edited", "changed", change.changed),
            *(h("p", status_word("edited", other), cls="kb-p") for other in change.others),
            cls="kb-block",
        )


def _previews(state: str, word: str, found: Previews) -> Iterator[Element]:
    if not found.count:
        return
    size = f"{count(found.count, 'message')} {word}, {count(found.tokens, 'token')}"
    more = found.count - len(found.shown)
    yield h("p", status_word(state, size), cls="kb-p")
    yield h(
        "ul",
        *(h("li", *_preview(one), cls="kb-p") for one in found.shown),
        h("li", f"and {more} more", cls="kb-p kb-quiet") if more else None,
        cls="kb-list",
        style="margin:0 0 8px;padding:0 0 0 20px",
    )


def _preview(one: Preview) -> Iterator[Element | str]:
    yield h("span", f"{one.position} ", cls="kb-quiet")
    yield glyph(one.role, one.role, tone="ink2")
    yield " "
    if one.was:
        yield h("del", one.was[:200], cls="kb-removed")
        yield " "
    yield h("bdi", one.text[:300])


# ------------------------------------------------------------------------------------------- the answer


def _answer(state: PromptState) -> Iterator[Element]:
    answer = state.answer
    yield _heading("Answer")
    more = "".join(f" \u00b7 {one}" for one in answer.more)
    yield h(
        "p",
        status_word(_STATES[answer.state], h("span", *sentence(set_apart(answer.words)))),
        h("span", more, cls="kb-quiet") if more else None,
        cls="kb-p",
    )
    if answer.error:
        yield h("pre", answer.error[:3000], cls="kb-pre kb-bad", **own_way(answer.error))
    if answer.text:
        left_out = f"\n\u2026 {count(answer.left_out, 'character')} left out" if answer.left_out else None
        yield _scrolling(answer.text, left_out)


# ------------------------------------------------------------------------------------------- the calls of the run


def calls(state: PromptState) -> Element:
    """The calls of the run, those around this one where they are many; a click shows another."""
    here = state.call.number - 1
    start = max(0, min(here - _MOST_CALLS // 2, len(state.calls) - _MOST_CALLS))
    shown = state.calls[start : start + _MOST_CALLS]
    others = len(state.calls) - len(shown)
    more = f"{count(others, 'other call')}: the list at the top has all." if others else ""
    return h(
        "div",
        _heading("Calls of this run", f"{len(state.calls)} in all"),
        h(
            "table",
            h("caption", "Calls of this run", cls="kb-hidden"),
            h("thead", h("tr", *_heads(), cls="kb-tr")),
            h("tbody", *(_call(call, call.number == state.call.number) for call in shown)),
            cls="kb-table",
        ),
        h("p", more, cls="kb-p kb-small kb-quiet", style="margin:6px 0 0") if more else None,
        cls="kb-panel kb-ruled",
    )


_COLUMNS = (
    ("call", "kb-num"),
    ("purpose", ""),
    ("where", ""),
    ("holds", "kb-num kb-wide"),
    ("tokens", "kb-num"),
    ("counted", "kb-num kb-wide"),
    ("time", "kb-num"),
    ("state", ""),
)


def _heads() -> Iterator[Element]:
    for word, cls in _COLUMNS:
        yield h("th", word, cls=f"kb-th {cls}".rstrip(), scope="col")


def _call(call: CallRow, here: bool) -> Element:
    said = _WORDS.get(call.state, call.state) + (" in frames" if call.streamed else "")
    cells: list[Element | str] = [
        text_button(str(call.number), "call", str(call.number), name=f"Show call {call.number}"),
        call.purpose,
        h("code", own(call.path), cls="kb-code") if call.path else "-",
        _holds(call),
        thousands(call.tokens),
        "-" if call.counted is None else thousands(call.counted),
        "-" if call.seconds is None else duration(call.seconds),
        # What went well is plain: there may be many of them, and the others are what one looks for.
        said if call.state == "done" else status_word(_STATES[call.state], said),
    ]
    return h(
        "tr",
        *(h("td", cell, cls=f"kb-td {cls}".rstrip()) for cell, (_, cls) in zip(cells, _COLUMNS, strict=True)),
        cls="kb-tr kb-t-accent kb-picked" if here else "kb-tr",
        live=row_does("call", str(call.number)),
    )


def _holds(call: CallRow) -> str:
    messages = count(call.messages, "message")
    return f"{messages}, {count(call.tools, 'tool')}" if call.tools else messages


# ------------------------------------------------------------------------------------------- full texts


def full_texts(texts: Sequence[FullText], left_out: int, python: str) -> Element:
    """The messages of the page that are longer than their row, for who cannot click."""
    more = (
        f"{count(left_out, 'message')} more, left out to keep this page small: {python} has all."
        if left_out
        else ""
    )
    return h(
        "details",
        h("summary", f"Messages in full ({len(texts)})", cls="kb-band", style=f"{_POINTER};border:0"),
        *(_full(one) for one in texts),
        h("p", more, cls="kb-band kb-small kb-quiet") if more else None,
        cls="kb-ruled",
        style="font-size:12px",
    )


def _full(one: FullText) -> Element:
    more = f"\n\u2026 {count(one.left_out, 'character')} left out" if one.left_out else ""
    return h(
        "details",
        h("summary", f"{one.position} {one.role} ", layer_word(one.layer), style=_POINTER),
        h("pre", one.text + more, cls="kb-pre", **own_way(one.text)),
        style="padding:2px 12px 4px 24px",
    )


def note(text: str) -> Element:
    """Something that needs a look."""
    return h(
        "div", glyph("warning", "warning", tone="warn"), h("span", *sentence(set_apart(text))), cls="kb-todo"
    )
