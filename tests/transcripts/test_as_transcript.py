"""Conversations in values that are loaded already, and in text."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from koogbook.errors import TranscriptError
from koogbook.messages.message import user
from koogbook.transcripts.load import as_transcript

HELLO = {"role": "user", "content": "Hello"}


@pytest.mark.parametrize(
    "value",
    [
        [HELLO],
        (HELLO,),
        {"messages": [HELLO]},
        [{"messages": [HELLO]}],
        '[{"role": "user", "content": "Hello"}]',
        '{"role": "user", "content": "Hello"}\n{"role": "user", "content": "Bye"}\n',
        '\ufeff[{"role": "user", "content": "Hello"}]',
        [{"from": "human", "value": "Hello"}],
    ],
)
def test_values_and_text_of_any_format_become_a_transcript(value: Any) -> None:
    """Dicts of a known format are converted [KB-090]."""
    assert as_transcript(value).messages[0].text == "Hello"


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ([{"weather": "sunny"}], "a list of 1, item 0 being .*weather"),
        ({"weather": "sunny"}, "an object with 'weather'"),
        ([user("Hello")], "item 0 is Message"),
        ([datetime(2026, 1, 1)], "item 0 is datetime"),  # noqa: DTZ001
        ([HELLO, {"role": "user", "content": float("nan")}], "no JSON"),
        ([[HELLO], [HELLO]], "There are 2 conversations in this value"),
        ([], "no messages inside"),
        (7, "not int"),
        (None, "not NoneType"),
        ("", "This text is empty"),
        ("Hello", r"This text is no JSON: Hello.*kb.load_transcript"),
        ('[{"role": "us', "This text ends in the middle"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_conversation_is_a_type_error_too(value: Any, says: str) -> None:
    """It is never accepted and ignored [KB-090]."""
    with pytest.raises(TypeError, match=says) as raised:
        as_transcript(value)

    assert isinstance(raised.value, TranscriptError)


def test_a_value_that_is_nested_too_deeply_is_refused() -> None:
    """As in a file [EXE-07]."""
    value: Any = []
    for _ in range(100_000):
        value = [value]

    with pytest.raises(TranscriptError, match="nested too deeply"):
        as_transcript(value)


def test_a_later_change_of_the_value_does_not_change_the_transcript() -> None:
    """A transcript is a value of its own."""
    value = {"messages": [dict(HELLO)], "tools": [1]}
    found = as_transcript(value)
    value["messages"][0]["content"] = "Bye"

    assert (found.messages[0].text, found.extra) == ("Hello", {"tools": [1]})


def test_damaged_lines_of_a_text_are_listed() -> None:
    """As in a file [KB-158]."""
    found = as_transcript('{"role": "user", "content": "Hello"}\n{broken\n{"role": "us')

    assert [(one.kind, one.where) for one in found.defects] == [
        ("broken_line", "line 2"),
        ("torn_line", "line 3"),
    ]
