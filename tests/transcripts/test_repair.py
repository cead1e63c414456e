"""Histories whose calls and results do not belong together, mended."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from koogbook.messages.message import Message, assistant, message, tool_result, user
from koogbook.messages.pairing import pair_messages
from koogbook.messages.parts import ToolCall, ToolResult
from koogbook.transcripts.repair import repair_pairs
from koogbook.transcripts.transcript import Transcript

HELLO = user("Hello")
CLOCK = ToolCall("clock", '{"zone": "UTC"}', "a")
WEATHER = ToolCall("weather", "{}", "b")

IDS = st.sampled_from(["a", "b", "c", None])
CALLS = st.lists(st.builds(ToolCall, st.just("clock"), st.just("{}"), IDS), max_size=3)
RESULTS = st.lists(st.builds(ToolResult, st.just("12:00"), st.just("clock"), IDS), min_size=1, max_size=2)
MESSAGES = st.one_of(
    st.builds(user, st.just("Hello")),
    st.builds(lambda text, calls: assistant(text, calls=calls), st.sampled_from([(), "Let me see."]), CALLS),
    st.builds(lambda results: message("tool", results), RESULTS),
)
HISTORIES = st.lists(MESSAGES, max_size=7)


@given(HISTORIES)
@settings(max_examples=300, deadline=None)
def test_a_repaired_history_has_no_pairing_defect(history: list[Message]) -> None:
    """A provider would take it."""
    repaired, _ = repair_pairs(history)

    assert pair_messages(repaired).defects == ()


@given(HISTORIES)
@settings(max_examples=200, deadline=None)
def test_nothing_is_open_where_no_tail_may_be(history: list[Message]) -> None:
    """Such a history can be gone on with by a user message [EXE-02]."""
    repaired, _ = repair_pairs(history, open_tail=False)
    pairing = pair_messages(repaired)

    assert (pairing.defects, pairing.tail) == ((), None)


@given(HISTORIES, st.booleans())
@settings(max_examples=200, deadline=None)
def test_every_change_is_listed(history: list[Message], open_tail: bool) -> None:
    """Where nothing is listed nothing was changed, and each part that is gone has an entry [EXE-07]."""
    repaired, changes = repair_pairs(history, open_tail=open_tail)
    missing = sum(len(one.calls + one.results) for one in history) - sum(
        len(one.calls + one.results) for one in repaired
    )

    assert missing == sum("taken out" in change.text for change in changes)
    assert (tuple(history) == repaired) >= (changes == ())


@given(HISTORIES)
@settings(max_examples=200, deadline=None)
def test_what_was_said_in_words_stays(history: list[Message]) -> None:
    """Repairing touches calls and results only."""
    repaired, _ = repair_pairs(history)
    spoken = [one.id for one in history if one.role == "user" or (one.role == "assistant" and one.text)]

    assert [one.id for one in repaired if one.id in spoken] == spoken


def test_a_good_history_stays_the_same() -> None:
    """There is nothing to mend and nothing to report."""
    history = (HELLO, assistant(calls=[CLOCK]), tool_result(CLOCK, "12:00"))

    assert repair_pairs(history) == (history, ())


def test_an_orphan_result_is_taken_out_with_a_preview() -> None:
    """The defect says what is no longer in the history [EXE-07]."""
    repaired, changes = repair_pairs([HELLO, tool_result("lost", "12:00 in Bonn", tool="clock")])

    assert repaired == (HELLO,)
    assert (changes[0].kind, changes[0].position) == ("repaired", 1)
    assert "clock without a call was taken out: 12:00 in Bonn" in changes[0].text


def test_an_unanswered_call_in_the_middle_is_taken_out_of_its_message() -> None:
    """What the model said beside it stays."""
    asked = assistant("Let me see.", calls=[CLOCK])
    repaired, changes = repair_pairs([asked, HELLO])

    assert repaired == (asked.with_text("Let me see.").with_parts(asked.parts[:1]), HELLO)
    assert '{"zone": "UTC"}' in changes[0].text


def test_a_message_of_unanswered_calls_only_is_taken_out() -> None:
    """An empty message would be refused as well."""
    repaired, _ = repair_pairs([assistant(calls=[CLOCK]), HELLO])

    assert repaired == (HELLO,)


def test_open_calls_at_the_end_stay() -> None:
    """Their results may still come."""
    history = (tool_result("lost", "x"), HELLO, assistant(calls=[CLOCK]))
    repaired, _ = repair_pairs(history)

    assert repaired == history[1:]


def test_open_calls_at_the_end_are_taken_out_where_nothing_may_be_open() -> None:
    """What was answered stays, and what was not is listed [EXE-02]."""
    asked, clock = assistant(calls=[CLOCK, WEATHER]), tool_result(CLOCK, "12:00")
    repaired, changes = repair_pairs([HELLO, asked, clock], open_tail=False)

    assert repaired == (HELLO, asked.with_parts(asked.parts[:1]), clock)
    assert [(one.kind, one.position) for one in changes] == [("repaired", 1)]
    assert "a call of weather without a result was taken out" in changes[0].text


def test_a_message_with_an_empty_text_beside_its_open_call_is_taken_out() -> None:
    """A message that says nothing would be refused as well [EXE-02]."""
    repaired, _ = repair_pairs([assistant("", calls=[CLOCK]), HELLO])

    assert repaired == (HELLO,)


def test_results_are_put_in_the_order_of_their_calls() -> None:
    """Tools that ran at the same time may have answered in another order."""
    asked, clock, weather = (
        assistant(calls=[CLOCK, WEATHER]),
        tool_result(CLOCK, "12:00"),
        tool_result(WEATHER, "sunny"),
    )
    repaired, changes = repair_pairs([asked, weather, clock])

    assert repaired == (asked, clock, weather)
    assert "order of their calls" in changes[0].text


def test_a_repaired_transcript_leaves_the_loaded_one_alone() -> None:
    """What was in the file can still be looked at [EXE-07]."""
    orphan = tool_result("lost", "12:00", tool="clock")
    loaded = Transcript(messages=(HELLO, orphan), format="openai-chat")
    repaired = loaded.repaired()

    assert (loaded.messages, repaired.messages) == ((HELLO, orphan), (HELLO,))
    assert [defect.kind for defect in repaired.defects] == ["repaired"]
