"""What the lock view says, and its forms."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lock_stories import HOSTILE_EVENTS, LIVE, NOW, REFUSED, many, session, story
from msgspec.structs import replace

from koogbook.clock import FixedClock
from koogbook.events import (
    Event,
    RunCompleted,
    RunFailed,
    RunStarting,
    SessionAcquired,
    SessionClosed,
    SessionCommitted,
    SessionDiscarded,
    SessionOpened,
    SessionSlow,
    SessionTimedOut,
    SessionWaiting,
)
from koogbook.notebook.views.lock_view.picture import lock_picture
from koogbook.notebook.views.lock_view.sheet import NARROW, WIDE
from koogbook.notebook.views.lock_view.state import lock_state, with_selection
from koogbook.notebook.views.lock_view.text import lock_text
from koogbook.notebook.views.lock_view.view import lock_element
from koogbook.notebook.views.look.markup import render, render_static, svg_bytes
from koogbook.notebook.views.look.pieces import STATES
from koogbook.pipeline import EventLog


def test_without_events_nothing_has_run_yet():
    """An empty view says what would be here."""
    assert lock_state([]).status == "nothing has run yet: no session was opened"


def test_a_run_without_sessions_has_run():
    """It is not said that nothing has run; and whether more may come."""
    begun = RunStarting(run_id="a", agent_id="a", strategy="s")
    over, other = RunCompleted(run_id="a"), RunFailed(run_id="b", error="x")

    assert lock_state([begun, over]).status == "the run is over: no session was opened"
    assert lock_state([over, other]).status == "the runs are over: no session was opened"
    assert lock_state([begun], now=3.0).status == "no session was opened yet"
    assert lock_state([begun]).status == "the events end before any session was opened"
    assert lock_text(lock_state([begun, over])) == "Lock view   the run is over: no session was opened"
    assert "nothing has run" not in render(lock_element(lock_state([begun, over])))


def test_events_without_sessions_are_no_sessions():
    """The view is made of session events alone."""
    assert lock_state([NOW]).total == 0


def test_the_sentence_says_who_holds_the_lock_and_how_many_wait():
    """The first question about a lock is answered first."""
    assert lock_state(LIVE, now=3.0).status == "write trim holds trip, 2 waiting"


@pytest.mark.parametrize(
    ("number", "outcome"),
    [
        (1, "committed"),
        (2, "ended"),
        (3, "committed"),
        (4, "discarded"),
        (5, "open"),
        (6, "waiting"),
        (9, "refused"),
    ],
)
def test_each_session_has_its_outcome(number, outcome):
    """Read, write, waiting, committed, discarded and refused are told apart."""
    rows = [row for lane in lock_state(LIVE).lanes for row in lane.sessions]

    assert [row.outcome for row in rows if row.number == number] == [outcome]


@pytest.mark.parametrize(
    ("ends", "word"),
    [
        ([SessionCommitted], "done"),
        ([SessionCommitted, SessionDiscarded], "discarded"),
        ([SessionDiscarded, REFUSED], "refused"),
        ([SessionCommitted, SessionTimedOut], "timed out"),
    ],
)
def test_the_mark_of_the_sentence_is_that_of_what_went_wrong(ends, word):
    """No check beside what was discarded. [NBK-06]"""
    sessions = [
        [end]
        if isinstance(end, Event)
        else [*session(number, 0.0)[:2], replace(session(number, 0.0)[0], at=1.0)]
        if end is SessionTimedOut
        else session(number, 0.0, 0.0, 1.0, end=end)
        for number, end in enumerate(ends)
    ]
    events = story(*sessions)
    if SessionTimedOut in ends:
        same = {"context": "trip", "session": 1, "mode": "write", "who": "a", "place": "b", "run_id": "41"}
        events.append(SessionTimedOut(at=1.0, **same))
    state = lock_state(events)

    assert state.status_word == word
    assert (STATES[word] == STATES["done"]) == (not state.errors)


def test_each_context_has_a_lane():
    """Contexts of parallel branches do not wait for each other, and are not drawn as if they did."""
    assert [lane.context for lane in lock_state(LIVE).lanes] == ["trip", "audit"]


def test_the_queue_has_the_order_in_which_the_lock_is_given():
    """Who holds is first, then who waits, by place."""
    assert [(row.place, row.who, row.waits_for) for row in lock_state(LIVE, now=3.0).queue] == [
        ("holds", "trim", ()),
        ("1st", "view", ("trim",)),
        ("2nd", "late", ("trim", "view")),
    ]


def test_the_longest_wait_is_named():
    """The worst case needs no search."""
    assert lock_state(LIVE).waits.startswith("Longest wait 1.30 s (tools).")


def test_the_counts_add_up_to_all_sessions():
    """Each session is in the sentence exactly once."""
    state = lock_state(LIVE)

    assert state.counts == (
        "8 sessions in 2 contexts: 2 committed, 1 discarded, 1 read and ended, 1 open, 2 waiting, 1 refused"
    )


def test_a_session_that_gave_up_in_time_names_who_held_the_lock():
    """A timeout is no riddle."""
    timed_out = SessionTimedOut(
        at=2.0,
        context="trip",
        session=2,
        mode="read",
        who="meter",
        place="cell 2:1",
        waited=1.0,
        holders=("ask cell 9:4",),
    )

    state = lock_state([*session(1, 0.0, 0.0), *session(2, 1.0, mode="read"), timed_out])

    assert [(row.outcome, row.holders) for row in state.lanes[0].sessions][1] == (
        "timed out",
        ("ask cell 9:4",),
    )


def test_a_session_that_holds_long_is_named():
    """A slow session goes on, and is not hidden."""
    slow = SessionSlow(
        at=30.0, context="trip", session=1, mode="write", who="ask", place="cell 9:4", held=30.0
    )

    assert (
        "Held for long: ask, over 30.0 s (cell 1:2)."
        in lock_state([*session(1, 0.0, 0.0, who="ask"), slow]).waits
    )


def test_a_waiting_session_of_a_run_that_is_over_gave_up():
    """A cancelled task does not wait for ever in the picture."""
    state = lock_state([*session(1, 0.0), RunFailed(at=1.0, run_id="41", error="stop")])

    assert state.lanes[0].sessions[0].outcome == "gave up"


def test_an_open_session_of_a_run_that_is_over_is_still_open():
    """A lock that nobody gave back is not called given up. [NBK-06]"""
    state = lock_state([*session(1, 0.0, 0.0), RunFailed(at=1.0, run_id="41", error="stop")])

    assert state.lanes[0].sessions[0].outcome == "open"


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), max_size=20))
@settings(max_examples=80, deadline=None)
def test_every_session_is_counted_whatever_happened(times):
    """No mix of sessions is lost or counted twice."""
    sessions = [
        session(number, a, a + b, a + b + c, mode="read" if c % 2 else "write")
        for number, (a, b, c) in enumerate(times)
    ]

    state = lock_state(story(*sessions))

    assert sum(len(lane.sessions) for lane in state.lanes) == state.total == len(times)


# ------------------------------------------------------------------------------------------- forms


STORIES = [LIVE, many(500), HOSTILE_EVENTS, session(1, 0.0, 0.0, 0.0), []]
NAMES = ["live", "many", "hostile", "a moment", "empty"]


@pytest.mark.parametrize("events", STORIES, ids=NAMES)
def test_the_text_is_plain_and_narrow(events):
    """It can go to any terminal: ASCII, 100 columns."""
    text = lock_text(lock_state(events))

    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 100


def test_the_text_shows_waiting_before_writing():
    """Dots are the wait, letters the lock."""
    line = next(found for found in lock_text(lock_state(LIVE)).splitlines() if found.startswith("    tools"))

    assert line.split()[2].strip(".W") == ""
    assert ".W" in line


def test_the_text_says_how_many_sessions_it_leaves_out():
    """Nothing is left out without a count."""
    assert "... 460 more sessions" in lock_text(lock_state(many(500)))


def test_the_text_gives_both_places_of_a_refused_session():
    """One sees which two lines of code do not go together."""
    text = lock_text(lock_state(LIVE))

    assert "first, still open  cell 14:3" in text
    assert "second, refused    cell 11:2" in text


@pytest.mark.parametrize("events", STORIES[:-1], ids=NAMES[:-1])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_picture_is_well_formed(events, theme):
    """Hostile names do not break the document, and no colour needs a style sheet."""
    document = svg_bytes(lock_picture(lock_state(events)), theme)

    assert ElementTree.fromstring(document).tag == "{http://www.w3.org/2000/svg}svg"
    assert b"var(" not in document


@pytest.mark.parametrize("form", [render, render_static])
@pytest.mark.parametrize("events", STORIES, ids=NAMES)
def test_no_form_opens_a_foreign_element(form, events):
    """Names of contexts and nodes are text."""
    assert "<script" not in form(lock_element(lock_state(events)))


def test_five_hundred_sessions_become_a_strip():
    """The picture of a long loop stays small enough to be read and saved."""
    written = render_static(lock_element(lock_state(many(500))))

    assert len(written) < 150_000
    assert "460 sessions left out here" in written


def test_a_refused_session_shows_the_way_out():
    """An error comes with what to do instead."""
    assert "hand the open session on" in render(lock_element(lock_state(LIVE)))


@pytest.mark.parametrize("events", STORIES, ids=NAMES)
def test_the_same_events_give_the_same_bytes(events):
    """A saved notebook does not change when nothing changed."""
    assert render(lock_element(lock_state(events))) == render(lock_element(lock_state(events)))


def test_a_session_that_got_the_lock_at_once_did_not_wait():
    """The moments between asking and having the lock are no wait."""
    opened = session(1, 0.0, 0.0)[0]
    acquired = SessionAcquired(at=0.01, context="trip", session=1, mode="write", who="a", place="cell 1:2")

    state = lock_state([opened, acquired])

    assert state.waits == "No session had to wait."


def test_a_waiter_that_left_the_queue_gave_up(ticking_clock: FixedClock) -> None:
    """A session that closed without ever having had the lock did not end well."""
    log = EventLog("run", "chat")
    asked: dict[str, Any] = {
        "context": "trip",
        "session": 1,
        "mode": "read",
        "who": "meter",
        "place": "cell 3:1",
    }
    log.emit(SessionOpened, "trip/meter", **asked)
    log.emit(SessionWaiting, "trip/meter", ahead=(9,), **asked)
    log.emit(SessionClosed, "trip/meter", **asked)

    assert [row.outcome for row in lock_state(log.events).lanes[0].sessions] == ["gave up"]


# ------------------------------------------------------------------------------------------- told apart


def ended(outcome: str) -> list[Event]:
    """A session that ended in this way, or has not ended."""
    same: dict[str, Any] = {
        "context": "trip",
        "session": 1,
        "mode": "write",
        "who": "ask",
        "place": "cell 1:2",
        "run_id": "41",
    }
    asked = [SessionOpened(at=0.0, **same), SessionWaiting(at=0.0, **same)]
    held = [*asked, SessionAcquired(at=0.2, waited=0.2, **same)]
    committed = [SessionCommitted(at=0.8, **same), SessionClosed(at=0.8, held=0.6, **same)]
    made: dict[str, list[Event]] = {
        "waiting": asked,
        "held": held,
        "committed": [*held, *committed],
        "discarded": [*held, SessionDiscarded(at=0.8, **same), SessionClosed(at=0.8, held=0.6, **same)],
        "refused": [asked[0], replace(REFUSED, at=0.0, **same)],
        "timed out": [*asked, SessionTimedOut(at=0.8, waited=0.8, **same)],
        "gave up": [*asked, SessionClosed(at=0.8, **same)],
        "slow": [*held, SessionSlow(at=0.7, held=0.5, **same), *committed],
    }
    return [*made[outcome], replace(NOW, at=1.0)]


OUTCOMES = ["waiting", "held", "committed", "discarded", "refused", "timed out", "gave up", "slow"]
#: Where the colour of something stands.
_PAINT = re.compile(
    r'(?:fill|stroke|color|style)="[^"]*"|aria-label="[^"]*"|<title>.*?</title>|<desc>.*?</desc>'
)


@pytest.mark.parametrize("sheet", [WIDE, NARROW], ids=["wide", "narrow"])
def test_the_picture_tells_all_outcomes_apart_without_colour(sheet: Any) -> None:
    """By shapes alone: no colour, no tooltip, no description. [NBK-06] [NBK-11]"""
    drawn = {
        _PAINT.sub("", render(lock_picture(lock_state(ended(outcome), now=1.0), sheet=sheet)))
        for outcome in OUTCOMES
    }

    assert len(drawn) == len(OUTCOMES)


def test_the_text_tells_all_outcomes_apart() -> None:
    """In the line of the session itself. [NBK-06]"""
    lines = [
        next(
            line
            for line in lock_text(lock_state(ended(outcome), now=1.0)).splitlines()
            if line.startswith("    ask")
        )
        for outcome in OUTCOMES
    ]

    assert [line[81:].strip() for line in lines] == [
        "waiting",
        "open",
        "committed",
        "DISCARDED",
        "REFUSED",
        "TIMED OUT",
        "gave up",
        "committed, SLOW",
    ]


@pytest.mark.parametrize("form", [render, render_static])
def test_the_table_tells_all_outcomes_apart(form) -> None:
    """By words, in every form. [NBK-06] [NBK-11]"""
    words = [
        "waiting",
        "open",
        "committed",
        "discarded",
        "refused",
        "timed out",
        "gave up",
        "committed, slow",
    ]
    cells = [
        re.findall(
            r"<span[^>]*>([a-z, ]+)</span></span></span></td></tr>",
            form(lock_element(lock_state(ended(one), now=1.0))),
        )
        for one in OUTCOMES
    ]

    assert [found[-1] for found in cells] == words


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ("discarded", "discarded, nothing committed"),
        ("timed out", "timed out"),
        ("gave up", "gave up waiting"),
        ("slow", "slow: held for long"),
    ],
)
def test_the_legend_names_the_marks_that_are_in_the_picture(outcome: str, words: str) -> None:
    """And no others. [NBK-06]"""
    shown = {one: f">{words}</span>" in render(lock_element(lock_state(ended(one)))) for one in OUTCOMES}

    assert [one for one, found in shown.items() if found] == [outcome]


def test_a_slow_session_is_named_in_every_form() -> None:
    """It went well, and somebody waited for it. [SES-11]"""
    state = lock_state(ended("slow"))
    written = render(lock_element(with_selection(state, 1)))

    assert state.counts == "1 session in 1 context: 1 committed; 1 held for long"
    assert "over 500 ms when that was reported" in written
    assert "committed, slow" in written


def test_the_next_in_the_queue_is_named() -> None:
    """Who enters next, and when: the order is fair. [SES-09] [NBK-06]"""
    assert (
        lock_state(LIVE, now=3.0).next_up
        == "First come, first served: read view enters next when trim has left."
    )


def test_a_write_enters_alone() -> None:
    """A read behind it waits for its own turn. [SES-09]"""
    events = story(
        session(1, 0.0, 0.0, who="meter", mode="read"),
        session(2, 0.1, 0.1, who="view", mode="read"),
        session(3, 0.2, who="trim", ahead=(1, 2)),
        session(4, 0.3, who="late", mode="read", ahead=(1, 2, 3)),
    )

    assert lock_state(events, now=1.0).next_up == (
        "First come, first served: write trim enters next when meter and 1 more have left."
    )


def test_reads_that_stand_together_enter_together() -> None:
    """They are one step of the queue. [SES-09]"""
    events = story(
        session(1, 0.0, 0.0, who="ask"),
        session(2, 0.1, who="meter", mode="read", ahead=(1,)),
        session(3, 0.2, who="view", mode="read", ahead=(1, 2)),
        session(4, 0.3, who="trim", ahead=(1, 2, 3)),
    )

    assert lock_state(events, now=1.0).next_up == (
        "First come, first served: read meter with 1 more read enter next when ask has left."
    )


def test_the_picture_is_there_in_two_widths_and_saved_in_one() -> None:
    """A page shows the one that fits; a notebook that strips styles keeps one image. [NBK-10]"""
    element = lock_element(lock_state(LIVE))

    assert [render(element).count(f'class="kb-scroll {one}"') for one in ("kb-wide", "kb-narrow")] == [1, 1]
    assert render_static(element).count("Lock view. the trace ends") == 1


def test_the_queue_has_the_order_in_which_sessions_came_though_fewer_stood_before_the_later_one():
    """A writer queues behind five readers, four of them leave, then one more reader comes. [NBK-06]"""
    left = [session(number, 0.0, 0.0, 0.2, mode="read") for number in range(2, 6)]
    events = story(
        session(1, 0.0, 0.0, mode="read"),
        *left,
        session(6, 0.1, who="writer", ahead=(1, 2, 3, 4, 5)),
        session(7, 0.3, who="late", mode="read", ahead=(1, 6)),
    )
    waiting = [row.who for row in lock_state(events, now=0.4).queue if row.place != "holds"]

    assert waiting == ["writer", "late"]
