"""Checkpoints and subgraphs with a context of their own: none inside, one at the end."""

from __future__ import annotations

from typing import Any

import pytest

import koogbook as kb
from koogbook.events import CheckpointSaved


class Boom(Exception):
    """What stops a run on purpose."""


def weather(city: str) -> str:
    """The weather."""
    return f"rain in {city}"


class Trip:
    """An agent with a node, a subgraph of two nodes, and a node; ``broken`` names the node that fails."""

    def __init__(self, store: Any, **options: Any) -> None:
        self.ran: list[str] = []
        self.broken = ""
        graph = kb.strategy("trip", input=str, output=str)
        sub = graph.subgraph("sub", input=str, output=str, **options)

        def add(where: Any, name: str) -> Any:
            async def step(ctx: kb.Context, text: str) -> str:
                self.ran.append(name)
                if self.broken == name:
                    raise Boom(name)
                async with ctx.llm.write_session() as session:
                    session.append(kb.user(name))
                return f"{text} {name}"

            return where.node(name=name)(step)

        plan, pay = add(graph, "plan"), add(graph, "pay")
        search, book = add(sub, "search"), add(sub, "book")
        sub.start >> search >> book >> sub.finish
        graph.start >> plan >> sub
        sub >> pay >> graph.finish
        self.agent = kb.Agent(
            kb.ScriptedExecutor([]),
            "m",
            graph,
            system_prompt="be kind",
            tools=[weather],
            params=kb.LLMParams(seed=1),
        ).install(kb.Persistence(storage=store))

    async def run(self, broken: str = "") -> kb.Run:
        """Run, or fail in a node."""
        self.broken = broken
        if not broken:
            return await self.agent.run("x", "s")
        with pytest.raises(Boom):
            await self.agent.run("x", "s")
        assert self.agent.last_run is not None
        return self.agent.last_run


def saved(run: kb.Run) -> list[str]:
    """After which nodes a checkpoint was saved."""
    return [event.path for event in run.events if isinstance(event, CheckpointSaved)]


OWN: list[dict[str, Any]] = [
    {"history": "inherit"},
    {"history": "fresh", "hand_out": "all"},
    {"tools": [], "model": "small", "params": kb.LLMParams(temperature=1)},
    {"system_prompt": "be strict"},
]


@pytest.mark.parametrize("options", OWN, ids=str)
async def test_no_checkpoint_is_saved_inside_and_one_at_the_end(
    sqlite: kb.SqliteCheckpoints, options: Any
) -> None:
    """What is committed inside is not the run's yet [PER-02]."""
    run = await Trip(sqlite, **options).run()

    assert saved(run) == ["trip/plan", "trip/sub", "trip/pay"]
    assert run.output == "x plan search book pay"


async def test_without_a_context_of_its_own_each_node_inside_has_one() -> None:
    """It is a group of nodes [PER-02]."""
    run = await Trip(kb.MemoryCheckpoints()).run()

    assert saved(run) == ["trip/plan", "trip/sub/search", "trip/sub/book", "trip/pay"]


@pytest.mark.parametrize("options", OWN, ids=str)
async def test_a_resumed_run_goes_on_behind_it_with_what_it_handed_back(
    sqlite: kb.SqliteCheckpoints, options: Any
) -> None:
    """Messages, and not its tools, model and parameters [PER-05, GRA-06]."""
    await Trip(sqlite, **options).run(broken="pay")
    again = Trip(sqlite, **options)
    run = await again.run()

    assert again.ran == ["pay"]
    assert run.output == "x plan search book pay"
    assert [message.text for message in run.prompt] == ["be kind", "plan", "search", "book", "pay"]
    assert run.prompt.params == kb.LLMParams(seed=1)


@pytest.mark.parametrize("options", OWN, ids=str)
async def test_a_run_that_stopped_inside_begins_it_again(sqlite: kb.SqliteCheckpoints, options: Any) -> None:
    """From its start, with what was around it then; nothing is there twice [PER-05, GRA-06]."""
    await Trip(sqlite, **options).run(broken="book")
    again = Trip(sqlite, **options)
    run = await again.run()

    assert again.ran == ["search", "book", "pay"]
    assert run.output == "x plan search book pay"
    assert [message.text for message in run.prompt] == ["be kind", "plan", "search", "book", "pay"]


async def test_a_task_that_was_stopped_is_begun_again(sqlite: kb.SqliteCheckpoints) -> None:
    """And its output is stored when it is done [PER-05, GRA-07]."""

    def agent(*answers: Any) -> kb.Agent:
        graph = kb.strategy("s", input=str, output=list[str])
        task = graph.subgraph_with_task("find cities", name="task", input=str, output=list[str])
        ask = graph.llm_request(name="ask")
        graph.start >> task
        graph.edge(task, ask, map=lambda cities: " ".join(cities))
        graph.edge(ask, graph.finish, map=lambda reply: reply.text.split())
        made = kb.Agent(kb.ScriptedExecutor(answers), "m", graph, tools=[weather])
        return made.install(kb.Persistence(storage=sqlite))

    call = kb.ToolCall("weather", '{"city": "Rome"}')
    finish = kb.ToolCall("finish_task", '{"result": ["Rome", "Bonn"]}')
    for answers in ([call, Boom()], [call, finish, Boom()]):
        with pytest.raises(Boom):
            await agent(*answers).run("x", "s")
    last = agent("Rome it is")
    run = await last.run("x", "s")

    assert run.output == ["Rome", "it", "is"]
    assert [message.text for message in run.prompt if message.role == "user"] == ["find cities", "Rome Bonn"]
