"""Messages survive their bytes exactly, whatever Python can hold."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import koogbook as kb
from koogbook.errors import MessageError, UndecodableValueError
from koogbook.messages.codec import decode_message, decode_messages, encode_message, encode_with_digest
from koogbook.messages.message import ROLES, Message, Usage
from koogbook.messages.metadata import metadata_text
from koogbook.messages.parts import Attachment, Foreign, Part, Reasoning, Text, ToolCall, ToolResult

#: All of Unicode, lone surrogates included, and pairs of them that are not the character they would encode.
TEXTS = st.text(st.characters(), max_size=12) | st.lists(
    st.sampled_from(["\ud83d", "\ude00", "😀", "\\", '"', "\x00", "\n", "a", "\\ud83d"]), max_size=6
).map("".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
MAYBE = st.none() | TEXTS
ATTACHMENTS = st.builds(
    lambda kind, mime, source, name: Attachment(kind, mime, name=name, **source),
    st.sampled_from(["image", "audio", "video", "file"]),
    TEXTS,
    st.binary(max_size=8).map(lambda data: {"data": data})
    | TEXTS.map(lambda url: {"url": url})
    | TEXTS.map(lambda file_id: {"file_id": file_id}),
    MAYBE,
)
COMMON: st.SearchStrategy[Part] = (
    st.builds(Text, TEXTS)
    | st.builds(Reasoning, TEXTS, MAYBE, MAYBE)
    | ATTACHMENTS
    | st.builds(Foreign, TEXTS, TEXTS)
)
CALLS = st.builds(ToolCall, TEXTS, TEXTS, MAYBE)
RESULTS = st.builds(ToolResult, TEXTS, TEXTS, MAYBE, st.booleans())
TIMES = st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=st.timezones())  # noqa: DTZ001
COUNTS = st.none() | st.integers(min_value=0, max_value=2**63 - 1)


@st.composite
def messages(draw: Callable[..., Any]) -> Message:
    """Any message."""
    role = draw(st.sampled_from(ROLES))
    parts = {"assistant": COMMON | CALLS, "tool": COMMON | RESULTS}.get(role, COMMON)
    return Message(
        role=role,
        parts=tuple(draw(st.lists(parts, max_size=3))),
        id=draw(TEXTS),
        time=draw(TIMES),
        name=draw(MAYBE),
        usage=draw(st.none() | st.builds(Usage, COUNTS, COUNTS)),
        finish_reason=draw(MAYBE),
        metadata_json=metadata_text(draw(st.dictionaries(TEXTS, JSON, max_size=2))),
    )


def _shape(message: Message) -> list[Any]:
    return [type(message), type(message.parts), *[type(part) for part in message.parts]]


@settings(max_examples=200)
@given(messages())
def test_a_message_survives_its_bytes(message: Message) -> None:
    """Decoding gives back the same, equal in type and content, over all of Unicode [EXE-01]."""
    back = decode_message(encode_message(message))

    assert back == message
    assert _shape(back) == _shape(message)


@settings(max_examples=100)
@given(messages())
def test_bytes_come_back_the_same(message: Message) -> None:
    """Encoding what was decoded gives the same bytes, so that the content hash stays [EXE-01]."""
    body = encode_message(message)

    assert encode_message(decode_message(body)) == body


@settings(max_examples=50)
@given(st.lists(messages(), max_size=5))
def test_many_messages_decode_as_one_by_one(found: list[Message]) -> None:
    """The fast way and the slow way agree, whichever of them hold surrogates [EXE-01]."""
    assert decode_messages([encode_message(one) for one in found]) == found


@settings(max_examples=100)
@given(messages())
def test_the_hash_made_on_the_way_is_the_hash(message: Message) -> None:
    """Encoding once for both does not change either [EXE-01]."""
    body, digest = encode_with_digest(message)

    assert body == encode_message(message)
    assert digest == decode_message(body).digest


def test_a_lone_surrogate_is_escaped() -> None:
    """The bytes are ordinary JSON that any reader takes [EXE-01]."""
    body = encode_message(kb.user("\ud83d", id="1", time=datetime(2026, 1, 1, tzinfo=UTC)))

    assert b"\\ud83d" in body
    assert json.loads(body)["parts"][0]["text"] == "\ud83d"


def test_two_surrogates_are_not_the_character_that_they_would_encode() -> None:
    """Two code points come back as two, one as one [EXE-01]."""
    pair, character = "\ud83d\ude00", "😀"

    assert decode_message(encode_message(kb.user(pair))).text == pair
    assert decode_message(encode_message(kb.user(character))).text == character


def _survives(message: Message) -> bool:
    """Whether it comes back equal, alone and among others, with the same content hash."""
    body = encode_message(message)
    back = decode_message(body)
    return (
        repr(back) == repr(message)
        and back == message
        and decode_messages([body, body]) == [message, message]
        and back.digest == message.digest
        and encode_message(back) == body
    )


EVERY_CHARACTER = "".join(map(chr, range(0x110000)))
WITHOUT_SURROGATES = EVERY_CHARACTER[:0xD800] + EVERY_CHARACTER[0xE000:]


@pytest.mark.parametrize(
    "text",
    [EVERY_CHARACTER, EVERY_CHARACTER[::-1], WITHOUT_SURROGATES],
    ids=["in order", "backwards", "without surrogates"],
)
def test_every_code_point_survives(text: str) -> None:
    """NUL, noncharacters, byte order marks and surrogates, each way that the codec has for them [EXE-01]."""
    assert _survives(kb.user(text))
    assert _survives(kb.user("x", metadata={"all": text}))


def test_every_pair_of_halves_stays_a_pair() -> None:
    """All 1,048,576 of them, each beside the character that it would encode [EXE-01]."""
    text = "".join(
        chr(0xD800 + (point >> 10)) + chr(0xDC00 + (point & 0x3FF)) + chr(0x10000 + point)
        for point in range(0x100000)
    )

    assert decode_message(encode_message(kb.user(text))).text == text


ODD_TEXTS = [
    "\ud83d",
    "\ud83d\ude00",
    "\ude00\ud83d",
    "😀\x00\ufeff\ufffe\U0010ffff",
    '\\ud83d"\\',
    "\r\n\x7f\x85\u2028",
]
FIELDS: dict[str, Callable[[str], Message]] = {
    "text": kb.user,
    "id": lambda text: kb.user("x", id=text),
    "name": lambda text: kb.user("x", name=text),
    "finish reason": lambda text: kb.assistant("x", finish_reason=text),
    "metadata": lambda text: kb.user("x", metadata={text: [text, {text: text}]}),
    "reasoning": lambda text: kb.assistant(Reasoning(text, text, text)),
    "call": lambda text: kb.assistant(calls=[ToolCall(text, text, text)]),
    "result": lambda text: kb.tool_result(text, text, tool=text),
    "foreign": lambda text: kb.user(Foreign(text, text)),
    "url": lambda text: kb.user(Attachment("image", text, url=text, name=text)),
    "file id": lambda text: kb.user(Attachment("file", text, file_id=text)),
}


@pytest.mark.parametrize("text", ODD_TEXTS, ids=ascii)
@pytest.mark.parametrize("field", FIELDS)
def test_an_odd_text_survives_in_every_field(field: str, text: str) -> None:
    """Lone and paired surrogates among them [EXE-01]."""
    assert _survives(FIELDS[field](text))


@pytest.mark.parametrize("beside", ["x", "\ud83d", "\ud83d\ude00"], ids=ascii)
def test_every_byte_of_an_attachment_survives(beside: str) -> None:
    """Whatever the texts beside it make the codec do [EXE-01]."""
    data = bytes(range(256)) * 4096

    assert _survives(kb.user([beside, Attachment("file", data=data), Attachment("file", data=b"")]))


@pytest.mark.parametrize("beside", ["x", "\ud83d", "\ud83d\ude00"], ids=ascii)
@pytest.mark.parametrize(
    "time",
    [
        datetime.min.replace(tzinfo=UTC),
        datetime.max.replace(tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
    ],
    ids=str,
)
def test_every_moment_survives(time: datetime, beside: str) -> None:
    """From year 1 to year 9999, to the microsecond [EXE-01]."""
    assert _survives(kb.user(beside, time=time))


@pytest.mark.parametrize("text", ["x", "雨", "\ud83d", "\ud83d\ude00"], ids=ascii)
def test_a_text_of_two_megabytes_survives(text: str) -> None:
    """Tools give back whole files [EXE-01]."""
    assert _survives(kb.tool_result("a", text * (2_000_000 // len(text))))


@pytest.mark.parametrize("beside", ["x", "\ud83d"], ids=ascii)
def test_numbers_survive_as_they_are(beside: str) -> None:
    """Large ones, tiny ones, -0.0, and a number of each kind that equals the others [EXE-01]."""
    numbers = [10**40, -(10**40), 2**64, 5e-324, 1.7976931348623157e308, 0.1 + 0.2, -0.0, 0, 1, 1.0, True]
    large = kb.Usage(2**63 - 1, 0)
    message = kb.assistant(beside, calls=[ToolCall("f", str(numbers))], usage=large, metadata={"n": numbers})
    back = decode_message(encode_message(message))

    assert _survives(message)
    assert repr(back.metadata["n"]) == repr(numbers)


NEARLY_EQUAL: list[Any] = [
    *[
        (make, part)
        for make in (kb.user, kb.assistant)
        for part in (Text(""), Text("None"), Reasoning(""), Foreign("", ""))
    ],
    *[(kb.assistant, Reasoning("", *more)) for more in (("",), (None, ""), ("", ""))],
    *[(kb.assistant, ToolCall("", *more)) for more in ((), ("",), ("{}", ""), ("", ""))],
    *[(kb.user, Attachment("file", **more)) for more in ({"data": b""}, {"url": ""}, {"file_id": ""})],
    *[
        (kb.user, Attachment("file", data=b"", **more))
        for more in ({"mime": "a"}, {"name": ""}, {"name": "a"})
    ],
    *[(kb.user, parts) for parts in ([], ["", ""], ["a", "b"], ["ab"], ["a\nb"], ["a", "b", ""])],
    *[(kb.user, text) for text in ("\ud83d\ude00", "😀", "\\ud83d\\ude00", "\ud83d", "\ude00")],
]


def test_only_equal_messages_have_equal_bytes() -> None:
    """Nothing and the empty text, one part and two, a character and its halves are told apart [EXE-01]."""
    fields: dict[str, Any] = {"id": "1", "time": datetime(2026, 1, 1, tzinfo=UTC)}
    found = [make(content, **fields) for make, content in NEARLY_EQUAL]
    found += [
        kb.user("", **fields, **more)
        for more in (
            {"name": ""},
            {"finish_reason": ""},
            {"usage": kb.Usage()},
            {"usage": kb.Usage(0)},
            {"usage": kb.Usage(None, 0)},
            {"metadata": {"a": None}},
            {"metadata": {"a": 0}},
            {"metadata": {"a": 0.0}},
            {"metadata": {"a": -0.0}},
            {"metadata": {"a": False}},
        )
    ]
    found += [kb.tool_result(call_id, "", **fields) for call_id in (None, "")]
    found += [kb.tool_result(None, "", is_error=True, **fields), kb.tool_result(None, "", tool="a", **fields)]

    assert len({one.digest for one in found}) == len(set(found)) == len(found)


BODY = encode_message(kb.user("x", id="1", time=datetime(2026, 1, 1, tzinfo=UTC)))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        BODY[:-1],
        BODY.replace(b'"role":"user"', b'"role":"developer"'),
        BODY.replace(b'"id":"1"', b'"id":1'),
        BODY.replace(b"{", b'{"unknown":1,', 1),
        BODY.replace(b'"type":"text"', b'"type":"text","unknown":1'),
        BODY.replace(b'"type":"text"', b'"type":"hologram"'),
        BODY.replace(b"Z", b""),
        b"\xff\xfe",
        BODY.decode().encode("utf-16"),
        b"\xef\xbb\xbf" + BODY,
        BODY + b"," + BODY,
        b"[" * 100_000,
    ],
    ids=lambda body: body[:40].decode("latin1"),
)
def test_bytes_that_are_no_message_are_refused(body: bytes) -> None:
    """Unknown fields, roles and parts included: nothing is dropped on the way [EXE-01]."""
    with pytest.raises(UndecodableValueError):
        decode_message(body)


def test_a_broken_message_among_many_is_named_by_its_position() -> None:
    """The reader of the message knows where to look [EXE-01]."""
    with pytest.raises(UndecodableValueError, match="Stored message 1") as caught:
        decode_messages([BODY, b"{}", BODY])

    assert caught.value.path == "1"


@pytest.mark.parametrize(
    "bodies",
    [[BODY + b"," + BODY], [BODY[:-1], b'"name":"n"}']],
    ids=["two in one", "one in two"],
)
def test_bodies_that_only_fit_together_are_refused(bodies: list[bytes]) -> None:
    """Each stored body is one message, or the history would be another one [EXE-01]."""
    with pytest.raises(UndecodableValueError, match="Stored message 0"):
        decode_messages(bodies)


@given(st.binary(max_size=60))
def test_random_bytes_are_refused(body: bytes) -> None:
    """A damaged store gives one kind of error and no other [EXE-01]."""
    with pytest.raises(UndecodableValueError):
        decode_message(body)


ANYTHING = (
    TEXTS | st.none() | st.booleans() | st.integers(-3, 2**40) | st.binary(max_size=3) | st.floats(0, 1)
)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from([Text, Reasoning, ToolCall, ToolResult, Foreign, Attachment, Usage]),
    st.lists(ANYTHING, min_size=1, max_size=4),
    ANYTHING,
)
def test_a_message_of_any_fields_is_refused_or_comes_back_as_it_was(
    kind: Any, fields: list[Any], name: Any
) -> None:
    """No mistake in a field is found only when the file is read again [EXE-01]."""
    try:
        made = kind(*fields)
        role = {"ToolCall": "assistant", "ToolResult": "tool"}.get(kind.__name__, "user")
        parts, usage = ((), made) if kind is Usage else ((made,), None)
        message = Message(
            role=role, parts=parts, id="1", time=datetime(2026, 1, 1, tzinfo=UTC), name=name, usage=usage
        )
    except (MessageError, TypeError):
        return

    assert repr(decode_message(encode_message(message))) == repr(message)
