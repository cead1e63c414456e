"""How dataclasses, msgspec structs, named tuples and pydantic models are taken apart and rebuilt."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property, lru_cache
from types import MemberDescriptorType
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import force_setattr

from koogbook.state.nodes import (
    Misfit,
)
from koogbook.state.records import MISSING, UNSET, RecordKind

#: Parts of a pydantic model besides its fields and private attributes. pydantic keeps the prefix for itself.
FIELDS_SET: Final = "model_fields_set"
EXTRA: Final = "model_extra"


class _Layout(NamedTuple):
    """Where instances of a class keep attributes: fields, slots beside these, and what is only derived."""

    fields: frozenset[str]
    other_slots: tuple[MemberDescriptorType, ...]
    derived: frozenset[str]


@lru_cache(maxsize=256)
def _layout(cls: type, names: tuple[str, ...]) -> _Layout:
    attributes = [(name, found) for base in cls.__mro__ for name, found in vars(base).items()]
    slots = (found for _, found in attributes if isinstance(found, MemberDescriptorType))
    derived = frozenset(name for name, found in attributes if isinstance(found, cached_property))
    return _Layout(frozenset(names), tuple(slot for slot in slots if slot.__name__ not in names), derived)


def _check_attributes(value: Any, names: tuple[str, ...]) -> None:
    """Refuse a value that holds more than its fields: that would be lost."""
    cls: Any = type(value)
    layout = _layout(cls, names)
    extra = set(getattr(value, "__dict__", ())) - layout.fields - layout.derived
    for slot in layout.other_slots:
        try:
            slot.__get__(value, cls)
        except AttributeError:
            continue
        extra.add(slot.__name__)
    if extra:
        raise Misfit(
            f"this {cls.__qualname__} has attributes that are no fields and would be lost: "
            f"{', '.join(sorted(map(str, extra)))}; declare them as fields"
        )


def _attributes(value: Any, names: tuple[str, ...]) -> dict[str, Any]:
    found = {name: getattr(value, name, MISSING) for name in names}
    unset = [name for name, part in found.items() if part is MISSING]
    if unset:
        raise Misfit(
            f"{', '.join(unset)} of this {type(value).__qualname__} is not set; set it, or give it a default"
        )
    return found


# ------------------------------------------------------------------------------------------- dataclasses


@lru_cache(maxsize=256)
def _dataclass_names(cls: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(cls)) if dataclasses.is_dataclass(cls) else ()


def _read_dataclass(value: Any) -> Mapping[str, Any]:
    cls: Any = type(value)
    names = _dataclass_names(cls)
    layout = _layout(cls, names)
    own: dict[str, Any] | None = getattr(value, "__dict__", None)
    if own is not None and not layout.other_slots and own.keys() == layout.fields:
        return own
    _check_attributes(value, names)
    return _attributes(value, names)


def _build_dataclass(cls: type, values: dict[str, Any]) -> Any:
    made: Any = object.__new__(cls)
    put = object.__setattr__
    for name, value in values.items():
        put(made, name, value)
    return made


def _dataclass_default(cls: type, name: str) -> Any:
    field = cls.__dataclass_fields__[name]  # type: ignore[attr-defined]
    if field.default is not dataclasses.MISSING:
        return field.default
    return MISSING if field.default_factory is dataclasses.MISSING else field.default_factory()


DATACLASS: Final = RecordKind(_dataclass_names, _read_dataclass, _build_dataclass, _dataclass_default)


# ------------------------------------------------------------------------------------------- structs


def _struct_names(cls: type) -> tuple[str, ...]:
    names: tuple[str, ...] = getattr(cls, "__struct_fields__", ())
    return names


def _read_struct(value: Any) -> Mapping[str, Any]:
    names = _struct_names(type(value))
    _check_attributes(value, names)
    return _attributes(value, names)


def _build_struct(cls: type, values: dict[str, Any]) -> Any:
    made = cls(**values)
    # A struct cannot be made without its __post_init__; what that changed is put back.
    for name, value in values.items():
        force_setattr(made, name, value)
    return made


def _struct_default(cls: type, name: str) -> Any:
    field = next(field for field in msgspec.structs.fields(cls) if field.name == name)
    if field.default is not msgspec.NODEFAULT:
        return field.default
    return MISSING if field.default_factory is msgspec.NODEFAULT else field.default_factory()


STRUCT: Final = RecordKind(_struct_names, _read_struct, _build_struct, _struct_default)


# ------------------------------------------------------------------------------------------- named tuples


def _tuple_names(cls: type) -> tuple[str, ...]:
    names: tuple[str, ...] = getattr(cls, "_fields", ())
    return names


def _read_named_tuple(value: Any) -> Mapping[str, Any]:
    names = _tuple_names(type(value))
    if getattr(value, "__dict__", None) or len(value) != len(names):
        raise Misfit(f"this {type(value).__qualname__} holds more or less than its fields; keep to these")
    return dict(zip(names, value, strict=True))


def _build_named_tuple(cls: type, values: dict[str, Any]) -> Any:
    return tuple.__new__(cls, [values[name] for name in _tuple_names(cls)])


def _tuple_default(cls: type, name: str) -> Any:
    return cls._field_defaults.get(name, MISSING)  # type: ignore[attr-defined]


NAMED_TUPLE: Final = RecordKind(_tuple_names, _read_named_tuple, _build_named_tuple, _tuple_default)


# ------------------------------------------------------------------------------------------- pydantic models


def _model_names(cls: Any) -> tuple[str, ...]:
    fields = getattr(cls, "__pydantic_fields__", {})
    return (*fields, *getattr(cls, "__private_attributes__", {}), FIELDS_SET, EXTRA)


def _read_model(value: Any) -> Mapping[str, Any]:
    cls = type(value)
    names = tuple(cls.__pydantic_fields__)
    _check_attributes(
        value, (*names, "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
    )
    return {
        **_attributes(value, names),
        **(value.__pydantic_private__ or {}),
        FIELDS_SET: sorted(value.__pydantic_fields_set__),
        EXTRA: value.__pydantic_extra__,
    }


def _build_model(cls: Any, values: dict[str, Any]) -> Any:
    made = cls.__new__(cls)
    private = {name: values[name] for name in cls.__private_attributes__ if name in values}
    put = object.__setattr__
    put(made, "__dict__", {name: values[name] for name in cls.__pydantic_fields__})
    put(made, "__pydantic_fields_set__", set(values[FIELDS_SET]))
    put(made, "__pydantic_extra__", values[EXTRA])
    put(made, "__pydantic_private__", private if cls.__private_attributes__ else None)
    return made


def _model_default(cls: Any, name: str) -> Any:
    if name in cls.__private_attributes__:
        attribute = cls.__private_attributes__[name]
        has_none = attribute.default_factory is None and attribute.default == type(attribute)().default
        return UNSET if has_none else attribute.get_default()
    field = cls.__pydantic_fields__.get(name)
    if field is None or field.is_required():
        return MISSING
    return field.get_default(call_default_factory=True, validated_data={})


MODEL: Final = RecordKind(_model_names, _read_model, _build_model, _model_default)
