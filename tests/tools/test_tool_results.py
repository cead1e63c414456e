"""What a tool returns reaches the model as text: itself, or deterministic JSON, and never a repr."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, StrEnum
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, RootModel, field_serializer

import koogbook as kb
from koogbook.tools.results import ResultError, as_text


class Colour(Enum):
    RED = "red"


class Word(StrEnum):
    YES = "yes"


class Point(NamedTuple):
    x: int
    y: int


@dataclass
class Place:
    name: str
    tags: set[str]


class Stop(msgspec.Struct, tag="stop", rename="camel"):
    at_noon: bool
    place: Place


class Trip(BaseModel):
    days: int
    when: datetime
    photo: bytes = b"\xff"


class Loud(BaseModel):
    word: str

    @field_serializer("word")
    def loud(self, word: str) -> str:  # noqa: D102
        return word.upper()


class Thing:
    def __repr__(self) -> str:
        return "<never shown>"


WHEN = datetime(2026, 3, 1, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        ("plain", "plain"),
        ('{"a": 1}', '{"a": 1}'),
        ("\ud83d\0", "\ud83d\0"),
        (Word.YES, "yes"),
        (None, ""),
        (True, "true"),
        (3, "3"),
        (1.5, "1.5"),
        (
            {"addr": "Hauptstraße 3", "ok": True, "n": None},
            '{"addr": "Hauptstraße 3", "ok": true, "n": null}',
        ),
        ({"z": 1, "a": "\ud83d"}, '{"z": 1, "a": "\ud83d"}'),
        (OrderedDict(b=1, a=2), '{"b": 1, "a": 2}'),
        (MappingProxyType({"b": 1}), '{"b": 1}'),
        (
            {1: "a", None: "b", Colour.RED: "c", date(2026, 3, 1): "d"},
            '{"1": "a", "null": "b", "red": "c", "2026-03-01": "d"}',
        ),
        ([1, (2, "x"), Point(3, 4)], '[1, [2, "x"], [3, 4]]'),
        (deque([1, 2]), "[1, 2]"),
        (range(3), "[0, 1, 2]"),
        ({"tags": {"b", "a"}}, '{"tags": ["a", "b"]}'),
        ({10, 9, 2.5}, "[2.5, 9, 10]"),
        (frozenset({"b", 1, None, ("a",)}), '[1, "b", ["a"], null]'),
        ({"f": b"\xff\xfe\x00png"}, '{"f": {"$bytes": "//4AcG5n"}}'),
        (bytearray(b"ab"), '{"$bytes": "YWI="}'),
        (WHEN, '"2026-03-01T08:00:00+00:00"'),
        (timedelta(hours=1), '"PT3600S"'),
        (Decimal("1.10"), '"1.10"'),
        (Decimal("1e999"), '"1E+999"'),
        (UUID(int=5), '"00000000-0000-0000-0000-000000000005"'),
        (PurePosixPath("/tmp/ü"), '"/tmp/ü"'),
        (Colour.RED, '"red"'),
        (Place("ü", {"b", "a"}), '{"name": "ü", "tags": ["a", "b"]}'),
        (
            Stop(True, Place("x", set())),
            '{"type": "stop", "atNoon": true, "place": {"name": "x", "tags": []}}',
        ),
        (
            Trip(days=2, when=WHEN),
            '{"days": 2, "when": "2026-03-01T08:00:00+00:00", "photo": {"$bytes": "/w=="}}',
        ),
        (Loud(word="yes"), '{"word": "YES"}'),
        (RootModel[list[int]]([1]), "[1]"),
        (np.int64(3), "3"),
        (np.float64(1.5), "1.5"),
        (np.array([[1, 2]]), "[[1, 2]]"),
    ],
    ids=lambda one: type(one).__name__ if not isinstance(one, str) else "",
)
def test_a_value_has_one_text(returned: Any, text: str) -> None:
    """Real characters, keys in their order, sets sorted, bytes as base64 [AGT-05, KB-035, KB-037, KB-038]."""
    assert as_text(returned) == text


def _cyclic() -> Any:
    inner: list[Any] = []
    return {"a": inner, "b": [inner.append(inner)]}


def _nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (Thing, "it returned an object of type Thing, which is no JSON. Return text"),
        (lambda: {"a": [1, Thing()]}, r"an object of type Thing at a\[1\], which is no JSON"),
        (lambda: Place("x", {Thing()}), "an object of type Thing at tags"),  # type: ignore[arg-type]
        (lambda: float("nan"), "the number nan, which is no JSON"),
        (lambda: {"a": float("-inf")}, "the number -inf at a"),
        (lambda: Decimal("NaN"), "the number NaN"),
        (lambda: Decimal("-Infinity"), "the number -Infinity"),
        (lambda: np.float64("nan"), "the number nan"),
        (_cyclic, "a list that holds itself at a"),
        (lambda: _nested(100_000), "nested more than 100 deep"),
        (lambda: {Thing(): 1}, "a key of type Thing"),
        (lambda: {("a", "b"): 1}, "a key of type tuple"),
        (lambda: {1: "a", "1": "b"}, "two keys that are both '1'"),
        (lambda: 10**5_000, "no JSON"),
        (lambda: pd.DataFrame({"a": [1]}), "an object of type DataFrame"),
        (lambda: np.array([Thing()]), "an object of type ndarray"),
        (lambda: Place, "an object of type type"),
        (lambda: (one for one in "ab"), "an object of type generator"),
        (lambda: kb.user("x"), "it returned a Message.* message.text"),
    ],
)
def test_what_is_no_json_is_refused(make: Callable[[], Any], words: str) -> None:
    """With its type, where it stands, and what to return instead; it is never shown [AGT-05, KB-038]."""
    with pytest.raises(ResultError, match=words) as caught:
        as_text(make())

    assert "never shown" not in str(caught.value)


def test_a_value_that_stands_twice_does_not_hold_itself() -> None:
    """Beside each other is not inside each other [AGT-05]."""
    shared = [1]

    assert as_text([shared, shared]) == "[[1], [1]]"


def test_a_large_value_is_whole() -> None:
    """Nothing is cut off [AGT-05]."""
    assert json.loads(as_text({"rows": list(range(200_000))})) == {"rows": list(range(200_000))}


_PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(_PLAIN.filter(lambda value: value is not None and not isinstance(value, str)))
def test_plain_data_is_read_back_equal(value: Any) -> None:
    """The text is JSON, whole [KB-035]."""
    assert json.loads(as_text(value)) == value


def test_the_text_of_a_set_is_the_same_in_every_process() -> None:
    """Python hashes text another way each time it starts [KB-038]."""
    program = "from koogbook.tools.results import as_text; print(as_text({'tags': set('qwertyuiop')}))"
    texts = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }

    assert len(texts) == 1
