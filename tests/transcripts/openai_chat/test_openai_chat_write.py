"""A conversation that goes in and comes out is the same JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from koogbook.messages.message import Message, Usage, assistant, tool_result, user
from koogbook.messages.parts import Attachment, Foreign, Reasoning, Text, ToolCall, ToolResult
from koogbook.messages.prompt import Prompt
from koogbook.transcripts.conversation import Conversation
from koogbook.transcripts.export import save_transcript, save_transcripts
from koogbook.transcripts.formats import FORMATS, Written
from koogbook.transcripts.load import as_transcript, load_transcript, load_transcripts
from koogbook.transcripts.openai_chat.read import read_conversation
from koogbook.transcripts.openai_chat.write import to_openai
from koogbook.transcripts.reading import UNKNOWN_TIME

TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
EXTRAS = st.dictionaries(
    st.sampled_from(["annotations", "audio", "weight", "refusal"]), JSON_VALUES, max_size=2
)
TEXT_PARTS = st.builds(
    lambda text, extra: {"type": "text", "text": text, **extra},
    TEXTS,
    st.just({}) | st.just({"cache_control": {"type": "ephemeral"}}),
)
IMAGE_PARTS = st.builds(
    lambda url, detail: {"type": "image_url", "image_url": {"url": url, **detail}},
    st.sampled_from(
        ["https://example.org/a.png", "data:image/png;base64,iVBORw==", "data:image/png;base64,iVBORx=="]
    ),
    st.just({}) | st.just({"detail": "high"}),
)
OTHER_PARTS = st.sampled_from(
    [
        {"type": "refusal", "refusal": "I cannot."},
        {"type": "file", "file": {"file_id": "file-7"}},
        {"type": "file", "file": {"filename": "a.txt", "file_data": "data:text/plain;base64,aGk="}},
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
        {"type": "hologram", "beam": [1, 2]},
    ]
)
CONTENTS = TEXTS | st.lists(TEXT_PARTS | IMAGE_PARTS | OTHER_PARTS, min_size=1, max_size=3)
NAMES = st.just({}) | st.builds(lambda name: {"name": name}, st.sampled_from(["guide", "guest"]))


def plain_turn(role: str) -> st.SearchStrategy[list[dict[str, Any]]]:
    """One message of a role, with or without a name and further fields."""
    return st.builds(
        lambda content, name, extra: [{"role": role, "content": content, **name, **extra}],
        CONTENTS,
        NAMES,
        EXTRAS,
    )


@st.composite
def tool_turns(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A message with calls, and their results."""
    count = draw(st.integers(1, 3))
    calls = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {
                "name": draw(st.sampled_from(["weather", "clock"])),
                "arguments": json.dumps(draw(st.dictionaries(TEXTS, JSON_VALUES, max_size=2))),
            },
            **draw(st.just({}) | st.just({"index": number})),
        }
        for number in range(count)
    ]
    content = draw(
        st.just({})
        | st.just({"content": None})
        | st.just({"content": ""})
        | st.just({"content": [{"type": "text", "text": ""}]})
        | TEXTS.map(_as_content)
    )
    results = [
        {
            "role": "tool",
            "tool_call_id": f"call_{number}",
            "content": draw(TEXTS | st.just("") | st.lists(TEXT_PARTS, min_size=1, max_size=3)),
            **draw(st.just({}) | st.just({"name": calls[number]["function"]["name"]})),
        }
        for number in range(count)
    ]
    return [{"role": "assistant", **content, "tool_calls": calls}, *results]


def _as_content(text: str) -> dict[str, Any]:
    return {"content": text}


OLD_STYLE = st.just(
    [
        {"role": "assistant", "content": None, "function_call": {"name": "clock", "arguments": "{}"}},
        {"role": "function", "name": "clock", "content": "12:00"},
    ]
)
CHATS = st.lists(
    st.one_of(*map(plain_turn, ("system", "developer", "user", "assistant")), tool_turns(), OLD_STYLE),
    min_size=1,
    max_size=5,
).map(lambda turns: [entry for turn in turns for entry in turn])


@given(CHATS)
@settings(max_examples=150, deadline=None)
def test_a_chat_comes_out_as_it_went_in(chat: list[dict[str, Any]]) -> None:
    """Every field, spelling and part of a well-formed chat survives [EXE-07]."""
    messages, _ = read_conversation(Conversation(chat, "$"))

    assert to_openai(messages) == chat


@given(CHATS)
@settings(max_examples=60, deadline=None)
def test_a_chat_survives_two_trips(chat: list[dict[str, Any]]) -> None:
    """What is exported and read again gives the same messages, ids and times included [EXE-07]."""
    messages, _ = read_conversation(Conversation(chat, "$"))
    again, _ = read_conversation(Conversation(to_openai(messages), "$"))

    assert again == messages


@pytest.mark.parametrize("text", ["plain", "雨 and 🌧", "\x00\ufeff\uffff"])
def test_a_written_file_loads_again(tmp_path: Path, text: str) -> None:
    """Any text comes back from a file [EXE-07]."""
    save_transcript([user(text)], tmp_path / "one.json")

    assert load_transcript(tmp_path / "one.json").messages[0].text == text


HALVES = [
    {
        "role": "user",
        "name": "a\ud83d",
        "content": "b\ud83d",
        "id": "c\ud83d",
        "weight": {"d": "e\ud83d"},
    },
    {"role": "user", "id": "c\ude00", "content": [{"type": "text", "text": "f\ud83d", "g": "h\ud83d"}]},
    {"role": "user", "content": [{"type": "hologram", "beam": "i\ud83d"}]},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {
                "id": "j\ud83d",
                "type": "function",
                "function": {"name": "k\ud83d", "arguments": '{"l": "\ud83d"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "j\ud83d", "content": [{"type": "text", "text": "m\ud83d"}]},
]


def test_halves_of_characters_do_not_come_out_again() -> None:
    """A server refuses every request with one, so an export has what the messages have [KB-041]."""
    messages, defects = read_conversation(Conversation(HALVES, "$"))

    assert "\\ud83d" not in json.dumps(to_openai(messages))
    assert {one.kind for one in defects} == {"duplicate_id", "lone_surrogate", "unknown_part"}


@pytest.mark.parametrize("beside", [[], [user("cut \ud83d")]], ids=["alone", "beside half a character"])
@pytest.mark.parametrize("write", [save_transcript, lambda chat, path: save_transcripts([chat], path)])
def test_a_file_holds_the_characters_and_no_escapes(
    tmp_path: Path, write: Any, beside: list[Message]
) -> None:
    """People read these files, and look for words in them [KB-044]."""
    chat = [user("我喜欢室内活动，预算 500 元"), assistant("记住了：室内、500 元。"), *beside]
    path = tmp_path / "chat.jsonl"
    write(chat, path)
    found = load_transcript(path).messages

    assert "室内".encode() in path.read_bytes()
    assert [one.text for one in found[:2]] == [one.text for one in chat[:2]]


def test_what_a_file_says_besides_the_messages_is_written_back(tmp_path: Path) -> None:
    """Model and tool descriptions stand beside the messages in training files [EXE-07]."""
    source = tmp_path / "in.json"
    whole = {"messages": [{"role": "user", "content": "Hello"}], "tools": [{"name": "clock"}], "model": "m"}
    source.write_text(json.dumps(whole), encoding="utf-8")

    save_transcript(load_transcript(source), tmp_path / "out.json")

    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8")) == whole


def test_jsonl_takes_prompts_transcripts_and_lists(tmp_path: Path) -> None:
    """Whatever holds messages can be written, one conversation per line [EXE-07]."""
    path = tmp_path / "all.jsonl"
    first = as_transcript([{"role": "user", "content": "one"}])
    save_transcripts((first, Prompt([user("two")]), [user("three")]), path)

    assert [one.messages[0].text for one in load_transcripts(path)] == ["one", "two", "three"]


def test_a_changed_message_is_written_as_it_is_now() -> None:
    """How a text was spelled in the file must not bring the old text back."""
    chat = [{"role": "user", "content": [{"type": "text", "text": "old"}], "weight": 1}]
    messages, _ = read_conversation(Conversation(chat, "$"))

    new = [{"type": "text", "text": "new"}]
    assert to_openai([messages[0].with_text("new")]) == [{"role": "user", "content": new, "weight": 1}]


@pytest.mark.parametrize("said", ["", [], [Text("")], [Text(""), Text("")]], ids=repr)
def test_a_message_of_calls_alone_has_null_as_content(said: Any) -> None:
    """A server may refuse an empty text that it gave itself [KB-029]."""
    exported = to_openai([assistant(said, calls=[ToolCall("count", "{}", "a")]), tool_result("a", "7")])

    assert exported[0]["content"] is None
    assert exported[0]["tool_calls"][0]["function"] == {"name": "count", "arguments": "{}"}


def test_an_empty_text_beside_other_parts_is_not_written() -> None:
    """In no role [KB-029]."""
    picture = Attachment("image", url="https://example.org/a.png")
    shown = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    result = tool_result("a", "").with_parts([ToolResult("", "", "a"), picture])
    exported = to_openai(
        [
            user([Text(""), picture]),
            assistant([Text(""), Text("x")]),
            assistant(calls=[ToolCall("f", id="a")]),
            result,
        ]
    )

    assert [entry["content"] for entry in exported] == [[shown], "x", None, [shown]]


@pytest.mark.parametrize("make", [user, assistant])
def test_an_empty_message_keeps_its_empty_text(make: Any) -> None:
    """Only beside calls the format lets the content be null [KB-029]."""
    assert to_openai([make("")])[0]["content"] == ""


@pytest.mark.parametrize(
    "content", [{"content": ""}, {"content": [{"type": "text", "text": ""}]}, {}], ids=repr
)
def test_arguments_that_were_encoded_twice_are_written_as_they_were(content: dict[str, Any]) -> None:
    """The message holds what they mean, the file what was in it [KB-039]."""
    function = {"name": "land", "arguments": '"{\\"where\\": \\"here\\"}"'}
    called = {
        "role": "assistant",
        **content,
        "tool_calls": [{"id": "call_id", "type": "function", "function": function}],
    }
    messages, _ = read_conversation(Conversation([{"role": "user", "content": "land it"}, called], "$"))

    assert to_openai(messages)[1] == called


def test_a_raw_part_that_is_no_json_is_left_out_with_its_kind() -> None:
    """A part that was put into a message of a file in code; the loss says which [EXE-07]."""
    found = as_transcript(
        [{"role": "user", "content": [{"type": "hologram"}, {"type": "text", "text": "x"}]}]
    )
    changed = found.messages[0].with_parts([Foreign("sketch", "{"), Text("x")])
    written = _written((changed,), {})

    assert written.value[0]["content"] == "x"
    assert "kind 'sketch' that is no JSON" in written.losses[0].text


def test_a_result_has_the_id_that_its_call_gets() -> None:
    """Also where only the result had one [EXE-02]."""
    exported = to_openai([assistant(calls=[ToolCall("clock")]), tool_result("x", "12:00", tool="clock")])

    assert exported[0]["tool_calls"][0]["id"] == exported[1]["tool_call_id"]


def test_calls_without_ids_get_ids_that_their_results_share() -> None:
    """The format joins both by id."""
    exported = to_openai([assistant(calls=[ToolCall("clock")]), tool_result(None, "12:00", tool="clock")])

    assert exported[0]["tool_calls"][0]["id"] == exported[1]["tool_call_id"]


def test_results_in_one_message_become_one_entry_each() -> None:
    """The format has one result per entry, koogbook may have more."""
    calls = assistant(calls=[ToolCall("clock", "{}", "a"), ToolCall("weather", "{}", "b")])
    both = tool_result("a", "12:00").with_parts([ToolResult("12:00", "", "a"), ToolResult("sunny", "", "b")])

    assert [entry.get("tool_call_id") for entry in to_openai([calls, both])] == [None, "a", "b"]


def test_object_arguments_come_out_as_the_text_the_format_asks_for() -> None:
    """An oddity that was listed on the way in is not handed on to a provider."""
    function = {"name": "clock", "arguments": {"zone": "UTC"}}
    chat = [{"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": function}]}]
    messages, _ = read_conversation(Conversation(chat, "$"))

    assert to_openai(messages)[0]["tool_calls"][0]["function"]["arguments"] == '{"zone": "UTC"}'


def test_a_picture_is_written_as_a_data_uri() -> None:
    """Bytes travel inside the JSON."""
    exported = to_openai([user([Text("Look"), Attachment("image", "image/png", data=b"\x89PNG")])])

    assert exported[0]["content"][1] == {
        "type": "image_url",
        "image_url": {"url": "data:image/png;base64,iVBORw=="},
    }


def test_what_the_format_has_no_place_for_is_listed() -> None:
    """Nothing is dropped silently [EXE-07]."""
    made = {"time": UNKNOWN_TIME, "id": "0123456789abcdef"}
    history = (
        user("Hi", **made),
        assistant([Reasoning("Hm.", "c2ln"), Text("Hello")], usage=Usage(3, 4), **made),
        tool_result("c", "broken", is_error=True, tool="clock", **made),
    )

    assert list(map(str, _written(history, {}).losses)) == [
        "message 1: the signature and id of its reasoning",
        "message 1: its usage",
        "message 2: that the result of clock is an error",
    ]


def test_a_conversation_from_this_format_loses_nothing() -> None:
    """Ids, times and unknown roles are written as they were [EXE-07]."""
    document = [
        {"role": "developer", "content": "Be brief."},
        {"role": "critic", "content": "No.", "id": "m1", "created": 1714585031, "weight": 0},
    ]
    found = as_transcript(document)
    written = _written(found.messages, found.extra)

    assert (written.value, written.losses) == (document, ())


def test_what_stood_beside_the_messages_is_beside_them_again() -> None:
    """Tools and model belong to the conversation [EXE-07]."""
    document = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    found = as_transcript(document)

    assert _written(found.messages, found.extra).value == document


def _written(messages: tuple[Message, ...], extra: dict[str, Any]) -> Written:
    written = FORMATS["openai-chat"].write
    assert written is not None
    return written(messages, extra)
