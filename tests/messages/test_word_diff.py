from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from koogbook.messages.ledger import Sentence
from koogbook.messages.message import Message, assistant, tool_result, user
from koogbook.messages.parts import ToolCall
from koogbook.messages.word_diff import WordSpan, diff_words, provenance

NOON = datetime(2026, 6, 2, 12, tzinfo=UTC)
TEXTS = st.text("abc .,\n\t-你好吗\ud83c\u3000", max_size=60) | st.text(max_size=40)
WORDS = st.lists(st.sampled_from("the train at noon is late , .".split()), max_size=80).map(" ".join)


def said(text: str) -> Message:
    """A user message at noon."""
    return user(text, id=text[:9], time=NOON)


@settings(max_examples=200, deadline=None)
@given(TEXTS | WORDS, TEXTS | WORDS)
def test_what_is_same_or_removed_makes_the_first_text(before: str, after: str) -> None:
    """No character of the original may be missing from its diff."""
    spans = diff_words(before, after)

    assert "".join(span.text for span in spans if span.kind != "added") == before


@settings(max_examples=200, deadline=None)
@given(TEXTS | WORDS, TEXTS | WORDS)
def test_what_is_same_or_added_makes_the_second_text(before: str, after: str) -> None:
    """No character of the result may be missing from its diff."""
    spans = diff_words(before, after)

    assert "".join(span.text for span in spans if span.kind != "removed") == after


@settings(max_examples=100, deadline=None)
@given(TEXTS | WORDS)
def test_a_text_has_no_difference_to_itself(text: str) -> None:
    """One unchanged piece, or none for no text."""
    assert all(span == WordSpan("same", text) for span in diff_words(text, text))


@settings(max_examples=100, deadline=None)
@given(TEXTS | WORDS, TEXTS | WORDS)
def test_neighbouring_pieces_are_of_different_kinds(before: str, after: str) -> None:
    """Two pieces of one kind side by side would be drawn as two marks."""
    kinds = [span.kind for span in diff_words(before, after)]

    assert all(one != other for one, other in pairwise(kinds))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            "Today is Tue 2 June, week 23.",
            "Today is Wed 3 June, week 23.",
            "Today is [-Tue 2-]{+Wed 3+} June, week 23.",
        ),
        ("Departs at 14:05.", "Departs at 14:35.", "Departs at [-14:05-]{+14:35+}."),
        ("one", "one two", "one{+ two+}"),
        ("two", "one two", "{+one +}two"),
        ("我要去北京", "我要去南京", "我要去[-北-]{+南+}京"),
        ("a b c d", "a d", "a [-b c -]d"),
        ("", "new", "{+new+}"),
    ],
)
def test_changes_are_marked_by_whole_words(before: str, after: str, expected: str) -> None:
    """A reader sees words, and Chinese readers characters, not letters."""
    marks = {"same": "{}", "removed": "[-{}-]", "added": "{{+{}+}}"}

    assert "".join(marks[span.kind].format(span.text) for span in diff_words(before, after)) == expected


def test_a_changed_word_in_a_long_chinese_text_is_found() -> None:
    """Characters come again all the time, so runs of them are the anchors."""
    text = "".join(chr(0x4E00 + (number * number * 31 + number) % 211) for number in range(4000))
    changed = text[:2000] + "鼠" + text[2001:]

    removed = [span.text for span in diff_words(text, changed) if span.kind == "removed"]

    assert removed == [text[2000]]


def test_long_texts_with_nothing_in_common_are_one_replacement() -> None:
    """There is no use in a speckle of chance matches."""
    before = " ".join(f"a{number}" for number in range(3000))
    after = " ".join(f"b{number}" for number in range(3000))

    assert diff_words(before, after) == (WordSpan("removed", before), WordSpan("added", after))


def test_a_sentence_taken_over_word_for_word_names_every_message_that_holds_it() -> None:
    """The strongest proof that a summary invented nothing."""
    sources = [(3, said("Peanut allergy.")), (5, said("Hello.")), (9, said("Note. Peanut allergy. Thanks."))]

    assert provenance("Peanut allergy.", sources) == (Sentence("Peanut allergy.", (3, 9), True),)


def test_a_sentence_in_other_words_names_those_with_most_of_them() -> None:
    """The reader finds the place to check."""
    sources = [
        (8, said("Please find a hotel in a quiet street.")),
        (9, said("And three museums.")),
        (12, assistant("h-31 is a hotel with a lift and costs 88 euro.", id="m", time=NOON)),
    ]

    sentences = provenance("The hotel h-31 has a lift and costs 88 euro.", sources)

    assert [(sentence.sources, sentence.verbatim) for sentence in sentences] == [((12,), False)]


def test_a_sentence_without_a_basis_has_no_source() -> None:
    """An invented sentence must show as one."""
    assert provenance("The moon is made of cheese.", [(0, said("Two days in Porto."))])[0].sources == ()


def test_at_most_four_messages_are_named_for_a_reworded_sentence() -> None:
    """More would be noise."""
    sources = [(number, said(f"Hotel by the river, offer {number}.")) for number in range(9)]

    assert provenance("A hotel near the river.", sources)[0].sources == (0, 1, 2, 3)


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ("11 departures, 14:05 direct", tool_result("c", "11 departures, 14:05 direct", id="r", time=NOON)),
        ('find {"to": "Porto"}', assistant(calls=[ToolCall("find", '{"to": "Porto"}')], id="c", time=NOON)),
        ("我对花生过敏。", said("你好，我对花生过敏。谢谢")),
        ("- Two days in Porto.", said("Two days in Porto. Thanks.")),
    ],
)
def test_results_calls_chinese_and_list_items_are_found_word_for_word(
    sentence: str, message: Message
) -> None:
    """Everything that a model sees can be what a sentence rests on."""
    assert provenance(sentence, [(4, message)]) == (Sentence(sentence, (4,), True),)


def test_a_sentence_inside_a_longer_word_is_not_found() -> None:
    """Who says North has not said No."""
    assert not provenance("No", [(0, said("North"))])[0].verbatim


def test_without_sources_the_sentences_stand_alone() -> None:
    """A summary of nothing is still shown."""
    assert provenance("One. Two.", []) == (Sentence("One."), Sentence("Two."))


@pytest.mark.parametrize("sentence", [".", "- ", "---", "…"])
def test_a_lone_mark_rests_on_nothing(sentence: str) -> None:
    """It stands in every message and says nothing."""
    assert [found.sources for found in provenance(sentence, [(0, said("One. - two --- three …"))])] == [()]
