"""A tool is a typed Python function with a JSON schema."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial, wraps
from typing import Annotated, Any, Literal

import msgspec
import pytest
from pydantic import Field

import koogbook as kb
from koogbook.errors import ToolError
from koogbook.tools.tool import ToolRegistry


def weather(city: str, days: int = 1) -> str:
    """The weather of a city."""
    return f"{city}: rain for {days} days"


@dataclass
class Place:
    name: str
    inside: bool = True


def _parameters(function: Any) -> Any:
    return json.loads(kb.Tool(function).spec.parameters)


def test_name_and_description_come_from_the_function() -> None:
    """The docstring is what the model reads [AGT-05]."""
    spec = kb.Tool(weather).spec

    assert (spec.name, spec.description) == ("weather", "The weather of a city.")


def test_name_and_description_can_be_given() -> None:
    """A lambda is a tool, too, when it has a name [AGT-05]."""
    made = kb.Tool(partial(weather, days=3), name="three_days", description="Three days of weather.")

    assert (made.spec.name, made.spec.description) == ("three_days", "Three days of weather.")


def test_the_schema_comes_from_the_annotations() -> None:
    """An object at the top, where providers look for it; parameters without a default are required [AGT-05]."""
    schema = _parameters(weather)

    assert schema["type"] == "object"
    assert schema["properties"] == {"city": {"type": "string"}, "days": {"type": "integer", "default": 1}}
    assert schema["required"] == ["city"]
    assert schema["additionalProperties"] is False


def test_constraints_in_annotations_reach_the_schema() -> None:
    """What the model may send is what the function takes [AGT-05]."""

    def pay(
        amount: Annotated[int, Field(ge=0, description="in cents")], currency: Literal["EUR", "USD"]
    ) -> None:
        """Pay."""

    properties = _parameters(pay)["properties"]

    assert properties["amount"] == {"type": "integer", "minimum": 0, "description": "in cents"}
    assert properties["currency"]["enum"] == ["EUR", "USD"]


def test_a_structure_as_a_parameter_has_its_definition() -> None:
    """References are kept together with what they refer to [AGT-05]."""

    def visit(place: Place) -> None:
        """Visit."""

    schema = _parameters(visit)

    assert schema["properties"]["place"] == {"$ref": "#/$defs/Place"}
    assert schema["$defs"]["Place"]["required"] == ["name"]


def test_a_function_without_parameters_is_a_tool() -> None:
    """Its schema is the empty object [AGT-05]."""

    def ping() -> str:
        """Ping."""
        return "pong"

    assert _parameters(ping)["properties"] == {}


def test_a_tool_can_still_be_called() -> None:
    """Decorating changes nothing for other callers [AGT-05]."""

    @kb.tool
    def double(number: int) -> int:
        """Twice as much."""
        return 2 * number

    assert double(4) == 8
    assert isinstance(double, kb.Tool)


@pytest.mark.parametrize("given", ["options", "name", "description"])
def test_a_decorator_takes_a_name_and_a_description(given: str) -> None:
    """Either, both, or none of them [AGT-05]."""
    options = {"name": "rain", "description": "Is it wet?"}
    chosen = options if given == "options" else {given: options[given]}

    spec = kb.tool(**chosen)(weather).spec

    expected = {"name": "weather", "description": "The weather of a city."} | chosen
    assert {"name": spec.name, "description": spec.description} == expected


# ------------------------------------------------------------------------------------------- kinds of functions


class Station:
    """A weather station."""

    def weather(self, city: str) -> str:
        """The weather at this station."""
        return f"rain in {city}"

    def __call__(self, city: str) -> str:  # noqa: D102 - a text here would be the tool's
        return f"sun in {city}"


@lru_cache
def remembered(city: str) -> str:
    """The weather, from before."""
    return city


@wraps(weather)
def wrapped(*args: Any, **kwargs: Any) -> Any:
    """Around another function."""
    return weather(*args, **kwargs)


@pytest.mark.parametrize(
    ("function", "description", "parameters"),
    [
        (weather, "The weather of a city.", ["city", "days"]),
        (Station().weather, "The weather at this station.", ["city"]),
        (Station(), "A weather station.", ["city"]),
        (partial(Station().weather), "The weather at this station.", ["city"]),
        (remembered, "The weather, from before.", ["city"]),
        (wrapped, "The weather of a city.", ["city", "days"]),
    ],
    ids=["function", "bound method", "object", "partial", "cached", "wrapped"],
)
def test_every_kind_of_function_is_described(function: Any, description: str, parameters: list[str]) -> None:
    """With annotations that are texts, as in this module, too [AGT-05]."""
    spec = kb.Tool(function, name="weather").spec

    assert spec.description == description
    assert list(json.loads(spec.parameters)["properties"]) == parameters


def test_what_a_partial_has_filled_in_is_hidden_from_the_model() -> None:
    """It may be a key, and it is the caller's to choose [AGT-05, EXE-06]."""
    made = kb.Tool(partial(weather, days=3), name="three_days")

    assert list(json.loads(made.spec.parameters)["properties"]) == ["city"]
    assert made(city="Bonn") == "Bonn: rain for 3 days"


def test_a_lambda_that_gives_a_coroutine_is_a_tool_when_it_has_a_name() -> None:
    """What it gives is awaited when it is called [AGT-05]."""

    async def later() -> str:
        return "rain"

    assert asyncio.run(kb.Tool(lambda: later(), name="later")()) == "rain"


# ------------------------------------------------------------------------------------------- refusals


def _no_annotation(city):  # type: ignore[no-untyped-def]
    return city


def _star(*cities: str) -> None:
    """Any number."""


def _positional(city: str, /) -> None:
    """By position only."""


def _no_schema(value: Station) -> None:
    """A type without JSON."""


def _partly(value: int | Station) -> None:
    """A type without JSON among others."""


@dataclass
class Held:
    station: Station


def _holds_one(value: Held) -> None:
    """A type without JSON in a field."""


def _function(value: Callable[[], str]) -> None:
    """A function as a parameter."""


def _with_context(city: str, ctx: kb.Context) -> None:
    """As a node has it."""


def _with_context_or_none(city: str, ctx: Annotated[kb.Context | None, "of the run"] = None) -> None:
    """The same, hidden."""


def _unknown(value: "Nowhere") -> None:  # type: ignore[name-defined]  # noqa: F821, UP037
    """An annotation that is not there."""


def _wrong_default(days: int = None) -> None:  # type: ignore[assignment]  # noqa: RUF013
    """A default of another type."""


def _small_default(days: Annotated[int, Field(ge=1)] = 0) -> None:
    """A default that is too small."""


def _field_as_default(days: int = Field(1)) -> None:
    """As in a pydantic model."""


def _of_msgspec(days: Annotated[int, msgspec.Meta(ge=0)]) -> None:
    """A constraint that would not be looked at."""


def _generator() -> Iterator[str]:
    """Yields."""
    yield "a"


async def _async_generator() -> AsyncIterator[str]:
    """Yields, too."""
    yield "a"


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (_no_annotation, "'city' has no annotation. Write its type, for example city: str"),
        (Station.weather, r"'self' has no annotation. A method is .* kb.Tool\(thing.weather\)"),
        (_star, "Name each parameter"),
        (_positional, "by name"),
        (
            _no_schema,
            r"another type for parameter 'value': str, int, .* It is annotated .*Station, which has no JSON schema\.$",
        ),
        (_partly, r"It is annotated int \| .*Station, which has no JSON schema \(.*Station has none\)\.$"),
        (_holds_one, r"It is annotated .*Held, which has no JSON schema \(.*Station has none\)\.$"),
        (
            _function,
            r"It is annotated .*Callable\[\[\], str\], which has no JSON schema \(a callable has none\)\.$",
        ),
        (_with_context, "'ctx' is a kb.Context, and a tool does not get one: .* Take the parameter out"),
        (_with_context_or_none, "'ctx' is a kb.Context, and a tool does not get one"),
        (_unknown, "annotation 'Nowhere' of parameter 'value' cannot be resolved: .* Define or import it"),
        (_wrong_default, r"its default does not fit: .* Write days: int \| None = None"),
        (_small_default, "its default does not fit: input should be greater than or equal to 1, not 0"),
        (_field_as_default, r"Write days: Annotated\[int, Field\(...\)\] = ... instead"),
        (_of_msgspec, "Meta.* of msgspec is not read"),
        (_generator, "is a generator, and a call has one result"),
        (_async_generator, "is a generator, and a call has one result"),
        (lambda: None, "needs a name"),
        (partial(weather), "needs a name"),
        (Station, "Station is a class. .* write a def"),
        (len, "len is a builtin, .* write a def"),
        ("weather", "'weather' cannot be called"),
        (kb.Tool(weather), "is a tool already"),
    ],
    ids=lambda one: getattr(one, "__name__", type(one).__name__) if not isinstance(one, str) else "",
)
def test_a_function_that_cannot_be_offered_is_refused_when_it_is_made(function: Any, words: str) -> None:
    """Not in the middle of a run; the message says what is wrong with it and what to write [AGT-05]."""
    with pytest.raises(ToolError, match=words) as caught:
        kb.Tool(function)

    assert "http" not in str(caught.value)


@pytest.mark.parametrize("name", ["a b", "x" * 65, "\u5929\u6c14", "\ud800", "a.b", "a\n", 5])
def test_a_name_that_no_provider_takes_is_refused(name: Any) -> None:
    """When the tool is made, and not at the first request [AGT-05]."""
    with pytest.raises(ToolError, match=r"as the name of a tool\. Use 1 to 64 letters") as refused:
        kb.Tool(weather, name=name)

    assert kb.Tool(weather, name="get-weather_2" + "x" * 51).name.startswith("get-weather_2")
    assert len(str(refused.value)) < 250


@pytest.mark.parametrize("function", [_no_schema, _partly, _holds_one, _function])
def test_a_type_that_a_model_cannot_write_is_refused_in_plain_words(function: Any) -> None:
    """Nothing in the message is about another library, and nothing is cut off [AGT-05]."""
    with pytest.raises(ToolError) as refused:
        kb.Tool(function)

    said = str(refused.value).replace("a pydantic model", "")
    assert not any(word in said for word in ("pydantic", "arbitrary_types_allowed", "core_schema", "your ty"))


def test_a_default_that_json_has_not_is_not_shown_to_the_model() -> None:
    """The schema goes out as JSON, and the function has its default all the same [AGT-05]."""

    def measure(
        low: float = float("nan"),
        high: float = float("inf"),
        steps: list[float] = [1.0, float("inf")],  # noqa: B006
    ) -> None:
        """Measure."""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    text = kb.Tool(measure).spec.parameters
    properties = json.loads(text, parse_constant=refuse)["properties"]
    assert [sorted(one) for one in properties.values()] == [["type"], ["type"], ["items", "type"]]
    assert kb.Tool(measure).read_arguments("{}") == {}


def test_a_return_type_that_is_not_there_yet_is_no_obstacle() -> None:
    """No model reads it: often it is imported for type checkers alone [AGT-05]."""

    def look(city: str) -> "Nowhere":  # type: ignore[name-defined]  # noqa: F821, UP037
        """Look."""

    assert kb.Tool(look).name == "look"


def test_names_are_unique_in_a_registry() -> None:
    """A model could not say which one it means [AGT-05]."""
    with pytest.raises(ToolError, match="Two tools have the name 'weather'") as caught:
        ToolRegistry([weather, kb.Tool(Station().weather)])

    first, second = (one.__code__.co_firstlineno for one in (weather, Station.weather))
    assert f"defined at test_tool.py:{first}, the other at test_tool.py:{second}." in str(caught.value)


def test_a_registry_keeps_the_order() -> None:
    """The model sees the tools as they were given [AGT-05]."""
    registry = ToolRegistry([kb.Tool(weather, name=name) for name in ("b", "a", "c")])

    assert registry.names == ("b", "a", "c")
    assert [one.name for one in registry] == ["b", "a", "c"]
    assert len(registry) == 3


def test_an_unknown_name_is_none() -> None:
    """The environment turns it into an answer for the model [AGT-05]."""
    assert ToolRegistry([weather]).get("nothing") is None
