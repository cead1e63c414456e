"""LangChain messages come out in the form and the place in which they went in."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from chat_strategies import JSON_VALUES, TEXTS, TIME, came_out, damaged, exact, found_and_read, histories
from hypothesis import given, settings
from hypothesis import strategies as st

from koogbook.errors import TranscriptError
from koogbook.messages.message import Message, Usage, assistant, tool_result, user
from koogbook.messages.pairing import pair_messages
from koogbook.messages.parts import Attachment, Foreign, Reasoning, Text, ToolCall, ToolResult
from koogbook.transcripts.conversation import Conversation
from koogbook.transcripts.langchain.format import FORMAT
from koogbook.transcripts.langchain.shape import Placed
from koogbook.transcripts.langchain.write import write_conversation

CALL = ToolCall("look", "{}", "t1")
CONTENTS = TEXTS | st.lists(
    st.sampled_from(
        [
            "plain",
            {"type": "text", "text": "hello"},
            {"type": "text", "text": "hello", "index": 0},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw==", "detail": "low"}},
            {"type": "image", "base64": "iVBORw==", "mime_type": "image/png"},
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "hologram", "beam": [1, 2]},
        ]
    ),
    min_size=1,
    max_size=3,
)
EXTRAS = st.dictionaries(
    st.sampled_from(["id", "additional_kwargs", "response_metadata", "usage_metadata", "example", "name"]),
    JSON_VALUES,
    max_size=3,
)
CLASSES = {"human": "HumanMessage", "ai": "AIMessage", "system": "SystemMessage", "tool": "ToolMessage"}


def formed(form: str, kind: str, body: dict[str, Any]) -> dict[str, Any]:
    """A message in one of the forms."""
    if form == "flat":
        return {"type": kind, **body}
    if form == "data":
        return {"type": kind, "data": {**body, "type": kind}}
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", CLASSES[kind]], "kwargs": body}


@st.composite
def chats(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Messages of one form, with calls of either kind and their results."""
    form = draw(st.sampled_from(["data", "lc", "flat"]))
    found: list[dict[str, Any]] = []
    for turn in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["human", "system", "ai"]))
        body = {"content": draw(CONTENTS), **draw(EXTRAS)}
        count = draw(st.integers(0, 2)) if kind == "ai" else 0
        calls = [
            {"name": "look", "args": draw(st.dictionaries(TEXTS, TEXTS, max_size=1)), "id": f"t{turn}_{at}"}
            for at in range(count)
        ]
        if calls:
            body |= {"content": draw(st.just("") | CONTENTS), "tool_calls": calls, "invalid_tool_calls": []}
        found.append(formed(form, kind, body))
        for one in calls:
            status = draw(st.just({}) | st.just({"status": "error"}) | st.just({"status": "success"}))
            answer = {
                "content": draw(CONTENTS | st.just("")),
                "tool_call_id": one["id"],
                "artifact": None,
                **status,
            }
            found.append(formed(form, "tool", answer))
    return found


@given(chats())
@settings(max_examples=120, deadline=None)
def test_a_chat_comes_out_as_it_went_in(chat: list[dict[str, Any]]) -> None:
    """Every form, field and block of a well-formed chat survives [EXE-07]."""
    assert exact(came_out(FORMAT, chat)) == exact(chat)


def data(kind: str, content: Any = "", **more: Any) -> dict[str, Any]:
    """A message as a type and its data."""
    return {"type": kind, "data": {"content": content, **more}}


HELD: list[Any] = [
    {"inputs": {"input": [data("human", "q")], "k": 1}, "outputs": {"output": data("ai", "a")}, "id": "e"},
    {"inputs": {"input": "q"}, "outputs": {"output": data("ai", "a")}},
    {
        "inputs": {"messages": [[data("human", "q")]]},
        "outputs": {"generations": [[{"text": "a", "message": data("ai", "a")}]]},
    },
    {
        "inputs": {"messages": [[data("human", "q")]]},
        "outputs": {"generations": [[{"message": data("ai", "a")}, {"message": data("ai", "b")}]]},
    },
    {
        "inputs": {"messages": [data("human", "q")]},
        "outputs": {"messages": [data("human", "q"), data("ai", "a")]},
    },
    {
        "inputs": {"messages": [{"role": "user", "content": "q"}]},
        "outputs": {"role": "assistant", "content": "a"},
    },
    {"checkpoint": {"v": 1, "channel_values": {"messages": [data("human", "q")], "n": 2}}},
    {"messages": [data("human", "q"), {"role": "assistant", "content": "a"}], "thread": "t"},
    {"messages": [data("human", "q")]},
    [{"role": "human", "content": "q"}, data("function", "r", name="f"), data("chat", "x", role="critic")],
]


@pytest.mark.parametrize("value", HELD, ids=str)
def test_an_object_comes_out_as_it_went_in(value: Any) -> None:
    """Each message in its place, and all that stood beside them [KB-156]."""
    assert exact(came_out(FORMAT, value)) == exact(value)


def test_a_new_message_stands_beside_the_one_before_it() -> None:
    """Where there was one message alone, there are two in a list then."""
    conversation, messages, _ = found_and_read(FORMAT, HELD[0])
    written = write_conversation(
        (*messages, user("And?", time=TIME)), json.loads(conversation.extra_json)
    ).value

    assert written["outputs"]["output"] == [data("ai", "a"), data("human", "And?")]


@given(histories())
@settings(max_examples=100, deadline=None)
def test_a_history_made_in_code_comes_back_with_the_same_parts(history: tuple[Message, ...]) -> None:
    """Roles, texts, calls, results and pictures have places in this format, and pairs stay whole [EXE-02, EXE-07]."""
    written = write_conversation(history, {})
    again, _ = FORMAT.read(Conversation(written.value, "$"))

    assert [(one.role, one.parts) for one in again] == [(one.role, one.parts) for one in history]
    assert (pair_messages(again).defects, written.losses) == ((), ())


CHAT = [
    data("human", [{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": {"url": "https://a"}}]),
    data("ai", "", tool_calls=[{"name": "f", "args": {"x": 1}, "id": "t1", "type": "tool_call"}]),
    data("tool", "ok", tool_call_id="t1", status="success"),
    {"lc": 1, "type": "constructor", "id": ["langchain", "AIMessage"], "kwargs": {"content": "done"}},
]


@given(damaged([CHAT, {"inputs": {"input": CHAT}, "outputs": {"output": data("ai", "a")}}]))
@settings(max_examples=250, deadline=None)
def test_no_value_in_any_field_breaks_the_reader(value: Any) -> None:
    """Whatever stands where, it is read and comes out as it was, or is listed as left out [EXE-07]."""
    conversation = FORMAT.find(value, "$")
    if conversation is None:
        return
    messages, defects = FORMAT.read(conversation)
    written = write_conversation(messages, json.loads(conversation.extra_json)).value

    is_whole = not {"bad_message", "unknown_entry"} & {one.kind for one in defects}
    assert not is_whole or exact(written) == exact(value)


def test_a_deep_value_is_refused() -> None:
    """The stack of the interpreter is no limit that anyone should meet [EXE-07]."""
    deep: Any = "x"
    for _ in range(2_000):
        deep = [deep]
    with pytest.raises(TranscriptError, match="nested too deeply"):
        FORMAT.read(Conversation([data("ai", deep)], "$"))


def test_an_answer_has_its_calls_usage_and_reason_beside_its_content() -> None:
    """The library builds a message from these fields [EXE-07]."""
    one = assistant(
        "hi",
        calls=[ToolCall("look", '{"x": 1}', "t1")],
        time=TIME,
        usage=Usage(3, 4, 1),
        finish_reason="stop",
    )
    written = write_conversation((one,), {})

    assert written.value == [
        {
            "type": "ai",
            "data": {
                "content": "hi",
                "tool_calls": [{"name": "look", "args": {"x": 1}, "id": "t1", "type": "tool_call"}],
                "usage_metadata": {
                    "input_tokens": 3,
                    "output_tokens": 4,
                    "total_tokens": 7,
                    "input_token_details": {"cache_read": 1},
                },
                "response_metadata": {"finish_reason": "stop"},
            },
        }
    ]
    assert written.losses == ()


def test_calls_with_broken_arguments_stand_apart() -> None:
    """The library has a list for them, with the text that the model wrote [EXE-07]."""
    written = write_conversation((assistant(calls=[ToolCall("look", '{"x": ', "t1")], time=TIME),), {})
    body = written.value[0]["data"]

    assert (body["tool_calls"], body["invalid_tool_calls"][0]["args"]) == ([], '{"x": ')
    assert written.losses == ()


@pytest.mark.parametrize(
    "part",
    [
        Reasoning("hm"),
        Reasoning("hm", "s"),
        Reasoning("hm", "s", "r"),
        Foreign("sketch", '{"a": 1, "type": "sketch"}'),
    ],
)
def test_thoughts_and_raw_parts_come_back(part: Any) -> None:
    """The content may have blocks of any kind [EXE-07]."""
    written = write_conversation((assistant([part, Text("hi")], time=TIME),), {})

    assert FORMAT.read(Conversation(written.value, "$"))[0][0].parts == (part, Text("hi"))
    assert written.losses == ()


def test_error_flags_names_and_ids_have_places() -> None:
    """Only times have none [EXE-07]."""
    history = [
        user("Hi", id="mine", name="Ada", time=datetime(2026, 1, 2, tzinfo=UTC)),
        assistant(calls=[CALL], time=TIME),
        tool_result(CALL, "no", is_error=True, time=TIME),
    ]
    written = write_conversation(history, {})

    assert written.value[0]["data"] == {"content": "Hi", "id": "mine", "name": "Ada"}
    assert written.value[2]["data"]["status"] == "error"
    assert [loss.text for loss in written.losses] == ["its time"]


def test_results_in_one_message_become_one_entry_each() -> None:
    """With the pictures that follow them [KB-027]."""
    picture = Attachment("image", url="https://example.org/a.png")
    calls = assistant(calls=[CALL, ToolCall("look", "{}", "t2")], time=TIME)
    both = tool_result(CALL, "a", time=TIME).with_parts(
        [ToolResult("a", "", "t1"), picture, ToolResult("b", "", "t2")]
    )
    entries = write_conversation((calls, both), {}).value[1:]

    assert [entry["data"]["tool_call_id"] for entry in entries] == ["t1", "t2"]
    assert [block["type"] for block in entries[0]["data"]["content"]] == ["text", "image_url"]


def test_the_id_of_a_message_is_that_of_one_entry_and_its_name_is_listed() -> None:
    """The library joins messages by their ids [KB-057]."""
    calls = assistant(calls=[CALL, ToolCall("look", "{}", "t2")], time=TIME)
    parts = [ToolResult("a", "look", "t1"), ToolResult("b", "look", "t2")]
    both = Message(role="tool", parts=tuple(parts), id="mine", time=TIME, name="Ada")
    written = write_conversation((calls, both), {})

    assert [entry["data"].get("id") for entry in written.value[1:]] == ["mine", None]
    assert list(map(str, written.losses)) == ["message 1: its name 'Ada'"]


def test_the_order_of_parts_that_changes_is_listed() -> None:
    """Calls stand beside the content, and not in it [EXE-07]."""
    one = assistant([CALL, Text("after"), ToolCall("look", "{}", "t2")], time=TIME)

    assert list(map(str, write_conversation((one,), {}).losses)) == [
        "message 0: the order of its parts: calls stand after all else"
    ]


def test_a_time_that_goes_out_is_no_loss() -> None:
    """Whatever its field is called [EXE-07]."""
    chat = [data("human", "Hi", create_time=1714585031)]
    messages, _ = FORMAT.read(Conversation(chat, "$"))

    assert write_conversation(messages, {}).losses == ()


def test_a_message_in_the_middle_of_a_list_goes_back_there_without_the_others() -> None:
    """Its place is made anew where the object is not at hand."""
    messages, _ = FORMAT.read(Conversation([Placed(data("human", "Hi"), "$", ("a", 1), alone=True)], "$"))

    assert write_conversation(messages, {}).value == {"a": [None, data("human", "Hi")]}


def test_calls_without_ids_get_ids_that_their_results_share() -> None:
    """The format joins both by id [EXE-02]."""
    history = (
        assistant(calls=[ToolCall("look")], time=TIME),
        tool_result(None, "seen", tool="look", time=TIME),
    )
    written = write_conversation(history, {}).value

    assert written[0]["data"]["tool_calls"][0]["id"] == written[1]["data"]["tool_call_id"] != ""


def test_a_changed_message_is_written_as_it_is_now() -> None:
    """In its form and with its fields, but with the new text."""
    value = [data("human", [{"type": "text", "text": "old", "index": 0}], example=True)]
    messages, _ = FORMAT.read(Conversation(value, "$"))

    assert write_conversation((messages[0].with_text("new"),), {}).value == [
        data("human", "new", example=True)
    ]
