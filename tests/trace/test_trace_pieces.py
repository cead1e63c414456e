"""A history that begins as another one refers to it, where that is the shorter way to say it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import koogbook as kb
from koogbook.messages.message import Message
from koogbook.trace.lines import parsed
from koogbook.trace.shared import SharedOut, history_id

STORY = [kb.user(f"message {number}", id=f"m{number}") for number in range(4)]


def pieces(*histories: Sequence[Message]) -> list[object]:
    """Of which pieces the lines of these histories say that they are, one after the other."""
    out = SharedOut()
    for history in histories:
        out.messages(history)
    lines = [parsed(line) for line in out.lines]
    return [line["of"] for line in lines if line is not None and line["type"] == "koogbook.messages"]


def id_of(*messages: Message) -> str:
    """The id of a history."""
    return history_id(one.digest for one in messages)


def id_of_message(message: Message) -> str:
    """The id of a message."""
    return message.digest.hex()


@pytest.mark.parametrize("same", [True, False], ids=["the objects", "equal ones"])
def test_a_history_behind_a_single_message_names_the_message(same: bool) -> None:
    """A piece of one message would be longer than its id [AGT-03]."""
    first = STORY[0] if same else kb.user("message 0", id="m0", time=STORY[0].time)
    assert first == STORY[0]

    assert pieces(STORY[:1], [first, STORY[1]])[1] == [id_of_message(STORY[0]), id_of_message(STORY[1])]


def test_a_history_behind_two_messages_names_their_piece() -> None:
    """From there on it says where they stand [AGT-03]."""
    assert pieces(STORY[:2], STORY[:3])[1] == [[id_of(*STORY[:2]), 0, 2], id_of_message(STORY[2])]
