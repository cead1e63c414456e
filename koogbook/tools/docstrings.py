"""What a docstring says of a function and of its parameters: Google's, NumPy's and reST's way of writing one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from docstring_parser import Docstring


class Described(Struct, frozen=True):
    """The description of a function, without that of its parameters, and the text of each parameter that has one."""

    text: str
    parameters: dict[str, str]


def described(function: Callable[..., Any], names: Collection[str]) -> Described:
    """Read a function's docstring; ``names`` are its parameters."""
    text = _docstring(function)
    if not text:
        return Described("", {})
    parsed = _parsed(text, names)
    if parsed is None:
        return Described(text, {})
    return Described((parsed.description or "").strip(), _parameters(parsed, names))


def _docstring(function: Any) -> str:
    while isinstance(function, partial):
        function = function.func
    call = type(function).__call__
    # An object that is called says it in its class or in its __call__; a slot of Python's own says nothing of it.
    own = call.__doc__ if not inspect.isroutine(function) and inspect.isfunction(call) else None
    return (inspect.cleandoc(own) if own else inspect.getdoc(function) or "").strip()


def _parsed(text: str, names: Collection[str]) -> Docstring | None:
    """The docstring in the style that names most of the parameters; None where it is plain text in no style."""
    from docstring_parser import DocstringStyle, ParseError, parse

    best, most = None, (0, 0)
    for style in (DocstringStyle.GOOGLE, DocstringStyle.NUMPYDOC, DocstringStyle.REST, DocstringStyle.EPYDOC):
        try:
            found = parse(text, style)
        except ParseError:  # a section that is not written in this style
            continue
        rank = (len(_parameters(found, names)), len(found.meta))
        if rank > most:
            best, most = found, rank
    return best


def _parameters(parsed: Docstring, names: Collection[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in parsed.params:
        for name in one.arg_name.split(","):  # NumPy's "x, y : int"
            text = (one.description or "").strip()
            if text and name.strip() in names:
                found.setdefault(name.strip(), text)
    return found
