"""The lock view as a browser draws it."""

from __future__ import annotations

from typing import Any

import pytest

from koogbook.events import (
    Event,
    SessionAcquired,
    SessionClosed,
    SessionCommitted,
    SessionDiscarded,
    SessionOpened,
    SessionRefused,
    SessionWaiting,
)
from koogbook.notebook.views.lock_view.state import LockState, lock_state, lock_state_at, with_selection
from koogbook.notebook.views.lock_view.view import lock_element
from koogbook.notebook.views.look.markup import render_static
from koogbook.notebook.views.page import Section, page


def session(
    number: int,
    who: str,
    *times: float,
    mode: Any = "write",
    context: str = "trip",
    end: type[Event] = SessionCommitted,
) -> list[Event]:
    """One session: asked for, acquired and ended at the times given; fewer times stop it earlier."""
    same: dict[str, Any] = {
        "context": context,
        "session": number,
        "mode": mode,
        "who": who,
        "place": f"cell {number}:2",
    }
    asked, *later = times
    acquired = [SessionAcquired(at=time, waited=time - asked, **same) for time in later[:1]]
    kinds = (end, SessionClosed) if mode == "write" else (SessionClosed,)
    ended = [kind(at=time, **same) for time in later[1:] for kind in kinds]
    return [SessionOpened(at=asked, **same), SessionWaiting(at=asked, **same), *acquired, *ended]


REFUSED = SessionRefused(
    at=1.9,
    context="audit",
    session=99,
    mode="read",
    who="audit",
    place="cell 11:2",
    first="cell 14:3",
    first_mode="write",
)
BUSY = [
    *session(1, "prepare", 0.03, 0.03, 0.24),
    *session(2, "compress_the_whole_history", 0.3, 0.3, 0.88),
    *session(3, "token_meter", 1.4, 1.4, 1.95, mode="read"),
    *session(4, "pick_best", 1.46, 1.46, 1.7, mode="read"),
    *session(5, "ask_model", 1.74, 1.96, 2.42),
    *session(6, "run_tools", 2.14, 2.5, 2.62, end=SessionDiscarded),
    *session(7, "a_context_with_a_very_long_name", 1.0, 1.0, 1.6, context="gather/trains/and/much/more"),
    REFUSED,
    *session(8, "ask_model", 2.66, 2.66),
    *session(9, "trim_tail", 2.8),
    *session(10, "late", 3.02),
]
MANY = [
    event
    for number in range(400)
    for event in session(number, "worker", number / 10, number / 10 + 0.02, number / 10 + 0.09)
]
SHORT = [event for number in range(20) for event in session(number, "quick", 0, 0, 0.0001 * number)]
CROWD = [
    event
    for number in range(60)
    for event in session(
        number, "worker", number / 10, number / 10 + 0.02, number / 10 + 0.3, context=f"branch_{number}"
    )
]
FAILED = [*session(1, "audit", 0.0, 0.0, 1.91, context="audit"), REFUSED]
STORIES = [
    lock_state(BUSY),
    lock_state(MANY),
    lock_state(SHORT),
    lock_state(CROWD),
    lock_state(FAILED),
    with_selection(lock_state(BUSY), 6),
    with_selection(lock_state(BUSY), 99),
    with_selection(lock_state(MANY), 200),
    *(lock_state_at(BUSY, at) for at in (0.0, 0.4, 1.9, 2.9)),
    lock_state_at(MANY, 20.05),
    lock_state([]),
]
NAMES = [
    "busy",
    "many",
    "short",
    "crowd",
    "failed",
    "selected",
    "refused",
    "selected of many",
    "at the beginning",
    "at 0.4 s",
    "at 1.9 s",
    "at 2.9 s",
    "at 20 s of many",
    "empty",
]


def document(state: LockState) -> str:
    """The view on a page of its own."""
    return page("Locks", None, [Section("locks", "Sessions", "", lock_element(state))])


@pytest.mark.parametrize("state", STORIES, ids=NAMES)
def test_no_text_of_the_lanes_lies_on_another(chromium_page, collisions, state):
    """Names stand in bars where they fit and nowhere else."""
    assert collisions(chromium_page(document(state))) == []


@pytest.mark.parametrize("state", STORIES, ids=NAMES)
def test_the_widths_hold_in_the_widest_usual_font(chromium_page, collisions, state):
    """Bars are measured without a browser and have room for DejaVu Sans."""
    html = document(state).replace("-apple-system", "'DejaVu Sans'")

    assert collisions(chromium_page(html)) == []


@pytest.mark.parametrize("state", STORIES, ids=NAMES)
def test_the_page_of_the_locks_does_not_scroll_sideways(chromium_page, sideways, state):
    """A wide picture scrolls in its own box."""
    assert sideways(chromium_page(document(state), width=640)) == 0


def test_a_narrow_page_says_that_the_picture_scrolls(chromium_page):
    """Nobody takes the visible part for the whole."""
    shown = chromium_page(document(lock_state(BUSY)), width=640)

    assert shown.get_by_text("it scrolls sideways").is_visible()


def test_the_static_picture_loads_from_its_address(chromium_page):
    """The image in a notebook is a picture that the browser can decode."""
    shown = chromium_page(render_static(lock_element(lock_state(BUSY))))

    assert shown.evaluate("[...document.images].filter(image => !image.naturalWidth).length") == 0
