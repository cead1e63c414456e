"""What a tool returned, as the text that the model gets: deterministic JSON, and never a repr."""

from __future__ import annotations

import base64
import dataclasses
import json
import math
from collections import deque
from collections.abc import Mapping, Set
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

import msgspec

from koogbook.messages.message import Message

_DEEPEST = 100  # half of what readers of JSON take, and far from the limit of Python's stack
_RETURN_INSTEAD = "Return text, None, a dict, a list, a dataclass or a pydantic model of such values."


class ResultError(TypeError):
    """A value that is no JSON; the message says which type it is and what to return instead."""


def as_text(returned: object) -> str:
    """The text of a result: a str as it is, None as the empty text, anything else as JSON.

    Keys keep their order, sets are sorted, bytes stand as ``{"$bytes": "<base64>"}``, characters as they are.

    Raises:
        ResultError: It is no JSON: an object of another class, not-a-number, what holds itself, or too deep.
    """
    if isinstance(returned, str):
        return str.__str__(returned)
    if returned is None:
        return ""
    if isinstance(returned, Message):
        raise ResultError(
            "it returned a Message. The result becomes a message by itself: return its text, message.text."
        )
    try:
        return json.dumps(_built(returned, "", ()), ensure_ascii=False)
    except ValueError as problem:  # an integer of more digits than Python writes
        raise ResultError(f"it returned what is no JSON: {problem}. {_RETURN_INSTEAD}") from problem


def _built(value: Any, place: str, inside: tuple[int, ...]) -> Any:
    """Plain JSON data; ``place`` is where the value stands, ``inside`` are the containers around it."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return _built(value.value, place, inside)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if _is_no_number(value):
        raise _refusal(f"the number {value}", place)
    if isinstance(value, float):
        return float(value)
    leaf = _leaf(value)
    if leaf is not None:
        return leaf
    if id(value) in inside:
        raise _refusal(f"a {type(value).__name__} that holds itself", place)
    if len(inside) >= _DEEPEST:
        raise ResultError(f"it returned something nested more than {_DEEPEST} deep. Return less of it.")
    return _container(value, place, (*inside, id(value)))


def _is_no_number(value: Any) -> bool:
    if isinstance(value, Decimal):
        return not value.is_finite()  # it may be larger than any float
    return isinstance(value, float) and not math.isfinite(value)


def _leaf(value: Any) -> Any:
    """What is written as one text, or as bytes are; None where it is something else."""
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return msgspec.to_builtins(value)
    if isinstance(value, Decimal | UUID | PurePath):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return {"$bytes": base64.b64encode(value).decode("ascii")}
    return None


def _container(value: Any, place: str, inside: tuple[int, ...]) -> Any:
    if isinstance(value, Mapping):
        return _object(value.items(), place, inside)
    if isinstance(value, list | tuple | deque | range):
        return [_built(one, f"{place}[{at}]", inside) for at, one in enumerate(value)]
    if isinstance(value, Set):
        return sorted((_built(one, f"{place}{{}}", inside) for one in value), key=_order)
    if isinstance(value, msgspec.Struct):
        return _struct(value, place, inside)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        named = [(one.name, getattr(value, one.name)) for one in dataclasses.fields(value)]
        return _object(named, place, inside)
    if _is_pydantic(value):
        return _built(value.model_dump(warnings=False), place, inside)
    array = _plain_array(value)
    if array is not None:
        return _built(array, place, inside)
    raise _refusal(f"an object of type {type(value).__name__}", place)


def _object(items: Any, place: str, inside: tuple[int, ...]) -> dict[str, Any]:
    built: dict[str, Any] = {}
    for key, one in items:
        name = _key(key, place)
        if name in built:
            raise ResultError(f"it returned two keys{_at(place)} that are both {name!r} in JSON. Rename one.")
        built[name] = _built(one, f"{place}.{name}"[-120:], inside)
    return built


def _key(key: Any, place: str) -> str:
    plain = _built(key.value if isinstance(key, Enum) else key, place, ()) if _is_leaf(key) else None
    if isinstance(plain, str):
        return plain
    if _is_leaf(key) and (plain is None or isinstance(plain, bool | int | float)):
        return json.dumps(plain)
    raise ResultError(
        f"it returned a key{_at(place)} of type {type(key).__name__}, and the keys of JSON are text. Return such."
    )


def _is_leaf(key: Any) -> bool:
    if isinstance(key, Enum):
        return _is_leaf(key.value)
    return key is None or isinstance(key, str | int | float | date | time | Decimal | UUID | PurePath)


def _struct(value: msgspec.Struct, place: str, inside: tuple[int, ...]) -> Any:
    config = value.__struct_config__
    named = [(one.encode_name, getattr(value, one.name)) for one in msgspec.structs.fields(value)]
    tagged = [] if config.tag is None else [(config.tag_field, config.tag)]
    if config.array_like:
        return [_built(one, f"{place}[{at}]", inside) for at, (_, one) in enumerate((*tagged, *named))]
    return _object((*tagged, *named), place, inside)


def _is_pydantic(value: Any) -> bool:
    return any(
        one.__module__ == "pydantic.main" and one.__name__ == "BaseModel" for one in type(value).__mro__
    )


def _plain_array(value: Any) -> Any:
    """The numbers, truth values or texts of a numpy scalar or array; None where it is something else."""
    if type(value).__module__ != "numpy" or getattr(getattr(value, "dtype", None), "kind", "") not in tuple(
        "biufU"
    ):
        return None
    plain = value.tolist()
    return None if type(plain).__module__ == "numpy" else plain


def _order(built: Any) -> tuple[int, Any, str]:
    """Numbers by size, then everything else by its text."""
    text = json.dumps(built, ensure_ascii=False)
    return (0, built, text) if isinstance(built, int | float) else (1, 0, text)


def _refusal(what: str, place: str) -> ResultError:
    return ResultError(f"it returned {what}{_at(place)}, which is no JSON. {_RETURN_INSTEAD}")


def _at(place: str) -> str:
    return f" at {place.lstrip('.')}" if place else ""
