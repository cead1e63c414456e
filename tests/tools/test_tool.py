"""A tool is a typed Python function with a JSON schema."""

from __future__ import annotations

import json
from functools import partial
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta, Struct

import koogbook as kb
from koogbook.errors import ToolError
from koogbook.tools.tool import ToolRegistry


def weather(city: str, days: int = 1) -> str:
    """The weather of a city."""
    return f"{city}: rain for {days} days"


class Place(Struct):
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
        amount: Annotated[int, Meta(ge=0, description="in cents")], currency: Literal["EUR", "USD"]
    ) -> None:
        """Pay."""

    properties = _parameters(pay)["properties"]

    assert properties["amount"] == {"type": "integer", "minimum": 0, "description": "in cents"}
    assert properties["currency"]["enum"] == ["EUR", "USD"]


def test_a_structure_as_a_parameter_has_its_definition() -> None:
    """References are kept together with what they refer to [AGT-05]."""

    def visit(place: Place) -> None:
        """Visit."""

    visit.__annotations__["place"] = Place
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


def _no_annotation(city):  # type: ignore[no-untyped-def]
    return city


def _star(*cities: str) -> None:
    """Any number."""


def _positional(city: str, /) -> None:
    """By position only."""


def _no_schema(value: complex) -> None:
    """A type without JSON."""


def _unknown(value: "Nowhere") -> None:  # type: ignore[name-defined]  # noqa: F821, UP037
    """An annotation that is not there."""


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (_no_annotation, "'city' has no annotation"),
        (_star, "Name each parameter"),
        (_positional, "by name"),
        (_no_schema, "JSON"),
        (_unknown, "cannot be resolved"),
        (lambda: None, "needs a name"),
        (partial(weather), "needs a name"),
    ],
    ids=["no annotation", "star", "positional", "complex", "unknown", "lambda", "partial"],
)
def test_a_function_that_cannot_be_offered_is_refused_when_it_is_made(function: Any, words: str) -> None:
    """Not in the middle of a run; the message says what is wrong with it [AGT-05]."""
    with pytest.raises(ToolError, match=words):
        kb.Tool(function)


def test_names_are_unique_in_a_registry() -> None:
    """A model could not say which one it means [AGT-05]."""
    with pytest.raises(ToolError, match="Two tools have the name 'weather'"):
        ToolRegistry([weather, kb.Tool(weather)])


def test_a_registry_keeps_the_order() -> None:
    """The model sees the tools as they were given [AGT-05]."""
    registry = ToolRegistry([kb.Tool(weather, name=name) for name in ("b", "a", "c")])

    assert registry.names == ("b", "a", "c")
    assert [one.name for one in registry] == ["b", "a", "c"]
    assert len(registry) == 3


def test_an_unknown_name_is_none() -> None:
    """The environment turns it into an answer for the model [AGT-05]."""
    assert ToolRegistry([weather]).get("nothing") is None
