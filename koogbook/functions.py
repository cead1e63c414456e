"""What can be told of a function that a user handed over: its kind, its annotations, and whether it is another one."""

from __future__ import annotations

import builtins
import inspect
import sys
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any

_MORE_ARGUMENTS = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_ANYTHING = (Any, Any)
_BUILTINS = vars(builtins)
_HAS_TYPE_PARAMETERS = sys.version_info >= (3, 12)


def is_async(function: Any) -> bool:
    """Whether calling it gives a coroutine: an async function, or an object whose ``__call__`` is one."""
    if type(function) is FunctionType and function.__code__.co_flags & inspect.CO_COROUTINE:
        return True
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def annotated(function: Any) -> Any:
    """What carries the annotations: the function inside a partial, the method of a callable object."""
    while isinstance(function, partial):
        function = function.func
    return function if inspect.isroutine(function) or inspect.isclass(function) else type(function).__call__


def plain_arguments(function: Any) -> tuple[int, int] | None:
    """How many arguments a function takes by position, and how many it must get; None where it takes a closer look."""
    if type(function) is not FunctionType or function.__dict__:  # a wrapper may stand for another one
        return None
    code = function.__code__
    if code.co_kwonlyargcount or code.co_flags & _MORE_ARGUMENTS:
        return None
    return code.co_argcount, code.co_argcount - len(function.__defaults__ or ())


def plain_types(function: Any) -> tuple[Any, Any] | None:
    """The declared types of the second argument and of what is returned; None where it takes a closer look.

    Of a function of two arguments that is written down as such, with classes for annotations, or their names, or none:
    that is nearly every node, and its code object says it all.
    """
    if type(function) is not FunctionType or function.__dict__:
        return None
    code = function.__code__
    if code.co_argcount != 2 or code.co_kwonlyargcount or code.co_flags & _MORE_ARGUMENTS:
        return None
    try:
        annotations: dict[str, Any] | None = function.__annotations__
    except NameError:  # they are evaluated when they are asked for, from Python 3.14 on
        return None
    if not annotations:
        return _ANYTHING
    if _HAS_TYPE_PARAMETERS and getattr(function, "__type_params__", False):
        return None
    given, gives = annotations.get(code.co_varnames[1], Any), annotations.get("return", Any)
    if type(given) is str:
        given = _named(given, function.__globals__)
    if type(gives) is str:
        gives = _named(gives, function.__globals__)
    return (given, gives) if isinstance(given, type) and isinstance(gives, type) else None


def _named(name: str, known: dict[str, Any]) -> Any:
    """What a name in a function's module stands for; None where it is another expression."""
    return known.get(name) or _BUILTINS.get(name) or _in_module(name, known)


def _in_module(name: str, known: dict[str, Any]) -> Any:
    """What a name in a module (``kb.Context``) stands for; None where it is another expression."""
    module, _, inner = name.partition(".")
    found = known.get(module)
    while inner:
        if type(found) is not ModuleType:
            return None
        name, _, inner = inner.partition(".")
        found = getattr(found, name, None)
    return found


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
