"""Anthropic messages are known by marks that no other API has."""

from __future__ import annotations

from typing import Any

import pytest

from koogbook.transcripts.anthropic.shape import find, is_entry

HELLO = {"role": "user", "content": "Hello"}
USE = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]}
PICTURE = {
    "role": "user",
    "content": [{"type": "image", "source": {"type": "url", "url": "https://example.org"}}],
}
ANSWER = {"type": "message", "role": "assistant", "content": [], "stop_reason": "end_turn"}


@pytest.mark.parametrize(
    "value",
    [
        [HELLO, USE],
        [PICTURE],
        {"messages": [HELLO, USE], "model": "m"},
        {"messages": [HELLO], "system": "Be brief."},
        {"messages": [HELLO], "system": [{"type": "text", "text": "Be brief."}]},
        {"conversation": [HELLO, USE]},
        ANSWER,
        [HELLO, {"role": "assistant", "content": "Hi", "usage": {"input_tokens": 1}}],
    ],
    ids=str,
)
def test_a_conversation_with_a_mark_is_found(value: Any) -> None:
    """A block of its own, a system prompt beside the messages, or a field of its answers [EXE-07]."""
    found = find(value, "$")

    assert found is not None
    assert found.format == "anthropic"


@pytest.mark.parametrize(
    "value",
    [
        [HELLO, {"role": "assistant", "content": [{"type": "text", "text": "Hi"}]}],
        {"messages": [HELLO], "model": "m"},
        {"messages": [{"role": "system", "content": "Be brief."}, HELLO]},
        {"messages": [HELLO, {"role": "tool", "tool_call_id": "a", "content": "x"}], "system": "Be brief."},
        {"messages": [HELLO, {"role": "assistant", "content": "", "tool_calls": []}], "system": "Be brief."},
        [USE, {"role": "tool", "tool_call_id": "t1", "content": "x"}],
        [{"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}],
        [{"type": "ai", "data": {"content": [{"type": "tool_use"}]}}],
        {"system": "Be brief."},
        [],
        {"messages": []},
        [5, None],
        "text",
        None,
        {"messages": {"role": "user"}},
        [{"role": ["user"], "content": [{"type": ["tool_use"]}]}],
    ],
    ids=str,
)
def test_what_has_no_mark_or_is_of_another_format_is_not_taken(value: Any) -> None:
    """A list of roles and texts is OpenAI chat [EXE-07]."""
    assert find(value, "$") is None


@pytest.mark.parametrize(
    ("value", "expected"), [(USE, True), (ANSWER, True), (HELLO, False), ([USE], False), (1, False)]
)
def test_a_line_is_an_entry_by_the_same_marks(value: Any, expected: bool) -> None:
    """JSONL with a message per line is put together by them [EXE-07]."""
    assert is_entry(value) is expected


def test_what_the_object_says_besides_the_messages_is_kept() -> None:
    """The system prompt is a message, and not said twice [EXE-07]."""
    found = find({"messages": [HELLO], "system": "Be brief.", "model": "m"}, "line 3: $")

    assert found is not None
    assert (found.where, found.extra_json) == ("line 3: $.messages", '{"model": "m"}')
