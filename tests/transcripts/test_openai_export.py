"""A conversation that goes in and comes out is the same JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from koogbook.messages.message import assistant, tool_result, user
from koogbook.messages.parts import Attachment, Text, ToolCall, ToolResult
from koogbook.messages.prompt import Prompt
from koogbook.transcripts.jsonl import write_jsonl
from koogbook.transcripts.load import load_transcript, load_transcripts
from koogbook.transcripts.openai_chat import read_conversation
from koogbook.transcripts.openai_export import to_openai, write_openai
from koogbook.transcripts.shapes import Conversation

TEXTS = st.text(st.characters(codec=None), min_size=1, max_size=30)
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
        st.just({}) | st.just({"content": None}) | st.just({"content": ""}) | TEXTS.map(_as_content)
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


@pytest.mark.parametrize("text", ["plain", "雨 and 🌧", "cut \ud83d"])
def test_a_written_file_loads_again(tmp_path: Path, text: str) -> None:
    """Any text comes back from a file, lone surrogates included [EXE-07]."""
    path = write_openai([user(text)], tmp_path / "one.json")

    assert load_transcript(path).messages[0].text == text


def test_what_a_file_says_besides_the_messages_is_written_back(tmp_path: Path) -> None:
    """Model and tool descriptions stand beside the messages in training files [EXE-07]."""
    source = tmp_path / "in.json"
    whole = {"messages": [{"role": "user", "content": "Hello"}], "tools": [{"name": "clock"}], "model": "m"}
    source.write_text(json.dumps(whole), encoding="utf-8")

    written = write_openai(load_transcript(source), tmp_path / "out.json")

    assert json.loads(written.read_text(encoding="utf-8")) == whole


def test_jsonl_takes_prompts_transcripts_and_lists(tmp_path: Path) -> None:
    """Whatever holds messages can be written, one conversation per line [EXE-07]."""
    first = load_transcript(write_openai([user("one")], tmp_path / "one.json"))
    path = write_jsonl((first, Prompt([user("two")]), [user("three")]), tmp_path / "all.jsonl")

    assert [one.messages[0].text for one in load_transcripts(path)] == ["one", "two", "three"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    """A conversation that cannot be produced does not cost the one that is there."""
    path = write_jsonl([[user("old")]], tmp_path / "all.jsonl")
    with pytest.raises(ZeroDivisionError):
        write_jsonl(([user("new")] if number else [user(str(1 // number))] for number in (1, 0)), path)

    assert [one.messages[0].text for one in load_transcripts(path)] == ["old"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["all.jsonl"]


def test_a_changed_message_is_written_as_it_is_now() -> None:
    """How a text was spelled in the file must not bring the old text back."""
    chat = [{"role": "user", "content": [{"type": "text", "text": "old"}], "weight": 1}]
    messages, _ = read_conversation(Conversation(chat, "$"))

    assert to_openai([messages[0].with_text("new")]) == [{"role": "user", "content": "new", "weight": 1}]


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
