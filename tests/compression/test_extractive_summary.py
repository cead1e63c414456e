"""The executor that summarises without a model: verbatim and deterministic, and it says what it is."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st
from random_histories import WHEN

import koogbook as kb
from koogbook.llm.request import quote_history

quick = settings(max_examples=100, deadline=None)
WORDS = "train coast bicycle platform ticket night 9 12:30 Berlin OST 火车 站台 the and of to".split()
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join)
ENDS = st.sampled_from([". ", "! ", "? ", "。", "\n", ", ", "... "])
TEXTS = st.lists(st.tuples(SENTENCES, ENDS), max_size=8).map(lambda pairs: "".join(map("".join, pairs)))
HISTORIES = st.lists(
    st.tuples(
        st.sampled_from([kb.user, kb.assistant]),
        st.one_of(TEXTS, st.text(st.characters(codec=None), max_size=60)),
    ),
    min_size=1,
    max_size=6,
).map(lambda turns: [make(text, id=f"m{position}", time=WHEN) for position, (make, text) in enumerate(turns)])


def summary(history: list[kb.Message]) -> kb.Message:
    """The answer to a request for a summary of this history."""
    request = kb.Request(
        messages=(kb.system("Summarise."), kb.user(quote_history(history))),
        model=kb.LLModel("offline"),
        purpose="compression",
    )
    return asyncio.run(kb.ExtractiveExecutor().execute(request))


@quick
@given(HISTORIES)
def test_every_sentence_of_a_summary_stands_in_the_history(history: list[kb.Message]) -> None:
    """Word for word: nothing is made up [CMP-15]."""
    quoted = quote_history(history)

    assert all(line in quoted for line in summary(history).text.split("\n"))


@quick
@given(HISTORIES)
def test_a_history_with_any_text_has_a_summary(history: list[kb.Message]) -> None:
    """In every script: an empty summary would stop the compression [CMP-15]."""
    assert bool(summary(history).text) == any(message.text.strip() for message in history)


@quick
@given(HISTORIES)
def test_the_same_history_gives_the_same_summary(history: list[kb.Message]) -> None:
    """No chance and no clock in it."""
    assert summary(history).text == summary(history).text


@quick
@given(HISTORIES)
def test_a_summary_is_no_longer_than_it_may_be(history: list[kb.Message]) -> None:
    """Twelve sentences at most."""
    assert summary(history).text.count("\n") < 12


async def test_a_summary_says_that_no_model_answered() -> None:
    """The ledger's reader must not take it for a model's work."""
    history = [kb.user("The night train to the coast carries bicycles."), kb.assistant("It leaves at nine.")]

    done = await kb.compress(history, executor=kb.ExtractiveExecutor(), allow_longer=True)

    made = next(message for message in done.prompt if message.is_summary)
    assert (made.metadata["answered_by"], made.metadata["model"]) == ("ExtractiveExecutor", False)


async def test_tags_of_the_quotation_are_no_sentences() -> None:
    """What stands around the messages is not part of what was said."""
    history = [kb.user("The night train to the coast carries bicycles."), kb.assistant("It leaves at nine.")]

    done = await kb.compress(history, executor=kb.ExtractiveExecutor(), allow_longer=True)

    assert all("<" not in message.text for message in done.prompt)
