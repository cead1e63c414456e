"""What a trace keeps of values of any type: plain JSON and koogbook's own; of all others, how they show themselves."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Any, Final

import msgspec
from msgspec import Struct

from koogbook.code_place import CodeExcerpt
from koogbook.errors import TraceError
from koogbook.llm.call_record import RequestChange
from koogbook.llm.layers import Mark
from koogbook.llm.request import Request
from koogbook.messages.ledger import Ledger
from koogbook.messages.message import Message, Usage
from koogbook.messages.model import LLModel, LLMParams, ToolChoice
from koogbook.messages.parts import Attachment, Foreign, Reasoning, Text, ToolCall, ToolResult
from koogbook.runtime.shape import EdgeShape, FindingShape, GraphShape, NodeShape
from koogbook.tools.tool import ToolSpec
from koogbook.trace.shared import SharedIn, SharedOut

#: Values of koogbook's own that are kept wherever they stand, by the word for them: no other name is ever looked up.
_KEPT: Final[dict[str, type[Struct]]] = {
    kind.__name__: kind
    for kind in (
        *(Message, Ledger, Usage, CodeExcerpt),
        *(Text, Reasoning, ToolCall, ToolResult, Attachment, Foreign),
        *(Request, RequestChange, LLModel, LLMParams, ToolChoice, ToolSpec, Mark),
        *(GraphShape, NodeShape, EdgeShape, FindingShape),
    )
}
#: Those of them whose fields hold values that are written by themselves.
_NESTED: Final[dict[type, frozenset[str]]] = {
    Request: frozenset({"messages", "tools"}),
    RequestChange: frozenset({"before", "after"}),
    Ledger: frozenset({"before", "after"}),
}
_MARK = "$"
_LONGEST_SHOWN = 2_000  # characters
_DEEPEST = 100  # lists in lists
_MOST_BITS = 4_096  # of a whole number; Python refuses to write much longer ones
_LONE_HISTORY = 2  # messages; of fewer there is no line


class Shown(Struct, frozen=True):
    """Stands for a value that a trace does not keep: how it showed itself (its ``repr``), cut where it is long."""

    text: str

    def __repr__(self) -> str:
        return self.text


class _NotKept(Exception):
    """A value is no JSON."""


# ------------------------------------------------------------------------------------------- written


def written_value(value: Any, shared: SharedOut | None = None) -> Any:
    """A value as it is written: itself where it is plain JSON, marked where it is koogbook's own or is not kept.

    ``shared`` takes what is to stand in lines of its own; without it, everything stands in its place.
    """
    try:
        return _kept(value, 0, shared)
    except _NotKept:
        return {_MARK: "shown", "of": _shown(value)}


def _kept(value: Any, depth: int, shared: SharedOut | None) -> Any:
    kind = type(value)
    if value is None or kind is str or kind is bool:
        return value
    if (kind is int and value.bit_length() <= _MOST_BITS) or (kind is float and math.isfinite(value)):
        return value
    if depth < _DEEPEST:
        if kind is list or kind is tuple:
            inner = _all_kept(value, depth, shared)
            return inner if kind is list or isinstance(inner, dict) else {_MARK: "tuple", "of": inner}
        if kind is MappingProxyType:
            value, kind = dict(value), dict
        if kind is dict and all(type(key) is str for key in value):
            return _mapping(value, depth, shared)
        if _KEPT.get(kind.__name__) is kind:
            return _own(value, kind, depth, shared)
        if kind is Shown:
            return {_MARK: "shown", "of": value.text}
    raise _NotKept


def _all_kept(value: list[Any] | tuple[Any, ...], depth: int, shared: SharedOut | None) -> Any:
    """The items of a list or a tuple, or what refers to them."""
    if (
        shared is not None
        and len(value) >= _LONE_HISTORY
        and all(type(one) is Message for one in value)
        and (id := shared.messages(value)) is not None
    ):
        found = {_MARK: "messages", "of": id}
        return found if type(value) is tuple else {_MARK: "list", "of": found}
    inner = [_kept(one, depth + 1, shared) for one in value]
    if shared is not None and type(value) is tuple and inner and all(type(one) is ToolSpec for one in value):
        return _value({_MARK: "tuple", "of": inner}, shared)
    return inner


def _mapping(value: dict[str, Any], depth: int, shared: SharedOut | None) -> Any:
    found: Any = {key: _kept(one, depth + 1, shared) for key, one in value.items()}
    if _MARK in found:
        found = {_MARK: "dict", "of": found}
    if shared is not None and value and all(type(one) is Mark for one in value.values()):
        return _value(found, shared)
    return found


def _own(value: Any, kind: type[Struct], depth: int, shared: SharedOut | None) -> Any:
    """A value of one of koogbook's kinds."""
    if kind is Message and shared is not None:
        return {_MARK: "message", "of": shared.message(value)}
    nested = _NESTED.get(kind)
    if nested is None:
        found = {_MARK: kind.__name__, "of": msgspec.to_builtins(value)}
        return _value(found, shared) if kind is GraphShape and shared is not None else found
    of = {}
    for field in msgspec.structs.fields(kind):
        one = getattr(value, field.name)
        if field.default is msgspec.NODEFAULT or one != field.default:
            of[field.name] = (
                _kept(one, depth + 1, shared) if field.name in nested else msgspec.to_builtins(one)
            )
    return {_MARK: kind.__name__, "of": of}


def _value(found: Any, shared: SharedOut) -> Any:
    return {_MARK: "value", "of": shared.value(found)}


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as problem:
        text = f"<{type(value).__name__} without a repr: {type(problem).__name__}>"
    more = len(text) - _LONGEST_SHOWN
    return f"{text[:_LONGEST_SHOWN]}... ({more:,} more characters)" if more > 0 else text


# ------------------------------------------------------------------------------------------- read


def read_value(written: Any, shared: SharedIn | None = None) -> Any:
    """The value that :func:`written_value` wrote.

    Raises:
        TraceError: It has a mark that is unknown, or refers to what is in no line before.
        ValidationError: It is marked as a value of koogbook, and is no whole one (msgspec's).
    """
    if isinstance(written, list):
        return [read_value(one, shared) for one in written]
    if not isinstance(written, dict):
        return written
    if _MARK not in written:
        return {key: read_value(one, shared) for key, one in written.items()}
    word, of = written[_MARK], written.get("of")
    if written.keys() == {_MARK, "of"}:
        if word == "shown" and isinstance(of, str):
            return Shown(of)
        if word == "tuple" and isinstance(of, list):
            return tuple(read_value(one, shared) for one in of)
        if word == "dict" and isinstance(of, dict):
            return {key: read_value(one, shared) for key, one in of.items()}
        if isinstance(word, str) and word in _KEPT:
            kind = _KEPT[word]
            if kind in _NESTED and isinstance(of, dict):
                of = {
                    key: read_value(one, shared) if key in _NESTED[kind] else one for key, one in of.items()
                }
            return msgspec.convert(of, kind)
        if word in ("message", "messages", "list", "value"):
            return _referred_to(word, of, shared)
    raise TraceError(
        f"A value is marked as {word!r:.40}, which is unknown. Update koogbook if a newer one wrote it."
    )


def _referred_to(word: str, of: Any, shared: SharedIn | None) -> Any:
    if shared is None:
        raise TraceError(
            "It refers to what stands in a line of its own, and it is read alone. Read the whole file: "
            "kb.load_trace(path)."
        )
    if word == "message":
        return shared.message(of)
    if word == "messages":
        return shared.messages(of)
    if word == "value":
        return shared.value(of)
    found = read_value(of, shared)
    if isinstance(found, tuple):
        return list(found)
    raise TraceError(
        "A list of messages refers to a history, and this one does not. Mend the line, or take it out."
    )
