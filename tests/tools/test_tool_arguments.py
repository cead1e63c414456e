"""Arguments are read strictly from JSON text, as objects of the annotated types."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NotRequired
from uuid import UUID

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, field_validator
from typing_extensions import TypedDict

import koogbook as kb
from koogbook.errors import ToolError
from koogbook.tools.tool import ToolException


class Colour(Enum):
    """A colour."""

    RED = "red"
    BLUE = "blue"


class Point(NamedTuple):
    """Two numbers."""

    x: int
    y: int = 0


class Options(TypedDict):
    """Some of them."""

    loud: bool
    tone: NotRequired[str]


@dataclass
class Place:
    """Where it is."""

    name: str
    inside: bool = True


class Trip(BaseModel):
    """A trip, and what comes after it."""

    days: int
    after: Trip | None = None

    @field_validator("days")
    @classmethod
    def few(cls, days: int) -> int:
        """At most nine."""
        if days > 9:
            raise ValueError("that is too long")
        if days == 0:
            raise LookupError("no such trip")
        return days


def everything(
    colour: Colour,
    point: Point,
    options: Options,
    place: Place,
    trip: Trip,
    when: datetime,
    day: date,
    word: Literal["a", "b"],
    either: int | str,
    maybe: int | None,
    number: float,
    money: Decimal,
    key: UUID,
    path: Path,
    pause: timedelta,
    tags: set[str],
    pair: tuple[int, str],
    table: dict[str, list[int]],
    anything: Any,
    schema: str = "a name of pydantic's own",
    copy: int = 3,
) -> None:
    """Takes one of each."""


READ: dict[str, tuple[Any, Any]] = {
    "colour": ("red", Colour.RED),
    "point": ([1, 2], Point(1, 2)),
    "options": ({"loud": True}, {"loud": True}),
    "place": ({"name": "x"}, Place("x")),
    "trip": ({"days": 2, "after": {"days": 1}}, Trip(days=2, after=Trip(days=1))),
    "when": ("2026-03-01T08:00:00Z", datetime(2026, 3, 1, 8, tzinfo=UTC)),
    "day": ("2026-03-01", date(2026, 3, 1)),
    "word": ("b", "b"),
    "either": ("5", "5"),
    "maybe": (None, None),
    "number": (3, 3.0),
    "money": ("1.10", Decimal("1.10")),
    "key": ("12345678-1234-5678-1234-567812345678", UUID("12345678-1234-5678-1234-567812345678")),
    "path": ("/tmp/x", Path("/tmp/x")),
    "pause": ("PT1H", timedelta(hours=1)),
    "tags": (["b", "a"], {"a", "b"}),
    "pair": ([1, "x"], (1, "x")),
    "table": ({"grün": [1]}, {"grün": [1]}),
    "anything": ({"a": [None]}, {"a": [None]}),
}
TOOL = kb.Tool(everything)
WRITTEN = {name: written for name, (written, _) in READ.items()}


def _refusal(tool: kb.Tool, **changes: Any) -> str:
    with pytest.raises(ToolException) as caught:
        tool.read_arguments(json.dumps({**WRITTEN, **changes}))
    return str(caught.value)


@pytest.mark.parametrize("name", READ)
def test_a_function_gets_an_object_of_its_type(name: str) -> None:
    """Not the JSON of it [AGT-05]."""
    read = TOOL.read_arguments(json.dumps(WRITTEN))[name]

    assert read == READ[name][1]
    assert type(read) is type(READ[name][1])


def test_a_parameter_that_is_left_out_keeps_the_default_of_the_function() -> None:
    """Its own object, and no copy of it [AGT-05]."""
    assert set(TOOL.read_arguments(json.dumps(WRITTEN))) == set(READ)


def test_a_default_in_a_field_counts_where_the_function_has_none() -> None:
    """It would be called without it otherwise [AGT-05]."""

    def wait(days: Annotated[int, Field(default=5)]) -> None:
        """Wait."""

    assert kb.Tool(wait).read_arguments("") == {"days": 5}


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("maybe", "5", 'maybe: input should be a valid integer, not "5"'),
        ("maybe", 5.5, "maybe: input should be a valid integer"),
        ("maybe", True, "maybe: input should be a valid integer, not true"),
        ("number", "3", 'number: input should be a valid number, not "3"'),
        ("number", True, "number: input should be a valid number, not true"),
        ("word", "c", "word: input should be 'a' or 'b', not \"c\""),
        ("colour", "green", "colour: input should be 'red' or 'blue'"),
        ("place", {"name": "x", "no": 1}, "place.no: there is no such parameter"),
        ("options", {"loud": True, "no": 1}, "options.no: there is no such parameter"),
        ("trip", {"days": "2"}, 'trip.days: input should be a valid integer, not "2"'),
        ("trip", {"days": 10}, "trip.days: value error, that is too long, not 10"),
        ("trip", {"days": 0}, "LookupError: no such trip"),
        ("table", {"a": [1, "x"]}, 'table.a[1]: input should be a valid integer, not "x"'),
        ("when", 5, "when: input should be a valid datetime"),
        ("other", 1, "other: there is no such parameter"),
    ],
)
def test_what_does_not_fit_is_named(name: str, given: Any, words: str) -> None:
    """The model reads which argument it is, what it should be and what it wrote [AGT-05]."""
    assert words in _refusal(TOOL, **{name: given})


def test_each_argument_that_does_not_fit_is_named() -> None:
    """In one answer, so that the model can mend them at once [AGT-05]."""
    said = _refusal(TOOL, maybe="5", number="3", other=1)

    assert [word in said for word in ("maybe: ", "number: ", "other: ")] == [True, True, True]


def test_a_refusal_is_short_and_has_no_address() -> None:
    """However many mistakes there are, and however long they are [AGT-05]."""
    said = _refusal(TOOL, **{f"other{number}": "x" * 100_000 for number in range(50)})

    assert "and 40 more" in said
    assert len(said) < 3_000
    assert "http" not in said


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_json_does_not_have_is_refused(number: str) -> None:
    """Also where anything may stand [AGT-05]."""

    def take(anything: Any) -> None:
        """Take."""

    with pytest.raises(ToolException, match=f"{number} is no JSON number"):
        kb.Tool(take).read_arguments('{"anything": [' + number + "]}")


def test_a_word_that_looks_like_such_a_number_is_text() -> None:
    """Only a bare one is a number [AGT-05]."""

    def take(anything: Any) -> None:
        """Take."""

    assert kb.Tool(take).read_arguments('{"anything": "NaN"}') == {"anything": "NaN"}


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"anything": 1, "anything": 1000}', "anything"),
        ('{"anything": 1, "\\u0061nything": 1}', "anything"),
        ('{"anything": {"deep": [{"n": 1, "m": 2, "n": 3}]}}', "n"),
        ('{"anything": {"": 1, "": 2}}', ""),
        ('{"anything": {"n": 1, "n": 2, "big": ' + "9" * 5_000 + "}}", "n"),
    ],
    ids=["top", "escaped", "nested", "empty", "beside a long number"],
)
def test_a_key_that_stands_twice_is_refused_by_its_name(text: str, key: str) -> None:
    """Readers of JSON take the last one without a word [AGT-05]."""

    def take(anything: Any) -> None:
        """Take."""

    with pytest.raises(ToolException, match=f'the key "{key}" stands twice in one object'):
        kb.Tool(take).read_arguments(text)


def test_a_key_may_stand_in_several_objects() -> None:
    """Each has its own [AGT-05]."""

    def take(anything: Any) -> None:
        """Take."""

    given = {"anything": [{"anything": 1}, {"anything": {"anything": 2}}]}
    assert kb.Tool(take).read_arguments(json.dumps(given)) == given


def test_a_name_that_a_model_made_up_is_cut_where_it_is_long() -> None:
    """It stands in the prompt and in the report [AGT-05]."""
    said = _refusal(TOOL, **{"k" * 100_000: 1})

    assert "kkk...: there is no such parameter" in said
    assert len(said) < 3_000


@pytest.mark.parametrize("text", ["", " ", "\n", "{}"])
def test_no_text_means_no_arguments(text: str) -> None:
    """Some models leave it empty [AGT-05]."""

    def ping(times: int = 1) -> None:
        """Ping."""

    assert kb.Tool(ping).read_arguments(text) == {}


# ------------------------------------------------------------------------------------------- the schema


def test_the_schema_is_an_object_at_its_top() -> None:
    """With the parameters in order, and definitions only of what is shared [AGT-05]."""
    schema = json.loads(TOOL.spec.parameters)

    assert (schema["type"], schema["additionalProperties"]) == ("object", False)
    assert list(schema["properties"]) == [*READ, "schema", "copy"]
    assert schema["required"] == list(READ)
    assert set(schema["$defs"]) == {"Colour", "Point", "Options", "Place", "Trip"}


def test_the_schema_has_no_titles_made_of_names() -> None:
    """They say nothing that the name does not say, and cost tokens in every request [AGT-05]."""
    assert '"title"' not in TOOL.spec.parameters


def test_a_title_that_was_written_stays() -> None:
    """So does a parameter of this name [AGT-05]."""

    def name(title: Annotated[str, Field(title="How it is called")]) -> None:
        """Name it."""

    properties = json.loads(kb.Tool(name).spec.parameters)["properties"]

    assert properties == {"title": {"title": "How it is called", "type": "string"}}


def test_a_schema_without_structures_has_no_definitions() -> None:
    """Some providers do not know them [AGT-05]."""

    def ping(times: int | None = None) -> None:
        """Ping."""

    assert set(json.loads(kb.Tool(ping).spec.parameters)) == {"type", "properties", "additionalProperties"}


def test_the_schema_takes_what_the_tool_takes() -> None:
    """As another reader of schemas understands it [AGT-05]."""
    schema = json.loads(TOOL.spec.parameters)
    jsonschema.Draft202012Validator.check_schema(schema)

    jsonschema.validate(WRITTEN, schema)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150)
@given(name=st.sampled_from([*READ, "schema", "copy", "other"]), value=_JSON)
def test_whatever_json_stands_there_is_read_or_refused_in_words(name: str, value: Any) -> None:
    """Never anything else, and what is refused is named [AGT-05]."""
    try:
        said = " ".join(TOOL.read_arguments(json.dumps({**WRITTEN, name: value})))
    except ToolException as problem:
        said = str(problem)

    assert name in said or "no such trip" in said or "is no JSON number" in said


def test_a_typed_dict_of_the_standard_library_says_which_one_to_import() -> None:
    """pydantic reads it from Python 3.12 on [AGT-05]."""
    import sys
    from typing import TypedDict as OfTyping

    class Old(OfTyping):
        a: int

    def take(value: Any) -> None:
        """Take."""

    take.__annotations__["value"] = Old
    if sys.version_info >= (3, 12):
        assert '"a"' in kb.Tool(take).spec.parameters
        return
    with pytest.raises(ToolError, match="import TypedDict from typing_extensions for parameter 'value'"):
        kb.Tool(take)
