"""Responses items come out as they went in, and other histories as the API takes them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from chat_strategies import JSON_VALUES, TEXTS, TIME, came_out, damaged, exact, histories
from hypothesis import given, settings
from hypothesis import strategies as st

from koogbook.errors import TranscriptError
from koogbook.messages.message import Message, Usage, assistant, system, tool_result, user
from koogbook.messages.pairing import pair_messages
from koogbook.messages.parts import Attachment, Foreign, Reasoning, Text, ToolCall, ToolResult
from koogbook.transcripts.conversation import Conversation
from koogbook.transcripts.openai_responses.format import FORMAT
from koogbook.transcripts.openai_responses.write import write_conversation

CALL = ToolCall("look", "{}", "c1")
BLOCKS = st.sampled_from(
    [
        {"type": "input_text", "text": "Look:"},
        {"type": "input_text", "text": "Look:", "more": 1},
        {"type": "input_image", "image_url": "data:image/png;base64,iVBORw==", "detail": "auto"},
        {"type": "input_image", "image_url": "data:image/png;base64,iVBORx=="},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="},
        {"type": "hologram", "beam": [1, 2]},
    ]
)
EXTRAS = st.dictionaries(st.sampled_from(["id", "status", "weight"]), JSON_VALUES, max_size=2)
PEOPLE = st.builds(
    lambda role, content, kind, extra: {"role": role, "content": content, **kind, **extra},
    st.sampled_from(["user", "system", "developer"]),
    TEXTS | st.lists(BLOCKS, min_size=1, max_size=2),
    st.just({}) | st.just({"type": "message"}),
    EXTRAS,
)
MODELS = st.one_of(
    st.builds(
        lambda content, extra: {"type": "message", "role": "assistant", "content": content, **extra},
        TEXTS
        | st.lists(
            st.sampled_from(
                [
                    {"type": "output_text", "text": "Hi", "annotations": [], "logprobs": []},
                    {"type": "output_text", "text": "Hi"},
                    {"type": "refusal", "refusal": "I cannot."},
                ]
            ),
            min_size=1,
            max_size=2,
        ),
        EXTRAS,
    ),
    st.builds(
        lambda texts, sealed: {"type": "reasoning", "id": "rs_1", "summary": texts, **sealed},
        st.lists(st.builds(lambda text: {"type": "summary_text", "text": text}, TEXTS), max_size=2),
        st.just({})
        | st.just({"encrypted_content": "s"})
        | st.just({"encrypted_content": None, "status": None}),
    ),
    st.sampled_from(
        [
            {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "rain"}},
            {"type": "item_reference", "id": "x"},
            {"type": "hologram", "beam": 7},
        ]
    ),
)


@st.composite
def calls_with_outputs(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Calls of either kind one after the other, then their outputs."""
    found, outputs = [], []
    for at in range(draw(st.integers(1, 3))):
        kind, field = draw(st.sampled_from([("function_call", "arguments"), ("custom_tool_call", "input")]))
        found.append(
            {
                "type": kind,
                "call_id": f"c{at}",
                "name": "look",
                field: draw(st.sampled_from(["{}", '{"a":1}', "free"])),
                **draw(EXTRAS),
            }
        )
        output = draw(TEXTS | st.just("") | st.lists(BLOCKS, max_size=2))
        outputs.append({"type": f"{kind}_output", "call_id": f"c{at}", "output": output, **draw(EXTRAS)})
    return found + outputs


CHATS = st.lists(
    PEOPLE.map(lambda one: [one]) | MODELS.map(lambda one: [one]) | calls_with_outputs(),
    min_size=1,
    max_size=5,
).map(lambda turns: [item for turn in turns for item in turn])


@given(CHATS)
@settings(max_examples=150, deadline=None)
def test_items_come_out_as_they_went_in(chat: list[dict[str, Any]]) -> None:
    """Every item, field, block and border of a well-formed list survives [EXE-07]."""
    messages, _ = FORMAT.read(Conversation(chat, "$"))

    assert exact(write_conversation(messages, {}).value) == exact(chat)


@pytest.mark.parametrize(
    "value",
    [
        {"model": "m", "instructions": "Be brief.", "input": "Hello", "tools": []},
        {"model": "m", "instructions": "cut \ud83d", "input": "cut \ud83d"},
        {"model": "m", "input": [{"role": "user", "content": "Hello"}]},
        {
            "object": "response",
            "id": "r",
            "instructions": "Be brief.",
            "output": [{"type": "reasoning", "summary": []}],
        },
        {"object": "response", "instructions": [{"role": "user", "content": "x"}], "output": []},
        {"instructions": "", "input": ""},
    ],
    ids=str,
)
def test_a_request_or_an_answer_comes_out_as_it_went_in(value: Any) -> None:
    """With its instructions in their place and a text as its input [EXE-07]."""
    assert exact(came_out(FORMAT, value)) == exact(value)


@given(histories())
@settings(max_examples=100, deadline=None)
def test_a_history_made_in_code_comes_back_with_the_same_parts(history: tuple[Message, ...]) -> None:
    """Roles, texts, calls, results and pictures have places in this format, and pairs stay whole [EXE-02, EXE-07]."""
    written = write_conversation(history, {})
    again, _ = FORMAT.read(Conversation(written.value, "$"))

    assert [(one.role, one.parts) for one in again] == [(one.role, one.parts) for one in history]
    assert (pair_messages(again).defects, written.losses) == ((), ())


ITEMS = [
    {"role": "user", "content": "hi"},
    {
        "type": "reasoning",
        "id": "rs",
        "summary": [{"type": "summary_text", "text": "hm"}],
        "encrypted_content": "z",
    },
    {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]},
    {"type": "function_call", "id": "fc", "call_id": "c1", "name": "f", "arguments": "{}"},
    {"type": "custom_tool_call", "call_id": "c2", "name": "g", "input": "free"},
    {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "r"}]},
    {"type": "custom_tool_call_output", "call_id": "c2", "output": "r"},
    {"type": "web_search_call", "id": "ws"},
]


@given(damaged([ITEMS, {"model": "m", "instructions": "s", "input": ITEMS}]))
@settings(max_examples=250, deadline=None)
def test_no_value_in_any_field_breaks_the_reader(value: Any) -> None:
    """Whatever stands where, it is read and comes out as it was, or is refused with a reason [EXE-07]."""
    conversation = FORMAT.find(value, "$")
    if conversation is None:
        return
    messages, _ = FORMAT.read(conversation)
    written = write_conversation(messages, json.loads(conversation.extra_json)).value

    items = value.get("input") if isinstance(value, dict) and "input" in value else value
    written_items = written["input"] if isinstance(written, dict) and "input" in written else written
    kept = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else items
    assert exact(written_items) == exact(kept)


def test_a_deep_value_is_read_or_refused() -> None:
    """The stack of the interpreter is no limit that anyone should meet [EXE-07]."""
    deep: Any = "x"
    for _ in range(2_000):
        deep = [deep]
    with pytest.raises(TranscriptError, match="nested too deeply"):
        FORMAT.read(Conversation([{"type": "function_call", "name": "f", "arguments": deep}], "$"))


def test_each_part_of_an_answer_is_an_item() -> None:
    """Thoughts and calls stand beside the words [EXE-07]."""
    answer = assistant([Reasoning("hm", "sealed", "rs_1"), Text("Well")], calls=[CALL], time=TIME)
    written = write_conversation((answer, tool_result(CALL, "seen", time=TIME)), {})

    assert written.value == [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "hm"}],
            "encrypted_content": "sealed",
        },
        {"role": "assistant", "content": "Well"},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "seen"},
    ]
    assert written.losses == ()


@pytest.mark.parametrize("said", ["", [], [Text("")]], ids=repr)
def test_a_message_of_calls_alone_has_no_words_beside_them(said: Any) -> None:
    """An empty text is no item [KB-029]."""
    written = write_conversation((assistant(said, calls=[CALL], time=TIME),), {})

    assert [item["type"] for item in written.value] == ["function_call"]


def test_broken_arguments_are_written_as_they_are() -> None:
    """In this format they are a text."""
    written = write_conversation((assistant(calls=[ToolCall("look", '{"a": ', "c1")], time=TIME),), {})

    assert written.value[0]["arguments"] == '{"a": '
    assert written.losses == ()


def test_system_messages_stay_where_they_are() -> None:
    """The API takes them anywhere in the list."""
    written = write_conversation((user("Hi", time=TIME), system("Now brief.", time=TIME)), {})

    assert written.value[1] == {"role": "system", "content": "Now brief."}


def test_calls_without_ids_get_ids_that_their_outputs_share() -> None:
    """The format joins both by id [EXE-02]."""
    history = (
        assistant(calls=[ToolCall("look")], time=TIME),
        tool_result(None, "seen", tool="look", time=TIME),
    )
    written = write_conversation(history, {})

    assert written.value[0]["call_id"] == written.value[1]["call_id"] != ""


LOST: list[tuple[Message, str]] = [
    (user("Hi", time=datetime(2026, 1, 2, tzinfo=UTC)), "its time"),
    (user("Hi", time=TIME, id="mine"), "its id"),
    (user("Hi", time=TIME, name="Ada"), "its name 'Ada'"),
    (assistant("Hi", time=TIME, usage=Usage(3, 4)), "its usage"),
    (
        user([Text("Hi"), Attachment("audio", "audio/wav", data=b"RIFF")], time=TIME),
        "audio (media type audio/wav)",
    ),
    (
        assistant([Reasoning("hm", "c2ln"), Text("Hi")], time=TIME),
        "reasoning that is not of this API, which refuses it: hm",
    ),
    (user([Text("Hi"), Foreign("sketch", '{"a": 1}')], time=TIME), "a part of type 'sketch': {\"a\": 1}"),
]


@pytest.mark.parametrize(("one", "text"), LOST, ids=[text for _, text in LOST])
def test_what_has_no_place_is_a_loss(one: Message, text: str) -> None:
    """Nothing is left out without a word [EXE-07]."""
    written = write_conversation((one,), {})

    assert ([loss.text for loss in written.losses], len(written.value)) == ([text], 1)


def test_an_error_flag_and_the_border_of_two_answers_are_losses() -> None:
    """Items have neither [EXE-07]."""
    history = [assistant("One", time=TIME), assistant("Two", calls=[CALL], time=TIME)]
    written = write_conversation((*history, tool_result(CALL, "no", is_error=True, time=TIME)), {})

    assert [str(one) for one in written.losses] == [
        "message 1: its border: items of assistant messages that follow each other are one message",
        "message 2: that a result is an error",
    ]


def test_a_changed_message_is_written_as_it_is_now() -> None:
    """How a text was spelled in the file must not bring the old text back."""
    messages, _ = FORMAT.read(Conversation(ITEMS, "$"))
    changed = write_conversation((messages[0], messages[1].with_text("new")), {}).value

    assert {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "new"}],
    } in changed
    assert {item.get("type") for item in changed} >= {"reasoning", "function_call", "custom_tool_call"}


def test_what_stands_before_a_result_goes_into_it_and_is_listed() -> None:
    """An output is the only item that a tool has [EXE-07]."""
    call = ToolCall("look", "{}", "c")
    answer = tool_result(call, "seen", time=TIME).with_parts([Text("note"), ToolResult("seen", "look", "c")])
    written = write_conversation((assistant(calls=[call], time=TIME), answer), {})

    assert [block["text"] for block in written.value[1]["output"]] == ["seen", "note"]
    assert [str(loss) for loss in written.losses if "order" in loss.text] == [
        "message 1: the order of its parts: what stood before the result is in it, at the end"
    ]
