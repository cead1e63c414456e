"""Traces: events in a file, and the same events out of it."""

from __future__ import annotations

import json
import math
import os
import socket
import stat
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct

import koogbook as kb
from koogbook import trace
from koogbook.code_place import CodeExcerpt
from koogbook.errors import TraceError
from koogbook.events import (
    CompressionCompleted,
    Event,
    NodeCompleted,
    Notice,
    RunFailed,
    SessionAcquired,
    SessionRefused,
)
from koogbook.messages.message import Message
from koogbook.messages.parts import Attachment, Part
from koogbook.trace import FORMAT, LONGEST_TIME, VERSION, Shown, decode_event, encode_event, encode_header


def kinds(root: type[Event] = Event) -> Iterator[type[Event]]:
    """Every kind of event, the general ones included."""
    yield root
    for kind in root.__subclasses__():
        yield from kinds(kind)


KINDS = [kind for kind in kinds() if kind.__module__.startswith("koogbook.events.")]

#: All of Unicode, lone surrogates included, and pairs of them that are not the character they would encode.
TEXTS = st.text(st.characters(), max_size=8) | st.lists(
    st.sampled_from(["\ud83d", "\ude00", "\\ud83d", '"', "\n", "\x00", "\u2028", "a"]), max_size=5
).map("".join)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | FINITE | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS | st.just("$"), inner, max_size=3),
    max_leaves=5,
)
PARTS: st.SearchStrategy[Part] = st.builds(kb.Text, TEXTS) | st.builds(
    lambda data: Attachment("file", "text/plain", data=data), st.binary(max_size=6)
)
MESSAGES = st.builds(
    lambda role, parts, id, time, name: kb.Message(
        role=role, parts=tuple(parts), id=id, time=time, name=name
    ),
    st.sampled_from(["system", "user", "assistant"]),
    st.lists(PARTS, max_size=2),
    TEXTS,
    st.datetimes(datetime(1970, 1, 2), datetime(9990, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    st.none() | TEXTS,
)
VALUES = JSON | MESSAGES | st.lists(JSON | MESSAGES, max_size=2).map(tuple)
PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    Any: VALUES,
    Message: MESSAGES,
    NoneType: st.none(),
    bool: st.booleans(),
    bytes: st.binary(max_size=6),
    float: st.floats(-LONGEST_TIME, LONGEST_TIME),
    int: st.integers(-(2**63), 2**63 - 1),
    str: TEXTS,
}


def any_of(annotation: Any) -> st.SearchStrategy[Any]:
    """Values of a declared type."""
    if annotation in PLAIN:
        return PLAIN[annotation]
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return st.sampled_from(inner)
    if origin in (Union, UnionType):
        return st.one_of([any_of(one) for one in inner])
    if origin is tuple and inner[1:] == (...,):
        return st.lists(any_of(inner[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*map(any_of, inner))
    if isinstance(annotation, type) and issubclass(annotation, Struct):
        fields = msgspec.structs.fields(annotation)
        return st.deferred(lambda: st.builds(annotation, **{one.name: any_of(one.type) for one in fields}))
    raise AssertionError(f"The test does not know how to make a {annotation!r}.")


EVENTS = st.sampled_from(KINDS).flatmap(any_of)


def node(output: Any, **more: Any) -> NodeCompleted:
    """A node that gave something."""
    return NodeCompleted(run_id="9f0c", path="trip/answer", visit=1, seconds=0.5, output=output, **more)


STORY = [
    Notice(time=10.0, at=1.0, run_id="9f0c", session_id="chat-1", kind="retry", text="once more"),
    node("Rome", time=11.0, at=2.0),
    RunFailed(time=12.0, at=3.0, run_id="9f0c", session_id="chat-1", error="no seats \u202e\ud83d"),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a trace can be."""
    return tmp_path / "run.jsonl"


# ------------------------------------------------------------------------------------------- there and back


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_every_kind_of_event_comes_back_as_it_was(kind: type[Event], data: st.DataObject) -> None:
    """Equal in type and in every field, over all of Unicode; a new kind is tried by itself. [AGT-03]"""
    event = data.draw(any_of(kind))

    back = decode_event(encode_event(event))

    assert (type(back), back) == (kind, event)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(EVENTS, max_size=4))
def test_a_file_gives_back_all_its_events_in_order(path: Path, events: list[Event]) -> None:
    """What is saved is what is loaded. [AGT-03]"""
    assert kb.load_trace(kb.save_trace(events, path)) == tuple(events)


@settings(max_examples=60, deadline=None)
@given(EVENTS)
def test_an_event_is_one_line(event: Event) -> None:
    """Whatever breaks a line in its texts. [AGT-03]"""
    assert b"\n" not in encode_event(event)


async def test_a_run_comes_back_as_its_events(path: Path) -> None:
    """A whole run with sessions, requests and a compression. [AGT-03]"""
    trip = kb.strategy("trip", input=str, output=str)

    @trip.node
    async def plan(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            session.append(*(kb.user(f"{text} {number}: a long story") for number in range(6)))
            await session.request_without_tools()
        return text

    trip.start >> plan >> trip.compress_history(kb.WholeHistory(), name="compress") >> trip.finish
    run = await kb.Agent(kb.ExtractiveExecutor(), "offline", trip).run("Rome", "chat-1")

    assert kb.load_trace(kb.save_trace(run, path)) == run.events
    assert run.compressions == tuple(
        event.ledger for event in kb.load_trace(path) if isinstance(event, CompressionCompleted)
    )


async def test_a_run_that_goes_on_is_saved_as_far_as_it_is(path: Path) -> None:
    """Saving waits for nothing. [AGT-03]"""
    trip = kb.strategy("trip", input=str, output=str)
    saved: list[tuple[Event, ...]] = []

    @trip.node
    async def look(ctx: kb.Context, text: str) -> str:
        saved.append(agent.last_run.events if agent.last_run else ())
        kb.save_trace(agent.last_run, path)  # type: ignore[arg-type]
        return text

    trip.start >> look >> trip.finish
    agent = kb.Agent(kb.OfflineExecutor(), "offline", trip)
    await agent.run("Rome")

    assert (kb.load_trace(path), len(saved[0]) > 3) == (saved[0], True)


class Score(Event, frozen=True, kw_only=True):
    """A kind of one's own."""

    seconds: float


@pytest.mark.parametrize("number", [math.inf, -math.inf, 1e300])
def test_a_float_without_end_comes_back(number: float) -> None:
    """In a kind of one's own it does not become a null that nobody can read. [AGT-03]"""
    assert decode_event(encode_event(Score(seconds=number))) == Score(seconds=number)


def test_a_float_that_is_no_number_comes_back() -> None:
    """Not equal to itself, and still there. [AGT-03]"""
    back = decode_event(encode_event(Score(seconds=math.nan)))

    assert isinstance(back, Score)
    assert math.isnan(back.seconds)


def test_the_longest_times_come_back_and_have_a_date() -> None:
    """What may be written can be shown. [AGT-03]"""
    for time in (-LONGEST_TIME, LONGEST_TIME):
        back = decode_event(encode_event(node(1, time=time, at=time)))

        assert (back.time, back.at, back.when.tzinfo) == (time, time, UTC)


def test_a_lone_surrogate_is_plain_json() -> None:
    """Any reader takes the line. [EXE-01]"""
    line = encode_event(node("\ud83d"))

    assert json.loads(line.decode("ascii"))["output"] == "\ud83d"


def test_the_header_is_what_the_documentation_says() -> None:
    """The form of the file is a promise. [AGT-03]"""
    assert encode_header(["9f0c", "9f0c"]).decode() in (trace.__doc__ or "")


def test_the_header_names_each_run_once(path: Path) -> None:
    """In the order in which they come. [AGT-03a]"""
    events = [Event(run_id=run) for run in ("b", "a", "b")]
    first = kb.save_trace(events, path).read_bytes().splitlines()[0]

    assert json.loads(first) == {"type": FORMAT, "version": VERSION, "runs": ["b", "a"]}


def test_a_field_that_is_missing_has_its_default() -> None:
    """A line that was written by hand need not have all. [AGT-03]"""
    assert decode_event(b'{"type":"Notice","kind":"retry","text":"x"}') == Notice(kind="retry", text="x")


def test_a_kind_of_ones_own_comes_back() -> None:
    """As long as its class is there. [AGT-03]"""

    class Lunch(Event, frozen=True, kw_only=True):
        """A break."""

        dish: str

    assert decode_event(encode_event(Lunch(dish="soup"))) == Lunch(dish="soup")


def test_no_kind_has_a_field_with_the_name_of_the_type() -> None:
    """The key that names the kind is free. [AGT-03]"""
    assert [kind.__name__ for kind in KINDS if "type" in kind.__struct_fields__] == []


def test_many_events_are_written_and_read(path: Path) -> None:
    """One after the other, a line each. [AGT-03]"""
    events = [node(number) for number in range(20_000)]

    assert kb.load_trace(kb.save_trace(events, path))[-1] == events[-1]


def test_blank_lines_and_other_line_ends_do_no_harm(path: Path) -> None:
    """An editor may have left them. [AGT-03]"""
    kb.save_trace(STORY, path)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n\r\n"))

    assert kb.load_trace(path) == tuple(STORY)


def test_a_second_header_begins_what_was_added(path: Path) -> None:
    """Two traces, one after the other, are one. [AGT-03]"""
    kb.save_trace(STORY, path)
    path.write_bytes(path.read_bytes() * 2)

    assert kb.load_trace(path) == tuple(STORY * 2)


# ------------------------------------------------------------------------------------------- values of any type


class Plan:
    """Something that no file can hold."""

    def __repr__(self) -> str:
        return "<plan of 3 stops>"


class Broken:
    """It cannot even say what it is."""

    def __repr__(self) -> str:
        raise OSError("gone")


def kept(value: Any) -> Any:
    """What a trace gives back for the output of a node."""
    found = decode_event(encode_event(node(value)))
    assert isinstance(found, NodeCompleted)
    return found.output


def same(one: Any, other: Any) -> bool:
    """Equal in types, too, all the way down."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(map(same, one.values(), other.values()))
    return bool(one == other)


@settings(max_examples=100, deadline=None)
@given(VALUES)
def test_plain_values_and_messages_are_kept(value: Any) -> None:
    """Equal in value and type, whatever keys a mapping has. [AGT-03]"""
    assert same(kept(value), value)


@pytest.mark.parametrize(
    "value",
    [
        {"$": "shown", "of": "not a mark"},
        [{"$": 1}, {"$": {"$": "dict", "of": {}}}],
        2**200,
        kb.Usage(1, 2),
        [kb.assistant("", calls=[kb.ToolCall("search", "{", None)]), kb.tool_result("c", "x", is_error=True)],
        Shown("<plan of 3 stops>"),
    ],
    ids=[
        "a look-alike",
        "look-alikes inside",
        "a large number",
        "usage",
        "messages",
        "what was not kept before",
    ],
)
def test_these_values_are_kept(value: Any) -> None:
    """Nothing is mistaken for a mark, and nothing loses its type. [AGT-03]"""
    assert same(kept(value), value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Plan(), "<plan of 3 stops>"),
        ([1, Plan()], "[1, <plan of 3 stops>]"),
        ({1: "one"}, "{1: 'one'}"),
        (date(2026, 1, 2), "datetime.date(2026, 1, 2)"),
        (math.nan, "nan"),
        (b"raw", "b'raw'"),
        ({"a"}, "{'a'}"),
        (Broken(), "<Broken without a repr: OSError>"),
        (Ellipsis, "Ellipsis"),
    ],
)
def test_what_is_not_kept_is_shown(value: Any, text: str) -> None:
    """The whole value becomes a text that is marked, so that nobody takes it for the value. [AGT-03]"""
    assert (type(kept(value)), kept(value)) == (Shown, Shown(text))
    assert repr(kept(value)) == text


def test_a_long_text_of_what_is_not_kept_is_cut() -> None:
    """And says how much is missing. [AGT-03]"""
    text = kept({"x" * 10_000}).text

    assert (len(text) < 2_100, text.endswith("... (8,004 more characters)")) == (True, True)


def test_a_list_that_holds_itself_is_shown() -> None:
    """It has no end. [AGT-03]"""
    endless: list[Any] = [1]
    endless.append(endless)

    assert kept(endless) == Shown("[1, [...]]")


@pytest.mark.parametrize("depth", [90, 110, 5_000])
def test_deep_lists_do_no_harm(depth: int) -> None:
    """Very deep ones are not kept, and nothing overflows. [AGT-03]"""
    deep: list[Any] = []
    for _ in range(depth):
        deep = [deep]

    assert isinstance(kept(deep), list if depth < 100 else Shown)


def test_reading_makes_nothing_but_known_values() -> None:
    """A mark is looked up in a short list, and names no class or module. [AGT-03]"""
    line = encode_event(node(1)).replace(b'"output":1', b'"output":{"$":"os.system","of":"id"}')

    with pytest.raises(TraceError, match=r"A value is marked as 'os\.system', which is unknown"):
        decode_event(line)


# ------------------------------------------------------------------------------------------- torn files


def test_a_file_that_was_cut_off_anywhere_gives_its_whole_lines(path: Path) -> None:
    """At every byte of the last line; a notice at the end says so. [AGT-03]"""
    written = kb.save_trace(STORY, path).read_bytes()
    last = written.rindex(b"\n", 0, -1) + 1
    for cut in range(last + 1, len(written) - 1):
        path.write_bytes(written[:cut])
        *whole, notice = kb.load_trace(path)

        assert whole == STORY[:-1]
        assert isinstance(notice, Notice)
        assert (notice.kind, notice.at, notice.run_id) == ("trace_torn", STORY[-2].at, "9f0c")
        assert f"middle of line 4, after {cut - last} bytes" in notice.text


@pytest.mark.parametrize("missing", [0, 1])
def test_a_whole_last_line_is_an_event_with_or_without_its_end(path: Path, missing: int) -> None:
    """Nothing is called torn that is whole. [AGT-03]"""
    written = kb.save_trace(STORY, path).read_bytes()
    path.write_bytes(written[: len(written) - missing])

    assert kb.load_trace(path) == tuple(STORY)


def test_a_trace_that_was_torn_can_be_saved_again(path: Path) -> None:
    """The notice is an event like others. [AGT-03]"""
    path.write_bytes(kb.save_trace(STORY, path).read_bytes()[:-5])
    events = kb.load_trace(path)

    assert kb.load_trace(kb.save_trace(events, path)) == events


def test_a_torn_file_of_no_event_says_so(path: Path) -> None:
    """The header alone is whole. [AGT-03]"""
    path.write_bytes(encode_header(["9f0c"]) + b'\n{"type":"Noti')
    (notice,) = kb.load_trace(path)

    assert "The 0 events before it are whole" in str(notice)


def test_a_trace_of_nothing_is_empty(path: Path) -> None:
    """A run that has not begun. [AGT-03]"""
    assert kb.load_trace(kb.save_trace([], path)) == ()


# ------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"is no trace: it is empty \(0 bytes\). Nothing was loaded"),
        (b"hello\n", r"is no trace: its first line is not the header of one. .* kb.save_trace\(run, path\)"),
        (b"\x00\xff\xfe" * 50, "is no trace"),
        (b'{"messages": []}\n', "is no trace"),
        (encode_header()[:-3], "is no trace"),
        (encode_event(STORY[0]) + b"\n", "is no trace"),
        (b'{"type":"koogbook.trace","runs":[]}\n', "line 1: The header has no version that is a number"),
        (b'{"type":"koogbook.trace","version":"1"}\n', "line 1: The header has no version .* but '1'"),
        (
            b'{"type":"koogbook.trace","version":3,"new":[]}\n{"type":"Unheard"}\n',
            r"line 1: The trace is of version 3, and this koogbook reads up to version 2. Update koogbook",
        ),
    ],
)
def test_a_file_that_is_no_trace_is_refused(path: Path, content: bytes, message: str) -> None:
    """With what it is and what to do; a newer version before anything that it may hold. [AGT-03]"""
    path.write_bytes(content)

    with pytest.raises(TraceError, match=message):
        kb.load_trace(path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            b"oops",
            "line 3: It is no JSON object: 'oops.*'. Mend the line, or take it out. Nothing was loaded.",
        ),
        (b"[1]", "line 3: It is no JSON object"),
        (b"{}", "line 3: It has no type: '{}"),
        (b'{"type":7}', "line 3: The kind of event 7 is unknown"),
        (
            b'{"type":"NodeDreaming"}',
            "line 3: The kind of event 'NodeDreaming' is unknown. Import the module that defines it, or update",
        ),
        (
            b'{"type":"Notice","kind":"a","text":"b","mood":1}',
            "line 3: A Notice has no field 'mood'. Read it with",
        ),
        (b'{"type":"Notice","kind":"a"}', "line 3: It is no whole Notice: .*missing required field `text`"),
        (
            b'{"type":"Notice","kind":"a","text":1}',
            r"It is no whole Notice: Expected `str`, got `int` - at `\$.text`",
        ),
        (b'{"type":"RunCompleted","output":{"$":"Message","of":{"role":"user"}}}', "no whole RunCompleted"),
    ],
)
def test_a_line_that_is_no_event_is_refused_by_its_number(path: Path, line: bytes, message: str) -> None:
    """In the middle of a file nothing is left out silently. [AGT-03]"""
    first, *rest = kb.save_trace(STORY, path).read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([first, rest[0], line + b"\n", *rest[1:]]))

    with pytest.raises(TraceError, match=message):
        kb.load_trace(path)


NO_TIMES = ["NaN", "Infinity", "-Infinity", "1e999", "6.1e10", "-6.1e10", "1" + "0" * 30, "1" + "0" * 400]


@pytest.mark.parametrize("number", NO_TIMES)
@pytest.mark.parametrize("field", ["time", "at", "waited"])
def test_a_time_that_is_none_is_refused_by_its_line(path: Path, field: str, number: str) -> None:
    """Of an event and of how long something took: no view has to draw it. [AGT-03] [NBK-06]"""
    event = SessionAcquired(context="c", session=1, mode="read", who="w", place="cell 1:1")
    line = encode_event(event).replace(f'"{field}":0.0'.encode(), f'"{field}":{number}'.encode())
    path.write_bytes(encode_header() + b"\n" + encode_event(event) + b"\n" + line + b"\n")

    with pytest.raises(TraceError, match=rf"line 3: It is no whole SessionAcquired: .*{field}.* Nothing was"):
        kb.load_trace(path)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, 1e11])
@pytest.mark.parametrize("field", ["time", "at", "seconds"])
def test_a_time_that_is_none_is_not_written(path: Path, field: str, number: float) -> None:
    """What is saved can be loaded. [AGT-03]"""
    event = msgspec.structs.replace(node(1), **{field: number})

    with pytest.raises(
        TraceError, match=rf"An event NodeCompleted cannot be written: `{field}` is {number!r}"
    ):
        kb.save_trace([event], path)

    assert not path.exists()


def test_the_times_of_a_kind_of_ones_own_are_looked_at() -> None:
    """Those that every event has. [AGT-03]"""
    with pytest.raises(TraceError, match=r"An event Score cannot be written: `at` is inf"):
        encode_event(Score(seconds=1.0, at=math.inf))


def test_a_last_line_that_is_whole_and_unknown_is_not_taken_for_torn(path: Path) -> None:
    """It was written to its end. [AGT-03]"""
    path.write_bytes(kb.save_trace(STORY, path).read_bytes() + b'{"type":"NodeDreaming"}')

    with pytest.raises(TraceError, match="line 5: The kind of event 'NodeDreaming' is unknown"):
        kb.load_trace(path)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("missing.jsonl", "cannot be read: No such file or directory. Nothing was loaded. Check the path"),
        (".", "cannot be read: Is a directory"),
        ("nul\x00.jsonl", "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, place: str, message: str) -> None:
    """The path, the cause, what to do. [AGT-03]"""
    with pytest.raises(TraceError, match=message):
        kb.load_trace(tmp_path / place)


def test_a_file_that_begins_with_a_mark_of_utf_8_is_read_and_replaced(path: Path) -> None:
    """Some editors put one there. [AGT-03]"""
    path.write_bytes(b"\xef\xbb\xbf" + kb.save_trace(STORY, path).read_bytes())

    assert kb.load_trace(path) == tuple(STORY)
    assert kb.save_trace(STORY, path).read_bytes().startswith(b"{")


@pytest.mark.parametrize("code", ["utf-16", "utf-16-le"])
def test_a_file_that_an_editor_saved_as_utf_16_says_so(path: Path, code: str) -> None:
    """It looks like a trace to who reads it. [AGT-03]"""
    text = "\ufeff" * (code == "utf-16-le") + kb.save_trace(STORY, path).read_text("ascii", "replace")
    path.write_bytes(text.encode(code))

    with pytest.raises(
        TraceError, match=r"is no trace: it is UTF-16, as some editors save, and a trace is UTF-8\."
    ):
        kb.load_trace(path)


def load(path: Any) -> object:
    """Load a trace."""
    return kb.load_trace(path)


def save(path: Any) -> object:
    """Save a trace."""
    return kb.save_trace(STORY, path)


both = pytest.mark.parametrize("use", [load, save])


@both
@pytest.mark.parametrize("given", [None, 3, b"run.jsonl", ["run.jsonl"]])
def test_what_is_no_path_is_refused(use: Callable[[Any], object], given: Any) -> None:
    """With what it takes. [AGT-03]"""
    with pytest.raises(
        TypeError,
        match=rf"{use.__name__}_trace takes the path of a file, as text or as a Path, not .* Nothing was",
    ):
        use(given)


@both
def test_an_empty_path_is_refused(use: Callable[[Any], object]) -> None:
    """It is not taken for the folder one is in. [AGT-03]"""
    with pytest.raises(TraceError, match=r"^The path is empty\. Nothing was .*\. Give the path of a file\.$"):
        use("")


@both
def test_a_home_folder_of_nobody_is_refused(use: Callable[[Any], object]) -> None:
    """There is no such user. [AGT-03]"""
    with pytest.raises(
        TraceError, match=r"~nobody-of-this-name/x has no home folder that is known\. Nothing was"
    ):
        use("~nobody-of-this-name/x")


@both
def test_a_name_that_is_too_long_is_refused(use: Callable[[Any], object], tmp_path: Path) -> None:
    """In words of koogbook. [AGT-03]"""
    with pytest.raises(TraceError, match=r"cannot be (read|written): .*\. Nothing was"):
        use(tmp_path / ("x" * 300))


@pytest.mark.skipif(os.name != "posix", reason="Pipes in the file system are those of POSIX.")
@both
@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_is_neither_opened_nor_replaced(
    use: Callable[[Any], object], path: Path, linked: bool
) -> None:
    """Opening it would wait for ever; of a device the same check holds. [AGT-03]"""
    pipe = path.with_name("pipe")
    os.mkfifo(pipe)
    if linked:
        path.symlink_to(pipe)

    with pytest.raises(TraceError, match=r"is no regular file\. Nothing was"):
        use(path if linked else pipe)

    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert len(os.listdir(path.parent)) == 1 + linked


@pytest.mark.skipif(os.name != "posix", reason="Sockets in the file system are those of POSIX.")
@both
def test_a_socket_is_neither_opened_nor_replaced(
    use: Callable[[Any], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is anything else that is no regular file. [AGT-03]"""
    monkeypatch.chdir(tmp_path)  # The name of a socket is short.
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("a.socket")

        with pytest.raises(TraceError, match=r"a\.socket is no regular file\. Nothing was"):
            use("a.socket")

        assert stat.S_ISSOCK(os.stat("a.socket").st_mode)


def test_an_event_with_the_name_of_one_of_koogbooks_is_not_written() -> None:
    """It would come back as the other one. [AGT-03]"""
    alias = type("Notice", (Event,), {"__module__": "mine"}, frozen=True, kw_only=True)

    with pytest.raises(TraceError, match=r"mine.Notice cannot be written: koogbook has a kind of that name"):
        encode_event(alias())


def test_a_field_that_cannot_be_written_is_named_by_its_event() -> None:
    """Who made it can be found. [AGT-03]"""
    wrong = Notice(kind="retry", text=Plan())  # type: ignore[arg-type]

    with pytest.raises(TraceError, match=r"An event Notice cannot be written: .*Plan"):
        encode_event(wrong)


@pytest.mark.parametrize("given", [3, "text", [1], None], ids=["a number", "a text", "a list", "None"])
def test_what_is_neither_a_run_nor_events_is_not_saved(path: Path, given: Any) -> None:
    """One line, and no file. [AGT-03]"""
    with pytest.raises(TypeError, match=r"save_trace takes a run, or events, not .* Nothing was written"):
        kb.save_trace(given, path)

    assert not path.exists()


# ------------------------------------------------------------------------------------------- what is replaced


@pytest.mark.parametrize("content", [b"precious\n", b'{"type":"other"}\n', b"\x00" * 100])
def test_a_file_that_is_no_trace_is_not_replaced(path: Path, content: bytes) -> None:
    """A slip of the pen costs nothing. [AGT-03]"""
    path.write_bytes(content)

    with pytest.raises(
        TraceError, match=r"is there already, and is no trace\. Nothing was written\. Choose another"
    ):
        kb.save_trace(STORY, path)

    assert path.read_bytes() == content


@pytest.mark.parametrize("before", [b"", encode_header() + b"\n", b'{"type":"koogbook.trace","version":9}\n'])
def test_a_trace_or_an_empty_file_is_replaced(path: Path, before: bytes) -> None:
    """Whatever its version, it was made to be written again. [AGT-03]"""
    path.write_bytes(before)

    assert kb.load_trace(kb.save_trace(STORY, path)) == tuple(STORY)


def test_a_trace_that_cannot_be_written_to_its_end_leaves_the_old_one(path: Path) -> None:
    """And nothing beside it. [AGT-03]"""
    before = kb.save_trace(STORY, path).read_bytes()

    with pytest.raises(TraceError):
        kb.save_trace([*STORY, Notice(kind="retry", text=Plan())], path)  # type: ignore[arg-type]

    assert (path.read_bytes(), os.listdir(path.parent)) == (before, ["run.jsonl"])


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    """The message says what to give. [AGT-03]"""
    with pytest.raises(TraceError, match=r"is a folder\. Nothing was written\. Give the path of a file"):
        kb.save_trace(STORY, tmp_path)


def test_a_folder_that_is_missing_is_not_made(tmp_path: Path) -> None:
    """It may be a slip. [AGT-03]"""
    with pytest.raises(
        TraceError, match=r"cannot be written: No such file or directory\. Nothing was written"
    ):
        kb.save_trace(STORY, tmp_path / "missing" / "run.jsonl")

    assert os.listdir(tmp_path) == []


def test_a_link_is_followed(path: Path, tmp_path: Path) -> None:
    """What it points to is written, and it stays a link. [AGT-03]"""
    real = tmp_path / "real.jsonl"
    kb.save_trace([], real)
    path.symlink_to(real)
    kb.save_trace(STORY, path)

    assert (path.is_symlink(), kb.load_trace(real)) == (True, tuple(STORY))


@pytest.mark.skipif(os.name != "posix", reason="Rights are those of POSIX.")
def test_a_trace_keeps_the_rights_of_its_file(path: Path) -> None:
    """Who made it private need not do so again. [AGT-03]"""
    kb.save_trace([], path)
    path.chmod(0o600)
    kb.save_trace(STORY, path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


# ------------------------------------------------------------------------------------------- sessions


@pytest.mark.parametrize("code", [None, CodeExcerpt(3, 5, ("async with x:", "\u202e", ""))])
def test_both_code_places_of_a_refusal_come_back(code: Any) -> None:
    """With their lines, which may hold anything. [NBK-06]"""
    refused = SessionRefused(
        context="trip",
        session=9,
        mode="read",
        who="audit",
        place="cell 11:2",
        first="cell 14:3",
        first_mode="write",
        first_code=code,
        code=code,
        waits="gather in cell 14:5",
    )

    assert decode_event(encode_event(refused)) == refused


def test_the_times_of_sessions_are_not_rounded() -> None:
    """Order and waits are the same in a replay. [SES-14]"""
    make: Callable[..., SessionAcquired] = SessionAcquired
    event = make(
        at=1211.3295636390001, waited=1e-9, context="c", session=1, mode="read", who="w", place="cell 1:1"
    )

    assert decode_event(encode_event(event)) == event


# ------------------------------------------------------------------------------------------- what is loaded, in a cell


def test_a_loaded_trace_says_how_much_it_is(tmp_path: Path) -> None:
    """It is a tuple of all its events, and does not print them. [TRC-02]"""
    path = tmp_path / "trace.jsonl"
    both = [Notice(run_id=run, kind="long", text="x" * 100_000) for run in ("run-1", "run-2", "run-1")]
    loaded = kb.load_trace(kb.save_trace(both, path))
    alone = kb.load_trace(kb.save_trace(both[:1], tmp_path / "alone.jsonl"))

    assert isinstance(loaded, tuple)
    assert (loaded, hash(loaded), tuple(loaded)) == (tuple(both), hash(tuple(both)), tuple(both))
    assert (repr(loaded), repr(alone)) == ("<trace of 2 runs, 3 events>", "<trace of 1 run, 1 event>")


def test_a_loaded_trace_says_where_it_is_torn(tmp_path: Path) -> None:
    """At its end, or where somebody has written on. [TRC-02]"""
    path = tmp_path / "trace.jsonl"
    kb.save_trace([Notice(run_id="run-1", kind="a", text="b")] * 2, path)
    path.write_bytes(path.read_bytes()[:-10])
    assert repr(kb.load_trace(path)) == "<trace of 1 run, 2 events, torn at its end>"

    path.write_bytes(
        path.read_bytes() + b"\n" + encode_header() + b"\n" + encode_event(Notice(kind="c", text="d")) + b"\n"
    )
    assert repr(kb.load_trace(path)) == "<trace of 1 run, 3 events, torn where it was added to>"
