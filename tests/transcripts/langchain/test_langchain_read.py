"""LangChain messages in their several forms: what becomes of their fields, and what is listed as odd."""

from __future__ import annotations

from typing import Any

import pytest
from chat_strategies import found_and_read, kinds

from koogbook.messages.message import Message, Usage
from koogbook.messages.parts import Attachment, Foreign, Reasoning, Text, ToolCall, ToolResult
from koogbook.transcripts.conversation import Conversation
from koogbook.transcripts.langchain.format import FORMAT
from koogbook.transcripts.langchain.shape import find, is_entry
from koogbook.transcripts.transcript import Defect


def data(kind: str, content: Any = "", **more: Any) -> dict[str, Any]:
    """A message as a type and its data."""
    return {"type": kind, "data": {"content": content, **more}}


def built(name: str, content: Any = "", **more: Any) -> dict[str, Any]:
    """A message as a class and its arguments."""
    path = ["langchain", "schema", "messages", name]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": {"content": content, **more}}


def call(call_id: str = "t1", args: Any = None, **more: Any) -> dict[str, Any]:
    """A call of a tool."""
    return {"name": "look", "args": {} if args is None else args, "id": call_id, "type": "tool_call", **more}


def read(*entries: Any) -> tuple[tuple[Message, ...], tuple[Defect, ...]]:
    """The messages and defects of a conversation with these entries."""
    return FORMAT.read(Conversation(entries, "$"))


FORMS = [
    (data("human", "hi"), "user"),
    (data("ai", "hi"), "assistant"),
    (data("system", "hi"), "system"),
    (built("HumanMessage", "hi"), "user"),
    (built("AIMessage", "hi"), "assistant"),
    (built("SystemMessage", "hi"), "system"),
    ({"type": "human", "content": "hi"}, "user"),
    ({"role": "human", "content": "hi"}, "user"),
    ({"role": "assistant", "content": "hi"}, "assistant"),
    (data("chat", "hi", role="assistant"), "assistant"),
]


@pytest.mark.parametrize(("entry", "role"), FORMS)
def test_a_message_is_read_in_each_of_its_forms(entry: dict[str, Any], role: str) -> None:
    """A type with data, a class with arguments, flat, and with a role [KB-156]."""
    messages, defects = read(entry)

    assert (messages[0].role, messages[0].text, defects) == (role, "hi", ())


def test_calls_and_results_are_read_and_arguments_become_json_text() -> None:
    """In this library they are an object [KB-156]."""
    messages, defects = read(
        data("human", "hi"),
        data("ai", "", tool_calls=[call(args={"x": 1})]),
        data("tool", "ok", tool_call_id="t1"),
    )

    assert messages[1].parts == (ToolCall("look", '{"x": 1}', "t1"),)
    assert (messages[2].parts, defects) == ((ToolResult("ok", "look", "t1"),), ())


def test_the_answer_of_an_example_is_the_last_message() -> None:
    """A data set has what went in and what came out in two places [KB-156]."""
    example = {"inputs": {"input": [data("human", "q")]}, "outputs": {"output": data("ai", "a")}}
    _, messages, defects = found_and_read(FORMAT, example)

    assert ([(one.role, one.text) for one in messages], defects) == ([("user", "q"), ("assistant", "a")], ())


GRAPH = [data("human", "hi", id="h"), data("ai", "yo", id="a")]


@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [
        ({"messages": GRAPH[:1]}, {"messages": GRAPH}),
        ({"messages": [{"role": "user", "content": "hi"}]}, {"messages": GRAPH}),
        ({"messages": [data("human", "HI", id="h")]}, {"messages": GRAPH}),
        ({"input": "hi"}, {"messages": GRAPH}),
        ({"messages": GRAPH[:1]}, {"messages": GRAPH[1:]}),
    ],
    ids=str,
)
def test_the_output_of_a_graph_has_its_input_inside(inputs: Any, outputs: Any) -> None:
    """Its state is the whole conversation, which is not read twice [EXE-07]."""
    _, messages, defects = found_and_read(FORMAT, {"inputs": inputs, "outputs": outputs})

    assert ([one.text for one in messages], defects) == (["hi", "yo"], ())


def test_the_first_of_several_answers_is_read_and_the_others_are_listed() -> None:
    """They stay beside the messages [EXE-07]."""
    answers = [{"message": data("ai", text)} for text in ("first", "second", "third")]
    run = {"inputs": {"messages": [[data("human", "hi")]]}, "outputs": {"generations": [answers]}}
    found, messages, defects = found_and_read(FORMAT, run)

    assert [one.text for one in messages] == ["hi", "first"]
    assert [(one.kind, one.where, one.text[:14]) for one in defects] == [
        ("unknown_entry", "$.outputs.generations[0][0].message", "2 more answers")
    ]
    assert "third" in found.extra_json


@pytest.mark.parametrize(
    "outputs",
    [
        {"messages": [{"role": "assistant", "content": "yo"}]},
        {"message": {"role": "assistant", "content": "yo"}},
        {"choices": [{"message": {"role": "assistant", "content": "yo"}}]},
        {"role": "assistant", "content": "yo"},
        {"generations": [[{"text": "yo"}]]},
    ],
    ids=str,
)
def test_a_run_may_have_messages_of_any_library(outputs: Any) -> None:
    """Whatever was called is traced in its own form [EXE-07]."""
    run = {"inputs": {"messages": [{"role": "user", "content": "hi"}]}, "outputs": outputs}
    _, messages, defects = found_and_read(FORMAT, run)

    assert ([(one.role, one.text) for one in messages], defects) == (
        [("user", "hi"), ("assistant", "yo")],
        (),
    )


def test_outputs_without_a_message_are_listed() -> None:
    """They stay beside the messages [EXE-07]."""
    run = {"inputs": {"messages": [data("human", "hi")]}, "outputs": {"answer": "yo"}}

    assert [(one.kind, one.where) for one in found_and_read(FORMAT, run)[2]] == [
        ("unknown_entry", "$.outputs")
    ]


def test_a_text_after_a_picture_in_a_result_is_listed() -> None:
    """It is read before it [EXE-07]."""
    content = [
        {"type": "text", "text": "a"},
        {"type": "image_url", "image_url": {"url": "u"}},
        {"type": "text", "text": "b"},
    ]
    messages, defects = read(data("ai", "", tool_calls=[call()]), data("tool", content, tool_call_id="t1"))

    assert messages[1].results[0].output == "a\nb"
    assert [(one.kind, one.where) for one in defects] == [("out_of_order", "$[1].data.content")]


@pytest.mark.parametrize(
    "name", ["os.system", "Popen", "HumanMessages", "humanmessage", ["HumanMessage"], None]
)
def test_nothing_is_built_from_a_class_that_is_not_in_the_table(name: Any) -> None:
    """It is a label, looked up in a fixed list [KB-156]."""
    assert not is_entry(
        {"lc": 1, "type": "constructor", "id": ["langchain", name], "kwargs": {"content": "x"}}
    )


def test_pieces_and_wishes_to_remove_are_listed() -> None:
    """The first is taken for a whole message, the second is none [KB-156]."""
    _, messages, defects = found_and_read(
        FORMAT,
        [{"type": "remove", "data": {"id": "x"}}, {"type": "AIMessageChunk", "data": {"content": "par"}}],
    )

    assert [(one.role, one.text) for one in messages] == [("assistant", "par")]
    assert [(one.kind, one.where) for one in defects] == [
        ("unknown_entry", "$[0]"),
        ("unfinished_message", "$[1]"),
    ]
    assert '"id": "x"' in defects[0].text


BLOCKS = [
    ("plain", Text("plain")),
    ({"type": "text", "text": "hello"}, Text("hello")),
    (
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
        Attachment("image", "image/png", data=b"\x89PNG"),
    ),
    (
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}},
        Attachment("image", "image/png", data=b"\x89PNG"),
    ),
    (
        {"type": "image", "base64": "iVBORw==", "mime_type": "image/png"},
        Attachment("image", "image/png", data=b"\x89PNG"),
    ),
    (
        {"type": "image", "source_type": "base64", "data": "iVBORw==", "mime_type": "image/png"},
        Attachment("image", "image/png", data=b"\x89PNG"),
    ),
    (
        {"type": "audio", "url": "https://example.org/a.wav"},
        Attachment("audio", url="https://example.org/a.wav"),
    ),
    ({"type": "file", "file_id": "file-1"}, Attachment("file", file_id="file-1")),
    ({"type": "thinking", "thinking": "hm", "signature": "s"}, Reasoning("hm", "s")),
    (
        {"type": "reasoning", "reasoning": "hm", "id": "r", "extras": {"signature": "s"}},
        Reasoning("hm", "s", "r"),
    ),
    ({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}, Reasoning("hm")),
]


@pytest.mark.parametrize(("block", "part"), BLOCKS)
def test_a_block_becomes_a_part(block: Any, part: Any) -> None:
    """Those of several providers, and the library's own in two versions [EXE-07, KB-025]."""
    messages, defects = read(data("ai", [block]))

    assert (messages[0].parts, defects) == ((part,), ())


def test_a_block_that_is_not_understood_is_kept_raw_and_listed() -> None:
    """A provider may bring blocks of its own [EXE-07]."""
    messages, defects = read(data("ai", ["hi", {"type": "hologram", "beam": 7}]))

    assert messages[0].parts[1] == Foreign("hologram", '{"beam": 7, "type": "hologram"}')
    assert [(one.kind, one.where) for one in defects] == [("unknown_part", "$[0].data.content[1]")]


def test_a_call_that_stands_in_the_content_as_well_is_read_once() -> None:
    """Some providers' blocks are kept beside the calls made of them [EXE-07]."""
    block = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    messages, _ = read(data("ai", [{"type": "text", "text": "hi"}, block], tool_calls=[call()]))

    assert messages[0].parts == (Text("hi"), ToolCall("look", "{}", "t1"))


def test_broken_calls_are_calls_and_listed() -> None:
    """The library keeps them apart, with the arguments as the model wrote them [EXE-07]."""
    broken = {"name": "look", "args": '{"x": ', "id": "t2", "error": "no JSON", "type": "invalid_tool_call"}
    messages, defects = read(data("ai", "", tool_calls=[call()], invalid_tool_calls=[broken]))

    assert messages[0].calls == (ToolCall("look", "{}", "t1"), ToolCall("look", '{"x": ', "t2"))
    assert kinds(defects) == ["broken_arguments", "open_call", "open_call"]
    assert defects[0].where == "$[0].data.invalid_tool_calls[0].args"


@pytest.mark.parametrize(
    "more",
    [
        {
            "tool_calls": [
                {"id": "t1", "type": "function", "function": {"name": "look", "arguments": '{"x": 1}'}}
            ]
        },
        {"function_call": {"name": "look", "arguments": '{"x": 1}'}},
    ],
    ids=str,
)
def test_calls_of_older_versions_are_read(more: dict[str, Any]) -> None:
    """They were kept as OpenAI had written them [EXE-07]."""
    messages, _ = read(data("ai", "", additional_kwargs=more))

    assert [(one.tool, one.args) for one in messages[0].calls] == [("look", '{"x": 1}')]


def test_calls_that_are_said_twice_are_read_once() -> None:
    """Newer versions keep both [EXE-07]."""
    old = [{"id": "t1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
    messages, _ = read(data("ai", "", tool_calls=[call()], additional_kwargs={"tool_calls": old}))

    assert len(messages[0].calls) == 1


def test_a_failed_tool_is_known_by_its_status_and_its_artifact_is_kept() -> None:
    """The artifact is not for the model, and not dropped [EXE-07]."""
    messages, _ = read(
        data("ai", "", tool_calls=[call()]),
        data("tool", "no", tool_call_id="t1", status="error", artifact=[1]),
    )

    assert messages[1].results == (ToolResult("no", "look", "t1", is_error=True),)
    assert messages[1].metadata["langchain"] == {"artifact": [1]}


def test_usage_reason_name_and_id_have_places() -> None:
    """They are fields of every answer [EXE-07]."""
    usage = {
        "input_tokens": 9,
        "output_tokens": 4,
        "total_tokens": 13,
        "input_token_details": {"cache_read": 5, "cache_creation": 1},
        "output_token_details": {"reasoning": 2},
    }
    messages, _ = read(
        data(
            "ai",
            "hi",
            id="run-1",
            name="Ada",
            usage_metadata=usage,
            response_metadata={"finish_reason": "stop"},
        )
    )

    assert messages[0].usage == Usage(9, 4, 5, 1, 2)
    assert (messages[0].id, messages[0].name, messages[0].finish_reason) == ("run-1", "Ada", "stop")


def test_an_id_that_comes_twice_is_replaced_and_listed() -> None:
    """A prompt refuses two messages of one id [KB-057]."""
    messages, defects = read(data("human", "a", id="1"), data("human", "b", id="1"))

    assert len({"1", *(one.id for one in messages)}) == 3
    assert kinds(defects) == ["duplicate_id", "duplicate_id"]


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        (data("human"), "empty_content"),
        (data("human", None), "empty_content"),
        (data("human", 7), "bad_content"),
        (data("chat", "hi", role="critic"), "unknown_role"),
        ({"role": "critic", "content": "hi"}, "unknown_role"),
        (data("ai", "hi", tool_calls={}), "bad_call"),
        (data("ai", "hi", tool_calls=[{"args": {}}]), "bad_call"),
        ("stray text", "bad_message"),
    ],
    ids=str,
)
def test_what_is_odd_is_listed(entry: Any, kind: str) -> None:
    """And the conversation is read all the same [EXE-07]."""
    assert kinds(read(data("human", "hi"), entry)[1]) == [kind]


def test_half_an_emoji_is_replaced_wherever_a_request_would_carry_it() -> None:
    """In texts, arguments and results [KB-041]."""
    messages, defects = read(
        data("human", "a\ud83d"),
        data("ai", "", tool_calls=[call(args={"\ud83d": "b\ud83d"})]),
        data("tool", ["c\ud83d"], tool_call_id="t1"),
    )

    assert (messages[0].text, messages[1].calls[0].args) == ("a\ufffd", '{"\ufffd": "b\ufffd"}')
    assert messages[2].results[0].output == "c\ufffd"
    assert set(kinds(defects)) == {"lone_surrogate"}


HELD = [
    [data("human", "hi")],
    [built("HumanMessage", "hi"), {"role": "assistant", "content": "yo"}],
    [{"type": "human", "content": "hi"}],
    data("human", "hi"),
    {"messages": [{"type": "human", "content": "hi"}], "thread": "t"},
    {"inputs": {"input": [data("human", "hi")]}, "outputs": {"output": data("ai", "yo")}},
    {"inputs": {"input": "hi"}, "outputs": {"output": data("ai", "yo")}},
    {
        "inputs": {"messages": [[built("HumanMessage", "hi")]]},
        "outputs": {"generations": [[{"message": built("AIMessage")}]]},
    },
    {"values": {"messages": [data("human", "hi")]}, "next": []},
    {"channel_values": {"messages": [built("HumanMessage", "hi")]}, "v": 1},
    {"checkpoint": {"channel_values": {"messages": [built("HumanMessage", "hi")]}}},
]


@pytest.mark.parametrize("value", HELD, ids=str)
def test_messages_are_found_where_the_library_keeps_them(value: Any) -> None:
    """Lists, examples of data sets, runs, states of threads and checkpoints [KB-156]."""
    found, messages, _ = found_and_read(FORMAT, value)

    assert (found.format, messages[0].text) == ("langchain", "hi")


@pytest.mark.parametrize(
    "value",
    [
        [{"role": "user", "content": "hi"}],
        [{"role": "assistant", "content": "hi", "type": "message"}],
        [{"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}],
        {"inputs": {"input": "q"}, "outputs": {"output": "a"}},
        {"inputs": {"messages": [{"role": "assistant", "content": [{"type": "tool_use", "name": "f"}]}]}},
        {"inputs": {"messages": [[data("human", "a")], [data("human", "b")]]}},
        [{"type": "user", "uuid": "u", "parentUuid": None, "message": {"content": "hi"}}],
        [{"type": ["human"], "data": {"content": "hi"}}],
        {"messages": []},
        [],
        None,
        "human",
    ],
    ids=str,
)
def test_what_is_of_another_format_is_not_taken(value: Any) -> None:
    """Nor a batch of several conversations, of which one would be left unread [EXE-07]."""
    assert find(value, "$") is None


def test_places_lead_into_the_object() -> None:
    """A place has to be found in the file [EXE-07]."""
    example = {
        "inputs": {"input": [data("human", "q")]},
        "outputs": {"output": data("ai", [{"type": "hologram"}])},
    }

    assert [one.where for one in found_and_read(FORMAT, example)[2]] == ["$.outputs.output.data.content[0]"]
