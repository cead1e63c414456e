"""The view of a lab as a browser draws it."""

from __future__ import annotations

from typing import Any

import pytest

import koogbook as kb
from koogbook.notebook.views.lab_view.lock_race import LockRaceView
from koogbook.notebook.views.page import Section, page

#: Races of all kinds, by a word for it.
RACES: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "nobody comes": {"readers": 1, "writers": 1, "seconds": 0.01},
    "many": {"readers": 30, "writers": 10, "seconds": 6},
    "ten minutes": {"seconds": 600, "read_seconds": 60, "write_seconds": 30, "pause": 10},
    "to a crooked end": {"seconds": 9.99},
    "milliseconds": {"seconds": 0.003, "read_seconds": 0.0004, "write_seconds": 0.0001, "pause": 0},
    "dense": {
        "readers": 1,
        "writers": 1,
        "seconds": 50,
        "read_seconds": 0.1,
        "write_seconds": 0.1,
        "pause": 0.08,
    },
}


@pytest.fixture(params=RACES.values(), ids=RACES)
def race(request: pytest.FixtureRequest) -> LockRaceView:
    """Races of all kinds."""
    return kb.lock_race(**request.param)


def document(view: LockRaceView) -> str:
    """The view on a page of its own."""
    return page("Race", None, [Section("race", "Lock race", "", view.element)])


@pytest.mark.parametrize("width", [1100, 640])
def test_no_text_of_the_picture_lies_on_another(chromium_page, collisions, race, width):
    """Names, times and figures have their places. [NBK-15]"""
    assert collisions(chromium_page(document(race), width=width)) == []


def test_the_widths_hold_in_the_widest_usual_font(chromium_page, collisions, race):
    """There is room for DejaVu Sans. [NBK-15]"""
    html = document(race).replace("-apple-system", "'DejaVu Sans'")

    assert collisions(chromium_page(html)) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_does_not_scroll_sideways(chromium_page, sideways, race, theme):
    """A wide picture scrolls in its own box. [NBK-11]"""
    assert sideways(chromium_page(document(race), width=640, theme=theme)) == 0


def test_the_table_fits_a_narrow_page(chromium_page, race):
    """Its bars are left out there, and all figures are in sight. [NBK-11]"""
    shown = chromium_page(document(race), width=640)

    assert (
        shown.evaluate("(t => t.scrollWidth - t.parentElement.clientWidth)(document.querySelector('table'))")
        <= 0
    )


@pytest.mark.parametrize("width", [1100, 640])
def test_figures_stand_under_their_heads(chromium_page, width):
    """Each row has as many cells in sight as the table has heads. [NBK-11]"""
    shown = chromium_page(document(kb.lock_race()), width=width)
    counts = shown.evaluate(
        "[...document.querySelectorAll('tr')].map(row => [...row.children].filter(c => c.offsetWidth).length)"
    )

    assert counts == [7] * 5


def test_a_narrow_page_shows_the_whole_picture(chromium_page, race):
    """One that is made for it, to the last figure, without scrolling. [NBK-11]"""
    shown = chromium_page(document(race), width=640)
    pictures = shown.evaluate(
        """[...document.querySelectorAll('svg.kb-picture')].map(one => one.getBoundingClientRect())
        .filter(box => box.width).map(box => [box.left, box.right])"""
    )

    assert len(pictures) == 1
    assert pictures[0][0] >= 0
    assert pictures[0][1] <= 640


def test_the_static_picture_loads_from_its_address(chromium_page):
    """The image in a notebook is a picture that the browser can decode. [NBK-10]"""
    shown = chromium_page(kb.lock_race().to_html())

    assert shown.evaluate("[...document.images].filter(image => !image.naturalWidth).length") == 0


@pytest.mark.parametrize("width", [1100, 640])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_race_of_the_documentation_to_look_at(chromium_page, artefacts, theme, width):
    """In both themes and widths, kept beside the other pictures. [NBK-15]"""
    target = artefacts / f"lock-race-{theme}-{width}.png"
    chromium_page(document(kb.lock_race()), theme=theme, width=width).screenshot(path=target, full_page=True)

    assert target.stat().st_size > 10_000
