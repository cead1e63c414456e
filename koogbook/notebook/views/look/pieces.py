"""How views look: the pieces that every view is built from, over the styles of :mod:`styles`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct

from koogbook.notebook.views.look.glyphs import glyph
from koogbook.notebook.views.look.isolates import name as own
from koogbook.notebook.views.look.isolates import sentence, unmarked
from koogbook.notebook.views.look.markup import Element, h, text_of
from koogbook.notebook.views.look.styles import HUES, SVG_FONT
from koogbook.notebook.views.look.styles import STYLES as STYLES
from koogbook.notebook.views.look.styles import TOKENS as TOKENS
from koogbook.notebook.views.look.styles import stylesheet as stylesheet

Tone = Literal["", "accent", "ok", "bad", "warn", "mem", "sum", "ink2"]

# ------------------------------------------------------------------------------------------- pieces


def heading(*words: Element | str | None, style: str | None = None) -> Element:
    """A heading inside a view.

    It is no h4: JupyterLab puts numbers of its own into those that it finds, and then the changes of a live view miss
    their places.
    """
    return h("div", *words, cls="kb-h4", style=style, role="heading", aria_level=4)


def frame(
    *,
    icon: str,
    title: str,
    name: Element | str,
    status: Element | str,
    body: Sequence[Element],
    foot: Element | str,
    legend: Sequence[Element] = (),
    tools: Element | None = None,
    keys: Element | None = None,
    spoken: str | None = None,
) -> Element:
    """The frame of every view: a head with one sentence, the body, and a foot with legend and count.

    A ``name``, a ``status`` or a ``foot`` that is a text is set apart as a whole, one of several parts is an element.
    ``tools`` are the buttons of the live form, ``keys`` the list of its keys. ``spoken`` is what a screen reader says
    of a status that changes all the time, names in it set apart; without it, the status itself is read out when it
    changes.
    """
    return h(
        "section",
        h(
            "header",
            glyph(icon, tone="ink2"),
            # The blanks part the pieces where a notebook has taken out the gaps between them.
            " ",
            h("h3", title, cls="kb-title"),
            " ",
            h("code", own(name), cls="kb-name") if name else None,
            " ",
            h("span", own(status), cls="kb-status", role="status" if spoken is None else None),
            h("span", *sentence(spoken), cls="kb-hidden", role="status") if spoken is not None else None,
            tools,
            cls="kb-head",
        ),
        *body,
        h("footer", *legend, h("span", own(foot)) if foot else None, keys, cls="kb-foot")
        if foot or legend or keys
        else None,
        cls="kb-card",
        aria_label=f"{title} {text_of(name)}".strip(),
    )


def chip(text: str, tone: Tone = "") -> Element:
    """A word on a tint of its tone."""
    return h("span", own(text), cls=f"kb-chip kb-{tone} kb-t-{tone}" if tone in HUES else "kb-chip")


def pair(mark: Element, text: Element | str, tone: Tone = "") -> Element:
    """A mark and its word."""
    return h("span", mark, " ", h("span", own(text)), cls=f"kb-pair kb-{tone}" if tone in HUES else "kb-pair")


def bar(share: float, tone: Tone = "", width: int = 64) -> Element:
    """A horizontal bar of a share from 0 to 1; the number stands beside it."""
    filled = min(max(share, 0.0), 1.0)
    cls = f"kb-fill kb-fill-{tone}" if tone in HUES else "kb-fill"
    return h(
        "span",
        h("span", cls=cls, style=f"width:{filled * 100:.1f}%"),
        cls="kb-track",
        style=f"width:{width}px",
        aria_hidden="true",
    )


def stats(figures: Sequence[tuple[str, str]]) -> Element:
    """The stat strip: a small word and a large figure each."""
    return h(
        "div",
        *(
            h(
                "div",
                h("div", word, cls="kb-small kb-quiet"),
                h("div", own(figure), cls="kb-figure"),
                cls="kb-stat",
            )
            for word, figure in figures
        ),
        cls="kb-stats",
    )


class Column(Struct, frozen=True):
    """A column of a table; numbers stand at the right, ``cls`` styles its cells."""

    title: str
    numeric: bool = False
    cls: str = ""


def table(
    columns: Sequence[Column],
    rows: Sequence[Sequence[Element | str]],
    caption: str,
    row_cls: Callable[[int], str] | None = None,
) -> Element:
    """A table with scoped heads and a caption for who does not see it; ``row_cls`` is the style of a row.

    A cell with a text is set apart as a whole; the ``caption`` is a sentence, with each name in it set apart.
    """
    return h(
        "table",
        h("caption", *sentence(caption), cls="kb-hidden"),
        h(
            "thead",
            h(
                "tr",
                *(
                    h("th", column.title, cls="kb-th kb-num" if column.numeric else "kb-th", scope="col")
                    for column in columns
                ),
                cls="kb-tr",
            ),
        ),
        h(
            "tbody",
            *(
                h(
                    "tr",
                    *(_cell(column, value) for column, value in zip(columns, row, strict=True)),
                    cls=f"kb-tr {row_cls(index)}".rstrip() if row_cls else "kb-tr",
                )
                for index, row in enumerate(rows)
            ),
        ),
        cls="kb-table",
    )


def _cell(column: Column, value: Element | str) -> Element:
    cls = "kb-td kb-num" if column.numeric else "kb-td"
    return h("td", own(value), cls=f"{cls} {column.cls}".rstrip())


def picture(width: float, height: float, title: str, description: str, *shapes: Element | None) -> Element:
    """An SVG picture with its own paper, its title, and its content in words; both may have names set apart."""
    return h(
        "svg",
        h("title", *sentence(title)),
        h("desc", *sentence(description)),
        h("rect", width=width, height=height, fill="var(--kb-paper)"),
        *shapes,
        cls="kb-picture",
        live={"role": "group", "direction": "ltr"},
        width=width,
        height=height,
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        aria_label=unmarked(title),
        font_family=SVG_FONT,
    )


#: Mark and tone of each state and fate, by its word.
STATES: dict[str, tuple[str, Tone]] = {
    "visited": ("done", "ok"),
    "done": ("done", "ok"),
    "ok": ("done", "ok"),
    "resumable": ("done", "ok"),
    "with warning": ("warning", "warn"),
    "warning": ("warning", "warn"),
    "running": ("running", "accent"),
    "holds": ("running", "accent"),
    "open": ("running", "accent"),
    "failed": ("failed", "bad"),
    "lost": ("failed", "bad"),
    "refused": ("failed", "bad"),
    "not resumable": ("failed", "bad"),
    "not reached": ("idle", "ink2"),
    "empty": ("idle", "ink2"),
    "skipped": ("skipped", "ink2"),
    "off": ("skipped", "ink2"),
    "stopped": ("skipped", "ink2"),
    "ended": ("skipped", "ink2"),
    "waiting": ("waiting", "warn"),
    "timed out": ("waiting", "bad"),
    "paused": ("paused", "accent"),
    "no result yet": ("paused", "accent"),
    "tombstone": ("tombstone", "ink2"),
    "kept": ("kept", "ink2"),
    "edited": ("edited", "warn"),
    "dropped": ("dropped", "bad"),
    "summarised": ("summary", "sum"),
    "memory": ("memory", "mem"),
    "new": ("added", "ok"),
    "committed": ("committed", "ok"),
    "discarded": ("discarded", "bad"),
}


def status_glyph(state: str) -> Element:
    """The mark of a state, named by its word.

    Raises:
        KeyError: No such state in :data:`STATES`.
    """
    mark, tone = STATES[state]
    return glyph(mark, state, tone=tone)


def legend_word(state: str) -> Element:
    """The mark of a state with its word in grey, as legends have it."""
    mark, tone = STATES[state]
    return pair(glyph(mark, tone=tone), state)


def status_line(state: str, sentence: Element | str) -> Element:
    """The sentence of a head, behind the mark of a state."""
    mark, tone = STATES[state]
    return pair(glyph(mark, state, tone=tone), sentence)


def status_word(state: str, text: Element | str | None = None) -> Element:
    """The mark of a state with its word beside it, or with ``text``."""
    mark, tone = STATES[state]
    return pair(glyph(mark, tone=tone), state if text is None else text, tone)
