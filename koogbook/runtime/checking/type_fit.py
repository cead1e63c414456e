"""Whether what one node gives can be what the next one takes, told from their annotations alone."""

from __future__ import annotations

import inspect
import types
from typing import Annotated, Any, Union, get_args, get_origin


def can_fit(given: Any, wanted: Any) -> bool:
    """Whether some value of the one type could be one of the other; unknown types always fit."""
    if given is wanted or given is Any or wanted is Any:
        return True
    return any(_classes_fit(left, right) for left in _members(given) for right in _members(wanted))


def _members(declared: Any) -> list[Any]:
    if get_origin(declared) is Annotated:
        return _members(get_args(declared)[0])
    if get_origin(declared) in (Union, types.UnionType):
        return [member for one in get_args(declared) for member in _members(one)]
    return [type(None) if declared is None else get_origin(declared) or declared]


def _classes_fit(given: Any, wanted: Any) -> bool:
    # Any is a class since Python 3.11, and fits everything all the same.
    if Any in (given, wanted) or not isinstance(given, type) or not isinstance(wanted, type):
        return True
    if given in (int, bool) and wanted is float:
        return True
    if _is_abstract(given) or _is_abstract(wanted):  # some class could be both
        return True
    try:
        return issubclass(given, wanted) or issubclass(wanted, given)
    except TypeError:  # a typed dictionary, which cannot be asked
        return True


def _is_abstract(one: type) -> bool:
    return inspect.isabstract(one) or getattr(one, "_is_protocol", False)
