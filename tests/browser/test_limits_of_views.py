"""Large views are drawn and answer within the seconds of the specification; run with nothing beside it."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

import pytest
from lab_pages import Lab, OpenNotebook

GRAPH = """\
import koogbook as kb
%load_ext koogbook
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
DIFF = """\
before = [(kb.user, kb.assistant)[at % 2](f"message {at} about museum {at % 7} " * 8) for at in range(2_000)]
done = await kb.compress(before, kb.WholeHistory(keep_last=100), executor=kb.ExtractiveExecutor())
long = done.diff(must_keep=["museum 3"])
long
"""
PROMPT = """\
from koogbook.messages.message import assistant, tool_result, user
history = [kb.system("rules")]
for number in range(500):
    call = kb.ToolCall("find", f'{{"number": {number}}}', f"c{number}")
    history += [user(f"message {number} about the museum " * 8), assistant(calls=[call]),
                tool_result(call, "found " * 60), assistant(f"answer {number} " * 8)]
kb.prompt(history)
"""
CELLS = [GRAPH, DIFF, PROMPT]
SELECT = "[data-do=select]"

#: Milliseconds from running a cell until its picture is another one.
DRAW = """
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


@pytest.fixture(scope="module")
def notebook(lab: Lab, chromium: Any) -> Iterator[OpenNotebook]:
    """A notebook with a graph of five hundred nodes, and a diff and a prompt of two thousand messages."""
    with lab.opened(CELLS, chromium, width=1300) as opened:
        assert opened.failures() == 0
        yield opened


@pytest.mark.parametrize(
    ("cell", "selector", "places"),
    [
        (0, f"svg {SELECT}", range(3, 12)),
        (1, SELECT, range(3, 12)),
        (2, SELECT, range(3, 12)),
        (2, "button[data-do=page][data-value=later]", [0] * 9),
        (2, "[role=switch]", [1] * 9),
    ],
    ids=["graph", "diff", "prompt", "page of a prompt", "switch of a prompt"],
)
def test_a_click_in_a_large_view_is_answered_within_200_ms(
    notebook: OpenNotebook, cell: int, selector: str, places: Any
) -> None:
    """Five hundred nodes and two thousand messages stay usable: the median of nine clicks. [NBK-05] [NBK-07]"""
    times = [notebook.clicked(cell, selector, place) for place in places]

    assert median(times) <= 200, times


@pytest.mark.parametrize("cell", [0, 1, 2], ids=["graph", "diff", "prompt"])
def test_a_large_view_is_drawn_within_two_seconds(notebook: OpenNotebook, cell: int) -> None:
    """From running its cell to the first picture: the better of two. [NBK-05] [NBK-07]"""
    notebook.page.evaluate("window.jupyterapp.shell.currentWidget.content.mode = 'command'")
    times = [notebook.page.evaluate(DRAW, cell) for _ in range(2)]

    assert min(times) <= 2_000, times
