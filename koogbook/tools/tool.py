"""A tool: a typed Python function that a model may call."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final, overload

from msgspec import Struct

from koogbook.code_place import place_of
from koogbook.errors import ToolError
from koogbook.functions import is_async

#: Characters of a name that all providers take.
LONGEST_NAME: Final = 64
_NAME = re.compile(rf"[a-zA-Z0-9_-]{{1,{LONGEST_NAME}}}", re.ASCII)


class ToolException(Exception):
    """What a tool raises to tell the model something: the text becomes an error result as it is (Koog's name)."""


class ToolSpec(Struct, frozen=True):
    """What a model is told of a tool; ``parameters`` is a JSON schema as JSON text."""

    name: str
    description: str
    parameters: str


class Tool:
    """A function with its name, description and parameters (Koog's ``Tool``).

    The schema is made of the annotations; docstring, ``Annotated[..., "text"]`` and ``Annotated[..., Field(...)]``
    describe the parameters. What a ``partial`` has filled in by name is the caller's, and no model hears of it.

    Args:
        function: A typed function, sync or async, a method of an object, a partial, or an object that can be called.
        name: What the model calls it; the function's name when left out.
        description: What the model reads of it; the docstring without its sections when left out.

    Raises:
        ToolError: It is no function of this kind, or has a name that no provider takes; a parameter has no annotation,
            one that cannot be resolved or has no JSON schema, or a default that does not fit it; or it cannot be given
            by name.
    """

    __slots__ = ("_parameters", "function", "is_async", "spec")

    def __init__(
        self, function: Callable[..., Any], *, name: str | None = None, description: str | None = None
    ) -> None:
        from koogbook.tools.schema import (
            Parameters,
        )  # pydantic is slow to import, and not everybody has tools

        _require_function(function)
        chosen = name or getattr(function, "__name__", "")
        if not chosen or chosen == "<lambda>":
            raise ToolError("A tool needs a name: use a def, or Tool(function, name=...).")
        if not isinstance(chosen, str) or not _NAME.fullmatch(chosen):
            raise ToolError(
                f"No provider takes {chosen!r:.80} as the name of a tool. Use 1 to {LONGEST_NAME} letters from a to z, "
                'digits, _ and -: kb.Tool(function, name="...").'
            )
        self.function = function
        self.is_async = is_async(function)
        self._parameters = Parameters(function, chosen)
        self.spec = ToolSpec(
            name=chosen,
            description=self._parameters.described.text if description is None else description,
            parameters=json.dumps(self._parameters.schema, ensure_ascii=False, separators=(",", ":")),
        )

    @property
    def name(self) -> str:
        """The name that the model uses."""
        return self.spec.name

    @property
    def place(self) -> str:
        """Where its function is defined: ``file:line``, or ``cell 3:line``; its kind where that is not known."""
        return _place(self.function)

    def read_arguments(self, text: str) -> dict[str, Any]:
        """What a model wrote as JSON text, as objects of the annotated types, by parameter name.

        Raises:
            ToolException: The arguments do not fit; its text says which and why.
        """
        return self._parameters.read(text)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, without a model."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"


def _require_function(given: Any) -> None:
    if isinstance(given, Tool):
        raise ToolError(
            f"{given!r} is a tool already. Use it as it is, or give its function: {given.name}.function."
        )
    wrong = ""
    if inspect.isclass(given):
        wrong = f"{given.__name__} is a class"
    elif inspect.isbuiltin(given):
        wrong = f"{given.__name__} is a builtin, whose parameters have no types"
    elif not callable(given):
        wrong = f"{given!r:.60} cannot be called"
    if wrong:
        raise ToolError(
            f"{wrong}. A tool is a typed function: write a def around it with an annotated parameter each."
        )
    innermost = inspect.unwrap(given.func if isinstance(given, partial) else given)
    if inspect.isgeneratorfunction(innermost) or inspect.isasyncgenfunction(innermost):
        raise ToolError(
            f"{getattr(innermost, '__name__', 'The function')} is a generator, and a call has one result. "
            "Return a list of what it yields."
        )


def _place(function: Any) -> str:
    while isinstance(function, partial):
        function = function.func
    function = inspect.unwrap(function)
    code = getattr(function if inspect.isroutine(function) else type(function).__call__, "__code__", None)
    if code is None:
        return type(function).__name__
    return place_of(code.co_filename, code.co_firstlineno)


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *, name: str | None = None, description: str | None = None
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None, /, *, name: str | None = None, description: str | None = None
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool of a function; a decorator, plain or with options: ``@tool(name=..., description=...)``.

    Raises:
        ToolError: As for :class:`Tool`.
    """
    if function is None:
        return partial(Tool, name=name, description=description)
    return Tool(function, name=name, description=description)


class ToolRegistry:
    """Tools by unique name, in order (Koog's ``ToolRegistry``).

    Raises:
        ToolError: Two tools have one name.
    """

    __slots__ = ("_tools",)

    def __init__(self, tools: Iterable[Tool | Callable[..., Any]] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for one in tools:
            made = one if isinstance(one, Tool) else Tool(one)
            known = self._tools.get(made.name)
            if known is not None:
                raise ToolError(
                    f"Two tools have the name {made.name!r}: one is defined at {known.place}, the other at "
                    f"{made.place}. Give one of them another name: kb.Tool(function, name=...)."
                )
            self._tools[made.name] = made

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(self._tools)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What a model is told of them."""
        return tuple(one.spec for one in self._tools.values())

    def get(self, name: str) -> Tool | None:
        """The tool of this name, or None."""
        return self._tools.get(name)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)
