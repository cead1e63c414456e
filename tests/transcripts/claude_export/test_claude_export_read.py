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
    """A text that differs from them is kept and listed [EXE-07]."""
    found = read(said("assistant", "Other words", content=[{"type": "text", "text": "Hello"}]))

    assert (found.messages[0].text, odd(found)) == (
        "Hello",
        [("bad_content", 0, "$.chat_messages[0].text")],
    )
    assert found.messages[0].metadata["claude_export"] == {"text": "Other words"}


def test_a_text_that_repeats_the_blocks_is_no_text_of_its_own() -> None:
    """It has other white space, and a placeholder where a block cannot be shown."""
    shown = "Hello\n```\nThis block is not supported on your current device yet.\n```\n\nyou"
    blocks = [{"type": "text", "text": text} for text in ("Hello", "you")]
    found = read(said("assistant", shown, content=blocks))

    assert (found.messages[0].metadata_json, found.defects) == ("{}", ())


def test_a_text_beside_blocks_without_words_is_a_part() -> None:
    """The user wrote it, and the picture is in the blocks [EXE-07]."""
    found = read(said("human", "Please read this", content=[{"type": "image", "x": 1}]))

    assert found.messages[0].parts == (
        Text("Please read this"),
        Foreign("image", '{"type": "image", "x": 1}'),
    )


def test_what_blocks_have_besides_their_content_is_kept_by_their_number() -> None:
    """Sources, summaries of thoughts, what a tool is said to do: an export has them nowhere else [EXE-07]."""
    blocks = [
        {"type": "thinking", "thinking": "Hm.", "summaries": [{"summary": "Thought"}], "cut_off": True},
        {"type": "tool_use", "id": "t1", "name": "clock", "input": {}, "message": "Looking"},
        {
            "type": "tool_result",
            "tool_use_id": "t1",
            "content": [{"type": "text", "text": "12", "uuid": "x"}],
        },
        {"type": "text", "text": "Noon.", "citations": [{"url": "https://example.org"}], "flags": None},
    ]

    assert read(said("assistant", content=blocks)).messages[0].metadata["claude_export"]["content"] == {
        "0": {"summaries": [{"summary": "Thought"}], "cut_off": True},
        "1": {"message": "Looking"},
        "2": {"content": [{"type": "text", "text": "12", "uuid": "x"}]},
        "3": {"citations": [{"url": "https://example.org"}]},
    }


def test_files_that_are_told_twice_are_kept_twice_and_read_once() -> None:
    """The second list may have more to say of them [EXE-07]."""
    more = [{"file_name": "b.png", "file_kind": "image", "preview_url": "/p"}]
    (one,) = read(said("human", "See", files=[{"file_name": "b.png"}], files_v2=more))

    assert (len(one.parts), one.metadata["claude_export"]) == (2, {"files_v2": more})


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
    """What the model read is there: a plain text, whatever it was taken out of [EXE-07]."""
    attachment = {"file_name": "a.pdf", "file_type": "application/pdf", "extracted_content": "x,y"}
    found = read(said("human", "See", attachments=[attachment], files=[{"file_name": "b.png"}]))

    assert found.messages[0].parts == (
        Text("See"),
        Attachment("file", "text/plain", data=b"x,y", name="a.pdf"),
        Attachment("file", file_id="b.png", name="b.png"),
    )
    assert found.messages[0].metadata["claude_export"] == {
        "attachments": {"0": {"file_type": "application/pdf"}}
    }


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
