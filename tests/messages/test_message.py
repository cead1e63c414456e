"""Messages are immutable values that refuse what cannot be stored."""

from __future__ import annotations

import copy
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import koogbook as kb
from koogbook.clock import FixedClock
from koogbook.errors import MessageError
from koogbook.messages.message import MEMORY_MARKERS, REFERENCE_NAME, SUMMARY_NAME, Message
from koogbook.messages.parts import Foreign

CALL = kb.ToolCall("weather", '{"city": "Bonn"}', "call-1")


def test_a_message_cannot_be_changed() -> None:
    """A message is a value [EXE-01]."""
    message = kb.user("x")

    with pytest.raises(AttributeError):
        message.role = "system"  # type: ignore[misc]


def test_parts_given_as_a_list_become_a_tuple() -> None:
    """A message is immutable to the bottom [EXE-01]."""
    parts: Any = [kb.Text("x")]
    message = Message(role="user", parts=parts, id="1", time=datetime(2026, 1, 1, tzinfo=UTC))
    parts.append(kb.Text("y"))

    assert message.parts == (kb.Text("x"),)


def test_metadata_is_copied_in() -> None:
    """Changing the dictionary afterwards changes no message [EXE-01]."""
    given_metadata = {"tags": ["a"]}
    message = kb.user("x", metadata=given_metadata)
    given_metadata["tags"].append("b")

    assert message.metadata == {"tags": ["a"]}


def test_metadata_is_copied_out() -> None:
    """Changing what was read changes no message [EXE-01]."""
    message = kb.user("x", metadata={"tags": ["a"]})
    message.metadata["tags"].append("b")

    assert message.metadata == {"tags": ["a"]}


def test_id_and_time_come_from_the_clock(fixed_clock: FixedClock) -> None:
    """A fixed clock makes the same messages twice [EXE-01]."""
    message = kb.user("x")

    assert message.time == fixed_clock.now()
    assert message.id == FixedClock().new_id()


def test_a_naive_time_is_refused() -> None:
    """A time without a zone means another moment elsewhere [EXE-01]."""
    with pytest.raises(MessageError, match="without a zone"):
        kb.user("x", time=datetime(2026, 1, 1))  # noqa: DTZ001 - the naive time is the point


def test_a_time_is_kept_in_utc() -> None:
    """Equal messages are equal in their bytes as well, whatever zone they were made in [EXE-01]."""
    message = kb.user("x", id="1", time=datetime(2026, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))))

    assert message.time.tzinfo is UTC
    assert message.digest == kb.user("x", id="1", time=datetime(2026, 1, 1, tzinfo=UTC)).digest


def test_a_time_in_the_doubled_hour_of_autumn_stays_the_moment_that_it_was() -> None:
    """The two 02:30 of that night are an hour apart [EXE-01]."""
    berlin = ZoneInfo("Europe/Berlin")
    first = kb.user("x", time=datetime(2024, 10, 27, 2, 30, tzinfo=berlin, fold=0))
    second = kb.user("x", time=datetime(2024, 10, 27, 2, 30, tzinfo=berlin, fold=1))

    assert second.time - first.time == timedelta(hours=1)


def test_a_time_that_has_no_utc_is_refused() -> None:
    """The first hour of year 1 east of Greenwich lies before the calendar [EXE-01]."""
    with pytest.raises(MessageError, match="out of range"):
        kb.user("x", time=datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))))


@pytest.mark.parametrize(
    "content",
    [None, [None], 5, [5], b"bytes", {"type": "text"}, [{"type": "text"}]],
    ids=repr,
)
def test_content_that_is_neither_text_nor_parts_is_refused(content: Any) -> None:
    """Nothing is guessed, and nothing becomes part of a history by accident [EXE-01]."""
    with pytest.raises(MessageError):
        kb.user(content)


@pytest.mark.parametrize(
    "make",
    [
        lambda wrong: kb.Text(wrong),
        lambda wrong: kb.Reasoning(wrong),
        lambda wrong: kb.Reasoning("why", signature=wrong),
        lambda wrong: kb.ToolCall(wrong),
        lambda wrong: kb.ToolCall("f", wrong),
        lambda wrong: kb.ToolCall("f", "{}", wrong),
        lambda wrong: kb.ToolResult(wrong),
        lambda wrong: kb.ToolResult("ok", is_error=wrong),
        lambda wrong: kb.Attachment(wrong, url="x"),
        lambda wrong: kb.Attachment("image", mime=wrong, url="x"),
        lambda wrong: kb.Attachment("image", url=wrong),
        lambda wrong: kb.Usage(wrong),
        lambda wrong: kb.user("hi", name=wrong),
        lambda wrong: kb.user("hi", finish_reason=wrong),
        lambda wrong: kb.user("hi", usage=wrong),
        lambda wrong: kb.LLModel(wrong),
        lambda wrong: kb.LLMParams(temperature=wrong),
        lambda wrong: kb.LLMParams(max_tokens=wrong),
        lambda wrong: kb.LLMParams(stop=wrong),
        lambda wrong: kb.LLMParams(stop=(wrong,)),
        lambda wrong: kb.LLMParams(tool_choice=wrong),
        lambda wrong: kb.ToolChoice(wrong),
    ],
)
@pytest.mark.parametrize("wrong", [{"city": "Bonn"}, b"bytes", 1.5 + 0j], ids=repr)
def test_a_field_of_another_type_is_refused(make: Any, wrong: Any) -> None:
    """Such a value could be stored and never be read again [EXE-01]."""
    with pytest.raises(MessageError):
        make(wrong)


@pytest.mark.parametrize("temperature", [float("nan"), float("inf")])
def test_a_temperature_is_a_finite_number(temperature: float) -> None:
    """JSON would make null of it, and the next run would be another one [EXE-01]."""
    with pytest.raises(MessageError, match="finite"):
        kb.LLMParams(temperature=temperature)


def test_stop_texts_may_be_a_list() -> None:
    """A list is what one writes; a tuple is what is kept."""
    assert kb.LLMParams(stop=["END"]).stop == ("END",)  # type: ignore[arg-type]


@pytest.mark.parametrize("choice", [("named", None), ("auto", "search")])
def test_a_tool_choice_names_a_tool_exactly_when_it_is_named(choice: Any) -> None:
    """Half of a choice would be sent as another one."""
    with pytest.raises(MessageError, match="named"):
        kb.ToolChoice(*choice)


def test_a_tool_result_without_an_output_is_refused() -> None:
    """A tool that returned None has the empty text as its output [EXE-01]."""
    nothing: Any = None

    with pytest.raises(MessageError, match="not str"):
        kb.tool_result(CALL, nothing)


@pytest.mark.parametrize("role", ["system", "user", "tool"])
def test_only_an_assistant_calls_tools(role: Any) -> None:
    """A call in another role has no one who would answer it [EXE-01]."""
    with pytest.raises(MessageError, match="cannot hold a ToolCall"):
        Message(role=role, parts=(CALL,), id="1", time=datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("role", ["system", "user", "assistant"])
def test_only_a_tool_message_holds_results(role: Any) -> None:
    """A result in another role would be sent as if somebody had said it [EXE-01]."""
    result = kb.ToolResult("rain", "weather", "call-1")

    with pytest.raises(MessageError, match="cannot hold a ToolResult"):
        Message(role=role, parts=(result,), id="1", time=datetime(2026, 1, 1, tzinfo=UTC))


def test_an_unknown_role_is_refused() -> None:
    """There are four roles [EXE-01]."""
    role: Any = "developer"

    with pytest.raises(MessageError, match="Unknown role 'developer'"):
        Message(role=role, parts=(), id="1", time=datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("field", [{"id": 5}, {"time": "2026-01-01"}], ids=str)
def test_an_id_that_is_no_text_and_a_time_that_is_no_time_are_refused(field: Any) -> None:
    """Both would be stored and not be read again [EXE-01]."""
    with pytest.raises(MessageError):
        kb.user("x", **field)


@pytest.mark.parametrize("text", ["", "{", "[]", "5"])
def test_stored_metadata_that_is_no_object_is_refused(text: str) -> None:
    """It would fail where it is read, far away from where it was given [EXE-01]."""
    with pytest.raises(MessageError, match="metadata_json"):
        Message(role="user", parts=(), id="1", time=datetime(2026, 1, 1, tzinfo=UTC), metadata_json=text)


def test_parts_and_calls_of_another_kind_are_refused() -> None:
    """The message says what is meant [EXE-01]."""
    parts: Any = 5
    calls: Any = ["weather"]

    with pytest.raises(MessageError, match="tuple of parts"):
        Message(role="user", parts=parts, id="1", time=datetime(2026, 1, 1, tzinfo=UTC))
    with pytest.raises(MessageError, match="tool calls"):
        kb.assistant("x", calls=calls)


@pytest.mark.parametrize(
    "metadata",
    [
        {"score": float("nan")},
        {"deep": [{"score": float("inf")}]},
        {"when": datetime(2026, 1, 1, tzinfo=UTC)},
        {"pair": (1, 2)},
        {1: "number as key"},
        {"set": {1}},
    ],
    ids=lambda metadata: next(iter(map(str, metadata))),
)
def test_metadata_that_would_come_back_changed_is_refused(metadata: Any) -> None:
    """Metadata is plain JSON, not-a-number refused [EXE-01]."""
    with pytest.raises(MessageError, match="plain JSON"):
        kb.user("x", metadata=metadata)


def test_metadata_that_holds_itself_is_refused() -> None:
    """A circle has no JSON [EXE-01]."""
    circle: dict[str, Any] = {}
    circle["self"] = circle

    with pytest.raises(MessageError, match="plain JSON"):
        kb.user("x", metadata=circle)


@pytest.mark.parametrize("sources", [{}, {"data": b"x", "url": "y"}], ids=["none", "two"])
def test_an_attachment_has_exactly_one_source(sources: Any) -> None:
    """With two of them nobody knows which one the model saw [EXE-01]."""
    with pytest.raises(MessageError, match="exactly one source"):
        kb.Attachment("image", "image/png", **sources)


def test_the_bytes_of_an_attachment_cannot_be_changed() -> None:
    """A bytearray would be a hole in an immutable value [EXE-01]."""
    data: Any = bytearray(b"x")

    with pytest.raises(MessageError, match="bytearray"):
        kb.Attachment("image", "image/png", data=data)


@pytest.mark.parametrize("name", [SUMMARY_NAME, REFERENCE_NAME])
def test_a_message_with_a_reserved_name_is_from_nobody(name: str) -> None:
    """Summaries and reference material are not what a person said [EXE-03a]."""
    assert not kb.user("x", name=name).is_from_user


def test_a_user_message_with_any_other_name_is_from_a_person() -> None:
    """Names of people are theirs [EXE-03a]."""
    assert kb.user("x", name="guest").is_from_user


@pytest.mark.parametrize("marker", MEMORY_MARKERS)
@pytest.mark.parametrize("make", [kb.system, kb.user, kb.assistant])
def test_a_memory_marker_counts_in_any_role(make: Any, marker: str) -> None:
    """As in Koog, the text decides [EXE-01]."""
    assert make(f"{marker}: none").is_memory


def test_with_text_keeps_id_time_and_calls() -> None:
    """Editing what was said leaves who called what [EXE-01]."""
    message = kb.assistant("old", calls=[CALL])
    edited = message.with_text("new")

    assert (edited.id, edited.time, edited.calls, edited.text) == (message.id, message.time, (CALL,), "new")


def test_an_edited_message_forgets_the_hash_of_the_old_one() -> None:
    """A cached digest never belongs to another content [EXE-01]."""
    message = kb.user("old")
    message.digest  # noqa: B018 - computed and kept

    assert message.with_text("new").digest != message.digest


def test_a_copy_is_equal() -> None:
    """Copying a value gives the value [EXE-01]."""
    message = kb.assistant("x", calls=[CALL], metadata={"a": 1})

    assert copy.deepcopy(message) == message


# ------------------------------------------------------------------------------------------- the digest

SMALL_TEXTS = st.sampled_from(["", "a", "b", "\ud83d", "\ude00", "\ud83d\ude00", "😀"])
SMALL_MESSAGES = st.builds(
    lambda make, text, id, hour, name, metadata: make(
        text,
        id=id,
        time=datetime(2026, 1, 1, 12, tzinfo=timezone(timedelta(hours=hour))),
        name=name,
        metadata=metadata,
    ),
    make=st.sampled_from([kb.user, kb.assistant]),
    text=SMALL_TEXTS,
    id=st.sampled_from(["1", "\ud800"]),
    hour=st.sampled_from([0, 1]),
    name=st.sampled_from([None, "", "n"]),
    metadata=st.sampled_from([None, {}, {"a": 1}, {"a": 1.0}, {"a": True}]),
)


@given(SMALL_MESSAGES, SMALL_MESSAGES)
def test_two_digests_are_equal_exactly_when_the_messages_are(first: Message, second: Message) -> None:
    """The content hash stands for the content [EXE-01]."""
    assert (first == second) == (first.digest == second.digest)


def test_a_digest_covers_id_time_and_usage() -> None:
    """Two messages that say the same are still two [EXE-01]."""
    fields = {"id": "1", "time": datetime(2026, 1, 1, tzinfo=UTC), "usage": kb.Usage(1, 2)}
    same = kb.assistant("x", **fields).digest
    others = [
        kb.assistant("x", **{**fields, "id": "2"}).digest,
        kb.assistant("x", **{**fields, "time": datetime(2026, 1, 2, tzinfo=UTC)}).digest,
        kb.assistant("x", **{**fields, "usage": kb.Usage(1, 3)}).digest,
    ]

    assert same not in others


def test_an_unknown_part_keeps_its_raw_text() -> None:
    """What koogbook does not know it keeps for an export [EXE-01]."""
    part = Foreign("video_call", '{"type":"video_call","x":1}')

    assert msgspec.structs.asdict(kb.user([part]).parts[0]) == {"kind": "video_call", "raw": part.raw}
