"""The replay of a run that is over: every moment of it, and playing it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from fractions import Fraction

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lock_stories import LIVE, many, session, story

import koogbook as kb
from koogbook import clock
from koogbook.errors import ViewError
from koogbook.events import Event, SessionAcquired, SessionClosed, SessionEvent, SessionWaiting
from koogbook.notebook.views.lock_view import locks as lock_module
from koogbook.notebook.views.lock_view.locks import LockView
from koogbook.notebook.views.lock_view.picture import lock_picture
from koogbook.notebook.views.lock_view.state import lock_state, lock_state_at
from koogbook.notebook.views.lock_view.text import lock_text
from koogbook.notebook.views.look.markup import Element, live_tree, render

STORIES = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 10), st.integers(0, 20), st.integers(1, 3)), max_size=12
).map(
    lambda sessions: story(
        *(
            session(
                number,
                *[start / 7, (start + wait) / 7, (start + wait + hold) / 7][:parts],
                mode="read" if hold % 2 else "write",
            )
            for number, (start, wait, hold, parts) in enumerate(sessions)
        )
    )
)


def holding(events: Sequence[Event], until: float) -> set[int]:
    """The sessions that have the lock after what happened until then, counted by hand."""
    found: set[int] = set()
    for event in events:
        if isinstance(event, SessionAcquired) and event.at - events[0].at <= until:
            found.add(event.session)
        if isinstance(event, SessionClosed) and event.at - events[0].at <= until:
            found.discard(event.session)
    return found


@given(STORIES.filter(bool), st.floats(0, 1))
@settings(deadline=None)
def test_at_every_moment_those_hold_the_lock_who_got_it_and_did_not_give_it_back(events, share):
    """A replay tells what happened until then, and nothing of what came later. [NBK-06]"""
    at = share * lock_state(events).seconds

    state = lock_state_at(events, at)

    assert {row.number for row in state.queue if row.holds} == holding(events, at)


@given(STORIES, st.floats(0, 10))
@settings(deadline=None)
def test_at_its_end_a_replay_is_the_run_as_it_ended(events, beyond):
    """There is one truth about the end. [NBK-06]"""
    whole = lock_state(events)

    assert lock_state_at(events, whole.seconds + beyond) == whole


@given(STORIES.filter(bool), st.floats(0, 1))
@settings(deadline=None)
def test_going_somewhere_and_to_the_end_gives_the_same_bytes(events, share):
    """Nothing of a replay stays behind. [NBK-06]"""
    view = kb.locks(events)
    before = (str(view), render(view.element), live_tree(view.element))

    view.act("at", str(share * view.state.seconds))
    view.act("end")

    assert (str(view), render(view.element), live_tree(view.element)) == before


@given(STORIES.filter(bool))
@settings(deadline=None)
def test_later_stops_at_every_session_event_and_earlier_comes_back(events):
    """No event is jumped over, in either direction. [NBK-06]"""
    moments = sorted({event.at - events[0].at for event in events if isinstance(event, SessionEvent)})
    inner = moments[:-1] if moments[-1] >= lock_state(events).seconds else moments
    view, there, back = kb.locks(events), [], []

    while (view.at is not None or not back) and len(back) < len(inner):
        view.act("earlier")
        back.append(view.at)
    while view.at is not None:
        there.append(view.at)
        view.act("later")

    assert back[::-1] == there == inner


@given(STORIES.filter(bool), st.floats(0, 1))
@settings(deadline=None)
def test_the_picture_keeps_its_size_in_a_replay(events, share):
    """Neither axis nor lanes jump while it plays. [NBK-06]"""
    whole = lock_state(events)
    state = lock_state_at(events, share * whole.seconds)

    then, end = lock_picture(state).attributes, lock_picture(whole).attributes

    assert (then["width"], then["height"]) == (end["width"], end["height"])


def test_the_sentence_has_the_moment_in_words():
    """When, of how long, and what was so then. [NBK-06]"""
    assert kb.locks(LIVE, at=2.2).state.status == "at 2.20 s of 3.00 s: write tools holds trip, 1 waiting"


def test_between_two_sessions_the_sentence_does_not_speak_of_the_end():
    """What is over so far is not all. [NBK-06]"""
    status = kb.locks(many(5), at=0.07).state.status

    assert status == "at 70 ms of 450 ms: 1 of 5 sessions over, nobody holds a lock"


def test_the_text_has_the_moment_and_the_axis_of_the_whole_run():
    """Text shows what was chosen, too. [NBK-06]"""
    text = str(kb.locks(LIVE, at=2.2))

    assert text.startswith("Lock view   at 2.20 s of 3.00 s")
    assert "\n  At 2.20 s\n" in text
    assert "3.00 s\n" in text


def test_a_page_of_a_replay_shows_the_moment_without_a_track():
    """A saved picture has the line of the moment, and nothing that cannot be moved. [NBK-06]"""
    written = render(kb.locks(LIVE, at=2.2).element)

    assert ">2.20 s</text>" in written
    assert "<input" not in written


def elements(root: Element) -> list[Element]:
    """An element and all in it."""
    return [root, *(one for child in root.children if isinstance(child, Element) for one in elements(child))]


def test_the_track_has_its_bounds_before_its_value():
    """A browser cuts a value to the bounds that it knows. [NBK-06]"""
    track = next(one for one in elements(kb.locks(LIVE, at=2.2).element) if one.tag == "input")

    assert list(track.attributes)[:5] == ["type", "min", "max", "step", "value"]
    assert (track.attributes["max"], track.attributes["value"]) == ("3.0", "2.2")


@pytest.mark.parametrize("value", ["soon", "nan", "-1", ""])
def test_what_is_no_moment_is_an_error(value):
    """The message has the bounds, and the moment stays. [NBK-06]"""
    view = kb.locks(LIVE, at=1.0)

    with pytest.raises(ViewError, match=r"is no moment of this run\. Give seconds from 0 to 3"):
        view.act("at", value)

    assert view.at == 1.0


@pytest.mark.parametrize("at", ["0", True, [1.0], 1j])
def test_a_moment_that_is_no_number_is_refused(at):
    """The keyword takes seconds. [NBK-06]"""
    with pytest.raises(
        TypeError, match=r"^at is a number of seconds since the first session, not .*\. Nothing is shown"
    ):
        kb.locks(LIVE, at=at)


@pytest.mark.parametrize("digits", [400, 5_000])
def test_a_moment_larger_than_any_float_is_refused(digits):
    """In words, and not by an overflow. [NBK-06]"""
    with pytest.raises(
        ViewError, match=r"at is no moment of this run: the number is too large\. Nothing is shown"
    ):
        kb.locks(LIVE, at=10**digits)


@pytest.mark.parametrize("at", [2, Fraction(2), numpy.int64(2), numpy.float32(2)])
def test_a_moment_is_a_number_of_any_kind(at):
    """Also one that was computed. [NBK-06]"""
    assert kb.locks(LIVE, at=at).at == 2.0


ASKED = session(2, 0.5)[:1]


@pytest.mark.parametrize(
    ("before", "status", "places"),
    [
        ([], "1 asking for a lock, nobody holds one", ["asks"]),
        (session(1, 0.0, 0.0), "write node_1 holds trip, nobody waits, 1 asking", ["holds", "asks"]),
        (session(1, 0.0), "1 waiting, nobody holds a lock, 1 asking", ["1st", "asks"]),
    ],
)
def test_a_session_that_was_only_asked_for_does_not_wait(before, status, places):
    """It may get the lock at once. [NBK-06]"""
    state = lock_state([*before, *ASKED], now=0.5)

    assert (state.status, [row.place for row in state.queue]) == (status, places)
    assert ("asking" in state.counts, "2 waiting" in state.counts) == (True, False)


@given(STORIES.filter(bool), st.integers(0, 60))
@settings(deadline=None)
def test_after_every_event_those_wait_who_stand_in_the_queue(events, place):
    """The sentence never says that somebody waits and that nobody had to. [NBK-06]"""
    until = events[: place % len(events) + 1]
    queued = {event.session for event in until if isinstance(event, SessionWaiting)}
    entered = {event.session for event in until if isinstance(event, SessionAcquired)}
    state = lock_state(until, now=until[-1].at)

    assert sum(row.outcome == "waiting" for lane in state.lanes for row in lane.sessions) == len(
        queued - entered
    )
    assert ("No session had to wait" in state.waits) == (not queued)


def test_a_session_that_waited_shortly_did_wait():
    """It stood in the queue, whatever a clock says. [NBK-06] [SES-14]"""
    state = lock_state(session(1, 0.0, 0.0001, 1.0))

    assert state.waits.startswith("Longest wait 0.1 ms")


def test_a_run_that_ends_where_a_session_is_asked_for_leaves_nobody_waiting():
    """The last line of a trace that was cut. [NBK-06]"""
    state = lock_state([*session(1, 0.0, 0.0, 0.2), *ASKED])

    assert state.status == "the trace ends while 1 asking for a lock, nobody holds one"
    assert "asking at end" in lock_text(state)


def test_a_moment_after_the_end_is_the_end():
    """A track may be moved as far as it goes. [NBK-06]"""
    assert kb.locks(LIVE, at=99.0).at is None


@pytest.mark.parametrize(
    ("at", "do", "words"), [(0.0, "earlier", "nothing was before it"), (9.0, "later", "came after")]
)
def test_beyond_the_ends_of_a_run_there_is_nothing(at, do, words):
    """The walk ends with a word. [NBK-06]"""
    with pytest.raises(ViewError, match=words):
        kb.locks(LIVE, at=at).act(do)


def test_without_sessions_there_is_nothing_to_go_through():
    """An empty view has no replay. [NBK-06]"""
    with pytest.raises(ViewError, match="No session was opened"):
        kb.locks([]).act("play")


def test_a_session_that_comes_later_says_when():
    """What is selected stays selected, and does not pretend to be there already. [NBK-06]"""
    view = kb.locks(LIVE, selected=7, at=1.0)

    assert view.selected is None
    assert "write late (cell 7:2) is not asked for yet: that comes at 2.60 s." in str(view)


def test_a_selected_session_is_as_it_was_at_the_moment():
    """The object in Python is what the picture shows. [NBK-06]"""
    selected = kb.locks(LIVE, selected=3, at=0.8).selected

    assert selected is not None
    assert (selected.outcome, selected.end) == ("waiting", 0.8)


def test_the_first_error_brings_the_replay_to_where_it_happened():
    """An error that is selected can be seen. [NBK-06]"""
    view = kb.locks(LIVE, at=0.8)

    view.act("error")

    assert view.at == 2.4
    assert view.selected is not None
    assert view.selected.outcome == "discarded"


def test_a_replay_knows_of_errors_that_have_not_happened_yet():
    """The button that leads to them is on from the beginning. [NBK-06]"""
    assert kb.locks(LIVE, at=0.0).state.errors == kb.locks(LIVE).state.errors == 2


def test_playing_needs_a_loop():
    """In a script one is told what to do instead. [NBK-06]"""
    view = kb.locks(LIVE)

    with pytest.raises(ViewError, match=r"view.act\('later'\)"):
        view.act("play")

    assert view.at is None


# ------------------------------------------------------------------------------------------- playing


class Viewer:
    """Sees each moment that a view shows, as the live form does."""

    def __init__(self, view: LockView) -> None:
        self.view = view
        self.moments: list[float | None] = []
        self.over = asyncio.Event()
        self.leave = view.watch(self._see)

    def _see(self) -> None:
        self.moments.append(self.view.at)
        replay = self.view.state.replay
        if replay is None or not replay.playing:
            self.over.set()

    async def still(self) -> bool:
        """Whether nothing moves any more for the time of some steps."""
        before = len(self.moments)
        await clock.sleep(0.06)
        return before == len(self.moments)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of ten milliseconds."""
    monkeypatch.setattr(lock_module, "_STEP", 0.01)


@pytest.mark.usefixtures("quick")
async def test_a_replay_plays_from_the_beginning_to_the_end_and_stops_by_itself():
    """It is started by one key, and leaves the run as it ended. [NBK-06]"""
    viewer = Viewer(kb.locks(LIVE))

    viewer.view.act("play")
    await asyncio.wait_for(viewer.over.wait(), 10)

    assert viewer.moments[0] == 0.0
    assert viewer.moments[1:-1] == sorted(moment for moment in viewer.moments[1:-1] if moment is not None)
    assert viewer.moments[-1] is None
    assert 29 <= len(viewer.moments) <= 33
    assert await viewer.still()


@pytest.mark.usefixtures("quick")
async def test_a_replay_goes_on_from_the_moment_that_is_shown():
    """Playing after a look at a moment does not begin again. [NBK-06]"""
    viewer = Viewer(kb.locks(LIVE, at=2.5))

    viewer.view.act("play")
    await asyncio.wait_for(viewer.over.wait(), 10)

    assert viewer.moments[0] == 2.5


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("do", "value"), [("play", ""), ("select", "3"), ("back", ""), ("later", "")])
async def test_any_other_click_stops_a_replay(do, value):
    """One looks at what one has clicked. [NBK-06]"""
    viewer = Viewer(kb.locks(list(LIVE)))
    viewer.view.act("play")
    await clock.sleep(0.05)

    viewer.view.act(do, value)

    assert await viewer.still()
    assert viewer.view.state.replay is not None
    assert not viewer.view.state.replay.playing


@pytest.mark.usefixtures("quick")
async def test_a_click_that_is_an_error_stops_a_replay_too():
    """The message can be read. [NBK-06]"""
    viewer = Viewer(kb.locks(LIVE))
    viewer.view.act("play")

    with pytest.raises(ViewError):
        viewer.view.act("select", "99")

    assert await viewer.still()


@pytest.mark.usefixtures("quick")
async def test_a_replay_that_nobody_sees_any_more_stops():
    """A view that was closed, or whose cell ran again, costs nothing. [NBK-06]"""
    viewer = Viewer(kb.locks(LIVE))
    viewer.view.act("play")
    await clock.sleep(0.03)

    viewer.leave()
    await clock.sleep(0.03)
    at = viewer.view.at

    assert await viewer.still()
    assert viewer.view.at == at
    assert viewer.view.state.replay is not None
    assert not viewer.view.state.replay.playing


@pytest.mark.usefixtures("quick")
async def test_a_view_that_is_closed_stays_at_its_moment():
    """What it showed last stays as a picture. [NBK-06]"""
    viewer = Viewer(kb.locks(LIVE))
    viewer.view.act("play")
    await clock.sleep(0.05)

    viewer.view.close()
    at = viewer.view.at

    assert await viewer.still()
    assert at is not None
    assert viewer.view.at == at


async def test_a_run_that_goes_on_has_no_replay_yet():
    """It is shown as it goes; afterwards there is a track. [NBK-06]"""
    trip = kb.strategy("trip", input=str, output=str)
    refused: list[str] = []
    shown: list[bool] = []

    @trip.node
    async def look(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.read_session():
            view = kb.locks(agent.last_run)
            shown.append(any(one.tag == "input" for one in elements(view.element)))
            try:
                view.act("play")
            except ViewError as problem:
                refused.append(str(problem))
        return text

    trip.start >> look >> trip.finish
    agent = kb.Agent(kb.ScriptedExecutor([]), model="offline", strategy=trip)
    run = await agent.run("x", "chat-1")
    shown.append(any(one.tag == "input" for one in elements(kb.locks(run).element)))

    assert refused == ["The run goes on and is shown as it goes; its replay begins when it is over."]
    assert shown == [False, True]


async def test_a_session_is_selected_while_the_run_goes_on():
    """One need not wait for the end. [NBK-06]"""
    trip = kb.strategy("trip", input=str, output=str)
    seen: list[str] = []

    @trip.node
    async def look(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.read_session():
            view = kb.locks(agent.last_run)
            view.act("next")
            seen.append(view.selected.outcome if view.selected else "")
        return text

    trip.start >> look >> trip.finish
    agent = kb.Agent(kb.ScriptedExecutor([]), model="offline", strategy=trip)
    await agent.run("x", "chat-1")

    assert seen == ["open"]
