"""The prompt view as a browser draws it, on a page and live in JupyterLab."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate, count
from pathlib import Path
from typing import Any

import pytest
from lab_pages import Lab, OpenNotebook
from prompt_stories import story

import koogbook as kb
from koogbook.notebook.views.look.markup import render_static
from koogbook.notebook.views.page import Section, page
from koogbook.notebook.views.prompt_view.prompt import PromptView, prompt
from koogbook.notebook.views.prompt_view.table import ROW

STORIES = Path(__file__).parents[1]
LONG_WORD = "a_long_name_without_any_space_" * 12


@pytest.fixture(scope="module")
def run() -> Any:
    """The run of the stories: five calls with everything in it."""
    # The browser has an event loop of its own in this thread.
    with ThreadPoolExecutor(1) as other:
        return other.submit(story).result()


def views(run: Any) -> dict[str, PromptView]:
    """Views of all kinds, by a word for it."""
    words = [kb.user(f"{LONG_WORD} {number}", id=f"{LONG_WORD}{number}") for number in range(90)]
    tagged = [kb.user(LONG_WORD, metadata={"layer": LONG_WORD})]
    return {
        "sixty messages": prompt(run, call=4, selected=57),
        "layers off": prompt(run, call=4, off=["history", "tools"]),
        "failed": prompt(run, call=2, selected=9),
        "data": prompt(run, call=5, selected=6),
        "summary": prompt(run, call=3),
        "empty": prompt([]),
        "long words": prompt(
            [*tagged, *words, kb.assistant(calls=[kb.ToolCall(LONG_WORD, LONG_WORD)])], selected=0
        ),
        "right to left": prompt([kb.user("שלום, מה שלומך? " * 20), kb.user("مرحبا " * 40)], selected=1),
    }


KINDS = ["sixty messages", "layers off", "failed", "data", "summary", "empty", "long words", "right to left"]


@pytest.fixture(params=KINDS)
def view(request: pytest.FixtureRequest, run: Any) -> PromptView:
    """Views of all kinds."""
    return views(run)[request.param]


def document(view: PromptView) -> str:
    """The view on a page of its own."""
    return page("Prompt", None, [Section("prompt", "Prompt", "", view.element)])


@pytest.mark.parametrize("width", [1100, 640])
def test_the_page_of_a_prompt_does_not_scroll_sideways(
    chromium_page: Any, sideways: Any, view: PromptView, width: int
) -> None:
    """Long words are cut or broken. [NBK-11]"""
    assert sideways(chromium_page(document(view), width=width)) == 0


def test_the_rows_stand_where_their_brackets_end(chromium_page: Any, run: Any) -> None:
    """Every row is as tall as planned, on a page and in a saved notebook. [NBK-07]"""
    view = prompt(run, call=5)
    for html in (document(view), render_static(view.element)):
        heights = chromium_page(html).evaluate(
            "[...[...document.querySelectorAll('table')].find(table => table.querySelector('col')).tBodies[0].rows]"
            ".map(row => row.getBoundingClientRect().height)"
        )
        off = [drawn - planned for drawn, planned in zip(accumulate(heights), count(ROW, ROW), strict=False)]

        assert (len(heights), max(map(abs, off)) <= 2) == (63, True)


@pytest.mark.parametrize("width", [1100, 640])
def test_cells_stand_under_their_heads(chromium_page: Any, run: Any, width: int) -> None:
    """Each row of a table has as many cells in sight as its head. [NBK-11]"""
    for kind, tables in (("failed", 3), ("long words", 2), ("layers off", 3)):
        shown = chromium_page(document(views(run)[kind]), width=width)
        counts = cells_in_sight(shown)

        assert (kind, [len(set(one)) for one in counts]) == (kind, [1] * tables)


def cells_in_sight(shown: Any) -> list[list[int]]:
    """Of each table with a head: how many cells are seen in the head, and in each row."""
    counts: list[list[int]] = shown.evaluate(
        """[...document.querySelectorAll('table')].filter(table => table.tHead).map(table => {
        const wide = (row) => [...row.children].filter((one) => getComputedStyle(one).display !== 'none')
          .reduce((sum, one) => sum + (one.rowSpan > 1 ? 0 : one.colSpan), 0);
        const brackets = table.querySelector('[rowspan]') ? 1 : 0;
        return [wide(table.tHead.rows[0]) - brackets, ...[...table.tBodies[0].rows].map(wide)];
        })"""
    )

    return counts


def test_the_static_prompt_shows_all_its_pictures(chromium_page: Any, view: PromptView) -> None:
    """Bars, marks and brackets are images that the browser can decode. [NBK-10]"""
    shown = chromium_page(view.to_html())

    assert shown.evaluate("[...document.images].filter(image => !image.naturalWidth).length") == 0


def test_tools_and_messages_open_in_full(chromium_page: Any, run: Any) -> None:
    """A page has them folded. [NBK-10]"""
    shown = chromium_page(document(prompt(run, call=4)))
    shown.get_by_text("Messages in full").click()
    shown.locator("details details summary").first.click()
    shown.locator("summary", has_text="find_hotels").first.click()

    assert shown.locator("details details pre").first.is_visible()
    assert '"step_free"' in shown.locator("details[open] pre").first.inner_text()


@pytest.mark.parametrize(
    ("kind", "theme", "width"),
    [
        ("layers off", "dark", 1100),
        ("layers off", "light", 720),
        ("failed", "light", 1100),
        ("failed", "dark", 720),
    ],
)
def test_prompts_to_look_at(
    chromium_page: Any, artefacts: Path, run: Any, kind: str, theme: str, width: int
) -> None:
    """In both themes and widths, kept beside the other pictures. [NBK-07]"""
    target = artefacts / f"prompt-{kind.replace(' ', '-')}-{theme}-{width}.png"
    chromium_page(document(views(run)[kind]), theme=theme, width=width).screenshot(
        path=target, full_page=True
    )

    assert target.stat().st_size > 10_000


# ------------------------------------------------------------------------------------------- in JupyterLab

BUILD = f"""\
import asyncio, sys
import koogbook as kb
from koogbook import clock
from koogbook.notebook.views.prompt_view.prompt import prompt
%load_ext koogbook
sys.path.insert(0, {str(STORIES)!r})
from prompt_stories import asking, rich_run
fixed = clock.FixedClock()
with clock.use(fixed):
    run = await rich_run(fixed)
"""
SLOW = """\
gate = asyncio.Event()
async def reply(request):
    if len(request.messages) > 1:
        await gate.wait()
    return "fine"
agent = asking("first", "second", executor=kb.ScriptedExecutor(reply))
going_on = asyncio.create_task(agent.run(""))
while agent.last_run is None or len(agent.last_run.calls) < 2:
    await asyncio.sleep(0.01)
prompt(agent.last_run)
"""
CELLS = [
    BUILD,
    "view = prompt(run, call=4)\nview",
    "prompt(run, call=4)",
    SLOW,
    "gate.set(); await going_on; None",
]
FIRST, TWIN, LIVE, END = range(1, 5)


@pytest.fixture(scope="module")
def notebook(lab: Lab, chromium: Any) -> Iterator[OpenNotebook]:
    """A notebook with all views, run to its end."""
    with lab.opened(CELLS[:-1], chromium, width=1300) as opened:
        yield opened


def status(notebook: OpenNotebook, cell: int) -> str:
    """The sentence at the head of a view."""
    text: str = notebook.cell(cell).locator(".kb-root .kb-status").first.text_content()
    return text


def wait_for_status(notebook: OpenNotebook, cell: int, words: str) -> None:
    """Wait until the sentence at the head of a view has these words."""
    notebook.page.wait_for_function(
        "([index, words]) => document.querySelectorAll('.jp-Notebook .jp-Cell')[index]"
        ".querySelector('.kb-root .kb-status')?.textContent.includes(words)",
        arg=[cell, words],
        timeout=10_000,
    )


def test_every_prompt_is_drawn_without_a_complaint(notebook: OpenNotebook) -> None:
    """And nothing leaves the machine, and nothing that a user wrote runs. [NBK-11]"""
    titles = [
        notebook.cell(cell).locator(".kb-root .kb-title").first.text_content() for cell in (FIRST, TWIN, LIVE)
    ]
    shown = notebook.cell(FIRST).locator("[data-do=select][data-value='59']").first.text_content()

    assert titles == ["Prompt"] * 3
    assert (notebook.complaints, notebook.outside, notebook.failures()) == ([], [], 0)
    assert "<script>alert('no')</script>" in shown


@pytest.mark.parametrize("theme", ["Dark", "Light"])
def test_axe_finds_nothing_serious_in_a_prompt(notebook: OpenNotebook, theme: str) -> None:
    """Names, contrast, roles, keyboard. [NBK-11]"""
    serious, looked_at = notebook.serious(theme)

    assert serious == []
    assert "color-contrast" in looked_at


def test_a_click_on_a_message_opens_it_in_every_view_of_the_call(notebook: OpenNotebook) -> None:
    """And Escape closes it. [NBK-07] [NBK-11]"""
    notebook.clicked(FIRST, "[data-do=select][data-value='3']")
    twin = notebook.cell(TWIN).locator(".kb-root .kb-panel-title")
    twin.wait_for()
    notebook.cell(FIRST).locator("[data-do=select][data-value='3']").first.focus()
    notebook.page.keyboard.press("Escape")
    twin.wait_for(state="detached")

    assert notebook.cell(FIRST).locator(".kb-panel-title").count() == 0


def test_a_switch_takes_a_layer_out_and_brings_it_back(notebook: OpenNotebook) -> None:
    """It says whether it is on, and what is left. [NBK-07]"""
    switch = notebook.cell(FIRST).locator("[role=switch][data-value=history]")
    notebook.clicked(FIRST, "[role=switch][data-value=history]")
    off = switch.get_attribute("aria-checked")
    said = notebook.cell(FIRST).locator(".kb-band p[role=status]").text_content()
    rows = notebook.cell(FIRST).locator("[data-do=select]").count()
    switch.focus()
    notebook.page.keyboard.press("a")
    notebook.cell(FIRST).locator("[data-do=select][data-value='59']").wait_for(state="attached")

    assert (off, rows) == ("false", 6)
    assert said.startswith("Off: history with 2,783 tokens. What is left has")


def test_the_keyboard_alone_turns_to_other_calls_and_new_messages(notebook: OpenNotebook) -> None:
    """The keys are those of the buttons. [NBK-11]"""
    page = notebook.page
    notebook.cell(FIRST).locator("[data-do=select]").first.focus()
    page.keyboard.press(",")
    wait_for_status(notebook, FIRST, "Call 3 of 5")
    page.keyboard.press(".")
    wait_for_status(notebook, FIRST, "Call 4 of 5")
    page.keyboard.press("n")
    title = notebook.cell(FIRST).locator(".kb-panel-title")
    title.wait_for()
    stops = page.evaluate(
        "[...document.querySelectorAll('.kb-root')].map(one => one.querySelectorAll('[tabindex=\"0\"]').length)"
    )

    assert title.text_content() == "Message 3"
    assert set(stops) == {1}
    page.keyboard.press("Escape")


def test_the_focus_stays_in_the_view_when_its_button_can_do_no_more(notebook: OpenNotebook) -> None:
    """The last call has no next one: the button is off, and the keys go on working. [NBK-11]"""
    page = notebook.page
    notebook.cell(FIRST).locator("[data-key='.']").focus()
    page.keyboard.press(".")
    wait_for_status(notebook, FIRST, "Call 5 of 5")
    off = notebook.cell(FIRST).locator("[data-key='.']").is_disabled()
    page.keyboard.press(",")
    wait_for_status(notebook, FIRST, "Call 4 of 5")

    assert off
    assert page.evaluate("!!document.activeElement.closest('.kb-root')")


def test_a_row_of_the_list_shows_its_call(notebook: OpenNotebook) -> None:
    """By the pointer as well. [NBK-07]"""
    notebook.cell(TWIN).locator("tr[data-do=call][data-value='2']").click()
    wait_for_status(notebook, TWIN, "Call 2 of 5")

    assert "failed after 840 ms: ExecutorError" in status(notebook, TWIN)


def test_a_call_that_comes_is_followed(notebook: OpenNotebook) -> None:
    """While the run goes on, and to its end. [NBK-04] [NBK-07]"""
    before = status(notebook, LIVE)
    notebook.page.evaluate(
        """async code => { const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
        await kernel.requestExecute({ code }).done; }""",
        CELLS[END],
    )
    wait_for_status(notebook, LIVE, "answered in")

    assert "Call 2 of 2, in trip/ask" in before
    assert "on its way" in before


@pytest.mark.parametrize(("theme", "width"), [("Light", 1300), ("Dark", 760)])
def test_live_prompts_keep_to_their_width(
    notebook: OpenNotebook, collisions: Any, artefacts: Path, theme: str, width: int
) -> None:
    """In both themes; kept beside the other pictures. [NBK-11]"""
    assert notebook.look(theme, width, artefacts, collisions) == ([theme.lower()], 0, [], [])
