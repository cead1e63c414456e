"""The ready strategies, also with what providers answer now and then."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import koogbook as kb
from koogbook.agents.ready import chat_strategy, react_strategy, single_run_strategy
from koogbook.errors import GraphError, MaxIterationsError

_AT_ONCE: list[int] = []


def weather(city: str) -> str:
    """The weather."""
    return f"rain in {city}"


async def slow(number: int) -> str:
    """Something slow."""
    _AT_ONCE.append(number)
    await asyncio.sleep(0.01)
    seen = len(_AT_ONCE)
    await asyncio.sleep(0.01)
    return f"{seen}"


def call(city: str = "Rome", id: str | None = "c", tool: str = "weather") -> kb.ToolCall:
    """A call of a tool."""
    return kb.ToolCall(tool, f'{{"city": "{city}"}}', id)


def leave(farewell: str = "bye", id: str = "e") -> kb.ToolCall:
    """A call of the exit tool."""
    return kb.ToolCall("exit", f'{{"farewell": "{farewell}"}}', id)


def agent_of(strategy: kb.Strategy, *answers: Any, **options: Any) -> tuple[kb.Agent, kb.ScriptedExecutor]:
    """An agent with a script."""
    executor = kb.ScriptedExecutor(answers)
    return kb.Agent(executor, "m", strategy, tools=[weather, slow], **options), executor


def shown(run: Any) -> list[tuple[str, str]]:
    """Roles and texts of the run's history."""
    return [(message.role, message.text) for message in run.prompt]


STRATEGIES = {"single_run": single_run_strategy, "chat": chat_strategy, "react": react_strategy}


@pytest.mark.parametrize("kind", STRATEGIES)
def test_each_is_a_graph_that_can_be_drawn_and_run(kind: str) -> None:
    """Of visible nodes, with nothing to do [GRA-09]."""
    strategy = STRATEGIES[kind]()

    assert (strategy.name, strategy.check()) == (kind, ())
    assert '"tool calls"' in strategy.to_mermaid()


@pytest.mark.parametrize("kind", STRATEGIES)
def test_each_takes_another_name(kind: str) -> None:
    """Which is the agent's id then [AGT-01b]."""
    assert agent_of(STRATEGIES[kind](name="mine"))[0].id == "mine"


@pytest.mark.parametrize("kind", STRATEGIES)
async def test_calls_of_a_turn_may_run_at_once(kind: str) -> None:
    """And one after another unless it is asked for [GRA-09]."""
    calls = [kb.ToolCall("slow", f'{{"number": {number}}}', f"c{number}") for number in range(3)]
    answers = {
        "single_run": [calls, "done"],
        "chat": [calls, leave()],
        "react": ["think", calls, "think", "done"],
    }[kind]
    for parallel, seen in ((False, ["1", "2", "3"]), (True, ["3", "3", "3"])):
        _AT_ONCE.clear()
        agent, _ = agent_of(STRATEGIES[kind](parallel_tools=parallel), *answers)
        run = await agent.run("x")

        assert [text for role, text in shown(run) if role == "tool"][:3] == seen


@pytest.mark.parametrize("kind", STRATEGIES)
async def test_repeated_ids_and_unknown_tools_stop_nothing(kind: str) -> None:
    """Every call gets its result, in call order, in each turn [AGT-05]."""
    calls = [call("Rome", "same"), call("Bonn", "same"), call("x", None, tool="whether")]
    think = ["think"] if kind == "react" else []
    last = leave("done") if kind == "chat" else "done"
    agent, _ = agent_of(STRATEGIES[kind](), *think, calls, *think, calls, *think, last)
    run = await agent.run("x")
    results = [text for role, text in shown(run) if role == "tool"]

    assert run.output == "done"
    assert results[:2] == results[3:5] == ["rain in Rome", "rain in Bonn"]
    assert all("no tool named 'whether'" in results[at] for at in (2, 5))


@pytest.mark.parametrize("kind", STRATEGIES)
async def test_a_model_that_calls_without_end_is_stopped(kind: str) -> None:
    """By the limit of iterations [GRA-04]."""
    executor = kb.ScriptedExecutor(lambda request: call() if request.tools else "think")
    agent = kb.Agent(executor, "m", STRATEGIES[kind](), tools=[weather], max_iterations=9)

    with pytest.raises(MaxIterationsError):
        await agent.run("x")


async def test_a_chat_ends_with_what_the_exit_tool_gives() -> None:
    """It is offered besides the tools of the agent, and its call gets a result [GRA-09]."""
    agent, executor = agent_of(chat_strategy(), call(), leave("see you"))
    run = await agent.run("hello")

    assert run.output == "see you"
    assert [spec.name for spec in executor.requests[0].tools] == ["weather", "slow", "exit"]
    assert shown(run) == [
        ("user", "hello"),
        ("assistant", ""),
        ("tool", "rain in Rome"),
        ("assistant", ""),
        ("tool", "see you"),
    ]


@pytest.mark.parametrize("said", ["how are you?", kb.assistant()], ids=["text", "nothing"])
async def test_a_chat_pushes_back_when_the_model_answers_in_text(said: Any) -> None:
    """By a message that names the tools and is none of the user's; as often as needed [GRA-09]."""
    agent, _ = agent_of(chat_strategy(), said, "still here", call(), "and now?", leave())
    run = await agent.run("hello")
    pushed = [message for message in run.prompt if message.metadata.get("nudge")]

    assert (run.output, len(pushed)) == ("bye", 3)
    assert not any(message.is_from_user for message in pushed)
    assert "weather, slow, exit" in pushed[0].text


async def test_a_text_beside_calls_is_no_reason_to_push_back() -> None:
    """The calls are run [GRA-10]."""
    agent, _ = agent_of(chat_strategy(), kb.assistant("so", calls=[leave()]))

    assert (await agent.run("x")).output == "bye"


async def test_a_chat_goes_on_when_the_exit_does_not_fit() -> None:
    """Its result says what is wrong [GRA-09]."""
    agent, _ = agent_of(chat_strategy(), kb.ToolCall("exit", '{"words": 1}'), leave())
    run = await agent.run("x")

    assert run.output == "bye"
    assert run.prompt[2].results[0].is_error


async def test_calls_beside_the_exit_get_their_results() -> None:
    """In call order [GRA-09]."""
    agent, _ = agent_of(chat_strategy(), [call("Rome", "1"), leave(id="2"), call("Bonn", "3")])
    run = await agent.run("x")

    assert [text for role, text in shown(run) if role == "tool"] == ["rain in Rome", "bye", "rain in Bonn"]
    assert run.output == "bye"


async def test_the_exit_tool_may_be_ones_own() -> None:
    """Or one that the agent has already [GRA-09]."""

    def hang_up(reason: str) -> str:
        """Hang up."""
        return f"hung up: {reason}"

    calls = kb.ToolCall("hang_up", '{"reason": "tired"}')
    for given, tools in ((hang_up, []), (hang_up, [hang_up]), (kb.Tool(hang_up), [])):
        agent = kb.Agent(kb.ScriptedExecutor([calls]), "m", chat_strategy(exit_tool=given), tools=tools)
        run = await agent.run("x")

        assert run.output == "hung up: tired"
        assert len(agent.executor.requests[0].tools) == 1  # type: ignore[attr-defined]


async def test_the_exit_tool_is_on_offer_in_a_chat_that_goes_on_from_a_checkpoint() -> None:
    """The agent does not have it [GRA-09, PER-05]."""
    store = kb.MemoryCheckpoints()
    agent, _ = agent_of(chat_strategy(), call(), ConnectionError("down"))
    agent.install(kb.Persistence(storage=store))
    with pytest.raises(ConnectionError):
        await agent.run("hello", "s")

    again, executor = agent_of(chat_strategy(), leave())
    again.install(kb.Persistence(storage=store))
    run = await again.run("hello", "s")

    assert (run.resumed, run.output) == (True, "bye")
    assert [spec.name for spec in executor.requests[0].tools] == ["weather", "slow", "exit"]


async def test_react_reasons_in_text_before_each_act() -> None:
    """Without tools on offer, told by a message that is none of the user's [GRA-09]."""
    agent, executor = agent_of(react_strategy(), "I look it up", call(), "I know it now", "rain")
    run = await agent.run("weather?")

    assert run.output == "rain"
    assert [message.text for message in run.prompt if message.role == "assistant"] == [
        *["I look it up", "", "I know it now", "rain"]
    ]
    assert [len(request.tools) for request in executor.requests] == [0, 2, 0, 2]
    assert [message.is_from_user for message in run.prompt if message.role == "user"] == [True, False, False]


@pytest.mark.parametrize(("interval", "reasonings"), [(1, 5), (2, 3), (3, 2), (9, 1)])
async def test_react_reasons_again_after_so_many_turns(interval: int, reasonings: int) -> None:
    """And once at the beginning [GRA-09]."""

    def answer(request: kb.Request) -> Any:
        if not request.tools:
            return "think"
        return call() if sum(message.role == "tool" for message in request.messages) < 4 else "done"

    executor = kb.ScriptedExecutor(answer)
    run = await kb.Agent(executor, "m", react_strategy(interval), tools=[weather]).run("x")

    assert run.output == "done"
    assert sum(not request.tools for request in executor.requests) == reasonings


async def test_react_counts_its_turns_on_from_a_checkpoint() -> None:
    """They are in the storage of the run [GRA-09, PER-05]."""
    store = kb.MemoryCheckpoints()
    agent, _ = agent_of(react_strategy(2), "think", call(), ConnectionError("down"))
    agent.install(kb.Persistence(storage=store))
    with pytest.raises(ConnectionError):
        await agent.run("x", "s")

    again, executor = agent_of(react_strategy(2), call(), "think", "done")
    again.install(kb.Persistence(storage=store))
    run = await again.run("x", "s")

    assert (run.resumed, run.output) == (True, "done")
    assert [bool(request.tools) for request in executor.requests] == [True, False, True]


async def test_react_gives_the_empty_text_where_the_model_says_nothing() -> None:
    """A model may [AGT-01b]."""
    agent, _ = agent_of(react_strategy(), "think", kb.assistant())

    assert (await agent.run("x")).output == ""


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: react_strategy(0),
        lambda: react_strategy(True),
        lambda: react_strategy("1"),  # type: ignore[arg-type]
        lambda: chat_strategy(exit_tool=3),
        lambda: chat_strategy(exit_tool=lambda x: x),
        lambda: single_run_strategy(parallel_tools="yes"),  # type: ignore[arg-type]
        lambda: single_run_strategy("a/b"),
    ],
)
def test_what_cannot_be_is_refused(wrong: Any) -> None:
    """When the strategy is made [GRA-09]."""
    with pytest.raises(GraphError):
        wrong()


async def test_calls_of_a_model_that_is_offered_no_tools_are_run() -> None:
    """Also those of an unknown tool: the reasoning goes on with their results [GRA-09]."""
    agent, executor = agent_of(react_strategy(), call(), "think", call(tool="nope", id="d"), "again", "rain")
    run = await agent.run("weather?")

    assert run.output == "rain"
    assert [message.role for message in run.prompt][:5] == ["user", "user", "assistant", "tool", "user"]
    assert [len(request.tools) for request in executor.requests] == [0, 0, 2, 0, 2]


async def test_a_chat_survives_calls_of_all_kinds() -> None:
    """Of what is on offer or not, beside a text or alone [GRA-09]."""
    agent, _ = agent_of(
        chat_strategy(), call(tool="nope"), kb.assistant("text", calls=[call(id="d")]), leave()
    )

    assert (await agent.run("hello")).output == "bye"
