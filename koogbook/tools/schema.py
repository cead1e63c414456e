"""The parameters of a tool: a JSON schema from a function's annotations, and arguments read from JSON text."""

from __future__ import annotations

import inspect
import json
import re
import types
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeGuard, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind
from pydantic_core import PydanticSerializationError, to_jsonable_python

from koogbook.errors import ToolError
from koogbook.tools.docstrings import Described, described
from koogbook.tools.failures import in_words
from koogbook.tools.tool import ToolException

_MOST_PROBLEMS = 10
_LONGEST_VALUE = 60
_LONGEST_PLACE = 120
_LONGEST_SCHEMA = 2_000
#: Where pydantic says what it has no schema for: a class, another type, or one of its own kinds.
_NO_SCHEMA_FOR = re.compile(
    r"schema for (?:<class '(?P<of_class>[^']+)'>|(?P<of_type>.+?))(?:\. Set |$)"
    r"|core_schema\.(?P<of_kind>\w+?)Schema(?: \(<class '(?P<of_instance>[^']+)'>\))?"
)


class Parameters:
    """The parameters of one function: ``schema`` describes them, :meth:`read` takes what a model wrote.

    Raises:
        ToolError: A parameter cannot be given by name, has no annotation or one that has no JSON schema, or a default
            that does not fit it.
    """

    __slots__ = ("_defaults", "_model", "_names", "described", "schema")

    def __init__(self, function: Callable[..., Any], tool: str) -> None:
        parameters = list(_parameters(function, tool))
        self._names = {f"p{at}": one.name for at, one in enumerate(parameters)}
        self._defaults = {one.name for one in parameters if one.default is not one.empty}
        self.described: Described = described(function, self._names.values())
        fields: dict[str, Any] = {}
        for field, parameter in zip(self._names, parameters, strict=True):
            annotation = _resolved(function, parameter, tool)
            _require_usable(annotation, parameter, tool)
            fields[field] = (annotation, self._field(annotation, parameter))
        # The fields have names of their own: a parameter may be called "schema", "copy" or "_id".
        config = ConfigDict(extra="forbid", allow_inf_nan=False)
        self._model: type[BaseModel] = create_model("Arguments", __config__=config, **fields)
        self.schema = _schema_of(self._model)

    def _field(self, annotation: Any, parameter: inspect.Parameter) -> Any:
        options: dict[str, Any] = {"alias": parameter.name, "validation_alias": parameter.name}
        if parameter.default is not parameter.empty:
            options["default"] = parameter.default
        text = _text_beside(annotation) or self.described.parameters.get(parameter.name)
        if text:
            options["description"] = text
        return Field(**options)

    def read(self, text: str) -> dict[str, Any]:
        """The arguments in JSON text, as objects of the annotated types; a parameter that is left out is not in it.

        Raises:
            ToolException: They do not fit; its text names each that does not.
        """
        text = text if text.strip() else "{}"
        if said := _beyond_json(text):
            raise ToolException(self._refusal(said))
        try:
            read = self._model.model_validate_json(text, strict=True)
        except ValidationError as problem:
            raise ToolException(
                self._refusal(misfit(problem, unknown="there is no such parameter"))
            ) from None
        except Exception as problem:  # a validator of the user's own may raise anything
            raise ToolException(f"The arguments do not fit: {in_words(problem)}") from problem
        given = read.model_fields_set
        return {
            name: getattr(read, field)
            for field, name in self._names.items()
            if field in given or name not in self._defaults
        }

    def _refusal(self, said: str) -> str:
        schema = json.dumps(self.schema, ensure_ascii=False)
        if len(schema) > _LONGEST_SCHEMA:
            return f"The arguments do not fit: {said} Parameters: {', '.join(self._names.values())}."
        return f"The arguments do not fit: {said} Schema: {schema}"


# ------------------------------------------------------------------------------------------- errors in words


def is_validation_error(problem: BaseException) -> TypeGuard[ValidationError]:
    """Whether pydantic says with it what does not fit."""
    return isinstance(problem, ValidationError)


def misfit(problem: ValidationError, unknown: str = "there is no such field") -> str:
    """What does not fit, place by place, in one line and without the addresses that pydantic adds."""
    errors = problem.errors(include_url=False)
    lines = [_one_in_words(error, unknown) for error in errors[:_MOST_PROBLEMS]]
    if len(errors) > _MOST_PROBLEMS:
        lines.append(f"and {len(errors) - _MOST_PROBLEMS} more")
    return f"{'; '.join(lines)}."


def _one_in_words(error: Mapping[str, Any], unknown: str) -> str:
    place = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in error["loc"]).lstrip(".")
    if len(place) > _LONGEST_PLACE:
        place = f"{place[:_LONGEST_PLACE]}..."
    kind, said = error["type"], " ".join(str(error["msg"]).split()).rstrip(".")
    said = f"{said[:1].lower()}{said[1:]}"
    if kind == "missing":
        return f"{place} is missing"
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"{place}: {unknown}"
    if kind in ("json_invalid", "string_unicode") and not place:
        return f"this is no JSON ({said})"
    where = f"{place}: " if place else ""
    return f"{where}{said}, not {_shown(error['input'])}"


def _shown(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."


def _beyond_json(text: str) -> str:
    """What readers of JSON let through and JSON has not: one of three numbers, or a key twice; empty where all is well.

    Of a key that stands twice in an object each reader takes another value, and none says so.
    """
    found: list[str] = []

    def read_object(pairs: list[tuple[str, Any]]) -> None:
        if len(pairs) > 1:
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen:
                    found.append(f"the key {_shown(key)} stands twice in one object.")
                seen.add(key)

    try:
        json.loads(
            text,
            object_pairs_hook=read_object,
            parse_constant=lambda number: found.append(f"{number} is no JSON number."),
            parse_int=len,  # Python refuses very long ones, and the value does not matter here
        )
    except (ValueError, RecursionError):
        return ""  # the other reader says why
    return found[0] if found else ""


# ------------------------------------------------------------------------------------------- annotations


def _parameters(function: Callable[..., Any], tool: str) -> Iterator[inspect.Parameter]:
    """What a model may give: all that the function takes, without what a partial has filled in by name."""
    filled = _filled_in(function)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in filled:
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ToolError(f"Tool {tool!r}: *{parameter.name} has no JSON schema. Name each parameter.")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise ToolError(
                f"Tool {tool!r}: a model gives arguments by name, and {parameter.name!r} takes none. Leave out the '/'."
            )
        if parameter.annotation is parameter.empty:
            hint = (
                f"A method is a tool of its object: kb.Tool(thing.{tool})."
                if parameter.name == "self"
                else f"Write its type, for example {parameter.name}: str."
            )
            raise ToolError(f"Tool {tool!r}: parameter {parameter.name!r} has no annotation. {hint}")
        yield parameter


def _filled_in(function: Any) -> set[str]:
    names: set[str] = set()
    while isinstance(function, partial):
        names.update(function.keywords)
        function = function.func
    return names


def _resolved(function: Any, parameter: inspect.Parameter, tool: str) -> Any:
    """The annotation as an object; each by itself, so that the return type need not be known when the tool is made."""
    while isinstance(function, partial):
        function = function.func
    holder = inspect.unwrap(
        function if inspect.isroutine(function) else getattr(function, "__wrapped__", function)
    )
    names = getattr(holder if inspect.isroutine(holder) else type(holder).__call__, "__globals__", {})
    alone = types.SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
    try:
        return get_type_hints(alone, names, include_extras=True)[parameter.name]
    except Exception as problem:
        raise ToolError(
            f"Tool {tool!r}: the annotation {_named(parameter.annotation)} of parameter {parameter.name!r} cannot be "
            f"resolved: {problem}. Define or import it at the top of the module or in a cell, before the tool is made."
        ) from problem


def _require_usable(annotation: Any, parameter: inspect.Parameter, tool: str) -> None:
    about = f"Tool {tool!r}: parameter {parameter.name!r}"
    foreign = next((one for one in _metadata(annotation) if type(one).__module__.startswith("msgspec")), None)
    if foreign is not None:
        raise ToolError(
            f"{about}: {type(foreign).__name__}(...) of msgspec is not read. Write Annotated[..., "
            "pydantic.Field(ge=0, description=...)]."
        )
    if any(_is_context(one) for one in _within(annotation)):
        raise ToolError(
            f"{about} is a kb.Context, and a tool does not get one: a model gives its arguments. Take the parameter "
            "out. What a tool needs of a run it gets from a node that calls it, or from the closure or the object "
            "that it is made in."
        )
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(annotation)
        # A schema goes out as JSON: what JSON has not may be nowhere in it.
        json.dumps(adapter.json_schema(schema_generator=_Schema), allow_nan=False)
    except Exception as problem:
        raise ToolError(_without_schema(annotation, parameter, tool, problem)) from problem
    if parameter.default is parameter.empty:
        return
    if isinstance(parameter.default, FieldInfo):
        raise ToolError(
            f"{about} has Field(...) as its default, which a caller would get as its value. Write "
            f"{parameter.name}: Annotated[{_named(annotation)}, Field(...)] = ... instead."
        )
    try:
        adapter.validate_python(parameter.default, strict=True)
    except ValidationError as problem:
        none = (
            f" Write {parameter.name}: {_named(annotation)} | None = None."
            if parameter.default is None
            else ""
        )
        raise ToolError(
            f"{about} is annotated {_named(annotation)}, and its default does not fit: {misfit(problem)}"
            f"{none or ' Change the one or the other.'}"
        ) from None


def _without_schema(annotation: Any, parameter: inspect.Parameter, tool: str, problem: Exception) -> str:
    """What to write in place of an annotation that has no JSON schema, and which part of it has none."""
    if getattr(problem, "code", None) == "typed-dict-version":
        return (
            f"Tool {tool!r}: import TypedDict from typing_extensions for parameter {parameter.name!r}, which is "
            f"annotated {_named(annotation)}: the one in typing needs Python 3.12."
        )
    reason = " ".join(str(getattr(problem, "message", problem)).split(" \n")[0].split()).rstrip(".")
    found = _NO_SCHEMA_FOR.search(reason)
    if found is not None:
        kind = found["of_kind"] and f"a {found['of_kind'].lower()}"
        inner = found["of_class"] or found["of_instance"] or found["of_type"] or kind
        reason = "" if inner == _named(annotation) else f"{inner} has none"
    because = f" ({reason})" if reason else ""
    return (
        f"Tool {tool!r}: write another type for parameter {parameter.name!r}: str, int, float, bool, list[...], "
        "dict[str, ...], an Enum, a dataclass, a TypedDict or a pydantic model. It is annotated "
        f"{_named(annotation)}, which has no JSON schema{because}."
    )


def _within(annotation: Any) -> Iterator[Any]:
    """An annotation and all that stand in its brackets."""
    waiting = [annotation]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += get_args(one)


def _is_context(one: Any) -> bool:
    """Whether it is the context of a node; its module is further up, and is not there where only tools are."""
    return isinstance(one, type) and (one.__module__, one.__name__) == ("koogbook.runtime.context", "Context")


def _metadata(annotation: Any) -> tuple[Any, ...]:
    return getattr(annotation, "__metadata__", ())


def _text_beside(annotation: Any) -> str | None:
    """What ``Annotated`` says of a parameter: the description of a Field, or else a plain string."""
    metadata = _metadata(annotation)
    said = [one.description for one in metadata if isinstance(one, FieldInfo) and one.description]
    return next(reversed(said), None) or next((one for one in metadata if isinstance(one, str)), None)


def _named(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


# ------------------------------------------------------------------------------------------- the schema


class _Schema(GenerateJsonSchema):
    """Without the titles that pydantic makes of names, and with an error where it would leave a type out."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Never: the name says it already."""
        return False

    def encode_default(self, default: Any) -> Any:
        """A default with a number that JSON has not is only not shown: the function has it all the same."""
        plain = to_jsonable_python(default, inf_nan_mode="constants", fallback=lambda _: None)
        try:
            json.dumps(plain, allow_nan=False)
        except ValueError as problem:
            raise PydanticSerializationError(str(problem)) from problem
        return super().encode_default(default)

    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        """A default that is no JSON is only not shown; a type of a union that is no JSON may not be left out."""
        if kind != "non-serializable-default":
            raise PydanticInvalidForJsonSchema(detail)


def _schema_of(model: type[BaseModel]) -> dict[str, Any]:
    made = model.model_json_schema(schema_generator=_Schema)
    shared = {name: _untitled(one) for name, one in made.get("$defs", {}).items()}
    schema = {"type": "object", "properties": made.get("properties", {}), "additionalProperties": False}
    if "required" in made:
        schema["required"] = made["required"]
    if shared:
        schema["$defs"] = shared
    return schema


def _untitled(definition: dict[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in definition.items() if name != "title"}
