"""The prompt diff as a browser draws it."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import accumulate
from typing import Any

import pytest

from koogbook.messages.history_diff import diff_messages
from koogbook.messages.ledger import Ledger, NewMessage, Sentence
from koogbook.messages.message import SUMMARY_NAME, Message, assistant, tool_result, user
from koogbook.messages.parts import ToolCall
from koogbook.messages.word_diff import provenance
from koogbook.notebook.views.diff_view.layout import lay_out
from koogbook.notebook.views.diff_view.model import Choices, DiffState
from koogbook.notebook.views.diff_view.state import diff_ledger
from koogbook.notebook.views.diff_view.view import diff_element, diff_state, diff_state_of
from koogbook.notebook.views.look.markup import render_static
from koogbook.notebook.views.page import Section, page

NOON = datetime(2026, 6, 2, 12, tzinfo=UTC)
LONG = "a_long_name_without_any_space_" * 12


def turn(number: int, words: str) -> list[Message]:
    """A question, a call, its result and an answer."""
    call = ToolCall("find_hotels", f'{{"near": "{words}"}}', f"c{number}")
    return [
        user(f"Where is a quiet hotel near the {words}?", id=f"u{number}", time=NOON),
        assistant(calls=[call], id=f"a{number}", time=NOON),
        tool_result(call, f"9 hotels near the {words}: {words}. " * 9, id=f"r{number}", time=NOON),
        assistant(
            f"Hotel {number} near the {words} has a lift and costs 8{number} euro.",
            id=f"b{number}",
            time=NOON,
        ),
    ]


def compressed(*words: str) -> DiffState:
    """The first turns in one summary, the last one kept."""
    before = [message for number, word in enumerate(words) for message in turn(number, word)]
    text = (
        " ".join(message.text for message in before[3:-4:4]) + f" A sentence that rests on nothing: {LONG}."
    )
    after = [before[0], user(text, id="s", time=NOON, name=SUMMARY_NAME), *before[-4:]]
    sources = range(1, len(before) - 4)
    found = provenance(text, [(place, before[place]) for place in sources])
    ledger = Ledger(
        strategy="WholeHistory",
        status="applied",
        before=tuple(before),
        after=tuple(after),
        fates=diff_messages(before, after).fates,
        new_messages=(NewMessage(1, after[1].tokens, tuple(sources), found),),
    )
    return diff_state(ledger, name="trip", selected=(1, 1))


def many_sources() -> DiffState:
    """A short sentence that rests on messages with long numbers."""
    before = [user("Yes.", id="u", time=NOON), user("No.", id="v", time=NOON)]
    after = [user("Yes.", id="s", time=NOON, name=SUMMARY_NAME)]
    found = (Sentence("Yes.", (1111, 2222, 3333, 4444), True), Sentence("No.", (0,)))
    ledger = Ledger(
        strategy="WholeHistory",
        status="applied",
        before=tuple(before),
        after=tuple(after),
        fates=diff_messages(before, after).fates,
        new_messages=(NewMessage(0, 5, (0, 1), found),),
    )
    return diff_state(ledger)


HISTORY = turn(1, "river") + turn(2, "station")
EDITED = HISTORY[0].with_text(HISTORY[0].text.replace("quiet", "very very quiet and step-free") + LONG)
TALK = [
    user(f"Question {number} about the museum? {LONG[:number]}", id=f"q{number}") for number in range(260)
]
STATES = [
    compressed("river", "station", "harbour"),
    compressed(LONG, "河边安静的酒店" * 9, LONG),
    diff_state_of(HISTORY, [EDITED, *HISTORY[5:], HISTORY[1]]),
    many_sources(),
    diff_state_of([], []),
    diff_state_of(HISTORY, [EDITED, *HISTORY[1:]], selected=0, facts=["quiet", "lift"]),
    diff_state(
        diff_ledger(TALK, [*TALK[:50], *TALK[180::2]]), selected=60, choices=Choices(page=1, all_open=True)
    ),
]
NAMES = ["summary", "long words", "edited and moved", "many sources", "empty", "selected edit", "opened page"]
HEIGHTS = "[...document.querySelectorAll('.kb-wide tbody tr')].map(row => row.getBoundingClientRect().height)"


def document(state: DiffState) -> str:
    """The view on a page of its own."""
    return page("Diff", None, [Section("diff", "Prompt", "", diff_element(state))])


@pytest.mark.parametrize("width", [1100, 800])
@pytest.mark.parametrize("state", STATES, ids=NAMES)
def test_the_rows_stand_where_the_lines_between_the_columns_end(
    chromium_page: Any, state: DiffState, width: int
):
    """Every line of the table is as tall as the layout says, whatever its text."""
    shown = chromium_page(document(state), width=width)

    drawn = list(accumulate(shown.evaluate(HEIGHTS)))
    planned = list(accumulate(lay_out(state).heights))
    assert [round(a - b) for a, b in zip(drawn, planned, strict=True) if abs(a - b) > 2] == []


@pytest.mark.parametrize("state", STATES, ids=NAMES)
def test_a_narrow_page_of_a_diff_does_not_scroll_sideways(
    chromium_page: Any, sideways: Any, state: DiffState
):
    """At 640 px both histories stand in one column."""
    shown = chromium_page(document(state), width=640)

    assert sideways(shown) == 0
    assert shown.locator(".kb-wide table:visible").count() == 0


@pytest.mark.parametrize("state", STATES, ids=NAMES)
def test_a_wide_page_of_a_diff_does_not_scroll_sideways(chromium_page: Any, sideways: Any, state: DiffState):
    """Long words are cut, not let out."""
    assert sideways(chromium_page(document(state))) == 0


@pytest.mark.parametrize("state", STATES, ids=NAMES)
def test_the_static_diff_shows_all_its_pictures(chromium_page: Any, state: DiffState):
    """Marks, brackets and lines are images that the browser can decode."""
    shown = chromium_page(render_static(diff_element(state)))

    assert shown.evaluate("[...document.images].filter(image => !image.naturalWidth).length") == 0


def test_the_static_rows_are_as_tall_as_planned_too(chromium_page: Any):
    """A saved notebook has the same picture beside the same rows."""
    state = STATES[0]
    shown = chromium_page(render_static(diff_element(state)))

    heights = shown.evaluate(
        "[...document.querySelectorAll('table')].find(table => table.querySelector('col')).tBodies[0]"
        ".getBoundingClientRect().height"
    )
    assert abs(heights - lay_out(state).height) <= 2


def test_the_selected_message_stands_in_full_under_the_rows(chromium_page: Any):
    """A static page shows what was selected, too. [NBK-10]"""
    shown = chromium_page(document(STATES[5]))

    assert shown.get_by_text("Message 0 before").is_visible()
    assert "step-free" in shown.locator(".kb-pre:visible").first.inner_text()


def test_a_message_opens_in_full(chromium_page: Any):
    """The whole text of a message is two clicks away and then visible."""
    shown = chromium_page(document(STATES[0]))
    shown.get_by_text("Messages in full").click()
    shown.locator("details details summary").first.click()

    assert shown.locator("details details pre").first.inner_text() == "Where is a quiet hotel near the river?"
