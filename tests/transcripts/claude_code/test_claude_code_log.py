"""Any log is read whole or refused, and its lines are known among those of other files."""

from __future__ import annotations

from typing import Any

import pytest
from chat_strategies import damaged
from claude_code_entries import BOUNDARY, PARALLEL, REWOUND, model, result, text, use, user
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from koogbook.errors import TranscriptError
from koogbook.messages.message import Message
from koogbook.transcripts.claude_code.format import FORMAT
from koogbook.transcripts.claude_code.log import Log
from koogbook.transcripts.claude_code.shape import find, is_entry
from koogbook.transcripts.conversation import Conversation


@given(damaged([REWOUND, PARALLEL]))
@settings(max_examples=250, deadline=None)
def test_no_value_in_any_field_breaks_the_reader(value: Any) -> None:
    """Whatever stands where, it is read, or refused with a reason [EXE-07]."""
    try:
        messages, _ = FORMAT.read(Conversation(value, "$"))
    except TranscriptError as problem:
        assert "circle" in str(problem)  # noqa: PT017
    else:
        assert all(isinstance(one, Message) for one in messages)


@st.composite
def logs(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Entries of any type with any earlier one as parent, messages of few ids, and results of few calls."""
    entries: list[dict[str, Any]] = []
    for at in range(draw(st.integers(1, 8))):
        parent = draw(st.sampled_from([None, "gone", *(f"n{before}" for before in range(at))]))
        entry = draw(
            st.sampled_from(
                [
                    user("", None, text("hi")),
                    user("", None, result("A")),
                    user("", None, result("B")),
                    model("", None, "m", use("A")),
                    model("", None, "m", use("B")),
                    model("", None, "n", text("done")),
                    {"type": "progress"},
                    BOUNDARY,
                ]
            )
        )
        side = draw(st.sampled_from([{}, {}, {"isSidechain": True}]))
        entries.append({**entry, "uuid": f"n{at}", "parentUuid": parent, **side})
    return entries


@given(logs())
@settings(max_examples=150, deadline=None)
def test_each_entry_is_read_or_accounted_for_once(entries: list[dict[str, Any]]) -> None:
    """On the line, on a branch that is listed, or among those that are no messages [EXE-07]."""
    lines = Log(entries).lines(None)
    read_or_listed = [
        *(number for piece in lines.pieces for number in piece),
        *(number for branch in lines.branches for number in branch.entries),
        *lines.outside,
    ]

    assert sorted(read_or_listed) == list(range(len(entries)))


@given(logs())
@settings(max_examples=100, deadline=None)
def test_each_branch_is_read_by_its_number_and_by_the_id_that_is_named(entries: list[dict[str, Any]]) -> None:
    """What a defect says can be typed [EXE-07]."""
    conversation = Conversation(entries, "$")
    others = [one for one in FORMAT.read(conversation)[1] if one.kind == "other_branch"]
    named = [one.text.rpartition("branch=")[2].strip("'") for one in others]
    by_id = [FORMAT.read(replace(conversation, branch=own))[0] for own in named]

    assert [FORMAT.read(replace(conversation, branch=str(at)))[0] for at in range(1, len(named) + 1)] == by_id


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (REWOUND[0], True),
        (BOUNDARY, True),
        ({"type": "summary", "summary": "t", "leafUuid": "a"}, True),
        ({"type": "file-history-snapshot", "messageId": "m", "snapshot": {}}, True),
        ({"type": "queue-operation", "operation": "enqueue"}, True),
        ({"type": "mode", "sessionId": "s"}, True),
        ({"type": "human", "data": {}}, False),
        ({"role": "user", "content": "Hi", "uuid": "u", "parentUuid": None, "type": "message"}, False),
        ({"uuid": "u", "parentUuid": None}, False),
        ([], False),
        (None, False),
    ],
    ids=str,
)
def test_a_line_is_known_by_its_place_in_the_tree_or_the_session(value: Any, expected: bool) -> None:
    """Messages of other formats have a role of their own [EXE-07]."""
    assert is_entry(value) is expected


def test_a_list_of_lines_is_a_log() -> None:
    """As JSON instead of JSONL; a list without an entry of a tree is none [EXE-07]."""
    found = find(REWOUND, "$")

    assert found is not None
    assert found.format == "claude-code"
    assert find([{"type": "summary", "leafUuid": "a"}], "$") is None
