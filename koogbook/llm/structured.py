"""Answers that are data: what the model is told of the shape, and reading its answer exactly.

A shape is a Python type (a dataclass, ``TypedDict``, ``NamedTuple``, ``msgspec.Struct``, pydantic model, ``list[int]``
and so on) or a JSON schema as a dict. The instruction goes with a request only: the history gets the answer alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from math import isfinite
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
from msgspec import Struct

from koogbook.errors import StructuredOutputError
from koogbook.llm.cut_answers import is_cut_by_limit, is_whole_json
from koogbook.messages.message import REFERENCE_NAME, Message, user
from koogbook.messages.parts import Text

if TYPE_CHECKING:
    from koogbook.pipeline import EventLog

T = TypeVar("T")

_FENCED = re.compile(r"\A\s*```[\w-]*[ \t]*\r?\n(.*?)\r?\n?[ \t]*```\s*\Z", re.DOTALL)


class StructuredReply(Struct, Generic[T], frozen=True):
    """An answer that fits (Koog's ``StructuredResponse``).

    ``value`` is the data, ``message`` the answer as the model wrote it, ``attempts`` how many requests it took.
    """

    value: T
    message: Message
    attempts: int


class Shape:
    """What an answer has to look like.

    Raises:
        StructuredOutputError: There is no JSON schema for it.
    """

    __slots__ = ("_kind", "_schema", "name")

    def __init__(self, of: Any) -> None:
        self._kind = of
        self.name = getattr(of, "__name__", None) or (
            str(of.get("title", "the schema")) if isinstance(of, dict) else str(of)
        )
        try:
            self._schema = _schema_of(of)
            # A schema as a dict may hold anything; what is no JSON is found here, not by the provider.
            json.dumps(self._schema, allow_nan=False, sort_keys=True)
        except StructuredOutputError:
            raise
        except Exception as problem:  # each library has errors of its own for a type that it cannot describe
            raise StructuredOutputError(
                f"There is no JSON schema for {of!r:.80}: {_in_one_line(problem)}. Nothing was sent. Give "
                "a dataclass, a TypedDict, a pydantic model, a type such as list[int], or a JSON schema as a dict."
            ) from problem

    @property
    def schema(self) -> str:
        """The JSON schema, as JSON text."""
        return json.dumps(self._schema, ensure_ascii=False, sort_keys=True)

    def instruction(self, examples: Sequence[Any]) -> Message:
        """What the model is told; it has a reserved name, so that nobody takes it for the user's words.

        Raises:
            StructuredOutputError: An example does not fit.
        """
        lines = [
            "Answer with one JSON value and nothing else. It has to fit this JSON schema:",
            self.schema,
        ]
        if isinstance(examples, str | bytes | Mapping):
            raise StructuredOutputError(
                f"examples is a list of values, not {examples!r:.60}: examples=[...]. Nothing was sent."
            )
        for example in examples:
            text = example if isinstance(example, str) else _as_json(example)
            try:
                self.read(text)
            except ValueError as problem:
                raise StructuredOutputError(
                    f"The example {text:.80} does not fit {self.name}: {_in_one_line(problem)}. Nothing was sent."
                ) from problem
            lines.append(f"For example: {text}")
        return user("\n".join(lines), name=REFERENCE_NAME)

    def read(self, text: str) -> Any:
        """The value in an answer: all of it, or all of one fenced block, is JSON that fits.

        Raises:
            ValueError: It is not; the message says where.
        """
        body = _body(text)
        if isinstance(self._kind, dict):
            return _fits(json.loads(body, parse_constant=_no_number, parse_float=_finite), self._kind)
        if hasattr(self._kind, "model_validate_json"):
            return self._kind.model_validate_json(body, strict=True)
        try:
            return msgspec.json.decode(body, type=self._kind)
        except UnicodeEncodeError as problem:
            raise ValueError(f"a character that JSON cannot hold: {problem}") from problem


def require_attempts(attempts: int) -> None:
    """Refuse a number of attempts that is none.

    Raises:
        ValueError: It is below 1 or no whole number.
    """
    if isinstance(attempts, bool) or not isinstance(attempts, int) or attempts < 1:
        raise ValueError(f"attempts is at least 1, not {attempts!r}. Nothing was sent.")


async def ask_until_it_fits(
    ask: Callable[[tuple[Message, ...], int], Awaitable[Message]],
    messages: tuple[Message, ...],
    shape: Shape,
    attempts: int,
    log: EventLog,
) -> StructuredReply[Any]:
    """Ask, and after an answer that does not fit ask again, with that answer and what was wrong with it.

    An answer that does not fit since a limit of tokens cut it is not asked for again: the next one would be cut, too.

    Args:
        ask: Sends messages; gets the number of the attempt, too, from 1.
        messages: What is sent first.
        shape: What the answer has to look like.
        attempts: How many requests at most.
        log: Takes a notice for each answer that does not fit.

    Raises:
        StructuredOutputError: None of the answers fitted.
    """
    answers: list[Message] = []
    wrong: Exception = ValueError("nobody was asked")
    for attempt in range(1, attempts + 1):
        reply = await ask(messages, attempt)
        try:
            return StructuredReply(shape.read(reply.text), reply, attempt)
        except (ValueError, RecursionError) as problem:
            wrong = problem
        except Exception as problem:  # of a validator that the user wrote
            raise StructuredOutputError(
                f"Reading the answer as {shape.name} raised {type(problem).__name__}: {_in_one_line(problem)}. Nothing "
                "was appended; the answer is in error.answers.",
                answers=(*answers, reply),
            ) from problem
        answers.append(reply)
        log.notice(
            "structured output",
            f"Answer {attempt} of at most {attempts} did not fit {shape.name}: {_in_one_line(wrong)}",
        )
        if is_cut_by_limit(reply) and not is_whole_json(_body(reply.text)):
            raise StructuredOutputError(
                f"Answer {attempt} of at most {attempts} was cut by the limit of tokens (finish_reason "
                f"{reply.finish_reason!r}) before its JSON value was whole, so it does not fit {shape.name}. Another "
                "one was not asked for, since it would be cut as well. Nothing was appended; the answers are in "
                "error.answers. Allow more tokens, session.change_params(max_tokens=...), or ask for less.",
                answers=tuple(answers),
            ) from wrong
        messages = (*messages, reply.with_parts([Text(reply.text or "(nothing)")]), _correction(reply, wrong))
    raise StructuredOutputError(
        f"None of {len(answers)} answers fitted {shape.name}; the last one: {_in_one_line(wrong)}. Nothing was "
        "appended; the answers are in error.answers. Ask for less, give examples=, or allow more attempts=.",
        answers=tuple(answers),
    ) from wrong


def _body(text: str) -> str:
    """What of an answer has to be JSON: all of it, or all of its one fenced block."""
    fenced = _FENCED.match(text)
    return fenced.group(1) if fenced else text


def _correction(wrong: Message, problem: Exception) -> Message:
    said = _in_one_line(problem) if wrong.text.strip() else "it was empty"
    return user(
        f"That answer does not fit: {said}. Answer again, with the JSON value alone.", name=REFERENCE_NAME
    )


def _schema_of(of: Any) -> dict[str, Any]:
    if of is None:
        raise TypeError("None is no shape")
    if isinstance(of, dict):
        _validator_of(of).check_schema(of)
        _require_own_references(of)
        return of
    if hasattr(of, "model_json_schema"):
        described: dict[str, Any] = of.model_json_schema()
        return described
    return msgspec.json.schema(of)


def _validator_of(schema: dict[str, Any]) -> Any:
    try:
        from jsonschema import Draft202012Validator
        from jsonschema.validators import validator_for
    except ImportError as problem:
        raise StructuredOutputError(
            "A JSON schema as a dict needs the package jsonschema: pip install 'koogbook[schema]'. Nothing was sent. "
            "A Python type needs nothing more."
        ) from problem
    return validator_for(schema, Draft202012Validator)


def _fits(value: Any, schema: dict[str, Any]) -> Any:
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    # With a registry of its own a reference to another place is an error and never a request to the network.
    validator = _validator_of(schema)(schema, registry=Registry())
    try:
        wrong = next(validator.iter_errors(value), None)
    except Unresolvable as problem:
        raise StructuredOutputError(
            f"The schema refers to {problem.ref!r}, which is not in it. Nothing was appended. Put it under $defs and "
            "refer to '#/$defs/...'."
        ) from problem
    if wrong is not None:
        raise ValueError(f"{wrong.message} at {wrong.json_path}")
    return value


def _require_own_references(schema: dict[str, Any]) -> None:
    """Refuse references to what is not in the schema before an answer is paid for."""
    from referencing import Registry, Resource
    from referencing.jsonschema import DRAFT202012

    resource = Resource.from_contents(schema, default_specification=DRAFT202012)
    resolver = Registry().with_resource("", resource).resolver(resource.id() or "")
    waiting: list[Any] = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            reference = value.get("$ref")
            if isinstance(reference, str) and "$id" not in value:
                resolver.lookup(reference)
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    # A schema that only refers to itself is found by asking it.
    with suppress(ValueError):
        _fits(None, schema)


def _in_one_line(problem: BaseException) -> str:
    """What a library said, without its line breaks and addresses."""
    errors = getattr(problem, "errors", None)
    if callable(errors) and hasattr(problem, "error_count"):
        listed = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in errors(include_url=False)[:5]]
        return "; ".join(listed)
    said = str(getattr(problem, "message", "") or problem) or type(problem).__name__
    return " ".join(said.split()).rstrip(".")[:300]


def _as_json(value: Any) -> str:
    if hasattr(value, "model_dump_json"):
        text: str = value.model_dump_json()
        return text
    return msgspec.json.encode(value).decode()


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"{text} is too large a number")
    return number


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no JSON number")
