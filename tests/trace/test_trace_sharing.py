"""A trace holds each message once; what refers to it is checked."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from golden_events import TIME
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from traced_runs import travelled, traveller

import koogbook as kb
from koogbook.errors import TraceError
from koogbook.events import CompressionCompleted, Event, LLMCallStarting, NodeCompleted
from koogbook.llm.request import Request
from koogbook.messages.ledger import Ledger
from koogbook.messages.message import Message
from koogbook.messages.model import LLModel
from koogbook.trace import TraceDecoder, TraceEncoder, decode_event, encode_event
from koogbook.trace.shared import SharedOut

STORY = [kb.user(f"message {number}", id=f"m{number}") for number in range(30)]


def output(value: Any) -> NodeCompleted:
    """A node that gave something."""
    return NodeCompleted(visit=1, seconds=0.5, output=value)


def request(messages: list[Message], **more: Any) -> LLMCallStarting:
    """A call with these messages."""
    asked = Request(messages=tuple(messages), model=LLModel("large"), **more)
    return LLMCallStarting(
        call=1, purpose="conversation", model="large", messages=len(messages), tokens=0, request=asked
    )


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The lines of a trace, read by somebody else."""
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a trace can be."""
    return tmp_path / "run.jsonl"


async def test_a_message_stands_in_a_trace_once(path: Path) -> None:
    """In requests, answers, inputs, outputs and ledgers of a whole run. [AGT-03]"""
    run = await travelled(traveller())
    text = kb.save_trace(run, path).read_text(encoding="utf-8")
    ids = Counter(line["id"] for line in lines_of(path) if line["type"] == "koogbook.message")

    assert (set(ids.values()), len(ids) > 8) == ({1}, True)
    assert text.count('"text":"Tell it slowly."') == 1


def test_equal_messages_are_one(path: Path) -> None:
    """By what they hold, not by the object. [AGT-03]"""
    copy = replace(STORY[0])
    kb.save_trace([output(STORY[0]), output(copy), output([copy])], path)

    assert [line["type"] for line in lines_of(path)].count("koogbook.message") == 1


def test_messages_that_differ_in_anything_are_two(path: Path) -> None:
    """Though they have one id. [AGT-03]"""
    events = [output(STORY[0]), output(STORY[0].with_text("edited"))]
    kb.save_trace(events, path)

    assert kb.load_trace(path) == tuple(events)


def growing(calls: int, *, note: bool = False) -> list[Event]:
    """A conversation of so many calls, each with one message more; a note of its own stands before the last."""
    asked: list[Event] = []
    messages: list[Message] = []
    for number in range(calls):
        messages.append(kb.user("hello", id=f"m{number:06}", time=TIME))
        extra = [kb.user("By the way.", id=f"n{number:06}", time=TIME)] if note else []
        asked.append(request([*messages[:-1], *extra, messages[-1]]))
    return asked


@pytest.mark.parametrize("note", [False, True], ids=["plain", "with a note"])
def test_a_run_of_many_calls_writes_as_much_for_each(path: Path, note: bool) -> None:
    """Four times as many calls are four times as many bytes, whatever is put in between. [AGT-03]"""
    small = len(kb.save_trace(growing(100, note=note), path).read_bytes())
    large = len(kb.save_trace(growing(400, note=note), path).read_bytes())

    assert large < 4.3 * small
    assert kb.load_trace(path) == tuple(growing(400, note=note))


def test_tools_and_marks_stand_once(path: Path) -> None:
    """However many requests have them. [AGT-03]"""
    tools = tuple(kb.Tool(weather, name=f"weather_{number}").spec for number in range(20))
    events = [request(STORY[: number + 1], tools=tools) for number in range(9)]
    text = kb.save_trace(events, path).read_text(encoding="utf-8")

    assert text.count("weather_7") == 1
    assert kb.load_trace(path) == tuple(events)


def weather(city: str) -> str:
    """The weather."""
    return city


HISTORIES = st.lists(st.sampled_from(STORY), max_size=12)


@settings(max_examples=60, deadline=None)
@given(st.lists(HISTORIES, max_size=6))
def test_histories_of_any_form_come_back(histories: list[list[Message]]) -> None:
    """With repeated, taken out, put in and reordered messages. [AGT-03]"""
    encoder, decoder = TraceEncoder(), TraceDecoder()
    events = [
        event
        for history in histories
        for event in (request(history), output(history), output(tuple(history)), ledger(history))
    ]
    back = [decoder.event(line) for event in events for line in encoder.lines(event)]

    assert [event for event in back if event is not None] == events
    assert [type(event.output) for event in back if isinstance(event, NodeCompleted)] == [list, tuple] * len(
        histories
    )


def ledger(history: list[Message]) -> CompressionCompleted:
    """A compression of a history."""
    return CompressionCompleted(
        ledger=Ledger(
            strategy="x", status="applied", before=tuple(history), after=tuple(history[:2]), fates=()
        )
    )


@pytest.mark.parametrize("text", ["\ud83d", "\ud83d\ude00", "\x00", "a\u2028b\nc", "x" * 1_000_000], ids=repr)
def test_any_text_of_a_message_comes_back(path: Path, text: str) -> None:
    """Lone surrogates, NUL, and a megabyte. [EXE-01]"""
    asked = request([kb.user(text), kb.user("and then?")])
    kb.save_trace([asked, output(asked.request.messages[0])], path)

    assert kb.load_trace(path)[0] == asked


def test_what_one_line_needs_stands_before_it(path: Path) -> None:
    """A file that was cut off anywhere is read up to there. [AGT-03]"""
    whole = kb.save_trace(growing(6), path).read_bytes()
    events = kb.load_trace(path)
    for end in [place for place, one in enumerate(whole) if one == ord("\n")][1:]:
        path.write_bytes(whole[: end + 1])
        found = kb.load_trace(path)
        assert found == events[: len(found)]


# ------------------------------------------------------------------------------------------- what does not fit


def changed(path: Path, kind: str, change: Any) -> None:
    """Change the first line of a kind."""
    lines = lines_of(path)
    place = next(place for place, line in enumerate(lines) if line["type"] == kind)
    lines[place] = change(lines[place])
    path.write_text("".join(json.dumps(line) + "\n" for line in lines if line is not None), encoding="utf-8")


def edited(line: dict[str, Any]) -> dict[str, Any]:
    """A message with another text."""
    line["message"]["parts"][0]["text"] = "other"
    return line


SELF = "0" * 32


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        (
            "koogbook.message",
            lambda line: None,
            r"line 3: .* message '.*', which stands in no line before it\. Put",
        ),
        (
            "koogbook.messages",
            lambda line: None,
            r"line 5: .* history '.*', which stands in no line before it",
        ),
        ("koogbook.value", lambda line: None, r"line 5: .* value '.*', which stands in no line before it"),
        (
            "koogbook.message",
            edited,
            r"line 2: Its id is .*, and the digest of what it holds is .*: it was changed",
        ),
        (
            "koogbook.message",
            lambda line: {**line, "message": {"role": "user"}},
            "line 2: It is no whole message",
        ),
        ("koogbook.message", lambda line: {**line, "id": 3}, "line 2: .* has an id that is a text"),
        ("koogbook.messages", lambda line: {**line, "of": 3}, "line 4: A history is a list of pieces"),
        ("koogbook.messages", lambda line: {**line, "of": [3]}, "line 4: 3 is no piece of a history"),
        ("koogbook.messages", lambda line: {**line, "of": line["of"][:1]}, "line 4: Its id is"),
        (
            "koogbook.messages",
            lambda line: {**line, "id": SELF, "of": [[SELF, 0, 1]]},
            "line 4: It refers to the history '0000.*', which stands in no line before it",
        ),
        ("koogbook.value", lambda line: {**line, "value": []}, "line 5: Its id is"),
        (
            "koogbook.value",
            lambda line: {**line, "value": {"$": "ToolSpec", "of": {}}},
            "line 5: Its id is",
        ),
    ],
)
def test_a_reference_that_does_not_fit_is_refused_by_its_line(
    path: Path, kind: str, change: Any, message: str
) -> None:
    """One that is not there, a content that was changed, and one that refers to itself. [AGT-03]"""
    story = [kb.user("a", id="a"), kb.user("b", id="b")]
    kb.save_trace([request(story, tools=(kb.Tool(weather).spec,))], path)
    changed(path, kind, change)

    with pytest.raises(TraceError, match=f"(?s){message}.*Nothing was loaded"):
        kb.load_trace(path)


def test_a_value_refers_to_nothing(path: Path) -> None:
    """What is read is not longer than what was written. [AGT-03]"""
    from koogbook.trace.lines import digest_of

    value = [{"$": "value", "of": SELF}] * 2
    line = {"type": "koogbook.value", "id": digest_of(value), "value": value}

    with pytest.raises(TraceError, match="stands in a line of its own"):
        TraceDecoder().event(json.dumps(line).encode())


def test_a_history_of_too_many_messages_is_refused() -> None:
    """Pieces of pieces would fill any memory. [AGT-03]"""
    from koogbook.trace.shared import history_id

    encoder, decoder = TraceEncoder(), TraceDecoder()
    for line in encoder.lines(output(tuple(STORY[:2]))):
        decoder.event(line)
    digests = [one.digest for one in STORY[:2]]
    with pytest.raises(TraceError, match="more than 1,002 messages, and 2 stand in the lines before it"):
        for _ in range(20):
            known, digests = history_id(digests), digests * 2
            line = {
                "type": "koogbook.messages",
                "id": history_id(digests),
                "of": [[known, 0, len(digests) // 2]] * 2,
            }
            decoder.event(json.dumps(line).encode())


def test_a_history_of_too_many_pieces_is_not_put_together() -> None:
    """It is refused as soon as it is too long, whatever else it is of. [AGT-03]"""
    from koogbook.trace.shared import history_id

    encoder, decoder = TraceEncoder(), TraceDecoder()
    for line in encoder.lines(output(tuple(STORY[:2]))):
        decoder.event(line)
    known = history_id(one.digest for one in STORY[:2])
    pieces = [*[[known, 0, 2]] * 600, "what is not reached"]
    line = {"type": "koogbook.messages", "id": "0" * 32, "of": pieces}

    with pytest.raises(TraceError, match="more than 1,002 messages"):
        decoder.event(json.dumps(line).encode())


@pytest.mark.parametrize("kind", [list, tuple])
def test_a_history_that_repeats_itself_very_often_comes_back(path: Path, kind: Any) -> None:
    """It stands message by message, so that the file can be read. [AGT-03]"""
    events = [output(kind(STORY[:1] * 1_001)), output(kind(STORY[:1] * 1_002)), output(kind(STORY[:2] * 600))]

    assert kb.load_trace(kb.save_trace(events, path)) == tuple(events)


def test_histories_that_grow_by_turns_come_back(path: Path) -> None:
    """Each goes on from its own, also where they have begun as one, and where one is cut. [AGT-03]"""
    stories: list[list[Message]] = [STORY[:3], STORY[:3], STORY[10:12], STORY[10:11]]
    events: list[Event] = []
    for number in range(12):
        for turn, story in enumerate(stories):
            story.append(kb.user("hello", id=f"t{turn}-{number}", time=TIME))
            events.append(request(story))
        if number == 6:
            del stories[0][2:5]
    events += [request(story[:4]) for story in stories]

    assert kb.load_trace(kb.save_trace(events, path)) == tuple(events)


def test_of_a_growing_history_only_what_is_new_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call costs the same, however many messages stand before it. [AGT-03]"""
    looked_at: list[str] = []
    inner = SharedOut._written

    def counted(shared: SharedOut, message: Message) -> bytes:
        looked_at.append(message.id)
        return inner(shared, message)

    monkeypatch.setattr(SharedOut, "_written", counted)
    encoder = TraceEncoder()
    for event in growing(60):
        encoder.lines(event)

    # The first message stands alone, and then in the first history.
    assert looked_at == ["m000000", *(f"m{number:06}" for number in range(60))]


def test_an_event_alone_holds_its_messages() -> None:
    """It can be sent anywhere. [AGT-03]"""
    event = request(STORY[:3])

    assert decode_event(encode_event(event)) == event


def test_a_line_of_a_file_is_not_read_alone() -> None:
    """It says what to do. [AGT-03]"""
    with pytest.raises(TraceError, match=r"it is read alone\. Read the whole file: kb\.load_trace\(path\)"):
        decode_event(TraceEncoder().lines(output(STORY[0]))[-1])


def test_a_line_that_stands_again_does_no_harm(path: Path) -> None:
    """Two that write to one file do it by turns. [AGT-03]"""
    first, second = TraceEncoder(), TraceEncoder()
    kb.save_trace([], path)
    with path.open("ab") as file:
        for event in growing(4):
            for encoder in (first, second):
                file.writelines(line + b"\n" for line in encoder.lines(event))

    assert kb.load_trace(path) == tuple(event for event in growing(4) for _ in range(2))
