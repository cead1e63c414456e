"""The table of checkpoints as a browser draws it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from koogbook.features.persistence.checkpoint import CheckpointInfo
from koogbook.notebook.views.checkpoint_view.state import CheckpointState
from koogbook.notebook.views.checkpoint_view.view import ROW, Verdict, checkpoint_element, checkpoint_state
from koogbook.notebook.views.look.markup import render_static
from koogbook.notebook.views.page import Section, page

START = datetime(2026, 6, 2, 14, 2, 7, tzinfo=UTC)


def saved(
    id: str, session: str, version: int, parent: str | None, path: str = "trip/ask_model"
) -> CheckpointInfo:
    """A checkpoint after a node."""
    return CheckpointInfo(
        id=id,
        session_id=session,
        version=version,
        parent=parent,
        kind="node",
        created=START + timedelta(seconds=version),
        agent_id="guide",
        path=path,
        messages=14,
        tokens=123_456,
        iterations=version,
        fingerprint="f",
        strategy_version="v3",
        left_out=("browser",) * (version == 2),
        bytes=9_800,
    )


def line(
    session: str, count: int, parent: str | None = None, path: str = "trip/ask_model"
) -> list[CheckpointInfo]:
    """A session without forks."""
    return [
        saved(f"{session}-{number}", session, number, f"{session}-{number - 1}" if number else parent, path)
        for number in range(count)
    ]


FORKED = [
    *line("m", 6),
    *line("f", 3, "m-2"),
    *line("g", 2, "m-2"),
    *line("h", 2, "f-1"),
    *line("i", 2, "h-0"),
]
LONG = line("s" * 40, 90, path="trip/" + "a_subgraph_with_a_long_name/" * 6 + "node")
REASONS = ("storage key " + "seen_museums_" * 20 + ": stored set[str], now list[str]",)
VERDICTS = {"m-3": Verdict("not resumable", REASONS), "m-4": Verdict("with warning", REASONS)}
STATES = [
    checkpoint_state(FORKED, verdicts=VERDICTS),
    checkpoint_state(LONG),
    checkpoint_state([]),
]
NAMES = ["forks", "long", "empty"]


def document(state: CheckpointState) -> str:
    """The view on a page of its own."""
    return page("Store", None, [Section("store", "Checkpoints", "", checkpoint_element(state))])


@pytest.mark.parametrize("width", [1100, 640])
@pytest.mark.parametrize("state", STATES, ids=NAMES)
def test_each_row_is_as_tall_as_its_piece_of_the_tree(chromium_page: Any, state: CheckpointState, width: int):
    """A circle stands in the middle of the row that it belongs to."""
    shown = chromium_page(document(state), width=width)

    heights = shown.evaluate(
        "[...document.querySelectorAll('tbody tr')].map(row => row.getBoundingClientRect().height)"
    )
    assert [height for height in heights if abs(height - ROW) > 0.6] == []
    assert len(heights) == len(state.rows)


@pytest.mark.parametrize("width", [1100, 640])
@pytest.mark.parametrize("state", STATES, ids=NAMES)
def test_the_page_of_checkpoints_does_not_scroll_sideways(
    chromium_page: Any, sideways: Any, state: CheckpointState, width: int
):
    """A wide table scrolls in its own box."""
    assert sideways(chromium_page(document(state), width=width)) == 0


def test_the_tree_stays_in_its_picture(chromium_page: Any):
    """Five lanes are more than there is room for, and still no line leaves the picture."""
    shown = chromium_page(document(STATES[0]))

    outside = shown.evaluate(
        "(() => { const svg = document.querySelector('svg.kb-picture'); const frame = svg.getBoundingClientRect();"
        "return [...svg.querySelectorAll('path, circle')].map(shape => shape.getBoundingClientRect())"
        ".filter(box => box.left < frame.left - 0.5 || box.right > frame.right + 0.5"
        " || box.top < frame.top - 0.5 || box.bottom > frame.bottom + 0.5).length })()"
    )
    assert outside == 0


def test_secondary_columns_go_away_on_a_narrow_page(chromium_page: Any):
    """Id, node, version, tokens and verdict stay."""
    shown = chromium_page(document(STATES[0]), width=640)

    heads = [head.inner_text() for head in shown.locator("th:visible").all()]
    assert heads == ["id", "after node", "ver", "tokens", "against the code now"]


@pytest.mark.parametrize("state", STATES, ids=NAMES)
def test_the_static_table_shows_all_its_pictures(chromium_page: Any, state: CheckpointState):
    """Marks and tree are images that the browser can decode."""
    shown = chromium_page(render_static(checkpoint_element(state)))

    assert shown.evaluate("[...document.images].filter(image => !image.naturalWidth).length") == 0
