"""What can be selected in a lock view, and what is said of it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lock_stories import HOSTILE, HOSTILE_EVENTS, LIVE, REFUSED, many, session, story

import koogbook as kb
from koogbook.errors import ViewError
from koogbook.events import Event, SessionDiscarded, SessionTimedOut
from koogbook.notebook.views.lock_view.locks import LockView
from koogbook.notebook.views.lock_view.picture import MOST_LANES, lock_picture
from koogbook.notebook.views.lock_view.state import lock_state, with_selection
from koogbook.notebook.views.lock_view.view import lock_body
from koogbook.notebook.views.look.markup import Element, live_tree, render, render_static
from koogbook.notebook.widgets.patch import changes


def elements(root: Element) -> list[Element]:
    """An element and all in it."""
    return [root, *(one for child in root.children if isinstance(child, Element) for one in elements(child))]


def words(root: Element) -> str:
    """The text of an element, blanks as one."""
    texts = [child for one in elements(root) for child in one.children if isinstance(child, str)]
    return re.sub(r"\s+", " ", " ".join(texts))


def live(view: LockView) -> Any:
    """What the front end is given."""
    return live_tree(view.live_element(view.element))


def written(tree: Any) -> str:
    """A live tree as text, for what is somewhere in it."""
    return repr(tree)


def discarded(error: str = "ValueError: no seats") -> list[Event]:
    """A write session that waited for a reader and was thrown away."""
    waited = session(2, 0.1, 0.5, 0.9, who="ask", ahead=(1,), end=SessionDiscarded)
    told = [
        SessionDiscarded(
            at=0.9, context="trip", session=2, mode="write", who="ask", place="cell 2:2", error=error
        )
        if isinstance(event, SessionDiscarded)
        else event
        for event in waited
    ]
    return story(session(1, 0.0, 0.0, 0.5, who="meter", mode="read"), told)


def test_a_session_is_selected_by_its_number():
    """A click on a bar and a line of Python are the same. [NBK-06]"""
    view = kb.locks(LIVE)

    view.act("select", "3")

    assert view.selected is not None
    assert (view.selected.who, view.selected.outcome) == ("ask", "committed")


@pytest.mark.parametrize(("do", "value"), [("select", "3"), ("back", "")])
def test_a_second_click_and_escape_let_go_of_a_session(do, value):
    """What was selected can be left in two ways. [NBK-06]"""
    view = kb.locks(LIVE, selected=3)

    view.act(do, value)

    assert view.selected is None


def test_all_lock_views_of_the_same_events_have_the_same_selection():
    """Two pictures of one thing do not disagree. [NBK-06]"""
    events = list(LIVE)
    one, other = kb.locks(events), kb.locks(events)

    one.act("select", "5")

    assert other.selected == one.selected


@pytest.mark.parametrize("number", ["99", "", "x", "-1"])
def test_a_session_that_is_not_there_is_an_error_that_lists_those_there_are(number):
    """One sees what could have been meant, and nothing was changed. [NBK-06]"""
    view = kb.locks(LIVE, selected=3)

    with pytest.raises(ViewError, match=r"There is no session .*1 \(write prepare\), 2 \(read meter\)"):
        view.act("select", number)

    assert view.selected is not None


def test_an_unknown_session_cannot_be_asked_for_from_the_start():
    """The keyword is checked like a click. [NBK-06]"""
    with pytest.raises(ViewError, match="There is no session '99'"):
        kb.locks(LIVE, selected=99)


def test_the_panel_says_who_where_and_how_long():
    """A committed session in figures: asked, waited, held, messages, tokens. [NBK-06]"""
    text = words(kb.locks(LIVE, selected=3).element)

    assert "write session 3 of 8 \u00b7 trip \u00b7 cell 3:2" in text
    assert "asked at 600 ms waited 400 ms held 1.00 s" in text
    assert "messages 0 tokens 0" in text


def test_the_panel_says_whom_a_session_waited_for():
    """A wait has a cause, and the cause a place. [NBK-06]"""
    assert "waited for read meter (cell 2:2)" in words(kb.locks(LIVE, selected=3).element)


def test_a_session_that_waits_still_says_whom_for():
    """It is not spoken of as if it were over. [NBK-06]"""
    text = words(kb.locks(LIVE, selected=7, at=2.9).element)

    assert "waits for write trim (cell 5:2), read view (cell 6:2)" in text


def test_an_open_session_has_held_its_lock_so_far():
    """A figure that still grows says so. [NBK-06]"""
    assert "held 500 ms so far" in words(kb.locks(LIVE, selected=5, at=2.9).element)


def test_a_discarded_session_shows_its_error():
    """What went wrong, and that nothing was committed. [NBK-06]"""
    text = words(kb.locks(discarded(), selected=2).element)

    assert "ValueError: no seats" in text
    assert "nothing was committed" in text


def test_a_refused_session_shows_both_places():
    """The one that is open and the one that was refused stand together. [NBK-06]"""
    panel = next(
        one
        for one in elements(kb.locks(LIVE, selected=9).element)
        if "kb-half" in one.cls and "in Python" in words(one)
    )

    assert "first, still open write session cell 14:3" in words(panel)
    assert "second, refused read session cell 11:2" in words(panel)


def test_the_panel_names_the_object_in_python_whatever_the_view_is_called():
    """The variable may have any name. [NBK-06]"""
    assert "in Python: the view's .selected" in words(kb.locks(LIVE, selected=3).element)


def test_the_panel_of_a_runs_view_names_its_own_attribute():
    """There the session has another one. [NBK-06]"""
    body = lock_body(with_selection(lock_state(LIVE), 3), python=".session")

    assert "in Python: the view's .session" in " ".join(map(words, body))


@pytest.mark.parametrize("value", [1, None, 2.0, ["3"]])
@pytest.mark.parametrize("do", ["select", "at", "zoom", "next"])
def test_a_value_that_is_no_text_is_an_error(do, value):
    """It is what a click sends; the selection stays. [NBK-06]"""
    view = kb.locks(LIVE, selected=3)

    with pytest.raises(
        TypeError, match=r"act takes its value as text, as a click gives it, not .*'select', '3'"
    ):
        view.act(do, value)

    assert view.selected is not None
    assert view.selected.number == 3


def test_a_session_that_timed_out_shows_who_held_the_lock():
    """A timeout is no riddle. [NBK-06]"""
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

    view = kb.locks([*session(1, 0.0, 0.0), *session(2, 1.0, mode="read"), timed_out], selected=2)

    assert "the lock was held by ask cell 9:4" in words(view.element)
    assert "the lock was held by ask cell 9:4" in str(view)


def test_the_first_error_is_the_one_that_ended_first():
    """One key leads to what needs a person. [NBK-06]"""
    view = kb.locks(LIVE)

    view.act("error")

    assert view.selected is not None
    assert view.selected.outcome == "discarded"


def test_the_error_after_the_last_one_is_the_first_again():
    """The same key goes through all of them. [NBK-06]"""
    view = kb.locks(LIVE)

    for _ in range(3):
        view.act("error")

    assert view.selected is not None
    assert view.selected.number == 4


def test_without_an_error_there_is_none_to_select():
    """A good run says so. [NBK-06]"""
    with pytest.raises(ViewError, match="No session was refused, timed out or discarded"):
        kb.locks(many(3)).act("error")


@given(st.integers(1, 30))
def test_next_goes_through_all_sessions_in_the_order_in_which_they_were_asked_for(size):
    """No session is out of reach, even where the picture does not draw it. [NBK-06]"""
    view, seen = kb.locks(many(size)), []

    for _ in range(size):
        view.act("next")
        seen.append(view.selected.number)

    assert seen == list(range(size))


@pytest.mark.parametrize(("do", "edge", "number"), [("next", "last", 9), ("previous", "first", 1)])
def test_beyond_the_ends_there_is_no_session(do, edge, number):
    """The walk ends with a word. [NBK-06]"""
    view = kb.locks(LIVE, selected={9: 7}.get(number, number))

    with pytest.raises(ViewError, match=f"The {edge} of 8 sessions is selected"):
        view.act(do)


@given(st.sampled_from([1, 2, 3, 4, 5, 6, 7, 9]))
def test_selecting_and_letting_go_gives_the_same_bytes(number):
    """Nothing stays behind. [NBK-06]"""
    view = kb.locks(list(LIVE))
    before = (str(view), view.to_html(), live(view))

    view.act("select", str(number))
    view.act("back")

    assert (str(view), view.to_html(), live(view)) == before


def test_the_text_marks_the_selected_session():
    """Text shows what was chosen, too. [NBK-06]"""
    text = str(kb.locks(discarded(), selected=2))

    assert "\n  > ask" in text
    assert "Selected: write ask in trip (cell 2:2), DISCARDED" in text
    assert "error: ValueError: no seats" in text


@pytest.mark.parametrize(("selected", "halos"), [(3, 1), (None, 0)])
def test_the_static_form_has_a_halo_around_the_selected_bar_alone(selected, halos):
    """In both widths; the room that the live form keeps for it is not saved. [NBK-06]"""
    written = render(kb.locks(list(LIVE), selected=selected).element)

    assert written.count('fill="transparent" stroke="var(--kb-accent)" stroke-width="2"') == 2 * halos
    assert 'stroke="none"' not in written


@pytest.mark.parametrize("form", [render, render_static])
def test_the_static_form_has_no_control(form):
    """Nothing is drawn that cannot be clicked. [NBK-06]"""
    written = form(kb.locks(LIVE, selected=3).element)

    assert "<button" not in written
    assert "data-do" not in written


def test_every_bar_and_every_row_can_be_clicked():
    """Picture and table lead to the same. [NBK-06]"""
    found = [
        one.live["data-value"]
        for one in elements(kb.locks(LIVE).element)
        if one.live.get("data-do") == "select"
    ]

    assert {number: found.count(number) >= 2 for number in found} == dict.fromkeys(
        ["1", "2", "3", "4", "5", "6", "7", "9"], True
    )


def test_the_lanes_in_another_view_cannot_be_clicked():
    """A run's view has selections of its own. [NBK-06]"""
    bodies = lock_body(lock_state(LIVE))

    assert not [
        one for body in bodies for one in elements(body) if "data-do" in {**one.live, **one.attributes}
    ]


@pytest.mark.parametrize("number", [1, 2])
def test_no_word_of_a_session_becomes_markup(number):
    """Names of nodes and contexts and the texts of errors are text, in the panel, too. [NBK-06]"""
    view = kb.locks(HOSTILE_EVENTS, selected=number)

    assert "<script" not in render(view.element)
    assert "<script" not in render_static(view.element)


def test_the_error_of_a_session_is_text():
    """An exception may quote a model. [NBK-06]"""
    assert "<script" not in render(kb.locks(discarded(HOSTILE), selected=2).element)


# ------------------------------------------------------------------------------------------- many sessions


def crowd(size: int, contexts: int) -> list[Event]:
    """So many sessions, one in ten of them with a wait, in so many contexts."""
    return story(
        *(
            session(
                number,
                number / 10,
                number / 10 + (0.04 if number % 10 == 0 else 0),
                number / 10 + 0.09,
                context=f"trip/{number % contexts}",
            )
            for number in range(size)
        )
    )


@pytest.mark.parametrize(("size", "contexts"), [(5_000, 1), (5_000, 100), (5_000, 5_000), (1_200, 20)])
def test_five_thousand_sessions_stay_small(size, contexts):
    """What the front end is given stays below 400 kB, and what a click sends below a tenth of that. [NBK-06]"""
    view = kb.locks(crowd(size, contexts))
    before = live(view)

    view.act("select", str(size // 2))

    assert len(written(before)) < 400_000
    assert len(written(changes(before, live(view)))) < 40_000


def test_a_session_of_a_long_lane_gets_a_bar_when_it_is_selected():
    """The strip of a long loop does not hide what one looks at, in the wide picture and the narrow one. [NBK-06]"""
    view = kb.locks(many(500))

    view.act("select", "250")

    assert [
        one.live["data-value"]
        for one in elements(view.element)
        if one.tag == "g" and one.live.get("aria-pressed") == "true"
    ] == ["250"] * 2


def test_of_too_many_contexts_those_left_out_are_counted():
    """Contexts without a lane are a number in the picture. [NBK-06]"""
    text = words(lock_picture(lock_state(crowd(60, 60))))

    assert f"{60 - MOST_LANES} more contexts with 36 sessions are not drawn" in text


def test_a_context_with_trouble_has_a_lane_before_all_others():
    """What needs a person is not among what is left out. [NBK-06]"""
    bad = session(99, 9.0, 9.0, 9.1, context="the bad one", end=SessionDiscarded)

    assert "the bad one" in words(lock_picture(lock_state([*crowd(60, 60), *bad])))


def test_the_lane_of_the_selected_session_is_drawn():
    """A session of a context that is left out can be looked at. [NBK-06]"""
    view = kb.locks(crowd(60, 60), selected=59)

    assert "trip/59" in words(lock_picture(view.state))


def test_the_text_of_many_contexts_counts_those_it_leaves_out():
    """Text stays as short as a page. [NBK-06]"""
    text = str(kb.locks(crowd(500, 500)))

    assert "... 460 more sessions in 460 more contexts not drawn" in text
    assert len(text.splitlines()) < 100


def test_the_table_says_how_many_with_trouble_it_leaves_out():
    """A page of forty is not taken for all trouble there was. [NBK-06]"""
    wrong = [session(number, number, number, number + 0.5, end=SessionDiscarded) for number in range(50)]

    assert "10 sessions left out here, 10 of them with trouble" in words(kb.locks(story(*wrong)).element)


def test_of_too_many_sessions_the_table_has_those_with_trouble():
    """A page of forty begins with what needs a person. [NBK-06]"""
    bad = session(99, 9.0, 9.0, 9.1, who="the bad one", end=SessionDiscarded)

    assert "the bad one write trip cell 99:2" in words(kb.locks([*many(60), *bad]).element)


def test_a_refusal_at_the_end_of_the_axis_has_its_words_before_it():
    """They do not leave the picture. [NBK-06]"""
    view = kb.locks([*session(1, 0.0, 0.0, 2.4, context="audit"), REFUSED])
    text = next(one for one in elements(lock_picture(view.state)) if one.children == ("nested read refused",))

    assert text.attributes["text-anchor"] == "end"
