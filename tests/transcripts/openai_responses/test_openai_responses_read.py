"""Items of the Responses API: which make a message together, what becomes of each, and what is listed as odd."""

from __future__ import annotations

from typing import Any

import pytest
from chat_strategies import found_and_read, kinds

from koogbook.messages.message import Message, Usage
from koogbook.messages.parts import Attachment, Foreign, Reasoning, Text, ToolCall, ToolResult
from koogbook.transcripts.conversation import Conversation
from koogbook.transcripts.openai_responses.format import FORMAT
from koogbook.transcripts.openai_responses.shape import find, is_entry
from koogbook.transcripts.transcript import Defect

HELLO = {"role": "user", "content": "Hello"}
SAID = {
    "type": "message",
    "id": "msg_1",
    "status": "completed",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Hi", "annotations": []}],
}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": '{"at": 1}'}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "seen"}
THOUGHT = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "First."}, {"type": "summary_text", "text": "Then."}],
    "encrypted_content": "sealed",
}


def read(*items: Any) -> tuple[tuple[Message, ...], tuple[Defect, ...]]:
    """The messages and defects of a conversation with these items."""
    return FORMAT.read(Conversation(items, "$"))


def said(*blocks: Any) -> dict[str, Any]:
    """A user item with these blocks."""
    return {"type": "message", "role": "user", "content": list(blocks)}


def test_items_of_the_model_that_follow_each_other_are_one_message() -> None:
    """A thought, words and a call are parts of one turn, and the output is a tool's [EXE-07]."""
    messages, defects = read(HELLO, THOUGHT, SAID, CALL, OUTPUT, {**SAID, "id": "msg_2"})

    assert [one.role for one in messages] == ["user", "assistant", "tool", "assistant"]
    assert messages[1].parts == (
        Reasoning("First.\n\nThen.", "sealed", "rs_1"),
        Text("Hi"),
        ToolCall("look", '{"at": 1}', "c1"),
    )
    assert messages[2].results == (ToolResult("seen", "look", "c1"),)
    assert ([one.id for one in messages[1::2]], defects) == (["rs_1", "msg_2"], ())


BLOCKS = [
    ({"type": "input_text", "text": "Look:"}, Text("Look:")),
    (
        {"type": "input_image", "image_url": "data:image/png;base64,iVBORw==", "detail": "high"},
        Attachment("image", "image/png", data=b"\x89PNG"),
    ),
    (
        {"type": "input_image", "image_url": "https://example.org/a.png"},
        Attachment("image", url="https://example.org/a.png"),
    ),
    ({"type": "input_image", "file_id": "file-1"}, Attachment("image", file_id="file-1")),
    ({"type": "input_file", "file_id": "file-7"}, Attachment("file", file_id="file-7")),
    (
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="},
        Attachment("file", "application/pdf", data=b"%PDF", name="a.pdf"),
    ),
    (
        {"type": "input_file", "file_url": "https://example.org/a.pdf"},
        Attachment("file", url="https://example.org/a.pdf"),
    ),
    (
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
        Attachment("audio", "audio/wav", data=b"RIFF"),
    ),
]


@pytest.mark.parametrize(("block", "part"), BLOCKS)
def test_a_block_becomes_a_part(block: dict[str, Any], part: Any) -> None:
    """Texts, pictures, files and sound have places of their own [EXE-07, KB-025]."""
    messages, defects = read(said(block))

    assert (messages[0].parts, defects) == ((part,), ())


def test_a_refusal_is_what_the_model_said() -> None:
    """It stands where the text would."""
    messages, _ = read({**SAID, "content": [{"type": "refusal", "refusal": "I cannot."}]})

    assert messages[0].parts == (Text("I cannot."),)


def test_an_output_of_blocks_is_text_and_what_else_it_shows() -> None:
    """A picture beside the text is a part of the result's message [KB-027]."""
    blocks = [{"type": "input_text", "text": "seen"}, BLOCKS[1][0]]
    messages, _ = read(CALL, {**OUTPUT, "output": blocks})

    assert messages[1].parts == (ToolResult("seen", "look", "c1"), BLOCKS[1][1])


def test_a_text_after_a_picture_in_an_output_is_listed() -> None:
    """It is read before it [EXE-07]."""
    output = [
        {"type": "input_text", "text": "a"},
        {"type": "input_image", "file_id": "f"},
        {"type": "input_text", "text": "b"},
    ]
    messages, defects = read(
        {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": output},
    )

    assert messages[1].results[0].output == "a\nb"
    assert [(one.kind, one.where) for one in defects] == [("out_of_order", "$[1].output")]


def test_a_custom_call_has_its_free_text_as_arguments() -> None:
    """That it is no JSON is its nature, and no defect [EXE-07]."""
    call = {"type": "custom_tool_call", "call_id": "c1", "name": "run", "input": "print(1)"}
    messages, defects = read(call, {"type": "custom_tool_call_output", "call_id": "c1", "output": "1"})

    assert messages[0].calls == (ToolCall("run", "print(1)", "c1"),)
    assert (messages[1].results, defects) == ((ToolResult("1", "run", "c1"),), ())


@pytest.mark.parametrize(
    ("item", "role"),
    [
        ({"type": "web_search_call", "id": "ws", "status": "completed"}, "assistant"),
        ({"type": "item_reference", "id": "x"}, "assistant"),
        ({"type": "computer_call", "call_id": "k"}, "assistant"),
        ({"type": "computer_call_output", "call_id": "k", "output": {}}, "tool"),
        ({"type": "hologram", "beam": 7}, "assistant"),
    ],
    ids=str,
)
def test_an_item_that_is_not_understood_is_kept_raw_and_listed(item: dict[str, Any], role: str) -> None:
    """What the API's own tools did, and what a newer one may bring [EXE-07]."""
    messages, defects = read(item)

    assert (messages[0].role, type(messages[0].parts[0])) == (role, Foreign)
    assert [(one.kind, one.where) for one in defects] == [("unknown_part", "$[0]")]


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [('{"at": ', "broken_arguments"), ({"at": 1}, "arguments_not_text"), (None, "arguments_not_text")],
)
def test_odd_arguments_are_kept_as_text_and_listed(arguments: Any, kind: str) -> None:
    """The reader has to see what was written [EXE-07]."""
    messages, defects = read({**CALL, "arguments": arguments}, OUTPUT)

    assert isinstance(messages[0].calls[0].args, str)
    assert kinds(defects) == [kind]


def test_a_call_without_a_name_is_kept_raw_and_listed() -> None:
    """Nobody could run it [EXE-07]."""
    messages, defects = read({**CALL, "name": None})

    assert (messages[0].calls, kinds(defects)) == ((), ["bad_call"])


def test_instructions_are_the_first_message() -> None:
    """In a request they stand beside the items; places count the items [EXE-07]."""
    request = {"instructions": "Be brief.", "input": [HELLO, {"type": "hologram"}]}
    _, messages, defects = found_and_read(FORMAT, request)

    assert [(one.role, one.text) for one in messages[:2]] == [("system", "Be brief."), ("user", "Hello")]
    assert [one.where for one in defects] == ["$.input[1]"]


def test_an_input_that_is_a_text_is_the_users() -> None:
    """The short form of a request [EXE-07]."""
    _, messages, defects = found_and_read(FORMAT, {"model": "m", "input": "Hello"})

    assert ([(one.role, one.text) for one in messages], defects) == ([("user", "Hello")], ())


def test_an_answer_keeps_its_usage_and_how_it_ended() -> None:
    """They belong to the message that it is [EXE-07]."""
    usage = {
        "input_tokens": 9,
        "output_tokens": 4,
        "input_tokens_details": {"cached_tokens": 5},
        "output_tokens_details": {"reasoning_tokens": 2},
    }
    answer = {"object": "response", "status": "completed", "output": [THOUGHT, SAID], "usage": usage}
    _, messages, _ = found_and_read(FORMAT, answer)

    assert messages[0].usage == Usage(9, 4, cache_read_tokens=5, reasoning_tokens=2)
    assert messages[0].finish_reason == "completed"


def test_the_developer_is_a_system_role() -> None:
    """The newer name of it."""
    assert read({"role": "developer", "content": "Be brief."})[0][0].role == "system"


@pytest.mark.parametrize("item", [said(), {"role": "user", "content": ""}, {"role": "user"}], ids=str)
def test_empty_content_is_listed(item: dict[str, Any]) -> None:
    """It says nothing [EXE-07]."""
    assert kinds(read(item)[1]) == ["empty_content"]


def test_an_item_that_is_no_object_is_listed_with_its_content() -> None:
    """It cannot become a message, and it does not vanish without a word [EXE-07]."""
    messages, defects = read(HELLO, "stray text")

    assert (len(messages), kinds(defects)) == (1, ["bad_message"])
    assert "stray text" in defects[0].text


def test_an_orphan_output_and_an_open_call_are_listed() -> None:
    """The history is shown as it was [EXE-02]."""
    _, defects = read(OUTPUT, HELLO, CALL)

    assert [(one.kind, one.position) for one in defects] == [("orphan_result", 0), ("open_call", 2)]


def test_half_an_emoji_is_replaced_wherever_a_request_would_carry_it() -> None:
    """In texts, arguments, outputs and instructions [KB-041]."""
    items = [
        {"role": "user", "content": "a\ud83d"},
        {**CALL, "arguments": '{"a": "\ud83d"}'},
        {**OUTPUT, "output": "\ud83d"},
    ]
    _, messages, defects = found_and_read(FORMAT, {"instructions": "\ud83d", "input": items})

    assert [one.text for one in messages] == ["\ufffd", "a\ufffd", "", "\ufffd"]
    assert messages[2].calls[0].args == '{"a": "\ufffd"}'
    assert [one.where for one in defects] == [
        "$.instructions",
        "$.input[0].content",
        "$.input[1].arguments",
        "$.input[2].output",
    ]


@pytest.mark.parametrize(
    "value",
    [
        [HELLO, CALL],
        [SAID],
        [{**SAID, "content": [{"type": "refusal", "refusal": "I cannot."}]}],
        [said({"type": "input_text", "text": "Hi"})],
        {"model": "m", "input": [HELLO]},
        {"model": "m", "input": "Hello"},
        {"instructions": "Be brief.", "input": [HELLO]},
        {"input": [HELLO, CALL]},
        {"object": "response", "output": [], "instructions": None},
        CALL,
    ],
    ids=str,
)
def test_items_with_a_mark_are_found(value: Any) -> None:
    """Items and blocks that no other API has, and the fields of a request or an answer [EXE-07]."""
    found = find(value, "$")

    assert found is not None
    assert found.format == "openai-responses"


@pytest.mark.parametrize(
    "value",
    [
        [HELLO],
        {"input": [HELLO]},
        {"input": "Hello"},
        {"instruction": "Add.", "input": "1 and 1", "output": "2"},
        {"messages": [HELLO], "input": "x", "model": "m"},
        [{"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Hi"}]}],
        {"output": [SAID["content"]]},
        [{"type": "reasoning", "data": {"content": "x"}}],
        {"input": {"messages": [HELLO]}, "model": "m"},
        [],
        None,
        [[CALL]],
    ],
    ids=str,
)
def test_what_has_no_mark_is_not_taken(value: Any) -> None:
    """Roles and texts alone are OpenAI chat, and training data have fields of the same name [EXE-07]."""
    assert find(value, "$") is None


@pytest.mark.parametrize(("value", "expected"), [(CALL, True), (SAID, True), (HELLO, False), ([CALL], False)])
def test_a_line_is_an_entry_by_the_same_marks(value: Any, expected: bool) -> None:
    """JSONL with an item per line is put together by them [EXE-07]."""
    assert is_entry(value) is expected
