"""The panel under the rows of a prompt diff: what is selected, in full, and where it leads."""

from __future__ import annotations

from collections.abc import Iterator

from koogbook.notebook.views.diff_view.cells import word_span
from koogbook.notebook.views.diff_view.model import Detail, Links
from koogbook.notebook.views.look.controls import button, text_button, tools
from koogbook.notebook.views.look.glyphs import glyph
from koogbook.notebook.views.look.isolates import own_way, phrase, sentence, set_apart, told_apart
from koogbook.notebook.views.look.markup import Element, h
from koogbook.notebook.views.look.measure import count
from koogbook.notebook.views.look.pieces import pair, status_word

_TALLEST = 260
_ROOM = "margin-top:8px;padding:8px 10px"


def panel(found: Detail) -> Element:
    """All about what is selected: fate with its reason, where it leads, and its text."""
    return h(
        "div",
        _head(found),
        *(h("p", *_links(links), cls="kb-p") for links in found.links),
        *_lost(found),
        h(
            "pre",
            *(
                [word_span(span) for span in found.spans]
                if found.spans
                else [found.text or "(an empty text)"]
            ),
            _left_out(found),
            cls="kb-pre",
            **own_way(found.text),
            style=_ROOM,
            live={"style": f"{_ROOM};max-height:{_TALLEST}px;overflow:auto"},
        ),
        h(
            "p",
            "in Python: the view's ",
            h(
                "code",
                ".selected.sentence" if found.tokens is None else ".selected.message",
                cls="kb-code",
            ),
            cls="kb-p kb-small kb-quiet kb-live",
            style="margin-top:8px",
        ),
        cls="kb-panel",
        style="border-top:1px solid var(--kb-line)",
    )


def _head(found: Detail) -> Element:
    tokens = "" if found.tokens is None else count(found.tokens, "token")
    return h(
        "div",
        pair(glyph(found.role, found.role), h("strong", found.title, cls="kb-panel-title")),
        " ",
        status_word(found.fate, found.word),
        h("span", f" {tokens}", cls="kb-quiet") if tokens else None,
        h("span", " ", *sentence(told_apart(found.reason)), cls="kb-quiet") if found.reason else None,
        tools(
            button("Sources", "sources", key="s", off=not found.has_sources),
            button("Close", "back", key="Escape", name="Close the panel"),
        ),
        cls="kb-panel-head",
        style="display:flex;flex-wrap:wrap;align-items:center;gap:4px 12px;font-size:12px",
    )


def _links(links: Links) -> Iterator[Element | str]:
    yield h("span", f"{links.about}: ", cls="kb-quiet")
    for number, link in enumerate(links.links):
        if number:
            yield " "
        yield text_button(h("strong", link.word, cls="kb-accent"), "select", link.value)
    if links.more:
        yield h("span", f" and {count(links.more, 'more', 'more')}", cls="kb-quiet")


def _lost(found: Detail) -> list[Element]:
    if not found.lost:
        return []
    facts = ", ".join(map(set_apart, found.lost))
    words = f"{'a lost fact was' if len(found.lost) == 1 else 'lost facts were'} here: {facts}"
    return [h("p", status_word("lost", phrase(words)), cls="kb-p")]


def _left_out(found: Detail) -> str | None:
    if not found.left_out:
        return None
    whole = ".selected.sentence" if found.tokens is None else ".selected.message.text"
    return f"\n\u2026 {count(found.left_out, 'character')} left out; all of it: {whole} of this view"
