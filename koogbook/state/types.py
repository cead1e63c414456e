"""From an annotation to a plan: the types it reaches, and the names that its texts stand for."""

from __future__ import annotations

import collections
import collections.abc
import dataclasses
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import cache
from inspect import Parameter, Signature
from typing import Any, Final, ForwardRef, Generic, Literal, NamedTuple, TypeVar, get_args, get_origin

import msgspec

from koogbook.messages.message import Message, Usage
from koogbook.messages.model import LLModel, LLMParams, ToolChoice
from koogbook.messages.parts import Attachment, Foreign, Reasoning, Text, ToolCall, ToolResult
from koogbook.state.annotations import (
    bindings_of,
    forward_texts,
    is_alias,
    is_wrapped,
    names_in,
    resolved_alias,
    resolved_hints,
    substituted,
    text_of,
)
from koogbook.state.containers import AnyPlan, MappingPlan, SequencePlan, TuplePlan
from koogbook.state.families import DATACLASS, EXTRA, FIELDS_SET, MODEL, NAMED_TUPLE, STRUCT
from koogbook.state.leaves import (
    LEAF_TYPES,
)
from koogbook.state.plans import (
    DeferredPlan,
    LeafPlan,
    LiteralPlan,
    Plan,
    RefusedPlan,
    UnionPlan,
    name_of,
)
from koogbook.state.records import EnumPlan, RecordKind, RecordPlan, TypedDictPlan, tag_of_class

#: koogbook's own structs may stand anywhere; their tags are their names.
_OWN: Final[tuple[type[msgspec.Struct], ...]] = (
    Message,
    Usage,
    Text,
    Reasoning,
    Attachment,
    ToolCall,
    ToolResult,
    Foreign,
    LLModel,
    LLMParams,
    ToolChoice,
)
_UNKNOWN: Final = object()
_ANYTHING: Final = (Any, object, Parameter.empty, Signature.empty)
_WRAPPERS: Final = ("Annotated", "Required", "NotRequired", "ReadOnly", "Final", "ClassVar")
_SEQUENCES: Final = (list, set, frozenset, collections.deque)
_MAPPINGS: Final = (dict, collections.OrderedDict, collections.defaultdict, collections.Counter)
_ABSTRACT_ITEMS: Final[dict[Any, tuple[type, ...]]] = {
    collections.abc.Sequence: (list, tuple, collections.deque),
    collections.abc.MutableSequence: (list, collections.deque),
    collections.abc.Set: (set, frozenset),
    collections.abc.MutableSet: (set,),
    collections.abc.Collection: (list, tuple, collections.deque, set, frozenset),
    collections.abc.Iterable: (list, tuple, collections.deque, set, frozenset),
}
# ``typing.Tuple`` without items cannot be told from ``tuple[()]`` by its origin and arguments.
_BARE_TUPLE: Any = getattr(typing, "Tuple")  # noqa: B009
_ABSTRACT_MAPPINGS: Final = (collections.abc.Mapping, collections.abc.MutableMapping)


class Watch(NamedTuple):
    """A name in a module that an annotation's text stands for, and what it meant when it was read."""

    names: Mapping[str, Any]
    name: str
    meaning: Any


class Compiled(NamedTuple):
    """A plan, and the names that it depends on."""

    plan: Plan
    watches: tuple[Watch, ...]

    def is_stale(self) -> bool:
        """Whether a name has another meaning now, such as a class whose cell was run again."""
        return any(watch.names.get(watch.name, _UNKNOWN) is not watch.meaning for watch in self.watches)


def compile_type(declared: Any) -> Compiled:
    """The plan for an annotation; what it cannot store is refused when a value comes, not here."""
    reading = _Reading()
    plan = reading.plan(declared)
    return Compiled(plan, tuple(reading.watches.values()))


@cache
def _own_plans() -> Mapping[str, Plan]:
    reading = _Reading()
    return {cls.__name__: reading.plan(cls) for cls in _OWN}


class _Reading:
    """One walk over an annotation, with what was met so far."""

    def __init__(self) -> None:
        self.records: dict[Any, Plan] = {}
        self.by_tag: dict[str, RecordPlan | EnumPlan] = {}
        self.aliases: dict[Any, DeferredPlan] = {}
        self.watches: dict[tuple[str, str], Watch] = {}

    def plan(self, declared: Any) -> Plan:
        if any(declared is anything for anything in _ANYTHING):
            return AnyPlan(_own_plans)
        if declared is None:
            return LeafPlan(types.NoneType)
        if isinstance(declared, str | ForwardRef):
            name = declared if isinstance(declared, str) else declared.__forward_arg__
            return RefusedPlan(
                name,
                f"its annotation {name!r} is text that stands for no type; define that in a module or cell",
            )
        if isinstance(declared, TypeVar):
            options = declared.__constraints__ or (Any if declared.__bound__ is None else declared.__bound__,)
            return self._union(options)
        if isinstance(declared, typing.NewType):
            return self.plan(declared.__supertype__)
        if declared is typing.LiteralString:
            return LeafPlan(str)
        if is_alias(declared) or is_alias(get_origin(declared)):
            return self._alias(declared)
        origin = get_origin(declared)
        if origin is None:
            return self._class(declared, ()) if isinstance(declared, type) else _refused(declared)
        arguments = get_args(declared)
        if getattr(origin, "_name", None) in _WRAPPERS or origin is typing.Annotated:
            return self.plan(arguments[0])
        if origin in (typing.Union, types.UnionType):
            return self._union(arguments)
        if origin is Literal:
            return LiteralPlan((option, self.plan(type(option))) for option in arguments)
        return self._class(origin, arguments, declared)

    def _union(self, options: tuple[Any, ...]) -> Plan:
        plans: list[Plan] = []
        for option in options:
            plan = self.plan(option)
            plans.extend(plan.members if isinstance(plan, UnionPlan) else (plan,))
        return plans[0] if len(plans) == 1 else UnionPlan(plans)

    def _alias(self, declared: Any) -> Plan:
        if declared in self.aliases:
            return self.aliases[declared]
        deferred = self.aliases[declared] = DeferredPlan(text_of(declared))
        alias = get_origin(declared) or declared
        value = resolved_alias(alias)
        self._watch_texts(alias.__module__, [alias.__value__])
        arguments = get_args(declared)
        if arguments:
            value = substituted(value, dict(zip(alias.__type_params__, arguments, strict=False)))
        deferred.target = self.plan(value)
        return deferred.target

    def _class(self, cls: Any, arguments: tuple[Any, ...], declared: Any = None) -> Plan:
        if cls in _SEQUENCES:
            return SequencePlan(cls, self.plan(arguments[0] if arguments else Any))
        if cls is tuple:
            return self._tuple(arguments, is_bare=declared in (None, _BARE_TUPLE))
        if cls in _MAPPINGS:
            key = arguments[0] if arguments else Any
            item = int if cls is collections.Counter else (arguments[1] if arguments else Any)
            return MappingPlan(cls, self.plan(key), self.plan(item))
        if cls in _ABSTRACT_ITEMS:
            return self._abstract(cls, arguments[0] if arguments else Any)
        if cls in _ABSTRACT_MAPPINGS:
            return MappingPlan(dict, *map(self.plan, arguments or (Any, Any)))
        if cls in LEAF_TYPES:
            return LeafPlan(cls)
        package = getattr(cls, "__module__", "").partition(".")[0]
        if package in ("numpy", "pandas") and package in sys.modules and isinstance(cls, type):
            return LeafPlan(cls, _item_type(arguments)) if not issubclass(cls, Enum) else _refused(cls)
        if isinstance(cls, type):
            return self._user_class(cls, arguments, cls if declared is None else declared)
        return _refused(cls)

    def _tuple(self, arguments: tuple[Any, ...], *, is_bare: bool) -> Plan:
        if is_bare:
            return SequencePlan(tuple, self.plan(Any))
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return SequencePlan(tuple, self.plan(arguments[0]))
        return TuplePlan(map(self.plan, arguments))

    def _abstract(self, cls: Any, item: Any) -> Plan:
        plan = self.plan(item)
        members: list[Plan] = [SequencePlan(kind, plan) for kind in _ABSTRACT_ITEMS[cls]]
        if tuple in _ABSTRACT_ITEMS[cls] and plan.takes(int):
            members.append(LeafPlan(range))
        return UnionPlan(members)

    # ----------------------------------------------------------------------------------- users' classes

    def _user_class(self, cls: Any, arguments: tuple[Any, ...], declared: Any) -> Plan:
        known = self.records.get(declared)
        if known is not None:
            return known
        if issubclass(cls, Enum):
            plan = EnumPlan(cls, tag_of_class(cls))
            self.records[declared] = plan
            self._claim_tag(plan)
            return plan
        if typing.is_typeddict(cls):
            return self._typed_dict(cls, arguments, declared)
        family = _family(cls)
        if family is None:
            return _refused(cls)
        tag = cls.__name__ if cls in _OWN else tag_of_class(cls)
        record = RecordPlan(cls, tag, family, name=text_of(declared))
        self.records[declared] = record
        self._claim_tag(record)
        hints = self._hints(cls, family)
        bindings = bindings_of(cls, arguments)
        for name in family.part_names(cls):
            record.parts[name] = self.plan(substituted(hints.get(name, Any), bindings))
        return record

    def _claim_tag(self, plan: RecordPlan | EnumPlan) -> None:
        other = self.by_tag.setdefault(plan.tag, plan)
        if other.cls is not plan.cls:
            other.clash, plan.clash = plan.cls, other.cls

    def _typed_dict(self, cls: Any, arguments: tuple[Any, ...], declared: Any) -> Plan:
        hints = self._hints(cls, None)
        optional = {name for name, hint in hints.items() if is_wrapped(hint, "NotRequired")}
        required = {name for name, hint in hints.items() if is_wrapped(hint, "Required")}
        plan = TypedDictPlan(text_of(declared), frozenset(required | (cls.__required_keys__ - optional)))
        self.records[declared] = plan
        bindings = bindings_of(cls, arguments)
        for name, hint in hints.items():
            plan.parts[name] = self.plan(substituted(hint, bindings))
        return plan

    def _hints(self, cls: Any, family: RecordKind | None) -> dict[str, Any]:
        for base in cls.__mro__:
            self._watch(base)
        if family is MODEL:
            private = {
                name: hint for name, hint in resolved_hints(cls).items() if name in cls.__private_attributes__
            }
            fields = {name: field.annotation for name, field in cls.__pydantic_fields__.items()}
            return {**private, **fields, FIELDS_SET: list[str], EXTRA: dict[str, Any] | None}
        return resolved_hints(cls)

    def _watch(self, base: type) -> None:
        self._watch_texts(base.__module__, vars(base).get("__annotations__", {}).values())

    def _watch_texts(self, module_name: str, annotations: Iterable[Any]) -> None:
        module = sys.modules.get(module_name)
        names = vars(module) if module is not None else {}
        for annotation in annotations:
            for text in forward_texts(annotation):
                for name in names_in(text):
                    self.watches[module_name, name] = Watch(names, name, names.get(name, _UNKNOWN))


# ------------------------------------------------------------------------------------------- annotations


def _family(cls: Any) -> RecordKind | None:
    pydantic = sys.modules.get("pydantic")
    if pydantic is not None and issubclass(cls, pydantic.BaseModel):
        return MODEL
    if issubclass(cls, msgspec.Struct):
        return STRUCT
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return NAMED_TUPLE
    if dataclasses.is_dataclass(cls) and not _inherits_content(cls):
        return DATACLASS
    return None


def _inherits_content(cls: Any) -> bool:
    # A type made in Python holds all in attributes; a built-in base (dict, Exception) keeps more elsewhere.
    made_in_python = 1 << 9
    return any(not base.__flags__ & made_in_python for base in cls.__mro__ if base not in (object, Generic))


def _item_type(arguments: tuple[Any, ...]) -> type | None:
    """The scalar type in ``ndarray[shape, dtype[scalar]]``."""
    item = get_args(arguments[1])[0] if len(arguments) == 2 and get_args(arguments[1]) else None
    return item if isinstance(item, type) else None


def _refused(declared: Any) -> Plan:
    spelled = text_of(declared)
    return RefusedPlan(
        spelled,
        f"{spelled} is none of the types that can be stored exactly. Use a dataclass, a msgspec struct, a "
        "NamedTuple, a pydantic model, an enum, or a type of the standard library that holds data",
    )


# ------------------------------------------------------------------------------------------- shapes


def shape_of(plan: Plan) -> str:
    """The annotation as text, with the fields of each class where it is met first."""
    met: set[int] = set()

    def spell(part: Plan) -> str:
        if id(part) in met:
            return name_of(part)
        if isinstance(part, EnumPlan):
            met.add(id(part))
            return f"{name_of(part)}({part.members()})"
        if isinstance(part, RecordPlan | TypedDictPlan):
            met.add(id(part))
            optional = part.parts.keys() - part.required if isinstance(part, TypedDictPlan) else ()
            fields = (
                f"{name}{'?' * (name in optional)}: {spell(field)}" for name, field in part.parts.items()
            )
            return f"{name_of(part)}({', '.join(fields)})"
        if isinstance(part, DeferredPlan):
            return part.name if id(part) in met else _spell_alias(part, met, spell)
        return part.spell(spell)

    return spell(plan)


def _spell_alias(alias: DeferredPlan, met: set[int], spell: Callable[[Plan], str]) -> str:
    met.add(id(alias))
    return f"{alias.name}={spell(alias.target)}"
