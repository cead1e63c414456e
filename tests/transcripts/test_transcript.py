"""A loaded conversation: what the model had of it."""

from __future__ import annotations

import pytest

from koogbook.messages.message import SUMMARY_NAME, Message, assistant, system, user
from koogbook.transcripts.transcript import Transcript, preview

RULES, BEGIN, READY, AFTER = system("Be brief."), user("Begin"), assistant("ready"), user("after")
SUMMARY, LATER = user("Summary: two done.", name=SUMMARY_NAME), user("Summary: all done.", name=SUMMARY_NAME)


@pytest.mark.parametrize(
    ("messages", "context"),
    [
        ((BEGIN, READY), (BEGIN, READY)),
        ((BEGIN, READY, SUMMARY, AFTER), (SUMMARY, AFTER)),
        ((RULES, BEGIN, SUMMARY, AFTER), (RULES, SUMMARY, AFTER)),
        ((BEGIN, SUMMARY, READY, LATER, AFTER), (LATER, AFTER)),
        ((BEGIN, SUMMARY, LATER, AFTER), (SUMMARY, LATER, AFTER)),
        ((RULES, SUMMARY, AFTER), (RULES, SUMMARY, AFTER)),
        ((SUMMARY,), (SUMMARY,)),
        ((), ()),
    ],
)
def test_the_context_begins_at_the_last_summary(
    messages: tuple[Message, ...], context: tuple[Message, ...]
) -> None:
    """The transcript has all messages, the model had what came after a compaction [KB-157]."""
    assert Transcript(messages=messages, format="claude-code").context == context


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a\x1b[2J b\x00", r"a\x1b[2J b\x00"),
        ("two\nlines", "two lines"),
        ("half \ud83c", r"half \ud83c"),
        ("雨" * 100, "雨" * 59 + "…"),
        ({"a": [1]}, '{"a": [1]}'),
    ],
)
def test_a_preview_is_one_line_that_a_terminal_does_not_obey(value: object, shown: str) -> None:
    """Defects and errors show what a file has, whatever that is."""
    assert preview(value) == shown
