"""Options of subgraphs: what cannot be is refused when the subgraph is defined, and what is changed is told."""

from __future__ import annotations

import re
from typing import Any

import pytest
from case_names import without_address

import koogbook as kb
from koogbook.errors import DuplicateMessageError, GraphError, MergeConflictError
from koogbook.runtime.subgraphs.options import SubgraphOptions, require_options
from koogbook.runtime.subgraphs.tools_for_task import tools_for_task


def weather(city: str) -> str:
    """The weather."""
    return city


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tools": "weather"}, "tools=: it is a list"),
        ({"tools": kb.Tool(weather)}, "tools=: it is a list"),
        ({"tools": weather}, "tools=: it is a list"),
        ({"tools": [3]}, "tools=: 3 is no tool"),
        ({"tools": [lambda x: x]}, "tools=: A tool needs a name"),
        ({"tools": [weather, "weather"]}, "two of them have the name 'weather'"),
        ({"model": 3}, "model=: it is the name of a model"),
        ({"model": ""}, "model=: it is the name of a model"),
        ({"params": {"temperature": 1}}, "params=: it is kb.LLMParams"),
        ({"history": "fesh"}, "Did you mean 'fresh'?"),
        ({"history": 1}, "history=: it is one of 'inherit', 'fresh', not 1."),
        ({"system_prompt": []}, "system_prompt=: the list is empty"),
        ({"system_prompt": [kb.system("x")]}, "system_prompt=: it is a text or a list of texts"),
        ({"history": "fresh", "hand_out": "al"}, "Did you mean 'all'?"),
        ({"hand_out": "last"}, "Add history='fresh'"),
        ({"history": "inherit", "hand_out": len}, "Add history='fresh'"),
        ({"history": "fresh", "on_failure": "kep", "hand_out": "all"}, "Did you mean 'keep'?"),
        ({"on_failure": "keep"}, "on_failure=: it has no context of its own"),
        ({"history": "fresh", "on_failure": "keep"}, "on_failure=: there is nothing to keep"),
    ],
    ids=without_address,
)
def test_an_option_that_cannot_be_is_refused(options: Any, said: str) -> None:
    """With the subgraph, the option and what to write, and nothing is defined [GRA-06]."""
    graph = kb.strategy("s")

    with pytest.raises(GraphError, match=re.escape(said)) as caught:
        graph.subgraph("plan", **options)
    assert str(caught.value).startswith("Subgraph 'plan', ")
    assert "plan" not in graph.nodes


@pytest.mark.parametrize(
    "options",
    [
        {"tools": []},
        {"tools": (weather, "trains")},
        {"tools": tools_for_task("x")},
        {"model": kb.LLModel("m")},
        {"system_prompt": ""},
        {"history": "fresh", "hand_out": "all", "on_failure": "keep"},
        {"history": "inherit", "on_failure": "keep"},
    ],
    ids=without_address,
)
def test_any_option_gives_a_context_of_its_own(options: Any) -> None:
    """An empty list of tools, or an empty text, is an option, too [GRA-06]."""
    assert kb.strategy("s").subgraph("plan", **options).own_options is not None


def test_without_options_there_is_no_context_of_its_own() -> None:
    """It is a group of nodes [GRA-06]."""
    options = SubgraphOptions()
    require_options(options, "plan")

    assert not options.has_own_context


def test_the_same_options_given_again_are_no_change() -> None:
    """Functions and tools of the same text, as a cell that runs again has them [GRA-12]."""
    graph = kb.strategy("s")

    def define() -> Any:
        def search(text: str) -> str:
            """Search."""
            return text

        return graph.subgraph(
            "plan",
            tools=[search, "weather", kb.Tool(search, name="find")],
            history="fresh",
            hand_out=lambda messages: messages[-1:],
            params=kb.LLMParams(seed=1),
        )

    assert define() is define()
    assert graph.changes == []


def test_other_options_are_told_in_words() -> None:
    """Each that has changed [GRA-12]."""
    graph = kb.strategy("s")
    graph.subgraph("plan", tools=[weather], history="fresh")
    graph.subgraph("plan", tools=[], history="inherit", model="m")

    (told,) = graph.changes
    for change in ("tools [weather] -> []", "model None -> 'm'", "history 'fresh' -> 'inherit'"):
        assert change in told


@pytest.mark.parametrize(
    ("description", "attempts"), [("", 3), (" ", 3), (3, 3), ("x", 0), ("x", True), ("x", "3")]
)
def test_a_task_that_is_none_is_refused(description: Any, attempts: Any) -> None:
    """When it is written [GRA-06]."""
    with pytest.raises(GraphError, match="tools_for_task"):
        tools_for_task(description, attempts)


async def test_a_function_may_hand_out_all_messages() -> None:
    """System messages that stand around it already are not appended again [GRA-06]."""
    trip = kb.strategy("trip")
    part = trip.subgraph("part", history="fresh", hand_out=lambda messages: messages)
    part.append_prompt("new", name="says")
    part.start >> part.nodes["says"] >> part.finish
    trip.start >> part >> trip.finish
    run = await kb.Agent(kb.OfflineExecutor(), "offline", trip, system_prompt="be kind").run("x")

    assert [message.text for message in run.prompt] == ["be kind", "new"]


async def test_a_message_that_stands_around_it_is_not_handed_out_twice() -> None:
    """Only system messages are left out without a word: another one is refused, as in any session [GRA-06]."""
    outer: list[kb.Message] = []
    trip = kb.strategy("trip")
    part = trip.subgraph("part", history="fresh", hand_out=lambda messages: outer)
    part.start >> part.finish

    @trip.node
    async def before(ctx: kb.Context, value: str) -> str:
        async with ctx.llm.write_session() as session:
            session.append(kb.user("outside"))
            outer.extend(session.prompt)
        return value

    trip.start >> before >> part >> trip.finish
    with pytest.raises(DuplicateMessageError):
        await kb.Agent(kb.OfflineExecutor(), "offline", trip, system_prompt="be kind").run("x")


async def test_a_history_whose_message_was_replaced_meanwhile_is_not_overwritten() -> None:
    """Though there are as many messages as before [GRA-06]."""
    outer: list[kb.Context] = []
    trip = kb.strategy("trip")
    part = trip.subgraph("part", history="inherit")

    @trip.node
    async def before(ctx: kb.Context, value: str) -> str:
        outer.append(ctx)
        return value

    @part.node
    async def inside(ctx: kb.Context, value: str) -> str:
        async with ctx.llm.write_session() as session:
            session.append(kb.user("own"))
        async with outer[0].llm.write_session() as session:
            session.prompt = session.prompt.with_messages([kb.system("be quick")])
        return value

    part.start >> inside >> part.finish
    trip.start >> before >> part >> trip.finish
    said = r"Subgraph 'trip/part' began with .* \(1 message\), .* \(1 message now\).*history='fresh'"
    with pytest.raises(MergeConflictError, match=said):
        await kb.Agent(kb.OfflineExecutor(), "offline", trip, system_prompt="be kind").run("x")
    assert [message.text for message in outer[0].llm.committed.prompt] == ["be quick"]


def test_the_list_of_tools_is_kept_as_it_was_given() -> None:
    """Who changes it later changes no subgraph [GRA-13]."""

    def look(place: str) -> str:
        """Look."""
        return place

    given: list[Any] = []
    trip = kb.strategy("trip")
    trip.subgraph("part", tools=given)
    given.append(look)
    trip.subgraph("part", tools=given)

    assert trip.changes == ["node part redefined (tools [] -> [look])"]
