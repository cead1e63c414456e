"""The chapters of the manual in a real JupyterLab, live, in both themes and at two widths."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab_pages import Lab, OpenNotebook

CHAPTERS = [
    path
    for path in sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
    if not path.name.startswith("00_")
]


@pytest.fixture(scope="module", params=CHAPTERS, ids=lambda path: path.stem)
def chapter(request: pytest.FixtureRequest, lab: Lab, chromium: Any) -> Iterator[OpenNotebook]:
    """A chapter, opened and run to its end."""
    with lab.opened(request.param, chromium) as opened:
        opened.page.evaluate("window.jupyterapp.shell.collapseLeft()")
        yield opened


def test_it_runs_from_the_first_cell_to_the_last(chapter: OpenNotebook) -> None:
    """Every cell has a number, none an error; no request leaves the machine, no fault is found. [NBK-11, NBK-12]"""
    prompts = chapter.prompts()

    assert prompts == [f"[{number}]:" for number in range(1, len(prompts) + 1)]
    assert (chapter.failures(), chapter.outside, chapter.complaints) == (0, [], [])


@pytest.mark.parametrize(("theme", "width"), [("Light", 1400), ("Dark", 720)], ids=["wide", "narrow"])
def test_its_views_look_right(
    chapter: OpenNotebook, collisions: Any, artefacts: Path, theme: str, width: int
) -> None:
    """Wide and light, narrow and dark: nothing overlaps, nothing sticks out; the pictures are kept. [NBK-11]"""
    assert chapter.look(theme, width, artefacts, collisions) == ([theme.lower()], 0, [], [])


@pytest.mark.parametrize("theme", ["Dark", "Light"])
def test_axe_finds_nothing_serious(chapter: OpenNotebook, theme: str) -> None:
    """Names, roles, contrast and the rest, as a machine can check them, in every live view. [NBK-11]"""
    serious, looked_at = chapter.serious(theme)

    assert serious == []
    assert looked_at


def test_it_can_be_run_once_more_from_the_top(chapter: OpenNotebook) -> None:
    """All cells again in the same kernel: each has the next number, none an error. [NBK-12a]"""
    chapter.run_all()
    prompts = chapter.prompts()
    first = int(prompts[0].strip("[]:"))

    assert prompts == [f"[{number}]:" for number in range(first, first + len(prompts))]
    assert chapter.failures() == 0
