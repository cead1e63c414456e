"""Plans for containers, and for what may stand where nothing is declared.

Lists are JSON lists and dicts with text keys JSON objects; all else is in an envelope. An object that looks
like an envelope is written as a list of pairs.
"""

# ruff: noqa: D102  the methods are those of Plan, which says what they do

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from itertools import repeat
from types import NoneType
from typing import Any, Final

from msgspec.json import encode as to_json

from koogbook.state.leaves import (
    is_storable_text,
    read_text,
    write_float,
    write_int,
    write_text,
)
from koogbook.state.nodes import (
    Misfit,
    Node,
    TooDeep,
    expect,
    expect_list,
    node_tag,
    payload,
)
from koogbook.state.plans import LeafPlan, Plan, misfit, name_of, type_name, unreadable

#: Levels of containers and records inside one another. A limit of our own, well below the interpreter's, so
#: that what could be saved can be read from any place in a program.
MAX_DEPTH: Final = 100

PLAIN_HINT: Final = (
    "without a type annotation a value must be plain JSON (None, bool, int, float, str, list, dict with str "
    "keys). Annotate it with its type"
)


_TEXT: Final = LeafPlan(str)
_PLAIN_LEAVES: Final = {"int": LeafPlan(int), "float": LeafPlan(float), "str": _TEXT}
_PLAIN_TAGS: Final = frozenset({"None", "bool", "int", "float", "str", "list", "dict"})


def fresh_depth(depth: int) -> int:
    """The depth for the parts of a container."""
    if not depth:
        raise TooDeep(f"it holds itself or is nested more than {MAX_DEPTH} levels deep")
    return depth - 1


class AnyPlan:
    """Plain JSON and koogbook's own messages: what may stand where nothing is declared."""

    _KINDS: Final = frozenset({NoneType, bool, int, float, str, list, dict})

    def __init__(self, messages: Callable[[], Mapping[str, Plan]]) -> None:
        self.messages = messages

    def takes(self, kind: type) -> bool:
        if kind in self._KINDS:
            return True
        plan = self.messages().get(kind.__name__)
        return plan is not None and plan.takes(kind)

    def reads(self, tag: str) -> bool:
        return tag in _PLAIN_TAGS or tag in self.messages()

    def encode(self, value: Any, depth: int) -> Node:
        kind = type(value)
        if kind is str:
            return write_text(value)
        if value is None or kind is bool:
            return value
        if kind is int:
            return write_int(value)
        if kind is float:
            return write_float(value)
        if kind is list:
            return encode_items(self, value, fresh_depth(depth))
        if kind is dict:
            return encode_mapping(value, _TEXT, self, fresh_depth(depth))
        plan = self.messages().get(kind.__name__)
        if plan is None or not plan.takes(kind):
            raise Misfit(f"a value of type {type_name(kind)} has no declared type: {PLAIN_HINT}")
        return plan.encode(value, depth)

    def decode(self, node: Node, notes: list[str]) -> Any:
        kind = type(node)
        if kind is list:
            return decode_items(self, node, notes)
        if kind is not dict:
            return node
        tag = node_tag(node)
        if tag == "dict":
            return decode_mapping(node, _TEXT, self, notes)
        if tag in _PLAIN_LEAVES:
            return _PLAIN_LEAVES[tag].decode(node, notes)
        plan = self.messages().get(tag)
        if plan is None:
            raise unreadable(self, tag)
        return plan.decode(node, notes)

    def spell(self, spelling: Callable[[Plan], str]) -> str:
        return "Any"


def encode_items(item: Plan, items: Iterable[Any], depth: int) -> list[Node]:
    """The nodes of the items, in order."""
    nodes: list[Node] = []
    try:
        nodes.extend(map(item.encode, items, repeat(depth)))
    except Misfit as problem:
        # extend appends one by one, so its length is the place of the failure.
        raise problem.inside(f"[{len(nodes)}]", items) from None
    return nodes


def decode_items(item: Plan, nodes: Node, notes: list[str]) -> list[Any]:
    """The values of the nodes, in order."""
    values: list[Any] = []
    try:
        values.extend(map(item.decode, expect(nodes, list), repeat(notes)))
    except Misfit as problem:
        raise problem.inside(f"[{len(values)}]", nodes) from None
    return values


def encode_mapping(mapping: Mapping[Any, Any], key: Plan, item: Plan, depth: int) -> Node:
    """A JSON object where the keys are declared as text and can be its keys, else ``{"$dict": pairs}``."""
    if key is not _TEXT:
        return {"$dict": encode_pairs(mapping, key, item, depth)}
    nodes: dict[str, Node] = {}
    encode = item.encode
    label: Any = None
    try:
        for label, value in mapping.items():
            nodes[label if type(label) is str else _TEXT.encode(label, depth)] = encode(value, depth)
    except Misfit as problem:
        step = f"[{label!r:.60}]" if type(label) is str else f".key({label!r:.60})"
        raise problem.inside(step, mapping) from None
    return close_object(nodes)


def close_object(nodes: dict[str, Node]) -> Node:
    """A JSON object of nodes, or its pairs where it looks like an envelope or UTF-8 cannot hold a key."""
    looks_closed = len(nodes) == 1 and next(iter(nodes))[:1] == "$"
    if looks_closed or not all(map(is_storable_text, nodes)):
        return {"$dict": [[write_text(key), node] for key, node in nodes.items()]}
    return nodes


def open_object(node: Node) -> dict[str, Node]:
    """The nodes that :func:`close_object` was given."""
    found: dict[str, Node] = expect(node, dict)
    if len(found) == 1 and "$dict" in found:
        pairs = [expect_list(pair, 2) for pair in expect(found["$dict"], list)]
        return {read_text(payload(key, "str")): part for key, part in pairs}
    return found


def decode_mapping(node: Node, key: Plan, item: Plan, notes: list[str]) -> dict[Any, Any]:
    """The mapping that :func:`encode_mapping` wrote."""
    if type(node) is dict and len(node) == 1 and "$dict" in node:
        return dict(decode_pairs(node["$dict"], key, item, notes))
    if key is not _TEXT:
        raise Misfit(f"an object with text keys is stored where keys of type {name_of(key)} are declared")
    values: dict[Any, Any] = {}
    label = ""
    try:
        for label, part in expect(node, dict).items():
            values[label] = item.decode(part, notes)
    except Misfit as problem:
        raise problem.inside(f"[{label!r:.60}]", node) from None
    return values


def encode_pairs(mapping: Mapping[Any, Any], key: Plan, item: Plan, depth: int) -> list[Node]:
    """The entries as a list of pairs, in order."""
    pairs: list[Node] = []
    for label, value in mapping.items():
        try:
            written = key.encode(label, depth)
        except Misfit as problem:
            raise problem.inside(f".key({label!r:.60})", mapping) from None
        try:
            pairs.append([written, item.encode(value, depth)])
        except Misfit as problem:
            raise problem.inside(f"[{label!r:.60}]", mapping) from None
    return pairs


def decode_pairs(node: Node, key: Plan, item: Plan, notes: list[str]) -> list[tuple[Any, Any]]:
    """The entries that :func:`encode_pairs` wrote, their keys hashable and different."""
    entries: list[tuple[Any, Any]] = []
    seen: set[Any] = set()
    try:
        for pair in expect(node, list):
            written, part = expect_list(pair, 2)
            label = key.decode(written, notes)
            entries.append((label, item.decode(part, notes)))
            seen.add(label)
    except Misfit as problem:
        raise problem.inside(f"[{len(entries)}]", node) from None
    except TypeError as problem:
        raise Misfit(f"a stored key cannot be a key: {problem}") from problem
    if len(seen) < len(entries):
        raise Misfit("one key is stored twice")
    return entries


class SequencePlan:
    """A list, deque, set, frozenset, or tuple of any length, with items of one annotation."""

    def __init__(self, kind: Callable[..., Any], item: Plan) -> None:
        self.kind: Any = kind
        self.item = item
        self.key = f"${kind.__name__}"

    def takes(self, kind: type) -> bool:
        return bool(kind is self.kind)

    def reads(self, tag: str) -> bool:
        return bool(tag == self.kind.__name__)

    def encode(self, value: Any, depth: int) -> Node:
        if type(value) is not self.kind:
            raise misfit(self, type(value))
        nodes = encode_items(self.item, value, fresh_depth(depth))
        if self.kind is list:
            return nodes
        if self.kind is deque:
            return {self.key: [value.maxlen, nodes]}
        if self.kind is not tuple:
            nodes.sort(key=to_json)
        return {self.key: nodes}

    def decode(self, node: Node, notes: list[str]) -> Any:
        tag = node_tag(node)
        if tag != self.kind.__name__:
            raise unreadable(self, tag)
        if self.kind is list:
            return decode_items(self.item, node, notes)
        body = payload(node, tag)
        limit = None
        if self.kind is deque:
            limit, body = expect_list(body, 2)
            if limit is not None and not 0 <= expect(limit, int) < 2**63:
                raise Misfit(f"a deque cannot have maxlen={limit}")
        values = decode_items(self.item, body, notes)
        if self.kind is deque:
            if limit is not None and len(values) > limit:
                raise Misfit(f"{len(values)} items are stored for a deque with maxlen={limit}")
            return deque(values, limit)
        try:
            made = self.kind(values)
        except TypeError as problem:
            raise Misfit(f"a stored item cannot be in a {self.kind.__name__}: {problem}") from problem
        if len(made) < len(values):
            raise Misfit(f"one item is stored twice in a {self.kind.__name__}")
        return made

    def spell(self, spelling: Callable[[Plan], str]) -> str:
        return f"{self.kind.__name__}[{spelling(self.item)}{', ...' if self.kind is tuple else ''}]"


class TuplePlan:
    """A tuple with an annotation for each place."""

    def __init__(self, items: Iterable[Plan]) -> None:
        self.items = tuple(items)

    def takes(self, kind: type) -> bool:
        return kind is tuple

    def reads(self, tag: str) -> bool:
        return tag == "tuple"

    def encode(self, value: Any, depth: int) -> Node:
        if type(value) is not tuple:
            raise misfit(self, type(value))
        if len(value) != len(self.items):
            raise Misfit(f"a tuple of {len(value)} items stands where {name_of(self)} is declared")
        below = fresh_depth(depth)
        nodes: list[Node] = []
        try:
            nodes.extend(plan.encode(part, below) for plan, part in zip(self.items, value, strict=True))
        except Misfit as problem:
            raise problem.inside(f"[{len(nodes)}]", value) from None
        return {"$tuple": nodes}

    def decode(self, node: Node, notes: list[str]) -> Any:
        tag = node_tag(node)
        if tag != "tuple":
            raise unreadable(self, tag)
        nodes = expect_list(payload(node, tag), len(self.items))
        values: list[Any] = []
        try:
            values.extend(plan.decode(part, notes) for plan, part in zip(self.items, nodes, strict=True))
        except Misfit as problem:
            raise problem.inside(f"[{len(values)}]", node) from None
        return tuple(values)

    def spell(self, spelling: Callable[[Plan], str]) -> str:
        return f"tuple[{', '.join(map(spelling, self.items)) or '()'}]"


_FACTORIES: Final[dict[str, type]] = {
    kind.__name__: kind for kind in (list, dict, set, int, str, float, tuple, bool)
}


class MappingPlan:
    """A dict or one of its relatives in ``collections``, with annotated keys and values."""

    def __init__(self, kind: type, key: Plan, item: Plan) -> None:
        self.kind = kind
        self.key = (
            _TEXT if isinstance(key, AnyPlan) or (type(key) is LeafPlan and key.declared is str) else key
        )
        self.item = item
        # A relative of dict is one too and may stand for it; it is kept as what it is.
        self.kinds = (dict, OrderedDict, defaultdict, Counter) if kind is dict else (kind,)
        self.tags = tuple(kind.__name__ for kind in self.kinds)

    def takes(self, kind: type) -> bool:
        return kind in self.kinds

    def reads(self, tag: str) -> bool:
        return tag in self.tags

    def encode(self, value: Any, depth: int) -> Node:
        kind = type(value)
        if kind not in self.kinds:
            raise misfit(self, kind)
        below = fresh_depth(depth)
        if kind is dict:
            return encode_mapping(value, self.key, self.item, below)
        if kind is not defaultdict:
            return {f"${kind.__name__}": encode_pairs(value, self.key, self.item, below)}
        factory = value.default_factory
        name = None if factory is None else getattr(factory, "__name__", "")
        if name is not None and _FACTORIES.get(name) is not factory:
            raise Misfit(
                f"the defaultdict factory {repr(factory)[:60]} cannot be stored, only "
                f"{', '.join(_FACTORIES)} and None can; convert it with dict(...)"
            )
        return {"$defaultdict": [name, encode_pairs(value, self.key, self.item, below)]}

    def decode(self, node: Node, notes: list[str]) -> Any:
        tag = node_tag(node)
        if tag not in self.tags:
            raise unreadable(self, tag)
        if tag == "dict":
            return decode_mapping(node, self.key, self.item, notes)
        body = payload(node, tag)
        if tag != "defaultdict":
            kind: Callable[[Any], Any] = OrderedDict if tag == "OrderedDict" else Counter
            return kind(dict(decode_pairs(body, self.key, self.item, notes)))
        name, pairs = expect_list(body, 2)
        factory = None if name is None else _FACTORIES.get(expect(name, str))
        if name is not None and factory is None:
            raise Misfit(f"{name[:60]!r} is no defaultdict factory that is stored")
        return defaultdict(factory, decode_pairs(pairs, self.key, self.item, notes))

    def spell(self, spelling: Callable[[Plan], str]) -> str:
        if self.kind is Counter:
            return f"Counter[{spelling(self.key)}]"
        return f"{self.kind.__name__}[{spelling(self.key)}, {spelling(self.item)}]"
