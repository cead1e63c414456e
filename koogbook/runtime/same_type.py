"""Whether two annotations mean the same type, where a notebook cell may have defined a class again."""

from __future__ import annotations

from typing import Any, get_args, get_origin

from koogbook.state.codec import type_shape


def is_same_type(one: Any, other: Any) -> bool:
    """Whether both are equal, or differ only in classes of the same module and qualified name."""
    if one is other:
        return True
    if isinstance(one, type) and isinstance(other, type) and not get_args(one) and not get_args(other):
        return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)
    if not get_args(one) or not get_args(other):
        return bool(one == other)
    left, right = get_args(one), get_args(other)
    return (
        get_origin(one) == get_origin(other) and len(left) == len(right) and all(map(_is_same, left, right))
    )


def _is_same(one: Any, other: Any) -> bool:
    """Arguments of a type may be lists of types, as those of a callable, or values, as those of a literal."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return is_same_type(one, other)


def has_other_fields(one: Any, other: Any) -> bool:
    """Whether the classes in two annotations of the same type have other fields, so that what is stored differs."""
    return one is not other and type_shape(one) != type_shape(other)
