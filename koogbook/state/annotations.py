"""Reading annotations: what their texts and type variables stand for, and how they are spelled."""

from __future__ import annotations

import ast
import re
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any, ForwardRef, Generic, Literal, TypeVar, get_args, get_origin


def is_alias(declared: Any) -> bool:
    """Whether it was made by a ``type`` statement."""
    return type(declared).__name__ == "TypeAliasType"


def is_wrapped(hint: Any, wrapper: str) -> bool:
    """Whether it is one of ``typing``'s qualifiers, such as ``Required[int]``."""
    return getattr(get_origin(hint), "_name", None) == wrapper


def text_of(declared: Any) -> str:
    """An annotation as text, without modules and addresses."""
    if declared is None or declared is types.NoneType:
        return "None"
    origin, arguments = get_origin(declared), get_args(declared)
    if origin in (typing.Union, types.UnionType):
        return " | ".join(sorted(map(text_of, arguments)))
    if isinstance(origin, type) and arguments:
        return f"{text_of(origin)}[{', '.join(map(text_of, arguments))}]"
    if isinstance(declared, type):
        return declared.__qualname__.rpartition("<locals>.")[2]
    text = re.sub(r" at 0x[0-9a-fA-F]+", "", repr(declared))
    return re.sub(r"\b(?:\w+\.|<locals>\.)+(?=\w)", "", text)


def substituted(hint: Any, bindings: Mapping[Any, Any]) -> Any:
    """The annotation with its type variables bound."""
    if isinstance(hint, TypeVar):
        return bindings.get(hint, hint)
    parameters = getattr(hint, "__parameters__", ()) if get_origin(hint) is not None else ()
    if not bindings or not parameters:
        return hint
    return hint[tuple(bindings.get(parameter, parameter) for parameter in parameters)]


def bindings_of(cls: Any, arguments: tuple[Any, ...]) -> dict[Any, Any]:
    """What the type variables of a class and of its generic bases stand for."""
    bound = dict(zip(getattr(cls, "__parameters__", ()), arguments, strict=False))
    for base in getattr(cls, "__orig_bases__", ()):
        origin = get_origin(base)
        if isinstance(origin, type) and origin is not Generic:
            bound.update(
                bindings_of(origin, tuple(substituted(argument, bound) for argument in get_args(base)))
            )
    return bound


def resolved_hints(cls: Any) -> dict[str, Any]:
    """The annotations of a class; those whose names mean nothing stay text."""
    try:
        return typing.get_type_hints(cls, include_extras=True)
    except Exception:
        # One name that means nothing must not hide the others: each field is read by itself.
        return dict(_resolved_one_by_one(cls))


def _resolved_one_by_one(cls: Any) -> Iterator[tuple[str, Any]]:
    for base in reversed(cls.__mro__):
        module = vars(sys.modules.get(base.__module__, types))
        for name, annotation in vars(base).get("__annotations__", {}).items():
            holder = types.SimpleNamespace(__annotations__={name: annotation})
            try:
                yield name, typing.get_type_hints(holder, module, dict(vars(base)), include_extras=True)[name]
            except Exception:
                yield name, annotation if isinstance(annotation, str) else ForwardRef(text_of(annotation))


def resolved_alias(alias: Any) -> Any:
    """What a type alias stands for; names that mean nothing stay text."""
    holder = types.SimpleNamespace(__annotations__={"value": alias.__value__})
    try:
        names = vars(sys.modules[alias.__module__])
        return typing.get_type_hints(holder, names, include_extras=True)["value"]
    except Exception:
        return alias.__value__


def forward_texts(annotation: Any) -> Iterator[str]:
    """The texts inside an annotation that stand for types."""
    if isinstance(annotation, str):
        yield annotation
    elif isinstance(annotation, ForwardRef):
        yield annotation.__forward_arg__
    else:
        for argument in get_args(annotation):
            yield from (
                forward_texts(argument)
                if not isinstance(argument, str) or get_origin(annotation) is not Literal
                else ()
            )


def names_in(text: str) -> Iterator[str]:
    """The names that the text of an annotation uses."""
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        return
    for part in ast.walk(tree):
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield from names_in(part.value)
