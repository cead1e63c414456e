"""Plans of the state codec: how values under one annotation become JSON and come back.

A plan never converts. It takes a value only if its exact type may stand under the annotation, and what it
writes holds that type, so every plan that can read a node gives the same value; unions can therefore try
their members in turn.
"""

# ruff: noqa: D102  the methods are those of Plan, which says what they do

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from types import NoneType
from typing import Any, Protocol

from koogbook.state.leaves import (
    Leaf,
    leaf_of_tag,
    leaf_of_type,
)
from koogbook.state.nodes import (
    Misfit,
    Node,
    TooDeep,
    node_tag,
    payload,
)


class Plan(Protocol):
    """How values under one annotation are stored."""

    def takes(self, kind: type) -> bool:
        """Whether values of exactly this type may stand here."""

    def reads(self, tag: str) -> bool:
        """Whether nodes with this tag may stand here."""

    def encode(self, value: Any, depth: int) -> Node:
        """The node for a value; ``depth`` levels may follow below."""

    def decode(self, node: Node, notes: list[str]) -> Any:
        """The value of a node; defaults that had to be used are added to ``notes``."""

    def spell(self, spelling: Callable[[Plan], str]) -> str:
        """The annotation as text, its parts spelled by the function given."""


def name_of(plan: Plan) -> str:
    """The annotation as text, classes by their names alone."""
    return plan.spell(name_of)


def type_name(kind: type) -> str:
    """A class by its qualified name, without its module and the function that it was made in."""
    return kind.__qualname__.rpartition("<locals>.")[2]


def misfit(plan: Plan, kind: type) -> Misfit:
    """The refusal of a value of this type where the plan's annotation stands."""
    hint = "change the annotation, or the value"
    if any(plan.takes(base) for base in kind.__mro__[1:-1]):
        hint = (
            f"{type_name(kind)} is a subclass of what is declared and would lose its own type: "
            f"widen the annotation to {name_of(plan)} | {type_name(kind)}"
        )
    return Misfit(f"a value of type {type_name(kind)} stands where {name_of(plan)} is declared; {hint}")


def unreadable(plan: Plan, tag: str) -> Misfit:
    """The refusal of a stored node with this tag where the plan's annotation stands."""
    return Misfit(f"the stored type {tag[:80]!r} is not allowed here, only {name_of(plan)} is")


class LeafPlan:
    """Values without parts, of one class or, kept exactly, of a type of the table that may stand for it."""

    def __init__(self, declared: type, item_type: type | None = None) -> None:
        self.declared = declared
        self.item_type = item_type
        found = leaf_of_type(declared)
        self.leaf: Leaf | None = found if found is not None and found.kind is declared else None

    def takes(self, kind: type) -> bool:
        leaf = leaf_of_type(kind)
        if leaf is None:
            return False
        return issubclass(kind, self.declared) or (not leaf.package and self.declared in leaf.stands_for)

    def reads(self, tag: str) -> bool:
        leaf = leaf_of_tag(tag)
        return leaf is not None and leaf.may_stand_for(self.declared)

    def encode(self, value: Any, depth: int) -> Node:
        kind = type(value)
        if kind is self.declared and self.leaf is not None:
            return self.leaf.write(value)
        leaf = leaf_of_type(kind)
        if leaf is None or not self.takes(kind):
            raise misfit(self, kind)
        if self.item_type is not None and not issubclass(value.dtype.type, self.item_type):
            raise Misfit(f"an array of {value.dtype} stands where {name_of(self)} is declared")
        return leaf.write(value)

    def decode(self, node: Node, notes: list[str]) -> Any:
        if type(node) is self.declared:
            return node
        tag = node_tag(node)
        leaf = self.leaf if self.leaf is not None and self.leaf.tag == tag else leaf_of_tag(tag)
        if leaf is None or not leaf.may_stand_for(self.declared):
            raise unreadable(self, tag)
        try:
            value = leaf.read(payload(node, tag))
        except Misfit:
            raise
        except Exception as problem:
            raise Misfit(f"the stored {tag} cannot be read: {type(problem).__name__}: {problem}") from problem
        if not self.takes(type(value)):
            raise unreadable(self, tag)
        if self.item_type is not None and not issubclass(value.dtype.type, self.item_type):
            raise Misfit(f"an array of {value.dtype} is stored where {name_of(self)} is declared")
        return value

    def spell(self, spelling: Callable[[Plan], str]) -> str:
        name = "None" if self.declared is NoneType else type_name(self.declared)
        return name if self.item_type is None else f"{name}[{type_name(self.item_type)}]"


class RefusedPlan:
    """An annotation whose values cannot be stored; ``reason`` says why and what to do."""

    def __init__(self, spelled: str, reason: str) -> None:
        self.spelled = spelled
        self.reason = reason

    def takes(self, kind: type) -> bool:
        return False

    def reads(self, tag: str) -> bool:
        return False

    def encode(self, value: Any, depth: int) -> Node:
        raise Misfit(f"a value of type {type_name(type(value))} cannot be stored: {self.reason}")

    def decode(self, node: Node, notes: list[str]) -> Any:
        raise Misfit(f"the stored type {node_tag(node)[:80]!r} cannot be read: {self.reason}")

    def spell(self, spelling: Callable[[Plan], str]) -> str:
        return self.spelled


class LiteralPlan:
    """One of a few values, each with its plan."""

    def __init__(self, options: Iterable[tuple[Any, Plan]]) -> None:
        self.options = tuple(options)

    def takes(self, kind: type) -> bool:
        return any(type(option) is kind for option, _ in self.options)

    def reads(self, tag: str) -> bool:
        return any(plan.reads(tag) for _, plan in self.options)

    def encode(self, value: Any, depth: int) -> Node:
        for option, plan in self.options:
            if type(option) is type(value) and option == value:
                return plan.encode(value, depth)
        raise Misfit(f"{value!r:.60} stands where {name_of(self)} is declared")

    def decode(self, node: Node, notes: list[str]) -> Any:
        tag = node_tag(node)
        for option, plan in self.options:
            if plan.reads(tag):
                value = plan.decode(node, notes)
                if type(value) is type(option) and value == option:
                    return option
        raise Misfit(f"the stored {tag[:80]!r} is none of {name_of(self)}")

    def spell(self, spelling: Callable[[Plan], str]) -> str:
        names = (str(option) if isinstance(option, Enum) else repr(option) for option, _ in self.options)
        return f"Literal[{', '.join(sorted(names))}]"


class UnionPlan:
    """Any of several annotations; a value or node goes to those that its exact type or tag fits."""

    def __init__(self, members: Iterable[Plan]) -> None:
        self.members = tuple(members)
        self._by_kind: dict[type, tuple[Plan, ...]] = {}

    def takes(self, kind: type) -> bool:
        return any(plan.takes(kind) for plan in self.members)

    def reads(self, tag: str) -> bool:
        return any(plan.reads(tag) for plan in self.members)

    def encode(self, value: Any, depth: int) -> Node:
        kind = type(value)
        fitting = self._by_kind.get(kind)
        if fitting is None:
            fitting = tuple(plan for plan in self.members if plan.takes(kind))
            if not fitting:
                raise misfit(self, kind)
            self._by_kind[kind] = fitting
        if len(fitting) == 1:
            return fitting[0].encode(value, depth)
        return _first_that_fits(fitting, lambda plan: plan.encode(value, depth))

    def decode(self, node: Node, notes: list[str]) -> Any:
        tag = node_tag(node)
        fitting = [plan for plan in self.members if plan.reads(tag)]
        if not fitting:
            raise unreadable(self, tag)
        if len(fitting) == 1:
            return fitting[0].decode(node, notes)

        def attempt(plan: Plan) -> Any:
            found: list[str] = []
            value = plan.decode(node, found)
            notes.extend(found)
            return value

        return _first_that_fits(fitting, attempt)

    def spell(self, spelling: Callable[[Plan], str]) -> str:
        names = sorted({spelling(plan) for plan in self.members}, key=lambda name: (name == "None", name))
        return " | ".join(names)


def _first_that_fits(plans: Iterable[Plan], attempt: Callable[[Plan], Any]) -> Any:
    problems: list[Misfit] = []
    for plan in plans:
        try:
            return attempt(plan)
        except TooDeep:
            raise
        except Misfit as problem:
            problems.append(problem)
    # The member that got furthest into the value is the one that was meant.
    raise max(problems, key=lambda problem: len(problem.steps))


class DeferredPlan:
    """A recursive alias: the plan is known once the whole annotation has been read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.target: Plan = RefusedPlan(name, f"the alias {name} stands for itself alone")

    def takes(self, kind: type) -> bool:
        return self.target.takes(kind)

    def reads(self, tag: str) -> bool:
        return self.target.reads(tag)

    def encode(self, value: Any, depth: int) -> Node:
        return self.target.encode(value, depth)

    def decode(self, node: Node, notes: list[str]) -> Any:
        return self.target.decode(node, notes)

    def spell(self, spelling: Callable[[Plan], str]) -> str:
        return self.name
