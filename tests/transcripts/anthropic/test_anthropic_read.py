"""One conversation of Anthropic messages: what becomes of its blocks and fields, and what is listed as odd."""

from __future__ import annotations

from typing import Any

import pytest
from chat_strategies import found_and_read, kinds
from hypothesis import given, settings

from koogbook.messages.message import Message, Usage
from koogbook.messages.pairing import pair_messages
from koogbook.messages.parts import Attachment, Foreign, Reasoning, Text, ToolCall, ToolResult
from koogbook.transcripts.anthropic.format import FORMAT
from koogbook.transcripts.conversation import Conversation
from koogbook.transcripts.transcript import Defect


def read(*entries: Any) -> tuple[tuple[Message, ...], tuple[Defect, ...]]:
    """The messages and defects of a conversation with these entries."""
    return FORMAT.read(Conversation(entries, "$"))


def use(call_id: Any = "t1", name: Any = "look", given: Any = None) -> dict[str, Any]:
    """A block with a call."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": {} if given is None else given}


def result(call_id: Any = "t1", content: Any = "seen", **more: Any) -> dict[str, Any]:
    """A block with a result."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def said(*blocks: Any) -> dict[str, Any]:
    """A user entry with these blocks."""
    return {"role": "user", "content": list(blocks)}


def answered(*blocks: Any, **more: Any) -> dict[str, Any]:
    """An assistant entry with these blocks."""
    return {"role": "assistant", "content": list(blocks), **more}


TEXT = {"type": "text", "text": "hello"}
BLOCKS = [
    (TEXT, Text("hello")),
    ({**TEXT, "citations": None, "cache_control": {"type": "ephemeral"}}, Text("hello")),
    (
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}},
        Attachment("image", "image/png", data=b"\x89PNG"),
    ),
    (
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        Attachment("image", url="https://example.org/a.png"),
    ),
    (
        {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
        Attachment("image", file_id="file_1"),
    ),
    (
        {
            "type": "document",
            "title": "a.pdf",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="},
        },
        Attachment("file", "application/pdf", data=b"%PDF", name="a.pdf"),
    ),
    (
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "雨"}},
        Attachment("file", "text/plain", data="雨".encode()),
    ),
]


@pytest.mark.parametrize(("block", "part"), BLOCKS)
def test_a_block_becomes_a_part(block: dict[str, Any], part: Any) -> None:
    """Texts, pictures and documents have places of their own [EXE-07, KB-025]."""
    messages, defects = read(said(block))

    assert (messages[0].parts, defects) == ((part,), ())


def test_thoughts_keep_their_signatures_and_sealed_ones_stay_sealed() -> None:
    """Neither is part of the visible text [KB-077]."""
    thinking = {"type": "thinking", "thinking": "simple", "signature": "c2ln"}
    sealed = {"type": "redacted_thinking", "data": "eHg="}
    messages, defects = read(answered(thinking, sealed, TEXT))

    assert messages[0].parts[0] == Reasoning("simple", "c2ln")
    assert messages[0].parts[1] == Foreign(
        "redacted_thinking", '{"data": "eHg=", "type": "redacted_thinking"}'
    )
    assert (messages[0].text, defects) == ("hello", ())


@pytest.mark.parametrize(
    "block",
    [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "rain"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
        {"type": "hologram", "beam": 7},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "no base64"}},
        "a text where a block should be",
    ],
    ids=str,
)
def test_a_block_that_is_not_understood_is_kept_raw_and_listed(block: Any) -> None:
    """What a server did by itself, and what a newer API may bring [EXE-07]."""
    messages, defects = read(answered(TEXT, block))

    assert isinstance(messages[0].parts[1], Foreign)
    assert [(one.kind, one.where) for one in defects] == [("unknown_part", "$[0].content[1]")]


def test_results_and_words_of_one_entry_are_messages_of_their_own() -> None:
    """A result is a tool's, and the words beside it are the user's [KB-018]."""
    messages, defects = read(
        answered(use("t1"), use("t2")),
        said(result("t1"), result("t2", is_error=True), {**TEXT, "text": "go on"}),
    )

    assert [one.role for one in messages] == ["assistant", "tool", "tool", "user"]
    assert messages[2].results == (ToolResult("seen", "look", "t2", is_error=True),)
    assert (messages[3].text, defects) == ("go on", ())


def test_words_before_a_result_are_read_after_it_and_listed() -> None:
    """A result belongs to the calls just before it; the API refuses such an entry [EXE-02]."""
    messages, defects = read(answered(use()), said(TEXT, result()))

    assert [one.role for one in messages] == ["assistant", "tool", "user"]
    assert (kinds(defects), pair_messages(messages).defects) == (["out_of_order"], ())


def test_a_result_of_blocks_is_text_and_what_else_it_shows() -> None:
    """A picture beside the text is a part of the result's message [KB-027]."""
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}}
    messages, _ = read(answered(use()), said(result(content=[TEXT, {**TEXT, "text": "again"}, picture])))

    assert messages[1].parts == (
        ToolResult("hello\nagain", "look", "t1"),
        Attachment("image", "image/png", data=b"\x89PNG"),
    )


def test_a_text_after_a_picture_in_a_result_is_listed() -> None:
    """It is read before it [EXE-07]."""
    picture = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    messages, defects = read(answered(use()), said(result(content=[TEXT, picture, TEXT])))

    assert messages[1].results[0].output == "hello\nhello"
    assert [(one.kind, one.where) for one in defects] == [("out_of_order", "$[1].content[0].content")]


def test_an_empty_text_beside_a_call_is_no_part_and_no_defect() -> None:
    """The API writes it itself and refuses it when it comes back [KB-029]."""
    messages, defects = read(answered({**TEXT, "text": ""}, use()), said(result()))

    assert (messages[0].parts, defects) == ((ToolCall("look", "{}", "t1"),), ())


@pytest.mark.parametrize(
    "entry",
    [
        {"role": "user", "content": ""},
        {"role": "user", "content": []},
        {"role": "user"},
        {"role": "user", "content": None},
        said({**TEXT, "text": ""}),
        said(TEXT, {**TEXT, "text": ""}),
        answered(use(), {**TEXT, "text": "", "cache_control": {}}),
    ],
    ids=str,
)
def test_any_other_empty_content_is_listed(entry: dict[str, Any]) -> None:
    """It says nothing, and a request with it would fail [EXE-07]."""
    _, defects = read(entry)

    assert "empty_content" in kinds(defects)


def test_arguments_are_the_json_text_of_the_object() -> None:
    """In this format they are no text."""
    messages, defects = read(answered(use(given={"c": "Köln", "n": 1.0})), said(result()))

    assert (messages[0].calls[0].args, defects) == ('{"c": "Köln", "n": 1.0}', ())


@pytest.mark.parametrize("given", ['{"c": ', [1], 7])
def test_arguments_that_are_no_object_are_kept_and_listed(given: Any) -> None:
    """The reader has to see what was written [EXE-07]."""
    messages, defects = read(answered(use(given=given)), said(result()))

    assert messages[0].calls[0].args in ('{"c": ', "[1]", "7")
    assert kinds(defects) == ["broken_arguments"]


def test_a_call_without_a_name_is_kept_raw_and_listed() -> None:
    """Nobody could run it [EXE-07]."""
    messages, defects = read(answered(use(name=None)))

    assert (messages[0].calls, kinds(defects)) == ((), ["bad_call"])


def test_an_answer_keeps_its_usage_and_why_it_ended() -> None:
    """The API counts what it read from its cache beside the input, koogbook within [EXE-07]."""
    usage = {
        "input_tokens": 3,
        "cache_read_input_tokens": 5,
        "cache_creation_input_tokens": 2,
        "output_tokens": 4,
    }
    answer = answered(TEXT, id="msg_1", type="message", model="m", stop_reason="end_turn", usage=usage)
    _, messages, _ = found_and_read(FORMAT, answer)

    assert messages[0].usage == Usage(10, 4, cache_read_tokens=5, cache_write_tokens=2)
    assert (messages[0].id, messages[0].finish_reason) == ("msg_1", "end_turn")


@pytest.mark.parametrize(
    "system", ["Be brief.", [{"type": "text", "text": "Be brief.", "cache_control": {}}]]
)
def test_the_system_prompt_beside_the_messages_is_the_first_message(system: Any) -> None:
    """In this API it is no entry of the list [EXE-07]."""
    _, messages, defects = found_and_read(
        FORMAT, {"system": system, "messages": [{"role": "user", "content": "Hi"}]}
    )

    assert ([(one.role, one.text) for one in messages], defects) == (
        [("system", "Be brief."), ("user", "Hi")],
        (),
    )


def test_places_count_the_entries_of_the_list_and_not_the_system_prompt() -> None:
    """A place has to be found in the file [EXE-07]."""
    value = {"system": [{"type": "hologram"}], "messages": [said({"type": "hologram"})]}
    _, _, defects = found_and_read(FORMAT, value)

    assert [one.where for one in defects] == ["$.system[0]", "$.messages[0].content[0]"]


def test_an_unknown_role_is_listed_and_taken_for_a_user() -> None:
    """The text is kept, and the reader is told [EXE-07]."""
    messages, defects = read({"role": "critic", "content": "Too long."})

    assert (messages[0].role, messages[0].text, kinds(defects)) == ("user", "Too long.", ["unknown_role"])


def test_half_an_emoji_is_replaced_wherever_a_request_would_carry_it() -> None:
    """In texts, arguments, their names and results [KB-041]."""
    messages, defects = read(
        said({**TEXT, "text": "a\ud83d"}),
        answered(use(given={"k\ud83d": "v\ud83d"})),
        said(result(content=[{**TEXT, "text": "r\ud83d"}])),
    )

    assert [one.text for one in messages if one.role != "assistant"] == ["a\ufffd", "r\ufffd"]
    assert messages[1].calls[0].args == '{"k\ufffd": "v\ufffd"}'
    assert set(kinds(defects)) == {"lone_surrogate"}


def test_a_call_id_that_comes_again_is_listed() -> None:
    """A program that joins by id alone would take one result for the other [EXE-07]."""
    _, defects = read(answered(use()), said(result()), answered(use()), said(result()))

    assert kinds(defects) == ["reused_call_id"]


@settings(max_examples=20, deadline=None)
@given(...)
def test_reading_twice_gives_equal_messages(text: str) -> None:
    """Ids and times come from the content and the position, not from a clock."""
    assert read(said({**TEXT, "text": text}), answered(use())) == read(
        said({**TEXT, "text": text}), answered(use())
    )
