"""Metadata of a message: plain JSON, kept as text so that a message is immutable to the bottom."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any, Final

from koogbook.errors import MessageError
from koogbook.messages.parts import shown

#: How many lists and objects may stand in one another: more than anyone needs, and read wherever the stack is.
DEEPEST_METADATA: Final = 100
NO_METADATA: Final = "{}"


def metadata_text(metadata: Mapping[str, Any] | None) -> str:
    """Metadata as the JSON text that a message keeps: sorted, not-a-number refused.

    Raises:
        MessageError: Something in it is not JSON, or it is nested more than 100 deep.
    """
    if metadata is None:
        return NO_METADATA
    if not isinstance(metadata, Mapping):
        raise MessageError(
            f"Message metadata are names with JSON values, not {shown(metadata)}: {{'name': 1}}."
        )
    plain = dict(metadata)
    if not plain:
        return NO_METADATA
    try:
        encoded = json.dumps(plain, ensure_ascii=False, sort_keys=True, allow_nan=False)
    except RecursionError as problem:
        raise _too_deep() from problem
    except (TypeError, ValueError) as problem:
        raise MessageError(
            f"Message metadata must be plain JSON: {problem}. Convert the value, or keep it in ctx.storage."
        ) from problem
    if read_metadata(encoded) != plain:
        raise MessageError(
            "Message metadata must be plain JSON, with text keys and lists for sequences: "
            f"{shown(plain)} would come back changed."
        )
    return encoded


def read_metadata(text: str) -> dict[str, Any]:
    """What a metadata text says.

    Raises:
        MessageError: It is no JSON object, holds a number that is none, or is nested more than 100 deep.
    """
    try:
        found = _decoder.decode(text)
    except RecursionError as problem:
        raise _too_deep() from problem
    except ValueError as problem:
        raise MessageError(
            f"metadata_json is no JSON ({problem}): {text:.60}. Use metadata={{...}}."
        ) from problem
    if not isinstance(found, dict):
        raise MessageError(f"metadata_json is a JSON object, not {text:.60}. Use metadata={{...}}.")
    if text.count("[") + text.count("{") > DEEPEST_METADATA and _is_too_deep(found):
        raise _too_deep()
    return found


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST_METADATA):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return any(isinstance(inner, dict | list) for inner in level)


def _too_deep() -> MessageError:
    return MessageError(
        f"Message metadata is nested more than {DEEPEST_METADATA} deep. Make it flatter, or keep it as a text."
    )


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    return number if isfinite(number) else _no_number(digits)


_decoder = json.JSONDecoder(parse_constant=_no_number, parse_float=_finite)
