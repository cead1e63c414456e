"""Metadata is plain JSON: what is not, and what could not be read again, is refused when it is given."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import koogbook as kb
from koogbook.errors import MessageError
from koogbook.messages.codec import decode_message, encode_message
from koogbook.messages.message import Message
from koogbook.messages.metadata import DEEPEST_METADATA, metadata_text, read_metadata


def nested(depth: int, wrap: Any = lambda inner: [inner]) -> dict[str, Any]:
    """Metadata of so many lists or objects in one another."""
    value: Any = "x"
    for _ in range(depth - 1):
        value = wrap(value)
    return {"deep": value}


def with_text(text: str) -> Message:
    """A message with this text as its metadata."""
    return Message(role="user", parts=(), id="1", time=datetime(2026, 1, 1, tzinfo=UTC), metadata_json=text)


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_a_number_that_is_none_is_refused_in_stored_metadata(text: str) -> None:
    """It would be no JSON for anybody else [EXE-01]."""
    with pytest.raises(MessageError, match="is no JSON number"):
        with_text(f'{{"a": {text}}}')


@pytest.mark.parametrize(
    "wrap", [lambda inner: [inner], lambda inner: {"k": inner}], ids=["lists", "objects"]
)
def test_metadata_is_nested_up_to_a_limit(wrap: Any) -> None:
    """Below it everything is exact, above it nothing is taken [EXE-01]."""
    deepest = kb.user("x", metadata=nested(DEEPEST_METADATA, wrap))

    assert decode_message(encode_message(deepest)).metadata == nested(DEEPEST_METADATA, wrap)
    with pytest.raises(MessageError, match="nested more than 100 deep"):
        kb.user("x", metadata=nested(DEEPEST_METADATA + 1, wrap))


@pytest.mark.parametrize("depth", [101, 100_000])
def test_stored_metadata_that_is_nested_too_deeply_is_refused(depth: int) -> None:
    """Not by the stack of whoever reads it first [EXE-01]."""
    with pytest.raises(MessageError, match="nested more than 100 deep"):
        with_text('{"a":' + "[" * depth + "]" * depth + "}")


def test_the_deepest_metadata_is_read_near_the_end_of_the_stack() -> None:
    """A message that was saved can be read from within any program [EXE-01]."""
    body = encode_message(kb.user("x", metadata=nested(DEEPEST_METADATA)))

    def read_at(depth: int) -> Message:
        return read_at(depth - 1) if depth else decode_message(body)

    frame, used = sys._getframe(), 0
    while frame.f_back is not None:
        frame, used = frame.f_back, used + 1

    assert read_at(sys.getrecursionlimit() - used - 250).metadata == nested(DEEPEST_METADATA)


def test_many_values_beside_one_another_are_not_nested() -> None:
    """Only depth is limited [EXE-01]."""
    metadata = {"wide": [[number] for number in range(1_000)]}

    assert kb.user("x", metadata=metadata).metadata == metadata


@pytest.mark.parametrize("wrong", [0, [], "", "abc", [("a", 1)], {1}], ids=repr)
def test_metadata_that_is_no_mapping_is_refused(wrong: Any) -> None:
    """An empty list is no empty mapping, and nothing is dropped silently [EXE-01]."""
    with pytest.raises(MessageError, match="names with JSON values"):
        kb.user("x", metadata=wrong)


def test_a_number_of_too_many_digits_is_refused() -> None:
    """Python writes no more than 4,300 of them [EXE-01]."""
    with pytest.raises(MessageError, match="plain JSON"):
        kb.user("x", metadata={"n": 10**5_000})


@given(
    st.dictionaries(
        st.text(max_size=3),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.tuples(inner, inner)
                | st.dictionaries(st.text(max_size=2) | st.integers(), inner, max_size=2)
            ),
        ),
        max_size=3,
    )
)
def test_metadata_is_refused_or_comes_back_as_it_was(metadata: dict[str, Any]) -> None:
    """In type and value, whatever is nested in it [EXE-01]."""
    try:
        text = metadata_text(metadata)
    except MessageError:
        return
    back = read_metadata(text)

    assert _same(back, metadata)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return (
            type(other) is dict
            and one.keys() == other.keys()
            and all(_same(one[key], other[key]) for key in one)
        )
    if isinstance(one, list):
        return type(other) is list and len(one) == len(other) and all(map(_same, one, other))
    return repr(one) == repr(other)
