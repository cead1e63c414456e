"""The prompt view as an element: what the model saw in one call, and what there is around it."""

from __future__ import annotations

from koogbook.notebook.views.look.controls import button, choice, keys, tools
from koogbook.notebook.views.look.isolates import name as own
from koogbook.notebook.views.look.isolates import phrase
from koogbook.notebook.views.look.markup import Element, h
from koogbook.notebook.views.look.measure import count
from koogbook.notebook.views.look.pieces import frame, legend_word, status_line
from koogbook.notebook.views.prompt_view.around import around, calls, full_texts, note
from koogbook.notebook.views.prompt_view.layer_table import layer_band
from koogbook.notebook.views.prompt_view.model import MessageRow, PromptState
from koogbook.notebook.views.prompt_view.panel import panel
from koogbook.notebook.views.prompt_view.table import message_table
from koogbook.notebook.views.prompt_view.words import call_words, sentence, since_words

_STATUS = {
    "done": "done",
    "failed": "failed",
    "stopped": "stopped",
    "running": "running",
    "not sent": "empty",
}


def prompt_element(state: PromptState) -> Element:
    """The view as markup."""
    body = [*map(note, state.notes), layer_band(state)]
    body += [_bar_above(state)]
    body.append(
        message_table(state) if state.rows else h("p", "There are no messages.", cls="kb-band kb-quiet")
    )
    # Always there, so that a selection changes nothing around it.
    body.append(h("div", panel(state.detail) if state.detail else None))
    body.append(around(state))
    if len(state.calls) > 1:
        body.append(calls(state))
    if state.texts or state.texts_left_out:
        where = "record.request.messages" if state.calls else ".messages"
        body.append(full_texts(state.texts, state.texts_left_out, where))
    return frame(
        icon="eye",
        title="Prompt",
        name=own(state.name),
        status=status_line(_STATUS[state.call.state], phrase(sentence(state))),
        body=body,
        foot=_foot(state),
        legend=[legend_word(word) for word in _novelties(state)],
        tools=_tools(state),
        keys=_keys(state),
    )


def _novelties(state: PromptState) -> list[str]:
    there = {row.novelty for row in state.rows if isinstance(row, MessageRow)}
    return [word for word in ("new", "edited") if word in there]


def _foot(state: PromptState) -> str:
    layers = len([row for row in state.layers if row.name != "tools"])
    words = [f"{count(state.call.messages, 'message')} in {count(layers, 'layer')}"]
    if state.page.count:
        here = f"page {state.page.number} of {state.page.count}" if state.page.number else "start and end"
        words.append(here)
    words.append("tokens are estimates")
    return " \u00b7 ".join(words)


def _tools(state: PromptState) -> Element:
    number, total = state.call.number, len(state.calls)
    several = total > 1
    options = [(str(call.number), call_words(call)) for call in state.calls]
    return tools(
        button("Earlier", "call", "earlier", key=",", off=number <= 1, name="Earlier call")
        if several
        else None,
        choice("call", str(number), options, name="Call of the run") if several else None,
        button("Later", "call", "later", key=".", off=number >= total, name="Later call")
        if several
        else None,
        button("Next new", "new", key="n", name="Next message that is new", off=not _novelties(state))
        if state.since is not None
        else None,
        button("All on", "all", key="a", name="Switch all layers on", off=not state.off),
    )


def _keys(state: PromptState) -> Element:
    several = len(state.calls) > 1
    return keys(
        ("\u2191 \u2193", "move"),
        ("Enter", "inspect, switch"),
        *(((", .", "call"),) if several else ()),
        *((("n", "next new"),) if state.since is not None else ()),
        ("a", "all on"),
        *((("[ ]", "page"),) if state.page.count else ()),
        ("Esc", "leave"),
    )


def _bar_above(state: PromptState) -> Element:
    """What is new beside the call before, and which part of a long request is shown."""
    page = state.page
    since = h("span", since_words(state.since), cls="kb-small") if state.since else None
    pager: list[Element | None] = []
    if page.count:
        here = f"page {page.number} of {page.count}" if page.number else "start and end"
        pager = [
            button("Start and end", "page", "0", on=not page.number),
            button("Earlier", "page", "earlier", key="[", off=not page.number, name="Earlier page"),
            button("Later", "page", "later", key="]", off=page.number == page.count, name="Later page"),
            h("span", h("strong", here, cls="kb-strong"), f" \u00b7 {page.words}", cls="kb-small"),
        ]
    return h(
        "div",
        h("strong", "Messages", cls="kb-strong"),
        h("span", "as they were sent" if state.calls else "as they would be sent", cls="kb-small kb-quiet"),
        since,
        *pager,
        cls="kb-band",
        style="display:flex;flex-wrap:wrap;align-items:center;gap:4px 10px;font-size:12px",
    )
