"""The live views in a real JupyterLab: drawn, clicked, moved in with the keyboard, and there after a restart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab_pages import Lab, OpenNotebook

BUILD = """\
import asyncio
import koogbook as kb
%load_ext koogbook

trip = kb.strategy("trip", input=str, output=str)
wait = 0.0

@trip.node
async def plan(ctx: kb.Context, text: str) -> str:
    async with ctx.llm.write_session() as session:
        session.append(kb.user(text))
        await asyncio.sleep(wait)
    return text

@trip.node
async def answer(ctx: kb.Context, text: str) -> str:
    return "<img src=x onerror='window.hurt = 1'>" + text

trip.start >> plan >> answer >> trip.finish
agent = kb.Agent(kb.OfflineExecutor(), "offline", trip).install(kb.Persistence(storage=kb.MemoryCheckpoints()))
"""
CELLS = [
    BUILD,
    "view = kb.graph(trip)\nview",
    "kb.graph(trip)",
    "run = await kb.watch(agent, 'hello', 'chat-1')",
    "kb.graph(run, selected='answer')",
    "kb.locks(run)",
    "kb.checkpoints(agent, 'chat-1')",
    "wait = 2.0\nrun = await kb.watch(agent, 'again', 'chat-2')\nwait = 0.0",
]
GRAPH, TWIN, RUN, OF_RUN, LOCKS, CHECKPOINTS, SLOW = range(1, 8)


@pytest.fixture(scope="module")
def notebook(lab: Lab, chromium: Any) -> Iterator[OpenNotebook]:
    """A notebook with all views, run to its end."""
    with lab.opened(CELLS, chromium, width=1300) as opened:
        yield opened


def test_every_cell_ran_and_every_view_is_drawn(notebook: OpenNotebook) -> None:
    """No error stands anywhere, and each view is there. [NBK-11]"""
    page = notebook.page

    assert page.locator(".jp-RenderedText[data-mime-type='application/vnd.jupyter.stderr']").count() == 0
    for cell, title in {
        GRAPH: "Strategy graph",
        OF_RUN: "Strategy graph",
        LOCKS: "Lock view",
        CHECKPOINTS: "Checkpoints",
    }.items():
        assert notebook.cell(cell).locator(".kb-root .kb-title").first.text_content() == title


def test_no_request_leaves_the_machine(notebook: OpenNotebook) -> None:
    """The views need no network. [NBK-11]"""
    assert notebook.outside == []


def test_the_browser_has_nothing_to_complain_about(notebook: OpenNotebook) -> None:
    """No error in its console."""
    assert notebook.complaints == []


def test_what_a_model_writes_runs_nothing(notebook: OpenNotebook) -> None:
    """An output that is markup stands there as text. [NBK-11]"""
    shown = notebook.cell(OF_RUN).locator(".kb-root pre").first.text_content()

    assert ("<img src=x onerror" in shown, notebook.page.evaluate("window.hurt ?? 0")) == (True, 0)


def test_a_click_on_a_node_opens_its_panel_in_every_view_of_the_strategy(notebook: OpenNotebook) -> None:
    """The picture navigates, and views of one object agree. [NBK-05] [NBK-11]"""
    notebook.clicked(GRAPH, "svg [data-do=select]", 1)
    twin = notebook.cell(TWIN).locator(".kb-root .kb-panel-title")
    twin.wait_for()

    assert [notebook.cell(GRAPH).locator(".kb-panel-title").text_content(), twin.text_content()] == [
        "plan",
        "plan",
    ]


def test_tab_reaches_a_view_that_nobody_has_clicked(notebook: OpenNotebook) -> None:
    """Each view has one stop for Tab from the beginning. [NBK-11]"""
    stops = notebook.page.evaluate(
        "[...document.querySelectorAll('.kb-root')].map(one => one.querySelectorAll('[tabindex=\"0\"]').length)"
    )

    assert stops == [1] * len(stops)


def test_the_keyboard_alone_reaches_everything_in_a_view(notebook: OpenNotebook) -> None:
    """Arrows move, Enter inspects, Escape goes back, and the notebook does not hear of it. [NBK-11]"""
    page = notebook.page
    cells = page.locator(".jp-Notebook .jp-Cell").count()
    first = notebook.cell(GRAPH).locator("svg [data-do=select]").nth(1)
    first.click()
    for key in ("x", "d", "d", "a", "b", "y", "m"):  # cut, delete, add above and below, change the kind
        page.keyboard.press(key)
    first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    title = notebook.cell(GRAPH).locator(".kb-panel-title")
    page.wait_for_function(
        "index => document.querySelectorAll('.jp-Notebook .jp-Cell')[index]"
        ".querySelector('.kb-panel-title')?.textContent === 'answer'",
        arg=GRAPH,
    )
    page.keyboard.press("Escape")
    title.wait_for(state="detached")

    assert page.locator(".jp-Notebook .jp-Cell").count() == cells


def test_the_node_that_runs_is_lit_while_the_cell_runs(notebook: OpenNotebook) -> None:
    """The panel moves before the cell has ended, and ends as a picture. [NBK-04] [NBK-10a]"""
    page = notebook.page
    page.evaluate(
        "index => { const app = window.jupyterapp; app.shell.currentWidget.content.activeCellIndex = index; "
        "app.commands.execute('notebook:run-cell'); }",
        SLOW,
    )
    page.wait_for_function(
        "index => document.querySelectorAll('.jp-Notebook .jp-Cell')[index]"
        ".querySelector('.kb-root .kb-status')?.textContent.includes('running plan')",
        arg=SLOW,
    )
    busy = page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status")
    page.wait_for_function(
        "index => document.querySelectorAll('.jp-Notebook .jp-Cell')[index].querySelector('.kb-static')",
        arg=SLOW,
        timeout=15_000,
    )

    assert (busy, notebook.cell(SLOW).locator(".kb-root").count()) == ("busy", 0)


def test_saving_and_opening_again_shows_pictures_and_no_error(
    lab: Lab, notebook: OpenNotebook, chromium: Any
) -> None:
    """A saved notebook holds no widget; opened without its kernel it reads as it was, twice over. [NBK-10a] [KB-135]"""
    notebook.clicked(GRAPH, "svg [data-do=select]", 2)  # what is saved is what is seen then
    notebook.page.wait_for_timeout(1_800)
    saved = notebook.save()
    picture = "".join(saved["cells"][GRAPH]["outputs"][0]["data"]["text/plain"])
    mimes = {mime for cell in saved["cells"] for output in cell["outputs"] for mime in output.get("data", {})}
    live = notebook.page.locator(".kb-root").count()
    name = notebook.name.replace("views", "again")
    (lab.folder / name).write_text(json.dumps(saved), encoding="utf-8")
    context = chromium.new_context(viewport={"width": 1300, "height": 1000})
    again = OpenNotebook(lab, context.new_page(), name)
    again.open()
    text = again.page.locator(".jp-Notebook").text_content()
    pictures = again.page.locator(".jp-OutputArea-output img[alt^='Strategy graph trip']").count()
    second = again.save()
    context.close()

    assert ("application/vnd.jupyter.widget-view+json" in mimes, live >= 4) == (False, True)
    assert ("Error displaying widget" in text, pictures >= 3, second["cells"] == saved["cells"]) == (
        False,
        True,
        True,
    )
    assert "Selected: trip/answer" in picture


@pytest.mark.parametrize("width", [1300, 700])
def test_nothing_in_a_view_scrolls_sideways_or_overlaps(
    notebook: OpenNotebook, collisions: Any, width: int, artefacts: Path
) -> None:
    """Wide and narrow, each view keeps to its width, and no text lies on another. [NBK-11]"""
    page = notebook.page
    page.set_viewport_size({"width": width, "height": 1000})
    page.evaluate("window.jupyterapp.shell.collapseLeft()")
    page.wait_for_timeout(600)
    too_wide = page.evaluate(
        "[...document.querySelectorAll('.kb-root')].filter(one => one.scrollWidth > one.clientWidth + 1)"
        ".map(one => one.querySelector('.kb-title')?.textContent)"
    )
    page.set_viewport_size({"width": 1300, "height": 1000})

    assert (too_wide, collisions(page)) == ([], [])


def test_a_restarted_kernel_is_said_and_the_picture_stays(notebook: OpenNotebook) -> None:
    """The old views say that they are pictures now, and their buttons are gone. [KB-137]"""
    page = notebook.page
    page.evaluate("() => { window.jupyterapp.commands.execute('kernelmenu:restart'); }")
    page.locator(".jp-Dialog button.jp-mod-accept").click()
    stale = notebook.cell(GRAPH).locator(".kb-stale")
    stale.wait_for(state="visible", timeout=20_000)
    page.wait_for_function(
        "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'"
    )

    assert "Run the cell again" in stale.text_content()
    assert notebook.cell(GRAPH).locator("svg [data-do=select]").count() == 4
