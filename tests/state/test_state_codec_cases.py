"""The state codec case by case: what is stored, what is refused, and what a changed class does to it."""

from __future__ import annotations

import dataclasses
import json
import sys
import types
from abc import ABC
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import InitVar, dataclass, field, make_dataclass
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import Enum, IntEnum, IntFlag
from functools import cached_property
from pathlib import Path, PurePath, PureWindowsPath
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    Optional,
    TypedDict,
    TypeVar,
)
from uuid import UUID, SafeUUID
from zoneinfo import ZoneInfo

import msgspec
import pydantic
import pytest
import typing_extensions

from koogbook.errors import UndecodableValueError, UnencodableValueError
from koogbook.messages.message import Message, assistant, user
from koogbook.messages.parts import Text, ToolCall
from koogbook.state.codec import decode_state, describe_type, encode_state, type_shape

NOON = datetime(2026, 3, 8, 12, tzinfo=UTC)
T = TypeVar("T")
UserId = NewType("UserId", int)
Tree = typing_extensions.TypeAliasType("Tree", dict[str, "Tree"] | list["Tree"] | datetime)
Point = namedtuple("Point", "x y")


class Art:
    """A class that holds enums."""

    class Phase(Enum):
        """A plain enum inside a class."""

        QUERY = "q"
        ANSWER = "a"

    class Flags(IntFlag):
        """Flags inside a class."""

        A = 1
        B = 2


class Level(IntEnum):
    LOW = 1


@dataclass
class SeatHold:
    seat: str
    until: datetime


@dataclass
class PaidHold(SeatHold):
    price: Decimal = Decimal(0)


@dataclass
class Trip:
    holds: list[SeatHold]
    phase: Art.Phase = Art.Phase.QUERY


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    seat: str
    gate: int | None = None


@dataclass
class Sealed:
    secret: InitVar[str]
    length: int = field(init=False)

    def __post_init__(self, secret: str) -> None:
        self.length = len(secret)

    @cached_property
    def double(self) -> int:
        """Derived, so no content of its own."""
        return 2 * self.length


@dataclass
class Box(Generic[T]):
    content: T
    others: list[T] = field(default_factory=list)


@dataclass
class IntBox(Box[int]):
    pass


@dataclass
class Shape(ABC):
    name: str


@dataclass
class OddDict(dict):  # type: ignore[type-arg]
    name: str = ""


@dataclass
class Broken:
    good: int
    bad: NoSuchType = 0  # type: ignore[name-defined]  # noqa: F821


class Row(msgspec.Struct, frozen=True, rename="camel"):
    first_name: str
    born: date | None = None
    tags: list[str] = []


class Trimmed(msgspec.Struct):
    text: str

    def __post_init__(self) -> None:
        self.text = self.text.strip()


class Place(NamedTuple):
    name: str
    at: tuple[float, float] = (0.0, 0.0)


class Options(TypedDict):
    limit: int
    since: NotRequired[datetime]


Odd = TypedDict("Odd", {"$int": int})


class Msg(pydantic.BaseModel):
    text: str
    due: date | None = None
    _seen: int = pydantic.PrivateAttr(default=0)


class Call(Msg):
    calls: list[str] = []


class Loose(pydantic.BaseModel, extra="allow"):
    text: str


class Text2(str):
    pass


def stored(value: Any, declared: Any = Any) -> Any:
    """The value after a save and a load."""
    return decode_state(encode_state(value, declared), declared)


def sealed(length: int) -> Sealed:
    """An instance whose cached property was read already."""
    made = Sealed("x" * length)
    assert made.double == 2 * length
    return made


ROUND_TRIPS: list[tuple[Any, Any]] = [
    (None, None),
    (True, int),
    (3, float),
    (2, complex),
    (-0.0, float),
    (10**40, int),
    ("ok \ud83c", str),
    ({"\udf89": 1}, dict),
    ({"$int": "3"}, dict),
    ({"$dict": []}, Any),
    ([1, "a", None, {"b": [2.5]}], Any),
    ((1, (2, 3)), tuple[int, tuple[int, int]]),
    ((), tuple[()]),
    ((1, "a"), tuple),
    ({1: "int key", (1, 2): "tuple key"}, dict[int | tuple[int, int], str]),
    ({Art.Phase.QUERY: 1}, dict[Art.Phase, int]),
    (frozenset({frozenset({1})}), frozenset[frozenset[int]]),
    ({3}, set[int]),
    (range(3, 9, 2), range),
    (1 + 2j, complex),
    (b"\x00\xff", bytes),
    (bytearray(b"ab"), bytearray),
    (defaultdict(list, a=[1]), defaultdict[str, list[int]]),
    (defaultdict(None, a=1), dict[str, int]),
    (Counter("aab"), Counter[str]),
    (OrderedDict([("z", 1), ("a", 2)]), Mapping[str, int]),
    (deque([1, 2], maxlen=2), deque[int]),
    (deque([1], maxlen=0), deque[int]),
    (range(3), Sequence[int]),
    ((1, 2), Iterable[int]),
    (frozenset({1}), AbstractSet[int]),
    (NOON, str | datetime),
    ("2026-03-08T12:00:00+00:00", str | datetime),
    (NOON, date),
    (datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=1), datetime),
    (datetime(2026, 3, 8, tzinfo=timezone(timedelta(hours=8), "北京")), datetime),
    (ZoneInfo("Asia/Shanghai"), tzinfo),
    (UTC, tzinfo),
    (Decimal("1.10"), Decimal),
    (Decimal("-sNaN7"), Decimal | None),
    (UUID(int=7, is_safe=SafeUUID.safe), UUID),
    (Path("室内/a b"), Path),
    (Path("a"), PurePath),
    (PureWindowsPath("C:/x"), PurePath),
    (Art.Phase.QUERY, Art.Phase),
    (Art.Flags.A | Art.Flags.B, Art.Flags),
    (Level.LOW, Level | int),
    ("slow", Literal["slow", 1, Level.LOW]),
    (Level.LOW, Literal["slow", 1, Level.LOW]),
    (UserId(7), UserId),
    (5, Annotated[int, ["unhashable"]]),
    (5, Optional[int]),  # noqa: UP045
    ({"a": [NOON, {"b": NOON}]}, Tree),
    (SeatHold("4A", NOON), SeatHold),
    ([PaidHold("4A", NOON, Decimal("9.5")), SeatHold("4B", NOON)], list[SeatHold | PaidHold]),
    (Ticket(seat="4A"), Ticket),
    (sealed(5), Sealed),
    (Box(NOON, [NOON]), Box[datetime]),
    (IntBox(1, [2]), IntBox),
    (Box(Box(1)), Box[Box[int]] | Box[str]),
    (Row("Ada", date(1815, 12, 10), ["x"]), Row),
    (Point(1, [2]), Point),
    (Place("Beijing", (39.9, 116.4)), Place),
    ({"limit": 3, "since": NOON}, Options),
    ({"limit": 3}, Options),
    ({"$int": 3}, Odd),
    ([Call(text="x", calls=["c1"]), Msg(text="y")], list[Msg | Call]),
    (Loose(text="x", more=[1]), Loose),
    (user("hi", id="m1", time=NOON), Any),
    (
        [
            assistant(
                "",
                calls=[ToolCall("add", "{broken", "c1")],
                id="m2",
                time=NOON.astimezone(ZoneInfo("Asia/Tokyo")),
            )
        ],
        list[Message],
    ),
    ({"part": Text("half \ud83c")}, dict[str, Any]),
]


@pytest.mark.parametrize(("value", "declared"), ROUND_TRIPS, ids=lambda part: repr(part)[:50])
def test_a_value_comes_back_equal_and_of_its_type(value: Any, declared: Any) -> None:
    """Every kind of value that the annotation allows is exact; ``repr`` tells types inside apart."""
    back = stored(value, declared)

    assert (type(back), repr(back)) == (type(value), repr(value))


REFUSED: list[tuple[Any, Any, str, str]] = [
    ((1, 2), Any, "$", "plain JSON"),
    ([{"a": NOON}], Any, "$[0]['a']", "datetime"),
    ({1: 2}, dict, "$.key(1)", "int"),
    ([(1,)], list, "$[0]", "tuple"),
    (SeatHold("4A", NOON), object, "$", "SeatHold"),
    ("3", int, "$", "str"),
    (1, bool, "$", "int"),
    (1.0, int, "$", "float"),
    (Text2("x"), str, "$", "str | Text2"),
    (Level.LOW, int, "$", "int | Level"),
    ([SeatHold("4A", NOON), PaidHold("4B", NOON)], list[SeatHold], "$[1]", "SeatHold | PaidHold"),
    ([Call(text="x")], list[Msg], "$[0]", "Msg | Call"),
    (Trip([SeatHold("4A", "soon")]), Trip, "$.holds[0].until", "str"),  # type: ignore[arg-type]
    ({"a": {2: (1, "x")}}, dict[str, dict[int, tuple[int, int]]], "$['a'][2][1]", "str"),
    ((1,), tuple[int, int], "$", "tuple of 1 items"),
    (Point((1,), 2), Point, "$.x", "tuple"),
    (defaultdict(lambda: 1, a=1), dict[str, int], "$", "defaultdict factory"),
    ("fast", Literal["slow"], "$", "'fast'"),
    (
        datetime(2026, 1, 1, tzinfo=type("Odd", (tzinfo,), {"utcoffset": lambda *_: timedelta(0)})()),
        datetime,
        "$",
        "time zone",
    ),
    ({"limit": 3, "other": 1}, Options, "$", "'other'"),
    ({}, Options, "$", "'limit'"),
    (print, Callable[[str], None], "$", "Callable"),
    (OddDict(), OddDict, "$", "OddDict"),
    (Broken(1), Broken, "$.bad", "NoSuchType"),
    (object(), list[int] | None, "$", "object"),
]


@pytest.mark.parametrize(
    ("value", "declared", "path", "named"), REFUSED, ids=lambda part: repr(part).partition(" at 0x")[0][:50]
)
def test_a_value_that_would_be_lost_is_refused_by_place_and_type(
    value: Any, declared: Any, path: str, named: str
) -> None:
    """The error says where the value stands and what it is."""
    with pytest.raises(UnencodableValueError) as caught:
        encode_state(value, declared)

    assert (caught.value.path, path in str(caught.value), named in str(caught.value)) == (path, True, True)


def test_attributes_that_are_no_fields_are_refused() -> None:
    """An attribute set from outside would be gone after a restart."""
    hold = SeatHold("4A", NOON)
    hold.note = "window"  # type: ignore[attr-defined]

    with pytest.raises(UnencodableValueError, match="note"):
        encode_state(hold, SeatHold)


def test_a_field_that_is_not_set_is_refused() -> None:
    """A half-built value must not come back as a whole one."""
    half = object.__new__(SeatHold)
    half.seat = "4A"

    with pytest.raises(UnencodableValueError, match="until"):
        encode_state(half, SeatHold)


def test_a_list_that_holds_itself_is_refused_as_a_cycle() -> None:
    """The path leads to the place where it comes back to itself."""
    inner: list[Any] = [1]
    inner.append(inner)

    with pytest.raises(UnencodableValueError, match="holds itself") as caught:
        encode_state({"a": inner})

    assert caught.value.path == "$['a'][1]"


def test_ten_thousand_levels_are_refused() -> None:
    """Depth is an error of its own, never a ``RecursionError``."""
    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]

    with pytest.raises(UnencodableValueError, match="100 levels"):
        encode_state(deep)


def test_an_object_met_twice_comes_back_as_two_equal_ones() -> None:
    """Values are stored as they stand; sharing is no cycle."""
    shared = [1]

    assert stored([shared, shared]) == [[1], [1]]


def test_a_number_of_five_thousand_digits_is_exact() -> None:
    """Python limits how long a decimal text may be; numbers are not limited by it."""
    assert stored(-(10**5_000), int) == -(10**5_000)


def test_text_is_readable_in_the_bytes() -> None:
    """A search for the words of a conversation finds them in the file."""
    assert "室内活动".encode() in encode_state({"wish": "室内活动"})


def test_enum_members_keep_their_identity() -> None:
    """Members are found by name, so ``is`` still holds."""
    assert stored([Art.Phase.ANSWER], list[Art.Phase])[0] is Art.Phase.ANSWER


def test_a_struct_comes_back_as_it_was_not_as_its_post_init_makes_it() -> None:
    """What ``__post_init__`` would change is put back."""
    value = Trimmed("x")
    value.text = " x "

    assert stored(value, Trimmed).text == " x "


def test_a_model_keeps_private_attributes_and_the_set_of_given_fields() -> None:
    """A pydantic model is more than its fields."""
    value = Msg(text="x")
    value._seen = 3
    back = stored(value, Msg)

    assert (back, back._seen, back.model_fields_set) == (value, 3, {"text"})


# ------------------------------------------------------------------------------------------- changed classes


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """An empty module, for classes that are defined again under their old names."""
    module = types.ModuleType("cells")
    monkeypatch.setitem(sys.modules, "cells", module)
    return module


def define(module: types.ModuleType, name: str, *parts: Any) -> Any:
    """Run a cell that defines a dataclass."""
    made = make_dataclass(name, parts, namespace={"__module__": module.__name__})
    setattr(module, name, made)
    return made


def test_a_class_defined_again_reads_what_the_old_one_wrote(cells: types.ModuleType) -> None:
    """Running a cell twice makes a new class; its stored values are still its own."""
    body = encode_state(define(cells, "Leg", ("km", int))(5), cells.Leg)
    again = define(cells, "Leg", ("km", int))

    assert type(decode_state(body, again)) is again


def test_a_new_class_in_an_old_annotation_is_stored_while_its_fields_are_the_same(
    cells: types.ModuleType,
) -> None:
    """A node keeps the annotation of its own cell; the class may be newer."""
    old = define(cells, "Leg", ("km", int))
    value = define(cells, "Leg", ("km", int))(5)

    assert stored(value, old) == old(5)


def test_a_new_class_with_other_fields_in_an_old_annotation_is_refused(cells: types.ModuleType) -> None:
    """The message says which cell to run."""
    old = define(cells, "Leg", ("km", int))
    value = define(cells, "Leg", ("miles", int))(5)

    with pytest.raises(UnencodableValueError, match="defined again"):
        encode_state(value, old)


def test_text_annotations_follow_a_class_that_is_defined_again(cells: types.ModuleType) -> None:
    """No plan of the old class is kept for a name that means the new one."""
    define(cells, "Leg", ("km", int))
    trip = define(cells, "Trip", ("legs", "list[Leg]"))
    encode_state(trip([cells.Leg(1)]), trip)
    again = define(cells, "Leg", ("miles", float))

    assert type(stored(trip([again(1.5)]), trip).legs[0]) is again


def test_a_name_that_is_defined_later_is_found(cells: types.ModuleType) -> None:
    """A forward reference that meant nothing at first is looked up again."""
    trip = define(cells, "Trip", ("legs", "list[Leg]"))
    described = type_shape(trip)
    define(cells, "Leg", ("km", int))

    assert (described, type_shape(trip)) == ("Trip(legs: list[Leg])", "Trip(legs: list[Leg(km: int)])")


def test_a_missing_field_gets_its_default_and_a_note(cells: types.ModuleType) -> None:
    """An added field does not close old checkpoints, and nobody is left unaware of it."""
    body = encode_state(define(cells, "Leg", ("km", int))(5), cells.Leg)
    newer = define(cells, "Leg", ("km", int), ("city", str, field(default="Beijing")))
    notes: list[str] = []
    value = decode_state(body, newer, notes=notes)

    assert (value, notes) == (newer(5, "Beijing"), ["Leg.city is not stored; its default 'Beijing' is used."])


@pytest.mark.parametrize(
    ("now", "named"),
    [
        ([("km", int), ("budget", int)], "'budget'"),
        ([], "'km'"),
        ([("km", str)], "'int'"),
    ],
)
def test_stored_fields_that_do_not_fit_the_class_are_named(
    cells: types.ModuleType, now: list[Any], named: str
) -> None:
    """A required field more, a field less or another type is an error, never a hollow value."""
    body = encode_state(define(cells, "Leg", ("km", int))(5), cells.Leg)
    newer = define(cells, "Leg", *now)

    with pytest.raises(UndecodableValueError, match=named):
        decode_state(body, newer)


def test_a_type_that_is_not_declared_any_more_is_named(cells: types.ModuleType) -> None:
    """A stored class is never read as a dict or None."""
    body = encode_state([define(cells, "Plan", ("step", int))(2)], list[cells.Plan])

    with pytest.raises(UndecodableValueError, match=r"cells\.Plan") as caught:
        decode_state(body, list[SeatHold])

    assert caught.value.path == "$[0]"


def test_a_member_that_is_gone_is_named() -> None:
    """An enum member that was renamed is an error."""
    body = encode_state(Art.Phase.QUERY, Art.Phase).replace(b"QUERY", b"ASK")

    with pytest.raises(UndecodableValueError, match="ASK"):
        decode_state(body, Art.Phase)


def test_two_classes_of_one_name_are_refused(cells: types.ModuleType) -> None:
    """Their stored values could not be told apart."""
    old = define(cells, "Leg", ("km", int))
    new = define(cells, "Leg", ("km", int))

    with pytest.raises(UnencodableValueError, match="two different classes"):
        encode_state(new(5), old | new)


# ------------------------------------------------------------------------------------------- descriptions


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        (Any, "Any"),
        (None, "None"),
        (list[SeatHold], "list[SeatHold]"),
        (Optional[int], "int | None"),  # noqa: UP045
        (str | None | int, "int | str | None"),
        (dict, "dict[str, Any]"),
        (dict[int, tuple[str, ...]], "dict[int, tuple[str, ...]]"),
        (tuple[()], "tuple[()]"),
        (tuple, "tuple[Any, ...]"),
        (Tree, "datetime | dict[str, Tree] | list[Tree]"),
        (Art.Phase, "Art.Phase"),
        (Box[int], "Box[int]"),
        (Literal["b", "a"], "Literal['a', 'b']"),
        (Annotated[UserId, "x"], "int"),
        (Callable[[], None], "Callable"),
    ],
)
def test_a_type_is_described_without_modules(declared: Any, text: str) -> None:
    """The text is the same in every process, whatever the order of a union."""
    assert describe_type(declared) == text


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        (Ticket, "Ticket(seat: str, gate: int | None)"),
        (Trip, "Trip(holds: list[SeatHold(seat: str, until: datetime)], phase: Art.Phase(QUERY, ANSWER))"),
        (Art.Flags | None, "Art.Flags(A=1, B=2) | None"),
        (Options, "Options(limit: int, since?: datetime)"),
        (Row, "Row(first_name: str, born: date | None, tags: list[str])"),
        (tuple[SeatHold, SeatHold], "tuple[SeatHold(seat: str, until: datetime), SeatHold]"),
    ],
)
def test_a_shape_holds_the_fields_of_every_class(declared: Any, text: str) -> None:
    """Two versions of a class differ in their shape exactly when their fields do."""
    assert type_shape(declared) == text


def test_every_field_is_in_the_bytes_under_its_own_name() -> None:
    """Stored state can be read, and migrated, without koogbook."""
    body = json.loads(encode_state(Ticket(seat="4A"), Ticket))

    assert body == {f"${__name__}.Ticket": {"seat": "4A", "gate": None}}


def test_saving_does_not_change_the_value() -> None:
    """A checkpoint in the middle of a run is invisible to it."""
    value = Trip([SeatHold("4A", NOON)])
    before = dataclasses.replace(value)
    encode_state(value, Trip)

    assert value == before
