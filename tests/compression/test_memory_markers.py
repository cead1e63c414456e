"""Which messages count as memory, and who gets them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import koogbook as kb
from koogbook.messages.message import MEMORY_FACTS_MARKER, MEMORY_MARKERS, MEMORY_OFF_MARKER


class Notes:
    """Leaves the history alone and keeps what it was handed."""

    def __init__(self) -> None:
        self.memory: list[str] = []

    async def compress(self, session: Any, memory_messages: Sequence[kb.Message]) -> Any:
        """See :class:`koogbook.HistoryCompressionStrategy`."""
        self.memory = [message.id for message in memory_messages]
        return kb.UNCHANGED


async def picked(*messages: kb.Message, preserve_memory: bool = True) -> tuple[list[str], kb.Compressed]:
    """The ids handed to the strategy, and the whole outcome."""
    notes = Notes()
    done = await kb.compress(messages, notes, executor=kb.OfflineExecutor(), preserve_memory=preserve_memory)
    return notes.memory, done


def test_the_markers_are_exactly_koogs() -> None:
    """Histories of both programs mean the same [CMP-09a]."""
    assert MEMORY_MARKERS == (
        "Here are the relevant facts from memory",
        "Memory feature is not enabled",
    )


@pytest.mark.parametrize("marker", [MEMORY_FACTS_MARKER, MEMORY_OFF_MARKER])
@pytest.mark.parametrize("make", [kb.system, kb.user, kb.assistant])
async def test_a_marker_in_the_text_of_any_role_is_picked(marker: str, make: Any) -> None:
    """Looked for as a substring [CMP-09a]."""
    handed, _ = await picked(kb.user("a"), make(f"so: {marker}: x", id="m"))

    assert handed == ["m"]


async def test_a_metadata_tag_is_a_marker_too() -> None:
    """``memory=True`` needs no text [CMP-09a]."""
    handed, _ = await picked(kb.user("a"), kb.assistant("x", id="m", metadata={"memory": True}))

    assert handed == ["m"]


@pytest.mark.parametrize(
    "message",
    [
        kb.assistant(MEMORY_FACTS_MARKER.lower()),
        kb.assistant("x", metadata={"memory": "yes"}),
        kb.assistant(calls=[kb.ToolCall("look", f'{{"q": "{MEMORY_FACTS_MARKER}"}}')]),
        kb.tool_result("c1", MEMORY_FACTS_MARKER),
        kb.assistant(MEMORY_FACTS_MARKER, name="koogbook.summary"),
    ],
)
async def test_what_only_looks_like_a_marker_is_not_picked(message: kb.Message) -> None:
    """Other case, other value, arguments, results and summaries are no memory [CMP-09a]."""
    handed, _ = await picked(kb.user("a"), message)

    assert handed == []


async def test_memory_messages_come_oldest_first() -> None:
    """In the order of the history [CMP-09]."""
    texts = [kb.assistant(f"{MEMORY_FACTS_MARKER} {at}", id=f"m{at}") for at in range(3)]

    handed, _ = await picked(kb.user("a"), *texts)

    assert handed == ["m0", "m1", "m2"]


async def test_switching_the_picking_off_hands_nothing_over() -> None:
    """``preserve_memory=False`` gives the strategy an empty list and changes nothing else [CMP-09]."""
    marked = kb.assistant(MEMORY_FACTS_MARKER, id="m")

    handed, done = await picked(kb.user("a"), marked, preserve_memory=False)

    assert (handed, len(done.prompt)) == ([], 2)


async def test_without_picking_a_memory_message_is_summarised_like_any_other() -> None:
    """The built-in strategy keeps what it is handed, and no more [CMP-09]."""
    history = [kb.user("a"), kb.assistant(MEMORY_FACTS_MARKER, id="m"), kb.assistant("x"), kb.user("b")]

    done = await kb.compress(
        history, executor=kb.ScriptedExecutor(["T"]), preserve_memory=False, allow_longer=True
    )

    assert [message.text for message in done.prompt] == ["a", "T", "b"]


async def test_a_user_who_quotes_a_marker_is_picked_and_reported() -> None:
    """The substring cannot tell a quotation from memory, so the ledger says so [CMP-09a]."""
    handed, done = await picked(kb.user(f"What does '{MEMORY_FACTS_MARKER}' mean?", id="q"))

    assert handed == ["q"]
    assert any("q quotes a memory marker" in note for note in done.ledger.notes)


async def test_a_memory_message_that_is_the_first_user_message_stands_once() -> None:
    """Two reasons to be kept are no reason to be kept twice [CMP-08]."""
    history = [kb.user(f"{MEMORY_FACTS_MARKER}: x", id="q"), kb.assistant("a"), kb.user("b")]

    done = await kb.compress(history, executor=kb.ScriptedExecutor(["T"]), allow_longer=True)

    assert [message.id for message in done.prompt].count("q") == 1
