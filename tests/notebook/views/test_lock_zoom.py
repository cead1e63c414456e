"""A long run in the lock view: the strip over all of it, and the part that is enlarged."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lock_stories import many, session, story

import koogbook as kb
from koogbook.errors import ViewError
from koogbook.events import Event, SessionDiscarded
from koogbook.notebook.views.lock_view.locks import LockView
from koogbook.notebook.views.lock_view.picture import lock_picture
from koogbook.notebook.views.lock_view.sheet import NARROW, WIDE
from koogbook.notebook.views.lock_view.state import WINDOW, lock_state, with_zoom
from koogbook.notebook.views.look.markup import Element, live_tree, render, render_static
from koogbook.notebook.widgets.patch import changes


def waits(size: int, *, long: int = -1) -> list[Event]:
    """So many sessions, each with a short wait, one of them with a long one."""
    return story(
        *(
            session(number, number / 10, number / 10 + (5.0 if number == long else 0.02), number / 10 + 5.04)
            for number in range(size)
        )
    )


def drawn(view: LockView) -> list[int]:
    """The sessions that have a bar in the wide picture."""
    bars = [one for one in elements(view.element) if one.tag == "g" and one.live.get("data-do") == "select"]
    numbers = [int(one.live["data-value"]) for one in bars]
    return numbers[: len(set(numbers))]


def elements(root: Element) -> Iterator[Element]:
    """An element and all in it."""
    yield root
    for child in root.children:
        if isinstance(child, Element):
            yield from elements(child)


def words(root: Element) -> str:
    """The text of an element, blanks as one."""
    texts = [child for one in elements(root) for child in one.children if isinstance(child, str)]
    return re.sub(r"\s+", " ", " ".join(texts))


@pytest.mark.parametrize("size", [WINDOW, WINDOW + 1])
def test_a_run_of_more_sessions_than_a_part_has_a_strip(size: int) -> None:
    """A short run is drawn as it is. [NBK-06]"""
    assert ("longest wait of each moment" in words(lock_picture(lock_state(waits(size))))) == (size > WINDOW)


def test_a_run_that_goes_on_has_no_strip() -> None:
    """What moves would move all that is under it. [NBK-06]"""
    assert "longest wait of each" not in words(lock_picture(lock_state(waits(300), now=99.0)))


@pytest.mark.parametrize("sheet", [WIDE, NARROW], ids=["wide", "narrow"])
def test_the_strip_shows_where_somebody_waited_longest(sheet) -> None:
    """The highest column stands where the long wait was, and the words say how long it was. [NBK-06]"""
    state = lock_state(waits(400, long=200))
    picture = lock_picture(state, sheet=sheet)
    path = next(one for one in elements(picture) if one.attributes.get("fill") == "var(--kb-t-warn)")
    columns = re.findall(r"M(\d+) \d+v-([\d.]+)h(\d+)", path.attributes["d"])
    (highest,) = [(int(x), int(width)) for x, height, width in columns if height == "24"]
    seconds = state.seconds / sheet.axis

    assert "longest wait of each moment, up to 5.00 s" in words(picture)
    assert (highest[0] - sheet.left) * seconds == pytest.approx(20, abs=0.5)
    assert highest[1] * seconds == pytest.approx(5, abs=0.5)


def test_without_a_wait_the_strip_says_so() -> None:
    """An empty strip is not taken for a missing one. [NBK-06]"""
    assert "nobody had to wait" in words(lock_picture(lock_state(many(300))))


@given(st.integers(0, 499))
@settings(max_examples=30, deadline=None)
def test_the_enlarged_part_holds_the_session_it_was_asked_for(number: int) -> None:
    """Two hundred sessions, also at both ends. [NBK-06]"""
    view = kb.locks(many(500))
    view.act("zoom", str(number))
    zoom = view.state.zoom

    assert zoom is not None
    assert zoom.last - zoom.first == WINDOW - 1
    assert zoom.first <= number + 1 <= zoom.last
    assert number in drawn(view)


def test_each_session_of_the_part_has_a_bar() -> None:
    """And its own time axis. [NBK-06]"""
    view = kb.locks(many(500))
    view.act("zoom", "250")

    assert set(drawn(view)) >= set(range(150, 350))
    assert ">16 s</text>" in render(lock_picture(view.state))


def test_a_session_that_reaches_into_the_part_is_drawn_in_it() -> None:
    """Who held the lock when it begins is seen. [NBK-06]"""
    view = kb.locks(story(many(500), session(9_000, 1.0, 1.0, 40.0, who="long")))
    view.act("zoom", "300")

    assert 9_000 in drawn(view)


@pytest.mark.parametrize("size", [500, 5_000])
def test_steps_lead_through_the_whole_run(size: int) -> None:
    """Every session is in one of the parts. [NBK-06]"""
    view = kb.locks(many(size))
    seen: list[range] = []
    while not seen or seen[-1].stop <= size:
        view.act("zoom_after")
        zoom = view.state.zoom
        assert zoom is not None
        seen.append(range(zoom.first, zoom.last + 1))
        if zoom.last == size:
            break

    assert seen[0].start == 1
    assert all(before.stop >= after.start for before, after in pairwise(seen))
    with pytest.raises(ViewError, match="The run ends here"):
        view.act("zoom_after")


def test_before_the_first_part_there_is_none() -> None:
    """The walk ends with a word, in both directions. [NBK-06]"""
    view = kb.locks(many(500))
    view.act("zoom", "250")
    view.act("zoom_before")

    assert view.state.zoom is not None
    assert view.state.zoom.first == 1
    with pytest.raises(ViewError, match="The run begins here"):
        view.act("zoom_before")


def test_a_short_run_is_not_enlarged() -> None:
    """It says how many sessions it takes. [NBK-06]"""
    with pytest.raises(ViewError, match="The run has 5 sessions; a part is enlarged of more than 200"):
        kb.locks(many(5)).act("zoom", "1")


def test_a_session_that_is_not_there_is_not_enlarged() -> None:
    """One sees which there are. [NBK-06]"""
    with pytest.raises(ViewError, match="There is no session '9000'"):
        kb.locks(many(500)).act("zoom", "9000")


def test_the_whole_run_comes_back_as_it_was() -> None:
    """Nothing of the part stays behind. [NBK-06]"""
    view = kb.locks(many(500))
    before = (str(view), render(view.element), live_tree(view.element))
    view.act("zoom", "250")
    view.act("whole")

    assert (str(view), render(view.element), live_tree(view.element)) == before


def test_the_selection_brings_its_part_with_it() -> None:
    """What is selected is seen. [NBK-06]"""
    wrong = story(many(500), session(9_000, 45.0, 45.0, 45.1, end=SessionDiscarded))
    view = kb.locks(wrong)
    view.act("zoom", "10")
    view.act("error")

    assert view.state.zoom is not None
    assert 9_000 in drawn(view)


def test_next_walks_out_of_a_part_into_the_one_after() -> None:
    """Its edge is no wall. [NBK-06]"""
    view = kb.locks(many(500), selected=199)
    view.act("zoom", "100")
    for _ in range(3):
        view.act("next")

    assert view.selected is not None
    assert (view.selected.number, view.selected.number in drawn(view)) == (202, True)


@pytest.mark.parametrize(("first", "shown"), [(-5, 1), (0, 1), (299, 300), (300, 301), (9_000, 301)])
def test_a_part_never_leaves_the_run(first: int, shown: int) -> None:
    """It is as long at the ends. [NBK-06]"""
    zoom = with_zoom(lock_state(many(500)), first).zoom

    assert zoom is not None
    assert (zoom.first, zoom.last) == (shown, shown + WINDOW - 1)


def test_a_part_is_text_too() -> None:
    """Which sessions, from when to when, on an axis of their own. [NBK-06] [NBK-10]"""
    view = kb.locks(many(500))
    view.act("zoom", "250")
    text = str(view)

    assert "Sessions 151 to 350 of 500, from 15.0 s to 35.0 s." in text
    assert "15.0 s       20.0 s" in text
    assert "node_150" in text
    assert "node_149 " not in text


def test_the_saved_form_says_which_part_it_shows() -> None:
    """Nobody takes a part for the whole. [NBK-06] [NBK-10]"""
    view = kb.locks(many(500))
    view.act("zoom", "250")

    assert "Sessions 151 to 350 of 500" in render(view.element)
    assert "Sessions 151 to 350 of 500" in render_static(view.element)
    assert "A long run" not in render(kb.locks(many(500)).element)


def test_a_replay_goes_through_a_part() -> None:
    """The line of the moment is there while the moment is. [NBK-06]"""
    view = kb.locks(many(500), at=20.0)
    view.act("zoom", "250")
    inside = render(lock_picture(view.state))
    view.act("at", "40.0")

    assert ">20.0 s</text>" in inside
    assert ">40.0 s</text>" not in render(lock_picture(view.state))


def test_every_place_of_the_strip_leads_to_a_part() -> None:
    """By a click or a key; each has a name. [NBK-06] [NBK-11]"""
    view = kb.locks(waits(5_000))
    places = [one for one in elements(view.element) if one.live.get("data-do") == "zoom"]
    names = {one.live["aria-label"] for one in places}

    assert len(places) == 2 * 20
    assert "Enlarge 200 sessions around 25.3 s, session 254" in names
    for place in places[:20]:
        view.act("zoom", place.live["data-value"])


def test_sessions_at_one_moment_have_an_axis() -> None:
    """Two hundred of them in no time are no reason to divide by it. [NBK-06]"""
    events = [event for number in range(300) for event in session(number, 0.0, 0.0, 0.0)]
    state = with_zoom(lock_state(events), 50)

    assert render(lock_picture(state))


@pytest.mark.parametrize("contexts", [1, 20, 500])
def test_an_enlarged_part_stays_small(contexts: int) -> None:
    """What the front end is given, and what a step sends. [NBK-06]"""
    events = story(
        *(
            session(
                number,
                number / 10,
                number / 10 + 0.02,
                number / 10 + 0.09,
                context=f"trip/{number % contexts}",
            )
            for number in range(5_000)
        )
    )
    view = kb.locks(events)
    view.act("zoom", "2500")
    before = live_tree(view.live_element(view.element))
    view.act("select", "2500")

    assert len(repr(before)) < 400_000
    assert len(repr(changes(before, live_tree(view.live_element(view.element))))) < 40_000
    assert len(view.to_html()) < 260_000
