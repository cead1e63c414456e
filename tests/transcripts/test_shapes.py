"""Which format a conversation has: found by itself, the same however it is written, or refused with the reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import koogbook as kb
from koogbook.errors import TranscriptError
from koogbook.transcripts.conversation import LIST_NAMES
from koogbook.transcripts.formats import FORMATS, format_named, written_formats
from koogbook.transcripts.load import as_transcript
from koogbook.transcripts.shapes import conversations

PLAIN = {"role": "user", "content": "Hi"}
OPENAI_CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c", "type": "function", "function": {"name": "clock", "arguments": "{}"}}],
}
OPENAI_RESULT = {"role": "tool", "tool_call_id": "c", "content": "12:00"}
ANTHROPIC_CALL = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "t", "name": "clock", "input": {}}],
}
RESPONSES_CALL = {"type": "function_call", "call_id": "c", "name": "clock", "arguments": "{}"}
LANGCHAIN = {"type": "human", "data": {"content": "Hi"}}
TURN = {"from": "human", "value": "Hi"}
LOG_LINE = {"type": "user", "uuid": "u", "parentUuid": None, "message": {"role": "user", "content": "Hi"}}
CHATGPT = {
    "title": "t",
    "current_node": "a",
    "mapping": {
        "a": {
            "parent": None,
            "message": {
                "author": {"role": "user"},
                "create_time": 1.0,
                "content": {"content_type": "text", "parts": ["Hi"]},
            },
        }
    },
}
CLAUDE = {"uuid": "c", "chat_messages": [{"sender": "human", "text": "Hi"}]}

DOCUMENTS = {
    "openai-chat": [[PLAIN], {"messages": [PLAIN, OPENAI_CALL]}, {"traj": [PLAIN]}, PLAIN, OPENAI_CALL],
    "anthropic": [[PLAIN, ANTHROPIC_CALL], {"system": "Be brief.", "messages": [PLAIN]}],
    "openai-responses": [[PLAIN, RESPONSES_CALL], {"model": "m", "input": [PLAIN, RESPONSES_CALL]}],
    "langchain": [[LANGCHAIN], {"messages": [LANGCHAIN]}, {"inputs": {"input": [LANGCHAIN]}}],
    "sharegpt": [{"conversations": [TURN]}, {"items": [TURN]}, [TURN], TURN],
    "claude-code": [[LOG_LINE]],
    "chatgpt": [CHATGPT],
    "claude-export": [CLAUDE],
}
EXAMPLES = [(name, document) for name, documents in DOCUMENTS.items() for document in documents]


def names_of(document: Any) -> list[str]:
    """The formats of the conversations in a document."""
    return [one.format for one in conversations(document)]


@pytest.mark.parametrize(("name", "document"), EXAMPLES)
def test_a_conversation_says_its_format(name: str, document: Any) -> None:
    """It is found by what only this format has [EXE-07]."""
    assert names_of(document) == [name]


@pytest.mark.parametrize(("name", "document"), EXAMPLES)
def test_a_conversation_in_a_list_has_the_same_format(name: str, document: Any) -> None:
    """Data sets and exports are lists."""
    several = [document, document] if not isinstance(document, dict) or "role" not in document else [document]

    assert set(names_of(several)) == {name}


@given(st.sampled_from(EXAMPLES), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_the_order_of_keys_does_not_matter(example: tuple[str, Any], random: Any) -> None:
    """A JSON object has none."""

    def shuffled(value: Any) -> Any:
        if isinstance(value, dict):
            keys = list(value)
            random.shuffle(keys)
            return {key: shuffled(value[key]) for key in keys}
        return [shuffled(inner) for inner in value] if isinstance(value, list) else value

    assert names_of(shuffled(example[1])) == [example[0]]


def test_conversations_of_several_formats_in_a_list_are_read_by_their_own() -> None:
    """A collection has what people sent in [EXE-07]."""
    assert names_of([CHATGPT, {"conversations": [TURN]}, CLAUDE, [PLAIN]]) == [
        "chatgpt",
        "sharegpt",
        "claude-export",
        "openai-chat",
    ]


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ([PLAIN, TURN], r"\$\[0\] is of the format openai-chat and \$\[1\] is of sharegpt"),
        (
            [OPENAI_CALL, OPENAI_RESULT, ANTHROPIC_CALL],
            r"\$\[0\] is of the format openai-chat and \$\[2\] .* anthropic",
        ),
        (
            [ANTHROPIC_CALL, OPENAI_RESULT],
            r"\$\[0\] is of the format anthropic and \$\[1\] is of openai-chat",
        ),
        ([LANGCHAIN, TURN, TURN, TURN], r"\$\[0\] is of the format langchain and \$\[1\] is of sharegpt"),
        ([TURN, LANGCHAIN, OPENAI_CALL], r"\$\[0\] is of the format sharegpt and \$\[1\] is of langchain"),
    ],
)
def test_messages_of_two_formats_in_one_conversation_are_refused_with_both_places(
    messages: list[Any], says: str
) -> None:
    """Whatever was made of them would be wrong [EXE-07]."""
    with pytest.raises(TranscriptError, match=says):
        list(conversations(messages))


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("anthropic", [PLAIN]),
        ("anthropic", {"messages": [PLAIN]}),
        ("openai-responses", [PLAIN]),
        ("langchain", [PLAIN]),
        ("openai-chat", [PLAIN]),
        ("sharegpt", {"conversations": [TURN]}),
    ],
)
def test_a_format_can_be_chosen(name: str, document: Any) -> None:
    """Plain messages are of several formats, and only their owner knows of which."""
    (found,) = conversations(document, format=format_named(name))

    assert (found.format, len(FORMATS[name].read(found)[0])) == (name, 1)


@pytest.mark.parametrize(
    ("name", "document", "says"),
    [
        (
            "anthropic",
            [PLAIN, OPENAI_CALL],
            r"\$\[1\] is of the format openai-chat.*Leave out format='anthropic'",
        ),
        (
            "openai-responses",
            {"messages": [PLAIN, OPENAI_RESULT]},
            r"\$.messages\[1\] is of the format openai-chat",
        ),
        ("openai-chat", [PLAIN, PLAIN, ANTHROPIC_CALL], r"\$\[2\] is of .*format='anthropic'"),
        ("langchain", [LANGCHAIN, ANTHROPIC_CALL], r"\$\[1\] is of the format anthropic"),
        ("sharegpt", [PLAIN], r"has no ShareGPT turns"),
        ("claude-code", [PLAIN], r"has no Claude Code"),
    ],
)
def test_messages_of_another_format_than_the_chosen_one_are_refused(
    name: str, document: Any, says: str
) -> None:
    """Their calls and texts would be lost [EXE-07]."""
    with pytest.raises(TranscriptError, match=says):
        list(conversations(document, format=format_named(name)))


def test_langchain_is_a_format_for_messages_of_openai_too() -> None:
    """The library takes both in one list, and so does its reader."""
    (found,) = conversations([LANGCHAIN, OPENAI_CALL, OPENAI_RESULT], format=format_named("langchain"))
    messages, defects = FORMATS["langchain"].read(found)

    assert ([len(one.calls) for one in messages], defects) == ([0, 1, 0], ())


def test_a_system_prompt_beside_the_messages_does_not_shift_their_places() -> None:
    """A place has to be found in the file [EXE-07]."""
    with pytest.raises(TranscriptError, match=r"\$.messages\[1\] is of .*anthropic and \$.messages\[2\]"):
        list(conversations({"system": "s", "messages": [PLAIN, ANTHROPIC_CALL, TURN]}))


@pytest.mark.parametrize(
    ("document", "where"),
    [
        ({"system": "Be brief.", "messages": [PLAIN, OPENAI_CALL, OPENAI_RESULT]}, ["$.system"]),
        ({"messages": [PLAIN], "response": {"role": "assistant", "content": "Hi"}}, ["$.response"]),
        (
            {"messages": [PLAIN], "choices": [{"message": {"role": "assistant", "content": "Hi"}}]},
            ["$.choices"],
        ),
        ({"conversations": [TURN], "chosen": {"from": "gpt", "value": "Hi"}, "system": "s"}, ["$.chosen"]),
        ({"messages": [LANGCHAIN], "response": LANGCHAIN}, ["$.response"]),
        ({"input": [PLAIN, RESPONSES_CALL], "output": [RESPONSES_CALL]}, ["$.output"]),
        ({"messages": [PLAIN], "model": "m", "tools": [{"type": "function"}], "user": {"role": "admin"}}, []),
    ],
)
def test_what_is_said_beside_the_messages_is_listed(document: Any, where: list[str]) -> None:
    """It stays in what the file said besides, where nobody would look for it [EXE-07]."""
    defects = [one for one in as_transcript(document).defects if one.kind == "unknown_entry"]

    assert [one.where for one in defects] == where


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ({"custom_id": "a", "url": "/v1/chat/completions", "body": {"messages": [PLAIN]}}, r"line\['body'\]"),
        ({"custom_id": "a", "params": {"messages": [PLAIN]}}, r"line\['params'\]"),
        ({"custom_id": "a", "response": {"body": {"choices": []}}}, "an answer of a batch"),
        ({"custom_id": "a", "result": {"type": "succeeded", "message": {}}}, "an answer of a batch"),
        ({"timestamp": "t", "type": "session_meta", "payload": {"id": "s"}}, "a log of Codex"),
    ],
)
def test_batches_and_logs_of_other_programs_are_refused_by_their_name(line: Any, says: str) -> None:
    """The conversation lies inside, and the message says where [EXE-07]."""
    with pytest.raises(TranscriptError, match=says):
        as_transcript(json.dumps(line) + "\n" + json.dumps(line))


def test_a_chosen_format_that_does_not_fit_is_refused() -> None:
    """It says what the value is, and which formats there are."""
    with pytest.raises(TranscriptError, match=r"has no ChatGPT exports: it is a list of 1.*format='chatgpt'"):
        list(conversations([TURN], format=format_named("chatgpt")))


def test_an_unknown_format_names_the_nearest() -> None:
    """A typing error should not need the documentation."""
    with pytest.raises(TranscriptError, match=r"no format 'antropic'. Did you mean 'anthropic'"):
        format_named("antropic")


def test_the_formats_that_can_be_written_are_those_of_the_specification() -> None:
    """Exports of other programs are only read [EXE-07]."""
    assert sorted(written_formats()) == [
        "anthropic",
        "langchain",
        "openai-chat",
        "openai-responses",
        "sharegpt",
    ]


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_has_the_name_under_which_it_is_found(name: str) -> None:
    """The table and the formats agree."""
    assert FORMATS[name].name == name


WORDS = (
    *LIST_NAMES,
    *("role", "content", "type", "from", "value", "text", "sender", "tool_calls", "tool_call_id", "function"),
    *("name", "arguments", "id", "input", "output", "data", "kwargs", "lc", "uuid", "parentUuid", "message"),
    *("mapping", "parent", "author", "parts", "content_type", "current_node", "chat_messages", "items"),
    *("system", "inputs", "outputs", "model", "call_id", "tool_use_id", "reasoning", "summary", "usage"),
    *("thinking", "attachments", "args", "parent_message_uuid", "create_time", "timestamp", "recipient"),
)
LABELS = (
    *("user", "assistant", "system", "tool", "human", "gpt", "ai", "function_call", "observation"),
    *("tool_use", "tool_result", "text", "constructor", "HumanMessage", "message", "function_call_output"),
    *(
        "code",
        "thoughts",
        "input_text",
        "output_text",
        "remove",
        "image_url",
        "",
        "\ud83c",
        "{}",
        "2024-01-01",
    ),
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(LABELS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5),
    max_leaves=25,
)
PIECES = st.sampled_from(
    [
        PLAIN,
        OPENAI_CALL,
        OPENAI_RESULT,
        ANTHROPIC_CALL,
        RESPONSES_CALL,
        LANGCHAIN,
        TURN,
        LOG_LINE,
        CHATGPT,
        CLAUDE,
    ]
)


@st.composite
def damaged(draw: st.DrawFn) -> Any:
    """A conversation of a known format with anything in place of some of its values."""
    holder = json.loads(json.dumps(draw(st.sampled_from(EXAMPLES))[1]))
    for _ in range(draw(st.integers(1, 3))):
        at = holder
        while isinstance(at, dict | list) and at:
            key = draw(st.sampled_from(sorted(at) if isinstance(at, dict) else range(len(at))))
            if not isinstance(at[key], dict | list) or not at[key] or draw(st.booleans()):
                at[key] = draw(ANYTHING)
                break
            at = at[key]
    return holder


def loads_or_is_refused(value: Any) -> None:
    """Loading gives messages or a refusal, and nothing else."""
    try:
        found = as_transcript(value)
    except TranscriptError:
        return
    assert found.messages


@given(ANYTHING)
@settings(max_examples=300, deadline=None)
def test_any_json_value_loads_or_is_refused(value: Any) -> None:
    """Nothing else is raised, whatever a file holds [EXE-07]."""
    loads_or_is_refused(value)


@given(damaged())
@settings(max_examples=500, deadline=None)
def test_a_damaged_conversation_loads_or_is_refused(value: Any) -> None:
    """Fields that are missing, of another type, or nested where they should not be [EXE-07]."""
    loads_or_is_refused(value)


@given(st.lists(PIECES | ANYTHING, min_size=1, max_size=5))
@settings(max_examples=200, deadline=None)
def test_any_mixture_loads_or_is_refused(value: Any) -> None:
    """Messages and conversations of all formats, and what is neither [EXE-07]."""
    loads_or_is_refused(value)


def test_a_developer_message_is_at_home_in_two_formats() -> None:
    """A Responses request has that role as well, and is not taken for a mixture [EXE-07]."""
    items = [{"role": "developer", "content": "Be brief."}, {"type": "item_reference", "id": "msg_1"}]

    assert kb.as_transcript({"model": "m", "instructions": "Help.", "input": items}).format == (
        "openai-responses"
    )
