"""What can be told of a function that a user handed over: its kind, its annotations, and whether it is another one."""

from __future__ import annotations

import inspect
from functools import partial
from types import CodeType, FunctionType
from typing import Any


def is_async(function: Any) -> bool:
    """Whether calling it gives a coroutine: an async function, or an object whose ``__call__`` is one."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def annotated(function: Any) -> Any:
    """What carries the annotations: the function inside a partial, the method of a callable object."""
    while isinstance(function, partial):
        function = function.func
    return function if inspect.isroutine(function) or inspect.isclass(function) else type(function).__call__


def is_same_function(one: Any, other: Any) -> bool:
    """Whether both do the same: the same object, or the same code with the same defaults and enclosed values.

    A function that is defined twice by the same text is the same; two functions of one factory are not, unless it was
    given the same. Where that cannot be told, they are different.
    """
    if one is other:
        return True
    if isinstance(one, partial) and isinstance(other, partial):
        return is_same_function(one.func, other.func) and _are_equal(
            (one.args, one.keywords), (other.args, other.keywords)
        )
    if isinstance(one, FunctionType) and isinstance(other, FunctionType):
        return _code(one.__code__) == _code(other.__code__) and _are_equal(_bound(one), _bound(other))
    return _are_equal(one, other)


def is_new_version(before: Any, function: Any) -> bool:
    """Whether a ``def`` of the same module and name has other code now, as a cell that was changed and run again."""
    return (
        isinstance(before, FunctionType)
        and isinstance(function, FunctionType)
        and function.__name__ != "<lambda>"
        and (before.__module__, before.__qualname__) == (function.__module__, function.__qualname__)
        and _code(before.__code__) != _code(function.__code__)
    )


def _code(code: CodeType) -> tuple[Any, ...]:
    """What a code object does, without where it stands."""
    # repr, since 1 == 1.0 == True, in tuples too
    constants = tuple(_code(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
    return (code.co_code, counts, constants, code.co_names, code.co_varnames, code.co_freevars, code.co_flags)


def _bound(function: FunctionType) -> tuple[Any, ...]:
    """Defaults and enclosed values; an enclosed name that has none yet is equal to nothing."""
    enclosed = []
    for cell in function.__closure__ or ():
        try:
            enclosed.append(cell.cell_contents)
        except ValueError:
            enclosed.append(object())
    return (function.__defaults__, function.__kwdefaults__, tuple(enclosed))


def _are_equal(one: Any, other: Any) -> bool:
    try:
        return type(one) is type(other) and bool(one == other)
    except Exception:  # an array or a frame has no single answer
        return False
