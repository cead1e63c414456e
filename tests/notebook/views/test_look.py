"""Colours, styles and the pieces that views share."""

from __future__ import annotations

import re
from itertools import product

import pytest

from koogbook.notebook.views.look.glyphs import GLYPHS
from koogbook.notebook.views.look.markup import render, render_static
from koogbook.notebook.views.look.pieces import (
    STATES,
    STYLES,
    TOKENS,
    Column,
    bar,
    chip,
    frame,
    stats,
    status_glyph,
    status_word,
    stylesheet,
    table,
)

TEXTS = ["ink", "ink2", "accent", "ok", "bad", "warn", "mem", "sum"]
SURFACES = ["paper", "sunk", "hover"]
HUES = ["accent", "ok", "bad", "warn", "mem", "sum"]


def luminance(colour: str) -> float:
    """Relative luminance by WCAG 2."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio by WCAG 2."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    ("text", "surface"), [*product(TEXTS, SURFACES), *((hue, f"t-{hue}") for hue in HUES)]
)
def test_text_can_be_read_on_its_surface(theme, text, surface):
    """Each text colour has at least 4.5:1 on each surface that it stands on."""
    assert contrast(TOKENS[theme][text], TOKENS[theme][surface]) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("hue", HUES)
def test_ink_and_grey_can_be_read_on_every_tint(theme, hue):
    """A tinted row holds ordinary text, too."""
    tint = TOKENS[theme][f"t-{hue}"]

    assert min(contrast(TOKENS[theme][text], tint) for text in ("ink", "ink2")) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("hue", HUES)
def test_paper_can_be_read_on_a_filled_bar(theme, hue):
    """Text on a hue is the colour of the paper, in both themes."""
    assert contrast(TOKENS[theme]["paper"], TOKENS[theme][hue]) >= 4.5


def test_both_themes_have_the_same_tokens():
    """No colour is missing in one of the themes."""
    assert TOKENS["light"].keys() == TOKENS["dark"].keys()


def test_every_style_uses_known_colours():
    """A misspelt variable would be no colour at all."""
    used = set(re.findall(r"var\(--kb-([a-z0-9-]+)\)", stylesheet()))

    assert used <= TOKENS["light"].keys()


def test_the_style_sheet_ends_no_element():
    """It stands inside a style element, where nothing is escaped."""
    assert "<" not in stylesheet()


def test_every_state_has_a_mark():
    """A state is never colour alone."""
    assert {mark for mark, _ in STATES.values()} <= GLYPHS.keys()


def test_the_mark_of_a_state_is_named_by_its_word():
    """Who does not see the mark hears the word."""
    assert status_glyph("failed").attributes["aria-label"] == "failed"


def test_a_state_with_its_word_does_not_say_it_twice():
    """Beside the word the mark is hidden from screen readers."""
    written = render(status_word("failed"))

    assert written.count("failed") == 1


def test_a_table_has_a_caption_and_scoped_heads():
    """A table can be read without seeing it."""
    written = render(table([Column("node"), Column("time", True)], [["a", "1 ms"]], "Nodes"))

    assert re.findall(r"<caption[^>]*>(.*?)</caption>", written) == ["Nodes"]
    assert written.count('scope="col"') == 2


def test_a_row_of_another_length_than_the_columns_is_an_error():
    """A value never slides under the wrong head."""
    with pytest.raises(ValueError, match="zip"):
        table([Column("node")], [["a", "b"]], "Nodes")


@pytest.mark.parametrize(("share", "width"), [(0.5, "50.0%"), (-1, "0.0%"), (7, "100.0%")])
def test_a_bar_stays_in_its_track(share, width):
    """A share outside 0 to 1 fills none or all of it."""
    assert f"width:{width}" in render(bar(share))


def test_a_frame_has_head_body_and_foot_in_this_order():
    """Every view reads alike, with all styles removed, too."""
    written = render(
        frame(
            icon="graph",
            title="Graph",
            name="trip",
            status="done",
            body=[stats([("visits", "4")])],
            foot="2 nodes",
        )
    )

    found = re.findall(r"Graph|trip|done|visits|2 nodes", written.partition(">")[2])

    assert found == ["Graph", "trip", "done", "visits", "2 nodes"]


def test_every_style_can_be_written_inline():
    """The static form knows each class of the sheet."""
    written = render_static(frame(icon="lock", title="", name="", status=chip("a", "ok"), body=[], foot=""))

    assert "var(" not in written


def test_every_style_name_has_the_prefix():
    """A page of somebody else keeps its own classes."""
    assert all(name.startswith("kb-") for name in STYLES)
