"""Random histories for laws of compression: every role, pairs with and without ids, memory, summaries, an open tail."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from koogbook.messages.message import (
    MEMORY_FACTS_MARKER,
    SUMMARY_NAME,
    Message,
    assistant,
    system,
    tool_result,
    user,
)
from koogbook.messages.parts import Attachment, ToolCall

WHEN = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
SHORT = st.text("abc .", max_size=12)


@st.composite
def turns(draw: st.DrawFn) -> list[Message]:
    """One message, or a call with all its results; ids and times are put in by :func:`histories`."""
    kind = draw(st.sampled_from("system user user picture reference assistant summary calls calls".split()))
    marked = draw(st.sampled_from((False, False, False, True)))
    text = draw(SHORT) + (f" {MEMORY_FACTS_MARKER}: x" if marked else "")
    fields: dict[str, Any] = {"id": "", "time": WHEN}
    match kind:
        case "system":
            return [system(text, **fields)]
        case "user":
            return [user(text, **fields)]
        case "picture":
            return [user(Attachment("image", url="https://example.org/p.png"), **fields)]
        case "reference":
            return [user(text, name="koogbook.reference", **fields)]
        case "assistant":
            return [assistant(text, **fields)]
        case "summary":
            return [assistant(text, name=SUMMARY_NAME, **fields)]
        case _:
            return draw(call_groups(text))


@st.composite
def call_groups(draw: st.DrawFn, text: str, answered: bool = True) -> list[Message]:
    """An assistant message with calls, and the results of all of them or of the first few."""
    ids = draw(st.lists(st.sampled_from((None, "c1", "c2", "c3")), min_size=1, max_size=3))
    distinct = ids if None not in ids and len(set(ids)) == len(ids) else [None] * len(ids)
    calls = [ToolCall("look", "{}", one) for one in distinct]
    given = len(calls) if answered else draw(st.integers(0, len(calls) - 1))
    results = [tool_result(call, "found", id="", time=WHEN) for call in calls[:given]]
    return [assistant(text, calls=calls, id="", time=WHEN), *results]


@st.composite
def histories(draw: st.DrawFn, *, most: int = 12) -> list[Message]:
    """A history without defects, with ids ``m0``, ``m1``, ..."""
    pieces = draw(st.lists(turns(), min_size=1, max_size=most))
    tail = draw(st.one_of(st.just([]), call_groups("", answered=False)))
    flat = [message for piece in [*pieces, tail] for message in piece]
    return [
        Message(
            role=message.role,
            parts=message.parts,
            id=f"m{position}",
            time=message.time,
            name=message.name,
        )
        for position, message in enumerate(flat)
    ]
