"""ChatGPT's exports: the line of the tree that is read, and what becomes of each content."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from koogbook.errors import TranscriptError
from koogbook.messages.parts import Attachment, Foreign, Part, Reasoning, Text, ToolCall, ToolResult
from koogbook.transcripts.load import as_transcript, load_transcript, load_transcripts
from koogbook.transcripts.transcript import Transcript


def node(
    id: str, parent: str | None, role: str = "user", content: Any = "", **fields: Any
) -> tuple[str, dict[str, Any]]:
    """One node with a message; a text stands for the usual content."""
    if isinstance(content, str):
        content = {"content_type": "text", "parts": [content]}
    author = fields.pop("author", {"role": role})
    message = {"id": id, "author": author, "create_time": 1714585031.15, "content": content, **fields}
    return id, {"id": id, "message": message, "parent": parent, "children": []}


ROOT = ("r", {"id": "r", "message": None, "parent": None, "children": ["u1"]})
JOKE = {
    "title": "t",
    "current_node": "a2",
    "mapping": dict(
        [
            ROOT,
            node("u1", "r", "user", "joke?"),
            node("a1", "u1", "assistant", "first"),
            node("a2", "u1", "assistant", "second", create_time=None, status="in_progress"),
        ]
    ),
}


def read(*nodes: Any, branch: Any = None, **beside: Any) -> Transcript:
    """The conversation of these nodes, up to the last."""
    mapping = dict([ROOT, *nodes])
    return as_transcript({"mapping": mapping, "current_node": list(mapping)[-1], **beside})


def content_of(content: Any, role: str = "assistant") -> tuple[tuple[Part, ...], list[str]]:
    """The parts of a message with this content, and the kinds of its defects."""
    found = read(node("m", "r", role, content))
    return found.messages[0].parts, [one.kind for one in found.defects]


def odd(found: Transcript) -> list[tuple[str, int, str]]:
    """Kind, position and place of each defect."""
    return [(one.kind, one.position, one.where) for one in found.defects]


def test_the_line_from_the_current_node_to_the_root_is_read() -> None:
    """Regenerated answers are branches, and no part of the conversation [KB-153]."""
    found = as_transcript([JOKE])

    assert [(one.role, one.text) for one in found] == [("user", "joke?"), ("assistant", "second")]
    assert (found.format, found.extra) == ("chatgpt", {"title": "t", "current_node": "a2"})


def test_the_other_branch_is_reported_with_its_size() -> None:
    """Nothing is dropped silently; the time and the state of the answer are flagged as well [KB-153]."""
    found = as_transcript([JOKE])

    assert odd(found) == [
        ("unfinished_message", 1, "$[0].mapping.a2.message.status"),
        ("bad_time", 1, "$[0].mapping.a2.message.create_time"),
        ("other_branch", 1, "$[0].mapping.a1"),
    ]
    assert "1 message, 'first'; load it with branch='a1'" in found.defects[2].text


@pytest.mark.parametrize("branch", ["a1", "1", 1])
def test_another_branch_can_be_loaded(tmp_path: Path, branch: Any) -> None:
    """By the id that the defect names, or by its number [KB-153]."""
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([JOKE]), encoding="utf-8")
    found = load_transcript(path, branch=branch)

    assert [one.text for one in found] == ["joke?", "first"]
    assert [one.kind for one in found.defects] == ["other_branch"]


def test_a_branch_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """The message names those that are."""
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([JOKE]), encoding="utf-8")

    with pytest.raises(TranscriptError, match="There is no node '7'"):
        load_transcript(path, branch=7)


def test_a_circle_of_parents_ends_with_an_error() -> None:
    """It does not hang [KB-153]."""
    with pytest.raises(TranscriptError, match="in a circle"):
        read(node("a", "b"), node("b", "a"))


def test_a_conversation_without_its_current_node_is_read_to_the_last_leaf() -> None:
    """The file is old, or was cut; that is listed [EXE-07]."""
    found = read(node("u", "r", "user", "Hi"), current_node="gone")

    assert ([one.text for one in found], odd(found)) == (["Hi"], [("unknown_entry", 0, "$.mapping")])


def test_a_parent_that_is_not_there_is_listed() -> None:
    """The line begins after the gap."""
    found = read(node("u", "gone", "user", "Hi"))

    assert ("unknown_entry", 1, "$.mapping.u.parent") in odd(found)


def test_the_file_of_all_conversations_is_a_list_of_such(tmp_path: Path) -> None:
    """An export has them in one file."""
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([JOKE, {**JOKE, "current_node": "a1"}]), encoding="utf-8")

    assert [one.messages[1].text for one in load_transcripts(path)] == ["second", "first"]


def test_a_time_that_is_null_is_a_moment_after_the_message_before() -> None:
    """A message of 1970 among those of today would be wrong [KB-153]."""
    first, second = as_transcript(JOKE).messages

    assert first.time == datetime(2024, 5, 1, 17, 37, 11, 150000, UTC)
    assert second.time - first.time == timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("content", "parts", "defects"),
    [
        ({"content_type": "code", "language": "python", "text": "1+1"}, (Text("1+1"),), []),
        ({"content_type": "tether_quote", "title": "T", "text": "quoted"}, (Text("T\nquoted"),), []),
        ({"content_type": "tether_browsing_display", "result": "found"}, (Text("found"),), []),
        ({"content_type": "execution_output", "text": "2"}, (Text("2"),), []),
        (
            {
                "content_type": "multimodal_text",
                "parts": [{"content_type": "image_asset_pointer", "asset_pointer": "file://x"}, "look"],
            },
            (Attachment("image", file_id="file://x"), Text("look")),
            [],
        ),
        (
            {"content_type": "thoughts", "thoughts": [{"summary": "Adding", "content": "1 and 1"}]},
            (Reasoning("Adding\n1 and 1"),),
            [],
        ),
        ({"content_type": "reasoning_recap", "content": "Thought"}, (Reasoning("Thought"),), []),
        (
            {"content_type": "unknown_new", "payload": {"a": 1}},
            (Foreign("unknown_new", '{"content_type": "unknown_new", "payload": {"a": 1}}'),),
            ["unknown_part"],
        ),
        (
            {"content_type": "multimodal_text", "parts": [{"content_type": "hologram"}]},
            (Foreign("hologram", '{"content_type": "hologram"}'),),
            ["unknown_part"],
        ),
        ({"content_type": "text", "parts": [""]}, (), ["empty_content"]),
    ],
)
def test_no_content_becomes_blank(content: Any, parts: tuple[Part, ...], defects: list[str]) -> None:
    """Known types keep their text, others their JSON, with a defect [KB-154]."""
    assert content_of(content) == (parts, defects)


def test_messages_without_their_tree_are_read_in_order() -> None:
    """Some tools write the messages alone [KB-154]."""
    entries = [
        {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Hi"]}, "create_time": 1},
        {"author": {"role": "assistant"}, "content": {"content_type": "code", "text": "1"}, "create_time": 2},
    ]

    assert [one.text for one in as_transcript(entries)] == ["Hi", "1"]


def test_what_the_user_told_of_himself_is_a_system_message() -> None:
    """ChatGPT puts it before the conversation in the user's name."""
    settings = {
        "content_type": "user_editable_context",
        "user_profile": "I teach.",
        "user_instructions": "Be brief.",
    }
    found = read(node("m", "r", "user", settings))

    assert (found.messages[0].role, found.messages[0].text) == ("system", "I teach.\nBe brief.")


def test_a_message_to_a_tool_is_a_call_and_what_the_tool_says_its_result() -> None:
    """The author's name is the tool."""
    found = read(
        node("a", "r", "assistant", {"content_type": "code", "text": "print(2)"}, recipient="python"),
        node(
            "t",
            "a",
            content={"content_type": "execution_output", "text": "2"},
            author={"role": "tool", "name": "python"},
        ),
    )

    assert [one.parts for one in found] == [
        (ToolCall("python", '{"input": "print(2)"}', "call_a"),),
        (ToolResult("2", "python", "call_a"),),
    ]
    assert found.defects == ()


def test_what_a_tool_says_after_its_answer_belongs_to_the_same_result() -> None:
    """A search gives one page after the other; as a result without a call it would be taken out [EXE-02]."""
    found = read(
        node("a", "r", "assistant", {"content_type": "code", "text": "rain"}, recipient="browser"),
        *(
            node(str(page), str(page - 1) if page > 1 else "a", content=f"page {page}", author=author)
            for page in (1, 2, 3)
            for author in [{"role": "tool", "name": "browser"}]
        ),
    )

    assert [one.parts for one in found][1:] == [(ToolResult("page 1\npage 2\npage 3", "browser", "call_a"),)]
    assert odd(found) == [
        ("joined_result", 1, "$.mapping.2.message"),
        ("joined_result", 1, "$.mapping.3.message"),
    ]
    assert [one["id"] for one in found.messages[1].metadata["chatgpt"]["further"]] == ["2", "3"]
    assert found.repaired().messages == found.messages


def test_what_another_tool_says_is_no_part_of_a_result() -> None:
    """It was not called."""
    found = read(
        node("a", "r", "assistant", {"content_type": "code", "text": "rain"}, recipient="browser"),
        node("1", "a", content="page", author={"role": "tool", "name": "browser"}),
        node("2", "1", content="saved", author={"role": "tool", "name": "bio"}),
    )

    assert ([one.text for one in found][1:], [one.kind for one in found.defects]) == (
        ["page", "saved"],
        ["orphan_result"],
    )


def test_an_export_with_nothing_beside_its_tree_loads() -> None:
    """Some tools write no title [EXE-07]."""
    nodes = dict([ROOT, node("u", "r", "user", "Hi")])

    assert [(one.id, one.text) for one in as_transcript({"mapping": nodes})] == [("u", "Hi")]


def test_a_result_without_a_call_is_an_orphan() -> None:
    """Nobody asked for it."""
    found = read(node("t", "r", content="saved", author={"role": "tool", "name": "bio"}))

    assert odd(found) == [("orphan_result", 0, "$.mapping.t.message")]


def test_a_system_message_without_text_is_left_out_and_listed() -> None:
    """Each conversation begins with one."""
    found = read(node("s", "r", "system", ""), node("u", "s", "user", "Hi"))

    assert ([one.role for one in found], odd(found)) == (
        ["user"],
        [("empty_content", 0, "$.mapping.s.message.content")],
    )


def test_fields_without_a_place_are_kept_in_the_metadata() -> None:
    """The model that answered is known from there [EXE-07]."""
    found = read(
        node("a", "r", "assistant", "Hi", metadata={"model_slug": "m", "finish_details": {"type": "stop"}})
    )

    assert found.messages[0].metadata["chatgpt"]["metadata"]["model_slug"] == "m"
    assert found.messages[0].finish_reason == "stop"


@pytest.mark.parametrize("message", [7, "text", []])
def test_a_message_that_is_none_is_listed(message: Any) -> None:
    """The messages around it load [EXE-07]."""
    found = read(("x", {"message": message, "parent": "r"}), node("u", "x", "user", "Hi"))

    assert odd(found) == [("bad_message", 0, "$.mapping.x.message")]
