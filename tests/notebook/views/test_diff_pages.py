"""A long prompt diff: its pages, its folded runs, the ways through it, and how large it gets."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from diff_stories import CHANGED, LEDGER, said, talk
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import koogbook as kb
from koogbook.errors import ViewError
from koogbook.messages.message import Message
from koogbook.notebook.views.diff_view.diff import DiffView
from koogbook.notebook.views.diff_view.model import (
    Band,
    FoldedRow,
    LeftOutRow,
    MessageRow,
    SummaryRow,
)
from koogbook.notebook.views.diff_view.selection import written
from koogbook.notebook.views.look.markup import live_tree
from koogbook.notebook.widgets.patch import changes


def long_diff(**given: Any) -> DiffView:
    """Every other message of 2,000 was dropped."""
    history = talk(2000)
    return kb.diff(history, history[::2], **given)


def live(view: DiffView) -> Any:
    """The live form."""
    return live_tree(view.live_element(view.element))


def size(tree: Any) -> int:
    """Bytes of a tree, or of changes, as they are sent."""
    return len(json.dumps(tree, ensure_ascii=False, separators=(",", ":")).encode())


def covered(rows: Any) -> list[int]:
    """The positions that rows stand for; an opened run has its messages in rows of their own."""
    found: list[int] = []
    for row in rows:
        if isinstance(row, FoldedRow) and not row.opened:
            found += range(row.first, row.last + 1)
        elif isinstance(row, MessageRow | SummaryRow):
            found.append(row.position)
    return found


def on_all_pages(view: DiffView) -> list[tuple[Band, ...]]:
    """The bands of each page in order, or of all at once where there are no pages."""
    if not view.state.page.count:
        return [view.state.bands]
    found = []
    for number in range(1, view.state.page.count + 1):
        view.act("page", str(number))
        found.append(view.state.bands)
    return found


# ------------------------------------------------------------------------------------------- pages


@settings(max_examples=25, deadline=None)
@given(CHANGED, st.booleans())
def test_each_message_is_on_exactly_one_page(
    histories: tuple[list[Message], list[Message]], unfold: bool
) -> None:
    """Whoever turns all pages has seen all messages, and none twice, whatever is open. [NBK-07]"""
    view = kb.diff(*histories)
    if unfold and view.state.folds:
        view.act("unfold")
    bands = [band for page in on_all_pages(view) for band in page]

    left = [place for band in bands for place in covered(band.left)]
    right = [place for band in bands for place in covered(band.right)]
    assert (left, sorted(right)) == (list(range(len(histories[0]))), list(range(len(histories[1]))))


def test_a_long_diff_begins_with_its_start_and_its_end() -> None:
    """One sees where the conversation began and where it stands; the rest is a click away. [NBK-07]"""
    page = long_diff().state.page

    assert (page.number, page.count, page.cut) == (0, 20, 1)
    assert page.words == "48 messages: before 0 to 1,999, after 0 to 999"


def test_pages_are_turned_one_by_one_or_by_number() -> None:
    """Earlier, later, a number, and back to the start and the end. [NBK-07]"""
    view = long_diff()
    turned = []
    for value in ("later", "later", "earlier", "20", "0"):
        view.act("page", value)
        turned.append(view.state.page.number)

    assert turned == [1, 2, 1, 20, 0]


def test_a_page_says_what_is_on_it() -> None:
    """In the live form and in the text. [NBK-07]"""
    view = long_diff()
    view.act("page", "2")

    assert view.state.page.words == "100 messages: before 100 to 199, after 50 to 99"
    assert "  page 2 of 20   100 messages: before 100 to 199, after 50 to 99" in str(view)
    assert "page 2 of 20" in view.to_html()


@pytest.mark.parametrize("value", ["21", "-1", "middle", "earlier", "9" * 12])
def test_there_is_no_page_beyond_the_last(value: str) -> None:
    """The message says which pages there are, and the page stays. [NBK-07]"""
    view = long_diff()
    with pytest.raises(
        ViewError, match=r"There are 1 to 20, earlier and later, and 0 for the start and the end"
    ):
        view.act("page", value)

    assert view.state.page.number == 0


def test_a_short_diff_has_no_pages() -> None:
    """And says so. [NBK-07]"""
    with pytest.raises(ViewError, match="All rows are shown"):
        kb.diff(replace(LEDGER)).act("page", "later")


def test_the_place_where_rows_are_left_out_leads_to_them() -> None:
    """A click on it shows the page on which they begin. [NBK-07]"""
    view = long_diff()
    view.act("page", str(view.state.page.cut))

    first_left_out = 24
    assert first_left_out in [place for band in view.state.bands for place in covered(band.left)]
    assert f"'data-do': 'page', 'data-value': '{view.state.page.cut}'" in str(live(long_diff()))


def test_a_selection_turns_to_its_page() -> None:
    """What is selected is seen. [NBK-07]"""
    view = long_diff(selected="before:1000")
    pages = [view.state.page.number]
    view.act("select", "after:999")
    pages.append(view.state.page.number)

    assert pages == [11, 20]


def test_a_selection_that_is_shown_turns_no_page() -> None:
    """The first rows are on the first view, and stay there. [NBK-07]"""
    view = long_diff()
    view.act("select", "before:3")

    assert view.state.page.number == 0


@pytest.mark.parametrize(("form", "tables"), [("side by side", 1), ("inline", 1), ("", 2)])
def test_a_reader_can_choose_one_form_of_the_table(form: str, tables: int) -> None:
    """Without a choice, the page has both and its width decides. [NBK-07]"""
    view = kb.diff(replace(LEDGER))
    view.act("form", form)

    assert str(live(view)).count(", with tokens and fate") == tables


def test_an_unknown_form_is_refused() -> None:
    """The message names the two. [NBK-07]"""
    with pytest.raises(ViewError, match="'side by side' and 'inline'"):
        kb.diff(replace(LEDGER)).act("form", "diagonal")


# ------------------------------------------------------------------------------------------- folded runs


def folded(view: DiffView) -> list[tuple[int, int, bool]]:
    """The folded runs of the first history: first, last, whether open."""
    return [
        (row.first, row.last, row.opened)
        for band in view.state.bands
        for row in band.left
        if isinstance(row, FoldedRow)
    ]


def test_a_folded_run_opens_and_folds_again() -> None:
    """Its row stays as a head that folds it. [NBK-07]"""
    view = kb.diff(talk(20), talk(20))
    seen = [(folded(view), len(view.state.bands))]
    for _ in range(2):
        view.act("fold", "0")
        seen.append((folded(view), len(view.state.bands)))

    assert seen == [([(0, 17, False)], 3), ([(0, 17, True)], 21), ([(0, 17, False)], 3)]


def test_all_runs_open_and_fold_together() -> None:
    """One key for all; a run can still be folded alone. [NBK-07]"""
    history = talk(30)
    view = kb.diff(history, [*history[:10], *history[11:]])
    view.act("unfold")
    opened = [run[2] for run in folded(view)]
    view.act("fold", "0")
    one = [run[2] for run in folded(view)]
    view.act("unfold")

    assert (opened, one, [run[2] for run in folded(view)]) == ([True, True], [False, True], [False, False])


@pytest.mark.parametrize("value", ["1", "x", ""])
def test_only_a_run_can_be_folded(value: str) -> None:
    """The message says where runs begin. [NBK-07]"""
    with pytest.raises(ViewError, match=r"Runs begin with: 0\."):
        kb.diff(talk(20), talk(20)).act("fold", value)


def test_without_runs_there_is_nothing_to_unfold() -> None:
    """And no button for it. [NBK-07]"""
    view = kb.diff(talk(3), talk(3))
    with pytest.raises(ViewError, match="no run of messages"):
        view.act("unfold")

    assert "Unfold" not in str(live(view))


def test_an_opened_run_shows_the_page_that_it_is_on() -> None:
    """A run of a thousand messages fills pages, and one stays where one clicked. [NBK-07]"""
    history = talk(2000)
    view = kb.diff(history, [*history[:600], *history[1700:]])
    view.act("fold", "601")

    assert view.state.page.number == 1
    assert 601 in [place for band in view.state.bands for place in covered(band.left)]


def test_a_tall_run_of_dropped_messages_stands_opposite_several_blocks() -> None:
    """Each counts its own messages, and all together have all. [NBK-07]"""
    history = talk(300)
    view = kb.diff(history, [*history[:50], *history[250:]])
    view.act("unfold")
    blocks = [
        row
        for page in on_all_pages(view)
        for band in page
        for row in band.right
        if isinstance(row, LeftOutRow)
    ]

    assert [(row.first, row.last, row.count) for row in blocks] == [
        (50, 108, 59),
        (109, 168, 60),
        (169, 228, 60),
        (229, 249, 21),
    ]


# ------------------------------------------------------------------------------------------- ways


def walked(view: DiffView, do: str, steps: int) -> list[str]:
    """What is selected after each step."""
    found = []
    for _ in range(steps):
        view.act(do)
        found.append(written(view.state.selected))
    return found


def test_next_goes_from_change_to_change_and_begins_again() -> None:
    """Each run of one fate is one change, each summary another. [NBK-07]"""
    steps = ["before:0", "before:2", "before:4", "before:6", "after:3"]

    assert walked(kb.diff(replace(LEDGER)), "next", 6) == [*steps, "before:0"]


def test_next_goes_on_from_what_is_selected() -> None:
    """Wherever one is. [NBK-07]"""
    assert walked(kb.diff(replace(LEDGER), selected="before:5"), "next", 1) == ["before:6"]


def test_next_turns_the_pages() -> None:
    """No change is skipped because it is not shown. [NBK-07]"""
    view = long_diff(selected="before:199")
    view.act("next")

    assert (view.state.selected, view.state.page.number) == (201, 3)


def test_next_has_nowhere_to_go_where_nothing_changed() -> None:
    """It says so, and its button is off. [NBK-07]"""
    view = kb.diff(talk(9), talk(9))
    with pytest.raises(ViewError, match="Nothing changed"):
        view.act("next")

    assert re.search(r"'data-do': 'next'[^]]*'disabled': ''", str(live(view)))


def test_new_messages_are_one_change() -> None:
    """A run of them is stopped at once. [NBK-07]"""
    view = kb.diff(talk(3), [*talk(3), said("user", "a", "a"), said("user", "b", "b")])

    assert walked(view, "next", 2) == ["after:3", "after:3"]


def test_lost_goes_from_lost_fact_to_lost_fact() -> None:
    """To the first message that held each of them. [NBK-07]"""
    history = talk(20)
    view = kb.diff(
        history, history[:3], must_keep=["Question 7 ", "Question 2 ", "Question 11 ", "Question 9 "]
    )

    assert walked(view, "lost", 4) == ["before:7", "before:11", "before:9", "before:7"]


@pytest.mark.parametrize(
    ("facts", "said"), [(["museum"], "No fact is lost"), ([], r"kb\.diff\(\.\.\., must_keep=\[\.\.\.\]\)")]
)
def test_lost_says_when_there_is_no_lost_fact(facts: list[str], said: str) -> None:
    """And how facts are named. [NBK-07]"""
    with pytest.raises(ViewError, match=said):
        kb.diff(talk(9), talk(9)[:5], must_keep=facts).act("lost")


@pytest.mark.parametrize(
    ("start", "first"), [("S1.2", "before:7"), ("S1", "before:4"), ("after:4", "before:8")]
)
def test_sources_goes_to_the_first_source(start: str, first: str) -> None:
    """Of a sentence, of a summary, and from a kept message to its original. [NBK-07]"""
    assert walked(kb.diff(replace(LEDGER), selected=start), "sources", 1) == [first]


@pytest.mark.parametrize(
    ("start", "said"), [("before:7", "before:7 has no sources"), (None, "Nothing is selected")]
)
def test_an_original_has_no_sources(start: str | None, said: str) -> None:
    """The message says what has some. [NBK-07]"""
    with pytest.raises(ViewError, match=said):
        kb.diff(replace(LEDGER), selected=start).act("sources")


# ------------------------------------------------------------------------------------------- how large it gets


def edited(history: list[Message]) -> DiffView:
    """Each message was edited."""
    return kb.diff(history, [one.with_text(f"{one.text} und mehr 更多") for one in history])


def halved(history: list[Message]) -> DiffView:
    """Every other message was dropped."""
    return kb.diff(history, history[::2])


CHINESE = [
    said("user", "你好，请问河边安静的酒店在哪里？" * 9 + str(number), f"z{number}") for number in range(2000)
]
EMOJI = [said("user", "\U0001f642" * 300 + str(number), f"e{number}") for number in range(2000)]
PAGES: list[tuple[Callable[[list[Message]], DiffView], list[Message]]] = [
    (halved, talk(2000)),
    (edited, talk(2000)),
    (edited, CHINESE),
    (halved, EMOJI),
]


@pytest.mark.parametrize(("make", "history"), PAGES, ids=["dropped", "edited", "chinese", "emoji"])
@pytest.mark.parametrize("page", ["0", "3"])
def test_two_thousand_messages_make_a_small_live_view(
    make: Callable[[list[Message]], DiffView], history: list[Message], page: str
) -> None:
    """It is sent whole when it is shown first. [NBK-07]"""
    view = make(history)
    view.act("page", page)
    view.act("select", "before:201" if page == "3" else "before:1")

    assert size(live(view)) < 400_000


@pytest.mark.parametrize(("make", "history"), PAGES, ids=["dropped", "edited", "chinese", "emoji"])
def test_a_click_in_two_thousand_messages_sends_little(
    make: Callable[[list[Message]], DiffView], history: list[Message]
) -> None:
    """The rows stay; their light, the lines and the panel change. [NBK-07]"""
    view = make(history)
    view.act("page", "3")
    sent = []
    for text in ("before:201", "before:220", "before:220"):
        before = live(view)
        view.act("select", text)
        sent.append(size(changes(before, live(view))))

    assert max(sent) < 20_000


def test_no_row_is_twice_in_the_live_form_of_a_page() -> None:
    """A page of a hundred rows has one table, not one for each width. [NBK-07]"""
    view = long_diff()
    view.act("page", "2")
    values = Counter(re.findall(r"'data-value': '(before:\d+)'", str(live(view))))

    assert len(values) == 100
    assert max(values.values()) == 1
