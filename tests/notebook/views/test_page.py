"""A whole page of views."""

from __future__ import annotations

import re

import pytest

from koogbook.notebook.views.look.markup import h
from koogbook.notebook.views.look.pieces import frame
from koogbook.notebook.views.page import Section, page

VIEW = frame(icon="graph", title="Graph", name="trip", status="done", body=[], foot="2 nodes")
SECTIONS = [Section("graph", "Strategy graph", "What ran.", VIEW), Section("locks", "Sessions", "", VIEW)]


def test_a_page_loads_and_runs_nothing():
    """It opens offline, and nobody's text can become a program."""
    text = page("Trip", None, SECTIONS)

    assert "default-src 'none'" in text
    assert not re.search(r"<(script|link|iframe|object)|src=\"http|url\(http", text)


def test_each_entry_of_the_contents_leads_to_its_section():
    """A long page can be read from anywhere."""
    text = page("Trip", None, SECTIONS)

    assert re.findall(r'href="#([^"]+)"', text) == re.findall(
        r'<section class="kb-section" id="([^"]+)"', text
    )


def test_a_page_of_one_section_has_no_contents():
    """A list of one says nothing."""
    assert "<nav" not in page("Trip", None, SECTIONS[:1])


def test_a_page_has_both_themes():
    """It follows the reader's system and can be switched."""
    text = page("Trip", None, [])

    assert "prefers-color-scheme:dark" in text
    assert ':root[data-theme="dark"]' in text


def test_title_intro_and_headings_are_text():
    """A page of hostile strings is still one page, and can be written to a file."""
    hostile = "</title></style><script>\ud83c\x00"

    text = page(hostile, h("p", hostile), [Section("a", hostile, hostile, VIEW)])

    assert "<script" not in text
    assert text.encode()


def test_the_headings_go_down_one_step_at_a_time():
    """The outline of a page is that of its sections."""
    assert re.findall(r"<(h[1-6])", page("Trip", None, SECTIONS)) == ["h1", "h2", "h3", "h2", "h3"]


@pytest.mark.parametrize("ids", [("a", "a"), ("", "a"), ("a b", "c")])
def test_an_id_that_no_link_can_reach_is_an_error(ids):
    """Two sections never share an anchor."""
    with pytest.raises(ValueError, match="Section ids"):
        page("Trip", None, [Section(id, "", "", VIEW) for id in ids])


def test_the_same_sections_give_the_same_bytes():
    """A page changes only when what it shows changes."""
    assert page("Trip", None, SECTIONS) == page("Trip", None, SECTIONS)
