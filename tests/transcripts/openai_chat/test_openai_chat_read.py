"""One conversation in the OpenAI chat format: what becomes of its fields, and what is listed as odd."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from koogbook.messages.codec import decode_messages, encode_message
from koogbook.messages.message import Message
from koogbook.messages.parts import Attachment, Foreign, Reasoning, Text, ToolCall, ToolResult
from koogbook.transcripts.conversation import Conversation
from koogbook.transcripts.openai_chat.read import read_conversation
from koogbook.transcripts.openai_chat.write import to_openai
from koogbook.transcripts.reading import UNKNOWN_TIME
from koogbook.transcripts.transcript import Defect


def read(*entries: Any) -> tuple[tuple[Message, ...], tuple[Defect, ...]]:
    """The messages and defects of a conversation with these entries."""
    return read_conversation(Conversation(entries, "$"))


def call(arguments: Any = "{}", name: str = "weather", call_id: str | None = "call_1") -> dict[str, Any]:
    """An assistant entry with one call."""
    function = {"name": name, "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"type": "function", "function": function} | ({"id": call_id} if call_id else {})],
    }


ANSWER = {"role": "tool", "tool_call_id": "call_1", "content": "sunny"}


def kinds(defects: tuple[Defect, ...]) -> list[str]:
    """The kinds of defects, in order."""
    return [defect.kind for defect in defects]


@pytest.mark.parametrize(
    ("spelled", "role"),
    [("system", "system"), ("developer", "system"), ("user", "user"), ("assistant", "assistant")],
)
def test_a_role_becomes_one_of_the_four(spelled: str, role: str) -> None:
    """The newer name of the system role is a spelling, no defect."""
    messages, defects = read({"role": spelled, "content": "Hello"})

    assert (messages[0].role, defects) == (role, ())


def test_the_developer_role_is_remembered() -> None:
    """What the file said is not lost when the role is one of ours [EXE-07]."""
    messages, _ = read({"role": "developer", "content": "Be brief."})

    assert messages[0].metadata["original_role"] == "developer"


def test_an_unknown_role_is_listed_and_taken_for_a_user() -> None:
    """The text is kept, and the reader is told [EXE-07]."""
    messages, defects = read({"role": "critic", "content": "Too long."}, {"role": "user", "content": "Why?"})

    assert (messages[0].role, messages[0].text, kinds(defects)) == ("user", "Too long.", ["unknown_role"])


def test_an_entry_that_is_no_object_is_listed_with_its_content() -> None:
    """It cannot become a message, and it does not vanish without a word [EXE-07]."""
    messages, defects = read({"role": "user", "content": "Hello"}, "stray text")

    assert (len(messages), kinds(defects)) == (1, ["bad_message"])
    assert "stray text" in defects[0].text


@pytest.mark.parametrize("content", [None, "", [{"type": "text", "text": ""}]], ids=repr)
def test_no_content_beside_calls_is_no_defect_and_no_part(content: Any) -> None:
    """However a file says that a model only called a tool, there is no empty text to be sent back [KB-029]."""
    messages, defects = read({**call(), "content": content}, ANSWER)

    assert (messages[0].parts, defects) == ((ToolCall("weather", "{}", "call_1"),), ())


@pytest.mark.parametrize("entry", [{"content": ""}, {"content": None}, {}, {"content": []}])
def test_empty_content_without_calls_is_listed(entry: dict[str, Any]) -> None:
    """An empty, null, missing or partless content says nothing [EXE-07]."""
    _, defects = read({"role": "user", **entry})

    assert kinds(defects) == ["empty_content"]


def test_a_result_gets_the_name_of_its_call() -> None:
    """The format names the tool beside the call only."""
    messages, _ = read(call(), ANSWER)

    assert messages[1].results == (ToolResult("sunny", "weather", "call_1"),)


def test_a_call_id_that_is_used_again_belongs_to_the_nearest_call() -> None:
    """Some exporters number calls anew in each turn; both results keep their tools [EXE-07]."""
    messages, _ = read(call(), ANSWER, call(name="clock"), {**ANSWER, "content": "12:00"})

    assert [result.tool for one in messages for result in one.results] == ["weather", "clock"]


def test_a_call_id_that_is_used_again_is_listed_with_both_places() -> None:
    """A program that joins by id alone would take one result for the other [EXE-07]."""
    _, defects = read(call(), ANSWER, call(name="clock"), {**ANSWER, "content": "12:00"})

    assert [(one.kind, one.position, one.where) for one in defects] == [
        ("reused_call_id", 2, "$[2].tool_calls[0].id")
    ]
    assert "'call_1' was used before, at $[0].tool_calls[0]" in defects[0].text


def test_calls_with_ids_of_their_own_and_calls_without_are_not_listed() -> None:
    """Only the same id twice is odd [EXE-07]."""
    old = {"role": "assistant", "content": None, "function_call": {"name": "clock", "arguments": "{}"}}
    _, defects = read(
        *(call(), ANSWER),
        *(call(call_id="call_2"), {**ANSWER, "tool_call_id": "call_2"}),
        *(old, {"role": "function", "name": "clock", "content": "12:00"}) * 2,
    )

    assert defects == ()


def test_old_style_function_calls_are_calls_without_ids() -> None:
    """``function_call`` and the role ``function`` came before tools."""
    messages, defects = read(
        {"role": "assistant", "content": None, "function_call": {"name": "weather", "arguments": "{}"}},
        {"role": "function", "name": "weather", "content": "sunny"},
    )

    assert messages[0].calls == (ToolCall("weather", "{}", None),)
    assert (messages[1].results, defects) == ((ToolResult("sunny", "weather", None),), ())


@pytest.mark.parametrize(
    ("arguments", "kept", "kind"),
    [
        ({"city": "Bonn"}, '{"city": "Bonn"}', "arguments_not_text"),
        ('{"city": ', '{"city": ', "broken_arguments"),
        ("[1, 2]", "[1, 2]", "broken_arguments"),
        ('"Bonn"', '"Bonn"', "broken_arguments"),
        ('"[1]"', '"[1]"', "broken_arguments"),
        ('"{\\"city\\": "', '"{\\"city\\": "', "broken_arguments"),
    ],
)
def test_odd_arguments_are_kept_as_text_and_listed(arguments: Any, kept: str, kind: str) -> None:
    """Models write broken JSON; a reader has to see exactly what was written [EXE-07]."""
    messages, defects = read(call(arguments), ANSWER)

    assert (messages[0].calls[0].args, kinds(defects)) == (kept, [kind])


def test_arguments_that_were_encoded_twice_are_taken_out_of_their_text() -> None:
    """Once more and only where that gives an object; the reader is told [KB-039]."""
    messages, defects = read(call('"{\\"city\\": \\"Bonn\\"}"'), ANSWER)

    assert (messages[0].calls[0].args, kinds(defects)) == ('{"city": "Bonn"}', ["double_encoded_arguments"])


def test_half_an_emoji_inside_arguments_that_were_encoded_twice_is_replaced() -> None:
    """It appears only when they are taken out of their text [KB-039, KB-041]."""
    messages, defects = read(call('"{\\"city\\": \\"\\ud83d\\"}"'), ANSWER)

    assert messages[0].calls[0].args == '{"city": "\ufffd"}'
    assert kinds(defects) == ["double_encoded_arguments", "lone_surrogate"]


def test_a_published_line_with_all_of_this_is_read() -> None:
    """No content at all, arguments encoded twice, no result: none of it stops the import [KB-039]."""
    line = call('"{\\"x\\": 1}"')
    del line["content"]
    messages, defects = read({"role": "user", "content": "Land."}, line)

    assert messages[1].parts == (ToolCall("weather", '{"x": 1}', "call_1"),)
    assert kinds(defects) == ["double_encoded_arguments", "open_call"]


def test_a_defect_names_its_place_like_a_path() -> None:
    """The place can be looked up in the file [EXE-07]."""
    _, defects = read({"role": "user", "content": "Hello"}, call("{"), ANSWER)

    assert (defects[0].position, defects[0].where) == (1, "$[1].tool_calls[0].function.arguments")


def test_a_call_without_a_name_is_listed() -> None:
    """Nobody could run it [EXE-07]."""
    entry = {"role": "assistant", "content": "Let me see.", "tool_calls": [{"id": "x", "function": {}}]}
    messages, defects = read(entry)

    assert (messages[0].calls, kinds(defects)) == ((), ["bad_call"])


PARTS = [
    ({"type": "text", "text": "Look:"}, Text("Look:")),
    (
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        Attachment("image", url="https://example.org/a.png"),
    ),
    (
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
        Attachment("image", "image/png", data=b"\x89PNG"),
    ),
    (
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "mp3"}},
        Attachment("audio", "audio/mpeg", data=b"RIFF"),
    ),
    ({"type": "file", "file": {"file_id": "file-7"}}, Attachment("file", file_id="file-7")),
    (
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}},
        Attachment("file", "application/pdf", data=b"%PDF", name="a.pdf"),
    ),
    ({"type": "refusal", "refusal": "I cannot."}, Text("I cannot.")),
]


@pytest.mark.parametrize(("raw", "part"), PARTS, ids=[str(raw["type"]) for raw, _ in PARTS])
def test_a_content_part_becomes_a_part(raw: dict[str, Any], part: Any) -> None:
    """Text, pictures, sound, files and refusals have places of their own [EXE-07]."""
    messages, defects = read({"role": "user", "content": [raw]})

    assert (messages[0].parts, defects) == ((part,), ())


def test_an_unknown_part_is_kept_raw_and_listed() -> None:
    """A newer format may bring parts that are not known yet [EXE-07]."""
    messages, defects = read({"role": "user", "content": [{"type": "hologram", "beam": 7}]})

    assert messages[0].parts == (Foreign("hologram", '{"beam": 7, "type": "hologram"}'),)
    assert (kinds(defects), defects[0].where) == (["unknown_part"], "$[0].content[0]")


def test_a_number_as_content_is_kept_as_text_and_listed() -> None:
    """The format has no numbers as content, files in the wild do [EXE-07]."""
    messages, defects = read({"role": "user", "content": 42})

    assert (messages[0].text, kinds(defects)) == ("42", ["bad_content"])


def test_unknown_fields_go_into_the_metadata() -> None:
    """Nothing that the file says of a message is dropped [EXE-07]."""
    messages, _ = read({"role": "assistant", "content": "Hi", "annotations": [1], "audio": None})

    assert messages[0].metadata["openai"] == {"annotations": [1], "audio": None}


def test_a_thought_before_the_answer_is_reasoning() -> None:
    """Several servers put it beside the content."""
    messages, _ = read({"role": "assistant", "content": "12", "reasoning_content": "3 times 4"})

    assert messages[0].parts == (Reasoning("3 times 4"), Text("12"))


def test_a_thought_under_the_other_name_is_reasoning_and_goes_back_there() -> None:
    """Some servers call it ``reasoning`` [EXE-07]."""
    entry = {"role": "assistant", "content": "12", "reasoning": "3 times 4"}
    messages, _ = read(entry)

    assert messages[0].parts == (Reasoning("3 times 4"), Text("12"))
    assert to_openai(messages) == [entry]


def test_a_second_thought_stays_in_the_metadata() -> None:
    """Servers that give both give the same twice."""
    entry = {"role": "assistant", "content": "12", "reasoning_content": "a", "reasoning": "a"}
    messages, _ = read(entry)

    assert messages[0].parts == (Reasoning("a"), Text("12"))
    assert to_openai(messages) == [entry]


@pytest.mark.parametrize("content", [{"content": ""}, {"content": None}, {}], ids=repr)
def test_a_refusal_is_what_was_said(content: dict[str, Any]) -> None:
    """However the content says that there is none, the text is not empty [EXE-07]."""
    entry = {"role": "assistant", **content, "refusal": "No way"}
    messages, defects = read(entry)

    assert (messages[0].text, defects) == ("No way", ())
    assert to_openai(messages) == [entry]


def test_a_call_of_the_old_style_beside_others_is_listed() -> None:
    """Most often it is one of them once more; it stays in the metadata [EXE-07]."""
    old = {"function_call": {"name": "clock", "arguments": "{}"}}
    messages, defects = read({**call(), **old}, ANSWER)

    assert [part.tool for part in messages[0].calls] == ["weather"]
    assert [(one.kind, one.where) for one in defects] == [("bad_call", "$[0].function_call")]
    assert messages[0].metadata["openai"] == old
    assert to_openai(messages)[0] == {**call(), **old}


@pytest.mark.parametrize("role", ["user", "system", "tool"])
def test_calls_of_a_message_that_is_no_assistants_are_listed(role: str) -> None:
    """Nobody but a model calls tools; they stay in the metadata [EXE-07]."""
    entry = {**call(), "role": role, "content": "Hello"}
    messages, defects = read(entry)

    assert (messages[0].calls, defects[0].kind, defects[0].where) == ((), "bad_call", "$[0].tool_calls")
    assert to_openai(messages) == [entry]


def test_a_result_gets_the_name_of_a_call_with_a_free_text() -> None:
    """As that of any other [EXE-07]."""
    custom = {"type": "custom", "id": "call_1", "custom": {"name": "shell", "input": "ls"}}
    entry = {"role": "assistant", "content": None, "tool_calls": [custom]}
    messages, _ = read(entry, ANSWER)

    assert messages[1].results[0].tool == "shell"
    assert to_openai(messages) == [entry, ANSWER]


def test_a_text_after_a_picture_of_a_result_is_listed() -> None:
    """The result is one text, and comes first [EXE-07]."""
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    content = [{"type": "text", "text": "a"}, picture, {"type": "text", "text": "b"}]
    messages, defects = read(call(), {**ANSWER, "content": content})

    assert (messages[1].results[0].output, [one.where for one in defects]) == ("a\nb", ["$[1].content"])
    assert to_openai(messages)[1]["content"] == content


def test_a_message_keeps_its_own_unique_id() -> None:
    """Ids in a file are the best names for its messages."""
    messages, _ = read({"role": "user", "content": "Hello", "id": "m-1"})

    assert messages[0].id == "m-1"


def test_an_id_with_half_a_character_is_mended_and_stays_one() -> None:
    """It goes out with the message [KB-041]."""
    messages, defects = read({"role": "user", "content": "Hello", "id": "m-\ud83d"})

    assert (messages[0].id, kinds(defects)) == ("m-\ufffd", ["lone_surrogate"])


def test_an_id_that_comes_twice_is_replaced_and_listed() -> None:
    """A prompt refuses two messages of one id; in a file both say something, so both stay [EXE-07, KB-057]."""
    twice = {"role": "user", "content": "Hello", "id": "m-1"}
    messages, defects = read(twice, twice)

    assert len({"m-1", *(one.id for one in messages)}) == 3
    assert kinds(defects) == ["duplicate_id", "duplicate_id"]


def test_reading_twice_gives_equal_messages() -> None:
    """Ids and times come from the content and the position, not from a clock."""
    entries = [{"role": "user", "content": "Hello"}, {"role": "user", "content": "Hello"}, call(), ANSWER]

    assert read(*entries) == read(*entries)


def test_equal_entries_get_different_ids() -> None:
    """Saying the same thing twice makes two messages."""
    messages, _ = read({"role": "user", "content": "Hello"}, {"role": "user", "content": "Hello"})

    assert messages[0].id != messages[1].id


@pytest.mark.parametrize(
    "given",
    [
        {"created": 1_700_000_000},
        {"timestamp": 1_700_000_000_000},
        {"created_at": "2023-11-14T22:13:20Z"},
        {"time": "2023-11-15T06:13:20+08:00"},
        {"create_time": "2023-11-14T22:13:20"},
    ],
    ids=["seconds", "milliseconds", "utc", "zone", "no zone"],
)
def test_a_time_in_the_file_is_the_time_of_the_message(given: dict[str, Any]) -> None:
    """Seconds, milliseconds and ISO text mean the same moment."""
    messages, _ = read({"role": "user", "content": "Hello", **given})

    assert messages[0].time == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


def test_an_unknown_time_is_not_now() -> None:
    """Without a time the first message is at the epoch, the next a second later."""
    messages, _ = read({"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"})

    assert [(one.time - UNKNOWN_TIME).total_seconds() for one in messages] == [0, 1]


def test_a_time_that_is_none_is_listed() -> None:
    """The message is loaded all the same [EXE-07]."""
    messages, defects = read({"role": "user", "content": "Hello", "created": "yesterday"})

    assert (messages[0].time, kinds(defects)) == (UNKNOWN_TIME, ["bad_time"])


def test_orphan_results_and_unanswered_calls_are_loaded_and_listed() -> None:
    """The history is shown as it was; mending it is a step of its own [EXE-07]."""
    messages, defects = read(
        {"role": "tool", "tool_call_id": "call_0", "content": "lost"},
        call(),
        {"role": "user", "content": "And?"},
    )

    assert (len(messages), kinds(defects)) == (3, ["orphan_result", "unanswered_call"])


def test_an_open_call_at_the_end_is_listed() -> None:
    """A conversation may have been saved while a tool was running; it is loaded, and the reader is told [KB-039]."""
    both = call()
    both["tool_calls"] = [*both["tool_calls"], *call(name="clock", call_id="call_2")["tool_calls"]]
    messages, defects = read({"role": "user", "content": "Weather?"}, both, ANSWER)

    assert (len(messages), [(one.kind, one.position, one.where) for one in defects]) == (
        3,
        [("open_call", 1, "$[1]")],
    )
    assert "tool clock, id 'call_2'" in defects[0].text


def test_half_an_emoji_is_replaced() -> None:
    """Cut by some exporter, it would make every request with this history fail [KB-041]."""
    messages, _ = read({"role": "user", "content": "cut \ud83d, \ude00 and \ud83d"})

    assert messages[0].text == "cut \ufffd, \ufffd and \ufffd"


def test_half_an_emoji_is_replaced_wherever_a_request_would_carry_it() -> None:
    """In parts, names, arguments, ids of calls, results and reasoning [KB-041]."""
    messages, _ = read(
        {"role": "user", "name": "a\ud83d", "content": [{"type": "text", "text": "b\ud83d"}]},
        {**call('{"c": "\ud83d"}', "d\ud83d", "e\ud83d"), "reasoning_content": "f\ud83d"},
        {"role": "tool", "tool_call_id": "e\ud83d", "content": "g\ud83d"},
    )

    assert "\\ud83d" not in repr([(one.name, one.parts) for one in messages])
    assert messages[2].results == (ToolResult("g\ufffd", "d\ufffd", "e\ufffd"),)


def test_the_field_conversation_is_imported_saved_and_written() -> None:
    """Two halves in two messages: two entries with places, and nothing on the way fails [KB-041]."""
    text = """[{"role":"user","content":"ok \\ud83c"},{"role":"assistant","content":"fine \\udf89 done"}]"""
    messages, defects = read(*json.loads(text))

    assert [one.text for one in messages] == ["ok \ufffd", "fine \ufffd done"]
    assert [(one.kind, one.where) for one in defects] == [
        ("lone_surrogate", "$[0].content"),
        ("lone_surrogate", "$[1].content"),
    ]
    assert decode_messages([encode_message(one) for one in messages]) == list(messages)
    assert [entry["content"] for entry in to_openai(messages)] == ["ok \ufffd", "fine \ufffd done"]


@pytest.mark.parametrize(
    ("entry", "where"),
    [
        ({"role": "user", "content": "cut \ud83d"}, "$[1].content"),
        ({"role": "user", "content": [{"type": "text", "text": "fine \udf89"}]}, "$[1].content[0].text"),
        (call('{"city": "\ud83d"}'), "$[1].tool_calls[0].function.arguments"),
        ({"role": "user", "content": "Hello", "name": "\udf89"}, "$[1].name"),
    ],
    ids=["text", "part", "arguments", "name"],
)
def test_a_lone_surrogate_is_listed_with_its_place(entry: dict[str, Any], where: str) -> None:
    """Most servers refuse such a text, so a reader should know where it is [EXE-07]."""
    _, defects = read({"role": "user", "content": "Hello"}, entry)
    halves = [one for one in defects if one.kind == "lone_surrogate"]

    assert [(one.position, one.where) for one in halves] == [(1, where)]


def test_the_entry_of_a_lone_surrogate_says_where_in_the_text_it_is() -> None:
    """A text may be long, and hold many [EXE-07]."""
    _, defects = read({"role": "user", "content": "fine \udf89 done" + "\ud83d" * 7})

    assert "at 5, 11, 12, 13, 14 and 3 more of the text, replaced by U+FFFD" in defects[0].text


def test_a_whole_emoji_is_no_defect() -> None:
    """Two halves in JSON escapes are one character [EXE-07, KB-041]."""
    messages, defects = read(json.loads('{"role": "user", "content": "\\ud83c\\udf89"}'))

    assert (messages[0].text, defects) == ("🎉", ())


@pytest.mark.parametrize(
    ("spelled", "role"),
    [
        ("User", "user"),
        ("ASSISTANT", "assistant"),
        ("human", "user"),
        ("ai", "assistant"),
        ("bot", "assistant"),
    ],
)
def test_a_role_of_another_spelling_is_the_same_role(spelled: str, role: str) -> None:
    """A conversation is not turned round by it, and goes back as it was [EXE-07]."""
    entry = {"role": spelled, "content": "Hello"}
    messages, defects = read(entry)

    assert (messages[0].role, defects) == (role, ())
    assert to_openai(messages) == [entry]


@pytest.mark.parametrize("name", ["text", "message"])
def test_what_is_said_under_another_name_is_read_and_listed(name: str) -> None:
    """Home-made files have it there, and get it back there [EXE-07]."""
    entry = {"role": "user", name: "Hello"}
    messages, defects = read(entry)

    assert (messages[0].text, kinds(defects)) == ("Hello", ["bad_content"])
    assert to_openai(messages) == [entry]


def test_what_a_file_says_of_an_answer_does_not_count_as_its_text() -> None:
    """Ids, log probabilities and usage are kept, and no model reads them [KB-028]."""
    answer = {"role": "assistant", "content": "hello"}
    told = {"response_metadata": {"logprobs": [{"t": "x", "p": -0.1}] * 300}, "usage": {"in": 9, "out": 2}}
    (plain,), _ = read(answer)
    (talkative,), _ = read(answer | told)

    assert talkative.tokens == plain.tokens
    assert to_openai([talkative]) == [answer | told]
