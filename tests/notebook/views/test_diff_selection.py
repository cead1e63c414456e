"""What can be selected in a prompt diff, and what one sees of it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from diff_stories import AFTER, BEFORE, CHANGED, LEDGER, SUMMARY, said, talk
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import koogbook as kb
from koogbook.errors import ViewError
from koogbook.messages.message import Message
from koogbook.messages.word_diff import provenance
from koogbook.notebook.views.diff_view.diff import DiffView
from koogbook.notebook.views.diff_view.model import (
    DiffState,
    Link,
    MessageRow,
    NewPlace,
    SentenceRow,
    SummaryRow,
)
from koogbook.notebook.views.diff_view.selection import read, written
from koogbook.notebook.views.look.markup import live_tree, render_static
from koogbook.notebook.widgets.patch import changes


def diff(**given: Any) -> DiffView:
    """The diff of the story, of a ledger of its own: what is selected belongs to the ledger."""
    return kb.diff(replace(LEDGER), must_keep=["peanut", "14:05", "88 euro"], **given)


def rows(state: DiffState) -> list[Any]:
    """All rows of both sides."""
    return [row for band in state.bands for row in (*band.left, *band.right)]


def marked(state: DiffState, mark: str) -> list[str]:
    """The texts of the rows with a mark, left before right in each band."""
    return [
        getattr(row, "text", getattr(row, "name", "")) for row in rows(state) if getattr(row, mark, False)
    ]


def live(view: DiffView) -> Any:
    """The live form."""
    return live_tree(view.live_element(view.element))


# ------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("text", "selection"),
    [
        ("before:7", 7),
        ("7", 7),
        (" 7 ", 7),
        ("after:4", NewPlace(4)),
        ("sentence:3.2", (3, 2)),
        ("S1.2", (3, 2)),
        ("S1", NewPlace(3)),
        ("", None),
    ],
)
def test_a_selection_is_named_as_it_stands_in_the_view(text: str, selection: Any) -> None:
    """Numbers, summaries and sentences have the names that one reads in the rows. [NBK-07]"""
    assert read(text, LEDGER) == selection


@pytest.mark.parametrize("selection", [None, 0, 9, NewPlace(0), NewPlace(3), (3, 1), (3, 2)])
def test_the_text_of_a_selection_is_read_back(selection: Any) -> None:
    """All views of a ledger have the text in common, so it says all. [NBK-07]"""
    assert read(written(selection), LEDGER) == selection


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("before:10", "There is no message before:10 in this diff. It has before:0 to before:9."),
        ("after:6", "There is no message after:6 in this diff. It has after:0 to after:5."),
        ("S1.3", "There is no sentence 3 in S1. Its sentences: 1 to 2."),
        ("sentence:0.1", "There is no sentence 1 in the message after:0. Its sentences: none."),
        ("S1.0", "There is no sentence 0 in S1. Its sentences: 1 to 2."),
        (
            "S2",
            "There is no 'S2' in this diff. It has before:0 to before:9 and after:0 to after:5 and the summaries S1 "
            "with sentences such as S1.1.",
        ),
        ("<img>", "There is no '<img>' in this diff."),
    ],
)
def test_what_is_not_there_cannot_be_selected(text: str, said: str) -> None:
    """The message says what there is, and the selection stays. [NBK-07]"""
    view = diff(selected="before:1")
    with pytest.raises(ViewError, match=re.escape(said)):
        view.act("select", text)

    assert view.selected is not None
    assert view.selected.position == 1


def test_an_empty_side_has_nothing_to_select() -> None:
    """Even then the message is a sentence. [NBK-07]"""
    with pytest.raises(ViewError, match=r"Nothing is after\."):
        kb.diff(talk(2), []).act("select", "after:0")


# ------------------------------------------------------------------------------------------- light


@pytest.mark.parametrize(
    ("text", "lit"),
    [
        ("before:7", [BEFORE[7].text, provenance(SUMMARY, [(7, BEFORE[7])])[1].text]),
        ("before:1", [BEFORE[1].text, BEFORE[1].text]),
        ("after:1", [BEFORE[1].text, BEFORE[1].text]),
        ("before:2", ['find_trains(near="river")']),
        ("S1", ["A hold on two seats runs until noon.", "Now a quiet hotel, please.", BEFORE[7].text, "S1"]),
        ("S1.1", ["A hold on two seats runs until noon.", "A hold on two seats runs until noon."]),
    ],
)
def test_a_selection_lights_what_belongs_to_it(text: str, lit: list[str]) -> None:
    """The sentences that rest on a message, its other side, the sources of a sentence and of a summary. [NBK-07]"""
    assert marked(diff(selected=text).state, "lit") == lit


@pytest.mark.parametrize(
    ("text", "kind", "position"),
    [
        ("before:1", MessageRow, 1),
        ("after:4", MessageRow, 4),
        ("after:3", SummaryRow, 3),
        ("S1.2", SentenceRow, 3),
    ],
)
def test_one_row_is_the_selected_one(text: str, kind: type, position: int) -> None:
    """What is selected is told apart from what belongs to it. [NBK-07]"""
    picked = [row for row in rows(diff(selected=text).state) if getattr(row, "picked", False)]

    assert [(type(row), getattr(row, "position", getattr(row, "summary", None))) for row in picked] == [
        (kind, position)
    ]


def test_a_folded_message_lights_its_run() -> None:
    """A selection opens nothing, so nothing moves. [NBK-07]"""
    view = kb.diff(talk(20), talk(20), selected="before:5")

    folded = view.state.bands[0]
    assert [(row.lit, getattr(row, "picked", None)) for row in (*folded.left, *folded.right)] == [
        (True, True),
        (True, False),
    ]


def test_selecting_again_selects_nothing() -> None:
    """A second click takes the first one back, and so does Escape. [NBK-07]"""
    view = diff()
    view.act("select", "before:7")
    view.act("select", "before:7")
    assert view.selected is None

    view.act("select", "S1.2")
    view.act("back")
    assert view.selected is None


def test_all_views_of_one_ledger_select_the_same() -> None:
    """A sentence that was clicked in one cell is lit in the other. [NBK-11]"""
    ledger = replace(LEDGER)
    one, other = kb.diff(ledger), kb.diff(ledger)
    one.act("select", "S1.2")

    assert other.state.selected == (3, 2)


# ------------------------------------------------------------------------------------------- as an object


def test_the_selected_message_is_an_object() -> None:
    """The message itself, not a picture of it. [NBK-07]"""
    selected = diff(selected="before:2").selected

    assert selected is not None
    assert selected.message is BEFORE[2]
    assert (selected.side, selected.position, selected.fate) == ("before", 2, "dropped")
    assert selected.reason == "older than the last 6"


def test_the_selected_sentence_has_its_sources() -> None:
    """One goes from a claim of the summary to the messages that it rests on. [NBK-07]"""
    selected = diff(selected="S1.2").selected

    assert selected is not None
    assert selected.sentence == "The quiet hotel with a lift costs 88 euro."
    assert (selected.message, selected.sources, selected.fate) == (AFTER[3], (BEFORE[7],), "new")


def test_a_selected_summary_has_all_its_sources() -> None:
    """Those that no sentence names, too. [NBK-07]"""
    selected = diff(selected="S1").selected

    assert selected is not None
    assert selected.sources == (BEFORE[4], BEFORE[6], BEFORE[7])
    assert selected.sentence == ""


# ------------------------------------------------------------------------------------------- panel


def panel(text: str, **given: Any) -> Any:
    """The panel of a selection."""
    return diff(selected=text, **given).state.detail


@pytest.mark.parametrize(
    ("text", "title", "word", "links"),
    [
        ("before:2", "Message 2 before", "dropped", []),
        ("before:1", "Message 1 before", "kept", [("after it is message", "after:1")]),
        ("before:7", "Message 7 before", "into S1", [("sentences that rest on it", "sentence:3.2")]),
        ("before:6", "Message 6 before", "into S1", [("no sentence rests on it; it went into", "after:3")]),
        ("after:4", "Message 4 after", "kept", [("before it was message", "before:8")]),
        (
            "S1.1",
            "S1, sentence 1",
            "new",
            [("stands word for word in message", "before:4"), ("in", "after:3")],
        ),
        ("S1.2", "S1, sentence 2", "new", [("rests on message", "before:7"), ("in", "after:3")]),
    ],
)
def test_the_panel_says_where_a_selection_leads(
    text: str, title: str, word: str, links: list[tuple[str, str]]
) -> None:
    """Its fate in words, and a button for each thing that it is joined to. [NBK-07]"""
    found = panel(text)

    assert (found.title, found.word) == (title, word)
    assert [(one.about, link.value) for one in found.links for link in one.links] == links


def test_the_panel_of_a_summary_leads_to_its_sources() -> None:
    """By their numbers in the first history. [NBK-07]"""
    found = panel("S1")

    assert (found.title, found.links[0].about) == ("S1, message 3 after", "made of message")
    assert found.links[0].links == (Link("4", "before:4"), Link("6", "before:6"), Link("7", "before:7"))


def test_the_panel_gives_the_reason_and_the_fact_that_was_lost() -> None:
    """Nothing lost is hidden. [NBK-07]"""
    found = panel("before:3")

    assert (found.reason, found.lost) == ("older than the last 6", ("14:05",))
    assert "a lost fact was here: 14:05" in diff(selected="before:3").to_html()


def test_the_panel_shows_both_sides_of_an_edit() -> None:
    """What went and what came stand in one text. [NBK-07]"""
    kinds = [(span.kind, span.text) for span in panel("before:0").spans if span.kind != "same"]

    assert kinds == [("removed", "Tue 2"), ("added", "Wed 3")]


def test_the_panel_warns_of_a_sentence_without_a_source() -> None:
    """It may be made up. [NBK-07]"""
    invented = replace(LEDGER.new_messages[0], sentences=provenance("The moon is made of cheese.", []))
    found = kb.diff(replace(LEDGER, new_messages=(invented,)), selected="S1.1").state.detail

    assert found is not None
    assert found.reason == "no source found: it may be made up"
    assert not found.has_sources


def test_a_long_message_is_cut_in_the_panel_and_says_how_to_see_all() -> None:
    """The whole text is one expression away. [NBK-07]"""
    view = kb.diff([said("user", "word " * 2000, "k")], [], selected="before:0")

    assert "6,000 characters left out; all of it: .selected.message.text of this view" in view.to_html()
    assert "| ... all of it: .selected.message.text of this view" in str(view)


def test_the_text_form_has_the_panel_too() -> None:
    """A screen reader gets what a click shows. [NBK-10]"""
    text = str(diff(selected="S1.2"))

    assert (
        "  Selected: S1, sentence 2   new\n    rests on message: 7\n    in: S1\n    | The quiet hotel" in text
    )


def test_many_sources_are_listed_in_part_with_their_count() -> None:
    """The panel stays small. [NBK-07]"""
    found = replace(LEDGER.new_messages[0], sources=tuple(range(10)) * 2)
    state = kb.diff(replace(LEDGER, new_messages=(found,)), selected="S1").state.detail

    assert state is not None
    assert (len(state.links[0].links), state.links[0].more) == (12, 8)


# ------------------------------------------------------------------------------------------- laws


@settings(max_examples=15, deadline=None)
@given(CHANGED, st.integers(0, 500))
def test_selecting_anything_and_then_nothing_leaves_every_form_as_it_was(
    histories: tuple[list[Message], list[Message]], number: int
) -> None:
    """A selection is a light, not a change. [NBK-07]"""
    view = kb.diff(*histories)
    before = (str(view), view.to_html(), live(view))
    side, messages = ("after", histories[1]) if number % 2 and histories[1] else ("before", histories[0])
    view.act("select", f"{side}:{number % len(messages)}")
    view.act("back")
    if view.state.page.number:
        view.act("page", "0")

    assert (str(view), view.to_html(), live(view)) == before


@settings(max_examples=25, deadline=None)
@given(CHANGED, st.integers(0, 500), st.integers(0, 500))
def test_a_selection_on_the_page_moves_no_row(
    histories: tuple[list[Message], list[Message]], first: int, second: int
) -> None:
    """What is sent for a click are attributes of rows, lines and the panel. [NBK-07]"""
    view = kb.diff(*histories)
    shown = [row.position for band in view.state.bands for row in band.left if isinstance(row, MessageRow)]
    wanted = [f"before:{shown[number % len(shown)]}" for number in (first, second)] if shown else []
    before = live(view)
    for text in dict.fromkeys(wanted):
        view.act("select", text)
    patch = changes(before, live(view))

    assert [change for change in patch if change[1] in "rs" and "'tr'" in str(change)] == []


def test_the_static_form_has_no_control() -> None:
    """Nothing waits for a click where nobody can click. [NBK-10]"""
    html = render_static(diff(selected="S1.2").element)

    assert "<button" not in html
    assert "data-do" not in html


def test_every_key_has_a_button() -> None:
    """What the keyboard does, the mouse does, too. [NBK-11]"""
    view = kb.diff(talk(300), talk(300)[::2], must_keep=["museum"], selected="before:1")

    keys = set(re.findall(r"'data-key': '([^']+)'", str(live(view))))
    assert keys == {"n", "f", "s", "[", "]", "Escape"}
