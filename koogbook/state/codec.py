"""Users' values to JSON bytes and back, type-exact: node outputs and storage entries in checkpoints.

What comes back is equal to what was saved, in every type and field, or saving fails. Types are looked up only
among those that the declared annotation reaches and a closed table, so stored bytes cannot choose code to
run. A value is stored as it stands: two references to one object come back as two equal objects, and an
object that holds itself is refused.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from msgspec.json import decode as from_json
from msgspec.json import encode as to_json

from koogbook.errors import UndecodableValueError, UnencodableValueError
from koogbook.state.containers import MAX_DEPTH, AnyPlan
from koogbook.state.nodes import (
    Misfit,
    TooDeep,
)
from koogbook.state.plans import Plan, name_of
from koogbook.state.types import Compiled, compile_type, shape_of

# Few enough that classes of cells that were run again do not pile up.
_KEPT_PLANS: Final = 256


def encode_state(value: Any, declared: Any = Any) -> bytes:
    """A value as JSON text in UTF-8; equal values of equal types give equal bytes.

    Args:
        value: What to store. It is not changed.
        declared: Its annotation. ``Any`` allows plain JSON and koogbook's own messages only.

    Raises:
        UnencodableValueError: Something would be lost or does not fit the annotation; ``path`` says where.
    """
    if type(value) is str and (declared is str or declared is Any):
        try:
            return to_json(value)
        except UnicodeEncodeError:
            pass  # lone surrogates need an envelope
    plan = _plan(declared)
    try:
        return to_json(plan.encode(value, MAX_DEPTH))
    except Misfit as problem:
        complaint = problem.problem
        if isinstance(problem, TooDeep) and problem.is_cycle:
            complaint = "it holds itself, and a cycle cannot be stored; keep the other object's identifier"
        raise _unencodable(plan, problem.path, complaint) from problem
    except Exception as problem:
        # The user's own code runs here: properties, __repr__, __eq__.
        raise _unencodable(plan, "$", f"{type(problem).__name__}: {problem}") from problem


def decode_state(body: bytes, declared: Any = Any, *, notes: list[str] | None = None) -> Any:
    """The value that :func:`encode_state` wrote.

    Args:
        body: The stored bytes.
        declared: The annotation; it may be a newer version of the one that the value was saved under.
        notes: A list that takes a sentence for each field that was not stored and got its default.

    Raises:
        UndecodableValueError: The bytes do not fit the annotation; ``path`` says where.
    """
    plan = _plan(declared)
    found: list[str] = []
    try:
        node = from_json(body)
        # Without an envelope there is nothing to translate.
        value = node if isinstance(plan, AnyPlan) and b'"$' not in body else plan.decode(node, found)
    except Misfit as problem:
        raise _undecodable(plan, problem.path, problem.problem) from problem
    except Exception as problem:
        raise _undecodable(plan, "$", f"{type(problem).__name__}: {problem} ({body[:60]!r})") from problem
    if notes is not None:
        notes.extend(found)
    return value


def _unencodable(plan: Plan, path: str, complaint: str) -> UnencodableValueError:
    return UnencodableValueError(
        f"The value at {path} cannot be stored as {name_of(plan)}: {complaint}. Nothing of it was saved.",
        path=path,
    )


def _undecodable(plan: Plan, path: str, complaint: str) -> UndecodableValueError:
    return UndecodableValueError(
        f"The stored value at {path} cannot be read as {name_of(plan)}: {complaint}. "
        "It stays as it is; run the cell that defines its type, or declare the type it was saved under.",
        path=path,
    )


def describe_type(declared: Any) -> str:
    """An annotation as stable text for people and fingerprints: ``list[SeatHold]``."""
    return name_of(_plan(declared))


def type_shape(declared: Any) -> str:
    """An annotation as stable text with the fields of all classes it reaches: ``Price(total: float)``."""
    return shape_of(_plan(declared))


@lru_cache(maxsize=_KEPT_PLANS)
def _compiled(declared: Any) -> Compiled:
    return compile_type(declared)


def _plan(declared: Any) -> Plan:
    try:
        hash(declared)
    except TypeError:
        return compile_type(declared).plan
    compiled = _compiled(declared)
    if compiled.watches and compiled.is_stale():
        _compiled.cache_clear()
        compiled = _compiled(declared)
    return compiled.plan
