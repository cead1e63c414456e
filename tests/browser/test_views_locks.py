"""The lock view as a browser draws it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace
from test_view_front_end import PAGE

import koogbook as kb
from koogbook.code_place import CodeExcerpt
from koogbook.events import (
    Event,
    RunCompleted,
    SessionAcquired,
    SessionClosed,
    SessionCommitted,
    SessionDiscarded,
    SessionOpened,
    SessionRefused,
    SessionSlow,
    SessionTimedOut,
    SessionWaiting,
)
from koogbook.notebook.views.lock_view.state import (
    LockState,
    lock_state,
    lock_state_at,
    with_selection,
    with_zoom,
)
from koogbook.notebook.views.lock_view.view import lock_element
from koogbook.notebook.views.look.markup import live_tree, render_static
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

HEBREW = "\u05de\u05d7\u05d9\u05e8: 120 \u20aa (tool: get_price)"
LONG_LINE = "        reply = await session.request_without_tools()  # " + "a very long comment " * 12
CODE = CodeExcerpt(118, 120, ("@trip.node", "async def audit(ctx):", LONG_LINE, "    return x", "x" * 300))
NESTED = [
    replace(REFUSED, first_code=CODE, code=CODE),
    replace(REFUSED, session=98, at=0.01, code=CODE, waits="awaits it through gather"),
]
ENDED: list[Event] = [
    *session(1, "slow_one", 0.0, 0.0, 40.0),
    SessionSlow(
        at=31.0, context="trip", session=1, mode="write", who="slow_one", place="cell 1:2", held=31.0
    ),
    *session(2, "patient", 5.0, 40.0, 41.0, mode="read"),
    *session(3, "impatient", 6.0),
    SessionTimedOut(
        at=16.0, context="trip", session=3, mode="write", who="impatient", place="cell 3:2", waited=10.0
    ),
    *session(4, "cancelled", 7.0),
    SessionClosed(at=9.0, context="trip", session=4, mode="write", who="cancelled", place="cell 4:2"),
    *session(5, "open_and_slow", 41.0, 41.0),
    SessionSlow(
        at=72.0, context="trip", session=5, mode="write", who="open_and_slow", place="cell 5:2", held=31.0
    ),
    *session(6, "late", 60.0),
]
NAMED = [
    *session(1, HEBREW, 0.0, 0.0, 1.0, context=HEBREW),
    *session(2, "abc \u202egnp.exe", 0.2, 1.0, 1.5, context=HEBREW, end=SessionDiscarded),
    *session(3, HEBREW, 0.4, 1.5, context="\u05ea\u05d9\u05e7, 2"),
    *session(4, HEBREW, 1.4, context="abc \u202egnp.exe"),
    replace(NESTED[0], who=HEBREW, context=HEBREW, place=HEBREW, first=HEBREW, at=1.6),
]
TWO_RUNS = [
    *(replace(event, run_id="4157aa01bb22cc33") for event in BUSY),
    RunCompleted(at=3.1, run_id="4157aa01bb22cc33"),
    *(replace(event, run_id="77aa01bb22cc33dd", at=event.at + 1.3) for event in BUSY),
]
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
    lock_state(BUSY, now=3.05),
    lock_state(BUSY, source="a_trace_with_quite_a_long_name.jsonl"),
    lock_state([*FAILED, *NESTED], now=3.0),
    with_selection(lock_state([*BUSY, *NESTED], now=3.1), 99),
    lock_state(ENDED),
    lock_state(ENDED, now=75.0),
    lock_state(NAMED),
    with_selection(lock_state(NAMED, now=2.0), 3),
    lock_state(TWO_RUNS),
    with_zoom(lock_state(MANY), 100),
    with_zoom(lock_state_at(MANY, 20.05), 150),
    with_selection(lock_state([*MANY, *CROWD]), 399),
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
    "now",
    "a trace",
    "nested",
    "selected and nested",
    "all ends",
    "all ends, now",
    "right to left",
    "right to left, selected",
    "two runs",
    "a part of many",
    "a part of many at 20 s",
    "many in a crowd",
    "empty",
]
each = pytest.mark.parametrize("state", STORIES, ids=NAMES)
#: What is wider than the box that holds it.
_TOO_WIDE = """
() => [...document.querySelectorAll('.kb-card, .kb-card *')].filter((one) => {
  const style = getComputedStyle(one);
  return one.clientWidth && one.scrollWidth > one.clientWidth + 1 && style.display !== 'inline'
    && !one.closest('svg') && !one.classList.contains('kb-hidden');
}).map((one) => `${one.tagName}.${one.className}`)
"""
#: The axis of the picture that is seen, and the ends of the track under it.
_AXIS = """
() => {
  const pictures = [...document.querySelectorAll('#one svg.kb-picture')];
  const picture = pictures.find((one) => one.getBoundingClientRect().width);
  const box = picture.getBoundingClientRect();
  const [left, right] = picture.getAttribute('width') === '940' ? [148, 868] : [16, 544];
  const scale = box.width / Number(picture.getAttribute('width'));
  const track = document.querySelector('#one input[type=range]').getBoundingClientRect();
  return [box.left + left * scale, box.left + right * scale, track.left + 8, track.right - 8];
}
"""
_DRAWN = "() => [...document.querySelectorAll('#one svg.kb-picture')].map((one) => one.getClientRects().length > 0)"


def document(state: LockState) -> str:
    """The view on a page of its own."""
    return page("Locks", None, [Section("locks", "Sessions", "", lock_element(state))])


def at_widths(page: Any, look: Callable[[Any], Any], *widths: int) -> list[Any]:
    """What is seen on a page at each of some widths."""
    seen = []
    for width in widths:
        page.set_viewport_size({"width": width, "height": 800})
        seen.append(look(page))
    return seen


@each
def test_no_text_of_the_lanes_lies_on_another(chromium_page, collisions, state):
    """Names stand in bars where they fit and nowhere else, in the wide picture and in the narrow one."""
    assert at_widths(chromium_page(document(state)), collisions, 1100, 640) == [[], []]


@each
def test_the_widths_hold_in_the_widest_usual_font(chromium_page, collisions, state):
    """Bars are measured without a browser and have room for DejaVu Sans."""
    html = document(state).replace("-apple-system", "'DejaVu Sans'")

    assert at_widths(chromium_page(html), collisions, 1100, 640) == [[], []]


@each
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_scrolls_sideways(chromium_page, sideways, state, theme):
    """Neither the page nor any box in it, the table included: the picture is a narrow one, code breaks its lines."""
    page = chromium_page(document(state), theme=theme)
    page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)")

    assert at_widths(page, sideways, 800, 640) == [0, 0]
    assert page.evaluate(_TOO_WIDE) == []


@pytest.mark.parametrize(("width", "wide"), [(1100, True), (800, True), (760, False), (640, False)])
def test_one_of_two_pictures_is_shown(chromium_page, width, wide):
    """The one that fits. [NBK-06]"""
    shown = chromium_page(document(lock_state(BUSY)), width=width)
    seen = [one.is_visible() for one in shown.locator("svg.kb-picture").all()]

    assert seen == [wide, not wide]


def test_the_static_picture_loads_from_its_address(chromium_page):
    """The image in a notebook is a picture that the browser can decode."""
    shown = chromium_page(render_static(lock_element(lock_state(BUSY))))

    assert shown.evaluate("[...document.images].filter(image => !image.naturalWidth).length") == 0


def test_the_static_picture_fits_a_narrow_place(chromium_page, sideways):
    """A code host has no room for all of it, and shows it smaller. [NBK-10]"""
    shown = chromium_page(render_static(lock_element(lock_state(TWO_RUNS))), width=640)

    assert sideways(shown) == 0


@pytest.mark.parametrize(("width", "beside"), [(1100, True), (640, False)])
def test_both_places_of_a_refusal_stand_side_by_side_where_there_is_room(chromium_page, width, beside):
    """And one under the other where there is none. [NBK-06]"""
    shown = chromium_page(document(lock_state([*FAILED, NESTED[0]])), width=width)
    first, second = (
        shown.get_by_text(word, exact=True).bounding_box()
        for word in ("first, still open", "second, refused")
    )

    assert (abs(first["y"] - second["y"]) < 2, second["x"] > first["x"] + 200) == (beside, beside)


@pytest.mark.parametrize("width", [1100, 640])
def test_the_lines_of_code_stand_one_under_the_other(chromium_page, width):
    """Each once, in their order; a long one goes on in the next line. [NBK-06]"""
    shown = chromium_page(
        document(lock_state([*session(1, "audit", 0.0, 0.0, 2.0, context="audit"), NESTED[0]])), width=width
    )
    lines = shown.locator("pre").first.locator(":scope > span")
    boxes = [one.bounding_box() for one in lines.all()]

    assert [text.split()[0] for text in lines.all_text_contents()] == ["118", "119", ">120", "121", "122"]
    assert all(abs(above["y"] + above["height"] - below["y"]) < 1 for above, below in pairwise(boxes))
    assert boxes[2]["height"] > 1.5 * boxes[0]["height"]


@pytest.mark.parametrize("width", [1100, 640])
def test_a_name_from_right_to_left_stays_in_its_bar(chromium_page, width):
    """It begins at the left edge and does not leave at the other side. [KB-046]"""
    shown = chromium_page(document(lock_state(NAMED, now=2.0)), width=width)
    bar = shown.locator("svg.kb-picture:visible g:has(> title):has-text('get_price')").first
    name, held = (
        bar.locator("text").bounding_box(),
        bar.locator("rect[fill='var(--kb-accent)']").bounding_box(),
    )

    assert held["x"] <= name["x"] <= held["x"] + 10
    assert name["x"] + name["width"] <= held["x"] + held["width"]


def test_what_stands_beside_a_name_from_right_to_left_keeps_its_place(chromium_page):
    """The number of those that wait does not move into the name before it. [KB-046]"""
    shown = chromium_page(document(lock_state(NAMED, now=2.0)))
    name = shown.locator(".kb-status bdi").last.bounding_box()
    after = shown.evaluate(
        """() => { const last = [...document.querySelectorAll('.kb-status bdi')].at(-1).nextSibling;
        const range = document.createRange(); range.selectNodeContents(last);
        const box = range.getBoundingClientRect(); return [box.left, last.data]; }"""
    )

    assert after[1] == ", 1 waiting"
    assert after[0] >= name["x"] + name["width"] - 1


# ------------------------------------------------------------------------------------------- the live form


@pytest.fixture
def live(chromium: Any) -> Iterator[Callable[..., Any]]:
    """A function that shows the live form of a view, and gives the page."""
    contexts = []

    def show(view: Any, *, width: int = 1000) -> Any:
        context = chromium.new_context(viewport={"width": width, "height": 800})
        contexts.append(context)
        shown = context.new_page()
        shown.set_content(PAGE)
        shown.wait_for_function("window.ready === true")
        shown.evaluate("tree => window.begin(tree)", live_tree(view.live_element(view.element)))
        return shown

    yield show
    for context in contexts:
        context.close()


@pytest.mark.parametrize("width", [1200, 1000, 800, 720, 640])
@pytest.mark.parametrize("at", [None, 1.9])
def test_the_track_lies_under_the_time_axis(live, width, at):
    """Its thumb stands under the moment that it shows. [NBK-06]"""
    left, right, begin, end = live(kb.locks(BUSY, at=at), width=width).evaluate(_AXIS)

    assert (abs(left - begin) < 1.5, abs(right - end) < 1.5) == (True, True)


@pytest.mark.parametrize("width", [1000, 720, 640, 520])
def test_the_buttons_of_the_track_have_one_margin_at_both_sides(live, width):
    """The last one does not touch the border of the card, and stands in the line of the others. [NBK-06]"""
    shown = live(kb.locks(BUSY, at=1.9), width=width)
    card = shown.locator("#one .kb-card").bounding_box()
    first, play, last = (
        shown.locator(f"#one [data-do={do}]").bounding_box() for do in ("earlier", "play", "end")
    )
    slider = shown.locator("#one input[type=range]").bounding_box()

    left = first["x"] - card["x"]
    right = card["x"] + card["width"] - last["x"] - last["width"]
    assert abs(left - right) < 1.5
    assert abs(play["y"] - last["y"]) < 2.5
    assert slider["x"] + slider["width"] <= last["x"] or last["y"] + last["height"] <= slider["y"] + 2


@pytest.mark.parametrize("at", [0.0, 0.04, 0.4, 1.9, 2.9])
def test_the_line_of_the_moment_runs_through_no_name_of_a_lane(chromium_page, at):
    """In the narrow picture the names stand above the lanes, on the axis itself. [NBK-06]"""
    shown = chromium_page(document(lock_state_at(BUSY, at)), width=640)
    crossed = shown.evaluate(
        """() => {
        const picture = [...document.querySelectorAll('svg.kb-picture')].find((one) => one.getClientRects().length);
        const line = picture.querySelector('path[stroke="var(--kb-accent)"][stroke-width="1.5"]');
        const parts = [...line.getAttribute('d').matchAll(/M([\\d.]+) ([\\d.]+)V([\\d.]+)/g)];
        const scale = picture.getBoundingClientRect().width / Number(picture.getAttribute('width'));
        const top = picture.getBoundingClientRect().top, left = picture.getBoundingClientRect().left;
        const texts = [...picture.querySelectorAll('text[font-weight="600"]')];
        const names = texts.map((one) => one.getBoundingClientRect());
        return [parts.length, names.length, parts.flatMap(([, x, from, to]) => names.filter((box) =>
          left + x * scale > box.left - 1 && left + x * scale < box.right + 1
          && top + to * scale > box.top && top + from * scale < box.bottom)).length];
        }"""
    )

    assert crossed == [4, 3, 0]


@pytest.mark.parametrize("width", [1000, 640])
def test_the_live_form_does_not_scroll_sideways(live, sideways, width):
    """With all its buttons. [NBK-11]"""
    view = kb.locks([*MANY, *NESTED], selected=99)
    view.act("zoom", "200")

    assert sideways(live(view, width=width)) == 0


@pytest.mark.parametrize("width", [1000, 640])
def test_the_arrows_reach_each_bar_once(live, width):
    """Of the two pictures only the one that is seen. [NBK-11]"""
    shown = live(kb.locks(BUSY), width=width)
    seen = shown.evaluate(_DRAWN)
    bars = shown.locator("#one svg.kb-picture [data-do=select]").evaluate_all(
        "all => all.filter((one) => one.getClientRects().length).map((one) => one.dataset.value)"
    )

    assert sorted(seen) == [False, True]
    assert sorted(map(int, bars)) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 99]


@pytest.mark.parametrize("width", [1000, 640])
def test_a_click_on_the_strip_enlarges_what_was_clicked(live, width):
    """The word and the session go to the kernel. [NBK-06]"""
    shown = live(kb.locks(MANY), width=width)
    places = shown.locator("#one svg.kb-picture:visible [data-do=zoom]")
    places.nth(10).click()

    assert places.count() == 20
    assert shown.evaluate("window.model.sent") == [{"do": "zoom", "value": "200"}]
