"""Names and sentences in a view: each name from outside keeps to itself, whichever way it is written.

A name in Hebrew or Arabic turns the direction of what stands beside it, a comma and a number for example, unless it
is set apart. Inside a sentence it stands between two marks, which become an element of its own where the sentence is
shown; a name from outside cannot hold the marks, since all such characters are shown as their escapes.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Any

from koogbook.notebook.views.look.markup import Element, h, visible

_BEGIN, _END = "\u2068", "\u2069"
_MARKED = re.compile(f"{_BEGIN}([^{_BEGIN}{_END}]*){_END}")
_LEFTWARD = frozenset({"R", "AL", "AN"})


def set_apart(name: str) -> str:
    """A name for the middle of a sentence."""
    shown = visible(name)
    return f"{_BEGIN}{shown}{_END}" if _turns(shown) else shown


def unmarked(sentence: str) -> str:
    """A sentence without the marks, for where no element can stand: an attribute, or ASCII text."""
    return sentence.replace(_BEGIN, "").replace(_END, "")


def sentence(text: str) -> list[Element | str]:
    """A sentence with an element for each name that was set apart in it."""
    pieces = _MARKED.split(text)
    shown: list[Element | str] = []
    for place, piece in enumerate(pieces):
        if piece:
            shown.append(h("bdi", piece) if place % 2 else piece)
    return shown


def name(text: str) -> Element | str:
    """A name that stands alone, in a cell or a heading."""
    return h("bdi", text) if _turns(text) else text


def turned(text: str) -> dict[str, Any]:
    """The attributes of a text in a picture, a name that begins at its left edge, so that it keeps to that edge."""
    first = next((way for sign in text if (way := unicodedata.bidirectional(sign)) in ("L", "R", "AL")), "L")
    return {} if first == "L" else {"direction": "rtl", "text_anchor": "end"}


@lru_cache(maxsize=4096)
def _turns(text: str) -> bool:
    return not text.isascii() and any(unicodedata.bidirectional(sign) in _LEFTWARD for sign in text)
