"""Widths of text and forms of numbers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from koogbook.notebook.views.look.measure import (
    count,
    cut_end,
    cut_middle,
    duration,
    fit,
    percent,
    plain,
    text_width,
    thousands,
)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 ms"),
        (0.00001, "<0.1 ms"),
        (0.0004, "0.4 ms"),
        (0.0014, "1.4 ms"),
        (0.002, "2 ms"),
        (0.84, "840 ms"),
        (0.9996, "1.00 s"),
        (1.39, "1.39 s"),
        (9.999, "10.0 s"),
        (119.97, "2 min 00 s"),
        (192, "3 min 12 s"),
        (3599.7, "1 h 00 min"),
        (7500, "2 h 05 min"),
        (-0.5, "-500 ms"),
        (float("nan"), "unknown"),
    ],
)
def test_a_time_is_written_as_people_read_it(seconds, text):
    """Milliseconds under a second, minutes above two of them."""
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (6635, "6,635"), (1234567, "1,234,567"), (-5430, "\u22125,430")]
)
def test_thousands_have_commas(number, text):
    """A count is read at a glance."""
    assert thousands(number) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.82, "82 %"), (-0.82, "\u221282 %"), (0, "0 %"), (0.999, "99 %"), (1, "100 %"), (0.001, "<1 %")],
)
def test_a_share_is_never_rounded_to_all_or_nothing(share, text):
    """99.9 % is not all, 0.1 % is not nothing."""
    assert percent(share) == text


def test_a_gain_can_have_its_sign():
    """A change says its direction."""
    assert percent(0.5, signed=True) == "+50 %"


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [(1, "entry", "1 entry"), (2, "entries", "2 entries"), (1204, "entries", "1,204 entries")],
)
def test_a_count_takes_its_noun(number, noun, text):
    """One is not many."""
    assert count(number, "entry", "entries") == text


def test_a_long_name_loses_its_middle():
    """Names that are alike differ at both ends."""
    assert cut_middle("gather_all_the_trains_and_hotels", 15) == "gather_\u2026_hotels"


@given(st.text(max_size=60), st.integers(1, 40))
@settings(max_examples=200, deadline=None)
def test_a_cut_text_has_at_most_the_length(text, length):
    """Both cuts keep their promise for every length."""
    assert max(len(cut_middle(text, length)), len(cut_end(text, length))) <= length


@given(st.text(st.characters(categories=["L", "N", "P", "Zs"]), max_size=60), st.floats(20, 300))
@settings(max_examples=200, deadline=None)
def test_a_fitted_text_fits(text, width):
    """At 20 px two signs always fit, and nothing is wider than the room it was given."""
    fitted = fit(text, width, 9)

    assert text_width(fitted, 9) <= width or len(fitted) <= 2


@pytest.mark.parametrize("text", ["ask_model", "over 6k tokens", "\u4ea4\u901a", "\U0001f642"])
def test_bold_text_is_wider(text):
    """A bold name needs the wider box."""
    assert text_width(text, bold=True) > text_width(text)


def test_a_chinese_sign_is_as_wide_as_the_size():
    """Wide signs take a whole em, and the reserve for other fonts."""
    assert text_width("\u4ea4", 10) == pytest.approx(11.6)


def test_a_combining_mark_takes_no_room():
    """An accent stands over its letter."""
    assert text_width("e\u0301") == text_width("e")


@given(st.text(max_size=80), st.integers(4, 60))
@settings(max_examples=200, deadline=None)
def test_plain_text_is_one_short_line_of_ascii(text, length):
    """Text forms can go to any terminal and any log."""
    line = plain(text, length)

    assert line.isascii()
    assert len(line) <= length
    assert "\n" not in line


def test_typographic_signs_have_a_plain_form():
    """An escape is only for what has none."""
    assert plain("\u221282 % \u00b7 a \u2192 b \u00d73") == "-82 % - a -> b x3"
