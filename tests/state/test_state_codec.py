"""Laws of the state codec: what comes back is what was saved, and stored bytes are never trusted."""

from __future__ import annotations

import json
import struct
from collections import Counter, OrderedDict, defaultdict, deque
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntFlag
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from koogbook.errors import UndecodableValueError, UnencodableValueError
from koogbook.messages.message import Message
from koogbook.state.codec import decode_state, encode_state

quick = settings(max_examples=120, deadline=None)


class Colour(Enum):
    RED = "r"
    GREEN = "g"


class Rights(IntFlag):
    READ = 1
    WRITE = 2


@dataclass
class Metres:
    amount: float
    label: str = ""


@dataclass
class Feet:
    amount: float
    label: str = ""


@dataclass(frozen=True, slots=True)
class Leg:
    start: str | datetime
    length: Metres | Feet
    tags: frozenset[str] = frozenset()


@dataclass
class Route:
    legs: list[Leg]
    total: int = field(init=False)
    back: Route | None = None


def facts(value: Any) -> Any:
    """All that makes a value what it is, its types included, as something that can be compared and hashed."""
    kind = type(value)
    if kind is float:
        content: Any = struct.pack("d", value)
    elif kind is complex:
        content = (facts(value.real), facts(value.imag))
    elif kind in (set, frozenset):
        content = frozenset(map(facts, value))
    elif kind is deque:
        content = (value.maxlen, tuple(map(facts, value)))
    elif kind in (list, tuple):
        content = tuple(map(facts, value))
    elif isinstance(value, dict):
        factory = value.default_factory if kind is defaultdict else None
        content = (factory, tuple((facts(key), facts(part)) for key, part in value.items()))
    elif kind in (datetime, time):
        content = (value.replace(tzinfo=None).isoformat(), value.fold, type(value.tzinfo), str(value.tzinfo))
    elif isinstance(value, np.ndarray | np.generic):
        content = (value.dtype.str, value.shape, value.tobytes())
    elif is_dataclass(value):
        content = tuple((part.name, facts(getattr(value, part.name))) for part in fields(value))
    else:
        content = repr(value)
    return kind, content


zones = st.sampled_from(
    [
        None,
        UTC,
        timezone(timedelta(hours=5, minutes=45)),
        timezone(timedelta(hours=1), "夏"),
        ZoneInfo("Europe/Berlin"),
    ]
)
texts = st.text(st.characters(exclude_categories=[])) | st.sampled_from(
    ["$", "$int", "\ud83c\udf89", "预算 🎉"]
)
names = st.sampled_from(["$dict", "$list", "a", "室内", "\udf89"])

LEAVES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (None, st.none()),
    (bool, st.booleans()),
    (int, st.integers() | st.sampled_from([2**63, -(2**63) - 1, 10**40])),
    (float, st.floats()),
    (str, texts),
    (bytes, st.binary()),
    (bytearray, st.binary().map(bytearray)),
    (complex, st.complex_numbers()),
    (Decimal, st.decimals()),
    (Fraction, st.fractions()),
    (UUID, st.uuids()),
    (date, st.dates()),
    (datetime, st.datetimes(timezones=zones)),
    (time, st.times(timezones=zones)),
    (timedelta, st.timedeltas()),
    (range, st.builds(range, st.integers(), st.integers(), st.integers(1))),
    (PurePosixPath, texts.map(PurePosixPath)),
    (Colour, st.sampled_from(Colour)),
    (Rights, st.sampled_from([Rights(number) for number in range(4)])),
]
HASHABLE = [leaf for leaf in LEAVES if leaf[0] not in (bytearray, Decimal)]


def containers(inner: st.SearchStrategy[tuple[Any, Any]]) -> st.SearchStrategy[tuple[Any, Any]]:
    """Annotations that hold the inner ones, each with values that fit it."""
    keys = st.sampled_from(HASHABLE)
    few = {"max_size": 4}
    return st.one_of(
        inner.map(lambda item: (list[item[0]], st.lists(item[1], **few))),
        inner.map(lambda item: (tuple[item[0], ...], st.lists(item[1], **few).map(tuple))),
        inner.map(lambda item: (deque[item[0]], st.lists(item[1], **few).map(lambda items: deque(items, 5)))),
        inner.map(
            lambda item: (item[0] | Leaf, item[1] | st.just(Leaf())) if isinstance(item[0], type) else item
        ),
        st.tuples(inner, inner).map(
            lambda two: (tuple[two[0][0], two[1][0]], st.tuples(two[0][1], two[1][1]))
        ),
        keys.map(lambda item: (frozenset[item[0]], st.frozensets(item[1], **few))),
        keys.map(lambda item: (set[item[0]], st.sets(item[1], **few))),
        keys.map(
            lambda item: (Counter[item[0]], st.dictionaries(item[1], st.integers(), **few).map(Counter))
        ),
        st.tuples(keys, inner).map(
            lambda two: (dict[two[0][0], two[1][0]], st.dictionaries(two[0][1], two[1][1], **few))
        ),
        inner.map(lambda item: (dict[str, item[0]], st.dictionaries(names, item[1], **few))),
        inner.map(
            lambda item: (OrderedDict[str, item[0]], st.dictionaries(names, item[1], **few).map(OrderedDict))
        ),
        inner.map(
            lambda item: (
                defaultdict[str, list[item[0]]],
                st.dictionaries(names, st.lists(item[1], **few), **few).map(
                    lambda found: defaultdict(list, found)
                ),
            )
        ),
    )


@dataclass
class Leaf:
    pass


annotated = st.recursive(st.sampled_from(LEAVES), containers, max_leaves=4)
typed_values = annotated.flatmap(lambda pair: st.tuples(st.just(pair[0]), pair[1]))

lengths = st.builds(Metres, st.floats() | st.integers(), texts) | st.builds(Feet, st.floats(), texts)
legs = st.builds(Leg, texts | st.datetimes(timezones=zones), lengths, st.frozensets(texts))


def route(parts: list[Leg], total: int, back: Route | None) -> Route:
    """A route with the field set that ``__init__`` does not take."""
    made = Route(parts, back)
    made.total = total
    made.back = back
    return made


routes = st.recursive(
    st.builds(route, st.lists(legs, max_size=3), st.integers(), st.none()),
    lambda inner: st.builds(route, st.lists(legs, max_size=2), st.integers(), inner),
    max_leaves=3,
)

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
anything = st.recursive(
    st.sampled_from(LEAVES).flatmap(lambda leaf: leaf[1]) | legs | st.builds(object),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(texts | st.integers(), inner, max_size=3)
    ),
    max_leaves=6,
)
DECLARED: list[Any] = [
    Any,
    str,
    int | str | None,
    float,
    list[Leg],
    Route,
    dict[str, datetime | Decimal],
    dict[int, tuple[int, ...]],
    tuple[Any, Colour],
    set[UUID],
    frozenset[bytes],
    deque[Rights],
    defaultdict[str, list[int]],
    list[Message],
    PurePosixPath,
    date,
    np.ndarray,
    np.generic,
]


@quick
@given(typed_values)
def test_a_declared_value_comes_back_the_same_in_every_type(typed: tuple[Any, Any]) -> None:
    """Types and contents survive, NaN, minus zero, zones and key order included."""
    declared, value = typed

    assert facts(decode_state(encode_state(value, declared), declared)) == facts(value)


@quick
@given(routes)
def test_look_alike_classes_come_back_as_themselves(value: Route) -> None:
    """Unions of equal fields, ``init=False``, ``str | datetime`` and classes in themselves are exact."""
    assert facts(decode_state(encode_state(value, Route), Route)) == facts(value)


@quick
@given(plain)
def test_plain_json_needs_no_annotation(value: Any) -> None:
    """What JSON has a word for is stored without a declared type, envelopes' look-alikes included."""
    assert facts(decode_state(encode_state(value))) == facts(value)


@quick
@given(anything, st.sampled_from(DECLARED))
def test_a_value_comes_back_equal_or_is_refused(value: Any, declared: Any) -> None:
    """Nothing is ever stored with a loss: whatever the annotation, saving is exact or fails."""
    back = value
    with suppress(UnencodableValueError):
        back = decode_state(encode_state(value, declared), declared)

    assert facts(back) == facts(value)


@quick
@given(st.sets(texts | st.integers() | st.tuples(st.integers(), texts)))
def test_equal_values_give_equal_bytes(value: set[Any]) -> None:
    """A set's bytes do not depend on the order in which its items came."""
    declared = set[str | int | tuple[int, str]]
    items = sorted(value, key=repr)
    turned = set(items)

    assert encode_state(turned, declared) == encode_state(value, declared)


@quick
@given(typed_values)
def test_stored_state_is_strict_json_in_utf8(typed: tuple[Any, Any]) -> None:
    """Any tool can read what is stored: there is no bare NaN in it, and no lone surrogate."""
    declared, value = typed
    text = encode_state(value, declared).decode("utf-8")

    assert json.loads(text, parse_constant=pytest.fail) == msgspec.json.decode(text)


def survives(body: bytes, declared: Any) -> bool:
    """Whether reading ends in a value or in the one error that is allowed."""
    with suppress(UndecodableValueError):
        decode_state(body, declared)
    return True


TAGS = [
    "$int",
    "$float",
    "$str",
    "$dict",
    "$list",
    "$None",
    "$bool",
    "$tuple",
    "$set",
    "$frozenset",
    "$deque",
    "$Counter",
    "$OrderedDict",
    "$defaultdict",
    "$bytes",
    "$datetime",
    "$time",
    "$date",
    "$timedelta",
    "$timezone",
    "$ZoneInfo",
    "$Decimal",
    "$Fraction",
    "$UUID",
    "$range",
    "$complex",
    "$PosixPath",
    "$WindowsPath",
    "$PurePosixPath",
    "$ndarray",
    "$npscalar",
    "$npstr",
    "$DataFrame",
    "$Series",
    "$Index",
    "$Timestamp",
    "$NaT",
    "$Message",
    "$Text",
    "$os:system",
    "$builtins.eval",
    "$test_state_codec.Route",
    "$test_state_codec.Colour",
]
forged = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from([*TAGS, "legs", "total", "dtype", "shape", "data"]), inner, max_size=3
        )
    ),
    max_leaves=10,
).map(lambda value: json.dumps(value).encode())


@settings(max_examples=300, deadline=None)
@given(forged | st.binary(), st.sampled_from(DECLARED))
def test_forged_bytes_raise_one_error_only(body: bytes, declared: Any) -> None:
    """Whatever stands in a file, reading gives a value of the declared types or ``UndecodableValueError``."""
    assert survives(body, declared)


@quick
@given(routes, st.integers(0), st.integers(0, 255))
def test_a_damaged_body_raises_one_error_only(value: Route, place: int, byte: int) -> None:
    """One byte changed anywhere is a value or the one error, never another exception."""
    body = bytearray(encode_state(value, Route))
    body[place % len(body)] = byte

    assert survives(bytes(body), Route)


@pytest.mark.parametrize("declared", DECLARED, ids=str)
@pytest.mark.parametrize(
    "body",
    [
        b'{"$os:system": ["touch PWNED"]}',
        b'{"$builtins.eval": "open(1)"}',
        b'{"$subprocess.Popen": {"args": ["touch", "PWNED"]}}',
        b'{"$ZoneInfo": "../../etc/passwd"}',
        b'{"$defaultdict": ["eval", []]}',
        b'{"$ndarray": {"dtype": "|O", "shape": [1], "order": "C", "data": "AAAAAAAAAAA="}}',
        bytes.fromhex(
            "80049526000000000000008c05706f736978948c0673797374656d9493948c0a746f7563682050574e45449485"
        ),
        b"[" * 100_000,
        b"",
    ],
)
def test_a_payload_that_names_code_is_refused(body: bytes, declared: Any) -> None:
    """A tag is looked up among the declared types only, a pickle is no JSON."""
    with pytest.raises(UndecodableValueError):
        decode_state(body, declared)
