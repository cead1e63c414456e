"""EventHandler: functions that are called when something happens, by the name of the event."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

import pytest
from traced_runs import travelled, traveller

import koogbook as kb
from koogbook import events
from koogbook.errors import FeatureInstallError
from koogbook.events import Event, NodeCompleted, ToolCallStarting
from koogbook.features.event_handler import KINDS, EventHandler, Handlers, keyword_of


def noting(seen: list[str], word: str) -> Callable[[Event], None]:
    """A function that notes what it is called with."""

    def note(event: Event) -> None:
        seen.append(f"{word} {event.name}")

    return note


@pytest.mark.parametrize("name", [one for one in events.__all__ if one != "SessionMode"])
def test_every_kind_of_event_has_a_keyword(name: str) -> None:
    """Of its own type, which editors and type checkers know. [AGT-04]"""
    kind = getattr(events, name)
    keyword = keyword_of(kind)

    assert KINDS[keyword] is kind
    assert f"On[events.{name}]" in str(Handlers.__annotations__[keyword])
    assert keyword in inspect.signature(EventHandler).parameters


def test_no_keyword_is_of_nothing() -> None:
    """The table and the kinds are the same. [AGT-04]"""
    assert set(get_type_hints(Handlers)) == set(KINDS)


@pytest.mark.parametrize(
    ("name", "keyword"),
    [
        ("LLMCallStarting", "on_llm_call_starting"),
        ("ToolCallStarting", "on_tool_call_starting"),
        ("Event", "on_event"),
        ("LLMStreamingFrame", "on_llm_streaming_frame"),
        ("BranchesMerged", "on_branches_merged"),
    ],
)
def test_a_keyword_is_the_name_in_words(name: str, keyword: str) -> None:
    """As one would say it. [AGT-04]"""
    assert keyword_of(getattr(events, name)) == keyword


async def test_a_function_is_called_for_its_kind_alone() -> None:
    """With the event itself. [AGT-04]"""
    tools: list[ToolCallStarting] = []
    agent = traveller().install(EventHandler(on_tool_call_starting=tools.append))
    run = await travelled(agent)

    assert tools == [event for event in run.events if isinstance(event, ToolCallStarting)]
    assert len(tools) == 2


async def test_several_functions_are_called_in_their_order() -> None:
    """Those of one kind, and those of all. [AGT-02] [AGT-04]"""
    seen: list[str] = []
    a, b, c = (noting(seen, word) for word in "abc")
    await travelled(traveller().install(EventHandler(on_run_completed=[a, b], on_event=c)))

    assert seen[-3:] == ["a RunCompleted", "b RunCompleted", "c RunCompleted"]


async def test_everything_is_told_to_on_event() -> None:
    """In the order in which it happened. [AGT-04]"""
    seen: list[Event] = []
    run = await travelled(traveller().install(EventHandler(on_event=seen.append)))

    assert tuple(seen) == run.events


async def test_a_kind_of_another_is_told_to_its_functions_too() -> None:
    """A streamed call is a call. [AGT-04]"""
    seen: list[Event] = []
    await travelled(traveller().install(EventHandler(on_llm_call_starting=seen.append)))

    assert [event.name for event in seen].count("LLMStreamingStarting") == 1
    assert len(seen) == 4


class Lunch(Event, frozen=True, kw_only=True):
    """A kind of one's own."""


async def test_kinds_of_ones_own_are_given_by_their_class() -> None:
    """They have no keyword. [AGT-04]"""
    seen: list[Event] = []
    trip = kb.strategy("trip", input=str, output=str)

    @trip.node
    async def eat(ctx: kb.Context, text: str) -> str:
        ctx.log.emit(Lunch)
        return text

    trip.start >> eat >> trip.finish
    agent = kb.Agent(kb.OfflineExecutor(), "m", trip).install(EventHandler({Lunch: seen.append}))
    await agent.run("x")

    assert [(event.name, event.path) for event in seen] == [("Lunch", "trip/eat")]


@pytest.mark.parametrize(
    ("named", "message"),
    [
        (
            {"on_tool_cal_starting": print},
            r"no event for on_tool_cal_starting\. Did you mean on_tool_call_starting\?",
        ),
        ({"tool_call_starting": print}, r"Did you mean on_tool_call_starting\?"),
        ({"xyz": print}, r"no event for xyz\. Nothing was installed"),
        ({"on_event": 3}, r"on_event takes a function of the event, .* not 3\. .* Write: on_event=print"),
        ({"on_event": [print, None]}, "not None"),
        ({"handlers": 3}, "takes functions by the name of the event, not 3"),
        ({"handlers": {int: print}}, "is no kind of event"),
    ],
)
def test_what_is_no_event_or_no_function_is_refused(named: Any, message: str) -> None:
    """Before anything runs, with what was meant. [AGT-04]"""
    with pytest.raises(TypeError, match=message):
        EventHandler(**named)


async def waits(event: Event) -> None:
    """Nobody would wait for it."""


@pytest.mark.parametrize("given", [waits, [print, waits]])
def test_an_async_function_is_refused(given: Any) -> None:
    """With the remedy. [AGT-04]"""
    with pytest.raises(FeatureInstallError, match=r"cannot be awaited\. Make it a plain function"):
        EventHandler(on_event=given)


def test_a_wrong_policy_is_refused() -> None:
    """It is one of two words. [AGT-02]"""
    wrong: Any = "ignore"
    with pytest.raises(FeatureInstallError, match="on_handler_error is 'raise' or 'log'"):
        EventHandler(on_event=print, on_handler_error=wrong)


def broken(event: Event) -> None:
    """It raises."""
    raise ValueError("broken")


async def test_a_function_that_raises_ends_the_run() -> None:
    """That is how it is without another word. [AGT-02]"""
    agent = traveller().install(EventHandler(on_node_completed=broken))

    with pytest.raises(ValueError, match="broken"):
        await agent.run("x")


async def test_a_function_that_raises_is_an_event_where_that_is_wanted() -> None:
    """And the run goes on. [AGT-02]"""
    agent = traveller().install(EventHandler(on_strategy_completed=broken, on_handler_error="log"))
    run = await travelled(agent)

    assert run.state == "completed"
    assert "listener broken failed on StrategyCompleted: ValueError: broken" in str(run.report())


def test_it_is_installed_once_on_an_agent() -> None:
    """A second one raises; the list of functions is the way. [AGT-02a]"""
    agent = traveller().install(EventHandler())

    with pytest.raises(FeatureInstallError, match="EventHandler is installed"):
        agent.install(EventHandler())


async def test_one_value_can_be_installed_on_several_agents() -> None:
    """They share the functions and nothing else. [AGT-02]"""
    seen: list[NodeCompleted] = []
    feature = EventHandler(on_node_completed=seen.append)
    for agent in (traveller().install(feature), traveller().install(feature)):
        await travelled(agent)

    assert len({event.run_id for event in seen}) == 2
    with pytest.raises(AttributeError):
        feature.subscriptions = ()  # type: ignore[misc]
    assert repr(feature) == "<EventHandler of NodeCompleted>"
