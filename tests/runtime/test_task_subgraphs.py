"""Subgraphs that work on a task until the model calls the tool that ends it, and those that verify."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import pytest
from case_names import without_address

import koogbook as kb
from koogbook.errors import (
    BoundaryTypeError,
    GraphError,
    MaxIterationsError,
    RedefinitionError,
    TaskNotFinishedError,
)
from koogbook.runtime.subgraphs.task_subgraphs import CriticResult
from koogbook.state.codec import decode_state, encode_state

_RAN: list[str] = []


def weather(city: str) -> str:
    """The weather."""
    _RAN.append(city)
    return f"rain in {city}"


@dataclass
class Trip:
    """What a task may give."""

    city: str
    days: int


def finish(result: Any, id: str = "f", tool: str = "finish_task") -> kb.ToolCall:
    """A call of the finish tool."""
    return kb.ToolCall(tool, json.dumps({"result": result}), id)


def call(city: str = "Rome", id: str = "c") -> kb.ToolCall:
    """A call of another one."""
    return kb.ToolCall("weather", json.dumps({"city": city}), id)


class Task:
    """An agent whose strategy is one task subgraph."""

    def __init__(
        self,
        *answers: Any,
        task: Any = "find it",
        verify: bool = False,
        max_iterations: int = 50,
        **options: Any,
    ) -> None:
        _RAN.clear()
        self.executor = kb.ScriptedExecutor(answers)
        self.graph = graph = kb.strategy("s", input=Any, output=Any)
        define = graph.subgraph_with_verification if verify else graph.subgraph_with_task
        self.sub = define(task, name="t", **options)
        graph.start >> self.sub
        self.sub >> graph.finish
        self.agent = kb.Agent(
            self.executor, "m", graph, tools=[weather], system_prompt="be kind", max_iterations=max_iterations
        )

    async def run(self, value: Any = "x") -> kb.Run:
        """Run once."""
        return await self.agent.run(value)


def shown(run: Any) -> list[tuple[str, str]]:
    """Roles and texts of the run's history."""
    return [(message.role, message.text) for message in run.prompt]


async def test_the_model_works_with_tools_until_it_calls_the_finish_tool() -> None:
    """Its argument is the output, and the model is not asked again [GRA-07]."""
    task = Task(call(), finish("rain"))
    run = await task.run()

    assert run.output == "rain"
    assert shown(run) == [
        ("system", "be kind"),
        ("user", "find it"),
        ("assistant", ""),
        ("tool", "rain in Rome"),
        ("assistant", ""),
        ("tool", "rain"),
    ]
    assert len(task.executor.requests) == 2


async def test_every_request_has_the_model_call_a_tool() -> None:
    """The finish tool is offered besides the others, and inside only [GRA-07]."""
    task = Task("text", call(), finish("rain"))
    run = await task.run()

    for request in task.executor.requests:
        assert request.params.tool_choice == kb.ToolChoice("required")
        assert [spec.name for spec in request.tools] == ["weather", "finish_task"]
    assert run.prompt.params.tool_choice is None


@pytest.mark.parametrize(
    ("output", "written", "given"),
    [
        (int, 3, 3),
        (list[str], ["a"], ["a"]),
        (Trip, {"city": "Rome", "days": 2}, Trip("Rome", 2)),
        (Any, None, None),
    ],
    ids=["int", "list", "dataclass", "Any"],
)
async def test_the_output_is_of_the_declared_type(output: Any, written: Any, given: Any) -> None:
    """The schema of the finish tool comes from it [GRA-07]."""
    assert (await Task(finish(written), output=output).run()).output == given


async def test_arguments_of_the_finish_tool_that_do_not_fit_are_a_result_that_says_so() -> None:
    """And the model goes on [GRA-07]."""
    task = Task(finish("three"), kb.ToolCall("finish_task", "{broken"), finish(3), output=int)
    run = await task.run()
    results = [message.results[0] for message in run.prompt if message.role == "tool"]

    assert run.output == 3
    assert [result.is_error for result in results] == [True, True, False]


@pytest.mark.parametrize("parallel", [False, True, 2])
async def test_every_call_of_the_last_turn_gets_its_result_in_call_order(parallel: Any) -> None:
    """Those behind the finish call, too [GRA-07]."""
    task = Task([call("Rome", "1"), finish("done", "2"), call("Bonn", "3")], parallel_tools=parallel)
    run = await task.run()
    results = [message.results[0] for message in run.prompt if message.role == "tool"]

    assert [(result.call_id, result.output) for result in results] == [
        ("1", "rain in Rome"),
        ("2", "done"),
        ("3", "rain in Bonn"),
    ]


async def test_calls_without_ids_or_with_one_id_get_their_results_as_well() -> None:
    """They are matched by position [GRA-07]."""
    for id in (None, "same"):
        task = Task(
            [
                kb.ToolCall("weather", '{"city": "Rome"}', id),
                kb.ToolCall("finish_task", '{"result": "x"}', id),
            ]
        )
        run = await task.run()

        assert [message.text for message in run.prompt][-2:] == ["rain in Rome", "x"]


async def test_of_two_finish_calls_the_first_that_fits_counts() -> None:
    """The other one gets a result that says so [GRA-07]."""
    task = Task([finish("no", "1"), finish(1, "2"), finish(2, "3")], output=int)
    run = await task.run()
    results = [message.results[0] for message in run.prompt if message.role == "tool"]

    assert run.output == 1
    assert [result.is_error for result in results] == [True, False, True]
    assert "an earlier call of finish_task in this turn counts" in results[2].output


async def test_a_text_is_answered_by_telling_the_model_to_call_a_tool() -> None:
    """By a message that says what it is, and that no one takes for the user's [GRA-07]."""
    task = Task("I am done", finish("x"))
    run = await task.run()
    nudge = run.prompt[3]

    assert (nudge.role, nudge.metadata["nudge"], nudge.is_from_user) == ("user", True, False)
    assert "finish_task" in nudge.text


@pytest.mark.parametrize("limit", [0, 1, 3])
async def test_after_so_many_texts_the_task_is_not_finished(limit: int) -> None:
    """The error holds what the model said at last [GRA-07]."""
    task = Task(*(f"text {number}" for number in range(9)), text_limit=limit)

    times = "once" if limit == 0 else f"{limit + 1} times"
    with pytest.raises(
        TaskNotFinishedError, match=rf"'s/t'.*{times} .*\"text {limit}\"\. Its task"
    ) as caught:
        await task.run()
    assert len(task.executor.requests) == limit + 1
    assert shown(caught.value.run) == [("system", "be kind")]  # type: ignore[attr-defined]


async def test_texts_between_calls_are_counted_together() -> None:
    """A model that now and then calls something is stopped, too [GRA-07]."""
    task = Task("a", call(), "b", call(), "c", text_limit=2)

    with pytest.raises(TaskNotFinishedError, match="3 times"):
        await task.run()


async def test_an_answer_without_text_and_calls_counts_as_a_text() -> None:
    """It is no call [GRA-07]."""
    with pytest.raises(TaskNotFinishedError, match=r"at last with nothing\. Its task"):
        await Task(kb.assistant(), text_limit=0).run()


async def test_a_text_beside_calls_is_no_text_answer() -> None:
    """The calls are run [GRA-10]."""
    run = await Task(kb.assistant("so", calls=[finish("x")]), text_limit=0).run()

    assert run.output == "x"


async def test_a_call_of_an_unknown_tool_is_a_result_like_any_other() -> None:
    """And the model goes on [AGT-05]."""
    run = await Task(kb.ToolCall("whether"), finish("x")).run()

    assert "no tool named 'whether'" in run.prompt[3].text
    assert run.output == "x"


async def test_a_model_that_calls_without_end_is_stopped() -> None:
    """By the limit of iterations [GRA-04]."""
    task = Task(*[call() for _ in range(50)], max_iterations=9)

    with pytest.raises(MaxIterationsError):
        await task.run()


@pytest.mark.parametrize("is_async", [False, True])
async def test_the_text_of_a_task_may_be_made_of_the_input(is_async: bool) -> None:
    """By a function of the input, or of the context and the input, sync or async [GRA-07]."""

    async def later(ctx: kb.Context, value: str) -> str:
        return f"find {value} in {ctx.session_id[:0]}Rome"

    task = Task(finish("x"), task=later if is_async else lambda value: f"find {value} in Rome")
    run = await task.run("a museum")

    assert run.prompt[1].text == "find a museum in Rome"


async def test_a_function_that_gives_no_text_is_an_error() -> None:
    """The message names the node [GRA-07]."""
    with pytest.raises(GraphError, match="s/t/ask: the function of the task gives a text, not int"):
        await Task(task=lambda value: 3).run()


async def test_a_finish_tool_of_ones_own_gives_the_output() -> None:
    """It is called with what the model wrote; sync or async, a function or a tool [GRA-07]."""

    def book(city: str, days: int = 1) -> Trip:
        """Book it."""
        return Trip(city, days)

    async def book_later(city: str) -> Trip:
        """Book it."""
        await asyncio.sleep(0)
        return Trip(city, 9)

    for tool, name, days in (
        (book, "book", 1),
        (kb.Tool(book, name="b"), "b", 1),
        (book_later, "book_later", 9),
    ):
        task = Task(kb.ToolCall(name, '{"city": "Rome"}'), finish_tool=tool, output=Trip)
        run = await task.run()

        assert run.output == Trip("Rome", days)
        assert run.prompt[-1].text == f'{{"city": "Rome", "days": {days}}}'


async def test_a_finish_tool_that_fails_has_not_finished_the_task() -> None:
    """Its error is a result, and the model goes on [GRA-07]."""
    tried: list[str] = []

    def book(city: str) -> str:
        """Book it."""
        tried.append(city)
        if len(tried) == 1:
            raise ValueError("no room")
        return city

    calls = [kb.ToolCall("book", f'{{"city": "{city}"}}') for city in ("Rome", "Bonn")]
    run = await Task(*calls, finish_tool=book).run()

    assert run.output == "Bonn"
    assert "no room" in run.prompt[3].text


async def test_the_output_of_a_finish_tool_may_be_anything() -> None:
    """The model need not be able to read it [GRA-07]."""

    class Client:
        pass

    def connect() -> Client:
        """Connect."""
        return Client()

    run = await Task(kb.ToolCall("connect"), finish_tool=connect, output=Client).run()

    assert isinstance(run.output, Client)
    assert (run.prompt[-1].results[0].is_error, run.prompt[-1].text) == (False, "The task is finished.")


async def test_a_finish_tool_that_gives_another_type_is_an_error_of_the_strategy() -> None:
    """The model could not mend it [GRA-07]."""

    def book() -> Any:
        """Book it."""
        return "x"

    with pytest.raises(BoundaryTypeError, match=r"book gave str 'x', and the subgraph gives int"):
        await Task(kb.ToolCall("book"), finish_tool=book, output=int).run()


async def test_an_interceptor_that_refuses_the_finish_call_keeps_the_task_going() -> None:
    """What counts is the result that the model gets [GRA-07]."""
    refused: list[str] = []

    class Gate(kb.Interceptor):
        async def around_tool_call(self, tool_call: kb.ToolCall, call: Any) -> kb.Message:
            result: kb.Message = await call(tool_call)
            if tool_call.tool == "finish_task" and not refused:
                refused.append("once")
                return kb.tool_result(tool_call, "not yet", is_error=True)
            return result

    class Gated:
        key = "Gate"
        subscriptions = ()
        interceptors = (Gate(),)

        def install(self, agent: Any) -> Any:
            return self

        def bind(self, context: Any) -> Any:
            return self

        async def close(self) -> None:
            """Nothing to flush."""

    task = Task(finish("one"), finish("two"))
    task.agent.install(Gated())
    run = await task.run()

    assert run.output == "two"


async def test_a_tool_around_it_of_the_name_of_the_finish_tool_is_refused_when_it_begins() -> None:
    """With what to do [GRA-07]."""

    def finish_task(result: str) -> str:
        """Another one."""
        return result

    task = Task(finish("x"))
    agent = kb.Agent(task.executor, "m", task.graph, tools=[finish_task])

    with pytest.raises(GraphError, match=r"'s/t' ends when.*'finish_task'.*finish_tool="):
        await agent.run("x")
    assert task.executor.requests == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"task": ""}, "its task is an empty text"),
        ({"task": 3}, "a task is a text, or a function"),
        ({"task": lambda: "x"}, "a task is a text, or a function"),
        ({"text_limit": -1}, "text_limit=: it is a number from 0"),
        ({"text_limit": True}, "text_limit=: it is a number from 0"),
        ({"parallel_tools": "yes"}, "parallel_tools=: it is a number from 0"),
        ({"tools": ["finish_task"]}, "tools=: one of them has the name 'finish_task'"),
        ({"finish_tool": 3}, "finish_tool=: 3 cannot be called"),
        ({"output": asyncio.Event}, "output=: a model cannot write"),
        ({"history": "old"}, "history=: it is one of"),
        ({"hand_out": "all"}, "Add history='fresh'"),
    ],
    ids=without_address,
)
def test_what_cannot_be_is_refused_when_it_is_defined(options: Any, said: str) -> None:
    """With the name of the subgraph [GRA-07]."""
    graph = kb.strategy("s")
    task = options.pop("task", "x")

    with pytest.raises(GraphError, match=said):
        graph.subgraph_with_task(task, name="t", **options)
    assert "t" not in graph.nodes


def test_its_nodes_and_edges_are_drawn() -> None:
    """With labels that say what leads where [GRA-07, GRA-13]."""
    task = Task()
    drawing = task.graph.to_mermaid()

    assert task.graph.check() == ()
    for text in (
        "ask",
        "run_tools",
        "send_results",
        "nudge",
        "take_result",
        "tool calls",
        "finished",
    ):
        assert f'"{text}"' in drawing


def test_defining_it_again_is_no_change() -> None:
    """A cell that runs again, with a function of the same text [GRA-12]."""
    graph = kb.strategy("s")

    def define(limit: int) -> Any:
        def book(city: str) -> str:
            """Book it."""
            return city

        sub = graph.subgraph_with_task(
            lambda city: f"book {city}", name="t", finish_tool=book, text_limit=limit, tools=[weather]
        )
        graph.start >> sub
        sub >> graph.finish
        return sub

    first = define(3)
    assert define(3) is first
    assert graph.changes == []
    assert len(first.edges) == 10
    define(4)
    assert [text for text in graph.changes if "redefined" in text] != []


def test_a_definition_that_is_refused_changes_nothing() -> None:
    """The task is the one from before [GRA-12]."""
    graph = kb.strategy("s", redefine=False)
    sub = graph.subgraph_with_task("one", name="t", output=int, model="small")
    before = (sub.options, sub.output_type, sub.nodes["ask"].function)

    with pytest.raises(RedefinitionError):
        graph.subgraph_with_task("two", name="t", output=str)
    assert (sub.options, sub.output_type, sub.nodes["ask"].function) == before


async def test_two_runs_at_once_do_not_mix() -> None:
    """What a task has reached travels along its edges, and is kept nowhere else [AGT-01a]."""

    async def answer(request: kb.Request) -> Any:
        await asyncio.sleep(0)
        last = request.messages[-1]
        return finish(request.messages[1].text) if last.role == "tool" or "call" in last.text else "text"

    task = Task(task=lambda value: value)
    task.agent.executor = kb.ScriptedExecutor(answer)
    runs = await asyncio.gather(*(task.run(f"x{number}") for number in range(5)))

    assert [run.output for run in runs] == [f"x{number}" for number in range(5)]


async def test_a_fresh_history_leaves_the_one_around_it_alone() -> None:
    """The output comes back, the messages do not [GRA-06, GRA-07]."""
    run = await Task(call(), finish("x"), history="fresh").run()

    assert (run.output, shown(run)) == ("x", [("system", "be kind")])


async def test_a_verification_gives_a_verdict_with_its_feedback_and_the_input() -> None:
    """Edges go by it [GRA-07]."""
    verdict = kb.ToolCall("finish_task", '{"correct": false, "feedback": "too long"}')
    run = await Task(verdict, verify=True, input=str, task="is it short?").run("a plan")

    assert run.output == CriticResult(correct=False, feedback="too long", input="a plan")


async def test_a_verdict_without_feedback_does_not_fit() -> None:
    """The model is told what is missing [GRA-07]."""
    verdicts = [
        kb.ToolCall("finish_task", args)
        for args in ('{"correct": true}', '{"correct": true, "feedback": ""}')
    ]
    run = await Task(*verdicts, verify=True).run("a plan")

    assert run.output == CriticResult(True, "", "a plan")
    assert "feedback" in run.prompt[3].text


def test_a_verdict_can_be_stored() -> None:
    """In checkpoints, with its input [PER-03]."""
    verdict = CriticResult(True, "", Trip("Rome", 2))

    assert decode_state(encode_state(verdict, CriticResult[Trip]), CriticResult[Trip]) == verdict
