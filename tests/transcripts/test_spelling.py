"""What a file wrote comes out as it went in, as long as the message is the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from koogbook.messages.message import user
from koogbook.transcripts.spelling import added_fields, difference, parts_mark, respelled, restored, spelling

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "in", "is", "at", "more", "less"]), inner, max_size=3)
    ),
    max_leaves=8,
)


def exact(value: Any) -> Any:
    """A value that is equal to another one's where JSON has one text for both."""
    if isinstance(value, dict):
        return {key: exact(inner) for key, inner in value.items()}
    return [exact(inner) for inner in value] if isinstance(value, list) else (type(value), value)


@given(VALUES, VALUES)
def test_a_difference_restores_the_original(original: Any, plain: Any) -> None:
    """Whatever an export would write, the change turns it into what the file had [EXE-07]."""
    assert exact(restored(plain, difference(original, plain))) == exact(original)


@given(VALUES)
def test_the_same_value_has_no_difference(value: Any) -> None:
    """Nothing is kept where nothing differs."""
    assert difference(value, value) is None


@pytest.mark.parametrize(("original", "plain"), [(True, 1), (1, 1.0), (0, False)])
def test_numbers_and_truth_values_are_told_apart(original: Any, plain: Any) -> None:
    """Python's equality of True, 1 and 1.0 is none of JSON's."""
    assert difference(original, plain) == {"is": original}


def test_a_changed_message_loses_its_spelling() -> None:
    """What the file wrote of other words would be wrong beside new ones."""
    one = user("old")
    kept = spelling(one, {"role": "user", "content": [{"type": "text", "text": "old"}]}, {"role": "user"})

    assert respelled(one.with_text("new"), kept, {"content": "new"}) == {"content": "new"}


def test_an_unchanged_message_keeps_its_spelling() -> None:
    """It comes out as it went in."""
    one = user("old")
    kept = spelling(one, {"content": ["old"]}, {"content": "old"})

    assert respelled(one, kept, {"content": "old"}) == {"content": ["old"]}


def test_a_spelling_of_another_kind_is_not_applied() -> None:
    """Metadata may be anyone's."""
    one = user("old")

    assert respelled(one, {"parts": parts_mark(one.role, one.parts)}, {"content": "old"}) == {
        "content": "old"
    }


def test_the_fields_that_a_change_adds_are_told() -> None:
    """At any depth; empty ones and the types of blocks say nothing."""
    block = {"type": "text", "text": "a"}
    change = difference(
        {
            "content": [{**block, "cite": [1], "note": ""}],
            "tail": [{**block, "mark": 1}],
            "type": "x",
            "more": 2,
        },
        {"content": [block], "tail": "a", "less": 1},
    )

    assert change is not None
    assert list(added_fields(change)) == [("more", 2), ("cite", [1]), ("mark", 1)]
