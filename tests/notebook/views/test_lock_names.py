"""Names in the lock view, whichever way they are written: they keep to themselves, and the layout stays."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest
from bidi_stories import ARABIC, HEBREW, TRICK
from lock_stories import REFUSED, session, story
from msgspec.structs import replace

import koogbook as kb
from koogbook.events import Event, SessionDiscarded, SessionTimedOut
from koogbook.notebook.views.lock_view.locks import LockView
from koogbook.notebook.views.lock_view.picture import lock_picture
from koogbook.notebook.views.lock_view.sheet import NARROW, WIDE
from koogbook.notebook.views.look.markup import Element, live_tree, render, render_static, svg_bytes, visible

#: Characters that turn the direction of what follows them, and those that end it.
CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")


def story_of(who: str, context: str = "trip") -> list[Event]:
    """Sessions that hold, wait, failed and were refused, all with one name."""
    failed = session(2, 0.1, 1.0, 1.5, who=who, context=context, ahead=(1,), end=SessionDiscarded)
    told = [
        replace(event, error=f"ValueError: {who}") if isinstance(event, SessionDiscarded) else event
        for event in failed
    ]
    same: dict[str, Any] = {"context": context, "who": who, "place": f"{who}:3", "run_id": "41"}
    return story(
        session(1, 0.0, 0.0, 1.0, who=who, context=context),
        told,
        session(3, 1.2, 1.5, who=who, context=context, ahead=(2,)),
        session(4, 1.6, who=who, context=context, ahead=(3,)),
        [SessionTimedOut(at=1.9, session=5, mode="read", holders=(f"{who} {who}:3",), **same)],
        [replace(REFUSED, at=1.95, first=f"{who}:1", **same)],
    )


def texts(element: Element) -> list[str]:
    """All texts of an element, one by one."""
    return [
        text
        for child in element.children
        for text in (texts(child) if isinstance(child, Element) else [child])
    ]


def elements(root: Element) -> list[Element]:
    """An element and all in it."""
    return [root, *(one for child in root.children if isinstance(child, Element) for one in elements(child))]


def everything(view: LockView) -> str:
    """All forms of a view, one after the other."""
    element = view.live_element(view.element)
    return "".join([render(element), render_static(element), repr(live_tree(element)), str(view)])


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("text", [TRICK, f"\u2067{TRICK}\u2069", "a\u2068b"])
def test_a_character_that_turns_what_follows_is_shown_escaped(text: str, number: int) -> None:
    """In who, where, the context and the error, in every form. [KB-046] [NBK-11]"""
    shown = everything(kb.locks(story_of(text, context=text), selected=number))

    assert CONTROLS.findall(shown) == []
    assert visible(text).split("\\u")[1][:4] in shown


@pytest.mark.parametrize("text", [HEBREW, ARABIC])
def test_a_name_from_right_to_left_is_set_apart_wherever_it_stands(text: str) -> None:
    """In sentences, cells and headings it is an element of its own, so that the rest keeps its place. [KB-046]"""
    for number in (1, 2, 3, 4, 5, 9):
        root = kb.locks(story_of(text), selected=number, at=1.97).element
        for element in elements(root):
            if element.tag in ("bdi", "title", "text", "desc") or element.attributes.get("dir") == "auto":
                continue
            beside = [child for child in element.children if isinstance(child, str) and text in child]
            assert [one for one in beside if element.attributes.get("role") != "status"] == [], element


@pytest.mark.parametrize("sheet", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("text", [HEBREW, "\u05ea\u05d9\u05e7"])
def test_a_name_in_the_picture_begins_at_its_left_edge(sheet: Any, text: str) -> None:
    """A text from right to left ends where another one begins. [KB-046]"""
    drawn = lock_picture(kb.locks(story_of(text, context=text)).state, sheet=sheet)
    names = [one for one in elements(drawn) if one.tag == "text" and text[:3] in "".join(texts(one))]

    assert names
    assert {(one.attributes["direction"], one.attributes["text-anchor"]) for one in names} == {("rtl", "end")}


def test_the_picture_reads_from_left_to_right_on_every_page() -> None:
    """Its time does. [KB-046]"""
    assert lock_picture(kb.locks(story_of("a")).state).attributes["direction"] == "ltr"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_picture_with_such_names_is_well_formed(theme: Any) -> None:
    """It can be opened by itself. [KB-046]"""
    document = svg_bytes(lock_picture(kb.locks(story_of(HEBREW, context=TRICK)).state), theme)

    assert ElementTree.fromstring(document).tag == "{http://www.w3.org/2000/svg}svg"


def test_the_text_is_ascii_and_narrow_with_any_name() -> None:
    """It can go to any terminal. [KB-046]"""
    for number in (1, 2, 3, 4, 5, 9):
        text = str(kb.locks(story_of(HEBREW * 5, context=TRICK * 9), selected=number))

        assert text.isascii()
        assert max(map(len, text.splitlines())) <= 100


def test_a_name_in_latin_letters_stays_plain_text() -> None:
    """Nothing is added where nothing is needed. [KB-046]"""
    assert not [one for one in elements(kb.locks(story_of("ask")).element) if one.tag == "bdi"]
