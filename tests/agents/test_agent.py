"""An agent runs a strategy, each time from what it was given."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pytest

import koogbook as kb
from koogbook import clock, events
from koogbook.clock import FixedClock
from koogbook.errors import (
    ExecutorError,
    FeatureInstallError,
    FeatureNotInstalledError,
    GraphError,
    StrategyCheckError,
    ToolError,
)
from koogbook.messages.model import LLMParams
from koogbook.pipeline import Stage
from koogbook.runtime.builder import Strategy
from koogbook.runtime.installing import LINES

KEY = kb.storage_key("count", int)


def weather(city: str) -> str:
    """The weather."""
    return "rain"


def _one_node(function: Any, name: str = "one") -> Strategy:
    graph = kb.strategy(name)
    graph.start >> graph.node(name="node")(function) >> graph.finish
    return graph


async def _ask(ctx: kb.Context, text: str) -> str:
    async with ctx.llm.write_session() as session:
        session.append(kb.user(text))
        return (await session.request()).text


def _agent(function: Any = _ask, **options: Any) -> kb.Agent:
    executor = options.pop("executor", None) or kb.OfflineExecutor()
    return kb.Agent(executor, "offline", _one_node(function), **options)


class Feature:
    """A feature that notes what is done with it."""

    subscriptions: tuple[Any, ...] = ()
    interceptors: tuple[Any, ...] = ()

    def __init__(self, key: str = "Test", *, fails_to_close: bool = False) -> None:
        self.key = key
        self.done: list[str] = []
        self.fails_to_close = fails_to_close

    def install(self, agent: kb.Agent) -> Feature:
        """One state for each install would be made here."""
        self.done.append("install")
        return self

    def bind(self, ctx: kb.Context) -> str:
        """What ``ctx.feature(key)`` gives."""
        return f"{self.key} of {ctx.run_id}"

    async def close(self) -> None:
        """Flush."""
        self.done.append("close")
        if self.fails_to_close:
            raise OSError("cannot flush")


# ------------------------------------------------------------------------------------------- a run


async def test_a_run_says_what_came_out_of_it() -> None:
    """Output, ids, usage, and that it neither was resumed nor waits [AGT-01]."""
    run = await _agent().run("hello", session_id="chat-1")

    assert (run.output, run.session_id, run.resumed, run.interrupted) == (
        "user messages: 1",
        "chat-1",
        False,
        None,
    )
    assert [(spent.purpose, spent.calls) for spent in run.usage] == [("conversation", 1)]
    assert run.compressions == ()
    assert [message.role for message in run.prompt] == ["user", "assistant"]


async def test_a_report_says_in_words_what_happened() -> None:
    """And that no model answered [AGT-01]."""
    report = (await _agent().run("hello", session_id="chat-1")).report()

    assert report.outcome.startswith("Run ")
    assert "completed" in report.outcome
    assert "not by a model" in str(report)
    assert report.attention == ()


async def test_the_report_of_a_failed_run_names_the_node() -> None:
    """What needs a look stands apart [AGT-01]."""
    agent = _agent(executor=kb.OfflineExecutor(fail=True))
    with pytest.raises(ExecutorError):
        await agent.run("x")
    assert agent.last_run is not None
    report = agent.last_run.report()

    assert "failed: ExecutorError" in report.outcome
    assert any("node failed: one/node" in line for line in report.attention)
    assert any("nothing was committed" in line for line in report.attention)


async def test_a_failed_run_is_at_the_error_and_at_the_agent() -> None:
    """As far as it came [AGT-01]."""
    agent = _agent(executor=kb.OfflineExecutor(fail=True))
    with pytest.raises(ExecutorError) as caught:
        await agent.run("x")
    run = caught.value.run  # type: ignore[attr-defined]

    assert run is agent.last_run
    assert run.error is caught.value
    assert run.output is None
    assert len(run.calls) == 1


async def test_an_agent_can_be_run_again_after_a_failure() -> None:
    """Nothing of the failed run is left [AGT-01]."""
    executor = kb.OfflineExecutor(fail=True)
    agent = _agent(executor=executor)
    with pytest.raises(ExecutorError):
        await agent.run("x")
    executor.fail = False

    assert (await agent.run("x")).output == "user messages: 1"


async def test_run_ids_are_fresh_and_session_ids_are_given() -> None:
    """Without a session id it is fresh, too [AGT-03a]."""
    agent = _agent()
    runs = [await agent.run("x", session_id="chat-1"), await agent.run("x", "chat-1"), await agent.run("x")]

    assert len({run.run_id for run in runs}) == 3
    assert [run.session_id for run in runs[:2]] == ["chat-1", "chat-1"]
    assert runs[2].session_id not in ("chat-1", "")


@pytest.mark.parametrize(
    "session_id", ["", "../..", "\x00", "x" * 10_000, "'; drop table", "😀", "\ud800"], ids=ascii
)
async def test_any_text_is_a_session_id(session_id: str) -> None:
    """It is kept as it is [AGT-03a]."""
    assert (await _agent().run("x", session_id)).session_id == session_id


# ------------------------------------------------------------------------------------------- each run afresh


async def test_a_run_starts_from_the_system_prompt() -> None:
    """One or several system messages [AGT-01a]."""
    run = await _agent(system_prompt=["first", "second"]).run("x")

    assert [(message.role, message.text) for message in run.prompt][:2] == [
        ("system", "first"),
        ("system", "second"),
    ]


async def test_what_one_run_changes_never_reaches_another() -> None:
    """Prompt, model, params, tools, storage and count, with the same session id too [AGT-01a]."""
    seen: list[Any] = []

    async def change(ctx: kb.Context, text: str) -> None:
        committed = ctx.llm.committed
        seen.append(
            (
                len(committed.prompt),
                str(committed.model),
                committed.prompt.params,
                committed.tools.names,
                ctx.storage.get(KEY),
                ctx.iterations,
            )
        )
        ctx.storage.set(KEY, 1)
        async with ctx.llm.write_session() as session:
            session.append(kb.user("more"))
            session.model = "other"
            session.params = LLMParams(temperature=1.0)
            session.tools = []

    agent = _agent(change, system_prompt="s", tools=[weather], params=LLMParams(seed=1))
    await agent.run("x", "chat-1")
    await agent.run("x", "chat-1")

    assert seen == [(1, "offline", LLMParams(seed=1), ("weather",), None, 1)] * 2


async def test_two_runs_at_once_do_not_see_each_other() -> None:
    """Same agent, same session id: each has its own context [AGT-01]."""
    both = asyncio.Barrier(2)

    async def meet(ctx: kb.Context, text: str) -> list[str]:
        async with ctx.llm.write_session() as session:
            session.append(kb.user(text))
            await both.wait()
            await session.request()
        ctx.storage.set(KEY, len(text))
        await both.wait()
        return [message.text for message in ctx.llm.committed.prompt] + [str(ctx.storage.get(KEY)), ctx.path]

    agent = _agent(meet)
    runs = await asyncio.gather(agent.run("a", "chat-1"), agent.run("bb", "chat-1"))

    assert [run.output for run in runs] == [
        ["a", "user messages: 1", "1", "one/node"],
        ["bb", "user messages: 1", "2", "one/node"],
    ]
    assert all({event.run_id for event in run.events} == {run.run_id} for run in runs)


async def test_agents_share_nothing_but_what_was_handed_to_both() -> None:
    """Two agents with one executor and one strategy [AGT-01a]."""
    executor, graph = kb.OfflineExecutor(), _one_node(_ask)
    first = kb.Agent(executor, "a", graph, system_prompt="s", tools=[weather])
    second = kb.Agent(executor, "b", graph)
    await first.run("x")
    run = await second.run("y")

    assert [message.text for message in run.prompt] == ["y", "user messages: 1"]
    assert len(executor.prompts) == 2
    assert (second.last_run, first.last_run is second.last_run) == (run, False)


async def test_a_tool_that_opens_a_session_inside_a_session_is_refused() -> None:
    """It is called by the task that holds the lock: nothing hangs, and the model reads why [SES-10]."""
    contexts: list[kb.Context] = []

    async def count_messages() -> int:
        """How many messages there are."""
        async with contexts[0].llm.read_session() as session:
            return len(session.prompt)

    async def call(ctx: kb.Context, text: str) -> kb.ToolResult:
        contexts.append(ctx)
        async with ctx.llm.write_session():
            results = await ctx.run_tools([kb.ToolCall("count_messages")])
        return results[0].results[0]

    result = (await _agent(call, tools=[count_messages]).run("x")).output

    assert result.is_error
    assert "NestedSessionError" in result.output


# ------------------------------------------------------------------------------------------- building


async def test_without_an_id_the_strategys_name_is_the_id() -> None:
    """The same at every start [AGT-01b]."""
    assert _agent().id == "one"
    assert kb.Agent(kb.OfflineExecutor(), "m").id == kb.Agent(kb.OfflineExecutor(), "m").id


def test_an_empty_id_is_an_id() -> None:
    """It was given [AGT-01b]."""
    assert _agent(id="").id == ""


def test_a_strategy_that_cannot_finish_makes_no_agent() -> None:
    """It raises when it is built, not when it is run [GRA-05]."""
    graph = kb.strategy("s")
    graph.start >> graph.node(name="a")(_ask)

    with pytest.raises(StrategyCheckError, match="s/a has no way out"):
        kb.Agent(kb.OfflineExecutor(), "m", graph)


async def test_a_strategy_that_was_broken_afterwards_is_refused_when_it_is_run() -> None:
    """The agent can still be given its features then, and be run when it is mended [GRA-05]."""
    graph = _one_node(_ask)
    agent = kb.Agent(kb.OfflineExecutor(), "m", graph)
    graph.remove("node")
    with pytest.raises(StrategyCheckError):
        await agent.run("x")
    graph.start >> graph.node(name="node")(_ask) >> graph.finish
    agent.install(Feature())

    assert (await agent.run("x")).output == "user messages: 1"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"max_iterations": 0}, GraphError),
        ({"compat": "langchain"}, GraphError),
        ({"tools": [lambda city: city]}, ToolError),
        ({"tools": [weather, weather]}, ToolError),
        ({"session_wait_seconds": float("nan")}, ValueError),
    ],
    ids=["iterations", "compat", "tool", "two tools", "wait"],
)
def test_an_agent_that_could_not_run_is_refused(options: Any, error: type[Exception]) -> None:
    """Whatever is wrong is said at once [AGT-01]."""
    with pytest.raises(error):
        _agent(**options)


# ------------------------------------------------------------------------------------------- features


async def test_a_feature_is_there_for_nodes_and_for_the_agents_user() -> None:
    """What it binds, for each run afresh [AGT-02]."""
    agent = _agent(_bound)
    feature = Feature()
    agent.install(feature)
    run = await agent.run("x")

    assert run.output == f"Test of {run.run_id}"
    assert agent.feature("Test") is feature


async def _bound(ctx: kb.Context, text: str) -> Any:
    return ctx.feature("Test")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("memory", r"got 'memory'"),
        (None, r"got None"),
        (kb.Persistence, r"the class Persistence.*agent\.install\(kb\.Persistence\(\.\.\.\)\)"),
        (kb.Interceptor(), r"got <koogbook\.pipeline\.Interceptor"),
    ],
    ids=["text", "None", "class", "interceptor"],
)
def test_what_is_no_feature_is_refused_with_the_right_line(given: Any, words: str) -> None:
    """Instead of a bare AttributeError [AGT-02]."""
    with pytest.raises(FeatureInstallError, match=words):
        _agent().install(given)


def test_a_feature_that_installs_nothing_usable_is_refused() -> None:
    """It would fail in the middle of the first run [AGT-02]."""

    class Half:
        key = "Half"

        def install(self, agent: kb.Agent) -> Any:
            return self

    agent = _agent()
    with pytest.raises(FeatureInstallError, match="lacks subscriptions, interceptors, bind, close"):
        agent.install(Half())
    with pytest.raises(FeatureNotInstalledError):
        agent.feature("Half")


def _feature_with(*interceptors: kb.Interceptor, key: str = "Own") -> Feature:
    feature = Feature(key)
    feature.interceptors = interceptors
    return feature


class _Wrapper(kb.Interceptor):
    """One that changes nothing."""


class _Alone:
    """One that is no interceptor."""


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        (_Wrapper, r"Give one of that class: _Wrapper\(\)\."),
        (_Alone(), r"Write: class _Alone\(kb\.Interceptor\), with the methods that it changes\."),
    ],
)
def test_what_is_no_interceptor_is_refused_with_what_to_write(given: Any, remedy: str) -> None:
    """Also the class in place of one of it; nothing is installed [AGT-02]."""
    agent = _agent()
    with pytest.raises(FeatureInstallError, match=remedy):
        agent.install(_feature_with(given))

    assert agent.install(_feature_with(_Wrapper())) is agent


async def test_a_feature_that_changes_a_run_has_acted() -> None:
    """A report names it, and apart from it the others [AGT-02]."""

    class Louder(kb.Interceptor):
        async def around_node(self, context: Any, node: Any, value: Any, call: Any) -> Any:
            return (await call(value)).upper()

    class Looks(kb.Interceptor):
        async def around_llm_call(self, request: Any, call: Any) -> Any:
            return await call(request)

    agent = _agent().install(_feature_with(Louder())).install(_feature_with(Looks(), key="Looks"))
    run = await agent.run("x")

    assert run.output == "USER MESSAGES: 1"
    assert ("features", "acted: Own; changed nothing in the run: Looks") in run.report().rows


async def test_tool_calls_are_wrapped_by_the_interceptors_of_the_agent() -> None:
    """By stage, then by installation [AGT-02]."""
    seen: list[str] = []

    class Sees(kb.Interceptor):
        def __init__(self, name: str, stage: Stage) -> None:
            self.name = name
            self.stage = stage

        async def around_tool_call(self, tool_call: kb.ToolCall, call: Any) -> kb.Message:
            seen.append(f"{self.name}>{tool_call.tool}")
            result: kb.Message = await call(tool_call)
            return result

    async def call(ctx: kb.Context, text: str) -> str:
        results = await ctx.run_tools([kb.ToolCall("weather", '{"city":"Bonn"}', "c1")])
        return results[0].results[0].output

    agent = _agent(call, tools=[weather])
    agent.install(_feature_with(Sees("inner", Stage.INNERMOST), Sees("outer", Stage.LEASE)))
    run = await agent.run("x")

    assert run.output == "rain"
    assert seen == ["outer>weather", "inner>weather"]
    assert run.acted == ()


async def test_interceptors_are_told_of_a_restored_checkpoint_in_order() -> None:
    """With the context whose state was put back [AGT-02]."""
    seen: list[tuple[str, str, Any]] = []

    class Hears(kb.Interceptor):
        def __init__(self, name: str, stage: Stage) -> None:
            self.name = name
            self.stage = stage

        async def on_restore(self, context: Any, checkpoint: Any) -> None:
            seen.append((self.name, context.session_id, checkpoint))

    class Restores(kb.Interceptor):
        async def around_run(self, run: Any, value: Any, call: Any) -> Any:
            await run.restored("checkpoint")
            return await call(value)

    agent = _agent().install(
        _feature_with(Hears("memory", Stage.MEMORY), Restores(), Hears("lease", Stage.LEASE))
    )
    await agent.run("x", "chat-1")

    assert seen == [("lease", "chat-1", "checkpoint"), ("memory", "chat-1", "checkpoint")]


def test_installing_twice_is_refused() -> None:
    """On one agent [AGT-02a]."""
    agent = _agent().install(Feature())

    with pytest.raises(FeatureInstallError, match="already"):
        agent.install(Feature())


@pytest.mark.parametrize(
    ("feature", "instead"),
    [
        (
            kb.EventHandler(on_event=print),
            "kb.EventHandler(on_event=[first, second]); or add one with agent.on(second)",
        ),
        (kb.Tracing("runs.jsonl"), "A run is written into another file with kb.save_trace(run, path)"),
        (kb.Persistence(), "Make another agent for the other one"),
    ],
    ids=lambda given: getattr(given, "key", ""),
)
def test_installing_twice_says_what_to_do_in_its_place(feature: Any, instead: str) -> None:
    """For a second handler, a second file, or whatever it was to be [AGT-02a]."""
    agent = _agent().install(feature)

    with pytest.raises(FeatureInstallError) as refused:
        agent.install(feature)
    assert str(refused.value) == (
        f"{feature.key} is installed on agent {agent.id!r} already, and an agent has one of each. The first one "
        f"stays. {'Give all functions to one handler, several per event: ' if 'first,' in instead else ''}{instead}."
    )


async def test_installing_after_the_first_run_is_refused() -> None:
    """The first run would not have had it [AGT-02a]."""
    agent = _agent()
    await agent.run("x")

    with pytest.raises(FeatureInstallError, match="before the first run"):
        agent.install(Feature())


@pytest.mark.parametrize(
    ("use", "line"),
    [
        (lambda ctx: ctx.persistence(), "agent.install(kb.Persistence(storage=kb.SqliteCheckpoints()))"),
        (lambda ctx: ctx.with_persistence(print), "agent.install(kb.Persistence("),
        (
            lambda ctx: ctx.long_term_memory(),
            "koogbook has none of that name. Of its own there are: EventHandler",
        ),
        (lambda ctx: ctx.feature("Tracign"), "Did you mean 'Tracing'?"),
    ],
    ids=["persistence", "with_persistence", "long_term_memory", "own"],
)
async def test_a_feature_that_is_not_installed_gives_the_line_to_add(use: Any, line: str) -> None:
    """From a node [AGT-02a]."""

    async def node(ctx: kb.Context, text: str) -> None:
        use(ctx)

    with pytest.raises(FeatureNotInstalledError) as caught:
        await _agent(node).run("x")
    assert line in str(caught.value)


async def test_the_agent_itself_gives_the_line_to_add() -> None:
    """From outside of a run [AGT-02a]."""
    with pytest.raises(FeatureNotInstalledError, match=r"kb\.Persistence"):
        await _agent().fork("chat-1", "checkpoint-1", to="chat-2")


@pytest.mark.parametrize("key", sorted(LINES))
def test_a_line_to_add_can_be_pasted(key: str, in_folder: Path) -> None:
    """As it stands, and then the feature is there [AGT-02a]."""
    agent = _agent()
    with pytest.raises(FeatureNotInstalledError) as caught:
        agent.feature(key)
    assert str(caught.value).endswith(LINES[key])
    with contextlib.suppress(FeatureInstallError):  # OpenTelemetry has nowhere to send spans here
        exec(LINES[key], {"agent": agent, "kb": kb})
        assert agent.feature(key).key == key
    assert key in repr(agent) or key == "OpenTelemetry"


async def test_what_is_no_interceptor_is_refused_when_it_is_installed() -> None:
    """And not in the middle of the first run [AGT-02]."""

    class Wrapper:
        async def around_run(self, run: Any, value: Any, call: Any) -> Any:
            return await call(value)

    agent = _agent()
    with pytest.raises(FeatureInstallError, match=r"class Wrapper\(kb\.Interceptor\)"):
        agent.install(_feature_with(Wrapper()))  # type: ignore[arg-type]
    with pytest.raises(FeatureNotInstalledError):
        agent.feature("Own")


async def test_features_are_closed_in_the_reverse_order_of_their_installation() -> None:
    """What was installed later may rest on what was there before [AGT-01]."""
    closed: list[str] = []

    class Closing(Feature):
        async def close(self) -> None:
            closed.append(self.key)

    async with _agent().install(Closing("first")).install(Closing("second")):
        pass

    assert closed == ["second", "first"]


async def test_an_interceptor_that_has_a_name_of_its_own_acts_under_it() -> None:
    """The installed feature's key is for those that have none [AGT-02]."""

    class Loud(kb.Interceptor):
        feature = "Loud"

        async def around_run(self, run: Any, value: Any, call: Any) -> Any:
            return f"{await call(value)}!"

    run = await _agent().install(_feature_with(Loud(), key="Own")).run("x")

    assert run.acted == ("Loud",)


@pytest.mark.parametrize("where", ["bind", "on_start"])
async def test_a_run_that_fails_before_its_first_event_is_a_failed_run(where: str) -> None:
    """It begins and ends, and is the error's run and the agent's last one [AGT-01]."""

    def fail(_: Any) -> None:
        raise OSError("no room")

    agent = _agent()
    feature = _feature_with()
    if where == "bind":
        feature.bind = fail  # type: ignore[method-assign]
    agent.install(feature)
    with pytest.raises(OSError, match="no room") as caught:
        await agent.run("x", on_start=fail if where == "on_start" else None)

    run = caught.value.run  # type: ignore[attr-defined]
    assert run is agent.last_run
    assert run.state == "failed"
    assert [event.name for event in run.events] == ["RunStarting", "RunFailed"]


async def test_what_a_task_does_after_its_run_is_told() -> None:
    """It reaches nobody, and stands in the report [AGT-06]."""
    key = kb.storage_key("late", int)
    goes_on = asyncio.Event()
    tasks: list[asyncio.Task[None]] = []

    async def late(ctx: kb.Context) -> None:
        await goes_on.wait()
        ctx.storage.set(key, 1)
        async with ctx.llm.write_session() as session:
            session.append(kb.user("too late"))

    async def node(ctx: kb.Context, text: str) -> str:
        tasks.append(asyncio.create_task(late(ctx)))
        return text

    run = await _agent(node).run("x")
    assert run.report().attention == ()
    goes_on.set()
    await tasks[0]

    assert [line.partition(":")[0] for line in run.report().attention] == ["late change", "late change"]


async def test_what_a_run_says_before_its_strategy_starts_is_not_of_the_node_around_it() -> None:
    """An agent that runs another one in a node [AGT-03]."""
    inner = kb.strategy("inner")
    inner.start >> inner.do_nothing(name="a") >> inner.finish
    within = kb.Agent(kb.OfflineExecutor(), "m", inner)
    await within.run("x")
    inner.llm_request(name="a")

    async def node(ctx: kb.Context, text: str) -> kb.Run:
        return await within.run("x")

    run = (await _agent(node).run("x")).output
    assert [event.path for event in run.events if event.name == "Notice"][:1] == [""]


def test_nothing_is_on_by_default(in_folder: Path) -> None:
    """No file, no history, no checkpoint [AGT-02a]."""
    agent = _agent()
    asyncio.run(agent.run("x", "chat-1"))
    run = asyncio.run(agent.run("x", "chat-1"))

    assert list(in_folder.iterdir()) == []
    assert run.output == "user messages: 1"
    assert run.last_checkpoint is None
    assert run.acted == ()


# ------------------------------------------------------------------------------------------- listeners


async def test_a_listener_gets_the_kinds_it_asked_for_as_they_happen() -> None:
    """In the order of the run [AGT-02]."""
    seen: list[str] = []
    agent = _agent().on(lambda event: seen.append(event.path), events.NodeStarting)
    await agent.run("x")

    assert seen == ["one/start", "one/node", "one/finish"]


async def test_a_listener_that_raises_fails_the_run_under_raise() -> None:
    """The run is at its error, and has its end [AGT-02]."""

    def broken(event: events.Event) -> None:
        raise ValueError("listener")

    agent = _agent().on(broken, events.NodeCompleted)
    with pytest.raises(ValueError, match="listener") as caught:
        await agent.run("x")

    assert caught.value.run is agent.last_run  # type: ignore[attr-defined]
    assert agent.last_run is not None
    assert agent.last_run.events[-1].name == "RunFailed"


async def test_a_listener_that_raises_is_in_the_report_under_log() -> None:
    """The run goes on [AGT-02]."""

    def broken(event: events.Event) -> None:
        raise ValueError("listener")

    run = await _agent().on(broken, events.NodeCompleted, on_handler_error="log").run("x")

    assert run.output == "user messages: 1"
    assert any("ValueError: listener (3 times)" in line for line in run.report().attention)


@pytest.mark.parametrize("kind", [events.RunStarting, events.RunCompleted, events.StrategyCompleted])
async def test_a_run_whose_listener_raises_has_one_end(kind: type[events.Event]) -> None:
    """Never completed and failed at once [AGT-03]."""

    def broken(event: events.Event) -> None:
        raise ValueError("listener")

    agent = _agent().on(broken, kind)
    with pytest.raises(ValueError, match="listener"):
        await agent.run("x")
    assert agent.last_run is not None
    ends = [
        event.name
        for event in agent.last_run.events
        if isinstance(event, events.RunCompleted | events.RunFailed)
    ]

    assert len(ends) == 1
    assert isinstance(agent.last_run.error, ValueError)


async def test_a_listener_on_a_failure_does_not_take_its_place() -> None:
    """The node's exception is what ``run`` raises [AGT-02]."""

    def broken(event: events.Event) -> None:
        raise ValueError("listener")

    agent = _agent(executor=kb.OfflineExecutor(fail=True))
    agent.on(broken, events.NodeFailed, events.RunFailed, events.LLMCallFailed, events.SessionDiscarded)

    with pytest.raises(ExecutorError):
        await agent.run("x")


async def _listen(event: events.Event) -> None:
    """An async listener."""


def test_an_async_listener_is_refused() -> None:
    """Nobody would await it [AGT-02]."""
    listener: Any = _listen

    with pytest.raises(FeatureInstallError, match="plain function"):
        _agent().on(listener)


# ------------------------------------------------------------------------------------------- closing


async def test_an_agent_is_an_async_context_manager_that_closes_its_features() -> None:
    """Executors belong to whoever made them [AGT-01, AGT-01a]."""
    executor, feature = kb.OfflineExecutor(), Feature()
    async with _agent(executor=executor).install(feature) as agent:
        await agent.run("x")

    assert feature.done == ["install", "close"]
    assert (await kb.Agent(executor, "m").run("x")).output == "user messages: 1"


async def test_a_feature_that_cannot_close_does_not_keep_others_from_it() -> None:
    """Each is flushed, and the failure is raised [AGT-01]."""
    features = [Feature("a"), Feature("b", fails_to_close=True), Feature("c")]
    agent = _agent()
    for feature in features:
        agent.install(feature)

    with pytest.raises(OSError, match="cannot flush"):
        await agent.close()
    assert [feature.done[-1] for feature in features] == ["close", "close", "close"]


async def test_a_listener_on_closing_does_not_keep_features_from_it() -> None:
    """They are flushed all the same [AGT-01]."""

    def broken(event: events.Event) -> None:
        raise ValueError("listener")

    feature = Feature()
    agent = _agent().on(broken, events.AgentClosing).install(feature)

    with pytest.raises(ValueError, match="listener"):
        await agent.close()
    assert feature.done == ["install", "close"]


async def test_the_same_program_gives_the_same_run_twice() -> None:
    """With clock and ids fixed [AGT-01]."""

    async def once() -> list[tuple[str, float, str]]:
        with clock.use(FixedClock()):
            run = await _agent().run("x")
        return [(event.name, event.at, event.run_id) for event in run.events]

    assert await once() == await once()


async def test_the_lock_does_not_order_two_runs_of_one_session_id() -> None:
    """It guards one LLM context: both are inside a write session at once [SES-13]."""
    inside = asyncio.Barrier(2)

    async def meet(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            session.append(kb.user(text))
            async with asyncio.timeout(10):
                await inside.wait()
        return text

    agent = kb.Agent(kb.OfflineExecutor(), "offline", _one_node(meet))
    runs = await asyncio.gather(agent.run("a", "same"), agent.run("b", "same"))

    assert [run.prompt[-1].text for run in runs] == ["a", "b"]


async def test_what_a_feature_says_when_it_is_bound_stands_behind_the_beginning() -> None:
    """Every run begins with its beginning, also one that fails then [AGT-03]."""
    feature = _feature_with()

    def says(context: kb.Context) -> None:
        context.log.notice("bound", "here it is")
        raise OSError("no room")

    feature.bind = says  # type: ignore[method-assign]
    agent = _agent().install(feature)
    with pytest.raises(OSError, match="no room"):
        await agent.run("x")

    assert agent.last_run is not None
    assert [event.name for event in agent.last_run.events] == ["RunStarting", "Notice", "RunFailed"]


async def test_what_a_run_inside_a_node_says_has_no_path_of_the_node() -> None:
    """Its events are those of its own strategy, to its last one [AGT-03]."""
    graph = kb.strategy("inner", input=str, output=str)
    ask = graph.llm_request(name="ask")
    graph.start >> ask
    graph.edge(ask, graph.finish, map=lambda reply: reply.text)
    executor = kb.ScriptedExecutor([kb.ToolCall("weather", "{}", "c1")])
    inner = kb.Agent(executor, "m", graph, tools=[weather_of_today])
    outer = kb.strategy("outer")

    @outer.node
    async def asks(ctx: kb.Context, value: str) -> str:
        return str((await inner.run(value)).output)

    outer.start >> asks >> outer.finish
    await kb.Agent(kb.OfflineExecutor(), "m", outer).run("rain?")

    assert inner.last_run is not None
    assert inner.last_run.report().attention
    assert {event.path.partition("/")[0] for event in inner.last_run.events} == {"", "inner"}


async def test_a_run_that_ends_with_calls_that_nobody_ran_says_so() -> None:
    """An edge that took the answer for a text led past the tools [GRA-10, AGT-05]."""
    graph = kb.strategy("s", input=str, output=str)
    ask = graph.llm_request(name="ask")
    graph.start >> ask
    graph.edge(ask, graph.finish, map=lambda reply: reply.text)
    executor = kb.ScriptedExecutor([kb.ToolCall("weather", "{}", "c1")])
    run = await kb.Agent(executor, "m", graph, tools=[weather_of_today]).run("rain?")

    assert [line for line in run.report().attention if "calls without results" in line] == [
        "calls without results: the run has ended, and of the calls of its last answer these have no result: weather. "
        "The next request with this history would be refused. Lead an answer with calls to a node that runs them: "
        "when=kb.has_tool_calls."
    ]


async def test_a_run_whose_calls_have_results_says_nothing_of_them() -> None:
    """Also where it ends before the model has seen them [GRA-10]."""
    graph = kb.strategy("s", input=str)
    ask, run_tools = graph.llm_request(name="ask"), graph.execute_tools()

    @graph.node
    async def keep(ctx: kb.Context, results: list[kb.Message]) -> int:
        async with ctx.llm.write_session() as session:
            session.append(*results)
        return len(results)

    graph.start >> ask >> run_tools >> keep >> graph.finish
    call = kb.ToolCall("weather_of_today", "{}", "c1")
    run = await kb.Agent(kb.ScriptedExecutor([call]), "m", graph, tools=[weather_of_today]).run("rain?")

    assert run.report().attention == ()


def weather_of_today() -> str:
    """The weather."""
    return "rain"
