"""The quickstart in a real JupyterLab, as somebody meets it who opens it for the first time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab_pages import Lab, OpenNotebook

QUICKSTART = Path(__file__).parents[2] / "notebooks" / "00_quickstart.ipynb"


@pytest.fixture(scope="module")
def quickstart(lab: Lab, chromium: Any) -> Iterator[OpenNotebook]:
    """The quickstart, opened and run to its end."""
    with lab.opened(QUICKSTART, chromium) as opened:
        opened.page.evaluate("window.jupyterapp.shell.collapseLeft()")
        yield opened


def shown(quickstart: OpenNotebook) -> list[str]:
    """The titles of the live views, in their order."""
    titles: list[str] = quickstart.page.evaluate(
        "[...document.querySelectorAll('.kb-root .kb-title')].map(one => one.textContent)"
    )
    return titles


def test_it_runs_from_the_first_cell_to_the_last(quickstart: OpenNotebook) -> None:
    """Every cell has a number, and none an error."""
    prompts = quickstart.prompts()

    assert prompts == [f"[{number}]:" for number in range(1, len(prompts) + 1)]
    assert quickstart.failures() == 0


def test_the_four_views_are_alive_in_it(quickstart: OpenNotebook) -> None:
    """Graphs under the cells, locks, the diff, the checkpoints. [NBK-05] [NBK-06] [NBK-07] [NBK-08]"""
    titles = shown(quickstart)

    assert {"Strategy graph", "Lock view", "Prompt diff", "Checkpoints"} == set(titles)


def test_both_runs_ended_as_pictures(quickstart: OpenNotebook) -> None:
    """The panels of runs that are over need no kernel. [NBK-10a]"""
    runs = quickstart.page.evaluate(
        "[...document.querySelectorAll('.kb-static h3')].filter(one => one.textContent === 'Run').length"
    )

    assert runs == 2


def test_no_request_leaves_the_machine_and_nothing_complains(quickstart: OpenNotebook) -> None:
    """It needs no network, and the browser finds no fault. [NBK-11]"""
    assert (quickstart.outside, quickstart.complaints) == ([], [])


def test_what_is_selected_is_there_in_python(quickstart: OpenNotebook) -> None:
    """A click on a node, then one line. [NBK-05]"""
    page = quickstart.page
    cell = page.locator(".jp-CodeCell").filter(has_text="%koog_graph run --selected")
    cell.locator("svg [data-do=select][data-value='trip/answer']").first.click()
    page.wait_for_function(
        "[...document.querySelectorAll('.kb-root .kb-panel-title')].some(one => one.textContent === 'answer')"
    )
    after = page.locator(".jp-CodeCell").filter(has_text="view.selected.last_output").last
    index = page.evaluate(
        "text => [...document.querySelectorAll('.jp-Notebook .jp-Cell')].findIndex("
        "one => one.querySelector('.cm-content')?.textContent.trim() === text)",
        "view.selected.last_output",
    )
    page.evaluate(
        "index => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = index; }", index
    )
    quickstart.command("notebook:run-cell")

    assert "(from 2 user messages" in (after.locator(".jp-OutputArea").text_content() or "")


def test_a_summary_sentence_shows_what_it_rests_on(quickstart: OpenNotebook) -> None:
    """A click on a sentence lights its sources; the panel has them as buttons. [NBK-07]"""
    page = quickstart.page
    diff = page.locator(".jp-CodeCell").filter(has_text="%koog_diff run --keep").locator(".kb-root")
    diff.locator("[data-do=select][data-value='sentence:2.1']:visible").first.click()
    diff.get_by_text("stands word for word in message").first.wait_for()
    sources = diff.locator(".kb-panel [data-do=select], .kb-ruled [data-do=select]").all_text_contents()

    assert "11" in [source.strip() for source in sources]


def test_the_checkpoints_say_whom_the_last_change_concerns(quickstart: OpenNotebook) -> None:
    """Those after the changed node are not resumable, and the panel names the difference. [NBK-08] [NBK-03]"""
    page = quickstart.page
    table = page.locator(".jp-CodeCell").filter(has_text="%koog_checkpoints chat-1").last.locator(".kb-root")
    table.locator("tr").filter(has_text="trip/take_stock").first.locator("[data-do=select]").first.click()
    page.wait_for_function(
        "[...document.querySelectorAll('.kb-root')].at(-1).textContent.includes('tuple[int, int]')"
    )

    assert "2 not resumable" in (table.text_content() or "")


@pytest.mark.parametrize(("theme", "width"), [("Light", 1400), ("Dark", 720)], ids=["wide", "narrow"])
def test_it_looks_right(
    quickstart: OpenNotebook, collisions: Any, artefacts: Path, theme: str, width: int
) -> None:
    """Wide and light, narrow and dark: nothing overlaps, nothing sticks out; the pictures are kept. [NBK-11]"""
    assert quickstart.look(theme, width, artefacts, collisions) == ([theme.lower()], 0, [], [])


@pytest.mark.parametrize("theme", ["Dark", "Light"])
def test_axe_finds_nothing_serious(quickstart: OpenNotebook, theme: str) -> None:
    """Names, roles, contrast and the rest, as a machine can check them, in every live view. [NBK-11]"""
    serious, looked_at = quickstart.serious(theme)

    assert serious == []
    assert {"color-contrast", "button-name", "svg-img-alt"} & looked_at


def test_it_can_be_run_once_more_from_the_top(quickstart: OpenNotebook) -> None:
    """All cells again in the same kernel: each has the next number, none an error. [NBK-12a]"""
    quickstart.run_all()
    prompts = quickstart.prompts()
    first = int(prompts[0].strip("[]:"))

    assert prompts == [f"[{number}]:" for number in range(first, first + len(prompts))]
    assert quickstart.failures() == 0
