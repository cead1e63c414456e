"""Tools that the model chooses for a task."""

from __future__ import annotations

from typing import Any

import pytest

import koogbook as kb
from koogbook.errors import StructuredOutputError
from koogbook.events import Notice
from koogbook.runtime.subgraphs.tools_for_task import tools_for_task


def weather(city: str) -> str:
    """Tell the weather."""
    return city


def trains(city: str) -> str:
    """Find trains."""
    return city


class Choosing:
    """A run of a subgraph whose tools are chosen by the first answers; its one node asks once."""

    def __init__(
        self, *answers: Any, tools: Any = (weather, trains), attempts: int = 3, **options: Any
    ) -> None:
        self.executor = kb.ScriptedExecutor([*answers, "done"])
        graph = kb.strategy("s", input=str, output=str)
        sub = graph.subgraph("sub", tools=tools_for_task("find a train", attempts), **options)
        ask = sub.llm_request()
        sub.start >> ask >> sub.finish
        graph.start >> sub
        graph.edge(sub, graph.finish, map=lambda reply: reply.text)
        self.agent = kb.Agent(
            self.executor,
            "m",
            graph,
            tools=tools,
            system_prompt="be kind",
            params=kb.LLMParams(temperature=0.3),
        )

    async def run(self) -> kb.Run:
        """Run once."""
        return await self.agent.run("hello")

    @property
    def offered(self) -> list[str]:
        """The tools that the last request offers."""
        return [spec.name for spec in self.executor.requests[-1].tools]


async def test_the_model_is_asked_once_which_tools_the_task_needs() -> None:
    """And those are on offer inside [GRA-06]."""
    choosing = Choosing('{"tools": ["trains"]}')
    await choosing.run()
    selection = choosing.executor.requests[0]

    assert choosing.offered == ["trains"]
    assert (selection.purpose, selection.tools, len(choosing.executor.requests)) == ("selection", (), 2)
    assert selection.schema is not None
    assert selection.params.temperature == 0.3
    assert "find a train" in selection.messages[1].text
    assert "- weather: Tell the weather." in selection.messages[1].text


async def test_instruction_and_answer_reach_no_history() -> None:
    """Neither inside nor around [GRA-06]."""
    choosing = Choosing('{"tools": ["trains"]}')
    run = await choosing.run()

    assert [message.text for message in choosing.executor.requests[1].messages] == ["be kind", "hello"]
    assert [message.text for message in run.prompt] == ["be kind", "hello", "done"]


async def test_names_that_do_not_exist_are_left_out_and_said() -> None:
    """The others count [GRA-06]."""
    choosing = Choosing('{"tools": ["trains", "planes"]}')
    run = await choosing.run()

    assert choosing.offered == ["trains"]
    assert [
        "planes" in one.text for one in run.events if isinstance(one, Notice) and one.kind == "tool selection"
    ] == [True]


async def test_an_answer_with_no_existing_name_is_asked_for_again() -> None:
    """As one that does not fit [GRA-06]."""
    choosing = Choosing("what?", '{"tools": ["planes"]}', '{"tools": ["weather"]}')
    await choosing.run()

    assert choosing.offered == ["weather"]
    assert "none of these tools exists: planes" in choosing.executor.requests[2].messages[-1].text


async def test_the_model_may_choose_none() -> None:
    """An empty list is an answer [GRA-06]."""
    choosing = Choosing('{"tools": []}')
    await choosing.run()

    assert choosing.offered == []


async def test_without_a_usable_answer_the_subgraph_does_not_begin() -> None:
    """It never goes on with all tools by itself [GRA-06]."""
    choosing = Choosing("what?", "no", attempts=2)

    with pytest.raises(
        StructuredOutputError, match=r"'s/sub': the model chose no tools.*not begun"
    ) as caught:
        await choosing.run()
    assert [answer.text for answer in caught.value.answers] == ["what?", "no"]
    assert [m.text for m in caught.value.run.prompt] == ["be kind"]  # type: ignore[attr-defined]


async def test_without_tools_around_it_nobody_is_asked() -> None:
    """There is nothing to choose from [GRA-06]."""
    choosing = Choosing(tools=())
    await choosing.run()

    assert [request.purpose for request in choosing.executor.requests] == ["conversation"]


async def test_the_model_of_the_subgraph_chooses_by_what_it_begins_with() -> None:
    """A fresh history shows it the system messages alone [GRA-06]."""
    choosing = Choosing('{"tools": []}', model="small", history="fresh")
    await choosing.run()

    assert choosing.executor.requests[0].model.id == "small"
    assert [message.role for message in choosing.executor.requests[0].messages] == ["system", "user", "user"]


async def test_what_the_subgraph_asks_with_does_not_force_the_choice() -> None:
    """Its tool choice, number of answers and stop texts are for its own requests [GRA-06]."""
    params = kb.LLMParams(temperature=0.2, tool_choice=kb.ToolChoice("required"), stop=("}",))
    choosing = Choosing('{"tools": ["trains"]}', params=params)
    await choosing.run()
    first = choosing.executor.requests[0].params

    assert (first.temperature, first.tool_choice, first.stop) == (0.2, None, ())
