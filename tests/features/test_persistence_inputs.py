"""Which input is the one that an unfinished run was started with."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from persisted_runs import Boom

import koogbook as kb
from koogbook.errors import UnfinishedRunError
from koogbook.features.persistence.inputs import is_same_input
from koogbook.state.codec import encode_state


@dataclass
class Order:
    """An input with a mapping inside."""

    prices: dict[str, int | float | bool]


class Odd(str):
    """A value that cannot be stored."""


async def start(store: Any, given: Any, declared: Any) -> kb.Run:
    """Run a strategy that takes this type and stops after its first node."""
    job = kb.strategy("job", input=declared)

    @job.node
    async def first(ctx: kb.Context, value: Any) -> str:
        return "done"

    @job.node
    async def second(ctx: kb.Context, text: str) -> str:
        raise Boom

    job.start >> first >> second >> job.finish
    agent = kb.Agent(kb.OfflineExecutor(), "m", job).install(kb.Persistence(store))
    with suppress(Boom):
        await agent.run(given, session_id="s")
    assert agent.last_run is not None
    return agent.last_run


async def test_the_order_of_a_mapping_makes_no_other_input(store: Any) -> None:
    """Equal dicts are the same input [PER-05a]."""
    await start(store, {"a": 1, "b": 2}, dict[str, int])

    assert (await start(store, {"b": 2, "a": 1}, dict[str, int])).resumed


async def test_an_equal_number_of_another_type_is_another_input(store: Any) -> None:
    """1, 1.0 and True are three inputs [PER-05a]."""
    await start(store, {"a": 1, "b": 2}, dict[str, Any])

    with pytest.raises(UnfinishedRunError):
        await start(store, {"b": 2, "a": True}, dict[str, Any])


@pytest.mark.parametrize(
    ("one", "other", "declared", "same"),
    [
        ({1: "a", 2: "b"}, {2: "b", 1: "a"}, dict[int, str], True),
        ([{"a": 1, "b": 2}], [{"b": 2, "a": 1}], list[dict[str, int]], True),
        ({"$x": 1, "b": {"c": 1, "d": 2}}, {"b": {"d": 2, "c": 1}, "$x": 1}, Any, True),
        (Order({"a": 1, "b": 2}), Order({"b": 2, "a": 1}), Order, True),
        (Counter("aab"), Counter("baa"), Counter[str], True),
        (defaultdict(int, a=1, b=2), defaultdict(int, b=2, a=1), defaultdict[str, int], True),
        (defaultdict(int, a=1, b=2), defaultdict(list, b=2, a=1), defaultdict[str, Any], False),
        (OrderedDict(a=1, b=2), OrderedDict(b=2, a=1), OrderedDict[str, int], False),
        ([1, 2], [2, 1], list[int], False),
        ([[1, True]], [[True, 1]], Any, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1.0}, Any, False),
        (Order({"a": 1, "b": 2}), Order({"b": 2, "a": True}), Order, False),
        ({"a": 1, "b": 2}, {"b": 2}, Any, False),
        ({"a": 1}, Odd("x"), Any, False),
        ({"a": float("nan"), "b": 1}, {"a": float("nan"), "b": 1}, Any, True),
    ],
)
def test_inputs_are_compared_with_their_types(one: Any, other: Any, declared: Any, same: bool) -> None:
    """Equal by value and by every type inside [PER-05a]."""
    assert is_same_input(encode_state(one, declared), other, declared) is same


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, 1.0, 2.5]) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab$", max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


def turned(value: Any) -> Any:
    """The same value with the entries of all its dicts in the opposite order."""
    if isinstance(value, list):
        return [turned(one) for one in value]
    if isinstance(value, dict):
        return {key: turned(one) for key, one in reversed(value.items())}
    return value


@settings(max_examples=200, deadline=None)
@given(PLAIN)
def test_a_value_with_its_dicts_turned_round_is_the_same_input(value: Any) -> None:
    """However deep they are [PER-05a]."""
    assert is_same_input(encode_state(value), turned(value), Any)


@settings(max_examples=200, deadline=None)
@given(PLAIN, PLAIN)
def test_values_that_differ_are_other_inputs(one: Any, other: Any) -> None:
    """The same input is never unequal [PER-05a]."""
    assert not is_same_input(encode_state(one), other, Any) or one == other
