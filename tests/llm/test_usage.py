"""Sums of what requests cost: for purposes, nodes, models, and all together."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import koogbook as kb
from koogbook.llm import usage
from koogbook.llm.call_record import CallRecord, SpentInVain
from koogbook.llm.request import Request
from koogbook.llm.usage import (
    Spending,
    answering_model,
    spent_in_vain,
    usage_by_model,
    usage_by_node,
    usage_by_purpose,
    usage_of_all,
)
from koogbook.messages.model import LLModel, as_model
from koogbook.tools.tool import ToolSpec

FIFTEEN = kb.Usage(10, 5)
CHEAPER_SINCE = datetime(2001, 1, 1, tzinfo=UTC)
#: Dollars for a token of each model; others have no price.
PRICES = {"a:x": Decimal("0.5"), "a:y": Decimal(2)}


@pytest.fixture(autouse=True)
def own_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prices of our own, so that sums can be added up by hand."""

    def price_of(model: LLModel, counted: kb.Usage, *, when: datetime) -> Decimal | None:
        each = PRICES.get(str(model))
        if each is None:
            return None
        return each * counted.total * (10 if when < CHEAPER_SINCE else 1)

    monkeypatch.setattr(usage, "price_of", price_of)


def record(
    *,
    model: str = "a:x",
    counted: kb.Usage | None = FIFTEEN,
    path: str = "trip/a",
    purpose: Any = "conversation",
    error: str = "",
    answered: bool = True,
    metadata: Any = None,
    in_vain: Any = (),
    tools: Any = (),
    time: datetime | None = None,
) -> CallRecord:
    """One request; ``metadata`` and ``time`` are those of its answer, ``in_vain`` what was counted without one."""
    reply = kb.assistant("hi there", usage=counted, metadata=metadata)
    if time is not None:
        reply = replace(reply, time=time)
    return CallRecord(
        number=1,
        path=path,
        request=Request(messages=(kb.user("hello"),), model=as_model(model), purpose=purpose, tools=tools),
        reply=reply if answered and not error else None,
        seconds=0.0,
        error=error,
        spent=tuple(
            SpentInVain(model=name, usage=usage, time=datetime(2026, 1, 1, tzinfo=UTC))
            for name, usage in in_vain
        ),
    )


MODELS = st.sampled_from(["a:x", "a:y", "local"])
COUNTS = st.builds(kb.Usage, *[st.none() | st.integers(-5, 100)] * 5)
RECORDS = st.lists(
    st.builds(
        lambda model, counted, path, purpose, error, answered, metadata, in_vain: record(
            model=model,
            counted=counted,
            path=path,
            purpose=purpose,
            error=error,
            answered=answered,
            metadata=metadata,
            in_vain=in_vain,
        ),
        MODELS,
        st.none() | COUNTS,
        st.sampled_from(["", "trip/a", "trip/b"]),
        st.sampled_from(["conversation", "compression", "flush"]),
        st.sampled_from(["", "", "ProviderError: x"]),
        st.booleans(),
        st.sampled_from(
            [
                {},
                {"cached": True},
                {"model": False},
                {"answered_by": "a:y"},
                {"answered_by": "ScriptedExecutor"},
            ]
        ),
        st.lists(st.tuples(MODELS, COUNTS), max_size=2),
    ),
    max_size=8,
)
OFFLINE = record(model="local", metadata={"model": False})
NUMBERS = [name for name in Spending.__struct_fields__ if name != "cost"]


@given(RECORDS)
def test_each_way_to_take_it_apart_adds_up_to_all(records: list[CallRecord]) -> None:
    """Nothing is counted twice, and nothing is left out [AGT-01]."""
    whole = usage_of_all(records)
    ways: list[Any] = [usage_by_purpose(records), usage_by_node(records), usage_by_model(records)]

    for way in ways:
        assert [sum(getattr(one, name) for one in way) for name in NUMBERS] == [
            getattr(whole, name) for name in NUMBERS
        ]
        assert sum((one.cost or Decimal(0)) for one in way) == (whole.cost or 0)


@given(RECORDS, RECORDS)
def test_what_two_runs_spent_is_the_sum_of_what_each_did(
    first: list[CallRecord], second: list[CallRecord]
) -> None:
    """In every number [AGT-01]."""
    both, one, other = usage_of_all([*first, *second]), usage_of_all(first), usage_of_all(second)

    assert [getattr(one, name) + getattr(other, name) for name in NUMBERS] == [
        getattr(both, name) for name in NUMBERS
    ]
    assert (both.cost or 0) == (one.cost or 0) + (other.cost or 0)


@given(RECORDS)
def test_every_request_is_counted_in_one_place(records: list[CallRecord]) -> None:
    """It was sent or not; and where it was sent it waits, failed, or was answered in one of three ways [AGT-01]."""
    whole = usage_of_all(records)
    waiting = sum(one.reply is None and not one.error for one in records)

    assert whole.calls + whole.cached == len(records)
    assert whole.calls == waiting + whole.failed + whole.offline + whole.priced + whole.unpriced
    assert whole.in_vain == sum(len(one.spent) for one in records)
    unknown, known = whole.unpriced + whole.in_vain_unpriced, whole.in_vain - whole.in_vain_unpriced
    assert (whole.cost is None) is (unknown > 0 and whole.priced + known == 0)


@given(RECORDS)
def test_no_sum_is_below_nothing(records: list[CallRecord]) -> None:
    """Whatever a provider says that it counted [EXE-04]."""
    whole = usage_of_all(records)

    assert min(getattr(whole, name) for name in NUMBERS) >= 0
    assert (whole.cost or 0) >= 0


def test_what_a_provider_counted_is_taken_as_it_is() -> None:
    """With what it says of its cache, and of reasoning [EXE-04]."""
    spent = usage_of_all([record(counted=kb.Usage(10, 5, 3, 2, 1)), record(counted=kb.Usage(1, 1))])

    assert spent == Spending(
        calls=2,
        priced=2,
        input_tokens=11,
        output_tokens=6,
        cache_read_tokens=3,
        cache_write_tokens=2,
        reasoning_tokens=1,
        cost=Decimal("8.5"),
    )


def test_a_price_is_that_of_the_time_of_the_answer() -> None:
    """Which may be long ago where a run is looked at again [EXE-04]."""
    before, since = (record(time=datetime(year, 6, 1, tzinfo=UTC)) for year in (2000, 2001))

    assert (usage_of_all([before]).cost, usage_of_all([since]).cost) == (Decimal("75.0"), Decimal("7.5"))


@pytest.mark.parametrize(
    ("counted", "tokens"),
    [(kb.Usage(-10, 5), ("estimate", 5)), (kb.Usage(10, -5), (10, "estimate"))],
    ids=str,
)
def test_what_no_provider_can_have_counted_is_estimated(counted: kb.Usage, tokens: Any) -> None:
    """And said to be [EXE-04]."""
    one = record(counted=counted)
    assert one.reply is not None
    guessed = (one.tokens, one.reply.tokens)
    spent = usage_of_all([one])

    assert spent.estimated == 1
    assert (spent.input_tokens, spent.output_tokens) == tuple(
        guess if told == "estimate" else told for guess, told in zip(guessed, tokens, strict=True)
    )


def test_an_estimate_counts_the_tools_that_were_sent() -> None:
    """They may be longer than the history [EXE-04]."""
    tools = (ToolSpec("search", "Looks for places that are worth seeing in a city.", '{"type": "object"}'),)
    bare, with_tools = usage_of_all([record(counted=None)]), usage_of_all([record(counted=None, tools=tools)])

    assert with_tools.input_tokens == record(tools=tools).tokens > bare.input_tokens


def test_an_attempt_in_vain_has_a_cost_of_its_own() -> None:
    """It is added to the model that was asked, at the price of its time [EXE-04]."""
    one = record(model="local", error="ProviderError: x", in_vain=[("a:x", FIFTEEN), ("local", FIFTEEN)])
    whole = usage_of_all([one])

    assert (whole.calls, whole.failed, whole.in_vain, whole.in_vain_unpriced) == (1, 1, 2, 1)
    assert (whole.input_tokens, whole.output_tokens, whole.cost) == (20, 10, Decimal("7.5"))
    assert [(one.model, one.calls, one.in_vain, one.cost) for one in usage_by_model([one])] == [
        ("a:x", 0, 1, Decimal("7.5")),
        ("local", 1, 1, None),
    ]
    assert spent_in_vain([one, record()]) == replace(whole, calls=0, failed=0)


def test_what_cannot_have_been_counted_in_vain_is_left_out() -> None:
    """Nothing is known of an attempt from which it could be estimated [EXE-04]."""
    whole = usage_of_all([record(error="ProviderError: x", in_vain=[("a:x", kb.Usage(-10, 5, -1))])])

    assert (whole.input_tokens, whole.output_tokens, whole.cache_read_tokens) == (0, 5, 0)


@pytest.mark.parametrize("counted", [None, kb.Usage(10), kb.Usage(None, 5)], ids=str)
def test_what_a_provider_did_not_count_is_estimated(counted: kb.Usage | None) -> None:
    """And said to be, one call for each; the cost rests on it as well [EXE-04]."""
    one = record(counted=counted)
    assert one.reply is not None
    given = counted.input_tokens if counted and counted.input_tokens else one.request.tokens
    made = counted.output_tokens if counted and counted.output_tokens else one.reply.tokens
    spent = usage_of_all([one])

    assert (spent.estimated, spent.input_tokens, spent.output_tokens) == (1, given, made)
    assert spent.cost == Decimal("0.5") * (given + made)


def test_an_answer_without_a_model_costs_nothing() -> None:
    """That is known, whatever model was named [EXE-03]."""
    spent = usage_of_all([OFFLINE])

    assert (spent.offline, spent.unpriced, spent.cost, spent.input_tokens) == (1, 0, Decimal(0), 10)


def test_a_model_without_a_price_costs_something_unknown() -> None:
    """Which is neither 0, nor added to what others cost as if it were [EXE-04]."""
    alone = usage_of_all([record(model="local"), OFFLINE])
    beside = usage_of_all([record(model="local"), record()])

    assert (alone.cost, alone.unpriced) == (None, 1)
    assert (beside.cost, beside.priced, beside.unpriced) == (Decimal("7.5"), 1, 1)


def test_a_request_that_failed_has_no_tokens() -> None:
    """Nobody says what it cost [EXE-04]."""
    spent = usage_of_all([record(error="ProviderError: x")])

    assert spent == Spending(calls=1, failed=1)


def test_a_request_that_is_on_its_way_has_not_failed() -> None:
    """While a run goes on [AGT-01]."""
    assert usage_of_all([record(answered=False)]) == Spending(calls=1)


def test_nothing_costs_nothing() -> None:
    """No request at all [AGT-01]."""
    assert (usage_of_all([]), usage_by_purpose([]), usage_by_node([]), usage_by_model([])) == (
        Spending(),
        (),
        (),
        (),
    )


@pytest.mark.parametrize(
    ("metadata", "model"),
    [
        ({}, "a:x"),
        ({"answered_by": "a:y"}, "a:y"),
        ({"answered_by": "ScriptedExecutor"}, "a:x"),
        ({"answered_by": "local", "instead_of": "a:x"}, "local"),
        ({"answered_by": 3}, "a:x"),
    ],
    ids=str,
)
def test_tokens_are_those_of_the_model_that_answered(metadata: Any, model: str) -> None:
    """Which a chain of models says in the answer [EXE-04]."""
    one = record(metadata=metadata)

    assert (str(answering_model(one)), usage_by_model([one])[0].model) == (model, model)


def test_the_parts_come_in_the_order_in_which_they_first_did() -> None:
    """Purposes, nodes and models [AGT-01]."""
    records = [
        record(path="t/b", purpose="flush", model="a:y"),
        record(),
        record(path="t/b", purpose="flush", model="a:y"),
    ]

    assert [one.purpose for one in usage_by_purpose(records)] == ["flush", "conversation"]
    assert [(one.path, one.calls) for one in usage_by_node(records)] == [("t/b", 2), ("trip/a", 1)]
    assert [one.model for one in usage_by_model(records)] == ["a:y", "a:x"]
