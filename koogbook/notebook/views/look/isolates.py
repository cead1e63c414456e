"""Names and sentences in a view: each text from outside keeps to itself, whichever way it is written.

A name in Hebrew or Arabic turns the direction of what stands beside it, a comma and a number for example, unless it
is set apart. Inside a sentence it stands between two marks, which become an element of its own where the sentence is
shown; a name from outside cannot hold the marks, since all such characters are shown as their escapes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from koogbook.notebook.views.look.markup import Element, h, visible

_BEGIN, _END = "\u2068", "\u2069"
_MARKED = re.compile(f"{_BEGIN}([^{_BEGIN}{_END}]*){_END}")
_LEFTWARD = frozenset({"R", "AL", "AN"})
_LETTER = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
#: What stands in quotes and has such a letter, else words of such letters.
_STRETCH = re.compile(rf"(?<!\w)(['\"])(?=[^'\"]*{_LETTER})[^'\"]*\1(?!\w)|{_LETTER}+(?:[ -]{_LETTER}+)*")


# ------------------------------------------------------------------------------------------- sentences


def set_apart(name: str) -> str:
    """A name for the middle of a sentence."""
    if _turns(name):
        return f"{_BEGIN}{visible(name)}{_END}"
    return visible(name) if _BEGIN in name or _END in name else name


def path_apart(path: str) -> str:
    """A path for the middle of a sentence: each of its names by itself, so that they stay in their order."""
    return path if path.isascii() else "/".join(map(set_apart, path.split("/")))


def told_apart(text: str) -> str:
    """A sentence that was made elsewhere, around names that are not known here.

    One that begins from right to left is set apart as a whole. In another it is what stands in quotes and has letters
    from right to left, and words of such letters that stand in none.
    """
    if not _turns(text) or _begins_leftward(text):
        return set_apart(text)
    return _STRETCH.sub(rf"{_BEGIN}\g<0>{_END}", visible(text))


def unmarked(sentence: str) -> str:
    """A sentence without the marks, for where no element can stand: an attribute, or ASCII text."""
    return sentence.replace(_BEGIN, "").replace(_END, "")


def shortened(sentence: str, cut: Callable[[str], str]) -> str:
    """A sentence that ``cut`` has taken a piece out of, with the marks of what is left."""
    whole = unmarked(sentence)
    short = cut(whole)
    if short == whole:
        return sentence
    left = _alike(whole, short)
    right = min(_alike(whole[::-1], short[::-1]), len(short) - left)
    pieces, place = [""] * 2, 0
    for number, piece in enumerate(_MARKED.split(sentence)):
        end = place + len(piece)
        for side, part in enumerate(
            (whole[place : min(end, left)], whole[max(place, len(whole) - right) : end])
        ):
            pieces[side] += f"{_BEGIN}{part}{_END}" if number % 2 and part else part
        place = end
    return pieces[0] + short[left : len(short) - right] + pieces[1]


def _alike(one: str, other: str) -> int:
    """With how many characters both texts begin."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (sign, same) in pairs if sign != same), min(len(one), len(other)))


# ------------------------------------------------------------------------------------------- elements


def sentence(text: str) -> list[Element | str]:
    """A sentence with an element for each name that was set apart in it."""
    if text.isascii():
        return [text] if text else []
    pieces = _MARKED.split(text)
    shown: list[Element | str] = []
    for place, piece in enumerate(pieces):
        if piece:
            shown.append(h("bdi", piece) if place % 2 else piece)
    return shown


def phrase(text: str) -> Element | str:
    """A sentence as one child of an element."""
    pieces = sentence(text)
    return pieces[0] if len(pieces) == 1 else h("span", *pieces) if pieces else ""


def name(text: Element | str) -> Element | str:
    """A name that stands alone, in a cell or a heading; an element stays as it is."""
    return h("bdi", text) if isinstance(text, str) and _turns(text) else text


def own_way(*texts: str) -> dict[str, Any]:
    """The attributes of a block with a text from outside, so that the text begins at its own side."""
    return {"dir": "auto"} if any(map(_turns, texts)) else {}


def turned(text: str) -> dict[str, Any]:
    """The attributes of a text in a picture, a name that begins at its left edge, so that it keeps to that edge."""
    return {"direction": "rtl", "text_anchor": "end"} if _begins_leftward(text) else {}


def _begins_leftward(text: str) -> bool:
    ways = map(unicodedata.bidirectional, text)
    return next((way for way in ways if way in ("L", "R", "AL")), "L") != "L"


@lru_cache(maxsize=4096)
def _turns(text: str) -> bool:
    return not text.isascii() and any(unicodedata.bidirectional(sign) in _LEFTWARD for sign in text)
