"""The ledger: what became of each message, where each new one comes from, and which facts survived."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from hypothesis import given, settings
from random_histories import histories

import koogbook as kb
from koogbook.messages.message import MEMORY_FACTS_MARKER

LONG = "The night train to the coast carries bicycles. " * 10


def talk() -> list[kb.Message]:
    """A history in which every fate happens."""
    return [
        kb.system("rules"),
        kb.user(f"First. {LONG}"),
        kb.assistant(f"{MEMORY_FACTS_MARKER}: no peanuts"),
        kb.assistant(f"Platform 9. {LONG}"),
        kb.user("Which platform?"),
    ]


async def compressed(
    history: list[kb.Message], summary: str = "Platform 9.", **options: Any
) -> kb.Compressed:
    """The history after one compression with this summary."""
    options.setdefault("executor", kb.ScriptedExecutor([summary]))
    return await kb.compress(history, **options)


async def test_each_original_message_has_one_fate() -> None:
    """In order: kept, kept, memory, summarised, kept [CMP-15]."""
    ledger = (await compressed(talk())).ledger

    assert [(one.position, one.fate) for one in ledger.fates] == [
        (0, "kept"),
        (1, "kept"),
        (2, "memory"),
        (3, "summarised"),
        (4, "kept"),
    ]


async def test_a_fate_names_the_new_place_and_the_summary() -> None:
    """Kept ones say where they stand now, summarised ones where their summary stands [CMP-15]."""
    ledger = (await compressed(talk())).ledger

    assert [one.new_position for one in ledger.fates] == [0, 1, 2, None, 4]
    assert ledger.fates[3].summaries == (3,)


async def test_a_new_message_names_its_sources() -> None:
    """The summary was made from all five messages [CMP-15]."""
    ledger = (await compressed(talk())).ledger

    assert [(one.position, one.sources) for one in ledger.new_messages] == [(3, (0, 1, 2, 3, 4))]


async def test_a_summary_sentence_names_the_message_it_stands_in() -> None:
    """Word for word, with its position [CMP-15]."""
    sentence = (await compressed(talk())).ledger.new_messages[0].sentences[0]

    assert (sentence.text, sentence.sources, sentence.verbatim) == ("Platform 9.", (3,), True)


async def test_what_an_own_strategy_leaves_out_is_dropped() -> None:
    """Without a summary there is nothing that it could be in [CMP-15]."""

    class Ends:
        async def compress(self, session: Any, memory_messages: Any) -> Any:
            return [session.messages[0], session.messages[-1]]

    ledger = (await compressed(talk(), strategy=Ends())).ledger

    assert [one.fate for one in ledger.fates] == ["kept", "dropped", "dropped", "dropped", "kept"]


async def test_tokens_before_and_after_are_those_of_the_histories() -> None:
    """They are estimates, and the same ones as the prompt gives [CMP-14]."""
    done = await compressed(talk())

    assert done.ledger.tokens_after == done.prompt.tokens
    assert done.ledger.tokens_before == kb.Prompt(talk()).tokens


async def test_model_calls_are_counted() -> None:
    """One for one summary [CMP-15]."""
    assert (await compressed(talk())).ledger.model_calls == 1


async def test_time_is_measured_on_the_clock_in_use(ticking_clock: kb.FixedClock) -> None:
    """A clock that moves a millisecond at each reading gives a time above zero [CMP-15]."""
    assert (await compressed(talk())).ledger.seconds > 0


async def test_a_ledger_becomes_a_table() -> None:
    """One row per original message [CMP-15]."""
    frame = (await compressed(talk())).ledger.to_frame()

    assert list(frame["fate"]) == ["kept", "kept", "memory", "summarised", "kept"]
    assert list(frame["role"]) == ["system", "user", "assistant", "assistant", "user"]


@settings(max_examples=60, deadline=None)
@given(histories())
def test_any_compression_accounts_for_every_message(history: list[kb.Message]) -> None:
    """Positions run through without a gap, and what has a place stands there [CMP-15]."""
    executor = kb.ScriptedExecutor(lambda request: "TLDR")

    ledger = asyncio.run(kb.compress(history, executor=executor, allow_longer=True)).ledger

    assert [one.position for one in ledger.fates] == list(range(len(history)))
    assert all(
        ledger.after[one.new_position].id == history[one.position].id
        for one in ledger.fates
        if one.new_position is not None
    )


@settings(max_examples=60, deadline=None)
@given(histories())
def test_every_new_place_is_accounted_for(history: list[kb.Message]) -> None:
    """A message of the result is a kept one or a new one, never both and never neither [CMP-15]."""
    executor = kb.ScriptedExecutor(lambda request: "TLDR")

    ledger = asyncio.run(kb.compress(history, executor=executor, allow_longer=True)).ledger

    kept = [one.new_position for one in ledger.fates if one.new_position is not None]
    assert sorted([*kept, *(one.position for one in ledger.new_messages)]) == list(range(len(ledger.after)))


# ------------------------------------------------------------------------------------------- facts


@pytest.mark.parametrize(
    ("fact", "found", "before", "after"),
    [
        ("peanuts", "verbatim", (2,), (2,)),
        ("Platform 9", "in a summary", (3,), (3,)),
        ("Gate 4", "lost", (5,), ()),
        ("unheard of", "never there", (), ()),
        (re.compile(r"platform \d", re.IGNORECASE), "in a summary", (3,), (3,)),
        (re.compile(r"gate \d", re.IGNORECASE), "lost", (5,), ()),
        (lambda message: message.role == "system", "verbatim", (0,), (0,)),
    ],
)
async def test_a_fact_is_found_where_it_is(fact: Any, found: str, before: Any, after: Any) -> None:
    """As text, as pattern or by a predicate; with the places before and afterwards [CMP-16]."""
    history = [*talk(), kb.assistant(f"Gate 4. {LONG}")]

    finding = (await compressed(history)).facts([fact])[0]

    assert (finding.found, finding.before, finding.after) == (found, before, after)


async def test_a_fact_in_a_summary_names_the_sentence() -> None:
    """Position of the summary and number of the sentence, from 1 [CMP-16]."""
    done = await compressed(talk(), "The train leaves at nine. Platform 9.")

    assert done.facts(["Platform 9"])[0].sentences == ((3, 2),)


async def test_a_fact_in_the_arguments_of_a_call_counts_as_there() -> None:
    """What a tool was called with is part of the history [CMP-16]."""
    call = kb.ToolCall("book", '{"seat": 77}', "c1")
    history = [kb.user("go"), kb.assistant(calls=[call]), kb.tool_result(call, LONG), kb.user("on")]

    finding = (await compressed(history, "Booked.")).facts(["77"])[0]

    assert (finding.found, finding.before) == ("lost", (1,))


async def test_facts_of_a_refused_compression_are_all_verbatim() -> None:
    """The history is as it was, so nothing can be lost [CMP-16]."""
    done = await compressed(talk(), LONG * 4)

    assert (done.ledger.status, done.facts(["Platform 9"])[0].found) == ("refused", "verbatim")


@pytest.mark.parametrize(
    ("facts", "error", "complaint"),
    [
        ([7], TypeError, "not int"),
        ("peanuts", TypeError, "as a list"),
        ([""], ValueError, "empty text"),
    ],
)
async def test_what_is_no_fact_is_refused(facts: Any, error: type[Exception], complaint: str) -> None:
    """A number, one text in place of a list, and an empty text are slips [CMP-16]."""
    done = await compressed(talk())

    with pytest.raises(error, match=complaint):
        done.facts(facts)
