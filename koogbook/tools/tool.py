"""A tool: a typed Python function that a model may call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any, get_type_hints

import msgspec
from msgspec import Struct

from koogbook.errors import ToolError
from koogbook.functions import annotated, is_async


class ToolSpec(Struct, frozen=True):
    """What a model is told of a tool; ``parameters`` is a JSON schema as JSON text."""

    name: str
    description: str
    parameters: str


class Tool:
    """A function with its name, description and parameters (Koog's ``Tool``).

    Raises:
        ToolError: A parameter has no annotation, or one that has no JSON schema, or cannot be given by name.
    """

    __slots__ = ("arguments", "function", "is_async", "spec")

    def __init__(
        self, function: Callable[..., Any], *, name: str | None = None, description: str | None = None
    ) -> None:
        self.function = function
        self.is_async = is_async(function)
        chosen = name or getattr(function, "__name__", "")
        if not chosen or chosen == "<lambda>":
            raise ToolError("A tool needs a name: use a def, or Tool(function, name=...).")
        self.arguments = _arguments(function, chosen)
        schema = _schema(self.arguments)
        self.spec = ToolSpec(
            name=chosen,
            description=description if description is not None else inspect.getdoc(function) or "",
            parameters=msgspec.json.encode(schema, order="sorted").decode(),
        )

    @property
    def name(self) -> str:
        """The name that the model uses."""
        return self.spec.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, without a model."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"


def _arguments(function: Callable[..., Any], name: str) -> type[Struct]:
    fields: list[Any] = []
    try:
        hints = get_type_hints(annotated(function), include_extras=True)
    except (NameError, TypeError) as problem:
        raise ToolError(f"Tool {name!r}: an annotation cannot be resolved: {problem}.") from problem
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ToolError(f"Tool {name!r}: *{parameter.name} has no JSON schema. Name each parameter.")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise ToolError(
                f"Tool {name!r}: a model gives arguments by name, and {parameter.name!r} takes none. Leave out the '/'."
            )
        if parameter.name not in hints:
            raise ToolError(
                f"Tool {name!r}: parameter {parameter.name!r} has no annotation. "
                f"Write its type, for example {parameter.name}: str."
            )
        field = (parameter.name, hints[parameter.name])
        fields.append(field if parameter.default is parameter.empty else (*field, parameter.default))
    try:
        made = msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=True)
        msgspec.json.schema(made)
    except (TypeError, ValueError) as problem:
        raise ToolError(f"Tool {name!r} cannot be described as JSON: {problem}.") from problem
    return made


def _schema(arguments: type[Struct]) -> dict[str, Any]:
    """The schema with the object of the arguments at its top, where providers look for it."""
    schema = msgspec.json.schema(arguments)
    definitions = schema.pop("$defs")
    top: dict[str, Any] = definitions.pop(schema["$ref"].rpartition("/")[2])
    return {**top, "$defs": definitions} if definitions else top


def tool(function: Callable[..., Any]) -> Tool:
    """Make a tool of a function; usable as a decorator."""
    return Tool(function)


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
            if made.name in self._tools:
                raise ToolError(f"Two tools have the name {made.name!r}. Give one of them another name=.")
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
