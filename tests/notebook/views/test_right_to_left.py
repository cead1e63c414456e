"""Texts from right to left in every view: each keeps to itself, and what stands beside it keeps its place."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from typing import Any

import pytest
from bidi_stories import ARABIC, FORMS, HEBREW, LATIN, SHORT, TRICK, checkpoints_of, diff_of, graph_of

from koogbook.notebook.views.checkpoint_view.view import checkpoint_element
from koogbook.notebook.views.diff_view.view import diff_element
from koogbook.notebook.views.graph_view.picture import graph_picture
from koogbook.notebook.views.graph_view.view import graph_svg
from koogbook.notebook.views.look.markup import Element, h, live_tree, render, render_static, text_of, visible
from koogbook.notebook.views.look.pieces import frame

#: Characters that turn the direction of what follows them, and those that end it.
CONTROLS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
LETTERS = re.compile("[\u0590-\u08ff]")

each_view = pytest.mark.parametrize("view", FORMS)
each_text = pytest.mark.parametrize("text", [HEBREW, ARABIC], ids=["hebrew", "arabic"])


def elements(root: Element) -> Iterator[Element]:
    """An element and all in it."""
    yield root
    for child in root.children:
        if isinstance(child, Element):
            yield from elements(child)


def loose(root: Element) -> Iterator[str]:
    """The texts with a letter from right to left that no element sets apart."""
    if root.tag == "bdi" or root.attributes.get("dir") == "auto":
        return
    for child in root.children:
        if isinstance(child, Element):
            yield from loose(child)
        elif LETTERS.search(child):
            yield child


@each_view
@each_text
def test_a_text_from_right_to_left_is_set_apart_wherever_it_stands(view: str, text: str) -> None:
    """In sentences, cells, headings, labels and titles. [KB-046]"""
    assert list(loose(FORMS[view](text)[0])) == []


@each_view
def test_a_character_that_turns_what_follows_is_shown_escaped(view: str) -> None:
    """In the page, in the notebook, in the live view and in the text. [KB-046]"""
    element, text = FORMS[view](TRICK)
    shown = "".join([render(element), render_static(element), repr(live_tree(element)), text])

    assert CONTROLS.findall(shown) == []
    assert visible(TRICK) in render(element)


@pytest.mark.parametrize("sign", ["\u061c", "\u200e", "\u200f", "\u2066", "\u2067", "\u2068", "\u2069"])
@each_view
def test_a_text_cannot_set_itself_apart(view: str, sign: str) -> None:
    """Whatever else it has: only what a view sets apart is. [KB-046]"""
    page = render(FORMS[view](f"a{sign}b {SHORT}")[0])

    assert visible(sign) in page
    assert len(re.findall("\u2068[^\u2068\u2069]*\u2069", page)) * 2 == len(CONTROLS.findall(page))


@each_view
@each_text
def test_the_text_is_ascii_and_narrow(view: str, text: str) -> None:
    """It can go to any terminal. [KB-046]"""
    shown = FORMS[view](text)[1]

    assert shown.isascii()
    assert "\\u2068" not in shown
    assert max(map(len, shown.split("\n"))) <= 100


@each_view
def test_nothing_is_added_to_a_view_without_such_a_text(view: str) -> None:
    """A saved notebook has not a byte more for it. [KB-046]"""
    found = [*elements(FORMS[view](LATIN)[0])]

    assert [one for one in found if one.tag == "bdi" or "dir" in one.attributes] == []


@each_view
def test_the_static_form_needs_only_what_an_untrusted_notebook_keeps(view: str) -> None:
    """The element ``bdi`` and the attribute ``dir`` are kept there; no direction is set in a style. [KB-046]"""
    html = render_static(FORMS[view](HEBREW)[0])

    assert "<bdi" in html
    assert "unicode-bidi" not in html
    assert "direction:" not in html


# ------------------------------------------------------------------------------------------- the three of the case


@each_text
def test_a_message_bubble_has_the_direction_of_its_text(text: str) -> None:
    """The mark of its role stands beside it, not in it. [KB-046]"""
    bubbles = [
        one
        for one in elements(diff_element(diff_of(text)))
        if one.attributes.get("dir") == "auto" and text_of(one) == text and one.tag == "div"
    ]

    assert bubbles
    assert all(one.tag != "svg" for bubble in bubbles for one in elements(bubble))


@each_text
def test_a_node_label_and_the_count_of_an_edge_are_two_pieces(text: str) -> None:
    """The count stands behind the label, not in it. [KB-046]"""
    drawn = graph_picture(graph_of(text))
    assert drawn is not None
    counts = [one for one in elements(drawn) if one.tag == "text" and text_of(one).endswith("\u00d71")]

    assert len(counts) == 1
    assert [child.tag for child in counts[0].children if isinstance(child, Element)][-2:] == ["bdi", "tspan"]


@each_text
def test_a_checkpoint_table_cell_sets_each_name_of_a_path_apart(text: str) -> None:
    """The folders of a node keep their order. [KB-046]"""
    page = render(checkpoint_element(checkpoints_of(text)))
    name = visible(text)

    assert f"<bdi>{name}</bdi>/<bdi>{name} 2</bdi>/</span><bdi>{name}</bdi>" in page


@pytest.mark.parametrize("theme", ["light", "dark"])
@each_text
def test_a_picture_with_such_names_is_well_formed(text: str, theme: Any) -> None:
    """It can be opened by itself, and its names are set apart by characters, for it has no such element. [KB-046]"""
    root = ElementTree.fromstring(graph_svg(graph_of(text), theme))
    title = root.findtext("{http://www.w3.org/2000/svg}title")

    assert title == f"Strategy graph \u2068{text}\u2069"


def test_a_frame_takes_an_element_as_its_name() -> None:
    """A name with something beside it; what is read out is its text. [KB-046]"""
    made = frame(
        icon="graph",
        title="Graph",
        name=h("span", h("bdi", HEBREW), " \u00b7 run 4"),
        status="done",
        body=[],
        foot="",
    )

    assert made.attributes["aria-label"] == f"Graph {HEBREW} \u00b7 run 4"
    assert f"<bdi>{HEBREW}</bdi> \u00b7 run 4" in render(made)
