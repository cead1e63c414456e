"""Elements and their two forms."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from base64 import b64decode
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from koogbook.notebook.views.look.glyphs import GLYPHS, glyph
from koogbook.notebook.views.look.markup import (
    h,
    live_tree,
    one_line,
    render,
    render_static,
    svg_bytes,
    visible,
)
from koogbook.notebook.views.look.pieces import picture

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&\x00\ud83c\u202eabc"


class Tags(HTMLParser):
    """The tags of a document in the order in which they open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the name of a tag."""
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        """Keep a piece of text."""
        self.texts.append(data)


def test_hostile_text_stays_text():
    """What a model writes is a text child and opens no element of its own."""
    assert Tags(render(h("p", HOSTILE))).tags == ["p"]


def test_hostile_text_stays_text_in_the_static_form():
    """The form for notebooks escapes as the other one does."""
    assert Tags(render_static(h("p", HOSTILE))).tags == ["p"]


def test_a_hostile_attribute_cannot_leave_its_quotes():
    """An attribute value holds quotes and angle brackets as text."""
    assert Tags(render(h("p", title=HOSTILE))).tags == ["p"]


@given(st.text(st.characters(), max_size=60))
@settings(max_examples=200, deadline=None)
def test_every_text_can_be_written_to_a_file(text):
    """Lone surrogates and controls are shown, so the result always encodes."""
    written = render(h("p", text, title=text)).encode()

    assert written.startswith(b"<p")


@given(st.text(max_size=40))
@settings(max_examples=200, deadline=None)
def test_a_readable_text_comes_back_from_the_page(text):
    """A reader sees exactly the visible form of the text."""
    assert "".join(Tags(render(h("p", text))).texts) == visible(text)


@pytest.mark.parametrize(
    ("sign", "shown"),
    [
        ("\x00", "\u2400"),
        ("\x1b", "\u241b"),
        ("\x7f", "\u2421"),
        ("\ud83c", "\\ud83c"),
        ("\u202e", "\\u202e"),
        ("\u200e", "\\u200e"),
        ("\u200f", "\\u200f"),
        ("\u061c", "\\u061c"),
        ("\u2068", "\\u2068"),
    ],
)
def test_a_sign_that_nobody_sees_is_shown(sign, shown):
    """Nothing that is in the data vanishes on the page."""
    assert visible(f"a{sign}b") == f"a{shown}b"


def test_one_line_shows_breaks_and_tabs():
    """A text of a picture has no second line."""
    assert one_line("a\r\nb\tc") == "a\u240ab\u2409c"


@pytest.mark.parametrize(
    ("value", "written"),
    [(3, "3"), (3.0, "3"), (0.126, "0.13"), (-0.001, "0"), (12.5, "12.5")],
)
def test_a_number_is_written_shortly(value, written):
    """Coordinates are short and the same everywhere."""
    assert h("g", x=value).attributes == {"x": written}


def test_children_and_attributes_that_are_none_are_left_out():
    """A part that is not there leaves no trace."""
    assert render(h("p", None, "a", title=None)) == "<p>a</p>"


def test_underscores_in_attribute_names_become_hyphens():
    """``for_`` and ``stroke_width`` are names that Python can write."""
    assert render(h("p", aria_label="a", for_="b")) == '<p aria-label="a" for="b"></p>'


def test_the_static_form_has_styles_and_no_classes():
    """A notebook that strips style sheets shows the same look."""
    written = render_static(h("p", "a", cls="kb-quiet"))

    assert written == '<p style="color:#57606a">a</p>'


def test_the_style_that_stands_later_in_the_sheet_wins_in_the_static_form():
    """A browser decides by the order of the sheet, so the static form has to."""
    assert render_static(h("p", cls="kb-bad kb-quiet")) == render_static(h("p", cls="kb-quiet kb-bad"))


def test_the_static_form_leaves_out_what_is_not_displayed():
    """A second layout for narrow pages is no part of a form with one width."""
    assert render_static(h("div", h("p", "scroll", cls="kb-narrow"))) == "<div></div>"


def test_the_static_form_has_no_inline_picture():
    """JupyterLab drops an svg element of an untrusted notebook and keeps an image."""
    written = render_static(h("p", glyph("done", "visited")))

    assert Tags(written).tags == ["p", "img"]


def test_a_static_mark_has_the_colour_of_its_text():
    """An image cannot inherit a colour, so it is written into it."""
    written = render_static(h("p", glyph("kept"), cls="kb-bad"), "dark")

    picture_text = b64decode(written.partition("base64,")[2].partition('"')[0])

    assert b'color="#ff958b"' in picture_text


def test_a_static_picture_says_what_it_shows():
    """Title and description become the alternative text."""
    drawn = picture(10, 10, "Graph trip", "2 nodes.")

    assert 'alt="Graph trip. 2 nodes"' in render_static(drawn)


def test_an_unknown_class_is_an_error():
    """A misspelt style name does not pass as no style."""
    with pytest.raises(KeyError):
        render_static(h("p", cls="kb-nowhere"))


def test_a_name_in_a_picture_is_set_apart_by_two_characters() -> None:
    """SVG has no ``bdi``; the characters do the same there, in each form. [KB-046]"""
    drawn = picture(9, 9, "t", "d", h("text", "a ", h("bdi", "<\u05d0>"), " 3"))
    shown = "a \u2068&lt;\u05d0&gt;\u2069 3</text>"

    assert shown in render(drawn)
    assert shown in svg_bytes(drawn, "light").decode()
    assert ["text", {}, ["a ", "\u2068<\u05d0>\u2069", " 3"]] in live_tree(drawn)[2]


def test_a_name_in_a_page_is_an_element() -> None:
    """An isolate of its own, in each form. [KB-046]"""
    shown = h("p", h("bdi", "\u05d0"))

    assert render(shown) == "<p><bdi>\u05d0</bdi></p>"
    assert live_tree(shown) == ["p", {}, [["bdi", {}, ["\u05d0"]]]]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", sorted(GLYPHS))
def test_each_mark_is_a_document_without_variables(name, theme):
    """A flat picture depends on no style sheet."""
    text = svg_bytes(glyph(name), theme)

    assert ElementTree.fromstring(text).tag.endswith("svg")
    assert b"var(" not in text


def test_only_a_picture_becomes_a_document():
    """A paragraph is no SVG document, and the error says so."""
    with pytest.raises(ValueError, match="svg element"):
        svg_bytes(h("p"), "light")


def test_every_text_of_the_static_form_has_a_colour_of_its_own() -> None:
    """A dark notebook gives table cells light letters, which this light paper would swallow."""
    cells = h("table", h("tbody", h("tr", h("td", "peanut"), h("td", h("code", "h-31", cls="kb-code")))))
    html = render_static(cells, "light")

    assert html.count("color:#1f2328") == 2
    assert "color:inherit" not in html
