"""What OpenAI chat messages have no place for is left out with a word, and never written as another API's."""

from __future__ import annotations

from typing import Any

import pytest

from koogbook.messages.message import assistant, tool_result, user
from koogbook.messages.parts import Attachment, Reasoning, Text, ToolCall, ToolResult
from koogbook.transcripts.export import export_transcript
from koogbook.transcripts.load import as_transcript
from koogbook.transcripts.openai_chat.write import to_openai

USE = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "r"}]}
PICTURE = Attachment("image", url="https://example.org/a.png")


def told(history: Any) -> list[str]:
    """What is lost of a history, in words, the times of messages made in code aside."""
    losses = export_transcript(history, "openai-chat").losses
    return [str(loss) for loss in losses if loss.text != "its time"]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "redacted_thinking", "data": "d"},
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
        {"type": "document", "source": {"type": "content", "content": []}},
    ],
    ids=lambda block: block["type"],
)
def test_a_block_of_another_api_is_left_out_and_listed(block: dict[str, Any]) -> None:
    """A server would refuse the request, and this library its own file [EXE-07]."""
    said = {"role": "assistant", "content": [{"type": "text", "text": "Hello"}, block]}
    found = as_transcript([said, USE, RESULT])
    done = export_transcript(found, "openai-chat")

    assert done.value[0] == {"role": "assistant", "content": "Hello"}
    assert f"a part of kind {block['type']!r}, which the API does not have" in done.losses[0].text
    assert as_transcript(done.value).format == "openai-chat"


@pytest.mark.parametrize(
    "item",
    [
        {"type": "web_search_call", "id": "w", "status": "completed"},
        {"type": "computer_call", "id": "c", "call_id": "c", "action": {}},
        {"type": "computer_call_output", "call_id": "c", "output": {}},
        {"type": "item_reference", "id": "i"},
    ],
    ids=lambda item: item["type"],
)
def test_a_message_of_nothing_else_is_left_out_and_listed(item: dict[str, Any]) -> None:
    """An entry without content would be refused as well [EXE-07]."""
    found = as_transcript(
        [{"role": "user", "content": "Hi"}, item, {"type": "message", "role": "user", "content": "?"}]
    )
    done = export_transcript(found, "openai-chat")

    assert [entry["content"] for entry in done.value] == ["Hi", "?"]
    assert "that it was said: nothing in it has a place" in [loss.text for loss in done.losses]
    assert not any("became a user message" in loss.text for loss in done.losses)


def test_a_part_that_came_from_this_format_goes_back() -> None:
    """Also one that nobody knows, and after a change of the message [EXE-07]."""
    strange = {"type": "hologram", "beam": 1}
    found = as_transcript([{"role": "user", "content": [strange, {"type": "text", "text": "old"}]}])
    changed = found.messages[0].with_parts([found.messages[0].parts[0], Text("new")])

    assert export_transcript(found).value[0]["content"][0] == strange
    assert to_openai([changed])[0]["content"] == [strange, {"type": "text", "text": "new"}]


@pytest.mark.parametrize("stray", ["Hello", 7, None, ["x"]], ids=repr)
def test_a_stray_value_beside_a_picture_goes_back(stray: Any) -> None:
    """It stopped the whole export before [EXE-07]."""
    picture = {"type": "image_url", "image_url": {"url": "u", "detail": "low"}}
    chat = [{"role": "user", "content": [stray, picture]}, {"role": "assistant", "content": "x"}]

    assert export_transcript(as_transcript(chat)).value == chat


def test_a_tool_message_without_a_result_becomes_one_of_the_user() -> None:
    """The format has no entry of a tool that answers no call [EXE-07]."""
    history = [tool_result("a", "x").with_parts([Text("note")])]

    assert to_openai(history) == [{"role": "user", "content": "note"}]
    assert told(history) == ["message 0: that it is of a tool: it has no result, and became a user message"]


def test_a_made_id_is_that_of_no_other_call_or_result() -> None:
    """Two calls with one id would get each other's results [EXE-02]."""
    history = [
        user("Hi"),
        assistant(calls=[ToolCall("clock")]),
        tool_result(None, "12:00", tool="clock"),
        assistant(calls=[ToolCall("weather", "{}", "call_1_0")]),
        tool_result("call_1_0", "sunny"),
    ]
    entries = to_openai(history)
    ids = [entries[at]["tool_calls"][0]["id"] for at in (1, 3)]

    assert ids[0] != ids[1] == "call_1_0"
    assert [entries[at]["tool_call_id"] for at in (2, 4)] == ids


def test_a_made_id_is_not_that_of_an_orphan() -> None:
    """The orphan would look like the result of that call [EXE-02]."""
    entries = to_openai([tool_result("call_1_0", "lost"), assistant(calls=[ToolCall("clock")])])

    assert entries[1]["tool_calls"][0]["id"] != entries[0]["tool_call_id"]


def test_the_id_of_a_result_that_is_not_its_calls_is_listed() -> None:
    """It is written with that of the call [EXE-07]."""
    history = [assistant(calls=[ToolCall("clock")]), tool_result("x", "12:00", tool="clock")]

    assert told(history) == ["message 1: the id 'x' of a result of clock became 'call_0_0'"]


def test_a_result_that_names_no_call_is_listed() -> None:
    """A server refuses it [EXE-07]."""
    assert told([tool_result(None, "12:00", tool="clock")]) == [
        "message 0: which call the result of clock answers: it has no id"
    ]


def test_a_result_that_named_no_call_in_its_file_is_as_it_was() -> None:
    """Nothing of it is lost; the defect was listed where it was read [EXE-07]."""
    done = export_transcript(as_transcript([{"role": "tool", "content": "12:00"}]))

    assert (done.value, done.losses) == ([{"role": "tool", "content": "12:00"}], ())


CALL = ToolCall("f", "{}", "a")


@pytest.mark.parametrize(
    "parts",
    [
        [CALL, Text("after")],
        [Text("before"), Reasoning("t"), CALL],
        [Reasoning("t"), CALL, Reasoning("u")],
    ],
    ids=["text", "thought", "second thought"],
)
def test_parts_in_another_order_are_listed(parts: Any) -> None:
    """The format has thoughts, content and calls in fields of their own [EXE-07]."""
    assert told([assistant(parts), tool_result(CALL, "r")]) == ["message 0: the order of its parts"]


def test_parts_in_the_order_of_the_format_are_not_listed() -> None:
    """Nothing changed."""
    said = assistant([Reasoning("t"), Text("x"), PICTURE, CALL, Text("")])

    assert told([said, tool_result(CALL, "r").with_parts([ToolResult("r", "", "a"), PICTURE])]) == []


def test_a_note_stays_with_the_result_that_it_follows() -> None:
    """The format has one result in an entry [EXE-07]."""
    calls = assistant(calls=[CALL, ToolCall("g", "{}", "b"), ToolCall("h", "{}", "c")])
    results = [ToolResult(one.upper(), "", one) for one in "abc"]
    both = tool_result("a", "").with_parts([results[0], results[1], Text("note"), results[2]])
    entries = to_openai([calls, both])[1:]

    assert [one["tool_call_id"] for one in entries] == ["a", "b", "c"]
    assert [one["content"] for one in entries] == [
        "A",
        [{"type": "text", "text": "B"}, {"type": "text", "text": "note"}],
        "C",
    ]
    assert told([calls, both]) == []


def test_a_note_before_all_results_is_listed() -> None:
    """It comes after the first of them [EXE-07]."""
    calls = assistant(calls=[CALL, ToolCall("g", "{}", "b")])
    both = tool_result("a", "").with_parts([Text("note"), ToolResult("A", "", "a"), ToolResult("B", "", "b")])

    assert told([calls, both]) == ["message 1: the order of its parts"]


def test_a_call_with_a_free_text_stays_one() -> None:
    """As a call of a function its text would be arguments that are no JSON [EXE-07]."""
    found = as_transcript(
        [
            {"type": "custom_tool_call", "call_id": "c", "name": "shell", "input": "ls -l"},
            {"type": "custom_tool_call_output", "call_id": "c", "output": "a.txt"},
        ]
    )
    done = export_transcript(found, "openai-chat")

    assert done.value == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"type": "custom", "id": "c", "custom": {"name": "shell", "input": "ls -l"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "a.txt"},
    ]
    assert done.losses == ()


@pytest.mark.parametrize("content", [{"celsius": 20}, 20, True], ids=repr)
def test_a_result_that_was_no_text_is_one_in_the_export(content: Any) -> None:
    """Servers take text and parts [KB-035]."""
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    chat = [{"role": "assistant", "content": None, "tool_calls": [call]}]
    found = as_transcript([*chat, {"role": "tool", "tool_call_id": "a", "content": content}])

    assert found.messages[1].results[0].output == export_transcript(found).value[1]["content"]


def test_a_sealed_thought_is_no_empty_line() -> None:
    """It has no text, and its signature is listed [EXE-07]."""
    history = [assistant([Reasoning("a"), Reasoning("", "c2ln"), Text("x")])]

    assert to_openai(history)[0]["reasoning_content"] == "a"
    assert told(history) == ["message 0: the signature and id of its reasoning"]


def test_a_second_call_beside_one_of_the_old_style_makes_both_new() -> None:
    """The old field holds one call without an id [EXE-07]."""
    old = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    found = as_transcript([old, {"role": "function", "name": "f", "content": "r"}])
    first, second = found.messages
    changed = first.with_parts([*first.parts, ToolCall("g", "{}", "b")])
    entries = to_openai([changed, second])

    assert [one["function"]["name"] for one in entries[0]["tool_calls"]] == ["f", "g"]
    assert (entries[1]["role"], entries[1]["tool_call_id"]) == ("tool", entries[0]["tool_calls"][0]["id"])
