"""The exports of claude.ai: their messages, what is attached to them, and their branches."""

from __future__ import annotations

from typing import Any

import pytest

from koogbook.messages.parts import Attachment, Foreign, Reasoning, Text, ToolCall, ToolResult
from koogbook.transcripts.load import as_transcript
from koogbook.transcripts.transcript import Transcript

_FIRST = "00000000-0000-4000-8000-000000000000"


def said(sender: str, text: str = "", **fields: Any) -> dict[str, Any]:
    """One message of an export."""
    return {"sender": sender, "text": text, "created_at": "2025-03-01T10:00:00.5Z", **fields}


def read(*messages: Any, **beside: Any) -> Transcript:
    """The conversation of these messages."""
    return as_transcript({"uuid": "c", "name": "n", "chat_messages": list(messages), **beside})


def odd(found: Transcript) -> list[tuple[str, int, str]]:
    """Kind, position and place of each defect."""
    return [(one.kind, one.position, one.where) for one in found.defects]


def test_senders_become_roles_and_the_texts_are_kept() -> None:
    """The shortest form of the export has no content blocks."""
    found = read(said("human", "Hi", uuid="m1"), said("assistant", "Hello", uuid="m2"))

    assert [(one.role, one.text, one.id) for one in found] == [
        ("user", "Hi", "m1"),
        ("assistant", "Hello", "m2"),
    ]
    assert (found.format, found.extra, found.defects) == ("claude-export", {"uuid": "c", "name": "n"}, ())
    assert found.messages[0].time.isoformat() == "2025-03-01T10:00:00.500000+00:00"


def test_content_blocks_count_for_more_than_the_text() -> None:
    """The text holds a placeholder where a block cannot be shown."""
    found = read(said("assistant", "not supported here", content=[{"type": "text", "text": "Hello"}]))

    assert found.messages[0].text == "Hello"


def test_calls_and_results_inside_one_message_become_messages_of_their_own() -> None:
    """A result is never in a message of the assistant [EXE-02]."""
    blocks = [
        {"type": "thinking", "thinking": "Hm."},
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "t1", "name": "clock", "input": {"zone": "UTC"}},
        {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "12:00"}]},
        {"type": "text", "text": "Noon."},
    ]
    found = read(said("human", "Time?"), said("assistant", content=blocks, uuid="m2"))

    assert [one.parts for one in found][1:] == [
        (Reasoning("Hm."), Text("Let me see."), ToolCall("clock", '{"zone": "UTC"}', "t1")),
        (ToolResult("12:00", "clock", "t1"),),
        (Text("Noon."),),
    ]
    assert (found.defects, len({one.id for one in found})) == ((), 4)


def test_a_call_without_an_id_gets_the_result_after_it() -> None:
    """Old exports have no ids of calls."""
    blocks = [
        {"type": "tool_use", "name": "clock", "input": {}},
        {"type": "tool_result", "name": "clock", "content": "12:00"},
    ]

    assert read(said("assistant", content=blocks)).defects == ()


def test_the_text_of_an_attachment_is_a_file() -> None:
    """What the model read is there."""
    attachment = {"file_name": "a.csv", "file_type": "text/csv", "extracted_content": "x,y"}
    found = read(said("human", "See", attachments=[attachment], files=[{"file_name": "b.png"}]))

    assert found.messages[0].parts == (
        Text("See"),
        Attachment("file", "text/csv", data=b"x,y", name="a.csv"),
        Attachment("file", file_id="b.png", name="b.png"),
    )


@pytest.mark.parametrize(
    ("message", "defect"),
    [
        (said("robot", "Hi"), ("unknown_role", 1, "$.chat_messages[1].sender")),
        (said("human", ""), ("empty_content", 1, "$.chat_messages[1].text")),
        (said("human", content=[{"type": "hologram"}]), ("unknown_part", 1, "$.chat_messages[1].content[0]")),
        (said("human", "Hi", attachments=[7]), ("unknown_part", 1, "$.chat_messages[1].attachments[0]")),
        (said("human", "Hi", created_at="noon"), ("bad_time", 1, "$.chat_messages[1].created_at")),
        (7, ("bad_message", 1, "$.chat_messages[1]")),
    ],
)
def test_what_is_odd_is_listed_with_its_place(message: Any, defect: tuple[str, int, str]) -> None:
    """Nothing is dropped silently [EXE-07]."""
    assert odd(read(said("human", "Hi"), message)) == [defect]


def test_an_unknown_block_is_kept() -> None:
    """An export of next year still loads [EXE-07]."""
    found = read(said("assistant", content=[{"type": "hologram", "beam": 1}]))

    assert found.messages[0].parts == (Foreign("hologram", '{"beam": 1, "type": "hologram"}'),)


TREE = [
    said("human", "joke?", uuid="u1", parent_message_uuid=_FIRST),
    said("assistant", "first", uuid="a1", parent_message_uuid="u1"),
    said("assistant", "second", uuid="a2", parent_message_uuid="u1"),
]


def test_a_tree_is_read_along_the_line_to_its_newest_message() -> None:
    """Regenerated answers are branches, which are listed [KB-153]."""
    found = read(*TREE)

    assert ([one.text for one in found], odd(found)) == (
        ["joke?", "second"],
        [("other_branch", 1, "$.chat_messages[1]")],
    )
    assert "1 message, 'first'; load it with branch='a1'" in found.defects[0].text


def test_the_leaf_that_the_export_names_is_the_end() -> None:
    """It is the one that was on the screen."""
    assert read(*TREE, current_leaf_message_uuid="a1").messages[1].text == "first"


def test_an_id_that_is_used_twice_is_listed() -> None:
    """Then the order of the file counts [EXE-07]."""
    found = read(*TREE, said("human", "again", uuid="u1", parent_message_uuid="a2"))

    assert ([one.text for one in found], odd(found)) == (
        ["joke?", "first", "second", "again"],
        [("duplicate_id", 3, "$.chat_messages[3].uuid")],
    )
