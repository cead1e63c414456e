"""Answers that are data: of which shapes, how often they are asked for, and what the history gets."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypedDict

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

import koogbook as kb
from koogbook.errors import ExecutorError, StructuredOutputError
from koogbook.events import Notice
from koogbook.llm.structured import Shape


@dataclass
class Trip:
    """Where to and for how much."""

    city: str
    budget: int
    tags: list[str]


class TripStruct(msgspec.Struct):
    city: str
    budget: int
    tags: list[str]


class TripModel(pydantic.BaseModel):
    city: str
    budget: int
    tags: list[str]


class TripDict(TypedDict):
    city: str
    budget: int
    tags: list[str]


class TripTuple(NamedTuple):
    city: str
    budget: int


SCHEMA: dict[str, Any] = {
    "title": "trip",
    "type": "object",
    "properties": {"city": {"type": "string"}, "budget": {"type": "integer", "minimum": 1}},
    "required": ["city", "budget"],
    "additionalProperties": False,
}
GOOD = '{"city": "Beijing", "budget": 500, "tags": ["museum"]}'
SHAPES: list[tuple[Any, str, Any]] = [
    (Trip, GOOD, Trip("Beijing", 500, ["museum"])),
    (TripStruct, GOOD, TripStruct("Beijing", 500, ["museum"])),
    (TripModel, GOOD, TripModel(city="Beijing", budget=500, tags=["museum"])),
    (TripDict, GOOD, {"city": "Beijing", "budget": 500, "tags": ["museum"]}),
    (TripTuple, '["Beijing", 500]', TripTuple("Beijing", 500)),
    (SCHEMA, '{"city": "Beijing", "budget": 500}', {"city": "Beijing", "budget": 500}),
    (list[int], "[1, 2]", [1, 2]),
    (Literal["yes", "no"], '"yes"', "yes"),
    (int | None, "null", None),
    (dict[str, float], '{"a": 1.5}', {"a": 1.5}),
]


def _made(make_context: Any, *answers: Any, **options: Any) -> tuple[Any, kb.ScriptedExecutor]:
    executor = kb.ScriptedExecutor(list(answers))
    return make_context(executor, [kb.system("rules"), kb.user("x")], **options), executor


@pytest.mark.parametrize(("shape", "answer", "value"), SHAPES)
async def test_an_answer_becomes_a_value_of_its_type(
    make_context: Any, shape: Any, answer: str, value: Any
) -> None:
    """Dataclass, struct, model, dict, tuple, plain type, or a JSON schema [EXE-05]."""
    context, _ = _made(make_context, answer)
    async with context.write_session() as session:
        reply = await session.request_structured(shape)

    assert (reply.value, type(reply.value)) == (value, type(value))
    assert reply.attempts == 1


async def test_the_history_gets_the_answer_alone_as_it_was_written(make_context: Any) -> None:
    """The instruction goes with the request only [EXE-05, SES-06]."""
    answer = f"```json\n{GOOD}\n```"
    context, executor = _made(make_context, answer)
    async with context.write_session() as session:
        await session.request_structured(Trip)

    assert [message.text for message in context.committed.prompt] == ["rules", "x", answer]
    assert len(executor.requests[0].messages) == 3


async def test_the_instruction_is_nobodys_message(make_context: Any) -> None:
    """It has a reserved name, so that no rule about user messages counts it [EXE-05]."""
    context, executor = _made(make_context, "1")
    async with context.read_session() as session:
        await session.request_structured(int)

    assert [message.is_from_user for message in executor.requests[0].messages] == [False, True, False]


async def test_the_schema_goes_with_the_request(make_context: Any) -> None:
    """For providers that keep to it by themselves, and in words for the others [EXE-05]."""
    context, executor = _made(make_context, GOOD)
    async with context.read_session() as session:
        await session.request_structured(Trip)

    schema = executor.requests[0].schema
    assert schema is not None
    assert "budget" in json.dumps(json.loads(schema))
    assert schema in executor.requests[0].messages[-1].text


async def test_no_tools_are_offered_and_calls_go_as_text(make_context: Any) -> None:
    """As for a request without tools [EXE-05, SES-07]."""

    def weather(city: str) -> str:
        """The weather of a city."""
        return "rain"

    call = kb.ToolCall("weather", id="1")
    executor = kb.ScriptedExecutor(["1"])
    context = make_context(
        executor, [kb.user("x"), kb.assistant(calls=[call]), kb.tool_result(call, "rain")], tools=[weather]
    )
    async with context.write_session() as session:
        session.set_tool_choice("required")
        await session.request_structured(int)

    request = executor.requests[0]
    assert (request.tools, request.params.tool_choice) == ((), None)
    assert all(not message.calls and not message.results for message in request.messages)


# ------------------------------------------------------------------------------------------- again


async def test_an_answer_that_does_not_fit_is_asked_for_again(make_context: Any) -> None:
    """With the answer and what was wrong with it; none of that stays in the history [EXE-05]."""
    context, executor = _made(make_context, "five", '{"budget": "many"}', "5")
    async with context.write_session() as session:
        reply = await session.request_structured(int)

    assert (reply.value, reply.attempts) == (5, 3)
    assert [len(request.messages) for request in executor.requests] == [3, 5, 7]
    assert executor.requests[1].messages[3].text == "five"
    assert "does not fit" in executor.requests[1].messages[4].text
    assert [message.text for message in context.committed.prompt] == ["rules", "x", "5"]


async def test_every_answer_that_did_not_fit_is_reported(make_context: Any) -> None:
    """It was paid for [EXE-05]."""
    context, _ = _made(make_context, "five", "5")
    async with context.write_session() as session:
        await session.request_structured(int)

    told = [event for event in context.log.events if isinstance(event, Notice)]
    assert [event.kind for event in told] == ["structured output"]
    assert "Answer 1 of at most 3 did not fit int" in told[0].text


async def test_a_schema_that_the_model_cannot_meet_ends_in_an_error_with_all_answers(
    make_context: Any,
) -> None:
    """After the attempts that were allowed; nothing is appended [EXE-05]."""
    never = {"type": "integer", "minimum": 5, "maximum": 4}
    context, executor = _made(make_context, "4", "5", "6")
    async with context.write_session() as session:
        with pytest.raises(
            StructuredOutputError, match=r"None of 2 answers fitted.*Nothing was appended"
        ) as caught:
            await session.request_structured(never, attempts=2)
        assert len(session.prompt) == 2

    assert [answer.text for answer in caught.value.answers] == ["4", "5"]
    assert len(executor.requests) == 2


async def test_an_executor_that_fails_is_not_asked_again(make_context: Any) -> None:
    """Only an answer that does not fit is [EXE-05]."""
    context, executor = _made(make_context, ExecutorError("down"), "5")
    async with context.write_session() as session:
        with pytest.raises(ExecutorError, match="down"):
            await session.request_structured(int)

    assert len(executor.requests) == 1


async def test_another_model_may_repair_the_answer(make_context: Any) -> None:
    """From the second attempt on, for this request only [EXE-05]."""
    context, executor = _made(make_context, "five", "5", "6")
    async with context.write_session() as session:
        await session.request_structured(int, fixing_model="careful")
        await session.request()

    assert [request.model.id for request in executor.requests] == ["offline", "careful", "offline"]


@pytest.mark.parametrize("answer", ["", "  \n", kb.assistant(calls=[kb.ToolCall("weather", id="1")])])
async def test_an_answer_without_text_does_not_fit(make_context: Any, answer: Any) -> None:
    """It is told so, and no empty message is sent back [EXE-05]."""
    context, executor = _made(make_context, answer, "5")
    async with context.write_session() as session:
        reply = await session.request_structured(int)

    assert reply.attempts == 2
    assert "it was empty" in executor.requests[1].messages[-1].text
    assert all(message.text for message in executor.requests[1].messages)
    assert all(not message.calls for message in executor.requests[1].messages)


# ------------------------------------------------------------------------------------------- reading


@pytest.mark.parametrize("text", ["5", " 5\n", "```\n5\n```", "```json\n5\n```", "\n```JSON \n 5 \n```\n"])
def test_the_value_may_stand_in_a_fence(text: str) -> None:
    """Many models write one, whatever they are told [EXE-05]."""
    assert Shape(int).read(text) == 5


@pytest.mark.parametrize(
    "text",
    ["the answer is 5", "5 or 6", "```\n5\n```\n```\n6\n```", "5.5", '"5"', "true", "NaN", "[5]", "null"],
)
def test_what_is_not_exactly_the_value_does_not_fit(text: str) -> None:
    """Nothing is guessed or converted [EXE-05]."""
    with pytest.raises(ValueError):
        Shape(int).read(text)


@pytest.mark.parametrize("text", ['{"a": 1e999}', "[-1e999]"])
def test_a_number_without_an_end_does_not_fit_a_schema(text: str) -> None:
    """It would come back as infinity [EXE-05, EXE-01]."""
    with pytest.raises(ValueError, match="too large a number"):
        Shape({}).read(text)


@pytest.mark.parametrize("text", ['{"a": NaN}', '{"a": Infinity}', '{"a": -Infinity}'])
def test_what_is_no_json_number_does_not_fit_a_schema_either(text: str) -> None:
    """Python's own reader would take it [EXE-05, EXE-01]."""
    with pytest.raises(ValueError, match="no JSON number"):
        Shape({"type": "object"}).read(text)


def test_a_mistake_is_named_with_its_place() -> None:
    """So that the model can mend it [EXE-05]."""
    with pytest.raises(ValueError, match=r"\$\.budget"):
        Shape(Trip).read('{"city": "x", "budget": "y", "tags": []}')
    with pytest.raises(ValueError, match=r"\$\.budget"):
        Shape(SCHEMA).read('{"city": "x", "budget": 0}')


@given(value=st.lists(st.integers(min_value=-(2**60), max_value=2**60)))
def test_whatever_fits_comes_back_as_it_was_written(value: list[int]) -> None:
    """Exactly [EXE-05]."""
    assert Shape(list[int]).read(json.dumps(value)) == value


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "https://example.org/schema.json"},
        {"properties": {"a": {"$ref": "#/$defs/nowhere"}}},
        {"items": [{"$ref": "other.json"}]},
        {"$ref": "#"},
    ],
)
def test_a_schema_that_refers_to_what_it_does_not_hold_is_refused_before_it_is_sent(schema: Any) -> None:
    """Nothing is asked for over a network, and no answer paid for that could not be read [EXE-05]."""
    with pytest.raises(StructuredOutputError, match="Nothing was sent"):
        Shape(schema)


def test_a_schema_may_refer_to_its_own_parts() -> None:
    """Also to itself [EXE-05]."""
    tree = {
        "$defs": {
            "tree": {
                "type": "object",
                "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
                "additionalProperties": False,
            }
        },
        "$ref": "#/$defs/tree",
    }
    assert Shape(tree).read('{"kids": [{"kids": []}]}') == {"kids": [{"kids": []}]}
    with pytest.raises(ValueError, match="kidz"):
        Shape(tree).read('{"kids": [{"kidz": []}]}')


def test_a_pydantic_model_is_read_as_strictly_as_any_type() -> None:
    """A text is no number [EXE-05]."""
    with pytest.raises(ValueError, match="budget"):
        Shape(TripModel).read('{"city": "x", "budget": "5", "tags": []}')


class Moody(pydantic.BaseModel):
    """A model with a fault."""

    number: int

    @pydantic.field_validator("number")
    @classmethod
    def _look_up(cls, number: int) -> int:
        return {1: 1}[number]


async def test_a_validator_that_raises_loses_no_answer(make_context: Any) -> None:
    """It is not asked again, and the answer is in the error [EXE-05]."""
    context, executor = _made(make_context, '{"number": 2}', '{"number": 1}')
    async with context.write_session() as session:
        with pytest.raises(StructuredOutputError, match="raised KeyError") as caught:
            await session.request_structured(Moody)
        assert len(session.prompt) == 2

    assert [answer.text for answer in caught.value.answers] == ['{"number": 2}']
    assert len(executor.requests) == 1


async def test_what_was_wrong_is_said_in_one_line(make_context: Any) -> None:
    """To the model and in the report, without addresses [EXE-05]."""
    context, executor = _made(make_context, '{"city": 5}', GOOD)
    async with context.write_session() as session:
        await session.request_structured(TripModel)

    told = executor.requests[1].messages[-1].text
    assert "budget: Field required" in told
    assert "\n" not in told
    assert "http" not in told


@pytest.mark.parametrize("examples", ["12", b"12", {"a": 1}])
async def test_examples_are_a_list(make_context: Any, examples: Any) -> None:
    """A text would become one example for each character [EXE-05]."""
    context, executor = _made(make_context, "5")
    async with context.write_session() as session:
        with pytest.raises(StructuredOutputError, match="list of values"):
            await session.request_structured(int, examples=examples)

    assert executor.requests == []


# ------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    "shape",
    [
        None,
        {"type": "string", 1: 2},
        complex,
        lambda: None,
        {"type": "nothing"},
        {"minimum": "low"},
        {"a": float("nan")},
        object(),
    ],
)
async def test_what_has_no_schema_is_refused_before_anything_is_sent(make_context: Any, shape: Any) -> None:
    """The error says what can be given [EXE-05]."""
    context, executor = _made(make_context, "5")
    async with context.write_session() as session:
        with pytest.raises(StructuredOutputError, match="Nothing was sent"):
            await session.request_structured(shape)

    assert executor.requests == []


@pytest.mark.parametrize("attempts", [0, -1, True, 1.5, "3", None])
async def test_a_number_of_attempts_below_one_is_refused(make_context: Any, attempts: Any) -> None:
    """Nothing is sent [EXE-05]."""
    context, executor = _made(make_context, "5")
    async with context.write_session() as session:
        with pytest.raises(ValueError, match="at least 1"):
            await session.request_structured(int, attempts=attempts)

    assert executor.requests == []


async def test_examples_are_shown_to_the_model(make_context: Any) -> None:
    """As values or as the text that the model would write [EXE-05]."""
    context, executor = _made(make_context, GOOD)
    async with context.read_session() as session:
        await session.request_structured(Trip, examples=[Trip("Xi'an", 300, []), GOOD])

    instruction = executor.requests[0].messages[-1].text
    assert '"Xi\'an"' in instruction
    assert f"For example: {GOOD}" in instruction


async def test_an_example_that_does_not_fit_is_refused(make_context: Any) -> None:
    """It would teach the model the mistake [EXE-05]."""
    context, executor = _made(make_context, GOOD)
    async with context.read_session() as session:
        with pytest.raises(StructuredOutputError, match="example"):
            await session.request_structured(Trip, examples=['{"city": "x"}'])

    assert executor.requests == []
