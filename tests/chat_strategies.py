"""Conversations for property tests: histories of messages, and JSON values with fields replaced by anything."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from koogbook.messages.message import Message, assistant, system, tool_result, user
from koogbook.messages.parts import Attachment, Part, Text, ToolCall
from koogbook.transcripts.conversation import Conversation
from koogbook.transcripts.formats import TranscriptFormat
from koogbook.transcripts.transcript import Defect

TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12).filter(str.strip)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "x", "user", "text", "cut \ud83d"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["type", "text", "role", "content", "id", "a"]), inner, max_size=2)
    ),
    max_leaves=4,
)
PICTURES = st.sampled_from(
    [
        Attachment("image", "image/png", data=b"\x89PNG"),
        Attachment("image", url="https://example.org/a.png"),
        Attachment("file", "application/pdf", data=b"%PDF", name="a.pdf"),
    ]
)
TIME = datetime(1970, 1, 1, tzinfo=UTC)


def exact(value: Any) -> str:
    """One text for values that are the same JSON."""
    return json.dumps(value, sort_keys=True)


def kinds(defects: tuple[Defect, ...]) -> list[str]:
    """The kinds of defects, in order."""
    return [defect.kind for defect in defects]


def found_and_read(
    format: TranscriptFormat, value: Any
) -> tuple[Conversation, tuple[Message, ...], tuple[Defect, ...]]:
    """The conversation that a format finds in a value, its messages and its defects."""
    conversation = format.find(value, "$")
    assert conversation is not None
    return conversation, *format.read(conversation)


def came_out(format: TranscriptFormat, value: Any) -> Any:
    """What a format writes of what it reads."""
    conversation, messages, _ = found_and_read(format, value)
    assert format.write is not None
    return format.write(messages, json.loads(conversation.extra_json)).value


@st.composite
def histories(draw: st.DrawFn) -> tuple[Message, ...]:
    """Histories made in code: calls with results in any number, pictures and files, no thoughts."""
    found: list[Message] = []
    if draw(st.booleans()):
        found.append(system(draw(TEXTS), id=f"{len(found):016x}", time=TIME))
    for _ in range(draw(st.integers(1, 3))):
        said: list[Part] = [Text(draw(TEXTS)), *draw(st.lists(PICTURES, max_size=2))]
        found.append(user(said, id=f"{len(found):016x}", time=TIME))
        count = draw(st.integers(0, 2))
        calls = [
            ToolCall(
                "look",
                json.dumps(draw(st.dictionaries(TEXTS, TEXTS, max_size=2)), ensure_ascii=False),
                f"c{len(found)}_{at}",
            )
            for at in range(count)
        ]
        words = [Text(draw(TEXTS))] if not calls or draw(st.booleans()) else []
        found.append(assistant(words, calls=calls, id=f"{len(found):016x}", time=TIME))
        for call in calls:
            one = tool_result(call, draw(TEXTS | st.just("")), id=f"{len(found):016x}", time=TIME)
            found.append(one.with_parts([*one.parts, *draw(st.lists(PICTURES, max_size=1))]))
        if calls and draw(st.booleans()):
            found.append(assistant(draw(TEXTS), id=f"{len(found):016x}", time=TIME))
    return tuple(found)


@st.composite
def damaged(draw: st.DrawFn, values: list[Any]) -> Any:
    """One of the values with up to three of its fields, at any depth, replaced by any JSON or taken out."""
    value = json.loads(json.dumps(draw(st.sampled_from(values))))
    for _ in range(draw(st.integers(0, 3))):
        places = list(_places(value))
        if not places:
            break
        holder, key = places[draw(st.integers(0, len(places) - 1))]
        if isinstance(holder, dict) and draw(st.integers(0, 4)) == 0:
            del holder[key]
        else:
            holder[key] = draw(JSON_VALUES)
    return value


def _places(value: Any) -> Any:
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key])
