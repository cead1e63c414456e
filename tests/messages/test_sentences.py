from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from koogbook.messages.sentences import split_sentences


@settings(max_examples=200, deadline=None)
@given(st.text('aB1.!?。！？」)" \n\r\t\u2028e.g', max_size=60) | st.text(max_size=60))
def test_the_sentences_hold_all_of_a_text_but_white_space(text: str) -> None:
    """A summary made of sentences may lose none, and each must be found in the text again."""
    sentences = split_sentences(text)

    assert "".join("".join(sentences).split()) == "".join(text.split())
    assert all(sentence in text and sentence == sentence.strip() for sentence in sentences)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("Really?! Yes (it does.) Good", ["Really?!", "Yes (it does.)", "Good"]),
        ('She said "Go." Then left.', ['She said "Go."', "Then left."]),
        ("A line\nand another", ["A line", "and another"]),
        (
            "旅客想要安静的街道。没有早餐！可以吗？可以",
            ["旅客想要安静的街道。", "没有早餐！", "可以吗？", "可以"],
        ),
        ("「好的。」他说。", ["「好的。」", "他说。"]),
        ("Yes!好的", ["Yes!", "好的"]),
        ("Wait... what", ["Wait...", "what"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_marks_and_line_breaks_end_a_sentence(text: str, expected: list[str]) -> None:
    """English and Chinese, with quotes and brackets that belong to the sentence."""
    assert split_sentences(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Hotels, e.g. h-31, have a lift.",
        "See kb.py in v3.5 now.",
        "Platform No. 5 is closed.",
        "2. Book the hotel.",
        "Ask Dr. Who.",
        "It costs 88.50 euro.",
        "Bring water, food etc. for two days.",
    ],
)
def test_abbreviations_numbers_and_list_items_end_none(text: str) -> None:
    """A sentence cut in two could no longer be found in its source."""
    assert split_sentences(text) == [text]


def test_no_at_the_end_of_a_sentence_is_a_word() -> None:
    """It is an abbreviation before a number only."""
    assert split_sentences("The answer is no. Take the train.") == ["The answer is no.", "Take the train."]
