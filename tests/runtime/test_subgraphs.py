"""Subgraphs with a context of their own: what they begin with, what they give back, and what stays as it was."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import koogbook as kb
from koogbook.errors import MergeConflictError, ToolError
from koogbook.events import (
    NodeCompleted,
    Notice,
    SessionOpened,
    SubgraphCompleted,
    SubgraphFailed,
    SubgraphStarting,
)


def weather(city: str) -> str:
    """The weather."""
    return f"rain in {city}"


def trains(city: str) -> str:
    """The trains."""
    return f"none to {city}"


class Boom(Exception):
    """What stops a run on purpose."""


class World:
    """A strategy of a node before, a subgraph with one node, and a node after; each asks once.

    ``during`` is called in the subgraph's node with its context and the one around it.
    """

    def __init__(self, *, during: Any = None, answers: Any = None, **options: Any) -> None:
        self.executor = kb.ScriptedExecutor(answers or ["one", "two", "three"])
        self.graph = graph = kb.strategy("s", input=str, output=str)
        self.outer: kb.Context | None = None

        @graph.node
        async def before(ctx: kb.Context, text: str) -> str:
            self.outer = ctx
            return await ask(ctx, text)

        self.sub = sub = graph.subgraph("sub", input=str, output=str, **options)

        @sub.node
        async def inside(ctx: kb.Context, text: str) -> str:
            text = await ask(ctx, text)
            if during is not None:
                await during(ctx, self.outer)
            return text

        @graph.node
        async def after(ctx: kb.Context, text: str) -> str:
            return await ask(ctx, text)

        sub.start >> inside >> sub.finish
        graph.start >> before >> sub
        sub >> after >> graph.finish
        self.agent = kb.Agent(
            self.executor,
            "big",
            graph,
            system_prompt="be kind",
            tools=[weather, trains],
            params=kb.LLMParams(temperature=0.5),
        )

    async def run(self) -> kb.Run:
        """The run, with what was asked in ``executor.requests``."""
        return await self.agent.run("hello")

    def asked(self, number: int) -> list[str]:
        """The texts of a request, from 0."""
        return [message.text for message in self.executor.requests[number].messages]


async def ask(ctx: kb.Context, text: str) -> str:
    """Ask in one session."""
    async with ctx.llm.write_session() as session:
        session.append(kb.user(text))
        return (await session.request()).text


def texts(run: Any) -> list[str]:
    """The texts of the run's history."""
    return [message.text for message in run.prompt]


async def test_a_subgraph_without_options_works_on_the_context_around_it() -> None:
    """It is a group of nodes [GRA-06]."""
    world = World()
    run = await world.run()

    assert texts(run) == ["be kind", "hello", "one", "one", "two", "two", "three"]
    assert {event.context for event in run.events if isinstance(event, SessionOpened)} == {"s"}


async def test_an_inherited_history_is_gone_on_with_and_becomes_that_around_it() -> None:
    """The final messages of the subgraph are those of its parent [GRA-06]."""
    world = World(history="inherit")
    run = await world.run()

    assert world.asked(1) == ["be kind", "hello", "one", "one"]
    assert texts(run) == ["be kind", "hello", "one", "one", "two", "two", "three"]


async def test_the_context_of_a_subgraph_has_a_lock_of_its_own_named_by_its_path() -> None:
    """Its sessions are told apart [GRA-06]."""
    run = await World(history="inherit").run()
    inside = [
        one.context for one in run.events if isinstance(one, SessionOpened) and one.path == "s/sub/inside"
    ]

    assert inside == ["s/sub"]


async def test_a_fresh_history_begins_with_the_system_messages_and_leaves_the_other_one_alone() -> None:
    """Nothing is handed out unless it is asked for [GRA-06]."""
    world = World(history="fresh")
    run = await world.run()

    assert world.asked(1) == ["be kind", "one"]
    assert texts(run) == ["be kind", "hello", "one", "two", "three"]


@pytest.mark.parametrize(
    ("hand_out", "handed"),
    [
        ("last", ["two"]),
        ("all", ["one", "two"]),
        (lambda messages: [one for one in messages if one.role == "user"], ["one"]),
        (lambda messages: [], []),
    ],
    ids=["last", "all", "function", "none"],
)
async def test_a_fresh_history_hands_out_what_the_option_says(hand_out: Any, handed: list[str]) -> None:
    """It is appended to the one around it [GRA-06]."""
    run = await World(history="fresh", hand_out=hand_out).run()

    assert texts(run) == ["be kind", "hello", "one", *handed, "two", "three"]


async def test_a_function_that_hands_out_may_be_async() -> None:
    """It is awaited [GRA-06]."""

    async def two(messages: Any) -> Any:
        await asyncio.sleep(0)
        return messages[-2:]

    run = await World(history="fresh", hand_out=two).run()

    assert texts(run)[3:5] == ["one", "two"]


@pytest.mark.parametrize(
    "wrong", [None, "text", kb.user("x"), ["text"]], ids=["None", "text", "message", "texts"]
)
async def test_what_is_no_list_of_messages_cannot_be_handed_out(wrong: Any) -> None:
    """The message names the subgraph [GRA-06]."""
    world = World(history="fresh", hand_out=lambda messages: wrong)

    with pytest.raises(
        kb.errors.GraphError, match=r"'s/sub', hand_out=.*Nothing of the subgraph was taken"
    ) as caught:
        await world.run()
    assert texts(caught.value.run) == ["be kind", "hello", "one"]  # type: ignore[attr-defined]


async def test_an_answer_that_calls_tools_is_not_handed_out_as_the_last_one() -> None:
    """Its results would be missing; that there is no other is said [GRA-06]."""
    world = World(
        history="fresh",
        hand_out="last",
        answers=["one", kb.assistant("x", calls=[kb.ToolCall("weather")]), "3"],
    )
    run = await world.run()

    assert texts(run) == ["be kind", "hello", "one", "x", "3"]
    assert "s/sub: there is no answer" in next(
        one.text for one in run.events if isinstance(one, Notice) and one.kind == "hand out"
    )


async def test_model_tools_and_parameters_hold_inside_only() -> None:
    """Around it they stay as they were [GRA-06]."""
    world = World(tools=["trains"], model="small", params=kb.LLMParams(max_tokens=7))
    await world.run()
    before, inside, after = world.executor.requests

    assert ([spec.name for spec in inside.tools], inside.model.id) == (["trains"], "small")
    assert inside.params == kb.LLMParams(max_tokens=7)
    for one in (before, after):
        assert [spec.name for spec in one.tools] == ["weather", "trains"]
        assert (one.model.id, one.params) == ("big", kb.LLMParams(temperature=0.5))


async def test_what_is_changed_inside_stays_inside_but_for_the_messages() -> None:
    """Tools, model and parameters of the session in it, too [GRA-06]."""

    async def change(ctx: kb.Context, outer: Any) -> None:
        async with ctx.llm.write_session() as session:
            session.tools = []
            session.model = "other"
            session.change_params(temperature=1, seed=3)
            session.append(kb.user("changed"))

    world = World(during=change, history="inherit")
    run = await world.run()
    after = world.executor.requests[2]

    assert "changed" in texts(run)
    assert len(after.tools) == 2
    assert (after.model.id, after.params) == ("big", kb.LLMParams(temperature=0.5))


async def test_no_tools_is_an_empty_list() -> None:
    """None are offered inside [GRA-06]."""
    world = World(tools=[])
    await world.run()

    assert [len(request.tools) for request in world.executor.requests] == [2, 0, 2]


async def test_a_tool_of_its_own_is_offered_and_run_inside_only() -> None:
    """A function will do [GRA-06]."""

    def book(city: str) -> str:
        """Book."""
        return f"booked {city}"

    results: list[kb.Message] = []

    async def call(ctx: kb.Context, outer: Any) -> None:
        results.extend(await ctx.run_tools([kb.ToolCall("book", '{"city": "Rome"}'), kb.ToolCall("trains")]))

    world = World(during=call, tools=[book, "weather"])
    await world.run()

    assert [spec.name for spec in world.executor.requests[1].tools] == ["book", "weather"]
    assert results[0].text == "booked Rome"
    assert "no tool named 'trains'" in results[1].text


async def test_a_name_that_no_tool_around_it_has_is_an_error() -> None:
    """The message names the subgraph and the tools there are [GRA-06]."""
    world = World(tools=["wether"])

    with pytest.raises(ToolError, match=r"'s/sub'.*'wether'.*weather, trains"):
        await world.run()
    assert len(world.executor.requests) == 1


async def test_its_own_system_prompt_takes_the_place_of_the_other_as_long_as_it_runs() -> None:
    """Around it the other one is there again, where it was [GRA-06]."""
    world = World(system_prompt=["be strict", "be brief"])
    run = await world.run()

    assert world.asked(1) == ["be strict", "be brief", "hello", "one", "one"]
    assert texts(run) == ["be kind", "hello", "one", "one", "two", "two", "three"]


async def test_a_fresh_history_with_its_own_system_prompt_begins_with_that_alone() -> None:
    """The other one is not in it [GRA-06]."""
    world = World(history="fresh", system_prompt="be strict")
    await world.run()

    assert world.asked(1) == ["be strict", "one"]


async def test_a_compression_inside_carries_over() -> None:
    """Also where the subgraph had a system prompt of its own [GRA-06]."""

    async def compress(ctx: kb.Context, outer: Any) -> None:
        async with ctx.llm.write_session() as session:
            await session.replace_history_with_tldr(allow_longer=True)

    for options in ({"history": "inherit"}, {"system_prompt": "be strict"}):
        world = World(during=compress, answers=["one", "two", "TLDR", "three"], **options)
        run = await world.run()

        assert texts(run)[:3] == ["be kind", "hello", "TLDR"]
        assert [message.text for message in run.prompt if message.role == "assistant"] == ["TLDR", "three"]


async def test_nothing_is_handed_over_when_it_fails() -> None:
    """The history around it is what it was [GRA-06]."""

    async def fail(ctx: kb.Context, outer: Any) -> None:
        raise Boom

    for options in ({"history": "inherit"}, {"history": "fresh", "hand_out": "all"}):
        with pytest.raises(Boom) as caught:
            await World(during=fail, **options).run()
        assert texts(caught.value.run) == ["be kind", "hello", "one"]  # type: ignore[attr-defined]


async def test_it_is_handed_over_all_the_same_with_keep() -> None:
    """The failure stays the error [GRA-06]."""

    async def fail(ctx: kb.Context, outer: Any) -> None:
        raise Boom

    with pytest.raises(Boom) as caught:
        await World(during=fail, history="inherit", on_failure="keep").run()
    assert texts(caught.value.run) == ["be kind", "hello", "one", "one", "two"]  # type: ignore[attr-defined]


async def test_a_failure_stays_the_error_when_its_messages_cannot_be_kept() -> None:
    """Why they cannot is a note and a notice [GRA-06]."""

    async def write_and_fail(ctx: kb.Context, outer: Any) -> None:
        async with outer.llm.write_session() as session:
            session.append(kb.user("from elsewhere"))
        raise Boom

    with pytest.raises(Boom) as caught:
        await World(during=write_and_fail, history="inherit", on_failure="keep").run()
    assert any("MergeConflictError" in note for note in caught.value.__notes__)
    run = caught.value.run  # type: ignore[attr-defined]
    assert any("MergeConflictError" in one.text for one in run.events if isinstance(one, Notice))


async def test_a_cancelled_subgraph_hands_nothing_over_not_even_with_keep() -> None:
    """And leaves the locks free [GRA-06, AGT-06]."""
    reached = asyncio.Event()

    async def wait(ctx: kb.Context, outer: Any) -> None:
        reached.set()
        await asyncio.sleep(60)

    world = World(during=wait, history="inherit", on_failure="keep")
    task = asyncio.ensure_future(world.run())
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert world.agent.last_run is not None
    assert texts(world.agent.last_run) == ["be kind", "hello", "one"]
    assert world.outer is not None
    assert world.outer.llm.statistics().writer is None


async def test_a_history_that_was_changed_meanwhile_is_a_conflict() -> None:
    """Nothing of the subgraph is taken, and nothing of the other change is lost [GRA-06]."""

    async def write(ctx: kb.Context, outer: Any) -> None:
        async with outer.llm.write_session() as session:
            session.append(kb.user("from elsewhere"))

    with pytest.raises(
        MergeConflictError, match=r"'s/sub' began with .*3 messages.*4 messages now"
    ) as caught:
        await World(during=write, history="inherit").run()
    assert texts(caught.value.run) == ["be kind", "hello", "one", "from elsewhere"]  # type: ignore[attr-defined]


async def test_a_change_meanwhile_of_something_else_than_messages_is_kept() -> None:
    """Parameters around it are not the subgraph's to put back [GRA-06]."""

    async def change(ctx: kb.Context, outer: Any) -> None:
        async with outer.llm.write_session() as session:
            session.change_params(temperature=0.1)

    world = World(during=change, history="inherit")
    run = await world.run()

    assert run.output == "three"
    assert world.executor.requests[2].params.temperature == 0.1


async def test_a_fresh_history_is_handed_out_behind_what_was_appended_meanwhile() -> None:
    """Appending is no conflict [GRA-06]."""

    async def write(ctx: kb.Context, outer: Any) -> None:
        async with outer.llm.write_session() as session:
            session.append(kb.user("from elsewhere"))

    run = await World(during=write, history="fresh", hand_out="last").run()

    assert texts(run)[3:5] == ["from elsewhere", "two"]


async def test_a_subgraph_that_changes_no_message_opens_no_session_around_it() -> None:
    """There is nothing to hand over [GRA-06]."""
    graph = kb.strategy("s", input=str, output=str)
    sub = graph.subgraph("sub", history="inherit")
    sub.start >> sub.finish
    graph.start >> sub
    sub >> graph.finish
    run = await kb.Agent(kb.ScriptedExecutor([]), "m", graph).run("x")

    assert not [one for one in run.events if isinstance(one, SessionOpened)]


async def test_subgraphs_with_contexts_of_their_own_stand_in_one_another() -> None:
    """Each hands over to the one around it [GRA-06]."""
    executor = kb.ScriptedExecutor(lambda request: f"{request.model.id}:{len(request.messages)}")
    graph = kb.strategy("s", input=str, output=str)
    outer = graph.subgraph("outer", input=str, output=str, model="outer")
    inner = outer.subgraph("inner", input=str, output=str, model="inner", history="fresh", hand_out="all")
    for one in (graph, outer, inner):
        one.node(name="ask")(ask)
    inner.start >> inner.nodes["ask"] >> inner.finish
    outer.start >> inner
    inner >> outer.nodes["ask"] >> outer.finish
    graph.start >> outer
    outer >> graph.nodes["ask"] >> graph.finish
    run = await kb.Agent(executor, "root", graph).run("x")

    assert texts(run) == ["x", "inner:1", "inner:1", "outer:3", "outer:3", "root:5"]
    contexts = [
        one.context for one in run.events if isinstance(one, SessionOpened) and one.path.endswith("ask")
    ]
    assert contexts == ["s/outer/inner", "s/outer", "s"]


async def test_storage_and_iterations_are_the_runs() -> None:
    """Only the LLM context is its own [GRA-06]."""
    key = kb.storage_key("count", int)

    async def count(ctx: kb.Context, outer: Any) -> None:
        ctx.storage.set(key, 7)

    world = World(during=count, history="fresh")
    run = await world.run()

    assert world.outer is not None
    assert world.outer.storage.get(key) == 7
    assert [one.path for one in run.events if isinstance(one, NodeCompleted)][-1] == "s/finish"
    assert world.outer.iterations == 3


async def test_it_can_be_entered_again_and_again() -> None:
    """Each time it begins with what is there then [GRA-06]."""
    graph = kb.strategy("s", input=str, output=str)
    sub = graph.subgraph("sub", input=str, output=str, system_prompt="inner")
    sub.node(name="ask")(ask)
    sub.start >> sub.nodes["ask"] >> sub.finish
    graph.start >> sub
    graph.edge(sub, sub, when=lambda text: text != "done", label="again")
    graph.edge(sub, graph.finish)
    executor = kb.ScriptedExecutor(["a", "b", "done"])
    run = await kb.Agent(executor, "m", graph, system_prompt="outer").run("x")

    assert [len(request.messages) for request in executor.requests] == [2, 4, 6]
    assert texts(run) == ["outer", "x", "a", "a", "b", "b", "done"]


async def test_its_events_say_how_it_ended() -> None:
    """Started and completed, or failed [AGT-03]."""

    async def fail(ctx: kb.Context, outer: Any) -> None:
        raise Boom

    run = await World(history="inherit").run()
    with pytest.raises(Boom) as caught:
        await World(during=fail, history="inherit").run()
    failed = caught.value.run  # type: ignore[attr-defined]
    kinds = (SubgraphStarting, SubgraphCompleted, SubgraphFailed)

    assert [type(one) for one in run.events if isinstance(one, kinds)] == [
        SubgraphStarting,
        SubgraphCompleted,
    ]
    assert [type(one) for one in failed.events if isinstance(one, kinds)] == [
        SubgraphStarting,
        SubgraphFailed,
    ]


async def test_a_model_that_nobody_knows_is_refused_when_it_begins() -> None:
    """By the executor, as everywhere [GRA-06]."""

    class Picky(kb.ScriptedExecutor):
        def resolve(self, model: Any) -> kb.LLModel:
            if "nobody" in str(model):
                raise kb.errors.UnknownModelError("no such model")
            return super().resolve(model)

    world = World(model="nobody")
    world.agent.executor = Picky(["one"])

    with pytest.raises(kb.errors.UnknownModelError):
        await world.run()


async def test_an_unchanged_prompt_grows_and_is_not_replaced() -> None:
    """What is stored by appending can go on so [GRA-06]."""
    run = await World(history="inherit", params=kb.LLMParams(seed=1)).run()
    changed = [one for one in run.events if isinstance(one, kb.events.PromptChanged) and one.context == "s"]

    assert len(changed) == 3
    assert not any(one.replaced for one in changed)


CHANGES: dict[str, Any] = {
    "append": lambda session: session.append(kb.user("more")),
    "system": lambda session: session.append(kb.system("inner rule")),
    "clear": lambda session: session.clear_history(),
    "drop": lambda session: session.drop_last_n_messages(1),
    "tools": lambda session: setattr(session, "tools", []),
    "model": lambda session: session.change_model("other"),
    "params": lambda session: session.change_params(temperature=0.9, seed=4),
}


@settings(max_examples=60)
@given(
    history=st.sampled_from([None, "inherit", "fresh"]),
    own=st.fixed_dictionaries(
        {},
        optional={
            "tools": st.sampled_from([[], ["trains"], [weather]]),
            "model": st.just("small"),
            "params": st.just(kb.LLMParams(max_tokens=5)),
            "system_prompt": st.sampled_from(["be strict", ["a", "b"]]),
        },
    ),
    hand_out=st.sampled_from(["nothing", "all"]),
    changes=st.lists(st.sampled_from(sorted(CHANGES)), max_size=5),
    fails=st.booleans(),
)
def test_whatever_is_done_inside_only_messages_come_out(
    history: Any, own: dict[str, Any], hand_out: Any, changes: list[str], fails: bool
) -> None:
    """And on failure none [GRA-06]."""
    options = {**own, **({} if history is None else {"history": history})}
    if not options:
        options["history"] = "inherit"
    if history == "fresh":
        options["hand_out"] = hand_out
    final: list[kb.Message] = []

    async def change(ctx: kb.Context, outer: Any) -> None:
        async with ctx.llm.write_session() as session:
            for name in changes:
                CHANGES[name](session)
        final.extend(ctx.llm.committed.prompt)
        if fails:
            raise Boom

    world = World(during=change, **options)
    run: Any = None
    try:
        run = world.agent.run_sync("hello")
    except Boom:
        run = world.agent.last_run
    assert world.outer is not None
    state = world.outer.llm.committed

    assert (state.model.id, state.tools.names) == ("big", ("weather", "trains"))
    assert state.prompt.params == kb.LLMParams(temperature=0.5)
    came = run.prompt.messages[: None if fails else -2]
    before = ["be kind", "hello", "one"]
    if fails:
        assert texts(run) == before
    elif history == "fresh":
        handed = [one.text for one in final if one.role != "system"] if hand_out == "all" else []
        assert [one.text for one in came] == [*before, *handed]
    else:
        assert [one.text for one in came if one.role != "system"] == [
            one.text for one in final if one.role != "system"
        ]
        systems = [one.text for one in came if one.role == "system"]
        inner = ["inner rule"] * sum(one.text == "inner rule" for one in final)
        assert systems == ["be kind", *inner]
