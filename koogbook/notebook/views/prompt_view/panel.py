"""The panel under the rows of a prompt view: the selected message in full, and where it came from."""

from __future__ import annotations

from koogbook.notebook.views.look.controls import button, text_button, tools
from koogbook.notebook.views.look.glyphs import glyph
from koogbook.notebook.views.look.isolates import name as own
from koogbook.notebook.views.look.isolates import own_way, sentence
from koogbook.notebook.views.look.markup import Element, h
from koogbook.notebook.views.look.measure import count
from koogbook.notebook.views.look.pieces import pair, status_word
from koogbook.notebook.views.prompt_view.around import TERM
from koogbook.notebook.views.prompt_view.marks import layer_word
from koogbook.notebook.views.prompt_view.model import MessageDetail

_TALLEST = 260
_ROOM = "margin-top:8px;padding:8px 10px"


def panel(found: MessageDetail) -> Element:
    """All about the selected message."""
    left_out = (
        f"\n\u2026 {count(found.left_out, 'character')} left out; all of it: .selected.message of this view"
        if found.left_out
        else None
    )
    return h(
        "div",
        _head(found),
        h(
            "ul",
            *(h("li", *sentence(f"{said[0].upper()}{said[1:]}."), cls="kb-p") for said in found.origin),
            cls="kb-list",
        ),
        *(_link(link.about, link.position) for link in found.links),
        h(
            "pre",
            found.text or "(an empty text)",
            left_out,
            cls="kb-pre",
            **own_way(found.text),
            style=_ROOM,
            live={"style": f"{_ROOM};max-height:{_TALLEST}px;overflow:auto"},
        ),
        h(
            "dl",
            *(part for word, value in found.facts for part in _fact(word, value)),
            *_fact("in Python", found.python),
            cls="kb-small",
            style="display:grid;grid-template-columns:max-content 1fr;gap:2px 12px;margin:8px 0 0",
        ),
        cls="kb-panel",
        style="border-top:1px solid var(--kb-line)",
    )


def _head(found: MessageDetail) -> Element:
    return h(
        "div",
        pair(
            glyph(found.role, found.role),
            h("strong", f"Message {found.position}", cls="kb-panel-title"),
        ),
        " ",
        layer_word(found.layer),
        status_word("off") if not found.on else None,
        h("span", f" {count(found.tokens, 'token')}", cls="kb-quiet"),
        " ",
        status_word(found.novelty) if found.novelty else None,
        tools(button("Close", "back", key="Escape", name="Close the panel")),
        cls="kb-panel-head",
        style="display:flex;flex-wrap:wrap;align-items:center;gap:4px 12px;font-size:12px",
    )


def _link(about: str, position: int) -> Element:
    link = text_button(h("strong", str(position), cls="kb-accent"), "select", str(position))
    return h("p", h("span", f"{about} is message ", cls="kb-quiet"), link, cls="kb-p")


def _fact(word: str, value: str) -> tuple[Element, Element]:
    code = h("code", own(value), cls="kb-code")
    return h("dt", word, cls="kb-quiet", style=TERM), h("dd", code, style="margin:0;min-width:0")
