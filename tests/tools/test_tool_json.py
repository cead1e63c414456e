"""What goes to a model and comes from one is JSON, and what is not is told in plain words."""

from __future__ import annotations

import math
from typing import Annotated, Any

import pytest
from pydantic import Field

import koogbook as kb
from koogbook.errors import ToolError
from koogbook.tools.failures import in_words
from koogbook.tools.tool import LONGEST_NAME, ToolException

ENDLESS = Annotated[float, Field(examples=[math.inf])]
NO_NUMBER = Annotated[float, Field(json_schema_extra={"x-most": math.nan})]


def test_a_schema_with_a_number_that_json_has_not_is_refused() -> None:
    """No provider could read it [AGT-05]."""

    def book(days: ENDLESS) -> None:
        """Book."""

    def move(days: NO_NUMBER) -> None:
        """Move."""

    for function in (book, move):
        with pytest.raises(
            ToolError, match=r"parameter 'days': .* has no JSON schema \(Out of range float values"
        ):
            kb.Tool(function)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"anything": {"n": 1, "n": 2, "m": NaN}}', "NaN is no JSON number"),
        ('{"anything": [{"n": 1, "n": 2}, NaN]}', 'the key "n" stands twice'),
        ('{"anything": [NaN, {"n": 1, "n": 2}]}', "NaN is no JSON number"),
        ('{"anything": [{"n": 1, "n": 2}, {"m": 1, "m": 2}]}', 'the key "n" stands twice'),
        ('{"anything": [NaN, Infinity]}', "NaN is no JSON number"),
    ],
)
def test_of_several_problems_the_first_is_told(text: str, said: str) -> None:
    """The one that a reader comes to first; of an object, at its end [AGT-05]."""

    def take(anything: Any) -> None:
        """Take."""

    with pytest.raises(ToolException, match=f"The arguments do not fit: {said}"):
        kb.Tool(take).read_arguments(text)


@pytest.mark.parametrize("kind", [ValueError, TypeError, AttributeError, RecursionError, AssertionError])
def test_an_exception_whose_text_cannot_be_had_is_told_by_its_kind(kind: type[Exception]) -> None:
    """Whatever its class raises when it is asked [AGT-05]."""

    class Mute(Exception):
        def __str__(self) -> str:
            raise kind("mute")

    assert in_words(Mute()) == f"Mute: its text cannot be had, {kind.__name__}"


async def test_a_name_that_no_tool_can_have_is_told_as_far_as_names_go() -> None:
    """A tool has one of up to 64 characters, and the model may write anything [AGT-05]."""
    longest = "n" * LONGEST_NAME
    trip = kb.strategy("trip", input=str, output=Any)

    @trip.node
    async def work(ctx: kb.Context, text: str) -> Any:
        return [one.text for one in await ctx.run_tools([kb.ToolCall(f"{longest}{'x' * 900}", "{}", "c1")])]

    trip.start >> work >> trip.finish

    def book() -> str:
        """Book."""
        return ""

    tool = kb.Tool(book, name=longest)
    run = await kb.Agent(kb.OfflineExecutor(), "offline", trip, tools=[tool]).run("go")

    assert run.output == [
        f"There is no tool named '{longest}'. Did you mean '{longest}'? Tools on offer: {longest}."
    ]
    with pytest.raises(ToolError, match=f"Use 1 to {LONGEST_NAME} letters"):
        kb.Tool(book, name=f"{longest}n")
