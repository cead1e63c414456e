"""Histories as Anthropic messages: how the API takes them, and what has no place."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from chat_strategies import (
    PICTURES,
    TIME,
    exact,
)
from hypothesis import given, settings
from hypothesis import strategies as st

import koogbook as kb
from koogbook.messages.message import Message, Usage, assistant, system, tool_result, user
from koogbook.messages.parts import Attachment, Foreign, Reasoning, Text, ToolCall, ToolResult
from koogbook.transcripts.anthropic.format import FORMAT
from koogbook.transcripts.anthropic.write import write_conversation
from koogbook.transcripts.conversation import Conversation
from koogbook.transcripts.openai_chat.read import read_conversation as read_openai
from koogbook.transcripts.openai_chat.write import to_openai

CALL = ToolCall("look", "{}", "t1")


def test_results_of_one_turn_share_one_user_message() -> None:
    """Each with its own id, in the order in which they came; both come back as tool messages [KB-018]."""
    functions = [{"name": "wx", "arguments": json.dumps({"c": city})} for city in ("Rio", "Bern")]
    calls = [
        {"id": f"q{at}", "type": "function", "function": one} for at, one in enumerate(functions, start=1)
    ]
    chat = [
        {"role": "user", "content": "both"},
        {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "q2", "content": "Bern 3"},
        {"role": "tool", "tool_call_id": "q1", "content": "Rio 31"},
        {"role": "assistant", "content": "Rio 31, Bern 3"},
    ]
    messages, _ = read_openai(Conversation(chat, "$"))
    written = write_conversation(messages, {}).value
    again, _ = FORMAT.read(Conversation(written, "$"))

    assert written[2] == {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "q2", "content": "Bern 3"},
            {"type": "tool_result", "tool_use_id": "q1", "content": "Rio 31"},
        ],
    }
    assert [(one.role, one.parts) for one in again] == [(one.role, one.parts) for one in messages]


KB_029: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "text", "text": "How many?"}]},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": ""},
            {"type": "tool_use", "id": "toolu_1", "name": "count", "input": {}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "7"}]}
        ],
    },
]


def test_an_empty_text_beside_a_call_is_not_written() -> None:
    """All else is as it was, the empty object of arguments as well [KB-029]."""
    messages, _ = FORMAT.read(Conversation(KB_029, "$"))

    without = [KB_029[0], {**KB_029[1], "content": KB_029[1]["content"][1:]}, KB_029[2]]
    assert exact(write_conversation(messages, {}).value) == exact(without)
    assert to_openai(messages)[1]["content"] is None


def test_signed_thoughts_survive_a_change_of_the_calls_beside_them() -> None:
    """Byte for byte and in order, or the API refuses the turn [KB-077]."""
    thoughts = [
        {"type": "thinking", "thinking": "simple", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "eHg="},
    ]
    use = {"type": "tool_use", "id": "t1", "name": "calc", "input": {"e": "2+2"}}
    chat = [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": [*thoughts, use]}]
    messages, _ = FORMAT.read(Conversation(chat, "$"))
    trimmed = messages[1].with_parts([*messages[1].parts[:2], ToolCall("calc", '{"e": "…"}', "t1")])
    written = write_conversation((messages[0], trimmed), {}).value

    assert exact(written[1]["content"]) == exact([*thoughts, {**use, "input": {"e": "…"}}])


def test_system_messages_at_the_start_become_the_system_prompt() -> None:
    """In this API they are no entries of the list [EXE-07]."""
    history = (system("One.", time=TIME), system("Two.", time=TIME), user("Hi", time=TIME))
    written = write_conversation(history, {})

    assert written.value["system"] == [{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}]
    assert (len(written.value["messages"]), written.losses) == (1, ())


def test_a_later_system_message_stays_where_the_api_allows_it() -> None:
    """After the user and before the model [EXE-07]."""
    written = write_conversation((user("Hi", time=TIME), system("Now brief.", time=TIME)), {})

    assert written.value[1] == {"role": "system", "content": "Now brief."}
    assert written.losses == ()


def test_a_later_system_message_elsewhere_moves_to_the_start_and_is_a_loss() -> None:
    """The API refuses it after an answer [EXE-07]."""
    history = [user("Hi", time=TIME), assistant("Yes?", time=TIME), system("Now brief.", time=TIME)]
    written = write_conversation((*history, user("Go", time=TIME)), {})

    assert written.value["system"] == "Now brief."
    assert [str(one) for one in written.losses] == [
        "message 2: its place: the API has none for it there, and it moved to system"
    ]


@pytest.mark.parametrize("args", ['{"c":', "[1]", "", '{"c": NaN}'])
def test_arguments_that_are_no_object_become_an_empty_one_and_a_loss(args: str) -> None:
    """The API takes nothing else, and a made-up field would be taken for an argument [EXE-07]."""
    written = write_conversation((assistant(calls=[ToolCall("look", args, "t1")], time=TIME),), {})

    assert written.value[0]["content"][0]["input"] == {}
    assert [one.text for one in written.losses] == [
        f"the arguments of a call of look are no JSON object, and became {{}}: {args}"
    ]


LOST: list[tuple[Message, str]] = [
    (user("Hi", time=datetime(2026, 1, 2, tzinfo=UTC)), "its time"),
    (user("Hi", time=TIME, id="mine"), "its id"),
    (user("Hi", time=TIME, name="Ada"), "its name 'Ada'"),
    (user("Hi", time=TIME, metadata={"memory": True}), "its metadata (memory)"),
    (assistant("Hi", time=TIME, usage=Usage(3, 4)), "its usage"),
    (assistant("Hi", time=TIME, finish_reason="stop"), "why it ended (stop)"),
    (
        user([Text("Hi"), Attachment("audio", "audio/wav", data=b"RIFF")], time=TIME),
        "audio (media type audio/wav)",
    ),
    (
        user([Text("Hi"), Attachment("image", "image/tiff", data=b"II")], time=TIME),
        "image of a media type that the API does not take: image/tiff",
    ),
    (
        assistant([Reasoning("3 times 4"), Text("12")], time=TIME),
        "reasoning without a signature, which the API refuses: 3 times 4",
    ),
    (
        assistant([Reasoning("hm", "sealed", "rs_1"), Text("12")], time=TIME),
        "reasoning signed by another provider, which the API refuses: hm",
    ),
    (user([Text("Hi"), Foreign("sketch", '{"a": 1}')], time=TIME), "a part of type 'sketch': {\"a\": 1}"),
    (user([Text("Hi"), Text(" \n")], time=TIME), "a text of white space alone, which the API refuses"),
    (user("", time=TIME), "that it was said: it has no content, which the API refuses"),
]


@pytest.mark.parametrize(("one", "text"), LOST, ids=[text for _, text in LOST])
def test_what_has_no_place_is_a_loss(one: Message, text: str) -> None:
    """Nothing is left out without a word [EXE-07]."""
    written = write_conversation((one,), {})

    assert [loss.text for loss in written.losses] == [text]
    assert len(written.value) == (1 if one.text else 0)


def test_error_flags_have_a_place() -> None:
    """They are a field of a result."""
    history = (assistant(calls=[CALL], time=TIME), tool_result(CALL, "no", is_error=True, time=TIME))
    written = write_conversation(history, {})

    assert written.value[1]["content"][0]["is_error"] is True
    assert written.losses == ()


def test_calls_without_ids_get_ids_that_their_results_share() -> None:
    """The format joins both by id [EXE-02]."""
    history = (
        assistant(calls=[ToolCall("look")], time=TIME),
        tool_result(None, "seen", tool="look", time=TIME),
    )
    written = write_conversation(history, {})

    assert written.value[0]["content"][0]["id"] == written.value[1]["content"][0]["tool_use_id"] != ""
    assert written.losses == ()


@pytest.mark.parametrize("call_id", ["functions.look:0", "again"])
def test_an_id_that_the_api_refuses_becomes_another_one(call_id: str) -> None:
    """It takes letters, digits and two signs, and each id once; the result follows [EXE-02]."""
    call = ToolCall("look", "{}", call_id)
    turn = [assistant(calls=[call], time=TIME), tool_result(call, "seen", time=TIME)]
    before = [
        assistant(calls=[ToolCall("look", "{}", "again")], time=TIME),
        tool_result("again", "x", time=TIME),
    ]
    written = write_conversation((*before, *turn), {})

    made = written.value[2]["content"][0]["id"]
    assert made == written.value[3]["content"][0]["tool_use_id"] != call_id
    assert [one.text for one in written.losses] == [f"the id {call_id!r} of a call of look became {made!r}"]


def test_an_id_that_koogbook_makes_is_no_other_calls_id() -> None:
    """Whatever the others are called [EXE-02]."""
    calls = [ToolCall("look"), ToolCall("look", "{}", "call_0_0")]
    content = write_conversation((assistant(calls=calls, time=TIME),), {}).value[0]["content"]

    assert len({block["id"] for block in content}) == 2


ODD_IDS: list[Any] = [
    [{"type": "tool_use", "name": "f", "input": {}}],
    [{"type": "tool_use", "id": 7, "name": "f", "input": {}}],
    [{"type": "tool_use", "id": "f:0", "name": "f", "input": {}}],
]


@pytest.mark.parametrize("use", ODD_IDS, ids=str)
@pytest.mark.parametrize(
    "answered", [{}, {"tool_use_id": 7}, {"tool_use_id": "f:0"}, {"tool_use_id": "other"}], ids=str
)
def test_odd_ids_of_a_file_are_written_as_they_were(use: Any, answered: dict[str, Any]) -> None:
    """What is listed on the way in is not mended on the way out [EXE-07]."""
    chat = [
        {"role": "assistant", "content": use},
        {"role": "user", "content": [{"type": "tool_result", "content": "x", **answered}]},
    ]
    messages, _ = FORMAT.read(Conversation(chat, "$"))

    assert exact(write_conversation(messages, {}).value) == exact(chat)


def test_what_comes_out_as_it_went_in_is_no_loss() -> None:
    """Even where the API would refuse it [EXE-07]."""
    chat = [
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": " "}],
        }
    ]
    messages, _ = FORMAT.read(Conversation(chat, "$"))
    written = write_conversation(messages, {})

    assert (exact(written.value), written.losses) == (exact(chat), ())


def test_several_results_in_one_message_are_blocks_of_one_entry() -> None:
    """With the pictures inside the result that they follow [KB-027]."""
    calls = [CALL, ToolCall("look", "{}", "t2")]
    picture = Attachment("image", "image/png", data=b"\x89PNG")
    both = tool_result(CALL, "a", time=TIME).with_parts(
        [ToolResult("a", "", "t1"), picture, ToolResult("b", "", "t2")]
    )
    content = write_conversation((assistant(calls=calls, time=TIME), both), {}).value[1]["content"]

    assert [block["tool_use_id"] for block in content] == ["t1", "t2"]
    assert [inner["type"] for inner in content[0]["content"]] == ["text", "image"]


def test_entries_that_were_apart_stay_apart() -> None:
    """Two user entries in a row are a spelling of the file [EXE-07]."""
    use = [{"type": "tool_use", "id": f"t{at}", "name": "f", "input": {}} for at in (1, 2)]
    chat = [
        {"role": "assistant", "content": use},
        *({"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{at}"}]} for at in (1, 2)),
        {"role": "user", "content": "go on"},
    ]
    messages, _ = FORMAT.read(Conversation(chat, "$"))

    assert exact(write_conversation(messages, {}).value) == exact(chat)


def test_a_changed_message_is_written_as_it_is_now() -> None:
    """How a text was spelled in the file must not bring the old text back."""
    chat = [{"role": "user", "content": [{"type": "text", "text": "old", "cache_control": {}}], "weight": 1}]
    messages, _ = FORMAT.read(Conversation(chat, "$"))
    changed = write_conversation((messages[0].with_text("new"),), {}).value

    assert changed == [{"role": "user", "content": "new", "weight": 1}]


@given(st.lists(PICTURES, min_size=1, max_size=3))
@settings(max_examples=10, deadline=None)
def test_pictures_come_back_from_blocks(pictures: list[Attachment]) -> None:
    """Bytes travel as base64 text, links as links [KB-025]."""
    written = write_conversation((user(pictures, time=TIME),), {}).value

    assert FORMAT.read(Conversation(written, "$"))[0][0].parts == tuple(pictures)


def test_thoughts_that_a_provider_has_sealed_are_written_under_their_kind() -> None:
    """As an answer of the API brings them, with what is sealed in place of a signature [KB-077]."""
    answer = kb.assistant([kb.Reasoning("", "c2VhbGVk", "redacted_thinking"), kb.Text("Four.")])
    written = kb.export_transcript([kb.user("2+2?"), answer], "anthropic").value

    assert written[1]["content"][0] == {"type": "redacted_thinking", "data": "c2VhbGVk"}


def test_a_time_that_goes_out_is_no_loss() -> None:
    """Whatever its field is called [EXE-07]."""
    chat = [{"role": "user", "content": "Hi", "create_time": 1714585031}]
    messages, _ = FORMAT.read(Conversation(chat, "$"))

    assert write_conversation(messages, {}).losses == ()
