"""What the writers of several formats share, and what one format's file tells another's of its fields."""

from __future__ import annotations

from typing import Any

import pytest

from koogbook.messages.message import tool_result
from koogbook.messages.parts import Text, ToolResult
from koogbook.transcripts.export import export_transcript
from koogbook.transcripts.load import as_transcript
from koogbook.transcripts.writing import pieces

USE = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "r"}]}
HI = {"type": "output_text", "text": "Hi"}
OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "r"}


def anthropic(*blocks: dict[str, Any], role: str = "user") -> list[Any]:
    """A conversation that begins with a message of these blocks."""
    return [{"role": role, "content": [*blocks]}, USE, RESULT]


@pytest.mark.parametrize(
    ("value", "fields"),
    [
        (anthropic({"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}), "cache_control"),
        (
            anthropic({"type": "text", "text": "a", "citations": [{"cited_text": "b"}]}, role="assistant"),
            "citations",
        ),
        (
            anthropic(
                {
                    "type": "document",
                    "source": {"type": "url", "url": "https://example.org/a.pdf"},
                    "context": "a report",
                    "citations": {"enabled": True},
                }
            ),
            "citations, context",
        ),
        (
            [
                {
                    "type": "message",
                    "role": "assistant",
                    "status": "incomplete",
                    "content": [{"type": "output_text", "text": "a", "annotations": [{"url": "u"}]}],
                }
            ],
            "status, annotations",
        ),
        (
            [
                {"type": "message", "role": "assistant", "id": "msg_1", "content": "Let me see."},
                {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "f", "arguments": "{}"},
                OUTPUT,
            ],
            "id",
        ),
        (
            [
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "image_url",
                            "image_url": {"url": "https://example.org/a.png", "detail": "low"},
                        }
                    ],
                }
            ],
            "detail",
        ),
    ],
    ids=["cache mark", "citations", "document", "answer", "item", "picture"],
)
def test_fields_of_parts_are_a_loss_in_another_format(value: Any, fields: str) -> None:
    """They are the format's own, and nobody else would say so [EXE-07]."""
    found = as_transcript(value)
    other = "langchain" if found.format == "openai-chat" else "openai-chat"

    assert f"its fields {fields}" in [loss.text for loss in export_transcript(found, other).losses]


@pytest.mark.parametrize(
    "value",
    [
        anthropic({"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}),
        [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a", "x": 1}]}],
        [{"role": "user", "content": [{"type": "text", "text": "a", "x": 1}]}],
        [{"type": "human", "content": [{"type": "text", "text": "a", "x": 1}]}],
        {"conversations": [{"from": "human", "value": "a", "weight": 1}]},
    ],
    ids=["anthropic", "openai-responses", "openai-chat", "langchain", "sharegpt"],
)
def test_they_are_none_in_their_own(value: Any) -> None:
    """They go back where they were [EXE-07]."""
    done = export_transcript(as_transcript(value))

    assert (done.value, done.losses) == (value, ())


def test_another_spelling_of_the_same_is_no_loss() -> None:
    """A text in a list, empty fields, types of blocks: no one misses them."""
    found = as_transcript(
        [
            {"role": "user", "content": [{"type": "text", "text": "a", "annotations": []}]},
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "function", "name": "f", "content": "r"},
            {"role": "assistant", "content": "b", "reasoning": "a thought"},
        ]
    )

    assert not any("its fields" in loss.text for loss in export_transcript(found, "anthropic").losses)


def test_an_id_is_told_once() -> None:
    """As the id of the message, not once more as a field of its item."""
    found = as_transcript([{"type": "message", "role": "assistant", "id": "msg_1", "content": [HI]}])

    assert [loss.text for loss in export_transcript(found, "openai-chat").losses] == ["its id"]


def test_pieces_have_one_result_each_and_what_follows_it() -> None:
    """What stands before the first goes with that."""
    a, b = ToolResult("A", "", "a"), ToolResult("B", "", "b")
    one = tool_result("a", "").with_parts([Text("x"), a, Text("y"), b, Text("z")])

    assert [(start, piece.parts) for start, piece in pieces(one)] == [
        (0, (Text("x"), a, Text("y"))),
        (3, (b, Text("z"))),
    ]


def test_a_message_with_one_result_is_one_piece() -> None:
    """The message itself."""
    one = tool_result("a", "r")

    assert pieces(one) == [(0, one)]
