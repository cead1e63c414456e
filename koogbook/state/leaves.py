"""Values without parts, to JSON and back: the closed table of the state codec.

A leaf is written as the JSON value that it is, or in an envelope ``{"$tag": payload}``. Only the tags of this
table and of the types that an annotation reaches are ever read, and none of them names code.
"""

from __future__ import annotations

import math
import re
import struct
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PosixPath, PurePath, PurePosixPath, PureWindowsPath, WindowsPath
from types import NoneType
from typing import Any, Final, NamedTuple
from uuid import UUID, SafeUUID
from zoneinfo import ZoneInfo

from koogbook.state.nodes import Misfit, Node, expect, expect_list, payload

_NOT_FINITE: Final = {"7ff8000000000000": "nan", "7ff0000000000000": "inf", "fff0000000000000": "-inf"}


class Leaf(NamedTuple):
    """How values of one exact type are written and read.

    ``write`` gives the whole node, ``read`` takes the payload only. ``stands_for`` are the built-in types
    besides ``kind`` under whose annotation such a value may stand. Leaves of a ``package`` have ``object`` as
    their kind, since it may not be loaded.
    """

    tag: str
    kind: type
    write: Callable[[Any], Node]
    read: Callable[[Node], Any]
    stands_for: tuple[type, ...] = ()
    package: str = ""

    def may_stand_for(self, declared: type) -> bool:
        """Whether a value of this leaf can be an instance of the declared class, known without reading it."""
        if declared is self.kind or declared in self.stands_for:
            return True
        return bool(self.package) and declared.__module__.partition(".")[0] == self.package


# ------------------------------------------------------------------------------------------- numbers and text


def is_storable_text(text: str) -> bool:
    """Whether UTF-8 can hold the text: it has no lone surrogates."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def write_text(text: str) -> Node:
    """The text itself, or, with lone surrogates, its pieces: text as it is, surrogates as numbers."""
    if is_storable_text(text):
        return text
    pieces = [piece for piece in re.split("([\ud800-\udfff])", text) if piece]
    return {"$str": [ord(piece) if "\ud800" <= piece[0] <= "\udfff" else piece for piece in pieces]}


def read_text(node: Node) -> str:
    """The text that :func:`write_text` wrote."""
    if type(node) is str:
        return node
    return "".join(chr(piece) if type(piece) is int else expect(piece, str) for piece in expect(node, list))


def write_int(number: int) -> Node:
    """The number itself where 64 bits hold it, else its digits; hexadecimal where Python limits these."""
    if -(2**63) <= number < 2**63:
        return number
    return {"$int": str(number) if number.bit_length() < 2_000 else hex(number)}


def read_int(node: Node) -> int:
    """The number that :func:`write_int` wrote."""
    return node if type(node) is int else int(expect(node, str), 0)


def write_float(number: float) -> Node:
    """The number itself, the name of infinity and NaN, or the bits of any other NaN."""
    if math.isfinite(number):
        return number
    bits = struct.pack(">d", number).hex()
    return {"$float": _NOT_FINITE.get(bits, bits)}


def read_float(node: Node) -> float:
    """The number that :func:`write_float` wrote."""
    if type(node) is float:
        return node
    text: str = expect(node, str)
    bits = next((bits for bits, name in _NOT_FINITE.items() if name == text), text)
    number: float = struct.unpack(">d", bytes.fromhex(bits))[0]
    return number


def _write_complex(number: complex) -> Node:
    return {"$complex": [write_float(number.real), write_float(number.imag)]}


def _read_complex(node: Node) -> complex:
    real, imaginary = expect_list(node, 2)
    return complex(read_float(payload(real, "float")), read_float(payload(imaginary, "float")))


def _read_ints(node: Node, length: int) -> list[int]:
    return [read_int(payload(number, "int")) for number in expect_list(node, length)]


def _write_uuid(value: UUID) -> Node:
    if value.is_safe is SafeUUID.unknown:
        return {"$UUID": str(value)}
    return {"$UUID": [str(value), value.is_safe.name]}


def _read_uuid(node: Node) -> UUID:
    if type(node) is str:
        return UUID(node)
    text, safety = expect_list(node, 2)
    return UUID(expect(text, str), is_safe=SafeUUID[expect(safety, str)])


def encode_bytes(data: bytes | bytearray | memoryview) -> str:
    """Bytes as base64 text."""
    return b64encode(data).decode("ascii")


def decode_bytes(node: Node) -> bytes:
    """The bytes that :func:`encode_bytes` wrote."""
    return b64decode(expect(node, str), validate=True)


# ------------------------------------------------------------------------------------------- time


def write_zone(zone: tzinfo) -> Node:
    """A zone by its name, a fixed offset by its seconds and, where it has one, its own name."""
    if type(zone) is ZoneInfo and _is_zone_key(zone.key):
        return zone.key
    if type(zone) is timezone:
        offset = zone.utcoffset(None)
        name = zone.tzname(None)
        unnamed = name == timezone(offset).tzname(None)
        parts: list[Node] = [offset.days, offset.seconds, offset.microseconds]
        return parts if unnamed else [*parts, write_text(name)]
    raise Misfit(
        f"a time zone of type {type(zone).__module__}.{type(zone).__qualname__} cannot be stored exactly; "
        "use zoneinfo.ZoneInfo(name) or datetime.timezone"
    )


def read_zone(node: Node) -> tzinfo:
    """The zone that :func:`write_zone` wrote."""
    if type(node) is str:
        if not _is_zone_key(node):
            raise Misfit(f"{node[:60]!r} is no name of a time zone")
        return ZoneInfo(node)
    parts = expect(node, list)
    offset = _read_timedelta(parts[:3])
    return timezone(offset, read_text(payload(parts[3], "str"))) if len(parts) == 4 else timezone(offset)


def _is_zone_key(key: object) -> bool:
    # A key without dots cannot leave the folders of the zone database.
    return type(key) is str and re.fullmatch(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*", key) is not None


def _clock_writer(tag: str) -> Callable[[datetime | time], Node]:
    def write(value: datetime | time) -> Node:
        zone = value.tzinfo
        fixed = zone is None or (type(zone) is timezone and type(write_zone(zone)) is list and _unnamed(zone))
        if fixed and not value.fold:
            return {tag: value.isoformat()}
        written = None if zone is None else write_zone(zone)
        return {tag: [value.replace(tzinfo=None).isoformat(), written, value.fold]}

    return write


def _unnamed(zone: timezone) -> bool:
    return len(write_zone(zone)) == 3


def _clock_reader(kind: type[datetime] | type[time]) -> Callable[[Node], Any]:
    def read(node: Node) -> Any:
        if type(node) is str:
            return kind.fromisoformat(node)
        text, zone, fold = expect_list(node, 3)
        known = None if zone is None else read_zone(zone)
        return kind.fromisoformat(expect(text, str)).replace(tzinfo=known, fold=expect(fold, int))

    return read


def _write_timedelta(value: timedelta) -> Node:
    return {"$timedelta": [value.days, value.seconds, value.microseconds]}


def _read_timedelta(node: Node) -> timedelta:
    days, seconds, microseconds = _read_ints(node, 3)
    return timedelta(days, seconds, microseconds)


# ------------------------------------------------------------------------------------------- paths


def _path_writer(kind: type[PurePath]) -> Callable[[PurePath], Node]:
    def write(value: PurePath) -> Node:
        text = str(value)
        if kind(text).parts != value.parts:
            raise Misfit(f"the path {text!r} cannot be stored: read back, it would be another one")
        return {f"${kind.__name__}": write_text(text)}

    return write


def _path_reader(kind: type[PurePath]) -> Callable[[Node], PurePath]:
    def read(node: Node) -> PurePath:
        if issubclass(kind, Path) and kind is not type(Path()):
            raise Misfit(
                f"a {kind.__name__} cannot be made on this system; declare PurePath to carry paths across"
            )
        return kind(read_text(payload(node, "str")))

    return read


# ------------------------------------------------------------------------------------------- the table


def _same(node: Node) -> Any:
    return node


def _envelope(tag: str, write: Callable[[Any], Node]) -> Callable[[Any], Node]:
    key = f"${tag}"
    return lambda value: {key: write(value)}


_LEAVES: Final = (
    Leaf("None", NoneType, _same, _same),
    Leaf("bool", bool, _same, _same, (int, float, complex)),
    Leaf("int", int, write_int, read_int, (float, complex)),
    Leaf("float", float, write_float, read_float, (complex,)),
    Leaf("str", str, write_text, read_text),
    Leaf("complex", complex, _write_complex, _read_complex),
    Leaf("bytes", bytes, _envelope("bytes", encode_bytes), decode_bytes),
    Leaf(
        "bytearray",
        bytearray,
        _envelope("bytearray", encode_bytes),
        lambda node: bytearray(decode_bytes(node)),
    ),
    Leaf("date", date, _envelope("date", date.isoformat), lambda node: date.fromisoformat(expect(node, str))),
    Leaf("datetime", datetime, _clock_writer("$datetime"), _clock_reader(datetime), (date,)),
    Leaf("time", time, _clock_writer("$time"), _clock_reader(time)),
    Leaf("timedelta", timedelta, _write_timedelta, _read_timedelta),
    Leaf("timezone", timezone, _envelope("timezone", write_zone), read_zone, (tzinfo,)),
    Leaf("ZoneInfo", ZoneInfo, _envelope("ZoneInfo", write_zone), read_zone, (tzinfo,)),
    Leaf("Decimal", Decimal, _envelope("Decimal", str), lambda node: Decimal(expect(node, str))),
    Leaf(
        "Fraction",
        Fraction,
        lambda value: {"$Fraction": [write_int(value.numerator), write_int(value.denominator)]},
        lambda node: Fraction(*_read_ints(node, 2)),
    ),
    Leaf("UUID", UUID, _write_uuid, _read_uuid),
    Leaf(
        "range",
        range,
        lambda value: {"$range": [write_int(value.start), write_int(value.stop), write_int(value.step)]},
        lambda node: range(*_read_ints(node, 3)),
    ),
    *(
        Leaf(kind.__name__, kind, _path_writer(kind), _path_reader(kind), kind.__mro__[1:-1])
        for kind in (PurePosixPath, PureWindowsPath, PosixPath, WindowsPath)
    ),
)
_BY_KIND: Final = {leaf.kind: leaf for leaf in _LEAVES}
_BY_TAG: Final = {leaf.tag: leaf for leaf in _LEAVES}

#: Annotations that a leaf plan serves: the types of the table and those that they stand for.
LEAF_TYPES: Final = frozenset(_BY_KIND) | {kind for leaf in _LEAVES for kind in leaf.stands_for}


def leaf_of_type(kind: type) -> Leaf | None:
    """The leaf for values of exactly this type; numpy's and pandas' are looked up once these are loaded."""
    leaf = _BY_KIND.get(kind)
    if leaf is None:
        package = kind.__module__.partition(".")[0]
        if package == "numpy" and "numpy" in sys.modules:
            from koogbook.state.arrays import array_leaf_of_type

            return array_leaf_of_type(kind)
        if package == "pandas" and "pandas" in sys.modules:
            from koogbook.state.frames import frame_leaf_of_type

            return frame_leaf_of_type(kind)
    return leaf


def leaf_of_tag(tag: str) -> Leaf | None:
    """The leaf with this tag; one of numpy's or pandas' may import these packages when it reads."""
    leaf = _BY_TAG.get(tag)
    if leaf is None:
        from koogbook.state.arrays import ARRAY_LEAVES
        from koogbook.state.frames import FRAME_LEAVES

        return ARRAY_LEAVES.get(tag) or FRAME_LEAVES.get(tag)
    return leaf
