"""A nested session that was refused: what happened in words, both places in the code, what to do instead."""

from __future__ import annotations

from textwrap import dedent

from msgspec import Struct

from koogbook.code_place import CodeExcerpt
from koogbook.events import SessionMode
from koogbook.notebook.views.lock_view.rows import SessionRow
from koogbook.notebook.views.look.glyphs import glyph
from koogbook.notebook.views.look.isolates import name, sentence, set_apart
from koogbook.notebook.views.look.markup import Element, h
from koogbook.notebook.views.look.measure import cut_end

ERROR = "NestedSessionError"
_MOST_LINES, _LONGEST_LINE = 5, 200


def what_happened(row: SessionRow) -> str:
    """Where it was refused, and that nothing came of it."""
    when = "within a moment" if row.waits else "at once"
    return f"in {set_apart(row.context)}, raised {when} in place of a wait without end; it changed nothing."


def why(row: SessionRow) -> str:
    """Why the wait would have had no end."""
    if row.waits:
        waits = set_apart(row.waits)
        return f"Another task asked for the second session, and the task that has the first one open {waits}."
    return "One task asked for the second session while it had the first one open."


def remedy(row: SessionRow) -> str:
    """What to do instead."""
    if row.waits:
        return (
            "Instead: hand the open session on to that task, or wait for the task when the block has ended."
        )
    return "Instead: hand the open session on, or open the second one after the first block has ended."


class CodeLine(Struct, frozen=True):
    """One line of an excerpt; ``marked`` is the one that is meant."""

    number: int
    text: str
    marked: bool


def code_lines(excerpt: CodeExcerpt) -> list[CodeLine]:
    """The lines around the one that is meant, without the blanks that all begin with."""
    texts = dedent("\n".join(line.expandtabs(4).rstrip() for line in excerpt.lines)).split("\n")
    marked = excerpt.marked - excerpt.first
    start = max(min(marked - _MOST_LINES // 2, len(texts) - _MOST_LINES), 0)
    return [
        CodeLine(excerpt.first + place, cut_end(texts[place], _LONGEST_LINE), place == marked)
        for place in range(start, min(start + _MOST_LINES, len(texts)))
    ]


def refusal(row: SessionRow) -> Element:
    """All of it."""
    return h(
        "div",
        h(
            "p",
            glyph("failed", "refused", tone="bad"),
            " ",
            h("strong", ERROR, cls="kb-strong"),
            " ",
            *sentence(what_happened(row)),
            cls="kb-text",
            style="margin:0 0 2px",
        ),
        h("p", *sentence(why(row)), cls="kb-p kb-quiet", style="margin:0 0 10px"),
        both_places(row),
        h("p", remedy(row), cls="kb-p", style="margin:10px 0 0"),
    )


def both_places(row: SessionRow) -> Element:
    """The session that is still open and the one that was refused, side by side where there is room."""
    return h(
        "div",
        _place("lock", "first, still open", row.first_mode, row.first, row.first_code, "accent"),
        _place("failed", "second, refused", row.mode, row.place, row.code, "bad"),
        style="display:flex;flex-wrap:wrap;gap:8px",
    )


def _place(
    mark: str, word: str, mode: SessionMode, place: str, code: CodeExcerpt | None, tone: str
) -> Element:
    border = "border-color:var(--kb-bad);" if tone == "bad" else ""
    return h(
        "div",
        h(
            "div",
            glyph(mark, tone=tone),
            h("span", word, cls="kb-strong"),
            h("span", f"{mode} session", cls="kb-quiet"),
            h("code", name(place or "unknown place"), cls="kb-code kb-push"),
            cls="kb-row kb-t-sunk",
            style="flex-wrap:wrap;gap:0 8px;padding:4px 10px",
        ),
        _code(code, tone)
        if code is not None and code.lines
        else h(
            "p",
            "The code of this place cannot be shown.",
            cls="kb-p kb-small kb-quiet",
            style="margin:0;padding:6px 10px",
        ),
        cls="kb-box",
        style=f"{border}flex:1 1 290px;min-width:0",
    )


def _code(excerpt: CodeExcerpt, tone: str) -> Element:
    lines = code_lines(excerpt)
    width = len(str(lines[-1].number))
    return h(
        "pre",
        *(_code_line(line, width, tone) for line in lines),
        cls="kb-pre",
        dir="ltr",
        style="padding:4px 0;border:0;border-radius:0;background:var(--kb-paper)",
    )


def _code_line(line: CodeLine, width: int, tone: str) -> Element:
    """A line that goes on deeper than it begins; the one that is meant has a sign, too."""
    ground = (
        f"background:var(--kb-t-{tone});border-left:3px solid var(--kb-{tone})"
        if line.marked
        else "border-left:3px solid transparent"
    )
    hanging = width + 3 + len(line.text) - len(line.text.lstrip()) + 4
    return h(
        "span",
        h(
            "span",
            f"{'>' if line.marked else ' '}{line.number:>{width}}  ",
            cls=f"kb-{tone} kb-strong" if line.marked else "kb-quiet",
        ),
        f"{line.text}\n",
        style=f"display:block;padding:0 6px 0 calc({hanging}ch + 4px);text-indent:-{hanging}ch;{ground}",
    )
