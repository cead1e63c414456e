"""The mark that stands for the end of a session, wherever it is shown."""

from __future__ import annotations

from koogbook.notebook.views.lock_view.rows import Outcome, SessionRow, Stopped
from koogbook.notebook.views.look.glyphs import glyph
from koogbook.notebook.views.look.markup import Element, h
from koogbook.notebook.views.look.pieces import STATES, Tone, pair

#: A drawing and its tone.
Mark = tuple[str, Tone]

SLOW: Mark = STATES["warning"]
STOPPED: dict[Stopped, Mark] = {"run": ("lock", "bad"), "trace": STATES["paused"]}
ENDED: dict[Outcome, Mark] = {
    "committed": STATES["committed"],
    "discarded": STATES["discarded"],
    "ended": STATES["done"],
    "open": STATES["open"],
    "waiting": STATES["waiting"],
    "asking": STATES["not reached"],
    "refused": STATES["refused"],
    "timed out": STATES["timed out"],
    "gave up": STATES["skipped"],
}


def bar_marks(row: SessionRow) -> list[Mark]:
    """The marks behind a bar; a read that ended has none, since it has changed nothing."""
    marks = [ENDED[row.outcome]] if row.over and row.outcome != "ended" else []
    marks += [STOPPED[row.stopped]] if row.stopped else []
    return [*marks, SLOW] if row.slow else marks


def outcome_word(row: SessionRow) -> Element:
    """How a session ended, or how far it is: its mark and the word for it."""
    mark = STOPPED[row.stopped] if row.stopped and row.outcome == "open" else ENDED[row.outcome]
    return marked(mark, row.word)


def marked(mark: Mark, text: str) -> Element:
    """A mark with a word beside it, in the tone of the mark."""
    drawing, tone = mark
    # In a narrow table it breaks between words alone.
    return pair(glyph(drawing, tone=tone), h("span", text, style="overflow-wrap:normal"), tone)


def key(mark: Mark, text: str) -> Element:
    """A mark with a word beside it, as legends have it."""
    drawing, tone = mark
    return pair(glyph(drawing, tone=tone), text)
