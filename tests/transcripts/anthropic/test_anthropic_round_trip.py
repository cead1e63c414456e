"""Anthropic requests of any make come out as they went in, and histories come back from them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from chat_strategies import (
    JSON_VALUES,
    TEXTS,
    came_out,
    damaged,
    exact,
    found_and_read,
    histories,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from koogbook.errors import TranscriptError
from koogbook.messages.message import Message
from koogbook.messages.pairing import pair_messages
from koogbook.transcripts.anthropic.format import FORMAT
from koogbook.transcripts.anthropic.write import write_conversation
from koogbook.transcripts.conversation import Conversation

TEXT_BLOCKS = st.builds(
    lambda text, more: {"type": "text", "text": text, **more},
    TEXTS,
    st.just({}) | st.just({"cache_control": {"type": "ephemeral"}}) | st.just({"citations": None}),
)
PICTURE_BLOCKS = st.sampled_from(
    [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORx=="}},
        {
            "type": "document",
            "title": "a",
            "source": {"type": "text", "media_type": "text/plain", "data": "雨"},
        },
        {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "hologram", "beam": [1, 2]},
    ]
)
SEALED = st.sampled_from(
    [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "thinking", "thinking": "", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "eHg="},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "rain"}},
    ]
)
EXTRAS = st.dictionaries(st.sampled_from(["id", "weight", "stop_reason", "usage"]), JSON_VALUES, max_size=2)


@st.composite
def turns(draw: st.DrawFn) -> list[dict[str, Any]]:
    """What the user says, what the model answers, and the results of its calls with what is said after them."""
    content = draw(TEXTS | st.lists(TEXT_BLOCKS | PICTURE_BLOCKS, min_size=1, max_size=3))
    count = draw(st.integers(0, 3))
    uses = [
        {
            "type": "tool_use",
            "id": f"t{at}",
            "name": "look",
            "input": draw(st.dictionaries(TEXTS, TEXTS, max_size=2)),
        }
        for at in range(count)
    ]
    blocks = draw(st.lists(SEALED | TEXT_BLOCKS, min_size=0 if count else 1, max_size=3))
    found = [
        {"role": "user", "content": content},
        {"role": "assistant", "content": [*blocks, *uses], **draw(EXTRAS)},
    ]
    results = [
        {
            "type": "tool_result",
            "tool_use_id": f"t{at}",
            **draw(
                st.just({})
                | st.builds(lambda text: {"content": text}, TEXTS | st.just(""))
                | st.builds(
                    lambda inner: {"content": inner}, st.lists(TEXT_BLOCKS | PICTURE_BLOCKS, max_size=2)
                )
            ),
            **draw(st.just({}) | st.just({"is_error": True}) | st.just({"is_error": False})),
        }
        for at in draw(st.permutations(range(count)))
    ]
    after = draw(st.lists(TEXT_BLOCKS | PICTURE_BLOCKS, max_size=2))
    if count:
        parted = draw(st.sampled_from([0, 0, 1, count]))
        found += [{"role": "user", "content": results[:parted]}] if parted else []
        rest = results[parted:]
        whole = draw(st.permutations([*rest, *after])) if draw(st.booleans()) else [*rest, *after]
        found += [{"role": "user", "content": list(whole), **draw(EXTRAS)}] if whole else []
    return found


@st.composite
def chats(draw: st.DrawFn) -> dict[str, Any]:
    """A request with a system prompt in one of its forms."""
    entries = [entry for turn in draw(st.lists(turns(), min_size=1, max_size=3)) for entry in turn]
    prompt = draw(st.just("Be brief.") | st.lists(TEXT_BLOCKS, min_size=1, max_size=2) | st.none())
    return {"model": "m", "system": prompt, "messages": entries}


@given(chats())
@settings(max_examples=120, deadline=None)
def test_a_request_comes_out_as_it_went_in(chat: dict[str, Any]) -> None:
    """Every field, block, order and border of a well-formed request survives [EXE-07]."""
    conversation = Conversation(chat["messages"], "$")
    messages, _ = FORMAT.read(conversation)

    assert exact(write_conversation(messages, {}).value) == exact(chat["messages"])


@given(chats().filter(lambda chat: FORMAT.find(chat, "$") is not None))
@settings(max_examples=60, deadline=None)
def test_a_request_with_a_system_prompt_comes_out_as_it_went_in(chat: dict[str, Any]) -> None:
    """The prompt is a message meanwhile, and goes back to its place [EXE-07]."""
    assert exact(came_out(FORMAT, chat)) == exact(chat)


@given(histories())
@settings(max_examples=100, deadline=None)
def test_a_history_made_in_code_comes_back_with_the_same_parts(history: tuple[Message, ...]) -> None:
    """Roles, texts, calls, results and pictures have places in this format, and pairs stay whole [EXE-02, EXE-07]."""
    written = write_conversation(history, {})
    value = written.value if isinstance(written.value, dict) else {"system": [], "messages": written.value}
    _, messages, _ = found_and_read(FORMAT, value)
    again = messages if messages[0].parts else messages[1:]

    assert [(one.role, one.parts) for one in again] == [(one.role, one.parts) for one in history]
    assert (pair_messages(again).defects, written.losses) == ((), ())


REQUEST = {
    "system": [{"type": "text", "text": "s"}],
    "messages": [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}},
            ],
            "usage": {"input_tokens": 1},
            "stop_reason": "tool_use",
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "r"}]},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
            ],
        },
        {"role": "system", "content": "later"},
    ],
}


@given(damaged([REQUEST]))
@settings(max_examples=250, deadline=None)
def test_no_value_in_any_field_breaks_the_reader(value: Any) -> None:
    """Whatever stands where, it is read and comes out as it was, or is refused with a reason [EXE-07]."""
    conversation = FORMAT.find(value, "$")
    if conversation is None:
        return
    messages, _ = FORMAT.read(conversation)
    written = write_conversation(messages, json.loads(conversation.extra_json)).value

    value = value["messages"] if isinstance(written, list) else value
    is_whole = all(
        isinstance(entry, dict) for entry in (value if isinstance(value, list) else value["messages"])
    )
    assert '"text": ""' in exact(value) or not is_whole or exact(written) == exact(value)


@pytest.mark.parametrize("depth", [90, 400, 2_000])
def test_a_deep_value_is_read_or_refused(depth: int) -> None:
    """The stack of the interpreter is no limit that anyone should meet [EXE-07]."""
    deep: Any = "x"
    for _ in range(depth):
        deep = [deep]
    use = {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": deep}}
    conversation = Conversation([{"role": "assistant", "content": [use], "more": deep}], "$")
    try:
        messages, _ = FORMAT.read(conversation)
    except TranscriptError as problem:
        assert "nested too deeply" in str(problem)  # noqa: PT017
    else:
        assert messages[0].calls[0].tool == "f"
