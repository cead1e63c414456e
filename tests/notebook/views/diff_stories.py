"""A short conversation that was compressed, and others, for the tests of the prompt diff."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from koogbook.compression.fact_check import check_facts
from koogbook.messages.ledger import Ledger, MessageFate, NewMessage
from koogbook.messages.message import SUMMARY_NAME, Message, assistant, message, system, tool_result
from koogbook.messages.parts import ToolCall
from koogbook.messages.word_diff import provenance

NOON = datetime(2026, 6, 2, 12, tzinfo=UTC)
SUMMARY = "A hold on two seats runs until noon. The quiet hotel with a lift costs 88 euro."


def said(role: Any, text: str, id: str, **fields: Any) -> Message:
    """A message at noon."""
    return message(role, text, id=id, time=NOON, **fields)


def call(tool: str, id: str) -> Message:
    """An assistant message with one call."""
    return assistant(calls=[ToolCall(tool, '{"near": "river"}', id)], id=f"call-{id}", time=NOON)


BEFORE = (
    system("Plan short rail trips. Today is Tue 2 June.", id="m0", time=NOON),
    said("user", "Two days in Porto, with a peanut allergy.", "m1"),
    call("find_trains", "t"),
    tool_result("t", "The direct train leaves at 14:05.", id="m3", time=NOON),
    said("assistant", "A hold on two seats runs until noon.", "m4"),
    said("assistant", "Here are the relevant facts from memory: prefers the quiet car.", "m5"),
    said("user", "Now a quiet hotel, please.", "m6"),
    said("assistant", "The hotel with a lift is quiet and costs 88 euro.", "m7"),
    said("user", "Reserve it.", "m8"),
    call("reserve", "r"),
)
AFTER = (
    BEFORE[0].with_text("Plan short rail trips. Today is Wed 3 June."),
    BEFORE[1],
    BEFORE[5],
    said("user", SUMMARY, "s", name=SUMMARY_NAME),
    BEFORE[8],
    BEFORE[9],
)
KEPT = {0: ("edited", 0), 1: ("kept", 1), 5: ("memory", 2), 8: ("kept", 4), 9: ("kept", 5)}
SOURCES = (4, 6, 7)


def fate(position: int) -> MessageFate:
    """What became of one message of the story above."""
    tokens = BEFORE[position].tokens
    if position in SOURCES:
        return MessageFate(position, "summarised", tokens, None, (3,))
    if position not in KEPT:
        return MessageFate(position, "dropped", tokens, None, (), "older than the last 6")
    word, place = KEPT[position]
    return MessageFate(position, word, tokens, place)  # type: ignore[arg-type]


LEDGER = Ledger(
    strategy="FromLastNMessages(6)",
    status="applied",
    before=BEFORE,
    after=AFTER,
    fates=tuple(map(fate, range(len(BEFORE)))),
    new_messages=(
        NewMessage(
            3, AFTER[3].tokens, SOURCES, provenance(SUMMARY, [(place, BEFORE[place]) for place in SOURCES])
        ),
    ),
    model_calls=1,
    seconds=0.84,
)
FACTS = check_facts(LEDGER, ["peanut", "88 euro", "14:05", "vegan", re.compile(r"\d+ euro")])


def talk(count: int) -> list[Message]:
    """A conversation of so many different messages."""
    return [said("user", f"Question {number} about the museum", f"q{number}") for number in range(count)]


HISTORIES = st.lists(
    st.builds(
        said,
        st.sampled_from(("user", "assistant")),
        st.text("ab 你\n", max_size=9),
        st.sampled_from("klmnop"),
    ),
    max_size=14,
)


@st.composite
def changed_histories(draw: st.DrawFn) -> tuple[list[Message], list[Message]]:
    """A long conversation, and what is left of it after some runs were dropped, some messages edited, some added."""
    before = talk(draw(st.integers(80, 260)))
    gone: set[int] = set()
    for start, length in draw(st.lists(st.tuples(st.integers(0, 250), st.integers(1, 90)), max_size=4)):
        gone.update(range(start, start + length))
    edited = draw(st.sets(st.integers(0, 259), max_size=12))
    after = [
        one.with_text(f"{one.text} today") if place in edited else one
        for place, one in enumerate(before)
        if place not in gone
    ]
    at = draw(st.integers(0, len(after)))
    new = [said("user", f"New {number}", f"n{number}") for number in range(draw(st.integers(0, 70)))]
    return before, [*after[:at], *new, *after[at:]]


CHANGED = changed_histories()
