"""What the view of a lock race says, and its forms."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import msgspec
import pytest

import koogbook as kb
from koogbook.errors import ViewError
from koogbook.events import Event, SessionEvent
from koogbook.labs.lock_race import Race
from koogbook.notebook.views.lab_view.lock_race import LockRaceView
from koogbook.notebook.views.lab_view.picture import race_picture
from koogbook.notebook.views.lab_view.state import RaceRow, race_state
from koogbook.notebook.views.look.markup import live_tree, render, render_static, svg_bytes
from koogbook.notebook.views.view import View

#: What a race can look like, by a word for it.
CHANGES: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "a writer gets through": {"seed": 3},
    "calm": {"readers": 1, "writers": 1, "read_seconds": 0.1, "write_seconds": 0.1, "pause": 1},
    "nobody comes": {"readers": 1, "writers": 1, "seconds": 0.01},
    "many": {"readers": 30, "writers": 10, "seconds": 6},
    "as many as there can be": {"readers": 39, "writers": 1, "seconds": 7.3},
    "many sessions": {"readers": 15, "writers": 1, "seconds": 17.9},
    "ten minutes": {"seconds": 600, "read_seconds": 60, "write_seconds": 30, "pause": 10},
    "milliseconds": {"seconds": 0.003, "read_seconds": 0.0004, "write_seconds": 0.0001, "pause": 0},
    "dense": {
        "readers": 1,
        "writers": 1,
        "seconds": 50,
        "read_seconds": 0.1,
        "write_seconds": 0.1,
        "pause": 0.08,
    },
    "held to the end": {"seconds": 1, "write_seconds": 40, "pause": 0},
}


@pytest.fixture(scope="module", params=CHANGES.values(), ids=CHANGES)
def race(request: pytest.FixtureRequest) -> LockRaceView:
    """Races of all kinds."""
    return kb.lock_race(**request.param)


def row(view: LockRaceView, lock: str, who: str) -> RaceRow:
    """One row of the table."""
    return next(row for row in view.rows if (row.lock, row.who) == (lock, who))


# ------------------------------------------------------------------------------------------- what it says


def test_one_call_gives_a_view() -> None:
    """A table and a picture, without any preparation. [NBK-15]"""
    assert isinstance(kb.lock_race(), View)


def test_the_sentence_says_who_starved_and_what_the_fair_lock_did() -> None:
    """The lesson in one line. [NBK-15]"""
    assert kb.lock_race().state.status == (
        "reader-first: writer 2 waited 9.88 s of 10.0 s and never entered; "
        "fair: the longest wait was 736 ms (writer 2)"
    )


def test_a_writer_that_got_through_is_not_called_starved() -> None:
    """Luck is possible, and is what is told then. [NBK-15]"""
    view = kb.lock_race(seed=3)

    assert view.state.status.startswith(
        "reader-first: the longest wait was 5.60 s (writer 2), overtaken by 42 sessions"
    )


def test_numbers_without_starvation_are_called_what_they_are() -> None:
    """Nothing of the sentence is written beforehand. [NBK-15]"""
    calm = kb.lock_race(**CHANGES["calm"]).state

    assert (calm.status, calm.status_word) == (
        "reader-first: the longest wait was 97 ms (writer 1); fair: the longest wait was 97 ms (writer 1)",
        "done",
    )


def test_a_race_that_is_over_before_anybody_comes_says_so() -> None:
    """And has its rows all the same. [NBK-15]"""
    view = kb.lock_race(**CHANGES["nobody comes"])

    assert view.state.status == "reader-first: nobody came in this time; fair: nobody came in this time"
    assert [task.who for task in view.state.lanes[0].tasks] == ["reader 1", "writer 1"]


def test_the_mark_of_the_sentence_is_that_of_the_trouble() -> None:
    """Waiting to the end, overtaken on the way, or neither. [NBK-15]"""
    words = [
        kb.lock_race(**changes).state.status_word
        for changes in (
            {},
            {
                "readers": 2,
                "writers": 3,
                "seconds": 60,
                "read_seconds": 2.0,
                "write_seconds": 0.7,
                "pause": 0.6,
            },
            CHANGES["calm"],
        )
    ]

    assert words == ["waiting", "warning", "done"]


def test_the_table_has_a_row_for_the_readers_and_one_for_the_writers_of_each_lock() -> None:
    """Four rows, the fair lock first. [NBK-15]"""
    assert [(row.lock, row.who) for row in kb.lock_race().rows] == [
        ("fair", "readers"),
        ("fair", "writers"),
        ("reader-first", "readers"),
        ("reader-first", "writers"),
    ]


def test_starving_writers_are_in_the_table() -> None:
    """None of their sessions entered, both wait, and how many passed them. [NBK-15]"""
    found = row(kb.lock_race(), "reader-first", "writers")

    assert (found.tasks, found.sessions, found.waiting, found.starving) == (2, 0, 2, 2)
    assert found.longest_wait > 9.5
    assert found.overtaken > 70


def test_who_waits_at_the_end_of_a_fair_race_does_not_starve() -> None:
    """It stands in the queue, and nobody has passed it. [NBK-15, SES-09]"""
    found = row(kb.lock_race(), "fair", "readers")

    assert (found.waiting, found.starving, found.overtaken) == (4, 0, 0)


def test_the_price_of_fairness_is_in_the_table() -> None:
    """Readers get fewer sessions on the fair lock: no lock is better in all. [NBK-15]"""
    view = kb.lock_race()

    assert row(view, "fair", "readers").sessions < row(view, "reader-first", "readers").sessions


def test_the_rows_add_up_to_the_lanes(race: LockRaceView) -> None:
    """Table and picture are made of the same sessions. [NBK-15]"""
    for lane in race.state.lanes:
        for who, mode in (("readers", "read"), ("writers", "write")):
            tasks = [task for task in lane.tasks if task.mode == mode]
            found = row(race, lane.lock, who)
            waits = [session.waited for task in tasks for session in task.sessions]
            assert found.tasks == len(tasks)
            assert found.sessions == sum(task.entered for task in tasks)
            assert found.longest_wait == max(waits, default=0.0)
            assert found.mean_wait == pytest.approx(sum(waits) / len(waits) if waits else 0.0)


def test_nobody_is_overtaken_on_the_fair_lock(race: LockRaceView) -> None:
    """Whatever the numbers are. [NBK-15, SES-09]"""
    assert {found.overtaken for found in race.rows if found.lock == "fair"} == {0}


def test_a_frame_has_the_table() -> None:
    """The same rows and columns, waits in seconds. [NBK-15]"""
    view = kb.lock_race()
    frame = view.to_dataframe()

    assert [tuple(found) for found in frame.itertuples(index=False)] == [
        msgspec.structs.astuple(found) for found in view.rows
    ]
    assert list(frame.columns) == list(RaceRow.__struct_fields__)


@pytest.mark.parametrize("lock", ["fair", "reader-first"])
def test_the_lock_view_replays_one_lock(lock: str) -> None:
    """Its events are those of sessions, so all that shows sessions shows them. [NBK-06, NBK-15]"""
    race = kb.lock_race()
    view = kb.locks(race.events(lock), at=5.0)

    assert view.state.whole[0].context == lock
    assert view.state.seconds == pytest.approx(10.0, abs=0.2)
    assert sum(task.entered for lane in race.state.lanes if lane.lock == lock for task in lane.tasks) == sum(
        found.acquired is not None for found in view.state.whole[0].sessions
    )


def test_the_events_of_both_locks_can_be_looked_at_together() -> None:
    """Two contexts on one axis. [NBK-06, NBK-15]"""
    race = kb.lock_race()
    together = sorted([*race.events("fair"), *race.events("reader-first")], key=lambda event: event.at)

    assert {lane.context for lane in kb.locks(together).state.lanes} == {"fair", "reader-first"}


def test_a_lock_that_did_not_race_is_refused_by_name() -> None:
    """The message has the names that there are. [NBK-15]"""
    with pytest.raises(ViewError, match=r"no lock 'reader_first'\. Did you mean 'reader-first'\?"):
        kb.lock_race().events("reader_first")


def test_a_wrong_number_is_refused_before_anything_runs() -> None:
    """By the call itself. [NBK-15]"""
    with pytest.raises(ValueError, match="readers is a whole number from 1 on, got 0"):
        kb.lock_race(0)


# ------------------------------------------------------------------------------------------- forms


def test_the_text_is_plain_and_narrow(race: LockRaceView) -> None:
    """It can go to any terminal: ASCII, 100 columns. [NBK-10]"""
    text = str(race)

    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 100


def test_the_text_has_a_row_for_everyone(race: LockRaceView) -> None:
    """On both locks, with its figures under the heads. [NBK-10]"""
    lines = [line for line in str(race).splitlines() if re.match(r"  (reader|writer) \d", line)]

    assert len(lines) == sum(len(lane.tasks) for lane in race.state.lanes)


def test_the_text_shows_a_wait_that_never_ends() -> None:
    """A row of dots to its last column. [NBK-10, NBK-15]"""
    line = [line for line in str(kb.lock_race()).splitlines() if line.startswith("  writer 1")][-1]

    assert re.fullmatch(r"  writer 1    \.{59} +0 +9\.87 s", line)


def test_the_columns_of_the_text_stand_under_their_heads(race: LockRaceView) -> None:
    """The figures end where their head does. [NBK-10]"""
    lines = str(race).splitlines()
    head = next(place for place, line in enumerate(lines) if line.startswith("  lock"))
    rule = lines[head + 1]

    assert {len(line) for line in lines[head : head + 6]} == {len(rule)}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_picture_is_well_formed(race: LockRaceView, theme: Any) -> None:
    """In both themes, and no colour needs a style sheet. [NBK-10]"""
    document = svg_bytes(race_picture(race.state), theme)

    assert ElementTree.fromstring(document).tag == "{http://www.w3.org/2000/svg}svg"
    assert b"var(" not in document


def test_nothing_is_drawn_beyond_the_time_axis(race: LockRaceView) -> None:
    """No bar begins before the race or goes on after it. [NBK-15]"""
    document = ElementTree.fromstring(svg_bytes(race_picture(race.state), "light"))
    starts = [
        float(x)
        for path in document.iter("{http://www.w3.org/2000/svg}path")
        for x in re.findall(r"M([\d.]+)", path.get("d", ""))
    ]

    assert min(starts) >= 92
    assert max(starts) <= 775


def test_both_themes_differ_in_their_colours() -> None:
    """The dark picture is not the light one. [NBK-11]"""
    picture = race_picture(kb.lock_race().state)

    assert svg_bytes(picture, "light") != svg_bytes(picture, "dark")


def test_the_static_form_survives_an_untrusted_notebook(race: LockRaceView) -> None:
    """Neither a style sheet nor an inline picture is needed. [NBK-10]"""
    html = race._repr_mimebundle_()["text/html"].partition("</style>")[2]

    assert [tag for tag in ("<style", "<svg", "<script", "<link") if tag in html] == []


def test_a_saved_cell_stays_under_200_kb(race: LockRaceView) -> None:
    """With as many sessions as there can be. [NBK-10]"""
    assert len(race.to_html()) < 200_000


def test_the_picture_is_also_told_in_words() -> None:
    """Who cannot see it hears the verdict. [NBK-11]"""
    html = kb.lock_race().to_html()
    alt = re.search(r'alt="(Lock race\. [^"]*)"', html)

    assert alt is not None
    assert "never entered" in alt.group(1)


@pytest.mark.parametrize("form", [render, render_static])
def test_names_in_events_are_text(form: Any) -> None:
    """Whatever a context or a task is called, no form opens a foreign element. [NBK-11]"""
    hostile = "</text><script>\"'&\x00\u202e"
    view = kb.lock_race(1, 1, seconds=1)

    def renamed(event: Event) -> Event:
        names = {"context": hostile, "place": hostile, "path": hostile, "run_id": hostile}
        return msgspec.structs.replace(event, **names) if isinstance(event, SessionEvent) else event

    events = {lock: tuple(map(renamed, view.events(lock))) for lock in ("fair", "reader-first")}
    written = form(LockRaceView(Race(view.state.plan, events)).element)

    assert "<script" not in written


def test_the_same_arguments_give_the_same_bytes() -> None:
    """A saved notebook does not change when its cell runs again. [NBK-10]"""
    first, second = kb.lock_race(seed=7), kb.lock_race(seed=7)

    assert (str(first), first.to_html("dark"), first.events("fair")) == (
        str(second),
        second.to_html("dark"),
        second.events("fair"),
    )


def test_another_process_gives_the_same_bytes_too() -> None:
    """Neither its hashes nor what ran before in it count. [NBK-10]"""
    code = "import sys, koogbook as kb; sys.stdout.write(kb.lock_race(seed=7).to_html())"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)

    assert (done.stdout, done.stderr) == (kb.lock_race(seed=7).to_html(), "")


async def test_it_can_be_called_in_a_cell() -> None:
    """Where the loop of the kernel is running. [NBK-04]"""
    assert str(kb.lock_race()) == str(kb.lock_race())


def test_the_live_form_is_the_same_picture() -> None:
    """There is nothing to click in it. [NBK-10]"""
    view = kb.lock_race()
    tree = str(live_tree(view.live_element(view.element)))

    assert "never entered" in tree
    assert "data-do" not in tree


def test_it_can_be_saved_as_a_page(tmp_path: Path) -> None:
    """A slide that opens in a browser. [NBK-10]"""
    page = kb.lock_race().save(tmp_path / "race.html")

    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_each_row_of_the_picture_is_a_few_shapes() -> None:
    """However many sessions it has: a picture of hundreds stays quick. [NBK-10]"""
    view = kb.lock_race(**CHANGES["dense"])
    document = svg_bytes(race_picture(view.state), "light")

    assert sum(found.sessions for found in view.rows) > 800
    assert document.count(b"<path") < 30


def test_the_state_is_made_of_the_race_alone() -> None:
    """A pure function of plan and events. [NBK-10]"""
    view = kb.lock_race()

    assert race_state(view._race) == view.state
