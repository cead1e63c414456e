"""Ready nodes: what each takes, gives, and leaves in the history."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import koogbook as kb
from koogbook.errors import GraphError, RedefinitionError, StructuredOutputError
from koogbook.events import NodeCompleted
from koogbook.runtime.ready.conditions import is_instance

ANY: Any = Any


def weather(city: str) -> str:
    """The weather."""
    return f"rain in {city}"


def call(city: str = "Rome", id: str | None = "c") -> kb.ToolCall:
    """A call of the tool."""
    return kb.ToolCall("weather", f'{{"city": "{city}"}}', id)


def agent_of(answers: Any, *adds: Any, **options: Any) -> kb.Agent:
    """An agent whose strategy is a line of nodes, each added by a function of the graph."""
    graph = kb.strategy("s")
    last: Any = graph.start
    for add in adds:
        last = last >> add(graph)
    last >> graph.finish
    return kb.Agent(kb.ScriptedExecutor(answers), "m", graph, tools=[weather], **options)


def texts(run: Any) -> list[str]:
    """The texts of the run's history."""
    return [message.text for message in run.prompt]


#: Every node that asks, with an answer that it can take; all of them append their input and one answer.
ASKING: dict[str, tuple[Any, Any]] = {
    "llm_request": (lambda graph: graph.llm_request(), "answer"),
    "llm_request without tools": (lambda graph: graph.llm_request(allow_tool_calls=False), "answer"),
    "only calling tools": (lambda graph: graph.llm_request_only_calling_tools(), call()),
    "only calling tools, text": (lambda graph: graph.llm_request_only_calling_tools(), "answer"),
    "force one tool": (lambda graph: graph.llm_request_force_one_tool(weather), [call(), call()]),
    "structured": (lambda graph: graph.llm_request_structured(int), "3"),
    "streaming": (lambda graph: graph.llm_request_streaming(), "an answer in words"),
    "multiple choices": (lambda graph: graph.llm_request_multiple_choices(3), "answer"),
    "send_tool_results": (lambda graph: graph.send_tool_results(), "answer"),
    "send_tool_results without tools": (
        lambda graph: graph.send_tool_results(allow_tool_calls=False),
        "answer",
    ),
    "send_tool_results only calling": (
        lambda graph: graph.send_tool_results(only_calling_tools=True),
        call(),
    ),
}


@pytest.mark.parametrize("kind", ASKING)
@settings(max_examples=20)
@given(appended=st.lists(st.text(max_size=5), max_size=4))
def test_a_node_that_asks_appends_its_input_and_one_answer(kind: str, appended: list[str]) -> None:
    """The history grows by exactly that, for every kind of request [GRA-09]."""
    add, answer = ASKING[kind]
    agent = agent_of(lambda request: answer, add)
    run = agent.run_sync([kb.user(text) for text in appended])

    assert len(run.prompt) == len(appended) + 1
    assert run.prompt[-1].role == "assistant"


@pytest.mark.parametrize("kind", ASKING)
async def test_of_a_node_that_asks_in_vain_nothing_is_kept(kind: str) -> None:
    """Its input is not appended either [GRA-09]."""
    agent = agent_of(lambda request: ConnectionError("down"), ASKING[kind][0])

    with pytest.raises(ConnectionError) as caught:
        await agent.run("hello")
    assert len(caught.value.run.prompt) == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "value",
    ["hello", kb.user("hello"), [kb.user("hello")], ["hello"], (kb.user("hello"),)],
    ids=["text", "message", "list", "texts", "tuple"],
)
async def test_a_text_a_message_or_a_list_can_be_asked(value: Any) -> None:
    """A text becomes a user message [GRA-09]."""
    run = await agent_of(["answer"], lambda graph: graph.llm_request()).run(value)

    assert texts(run) == ["hello", "answer"]
    assert run.output.text == "answer"


@pytest.mark.parametrize("value", [3, None, {"a": 1}, [3]], ids=str)
async def test_anything_else_cannot_be_asked(value: Any) -> None:
    """The message names the node and what to write [GRA-09]."""
    with pytest.raises(TypeError, match=r"s/llm_request takes a text.*map=str"):
        await agent_of(["answer"], lambda graph: graph.llm_request()).run(value)


async def test_without_tools_none_are_offered() -> None:
    """For this request only [GRA-09]."""
    agent = agent_of(
        ["one", "two"],
        lambda graph: graph.llm_request(allow_tool_calls=False),
        lambda graph: graph.llm_request(name="b"),
    )
    graph = agent.strategy
    graph.edge("llm_request", "b", map=lambda reply: "go on")
    await agent.run("x")

    assert [len(request.tools) for request in agent.executor.requests] == [0, 1]  # type: ignore[attr-defined]


async def test_a_forced_tool_is_named_to_the_provider() -> None:
    """By function, tool or name [GRA-09]."""
    for tool in (weather, kb.Tool(weather), "weather"):
        agent = agent_of([call()], lambda graph, tool=tool: graph.llm_request_force_one_tool(tool))
        await agent.run("x")
        (request,) = agent.executor.requests  # type: ignore[attr-defined]

        assert request.params.tool_choice == kb.ToolChoice("named", "weather")


async def test_structured_gives_the_data() -> None:
    """And raises where no answer fits; nothing was appended then [GRA-09]."""
    run = await agent_of(["[1, 2]"], lambda graph: graph.llm_request_structured(list[int])).run("x")
    assert run.output == [1, 2]

    with pytest.raises(StructuredOutputError) as caught:
        await agent_of(["no"], lambda graph: graph.llm_request_structured(int, attempts=1)).run("x")
    assert texts(caught.value.run) == []  # type: ignore[attr-defined]


async def test_structured_may_give_the_error_instead_for_an_edge_to_take() -> None:
    """As Koog's Result does [GRA-09]."""
    graph = kb.strategy("s")
    ask = graph.llm_request_structured(int, attempts=1, on_failure="output")
    graph.start >> ask
    graph.edge(ask, graph.finish, when=is_instance(StructuredOutputError), map=lambda problem: "sorry")
    graph.edge(ask, graph.finish, label="fits")

    assert (await kb.Agent(kb.ScriptedExecutor(["no"]), "m", graph).run("x")).output == "sorry"
    assert (await kb.Agent(kb.ScriptedExecutor(["4"]), "m", graph).run("x")).output == 4


@pytest.mark.parametrize("is_async", [False, True])
async def test_frames_are_handed_on_as_they_come(is_async: bool) -> None:
    """To a function of the frame; the answer is appended once, at the end [GRA-09]."""
    seen: list[str] = []

    def plain(frame: Any) -> None:
        seen.append(type(frame).__name__)

    async def later(frame: Any) -> None:
        await asyncio.sleep(0)
        plain(frame)

    agent = agent_of(
        ["a b c"], lambda graph: graph.llm_request_streaming(on_frame=later if is_async else plain)
    )
    run = await agent.run("x")

    assert texts(run) == ["x", "a b c"]
    assert run.output is run.prompt[-1]
    assert seen[-1] == "EndFrame"
    assert seen.count("TextFrame") > 1


async def test_a_stream_that_breaks_off_leaves_nothing() -> None:
    """Neither the input nor a part of the answer [GRA-09]."""
    agent = agent_of(
        [kb.BrokenAnswer("a b", ConnectionError("down"))], lambda graph: graph.llm_request_streaming()
    )

    with pytest.raises(ConnectionError) as caught:
        await agent.run("x")
    assert texts(caught.value.run) == []  # type: ignore[attr-defined]


async def test_one_of_several_answers_is_chosen() -> None:
    """And no other is appended [GRA-09]."""

    async def longest(answers: Any) -> Any:
        return max(answers, key=lambda answer: len(answer.text))

    for choose, chosen in ((None, "a"), (longest, "ccc"), (lambda answers: 1, "bb")):
        agent = agent_of(
            ["a", "bb", "ccc"],
            lambda graph, choose=choose: graph.llm_request_multiple_choices(3, choose=choose),
        )
        run = await agent.run("x")

        assert texts(run) == ["x", chosen]
        assert run.output.text == chosen


@pytest.mark.parametrize("parallel", [False, True, 2])
async def test_all_calls_of_a_reply_are_run_and_nothing_is_appended(parallel: Any) -> None:
    """One result for each, in call order, unknown ones included [GRA-09]."""
    reply = kb.assistant(
        "so", calls=[call("Rome", "1"), kb.ToolCall("whether", "{}", "2"), call("Bonn", "2")]
    )
    agent = agent_of([], lambda graph: graph.execute_tools(parallel=parallel))
    run = await agent.run(reply)

    assert [message.results[0].call_id for message in run.output] == ["1", "2", "2"]
    assert [message.results[0].is_error for message in run.output] == [False, True, False]
    assert texts(run) == []


async def test_a_reply_without_calls_has_no_results() -> None:
    """An empty list [GRA-09]."""
    assert (await agent_of([], lambda graph: graph.execute_tools()).run(kb.assistant("x"))).output == []


async def test_one_call_gives_one_result() -> None:
    """Of a reply, or by itself [GRA-09]."""
    for value in (call(), kb.assistant(calls=[call()])):
        run = await agent_of([], lambda graph: graph.execute_tool()).run(value)

        assert run.output.text == "rain in Rome"


@pytest.mark.parametrize("calls", [[], [call(), call()]], ids=["none", "two"])
async def test_a_reply_with_another_number_of_calls_is_refused_where_one_is_run(calls: Any) -> None:
    """None is run and none is dropped [GRA-09, GRA-10]."""
    with pytest.raises(GraphError, match=rf"has {len(calls)}. None was run.*execute_tools"):
        await agent_of([], lambda graph: graph.execute_tool()).run(kb.assistant("x", calls=calls))


async def test_tools_of_something_else_than_a_reply_cannot_be_run() -> None:
    """The message names the node [GRA-09]."""
    with pytest.raises(TypeError, match="s/execute_tools runs the calls of a reply"):
        await agent_of([], lambda graph: graph.execute_tools()).run("text")


async def test_results_are_appended_and_sent() -> None:
    """A list of them, or one [GRA-09]."""
    for add in (lambda graph: graph.execute_tools(), lambda graph: graph.execute_tool()):
        agent = agent_of(
            [call(), "it rains"],
            lambda graph: graph.llm_request(),
            add,
            lambda graph: graph.send_tool_results(),
        )
        run = await agent.run("weather?")

        assert texts(run) == ["weather?", "", "rain in Rome", "it rains"]


@pytest.mark.parametrize(
    ("options", "choice", "tools"),
    [
        ({}, None, 1),
        ({"allow_tool_calls": False}, None, 0),
        ({"only_calling_tools": True}, kb.ToolChoice("required"), 1),
    ],
    ids=["plain", "without tools", "only tools"],
)
async def test_results_are_sent_with_the_choice_of_tools_that_was_asked_for(
    options: Any, choice: Any, tools: int
) -> None:
    """For this request only [GRA-09]."""
    agent = agent_of(
        [call(), "it rains"],
        lambda graph: graph.llm_request(),
        lambda graph: graph.execute_tools(),
        lambda graph: graph.send_tool_results(**options),
    )
    await agent.run("weather?")
    request = agent.executor.requests[1]  # type: ignore[attr-defined]

    assert (request.params.tool_choice, len(request.tools)) == (choice, tools)


async def test_doing_nothing_passes_the_input_on() -> None:
    """The very same object [GRA-09]."""
    value = [1]

    assert (await agent_of([], lambda graph: graph.do_nothing()).run(value)).output is value


async def test_messages_are_appended_and_the_input_passes_through() -> None:
    """Texts as user messages; nobody is asked [GRA-09]."""
    agent = agent_of([], lambda graph: graph.append_prompt(kb.system("be kind"), "hello"))
    run = await agent.run(7)

    assert [(message.role, message.text) for message in run.prompt] == [
        ("system", "be kind"),
        ("user", "hello"),
    ]
    assert run.output == 7


async def test_the_same_messages_can_be_appended_again_and_again() -> None:
    """Each time with an id and a time of their own [GRA-09]."""
    graph = kb.strategy("s")
    append = graph.append_prompt("again")
    graph.start >> append
    graph.edge(append, append, when=lambda ctx, value: len(ctx.llm.committed.prompt) < 3, label="again")
    graph.edge(append, graph.finish)
    run = await kb.Agent(kb.ScriptedExecutor([]), "m", graph).run(1)

    assert texts(run) == ["again"] * 3
    assert len({message.id for message in run.prompt}) == 3


async def test_what_is_appended_may_be_made_of_the_input() -> None:
    """By one function, sync or async, with the context or without [GRA-09]."""

    async def later(ctx: kb.Context, value: Any) -> Any:
        return [kb.system(ctx.strategy_name), f"{value}"]

    agent = agent_of(
        [],
        lambda graph: graph.append_prompt(lambda value: f"<{value}>"),
        lambda graph: graph.append_prompt(later, name="b"),
    )
    run = await agent.run(7)

    assert texts(run) == ["<7>", "s", "7"]


@pytest.mark.parametrize(
    ("add", "said"),
    [
        (lambda graph: graph.append_prompt(), "append_prompt takes messages"),
        (lambda graph: graph.append_prompt(3), "append_prompt takes messages"),
        (lambda graph: graph.append_prompt("x", lambda value: "y"), "append_prompt takes messages"),
        (lambda graph: graph.append_prompt(lambda: "y"), "function of"),
        (lambda graph: graph.llm_request_force_one_tool(3), "takes a tool, its function or its name"),
        (lambda graph: graph.llm_request_structured(int, on_failure="result"), "on_failure=: it is 'raise'"),
        (lambda graph: graph.llm_request_structured(int, attempts=0), "attempts=: it is at least 1"),
        (lambda graph: graph.llm_request_streaming(on_frame=3), "on_frame=: it is a function"),
        (lambda graph: graph.llm_request_multiple_choices(0), "count=: it is at least 1"),
        (lambda graph: graph.llm_request_multiple_choices(2, choose=3), "choose=: it is a function"),
        (lambda graph: graph.execute_tools(parallel="all"), "parallel=: it is True, False or how many"),
        (
            lambda graph: graph.send_tool_results(allow_tool_calls=False, only_calling_tools=True),
            "do not go together",
        ),
    ],
)
def test_what_cannot_be_is_refused_when_the_node_is_added(add: Any, said: str) -> None:
    """Nothing is defined then [GRA-09]."""
    graph = kb.strategy("s")

    with pytest.raises(GraphError, match=said):
        add(graph)
    assert list(graph.nodes) == ["start", "finish"]


ADDING = {
    **{kind: add for kind, (add, _) in ASKING.items()},
    "choose": lambda graph: graph.llm_request_multiple_choices(2, choose=lambda answers: 0),
    "on_frame": lambda graph: graph.llm_request_streaming(on_frame=lambda frame: None),
    "append": lambda graph: graph.append_prompt(kb.system("x"), "y"),
    "append function": lambda graph: graph.append_prompt(lambda value: "y"),
    "execute_tools": lambda graph: graph.execute_tools(parallel=True),
    "execute_tool": lambda graph: graph.execute_tool(),
    "do_nothing": lambda graph: graph.do_nothing(),
    "compress": lambda graph: graph.compress_history(),
}


@pytest.mark.parametrize("kind", ADDING)
def test_adding_the_same_node_again_is_no_change(kind: str) -> None:
    """A cell that runs again, with a lambda of the same text [GRA-12]."""
    graph = kb.strategy("s")

    assert ADDING[kind](graph) is ADDING[kind](graph)
    assert graph.changes == []


def test_adding_another_one_of_the_name_is_a_change() -> None:
    """It takes the place of the one before [GRA-12]."""
    graph = kb.strategy("s")
    for other in (
        lambda: graph.append_prompt("x", name="n"),
        lambda: graph.append_prompt("y", name="n"),
        lambda: graph.llm_request_multiple_choices(2, name="n"),
        lambda: graph.llm_request_multiple_choices(3, name="n"),
        lambda: graph.llm_request_structured(int, name="n"),
    ):
        other()

    assert len(graph.changes) == 4


def test_a_name_that_is_taken_is_refused_with_redefine_off() -> None:
    """As for every node [GRA-12]."""
    graph = kb.strategy("s", redefine=False)
    graph.llm_request()

    with pytest.raises(RedefinitionError, match="llm_request"):
        graph.llm_request()


def test_types_and_notes_are_there_for_checks_and_drawings() -> None:
    """What a node takes and gives, and what tells it apart [GRA-05, GRA-13]."""
    graph = kb.strategy("s")
    graph.llm_request_structured(list[int], name="a")
    graph.llm_request_force_one_tool(weather, name="b")
    graph.execute_tools(name="c")
    shapes = {node.name: node for node in graph.shape().nodes}

    assert (shapes["a"].input_type, shapes["a"].output_type) == ("Message | list[Message] | str", "list[int]")
    assert [shapes[name].note for name in "abc"] == ["list[int]", "weather", ""]
    assert (shapes["c"].input_type, shapes["c"].output_type) == ("Message", "list[Message]")


async def test_compression_passes_its_input_on() -> None:
    """And counts as a node run [GRA-09]."""
    agent = agent_of(
        ["one", "TLDR"],
        lambda graph: graph.llm_request(),
        lambda graph: graph.compress_history(allow_longer=True),
    )
    run = await agent.run("x")

    assert run.output.text == "one"
    assert "s/compress_history" in [one.path for one in run.events if isinstance(one, NodeCompleted)]


async def test_what_is_no_call_is_not_run() -> None:
    """The message names it [TLS-02]."""

    async def node(ctx: kb.Context, value: Any) -> Any:
        return await ctx.run_tools(value)

    agent = agent_of([], lambda graph: graph.node(node))
    with pytest.raises(TypeError, match=r"not str 'x'\. Nothing was run"):
        await agent.run("x")
