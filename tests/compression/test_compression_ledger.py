"""The ledger: what became of each message, where each new one comes from, and which facts survived."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_histories import histories

import koogbook as kb
from koogbook.compression.compose import Composition, Summary
from koogbook.messages.message import MEMORY_FACTS_MARKER, SUMMARY_NAME

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


class Pieces:
    """Sums a history up in pieces that begin at these positions, and composes the result."""

    def __init__(self, starts: list[int], keep_last: int) -> None:
        self.starts = starts
        self.keep_last = keep_last
        self.made: list[Summary] = []

    async def compress(self, session: Any, memory_messages: Sequence[kb.Message]) -> Any:
        """See :class:`koogbook.HistoryCompressionStrategy`."""
        history = session.messages
        for start, end in pairwise([*self.starts, len(history)]):
            self.made.append(await kb.summarise(session, history[start:end]))
        return kb.compose(history, memory_messages, self.made, keep_last=self.keep_last)


class Compression(NamedTuple):
    """A compression of a random history, and the summaries that its strategy made."""

    history: list[kb.Message]
    made: list[Summary]
    ledger: kb.Ledger


@st.composite
def compressions(draw: st.DrawFn) -> Compression:
    """One to three summaries; each answer is new or has the words of an earlier message, most often a summary."""
    history = draw(histories())
    earlier = [message.text for message in history if message.text.strip()]
    summaries = [message.text for message in history if message.is_summary and message.text.strip()]
    answers = st.sampled_from([*summaries, *summaries, *earlier, "TLDR"])
    cuts = draw(st.sets(st.integers(1, len(history)), max_size=2))
    pieces = Pieces(sorted({0, *cuts} - {len(history)}), draw(st.integers(0, 3)))
    executor = kb.ScriptedExecutor([draw(answers) for _ in pieces.starts])
    done = asyncio.run(kb.compress(history, pieces, executor=executor, allow_longer=True))
    return Compression(history, pieces.made, done.ledger)


law = settings(max_examples=100, deadline=None)


@law
@given(compressions())
def test_any_compression_accounts_for_every_message(done: Compression) -> None:
    """What is left is kept, or memory where it carries a marker; all else went into summaries [CMP-15]."""
    left = {message.id: place for place, message in enumerate(done.ledger.after)}
    expected = [
        "summarised" if message.id not in left else "memory" if message.is_memory else "kept"
        for message in done.history
    ]

    assert [one.position for one in done.ledger.fates] == list(range(len(done.history)))
    assert [one.fate for one in done.ledger.fates] == expected
    assert [one.new_position for one in done.ledger.fates] == [left.get(one.id) for one in done.history]


@law
@given(compressions())
def test_every_new_place_is_accounted_for(done: Compression) -> None:
    """Each summary is new, with exactly the messages that it was made from, whatever its text [CMP-15]."""
    places = [message.id for message in done.ledger.after]

    assert [(one.position, one.tokens, one.sources) for one in done.ledger.new_messages] == [
        (
            places.index(summary.message.id),
            summary.message.tokens,
            tuple(int(source[1:]) for source in summary.sources),
        )
        for summary in done.made
    ]


@law
@given(compressions())
def test_every_source_names_its_summary(done: Compression) -> None:
    """From the original's side the ledger says the same as from the summary's, for kept ones too [CMP-15]."""
    places = [message.id for message in done.ledger.after]

    assert [one.summaries for one in done.ledger.fates] == [
        tuple(places.index(one.message.id) for one in done.made if message.id in one.sources)
        for message in done.history
    ]


# ------------------------------------------------------------------------------------------- again

SAID = "The user goes to Lyon on the 9:40 train and asks for a hotel near the station"


async def again(answer: str = SAID, **options: Any) -> kb.Compressed:
    """A history that was compressed before, has grown since, and is compressed once more."""
    once = await compressed(talk(), SAID)
    grown = [*once.prompt.messages, kb.assistant("Hotel " + "very nice " * 60), kb.user("ok")]
    return await compressed(grown, answer, **options)


@pytest.mark.parametrize("answer", [SAID, f"{SAID}.", f"{SAID}; the hotel is very nice", "Other words."])
async def test_a_second_summary_is_new_whatever_it_repeats(answer: str) -> None:
    """The first summary went into it like everything else that is gone [CMP-15]."""
    ledger = (await again(answer)).ledger

    assert [one.fate for one in ledger.fates] == [
        "kept",
        "kept",
        "memory",
        "summarised",
        "summarised",
        "summarised",
        "kept",
    ]
    assert [(one.position, one.sources) for one in ledger.new_messages] == [(3, (0, 1, 2, 3, 4, 5, 6))]
    assert [one.summaries for one in ledger.fates] == [(3,)] * 7


async def test_a_second_summary_of_an_own_strategy_is_new_too() -> None:
    """Known by its name, without sources of its own: it was made from what is gone [CMP-15]."""

    class Again:
        async def compress(self, session: Any, memory_messages: Any) -> Any:
            summary = kb.assistant(SAID, name=SUMMARY_NAME)
            return [*session.messages[:3], summary, session.messages[-1]]

    ledger = (await again(strategy=Again())).ledger

    assert [(one.position, one.sources) for one in ledger.new_messages] == [(3, (3, 4, 5))]


async def test_an_earlier_summary_that_stays_is_kept() -> None:
    """Its id is that of an original, so it is none of the new ones [CMP-15]."""

    class Beside:
        async def compress(self, session: Any, memory_messages: Any) -> Any:
            made = await kb.summarise(session, session.messages[4:6])
            return Composition((*session.messages[:4], made.message, session.messages[-1]), (made,))

    ledger = (await again(strategy=Beside())).ledger

    assert [one.fate for one in ledger.fates[3:]] == ["kept", "summarised", "summarised", "kept"]
    assert [(one.position, one.sources) for one in ledger.new_messages] == [(4, (4, 5))]


async def test_a_second_summary_that_is_longer_is_refused() -> None:
    """Also where it repeats the first one and goes on [CMP-13]."""
    done = await again(f"{SAID}. " * 60)

    assert done.ledger.status == "refused"
    assert any("would replace about" in note for note in done.ledger.notes)


@pytest.mark.parametrize(
    ("fact", "found"), [("9:40 train", "in a summary"), ("no peanuts", "verbatim"), ("very nice", "lost")]
)
async def test_a_fact_of_the_first_summary_is_in_a_summary_after_the_second(fact: str, found: str) -> None:
    """No original message says it, whichever words the second summary repeats [CMP-16]."""
    assert (await again()).facts([fact])[0].found == found


async def test_a_fact_that_went_from_summary_to_summary_names_its_sentence() -> None:
    """In the new one, with the place of the old one before [CMP-16]."""
    finding = (await again()).facts(["9:40"])[0]

    assert (finding.before, finding.after, finding.sentences) == ((3,), (3,), ((3, 1),))


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


async def test_a_ledger_is_one_line_where_it_is_printed() -> None:
    """A cell that ends in a result does not print whole histories."""
    done = await kb.compress(kb.sample_transcript(), executor=kb.ExtractiveExecutor())

    assert len(repr(done)) < 300
    assert "WholeHistory() applied" in repr(done.ledger)
