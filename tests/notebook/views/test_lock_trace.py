"""The lock view of a trace: a file that a run left behind, whole or not, of one run or of several."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lock_stories import LIVE, session, story
from msgspec.structs import replace

import koogbook as kb
from koogbook import clock
from koogbook.errors import TraceError
from koogbook.events import Event, RunCompleted, RunFailed, SessionCommitted
from koogbook.notebook.views.lock_view.locks import LockView
from koogbook.notebook.views.lock_view.marks import STOPPED
from koogbook.notebook.views.lock_view.picture import lock_picture
from koogbook.notebook.views.lock_view.state import WINDOW, lock_state
from koogbook.notebook.views.look.glyphs import GLYPHS
from koogbook.notebook.views.look.markup import render
from koogbook.trace import LONGEST_TIME, encode_event, encode_header


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a trace can be."""
    return tmp_path / "run.jsonl"


def of_run(events: Sequence[Event], run: str, *, later: float = 0.0, wall: float = 0.0) -> list[Event]:
    """The same events as those of another run, so many seconds later; with a wall clock of its own."""
    return [
        replace(event, run_id=run, at=event.at + later, time=wall + event.at if wall else 0.0)
        for event in events
    ]


FIRST = story(session(1, 0.0, 0.0, 0.4), session(2, 0.1, 0.4, 0.9, ahead=(1,)))
SECOND = of_run(
    story(session(1, 0.0, 0.0, 0.5, mode="read"), session(4, 0.2, 0.5, 0.8, ahead=(1,))), "77aa01", later=0.3
)


def rows(view: LockView) -> dict[int, Any]:
    """The sessions of a view by number."""
    return {row.number: row for lane in view.state.lanes for row in lane.sessions}


async def test_a_trace_shows_what_its_run_shows(path: Path) -> None:
    """Lanes, waits, outcomes and their times. [NBK-06] [SES-14]"""
    trip = kb.strategy("trip", input=str, output=str)

    @trip.node
    async def answer(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            session.append(kb.user(text))
            await clock.sleep(0.01)
        async with ctx.llm.read_session() as reading:
            return f"{len(reading.messages)} messages"

    trip.start >> answer >> trip.finish
    run = await kb.Agent(kb.OfflineExecutor(), "offline", trip).run("Rome")
    view = kb.locks(kb.save_trace(run, path))

    assert view.state.lanes == kb.locks(run).state.lanes
    assert view.state.status == kb.locks(run).state.status


@pytest.mark.parametrize("kind", [str, Path])
def test_a_trace_is_given_by_its_path(path: Path, kind: type) -> None:
    """As text or as a path; the name of the file stands in the head. [NBK-06]"""
    kb.save_trace(LIVE, path)
    view = kb.locks(kind(path))

    assert "trip and 1 other context \u00b7 run.jsonl" in render(view.element)
    assert str(view).startswith("Lock view   run.jsonl   the trace ends while write trim holds trip")


def test_a_trace_is_replayed(path: Path) -> None:
    """As a run that is over is. [NBK-06] [SES-14]"""
    kb.save_trace(LIVE, path)
    view = kb.locks(path, at=2.2)
    view.act("later")

    assert view.at == 2.4
    assert view.state.status.startswith("at 2.40 s of 3.00 s: write trim holds trip")


def test_a_file_that_is_no_trace_is_an_error(path: Path) -> None:
    """And no empty view. [NBK-06]"""
    path.write_text("hello\n", encoding="utf-8")

    with pytest.raises(TraceError, match=r"run\.jsonl is no trace"):
        kb.locks(path)


@pytest.mark.parametrize("given", [[1, 2], ["a"]])
def test_a_sequence_of_something_else_is_refused(given: Any) -> None:
    """With what it takes. [NBK-06]"""
    with pytest.raises(TypeError, match=r"locks takes a run, or a sequence of events, not .* by its path"):
        kb.locks(given)


def test_a_lock_race_says_how_its_events_are_given() -> None:
    """One sees the line that was meant. [NBK-06] [KB-104]"""
    race: Any = kb.lock_race(seconds=1.0)

    with pytest.raises(TypeError, match=r"not a lock race\. .* kb\.locks\(race\.events\(\"fair\"\)\)\.$"):
        kb.locks(race)


def test_another_view_is_named() -> None:
    """Not by a page of its text. [NBK-06]"""
    view: Any = kb.locks(LIVE)

    with pytest.raises(TypeError, match=r"not another view: Lock view\. Give what that is of\.$"):
        kb.locks(view)


@pytest.mark.parametrize(
    "make", [iter, lambda events: (event for event in events), set, lambda events: map(id, events)]
)
def test_events_in_no_order_or_to_be_read_once_are_given_as_a_list(make: Any) -> None:
    """The message has the call; nothing was taken from the iterator. [NBK-06]"""
    given = make(LIVE)

    with pytest.raises(TypeError, match=r"Give a list: kb\.locks\(list\(events\)\)\.$"):
        kb.locks(given)

    assert len(list(given)) == len(LIVE)


TIMES = st.sampled_from(
    [
        0.0,
        5e-324,
        -5e-324,
        1e-300,
        1e-12,
        1e-9,
        1e-6,
        1.0,
        1.0 + 2**-50,
        1e9,
        LONGEST_TIME,
        -LONGEST_TIME,
        -1.0,
    ]
)


@given(
    st.lists(st.lists(TIMES, min_size=1, max_size=3), min_size=1, max_size=5),
    st.sampled_from([1, 60]),
    st.floats(0, 1),
)
@example([[0.0, 5e-324]], 1, 0.5)
@example([[0.0], [0.0], [0.0], [-LONGEST_TIME]], 60, 0.5)
@settings(max_examples=60, deadline=None)
def test_whatever_times_a_trace_may_have_its_view_is_drawn(
    times: list[list[float]], copies: int, share: float
) -> None:
    """From the smallest to the longest, in any order, in each form, in a replay and enlarged. [NBK-06]"""
    sessions = [
        session(number, *one, context=f"trip/{number % 3}") for number, one in enumerate(times * copies)
    ]
    events = [event for one in sessions for event in one]
    view = kb.locks(events)
    forms = [(str(view), render(view.element))]
    if view.state.total > WINDOW:
        view.act("zoom", "100")
        forms.append((str(view), render(view.element)))
    if view.state.seconds > 0:
        view.act("at", str(share * view.state.seconds))
        forms.append((str(view), render(view.element)))

    assert [len(text) > 0 and "nan" not in drawn and "inf" not in drawn for text, drawn in forms] == [
        True
    ] * len(forms)


# ------------------------------------------------------------------------------------------- that ends in the middle


def test_what_is_not_over_when_the_trace_ends_is_not_running() -> None:
    """The process was killed, and nobody holds a lock now. [NBK-06]"""
    view = kb.locks(LIVE)
    found = rows(view)

    assert view.state.status == "the trace ends while write trim holds trip, 2 waiting"
    assert [found[number].word for number in (5, 6)] == [
        "open at the end of the trace",
        "waiting at the end of the trace",
    ]
    assert ">now</text>" not in render(view.element)


def test_the_queue_at_the_end_of_a_trace_is_told_from_one_of_now() -> None:
    """It says when it was so, and nobody is about to enter. [NBK-06]"""
    text = str(kb.locks(LIVE))

    assert "\n  At the end of the trace\n" in text
    assert "trip            held   write  trim" in text
    assert "First come" not in text


def test_the_text_says_which_sessions_the_trace_leaves_open() -> None:
    """In the column of outcomes. [NBK-06]"""
    lines = str(kb.locks(LIVE)).splitlines()

    assert [line.rpartition("  ")[2] for line in lines if line.startswith(("    trim", "    view"))] == [
        "open at end",
        "waiting at end",
    ]


def test_a_bar_that_the_trace_leaves_open_has_a_mark_of_its_own() -> None:
    """With its word in the legend. [NBK-06]"""
    written = render(kb.locks(LIVE).element)
    bars = GLYPHS[STOPPED["trace"][0]][1].attributes["d"]

    assert [
        render(lock_picture(state)).count(bars) for state in (kb.locks(LIVE).state, lock_state(LIVE, now=3.0))
    ] == [3, 0]
    assert "not over when the trace ends" in written
    assert "not over when the trace ends" not in render(kb.locks(FIRST).element)


def test_the_panel_of_an_open_session_says_that_nothing_more_is_known() -> None:
    """Neither committed nor discarded. [NBK-06]"""
    text = render(kb.locks(LIVE, selected=5).element)

    assert "the trace ends here: </span><span>what became of it is not known" in text
    assert "600 ms or more" in text


def test_a_session_that_its_run_never_closed_is_told_from_one_that_the_trace_cuts_off() -> None:
    """The run is over, and the lock was not given back. [NBK-06]"""
    events = [*session(1, 0.0, 0.0), RunFailed(at=1.0, run_id="41", error="stop")]
    view = kb.locks(events)

    assert rows(view)[1].word == "never closed"
    assert view.state.status == "the run is over while write node_1 holds trip, nobody waits"
    assert "never closed" in str(view)


def test_a_moment_of_a_cut_trace_is_as_it_was_then() -> None:
    """In a replay a session is open while it is. [NBK-06]"""
    view = kb.locks(LIVE, at=2.9)

    assert (rows(view)[5].word, view.state.queue[0].place) == ("open", "holds")


def test_a_torn_trace_says_so(path: Path) -> None:
    """Before the picture, and in the text. [NBK-06]"""
    path.write_bytes(kb.save_trace(LIVE, path).read_bytes()[:-9])
    view = kb.locks(path)

    assert "run.jsonl ends in the middle of line" in render(view.element)
    assert "\n  ! run.jsonl ends in the middle of line" in str(view)


def test_a_torn_trace_without_sessions_says_so(path: Path) -> None:
    """Nothing is not the same as nothing known. [NBK-06]"""
    path.write_bytes(encode_header() + b"\n" + encode_event(LIVE[0])[:20])
    view = kb.locks(path)

    assert "ends in the middle of line 2" in render(view.element)
    assert "ends in the middle of line 2" in str(view)


# ------------------------------------------------------------------------------------------- of several runs


def test_each_run_has_its_own_lanes(path: Path) -> None:
    """Contexts of one name do not share a lane where they are those of two runs. [NBK-06] [AGT-03a]"""
    view = kb.locks(kb.save_trace([*FIRST, *SECOND], path))

    assert [(lane.run, lane.context, len(lane.sessions)) for lane in view.state.lanes] == [
        ("41", "trip", 2),
        ("77aa01", "trip", 2),
    ]
    assert view.state.counts == "4 sessions in 2 contexts of 2 runs: 3 committed, 1 read and ended"


def test_the_runs_are_named_in_every_form() -> None:
    """In the lanes, the table, the panel and the text. [NBK-06] [AGT-03a]"""
    view = kb.locks([*FIRST, *SECOND], selected=4)

    assert ">run 77aa01</text>" in render(lock_picture(view.state))
    assert ">77aa01</td>" in render(view.element)
    assert ">run 77aa01</code>" in render(view.element)
    assert "trip   run 77aa01   2 sessions" in str(view)


def test_one_run_is_not_named() -> None:
    """It would say nothing. [NBK-06]"""
    assert "run 41" not in render(kb.locks(FIRST).element)


def test_sessions_of_one_number_in_two_runs_are_two() -> None:
    """Numbers are unique in a process, and a trace may have the runs of two. [NBK-06]"""
    view = kb.locks([*FIRST, *SECOND])
    found = rows(view)

    assert [found[number].run for number in (1, 2, 3, 4)] == ["41", "41", "77aa01", "77aa01"]
    assert found[4].ahead == (3,)


@given(st.lists(st.integers(1, 3), min_size=1, max_size=4))
def test_no_session_is_lost_among_runs_of_the_same_numbers(sizes: list[int]) -> None:
    """However many processes began to count at 1. [NBK-06]"""
    events = [
        event
        for place, size in enumerate(sizes)
        for number in range(size)
        for event in of_run(session(number + 1, number, number, number + 0.5), f"run{place}", later=place / 7)
    ]
    state = lock_state(sorted(events, key=lambda event: event.at))
    numbers = [row.number for lane in state.lanes for row in lane.sessions]

    assert (len(numbers), len(set(numbers))) == (sum(sizes), sum(sizes))


def test_a_run_that_ended_is_not_open_because_another_one_is() -> None:
    """Each session is judged by its own run. [NBK-06]"""
    cut = of_run(session(9, 1.0, 1.0), "77aa01")
    waited = session(3, 0.2, ahead=(2,))
    found = rows(kb.locks([*FIRST, *waited, RunCompleted(at=0.9, run_id="41"), *cut]))

    assert (found[3].word, found[9].word) == ("gave up", "open at the end of the trace")


def test_runs_of_two_processes_are_placed_by_their_wall_clocks() -> None:
    """Each process counts its own seconds. [NBK-06] [SES-14]"""
    first = of_run(FIRST, "a", wall=1000.0)
    second = [replace(event, time=1002.0 + event.at) for event in of_run(FIRST, "b")]
    view = kb.locks([*first, *(replace(event, at=event.at + 90_000) for event in second)])

    assert [row.opened for row in view.state.lanes[1].sessions] == pytest.approx([2.0, 2.1])
    assert view.state.seconds == pytest.approx(2.9)


def test_runs_of_one_process_keep_their_monotonic_times() -> None:
    """A wall clock that is put right meanwhile moves nothing. [SES-14]"""
    first = of_run(FIRST, "a", wall=1000.0)
    second = [replace(event, time=event.at + 1000.2) for event in of_run(FIRST, "b", later=5.0)]
    view = kb.locks([*first, *second])

    assert [row.opened for row in view.state.lanes[1].sessions] == [5.0, 5.1]


def test_an_event_without_a_run_belongs_to_its_session() -> None:
    """Events that were made by hand need not name a run everywhere. [NBK-06]"""
    opened, *rest = session(1, 0.0, 0.0, 1.0)
    view = kb.locks([opened, *(replace(event, run_id="") for event in rest)])

    assert [(row.outcome, row.number) for row in rows(view).values()] == [("committed", 1)]
    assert any(isinstance(event, SessionCommitted) for event in rest)
