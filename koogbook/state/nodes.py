"""Nodes, the JSON that values are written as, and the error that finds its place inside them."""

from __future__ import annotations

from types import NoneType
from typing import Any, Final

#: JSON as Python holds it: None, bool, int, float, str, list and dict.
Node = Any

_RAW_TAGS: Final[dict[type, str]] = {
    NoneType: "None",
    bool: "bool",
    int: "int",
    float: "float",
    str: "str",
    list: "list",
}


class Misfit(Exception):
    """A value or node that a plan cannot take; the way to it grows while the error passes outwards."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.steps: list[str] = []
        self.owners: list[int] = []

    def inside(self, step: str, owner: Any) -> Misfit:
        """The same error, seen from the container ``owner`` whose part at ``step`` it is about."""
        self.steps.append(step)
        self.owners.append(id(owner))
        return self

    @property
    def path(self) -> str:
        """The place, such as ``$.holds[3].until``."""
        return "$" + "".join(reversed(self.steps))


class TooDeep(Misfit):
    """More levels than can be stored; at a cycle, ``path`` is where it first comes back to itself."""

    @property
    def is_cycle(self) -> bool:
        """Whether one container was met twice on the way down."""
        return len(set(self.owners)) < len(self.owners)

    @property
    def path(self) -> str:
        """The place where a container holds itself, or ten steps of the way into the depth."""
        met: set[int] = set()
        steps: list[str] = []
        for owner, step in zip(reversed(self.owners), reversed(self.steps), strict=True):
            if owner in met:
                return "$" + "".join(steps)
            met.add(owner)
            steps.append(step)
        return "$" + "".join(steps[:10]) + "..."


def node_tag(node: Node) -> str:
    """The tag of a node; raw JSON has the name of its Python type."""
    kind = type(node)
    if kind is dict:
        if len(node) == 1:
            (key,) = node
            if key[:1] == "$":
                return str(key[1:])
        return "dict"
    return _RAW_TAGS[kind]


def payload(node: Node, tag: str) -> Node:
    """What an envelope holds; raw JSON is its own payload."""
    return node["$" + tag] if type(node) is dict and len(node) == 1 and "$" + tag in node else node


def expect(node: Node, kind: type) -> Any:
    """The node, which has to be of this JSON type."""
    if type(node) is not kind:
        raise Misfit(f"{kind.__name__} is expected, {type(node).__name__} is stored")
    return node


def expect_list(node: Node, length: int) -> list[Node]:
    """The node, which has to be a list of this length."""
    found: list[Node] = expect(node, list)
    if len(found) != length:
        raise Misfit(f"{length} entries are expected, {len(found)} are stored")
    return found
