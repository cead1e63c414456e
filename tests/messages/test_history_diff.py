from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from koogbook.messages.history_diff import HistoryDiff, diff_messages
from koogbook.messages.ledger import MessageFate
from koogbook.messages.message import SUMMARY_NAME, Message, assistant, message, system, user

NOON = datetime(2026, 6, 2, 12, tzinfo=UTC)
LATER = datetime(2026, 6, 3, 12, tzinfo=UTC)

ROLES = st.sampled_from(("system", "user", "assistant"))
TEXTS = st.text("ab c.", max_size=12)
MESSAGES = st.builds(
    lambda role, text, id: message(role, text, id=id, time=NOON), ROLES, TEXTS, st.sampled_from("klmnopqrst")
)
HISTORIES = st.lists(MESSAGES, max_size=9)
UNIQUE = st.lists(MESSAGES, max_size=9, unique_by=lambda found: found.id)
EITHER = HISTORIES | UNIQUE


def said(text: str, id: str, **fields: object) -> Message:
    """A user message at noon."""
    return user(text, id=id, time=NOON, **fields)


def fates(diff: HistoryDiff) -> list[tuple[str, int | None]]:
    """What became of each original, and where it stands."""
    return [(fate.fate, fate.new_position) for fate in diff.fates]


@settings(max_examples=150, deadline=None)
@given(EITHER, EITHER)
def test_every_original_has_exactly_one_fate(before: list[Message], after: list[Message]) -> None:
    """Nothing may vanish from a diff, however the two histories differ."""
    diff = diff_messages(before, after)

    assert [fate.position for fate in diff.fates] == list(range(len(before)))


@settings(max_examples=150, deadline=None)
@given(EITHER, EITHER)
def test_every_message_of_the_result_is_found_once_or_new(
    before: list[Message], after: list[Message]
) -> None:
    """A message of the result that nobody claims, or two claim, would make the totals wrong."""
    diff = diff_messages(before, after)

    claimed = [fate.new_position for fate in diff.fates if fate.new_position is not None]
    assert sorted([*claimed, *diff.new_positions]) == list(range(len(after)))


@settings(max_examples=100, deadline=None)
@given(EITHER)
def test_a_history_has_no_difference_to_itself(history: list[Message]) -> None:
    """All kept, each in a place with the same content."""
    diff = diff_messages(history, list(history))

    assert {fate.fate for fate in diff.fates} <= {"kept"}
    assert diff.new_positions == ()


@settings(max_examples=100, deadline=None)
@given(EITHER, EITHER)
def test_only_a_message_with_the_same_content_counts_as_kept(
    before: list[Message], after: list[Message]
) -> None:
    """Kept is a promise that nothing about it is different for the model."""
    diff = diff_messages(before, after)

    kept = [
        (before[f.position], after[f.new_position])
        for f in diff.fates
        if f.fate == "kept" and f.new_position is not None
    ]
    assert [(one.role, one.parts) for one, _ in kept] == [(other.role, other.parts) for _, other in kept]


@settings(max_examples=100, deadline=None)
@given(EITHER, EITHER)
def test_the_same_histories_give_the_same_diff(before: list[Message], after: list[Message]) -> None:
    """A saved notebook must not change when nothing did."""
    again = diff_messages([replace(found) for found in before], [replace(found) for found in after])

    assert diff_messages(before, after) == again


@settings(max_examples=100, deadline=None)
@given(UNIQUE, st.randoms(use_true_random=False))
def test_a_moved_message_is_found_by_its_id(history: list[Message], random: object) -> None:
    """Order may change; whoever has the id is the same message."""
    moved = list(history)
    random.shuffle(moved)  # type: ignore[attr-defined]

    diff = diff_messages(history, moved)

    places = [fate.new_position for fate in diff.fates if fate.new_position is not None]
    assert [moved[place].id for place in places] == [found.id for found in history]


def test_the_same_id_with_other_content_is_an_edit() -> None:
    """A system prompt with a new date stays the same message."""
    before = [system("Today is Tuesday.", id="s", time=NOON)]
    after = [system("Now it is the third of June.", id="s", time=NOON)]

    assert diff_messages(before, after).fates == (
        MessageFate(0, "edited", before[0].tokens, 0, (), "same id, other content"),
    )


def test_an_imported_copy_without_shared_ids_is_all_kept() -> None:
    """A file that was exported and read again has new ids and times, and no difference."""
    before = [said("Two days in Porto.", "a"), assistant("A train at noon.", id="b", time=NOON)]
    after = [
        user("Two days in Porto.", id="x", time=LATER),
        assistant("A train at noon.", id="y", time=LATER),
    ]

    assert fates(diff_messages(before, after)) == [("kept", 0), ("kept", 1)]


def test_two_equal_messages_are_matched_in_order() -> None:
    """Said twice and kept once: the first is kept, the second dropped."""
    before = [said("OK", "a"), said("OK", "b")]
    after = [said("OK", "x")]

    assert fates(diff_messages(before, after)) == [("kept", 0), ("dropped", None)]


@pytest.mark.parametrize(
    ("text", "fate"),
    [
        ("Take the train at nine and book a seat by the door.", "edited"),
        ("Find a museum with a lift near the river instead.", "dropped"),
    ],
)
def test_without_an_id_most_of_the_words_make_an_edit(text: str, fate: str) -> None:
    """Between the same neighbours, a message that has 60 % of its words is that message, edited."""
    first, last = said("first", "a"), said("last", "c")
    before = [first, said("Take the train at ten and book a seat by the window.", "b"), last]

    diff = diff_messages(before, [first, said(text, "x"), last])

    assert diff.fates[1].fate == fate


def test_an_edit_is_looked_for_in_the_same_gap_only() -> None:
    """A similar text elsewhere in the conversation is another message."""
    anchor = said("The hotel is booked.", "m")
    before = [said("Take the train at ten and book a seat.", "a"), anchor]
    after = [anchor, said("Take the train at ten and book two seats.", "x")]

    assert fates(diff_messages(before, after)) == [("dropped", None), ("kept", 0)]


def test_a_summary_is_new_even_where_it_repeats_an_original() -> None:
    """What koogbook wrote is not what a person said, so it cannot be an edit of it."""
    before = [said("Take the train at ten and book a seat.", "a")]
    summary = said("Take the train at ten and book a seat.", "s", name=SUMMARY_NAME)

    diff = diff_messages(before, [summary])

    assert (fates(diff), diff.new_positions) == ([("dropped", None)], (0,))


@pytest.mark.parametrize(
    "text", ["Take the train at ten and book a seat.", "Take the train at ten and book two seats."]
)
def test_a_message_that_is_known_to_be_new_is_no_earlier_one(text: str) -> None:
    """A second summary may say the same as the first, or most of it, and is still another message."""
    before = [said("Take the train at ten and book a seat.", "a", name=SUMMARY_NAME)]
    after = [said(text, "b", name=SUMMARY_NAME)]

    diff = diff_messages(before, after, new_ids={"b"})

    assert (fates(diff), diff.new_positions) == ([("dropped", None)], (0,))


def test_an_original_goes_to_the_copy_that_is_not_known_to_be_new() -> None:
    """Of two messages with its words, the one that is new takes nothing away from the other."""
    before = [said("Take the train at ten.", "a")]
    after = [said("Take the train at ten.", "new"), said("Take the train at ten.", "copy")]

    diff = diff_messages(before, after, new_ids={"new"})

    assert (fates(diff), diff.new_positions) == ([("kept", 1)], (0,))


def test_a_message_that_is_called_new_is_still_found_by_its_id() -> None:
    """An id that both histories have says more than the word of the caller."""
    message = said("Take the train at ten.", "a")

    assert fates(diff_messages([message], [message], new_ids={"a"})) == [("kept", 0)]


def test_an_id_that_stands_twice_prefers_equal_content() -> None:
    """Koog appends a reply twice in places; dropping one of two must not look like two edits."""
    before = [said("one", "k"), said("two", "k")]
    after = [said("two", "k")]

    assert fates(diff_messages(before, after)) == [("dropped", None), ("kept", 0)]


def test_metadata_time_and_usage_are_no_difference() -> None:
    """A model does not see them."""
    before = [said("Two days in Porto.", "a")]
    after = [user("Two days in Porto.", id="a", time=LATER, metadata={"pinned": True})]

    assert fates(diff_messages(before, after)) == [("kept", 0)]


def test_a_long_history_without_anything_in_common_is_all_dropped_and_all_new() -> None:
    """The worst case for a search by words still ends with plain fates."""
    before = [said(f"train {number} to the north", f"a{number}") for number in range(300)]
    after = [said(f"museum {number * 7} near a river", f"b{number}") for number in range(300)]

    diff = diff_messages(before, after)

    assert ({fate.fate for fate in diff.fates}, len(diff.new_positions)) == ({"dropped"}, 300)
