"""Plans for users' classes: dataclasses, structs, named tuples, typed dicts, pydantic models and enums.

A record is written as ``{"$module.Name": {field: node}}`` and rebuilt field by field, without ``__init__``.
The class comes from the annotation, never from the data, so a class defined anew under its old name is the
same type.
"""

# ruff: noqa: D102  the methods are those of Plan, which says what they do

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, Flag
from typing import Any

from koogbook.state.containers import close_object, fresh_depth, open_object
from koogbook.state.leaves import (
    read_int,
    write_int,
)
from koogbook.state.nodes import (
    Misfit,
    Node,
    expect,
    node_tag,
    payload,
)
from koogbook.state.plans import Plan, misfit, type_name, unreadable

#: A part that has no default, and one that may stay unset.
MISSING: Any = object()
UNSET: Any = object()


def tag_of_class(kind: type) -> str:
    """The tag of a user's class: its module and qualified name."""
    return f"{kind.__module__}.{kind.__qualname__}"


@dataclass(frozen=True)
class RecordKind:
    """How records of one family of classes are taken apart and rebuilt.

    ``part_names`` gives the parts that a class has; ``read`` gives the parts of a value and raises
    :class:`Misfit` where some are unset or do not belong to the class; ``default`` may give :data:`MISSING`
    or :data:`UNSET`.
    """

    part_names: Callable[[type], tuple[str, ...]]
    read: Callable[[Any], Mapping[str, Any]]
    build: Callable[[type, dict[str, Any]], Any]
    default: Callable[[type, str], Any]


class RecordPlan:
    """Instances of one class, its fields by their own plans.

    ``parts`` is filled after the plan was made, so that a class can hold itself.
    """

    def __init__(self, cls: type, tag: str, kind: RecordKind, *, name: str | None = None) -> None:
        self.cls = cls
        self.tag = tag
        self.kind = kind
        self.name = type_name(cls) if name is None else name
        self.parts: dict[str, Plan] = {}
        self.clash: type | None = None

    def takes(self, kind: type) -> bool:
        return kind is self.cls or tag_of_class(kind) == self.tag

    def reads(self, tag: str) -> bool:
        return tag == self.tag

    def encode(self, value: Any, depth: int) -> Node:
        if type(value) is not self.cls or self.clash is not None:
            self._check_class(type(value))
        below = fresh_depth(depth)
        found = self.kind.read(value)
        nodes: dict[str, Node] = {}
        name = ""
        try:
            for name, plan in self.parts.items():
                part = found.get(name, MISSING)
                if part is not MISSING:
                    nodes[name] = plan.encode(part, below)
        except Misfit as problem:
            raise problem.inside(f".{name}", value) from None
        return {f"${self.tag}": nodes}

    def _check_class(self, kind: type) -> None:
        if not self.takes(kind):
            raise misfit(self, kind)
        if self.clash is not None:
            raise Misfit(
                f"two different classes are called {self.tag} in this annotation; run the cells that use the "
                "older one again, or rename one"
            )
        if self.kind.part_names(kind) != self.kind.part_names(self.cls):
            raise Misfit(
                f"{self.name} was defined again with other fields since this annotation was read; "
                "run the cell of the node or class that uses it again"
            )

    def decode(self, node: Node, notes: list[str]) -> Any:
        tag = node_tag(node)
        if tag != self.tag:
            raise unreadable(self, tag)
        nodes = expect(payload(node, tag), dict)
        unknown = [name for name in nodes if name not in self.parts]
        if unknown:
            raise Misfit(f"{self.name} has no field {_quoted(unknown)} now, but a value of it is stored")
        values: dict[str, Any] = {}
        name = ""
        try:
            for name, plan in self.parts.items():
                if name in nodes:
                    values[name] = plan.decode(nodes[name], notes)
        except Misfit as problem:
            raise problem.inside(f".{name}", node) from None
        if len(values) < len(self.parts):
            self._fill(values, notes)
        try:
            return self.kind.build(self.cls, values)
        except Misfit:
            raise
        except Exception as problem:
            raise Misfit(f"{self.name} cannot be rebuilt: {type(problem).__name__}: {problem}") from problem

    def _fill(self, values: dict[str, Any], notes: list[str]) -> None:
        missing = []
        for name in self.parts:
            if name not in values:
                default = self.kind.default(self.cls, name)
                if default is MISSING:
                    missing.append(name)
                elif default is not UNSET:
                    values[name] = default
                    notes.append(f"{self.name}.{name} is not stored; its default {default!r:.60} is used.")
        if missing:
            raise Misfit(
                f"{self.name} has a field {_quoted(missing)} without a default that is not stored; "
                "give it a default or migrate the checkpoint"
            )

    def spell(self, spelling: Callable[[Plan], str]) -> str:
        return self.name


def _quoted(names: list[str]) -> str:
    return ", ".join(repr(name[:60]) for name in sorted(names))


class TypedDictPlan:
    """A dict whose keys and their annotations a ``TypedDict`` names."""

    def __init__(self, name: str, required: frozenset[str]) -> None:
        self.name = name
        self.required = required
        self.parts: dict[str, Plan] = {}

    def takes(self, kind: type) -> bool:
        return kind is dict

    def reads(self, tag: str) -> bool:
        return tag == "dict"

    def _check_keys(self, keys: set[Any]) -> None:
        unknown = sorted(repr(key)[:60] for key in keys - self.parts.keys())
        missing = sorted(map(repr, self.required - keys))
        if unknown or missing:
            complaints = [f"no key {', '.join(unknown)}"] * bool(unknown) + [
                f"also {', '.join(missing)}"
            ] * bool(missing)
            raise Misfit(f"the keys do not fit: {self.name} has {' and '.join(complaints)}")

    def encode(self, value: Any, depth: int) -> Node:
        if type(value) is not dict:
            raise misfit(self, type(value))
        self._check_keys(set(value))
        below = fresh_depth(depth)
        nodes: dict[str, Node] = {}
        name = ""
        try:
            for name in value:
                nodes[name] = self.parts[name].encode(value[name], below)
        except Misfit as problem:
            raise problem.inside(f"[{name!r}]", value) from None
        return close_object(nodes)

    def decode(self, node: Node, notes: list[str]) -> Any:
        tag = node_tag(node)
        if tag != "dict":
            raise unreadable(self, tag)
        nodes = open_object(node)
        self._check_keys(set(nodes))
        values: dict[str, Any] = {}
        name = ""
        try:
            for name, part in nodes.items():
                values[name] = self.parts[name].decode(part, notes)
        except Misfit as problem:
            raise problem.inside(f"[{name!r}]", node) from None
        return values

    def spell(self, spelling: Callable[[Plan], str]) -> str:
        return self.name


class EnumPlan:
    """Members of one enum, by name; flags by their number."""

    def __init__(self, cls: type[Enum], tag: str) -> None:
        self.cls = cls
        self.tag = tag
        self.clash: type | None = None

    def takes(self, kind: type) -> bool:
        return kind is self.cls or (issubclass(kind, Enum) and tag_of_class(kind) == self.tag)

    def reads(self, tag: str) -> bool:
        return tag == self.tag

    def encode(self, value: Any, depth: int) -> Node:
        if not self.takes(type(value)):
            raise misfit(self, type(value))
        if self.clash is not None or (
            type(value) is not self.cls and _members(type(value)) != _members(self.cls)
        ):
            raise Misfit(
                f"{type_name(self.cls)} was defined again since this annotation was read; "
                "run the cell of the node or class that uses it again"
            )
        if isinstance(value, Flag):
            return {f"${self.tag}": write_int(value.value)}
        if value.name not in self.cls.__members__:
            raise Misfit(f"{value!r:.60} is no named member of {type_name(self.cls)} and cannot be stored")
        return {f"${self.tag}": value.name}

    def decode(self, node: Node, notes: list[str]) -> Any:
        tag = node_tag(node)
        if tag != self.tag:
            raise unreadable(self, tag)
        stored = payload(node, tag)
        if issubclass(self.cls, Flag):
            number = read_int(payload(stored, "int"))
            try:
                return self.cls(number)
            except ValueError as problem:
                raise Misfit(f"{type_name(self.cls)} has no flags for {number}") from problem
        member = self.cls.__members__.get(expect(stored, str))
        if member is None:
            known = ", ".join(self.cls.__members__)
            raise Misfit(f"{type_name(self.cls)} has no member {stored[:60]!r} now, only {known}")
        return member

    def spell(self, spelling: Callable[[Plan], str]) -> str:
        return type_name(self.cls)

    def members(self) -> str:
        """Names, for flags with their numbers, as text."""
        if issubclass(self.cls, Flag):
            return ", ".join(f"{name}={member.value}" for name, member in self.cls.__members__.items())
        return ", ".join(self.cls.__members__)


def _members(cls: type[Enum]) -> list[tuple[str, Any]]:
    return [(name, member.value) for name, member in cls.__members__.items()]
