"""The conversation that comes with the package."""

from __future__ import annotations

import json
from importlib import resources

import pytest

from koogbook.messages.pairing import pair_messages
from koogbook.transcripts.load import sample_transcript
from koogbook.transcripts.openai_chat.write import to_openai


def test_the_travel_sample_has_no_defect() -> None:
    """It is the example of a good file."""
    assert sample_transcript().defects == ()


def test_the_travel_sample_is_long_enough_to_be_compressed() -> None:
    """It has the size of a real planning session, with many tool calls."""
    travel = sample_transcript("travel")
    calls = sum(len(one.calls) for one in travel)

    assert (40 <= len(travel) <= 60, calls >= 8, 6_000 <= travel.tokens <= 8_000) == (True, True, True)


def test_the_travel_sample_ends_with_a_question_to_the_assistant() -> None:
    """A strategy can answer it."""
    travel = sample_transcript()

    assert (travel.messages[-1].role, pair_messages(travel.messages).tail) == ("user", None)


@pytest.mark.parametrize("fact", ["peanut allergy", "500 yuan", "Nothing outdoors", "GB-40817", "YJ-5523"])
def test_the_travel_sample_states_the_facts_that_a_summary_must_keep(fact: str) -> None:
    """Demonstrations of compression look for them."""
    assert any(fact in one.text for one in sample_transcript())


def test_the_travel_sample_changes_to_chinese_and_back() -> None:
    """At least six messages in the middle are in Chinese, as bilingual users write."""
    travel = sample_transcript()
    chinese = [any("一" <= character <= "鿿" for character in one.text) for one in travel]

    assert (sum(chinese) >= 6, chinese[0], chinese[-1]) == (True, False, False)


def test_loading_the_sample_twice_gives_equal_messages() -> None:
    """Its ids and times are those of the file."""
    assert sample_transcript() == sample_transcript()


def test_the_sample_comes_out_as_it_is_in_the_file() -> None:
    """The shipped file is well-formed OpenAI chat JSON [EXE-07]."""
    file = resources.files("koogbook.transcripts").joinpath("samples", "travel.json")

    assert to_openai(sample_transcript()) == json.loads(file.read_text(encoding="utf-8"))["messages"]
