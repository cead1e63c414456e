"""The live views in a real JupyterLab: drawn, clicked, moved in with the keyboard, and there after a restart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from lab_pages import Lab, OpenNotebook, running_lab, write_notebook

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
LARGE = """\
big = kb.strategy("big", input=str, output=str)
async def same(ctx, text: str) -> str:
    return text
rows = [[big.node(name=f"n{row}_{column}")(same) for column in range(20)] for row in range(24)]
for column in range(20):
    big.edge(big.start, rows[0][column], when=lambda text: False, label=f"to {column}")
    for row in range(23):
        rows[row][column] >> rows[row + 1][column]
    rows[23][column] >> big.finish
big.start >> rows[0][0]
kb.graph(big)
"""
LONG = """\
before = [(kb.user, kb.assistant)[at % 2](f"message {at} about museum {at % 7} " * 8) for at in range(2_000)]
done = await kb.compress(before, kb.WholeHistory(keep_last=100), executor=kb.ExtractiveExecutor())
long = done.diff(must_keep=["museum 3"])
long
"""
CELLS = [
    BUILD,
    "view = kb.graph(trip)\nview",
    "kb.graph(trip)",
    "run = await kb.watch(agent, 'hello', 'chat-1')",
    "kb.graph(run, selected='answer')",
    "kb.locks(run)",
    "kb.checkpoints(agent, 'chat-1')",
    LARGE,
    LONG,
    "wait = 2.0\nrun = await kb.watch(agent, 'again', 'chat-2')\nwait = 0.0",
]
GRAPH, TWIN, RUN, OF_RUN, LOCKS, CHECKPOINTS, BIG, DIFF, SLOW = range(1, 10)

#: Milliseconds from a click until the view has changed.
CLICK = """
([index, selector, place]) => new Promise((resolve, reject) => {
  const cell = document.querySelectorAll('.jp-Notebook .jp-Cell')[index];
  const top = cell.querySelector('.kb-root');
  const target = [...top.querySelectorAll(selector)].at(place);
  const started = performance.now();
  const observer = new MutationObserver(() => {
    observer.disconnect(); requestAnimationFrame(() => resolve(performance.now() - started));
  });
  const what = { childList: true, subtree: true, characterData: true, attributeFilter: ['aria-pressed', 'class'] };
  observer.observe(top, what);
  setTimeout(() => reject(new Error('nothing changed')), 8000);
  target.dispatchEvent(new MouseEvent('click', { bubbles: true }));
})
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A running JupyterLab."""
    folder = tmp_path_factory.mktemp("lab")
    write_notebook(folder / "views.ipynb", CELLS)
    with running_lab(folder) as running:
        yield running


@pytest.fixture(scope="module")
def notebook(lab: Lab, chromium: Any) -> Iterator[OpenNotebook]:
    """A notebook with all views, run to its end."""
    context = chromium.new_context(viewport={"width": 1300, "height": 1000})
    opened = OpenNotebook(lab, context.new_page(), "views.ipynb")
    opened.open()
    opened.run_all()
    yield opened
    context.close()


def clicked(notebook: OpenNotebook, cell: int, selector: str, place: int = 0) -> float:
    """Click something in the view of a cell; milliseconds until the view has changed."""
    took: float = notebook.page.evaluate(CLICK, [cell, selector, place])
    return took


def test_every_cell_ran_and_every_view_is_drawn(notebook: OpenNotebook) -> None:
    """No error stands anywhere, and each view is there. [NBK-11]"""
    page = notebook.page

    assert page.locator(".jp-RenderedText[data-mime-type='application/vnd.jupyter.stderr']").count() == 0
    for cell, title in {
        GRAPH: "Strategy graph",
        OF_RUN: "Strategy graph",
        LOCKS: "Lock view",
        CHECKPOINTS: "Checkpoints",
        BIG: "Strategy graph",
        DIFF: "Prompt diff",
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
    clicked(notebook, GRAPH, "svg [data-do=select]", 1)
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


@pytest.mark.alone
@pytest.mark.parametrize(
    ("cell", "selector"), [(BIG, "svg [data-do=select]"), (DIFF, "[data-do=select]")], ids=["graph", "diff"]
)
def test_a_click_in_a_large_view_is_answered_within_200_ms(
    notebook: OpenNotebook, cell: int, selector: str
) -> None:
    """Five hundred nodes and two thousand messages stay usable: the median of nine clicks. [NBK-05] [NBK-07]"""
    times = [clicked(notebook, cell, selector, place) for place in range(3, 12)]

    assert median(times) <= 200, times


@pytest.mark.alone
@pytest.mark.parametrize("cell", [BIG, DIFF], ids=["graph", "diff"])
def test_a_large_view_is_drawn_within_two_seconds(notebook: OpenNotebook, cell: int) -> None:
    """From running its cell to the first picture: the better of two. [NBK-05] [NBK-07]"""
    draw = """
    index => new Promise((resolve) => {
      const app = window.jupyterapp, panel = app.shell.currentWidget.content;
      panel.activeCellIndex = index; panel.deselectAll();
      const place = document.querySelectorAll('.jp-Notebook .jp-Cell')[index];
      const before = place.querySelector('.kb-root');
      const started = performance.now();
      const check = () => { const now = place.querySelector('.kb-root .kb-title');
        const drawn = now && place.querySelector('.kb-root') !== before;
        if (drawn) requestAnimationFrame(() => resolve(performance.now() - started));
        else setTimeout(check, 10); };
      app.commands.execute('notebook:run-cell'); check();
    })
    """
    notebook.page.evaluate("window.jupyterapp.shell.currentWidget.content.mode = 'command'")
    times = [notebook.page.evaluate(draw, cell) for _ in range(2)]

    assert min(times) <= 2_000, times


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
    clicked(notebook, GRAPH, "svg [data-do=select]", 2)  # what is saved is what is seen then
    notebook.page.wait_for_timeout(1_800)
    saved = notebook.save()
    picture = "".join(saved["cells"][GRAPH]["outputs"][0]["data"]["text/plain"])
    mimes = {mime for cell in saved["cells"] for output in cell["outputs"] for mime in output.get("data", {})}
    live = notebook.page.locator(".kb-root").count()
    (lab.folder / "again.ipynb").write_text(json.dumps(saved), encoding="utf-8")
    context = chromium.new_context(viewport={"width": 1300, "height": 1000})
    again = OpenNotebook(lab, context.new_page(), "again.ipynb")
    again.open()
    text = again.page.locator(".jp-Notebook").text_content()
    pictures = again.page.locator(".jp-OutputArea-output img[alt^='Strategy graph trip']").count()
    second = again.save()
    context.close()

    assert ("application/vnd.jupyter.widget-view+json" in mimes, live >= 6) == (False, True)
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

    assert "Run the cell again" in stale.text_content()
    assert notebook.cell(GRAPH).locator("svg [data-do=select]").count() == 4
