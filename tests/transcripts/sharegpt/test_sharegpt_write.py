"""Conversations as ShareGPT turns: what goes in comes out, and what has no place is listed."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from koogbook.messages.message import SUMMARY_NAME, assistant, system, tool_result, user
from koogbook.messages.parts import Attachment, Reasoning, Text, ToolCall, ToolResult
from koogbook.transcripts.load import as_transcript
from koogbook.transcripts.reading import UNKNOWN_TIME
from koogbook.transcripts.sharegpt.write import to_sharegpt

TEXTS = st.text(st.characters(codec=None), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
CALLS = st.builds(
    lambda name, arguments, key: {"name": name, key: arguments},
    st.sampled_from(["clock", "rain"]),
    st.dictionaries(TEXTS, VALUES, max_size=2) | TEXTS,
    st.sampled_from(["arguments", "parameters"]),
)
WHO = st.sampled_from(["human", "gpt", "system", "user", "bing", "observation", "tool", "narrator"])
TURNS = st.one_of(
    st.builds(lambda who, value: {"from": who, "value": value}, WHO, TEXTS | st.none() | VALUES),
    st.builds(lambda one: {"from": "function_call", "value": json.dumps(one)}, CALLS | st.lists(CALLS)),
    st.builds(lambda text: {"from": "function_call", "value": text}, TEXTS),
    st.builds(lambda text: {"from": "gpt", "value": text, "weight": 0}, TEXTS),
).filter(lambda one: not isinstance(one["value"], int | float))
TOOLS = st.sampled_from([{}, {"tools": "[]"}, {"tools": '[{"name":"a"}]'}, {"tools": [1]}, {"tools": "no"}])
SYSTEMS = st.sampled_from([{}, {"system": ""}, {"system": "Be brief."}, {"system": "\ud800"}])


@given(st.lists(TURNS, max_size=6), TOOLS, SYSTEMS, st.sampled_from(["conversations", "items", "messages"]))
@settings(max_examples=300, deadline=None)
def test_a_conversation_comes_out_as_it_went_in(
    turns: list[Any], tools: dict[str, Any], systems: dict[str, Any], name: str
) -> None:
    """Whatever its turns hold, odd ones included [EXE-07]."""
    document = {"id": "x", name: [{"from": "human", "value": "Hi"}, *turns], **tools, **systems}
    found = as_transcript(document)

    assert to_sharegpt(found.messages, found.extra).value == json.loads(json.dumps(document))


def test_a_list_of_turns_comes_out_as_a_list() -> None:
    """There is nothing beside it."""
    turns = [{"from": "human", "value": "Hi"}]
    found = as_transcript(turns)

    assert to_sharegpt(found.messages, found.extra).value == turns


def test_the_spelling_with_roles_is_kept_for_new_messages_too() -> None:
    """A file has one spelling."""
    document = {"messages": [{"role": "human", "content": "Hi"}]}
    found = as_transcript(document)
    written = to_sharegpt((*found.messages, assistant("Hello")), found.extra)

    assert written.value["messages"][1] == {"role": "assistant", "content": "Hello"}


def test_a_message_with_a_text_and_calls_becomes_turns_that_read_as_one_again() -> None:
    """Calls have turns of their own."""
    clock, rain = ToolCall("clock", '{"zone": "UTC"}', "a"), ToolCall("rain", "{}", "b")
    asked = assistant("Let me see.", calls=[clock, rain])
    history = (user("Hi"), asked, tool_result(clock, "12"), tool_result(rain, "no"))
    written = to_sharegpt(history, {})

    assert [one["from"] for one in written.value["conversations"]] == [
        "human",
        "gpt",
        "function_call",
        "function_call",
        "observation",
        "observation",
    ]
    again = as_transcript(written.value)
    assert ([one.text for one in again], again.defects) == (["Hi", "Let me see.", "12", "no"], ())


def test_a_system_prompt_beside_the_turns_goes_back_there() -> None:
    """Even where it was changed."""
    found = as_transcript({"conversations": [{"from": "human", "value": "Hi"}], "system": "old"})
    changed = (found.messages[0].with_text("new"), *found.messages[1:])

    assert to_sharegpt(changed, found.extra).value["system"] == "new"


def test_a_system_message_is_a_turn_where_nothing_stood_beside() -> None:
    """The format has both."""
    assert to_sharegpt((system("Be brief."),), {}).value == {
        "conversations": [{"from": "system", "value": "Be brief."}]
    }


OLD = {"time": UNKNOWN_TIME, "id": "0123456789abcdef"}


def test_what_has_no_place_is_listed_with_its_message() -> None:
    """Nothing is dropped silently [EXE-07]."""
    history = (
        user([Text("Look"), Attachment("image", url="https://example.org/a.png")], name=SUMMARY_NAME, **OLD),
        assistant([Reasoning("Hm."), Text("Nice")], **OLD),
        assistant(calls=[ToolCall("clock", "{}", "toolu_1")], **OLD),
        tool_result("toolu_1", "broken", is_error=True, tool="clock", **OLD),
    )

    assert list(map(str, to_sharegpt(history, {}).losses)) == [
        "message 0: its image https://example.org/a.png",
        "message 0: its name 'koogbook.summary'",
        "message 1: its reasoning",
        "message 2: the id 'toolu_1' of a call of clock",
        "message 2: its border: calls right after a text or other calls are one message with them",
        "message 3: that the result of clock is an error",
    ]


def test_a_conversation_from_this_format_loses_nothing() -> None:
    """Even where its turns have ids and times of their own [EXE-07]."""
    turn = {"from": "gpt", "value": "Hello", "id": "m1", "timestamp": "2024-05-01T10:00:00Z", "weight": 0}
    document = {"conversations": [{"from": "human", "value": "Hi"}, turn], "system": "Be brief."}
    found = as_transcript(document)
    written = to_sharegpt(found.messages, found.extra)

    assert (found.messages[2].id, written.value, written.losses) == ("m1", document, ())


def test_a_call_that_was_kept_as_text_after_another_loses_nothing() -> None:
    """It goes back to its turn."""
    calls = [
        {"from": "function_call", "value": value}
        for value in ('{"name": "clock", "arguments": {}}', "clock(")
    ]
    found = as_transcript({"conversations": [{"from": "human", "value": "Hi"}, *calls]})
    written = to_sharegpt(found.messages, found.extra)

    assert (written.value["conversations"][1:], written.losses) == (calls, ())


def test_the_order_of_parts_that_changes_is_listed() -> None:
    """A text after a call stands before it, and one between results after them [EXE-07]."""
    calls = [ToolCall("clock", "{}", "call_0_0"), ToolCall("clock", "{}", "call_0_1")]
    results = tool_result(calls[0], "12", **OLD).with_parts(
        [ToolResult("12", "clock", "call_0_0"), Text("noon"), ToolResult("13", "clock", "call_0_1")]
    )
    history = (user("Hi", **OLD), assistant([calls[0], Text("later"), calls[1]], **OLD), results)

    assert list(map(str, to_sharegpt(history, {}).losses)) == [
        f"message {position}: the order of its parts: its texts stand together, before calls and after results"
        for position in (1, 2)
    ]


def test_a_file_in_another_spelling_comes_out_in_it() -> None:
    """The names of the fields and of those who speak [EXE-07]."""
    for document in (
        {"conversations": [{"role": "user", "value": "Hi"}, {"role": "assistant", "value": "Ho"}]},
        [{"role": "User", "content": "Hi"}, {"role": "Assistant", "content": "Ho"}],
    ):
        found = as_transcript(document)

        assert to_sharegpt(found.messages, found.extra).value == document
