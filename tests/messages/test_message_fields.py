"""A field is kept exactly or refused where it is given, never when the message is saved or read again."""

from __future__ import annotations

import enum
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import koogbook as kb
from koogbook.errors import MessageError
from koogbook.messages.codec import decode_message, encode_message
from koogbook.messages.message import Message
from koogbook.messages.parts import Foreign

# ------------------------------------------------------------------------------------------- whole numbers

COUNTED = {
    "input tokens": lambda number: kb.Usage(number),
    "output tokens": lambda number: kb.Usage(None, number),
    "context": lambda number: kb.LLModel("m", context_tokens=number),
    "output": lambda number: kb.LLModel("m", max_output_tokens=number),
    "max tokens": lambda number: kb.LLMParams(max_tokens=number),
    "choices": lambda number: kb.LLMParams(choices=number),
    "seed": lambda number: kb.LLMParams(seed=number),
}


@pytest.mark.parametrize(
    "number", [2**63, -(2**63) - 1, 10**40, 10**5_000], ids=lambda number: f"{len(bin(number))} bits"
)
@pytest.mark.parametrize("field", COUNTED)
def test_a_number_of_more_than_64_bits_is_refused(field: str, number: int) -> None:
    """Not every store and provider can hold it [EXE-01]."""
    with pytest.raises(MessageError, match="more than 64 bits"):
        COUNTED[field](number)


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63), 0])
@pytest.mark.parametrize("field", COUNTED)
def test_a_number_of_64_bits_is_taken(field: str, number: int) -> None:
    """To the last one; of tokens and choices that are asked for, or that a model has, at least one [EXE-01]."""
    if field in ("max tokens", "choices", "context", "output") and number < 1:
        with pytest.raises(MessageError, match="at least 1"):
            COUNTED[field](number)
    else:
        assert f"={number}" in repr(COUNTED[field](number))


@pytest.mark.parametrize("field", ["context_tokens", "max_output_tokens"])
@pytest.mark.parametrize("number", [0, -1, -128_000])
def test_a_model_has_room_for_a_token_or_nobody_knows(field: str, number: int) -> None:
    """A share of a window below 1 would be no share; the error says what to type [KB-075]."""
    with pytest.raises(MessageError, match=rf"{field} of a model are at least 1, or None .* not {number}\."):
        kb.LLModel("m", "p", **{field: number})  # type: ignore[arg-type]
    assert getattr(kb.LLModel("m", "p", **{field: 1}), field) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [True, 1.0, "1"], ids=repr)
@pytest.mark.parametrize("field", COUNTED)
def test_only_a_whole_number_is_one(field: str, wrong: Any) -> None:
    """True is no 1: it would come back as true [EXE-01]."""
    with pytest.raises(MessageError, match="not int"):
        COUNTED[field](wrong)


@pytest.mark.parametrize("wrong", [1, 0, None, "yes"], ids=repr)
def test_only_true_and_false_say_whether_a_tool_failed(wrong: Any) -> None:
    """And 1 is no True [EXE-01]."""
    with pytest.raises(MessageError, match="not bool"):
        kb.ToolResult("x", is_error=wrong)


@pytest.mark.parametrize("wrong", [True, "0.5", 10**400], ids=["bool", "text", "too large"])
def test_a_temperature_that_is_no_number_or_too_large_is_refused(wrong: Any) -> None:
    """By a sentence about the temperature [EXE-01]."""
    with pytest.raises(MessageError, match="temperature"):
        kb.LLMParams(temperature=wrong)


@pytest.mark.parametrize("temperature", [-0.0, 5e-324, 0.1 + 0.2, 1])
def test_a_temperature_is_kept_exactly(temperature: float) -> None:
    """A whole number becomes the same one as a float [EXE-01]."""
    assert repr(kb.LLMParams(temperature=temperature).temperature) == repr(float(temperature))


# ------------------------------------------------------------------------------------------- texts


class Word(str):
    """A text of another type."""

    __slots__ = ()


class Role(enum.StrEnum):
    """A text of yet another type."""

    USER = "user"


@pytest.mark.parametrize(
    "make",
    [
        lambda: Message(role=Role.USER, parts=(), id="1", time=datetime(2026, 1, 1, tzinfo=UTC)),  # type: ignore[arg-type]
        lambda: Message(role=Word("user"), parts=(), id="1", time=datetime(2026, 1, 1, tzinfo=UTC)),  # type: ignore[arg-type]
        lambda: kb.Attachment(Word("image"), url="x"),  # type: ignore[arg-type]
        lambda: kb.ToolChoice(Word("auto")),  # type: ignore[arg-type]
        lambda: kb.user([kb.Text(Word("x"))]),
        lambda: kb.user("x", id=Word("1")),
        lambda: kb.user("x", name=Word("n")),
    ],
    ids=["role", "plain role", "kind", "mode", "text", "id", "name"],
)
def test_a_text_of_another_type_is_refused(make: Any) -> None:
    """It could be told from a text now and not any more after saving, or not be saved at all [EXE-01]."""
    with pytest.raises(MessageError, match=r"not str|a text as id"):
        make()


class Unspeakable:
    """A value that cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize("wrong", [Unspeakable(), 10**5_000], ids=["no repr", "too long"])
@pytest.mark.parametrize(
    "make",
    [
        lambda wrong: kb.Text(wrong),
        lambda wrong: kb.user("x", id=wrong),
        lambda wrong: kb.user("x", metadata=wrong),
        lambda wrong: Message(role="user", parts=wrong, id="1", time=datetime(2026, 1, 1, tzinfo=UTC)),
        lambda wrong: Message(role="user", parts=(wrong,), id="1", time=datetime(2026, 1, 1, tzinfo=UTC)),
    ],
    ids=["text", "id", "metadata", "parts", "part"],
)
def test_a_value_that_cannot_be_shown_is_refused_like_any_other(make: Any, wrong: Any) -> None:
    """The error about it does not fail itself [EXE-01]."""
    with pytest.raises(MessageError):
        make(wrong)


# ------------------------------------------------------------------------------------------- times


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=st.timezones()))  # noqa: DTZ001
def test_a_time_in_any_zone_is_the_same_moment(time: datetime) -> None:
    """And its message has the bytes of that moment [EXE-01]."""
    here = kb.user("x", id="1", time=time)
    there = kb.user("x", id="1", time=time.astimezone(timezone(timedelta(hours=-11, minutes=-30))))

    assert (here.time, here.time.tzinfo) == (time.astimezone(UTC), UTC)
    assert here.digest == there.digest


class Moment(datetime):
    """A time of another type; pandas has one."""


def test_a_time_of_another_type_becomes_a_plain_one() -> None:
    """It could not be saved as it is [EXE-01]."""
    message = kb.user("x", time=Moment(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC))

    assert type(message.time) is datetime
    assert message.time == datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC)
    assert decode_message(encode_message(message)) == message


def test_a_time_stamp_of_pandas_is_a_time() -> None:
    """Unless it is finer than a microsecond: then something would be lost [EXE-01]."""
    import pandas

    coarse = pandas.Timestamp("2026-01-01T00:00:00.123456", tz="Europe/Berlin")
    fine = pandas.Timestamp("2026-01-01T00:00:00.123456789", tz="UTC")

    assert kb.user("x", time=coarse).time == datetime(2025, 12, 31, 23, 0, 0, 123_456, tzinfo=UTC)
    for wrong in (fine, pandas.NaT):
        with pytest.raises(MessageError):
            kb.user("x", time=wrong)


class Nowhere(tzinfo):
    """A zone that does not know how far it is from UTC."""

    def utcoffset(self, _: datetime | None) -> None:
        """Unknown."""

    def dst(self, _: datetime | None) -> None:
        """Unknown."""

    def tzname(self, _: datetime | None) -> None:
        """Unknown."""


def test_a_time_in_a_zone_without_an_offset_is_refused() -> None:
    """Python would take it for the time of this machine [EXE-01]."""
    with pytest.raises(MessageError, match="without a zone"):
        kb.user("x", time=datetime(2026, 1, 1, tzinfo=Nowhere()))


# ------------------------------------------------------------------------------------------- for ever

VALUES = [
    kb.user("x"),
    kb.Text("x"),
    kb.Reasoning("x"),
    kb.Attachment("image", url="x"),
    kb.ToolCall("x"),
    kb.ToolResult("x"),
    Foreign("x", "{}"),
    kb.Usage(1),
    kb.LLModel("x"),
    kb.LLMParams(),
    kb.ToolChoice(),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_no_field_of_a_value_can_be_changed_taken_out_or_added(value: Any) -> None:
    """A message is immutable to the bottom, and so is what goes with it [EXE-01]."""
    before = repr(value)
    for name in (*value.__struct_fields__, "new"):
        with pytest.raises(AttributeError):
            setattr(value, name, None)
        with pytest.raises(AttributeError):
            delattr(value, name)

    assert repr(value) == before
    assert {value: 1}[value] == 1
