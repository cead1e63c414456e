"""Names and sentences in a view, whichever way they are written."""

from __future__ import annotations

import pytest
from bidi_stories import ARABIC, HEBREW, SHORT
from hypothesis import given
from hypothesis import strategies as st

from koogbook.notebook.views.look.isolates import (
    name,
    own_way,
    path_apart,
    phrase,
    sentence,
    set_apart,
    shortened,
    told_apart,
    turned,
    unmarked,
)
from koogbook.notebook.views.look.markup import Element, h, text_of, visible
from koogbook.notebook.views.look.measure import cut_middle

TEXTS = st.text("ab 3/'\u2192\u05d0\u05d1\u0639\u2068\u2069\u202e\n", max_size=14)


def isolates(text: str) -> list[str]:
    """The names that are elements of their own in a sentence."""
    return [text_of(piece) for piece in sentence(text) if isinstance(piece, Element)]


def test_a_name_in_latin_letters_stays_plain_text() -> None:
    """Nothing is added where nothing is needed. [KB-046]"""
    assert (set_apart("ask_model"), name("ask_model"), told_apart("ask_model")) == ("ask_model",) * 3
    assert (phrase("ask, 3"), own_way("ask_model"), path_apart("trip/ask")) == ("ask, 3", {}, "trip/ask")


@pytest.mark.parametrize("text", [HEBREW, ARABIC])
def test_a_name_from_right_to_left_is_an_element_of_its_own(text: str) -> None:
    """Alone, and in the middle of a sentence. [KB-046]"""
    assert name(text) == h("bdi", text)
    assert sentence(f"read {set_apart(text)}, 1 waiting") == ["read ", h("bdi", text), ", 1 waiting"]


def test_the_names_of_a_path_keep_their_order() -> None:
    """Each is an element of its own: together they would be one text from right to left. [KB-046]"""
    assert isolates(path_apart(f"{SHORT}/{HEBREW}/node")) == [SHORT, HEBREW]


def test_a_block_with_such_a_text_begins_at_the_side_of_the_text() -> None:
    """It is a paragraph of that script. [KB-046]"""
    assert own_way("Hello", HEBREW) == {"dir": "auto"}


def test_a_sentence_made_elsewhere_sets_its_foreign_pieces_apart() -> None:
    """The number and the arrow after a name keep their place. [KB-046]"""
    assert isolates(told_apart(f"node {SHORT} 3 \u2192 {SHORT} {SHORT}")) == [SHORT, f"{SHORT} {SHORT}"]


def test_what_is_quoted_in_such_a_sentence_is_one_piece() -> None:
    """The quotes say where the name ends. [KB-046]"""
    assert isolates(told_apart(f"there's no tool {HEBREW!r}, 3 times")) == [repr(HEBREW)]


def test_a_sentence_from_right_to_left_is_one_piece() -> None:
    """It has its own order from its beginning to its end. [KB-046]"""
    assert isolates(told_apart(ARABIC)) == [ARABIC]


def test_a_name_that_only_ends_in_another_script_is_not_turned() -> None:
    """The first letter that has a direction decides, as a browser does. [KB-046]"""
    assert turned("12 node \u05d0") == {}
    assert turned("12 \u05d0 node")["direction"] == "rtl"
    assert turned("123") == {}


def test_a_sentence_that_lost_its_middle_keeps_its_names_apart() -> None:
    """Both ends of it are pieces as before. [KB-046]"""
    one, other = "\u05d0" * 9, "\u05d1" * 9
    whole = f"{set_apart(one)} \u2192 {set_apart(other)}"

    assert isolates(shortened(whole, lambda text: cut_middle(text, 11))) == [one[:5], other[:5]]
    assert shortened(whole, lambda text: text) == whole


@given(st.lists(TEXTS, max_size=3), st.integers(1, 30))
def test_a_sentence_says_the_same_after_a_cut_as_without_its_marks(names: list[str], length: int) -> None:
    """Marks change nothing of what is read. [KB-046]"""
    whole = " \u2192 ".join(map(set_apart, names))
    short = shortened(whole, lambda text: cut_middle(text, length))

    assert "".join(map(text_of, sentence(short))) == cut_middle(unmarked(whole), length)


@given(st.lists(st.text(max_size=12) | TEXTS, max_size=4))
def test_a_sentence_says_what_was_put_into_it(names: list[str]) -> None:
    """With the marks as elements and without them: no name can forge one. [KB-046]"""
    whole = "write ".join(f"<{set_apart(one)}>" for one in names)
    shown = "".join(map(text_of, sentence(whole)))

    assert shown == unmarked(whole)
    assert visible(shown) == "write ".join(f"<{visible(one)}>" for one in names)


@given(TEXTS)
def test_a_sentence_made_elsewhere_cannot_forge_a_mark(text: str) -> None:
    """All that it had is shown. [KB-046]"""
    assert visible("".join(map(text_of, sentence(told_apart(text))))) == visible(text)
