"""From node to node until the finish node."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import koogbook as kb
from koogbook import events
from koogbook.clock import FixedClock
from koogbook.errors import BoundaryTypeError, MaxIterationsError, StuckInNodeError
from koogbook.pipeline import Stage, current_path
from koogbook.runtime.builder import Strategy, Subgraph
from koogbook.runtime.context import Context, ResumePoint


def _agent(strategy: Strategy, **options: Any) -> kb.Agent:
    return kb.Agent(kb.OfflineExecutor(), "offline", strategy, **options)


def _adds(graph: Subgraph, name: str, text: str = "") -> Any:
    """A node that puts its name behind its input."""

    async def add(ctx: Context, value: str) -> str:
        return f"{value}{text or name}"

    return graph.node(name=name)(add)


def _line(names: str) -> Strategy:
    line = kb.strategy("line")
    nodes = [_adds(line, name) for name in names]
    for left, right in zip([line.start, *nodes], [*nodes, line.finish], strict=True):
        line.edge(left, right)
    return line


def _nested() -> Strategy:
    """``s/a``, then ``s/sub`` with ``b`` and ``s/sub/deep`` with ``c``, ``d``, then ``s/e``."""
    graph = kb.strategy("s")
    a, sub = _adds(graph, "a"), graph.subgraph("sub")
    b, deep = _adds(sub, "b"), sub.subgraph("deep")
    c, d = _adds(deep, "c"), _adds(deep, "d")
    deep.start >> c >> d >> deep.finish
    sub.start >> b >> deep >> sub.finish
    e = _adds(graph, "e")
    graph.start >> a >> sub >> e >> graph.finish
    return graph


def _paths(run: kb.Run, kind: type[events.Event]) -> list[str]:
    return [event.path for event in run.events if isinstance(event, kind)]


# ------------------------------------------------------------------------------------------- edges


async def test_the_output_of_a_node_is_the_input_of_the_next() -> None:
    """From start to finish [GRA-01]."""
    assert (await _agent(_line("abc")).run("")).output == "abc"


async def test_subgraphs_run_as_nodes_to_any_depth() -> None:
    """A subgraph takes an input and gives an output [GRA-01]."""
    assert (await _agent(_nested()).run("")).output == "abcde"


def _fork(*edges: tuple[str, dict[str, Any]]) -> Strategy:
    """One node, and after it a node for each target."""
    graph = kb.strategy("fork")
    ask = _adds(graph, "ask", "?")
    graph.start >> ask
    for target, options in edges:
        if target not in graph.nodes:
            _adds(graph, target) >> graph.finish
        graph.edge(ask, target, **options)
    return graph


async def test_the_first_condition_that_holds_is_taken() -> None:
    """In the order the edges were added [GRA-02]."""
    graph = _fork(
        ("no", {"when": lambda value: False}),
        ("first", {"when": lambda value: True}),
        ("second", {"when": lambda value: True}),
    )

    assert (await _agent(graph).run("")).output == "?first"


async def test_the_edge_without_a_condition_is_tried_last_wherever_it_was_added() -> None:
    """It is the node's else; in Koog it shadows later ones [GRA-02]."""
    graph = _fork(("other", {}), ("hit", {"when": lambda value: value == "!?"}))

    assert (await _agent(graph).run("!")).output == "!?hit"
    assert (await _agent(graph).run("")).output == "?other"


async def test_a_condition_after_the_one_that_holds_is_not_asked() -> None:
    """It may be expensive [GRA-02]."""
    asked: list[str] = []
    graph = _fork(
        ("hit", {"when": lambda value: True}),
        ("late", {"when": lambda value: asked.append("late") or True}),
    )
    await _agent(graph).run("")

    assert asked == []


async def _holds(value: str) -> bool:
    await asyncio.sleep(0)
    return True


async def _holds_with_context(ctx: Context, value: str) -> bool:
    await asyncio.sleep(0)
    return ctx.input == ""


@pytest.mark.parametrize(
    "condition",
    [
        lambda value: value == "?",
        lambda ctx, value: ctx.input == "" and value == "?",
        _holds,
        _holds_with_context,
        bool,
    ],
    ids=["output", "context", "async", "async context", "builtin"],
)
async def test_a_condition_takes_the_output_with_or_without_the_context(condition: Any) -> None:
    """Sync or async [GRA-02]."""
    graph = _fork(("hit", {"when": condition}), ("other", {}))

    assert (await _agent(graph).run("")).output == "?hit"


@pytest.mark.parametrize(
    "transform",
    [lambda value: value + "!", lambda ctx, value: value + "!" + ctx.input],
    ids=["output", "context"],
)
async def test_a_transformation_changes_what_the_next_node_gets(transform: Any) -> None:
    """Not what the node returned [GRA-02]."""
    run = await _agent(_fork(("next", {"map": transform}))).run("")
    outputs = {event.path: event.output for event in run.events if isinstance(event, events.NodeCompleted)}

    assert run.output == "?!next"
    assert outputs["fork/ask"] == "?"


async def test_conditions_and_transformations_are_applied_as_they_were_chained() -> None:
    """A later condition sees what an earlier transformation made [GRA-02]."""
    graph = kb.strategy("chain")
    a = _adds(graph, "a")
    graph.start >> a
    graph.edge(a, graph.finish).map(len).when(lambda length: length == 3).map(lambda length: length * 10)
    graph.edge(a, graph.finish, map=lambda value: -1, label="else")

    assert (await _agent(graph).run("xx")).output == 30
    assert (await _agent(graph).run("x")).output == -1


async def test_the_edge_that_was_taken_is_an_event() -> None:
    """With its place in the order and its label [GRA-02]."""
    graph = _fork(("no", {"when": lambda value: False}), ("yes", {"when": bool, "label": "some text"}))
    run = await _agent(graph).run("")
    taken = [event for event in run.events if isinstance(event, events.EdgeTaken)]

    assert [(event.path, event.target, event.order, event.label) for event in taken] == [
        ("fork/start", "fork/ask", 0, ""),
        ("fork/ask", "fork/yes", 1, "some text"),
        ("fork/yes", "fork/finish", 0, ""),
    ]


async def test_a_node_that_no_edge_leaves_is_stuck() -> None:
    """The error has node and output, and per edge why it was refused [GRA-03]."""
    graph = _fork(
        ("one", {"when": lambda value: False, "label": "is one"}),
        ("two", {"when": lambda value: False, "label": "is two"}),
    )

    with pytest.raises(StuckInNodeError) as caught:
        await _agent(graph).run("x")
    assert (caught.value.node, caught.value.output) == ("fork/ask", "x?")
    assert "'x?'" in str(caught.value)
    assert "1. to one: is one does not hold; 2. to two: is two does not hold" in str(caught.value)


async def test_a_condition_that_raises_names_its_edge() -> None:
    """The exception itself goes through [GRA-03]."""
    graph = _fork(("one", {"when": lambda value: 1 // 0}))

    with pytest.raises(ZeroDivisionError) as caught:
        await _agent(graph).run("")
    assert caught.value.__notes__ == [
        "in when= of the edge fork/ask >> one",
        "when=lambda got str '?'; the edge was not taken, and nothing behind it was run. Let the condition give False "
        "for such an output.",
    ]


# ------------------------------------------------------------------------------------------- iterations


async def test_exactly_max_iterations_node_runs_are_allowed() -> None:
    """Start and finish do not count [GRA-04]."""
    run = await _agent(_line("abc"), max_iterations=3).run("")

    assert (run.output, run.iterations) == ("abc", 3)


async def test_one_node_run_more_is_refused_before_it_runs() -> None:
    """The message names the option [GRA-04]."""
    with pytest.raises(MaxIterationsError, match=r"kb\.Agent\(\.\.\., max_iterations=\.\.\.\)") as caught:
        await _agent(_line("abcd"), max_iterations=3).run("")

    run: kb.Run = caught.value.run  # type: ignore[attr-defined]
    assert run.iterations == 3
    assert "line/d" not in _paths(run, events.NodeStarting)


async def test_nodes_in_subgraphs_count_and_subgraphs_do_not() -> None:
    """Over all depths together [GRA-04]."""
    run = await _agent(_nested(), max_iterations=5).run("")

    assert run.iterations == 5


@pytest.mark.parametrize("inside", [False, True])
async def test_a_circle_of_empty_subgraphs_has_an_end(inside: bool) -> None:
    """A subgraph in which nothing counts, its own subgraphs included, counts itself [GRA-04]."""
    line = kb.strategy("line")
    part = line.subgraph("part")
    if inside:
        inner = part.subgraph("inner")
        inner.start >> inner.finish
        part.start >> inner >> part.finish
    else:
        part.start >> part.finish
    line.start >> part
    line.edge(part, part, when=lambda value: True)
    line.edge(part, line.finish)

    with pytest.raises(MaxIterationsError, match="line/part"):
        await _agent(line, max_iterations=3).run("")


async def _asks(ctx: kb.Context, value: Any) -> Any:
    return _answers(value)


async def _answers(value: Any) -> Any:
    return value


async def test_a_node_that_forgets_to_wait_is_told() -> None:
    """What it called has not run, and no coroutine goes on as an output [GRA-01]."""
    line = kb.strategy("line")
    line.start >> line.node(_asks, name="a") >> line.finish

    with pytest.raises(
        BoundaryTypeError, match=r"line/a gave the coroutine of _answers.*return await _a"
    ) as caught:
        await _agent(line).run("")
    assert caught.value.node == "line/a"


async def test_a_subgraph_over_the_limit_is_stopped_inside() -> None:
    """Nesting is no way around it [GRA-04]."""
    with pytest.raises(MaxIterationsError, match="s/sub/deep/d would be node run 4"):
        await _agent(_nested(), max_iterations=3).run("")


async def test_the_default_is_fifty() -> None:
    """A loop without an end stops there [GRA-04]."""
    graph = kb.strategy("loop")
    a = _adds(graph, "a")
    graph.start >> a >> a
    graph.edge(a, graph.finish, when=lambda value: False)

    with pytest.raises(MaxIterationsError, match="max_iterations is 50"):
        await _agent(graph).run("")


async def test_a_long_loop_lets_other_tasks_run() -> None:
    """A kernel that runs one stays alive [GRA-04]."""
    graph = kb.strategy("loop")
    a = _adds(graph, "a", "x")
    graph.start >> a >> a
    graph.edge(a, graph.finish, when=lambda value: len(value) >= 300)
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.ensure_future(other())
    await _agent(graph, max_iterations=300).run("")
    task.cancel()

    assert turns >= 4


# ------------------------------------------------------------------------------------------- failures


async def test_a_node_that_raises_gives_its_own_exception_with_its_place() -> None:
    """Notes say where, from the inside out [AGT-01]."""
    graph = _nested()
    failure = ValueError("mine")

    async def fail(ctx: Context, value: str) -> str:
        raise failure

    graph.nodes["sub"].subgraph.node(name="b")(fail)  # type: ignore[union-attr]

    with pytest.raises(ValueError, match="mine") as caught:
        await _agent(graph).run("")
    assert caught.value is failure
    assert caught.value.__notes__ == ["in node s/sub/b, visit 1", "in node s/sub, visit 1"]


async def test_a_failed_node_is_told_up_through_its_subgraphs() -> None:
    """Each start has an end, innermost first [AGT-03]."""
    graph = _nested()

    async def fail(ctx: Context, value: str) -> str:
        raise ValueError("mine")

    graph.nodes["sub"].subgraph.node(name="b")(fail)  # type: ignore[union-attr]
    agent = _agent(graph)
    with pytest.raises(ValueError, match="mine"):
        await agent.run("")
    told = [
        (event.name, event.path)
        for event in agent.last_run.events  # type: ignore[union-attr]
        if event.name.endswith("Failed")
    ]

    assert told == [
        ("NodeFailed", "s/sub/b"),
        ("SubgraphFailed", "s/sub"),
        ("NodeFailed", "s/sub"),
        ("StrategyFailed", "s"),
        ("RunFailed", ""),
    ]


# ------------------------------------------------------------------------------------------- visits and paths


async def test_visits_count_within_a_run(fixed_clock: FixedClock) -> None:
    """From 1, for each node [AGT-03]."""
    graph = kb.strategy("loop")
    a = _adds(graph, "a", "x")
    graph.start >> a >> a
    graph.edge(a, graph.finish, when=lambda value: len(value) == 3)
    agent = _agent(graph)
    await agent.run("")
    run = await agent.run("")

    assert [
        event.visit
        for event in run.events
        if isinstance(event, events.NodeStarting) and event.path == "loop/a"
    ] == [1, 2, 3]


async def test_a_node_knows_where_it_is() -> None:
    """In Koog's form with the agent before it as well [GRA-01]."""
    graph = kb.strategy("s")
    sub = graph.subgraph("sub")

    @sub.node
    async def where(ctx: Context, value: Any) -> Any:
        return ctx.path, ctx.node_path

    sub.start >> where >> sub.finish
    graph.start >> sub >> graph.finish

    assert (await _agent(graph, id="agent-1").run()).output == ("s/sub/where", "agent-1/s/sub/where")


async def test_a_condition_knows_the_graph_that_it_belongs_to() -> None:
    """The strategy at the root, the subgraph below it, in a run inside another run too [GRA-01]."""
    seen: list[str] = []

    def look(ctx: Context, value: str) -> bool:
        seen.append(ctx.path)
        return True

    inner = _nested()
    inner.edge("a", "sub", when=look, label="looks")
    inner.nodes["sub"].subgraph.edge("b", "deep", when=look, label="looks")  # type: ignore[union-attr]
    outer = kb.strategy("outer")

    @outer.node
    async def run_inner(ctx: Context, value: str) -> str:
        await _agent(inner).run(value)
        return ctx.path

    outer.start >> run_inner >> outer.finish

    assert (await _agent(outer).run("")).output == "outer/run_inner"
    assert seen == ["s", "s/sub"]


async def test_the_place_is_left_when_a_run_ends() -> None:
    """Even after a failure [GRA-01]."""
    graph = _line("a")

    async def fail(ctx: Context, value: str) -> str:
        raise ValueError

    graph.node(name="a")(fail)
    with pytest.raises(ValueError):
        await _agent(graph).run("")

    assert current_path.get() == ""


# ------------------------------------------------------------------------------------------- the snapshot


async def test_a_run_in_progress_is_not_touched_by_redefinition() -> None:
    """It works on its compiled snapshot; the next run takes the new definition [GRA-12a]."""
    graph = _line("ab")
    reached, go = asyncio.Event(), asyncio.Event()

    async def wait(ctx: Context, value: str) -> str:
        reached.set()
        await go.wait()
        return value + "wait "

    graph.node(name="a")(wait)
    agent = _agent(graph)
    running = asyncio.ensure_future(agent.run(""))
    await reached.wait()
    _adds(graph, "b", "new")
    graph.edge("a", "finish", when=lambda value: True, label="short cut")
    go.set()

    assert (await running).output == "wait b"
    assert (await agent.run("")).output == "wait "
    assert graph.changes[-1] == "node b redefined"


async def test_a_condition_added_to_an_edge_during_a_run_counts_from_the_next_run_on() -> None:
    """The steps of an edge are part of the snapshot [GRA-12a]."""
    graph = _line("ab")
    edge = graph.edges[1]

    async def close_the_way(ctx: Context, value: str) -> str:
        edge.when(lambda value: False)
        return value

    graph.node(name="a")(close_the_way)
    agent = _agent(graph)

    assert (await agent.run("")).output == "b"
    with pytest.raises(StuckInNodeError):
        await agent.run("")


async def test_a_node_removed_during_a_run_is_still_run() -> None:
    """Nor does removing reach a run [GRA-12a]."""
    graph = _line("ab")
    removed: list[str] = []

    async def remove(ctx: Context, value: str) -> str:
        graph.remove("b")
        removed.append("b")
        return value

    graph.node(name="a")(remove)

    assert (await _agent(graph).run("")).output == "b"
    assert "b" not in graph.nodes


# ------------------------------------------------------------------------------------------- going on


class _GoOn(kb.Interceptor):
    """Sets where the run goes on, as a restored checkpoint does."""

    stage = Stage.RESTORE

    def __init__(self, path: str, output: Any) -> None:
        self.path = path
        self.output = output

    async def around_run(self, run: Any, value: Any, call: Callable[[Any], Awaitable[Any]]) -> Any:
        """Go on from the path."""
        run.shared.resume = ResumePoint(self.path, self.output)
        return await call(value)


class _Feature:
    """Installs one interceptor."""

    key = "Test"
    subscriptions: tuple[Any, ...] = ()

    def __init__(self, *interceptors: kb.Interceptor) -> None:
        self.interceptors = interceptors

    def install(self, agent: kb.Agent) -> _Feature:
        """Nothing to make."""
        return self

    def bind(self, ctx: Context) -> None:
        """Nothing for nodes."""

    async def close(self) -> None:
        """Nothing to flush."""


async def _resumed(path: str) -> kb.Run:
    return await _agent(_nested()).install(_Feature(_GoOn(path, "..."))).run("ignored")


@pytest.mark.parametrize(
    ("path", "output"),
    [
        ("s/a", "...bcde"),
        ("s/sub/b", "...cde"),
        ("s/sub/deep/c", "...de"),
        ("s/sub/deep/d", "...e"),
        ("s/e", "..."),
        ("s/sub", "...e"),
    ],
)
async def test_a_run_goes_on_after_the_node_that_had_completed(path: str, output: str) -> None:
    """In a subgraph too, which is then run to its end [GRA-01]."""
    assert (await _resumed(path)).output == output


async def test_a_run_that_goes_on_inside_subgraphs_tells_them_as_any_other() -> None:
    """Starts and ends are symmetric, the enclosing subgraphs included [AGT-03]."""
    run = await _resumed("s/sub/deep/c")

    assert _paths(run, events.NodeStarting) == [
        "s/sub",
        "s/sub/deep",
        "s/sub/deep/d",
        "s/sub/deep/finish",
        "s/sub/finish",
        "s/e",
        "s/finish",
    ]
    assert sorted(_paths(run, events.NodeCompleted)) == sorted(_paths(run, events.NodeStarting))
    assert sorted(_paths(run, events.SubgraphCompleted)) == ["s/sub", "s/sub/deep"]


async def test_conditions_know_the_subgraph_that_a_run_goes_on_in() -> None:
    """The path of the task is set as in a first run [GRA-01]."""
    seen: list[str] = []
    graph = _nested()
    deep = graph.nodes["sub"].subgraph.nodes["deep"].subgraph  # type: ignore[union-attr]
    assert deep is not None
    deep.edge("c", "d", when=lambda ctx, value: bool(seen.append(ctx.path)) or True, label="seen")
    await _agent(graph).run("")
    await _agent(graph).install(_Feature(_GoOn("s/sub/deep/c", ""))).run("")

    assert seen == ["s/sub/deep", "s/sub/deep"]


class _Note(kb.Interceptor):
    """Notes the nodes it wraps."""

    def __init__(self, name: str, stage: Stage, seen: list[str]) -> None:
        self.name = name
        self.stage = stage
        self.seen = seen

    async def around_node(
        self, context: Any, node: Any, value: Any, call: Callable[[Any], Awaitable[Any]]
    ) -> Any:
        """Note the way in and the way out."""
        self.seen.append(f"{self.name}>{node.name}")
        output = await call(value)
        self.seen.append(f"{node.name}>{self.name}")
        return output


async def test_interceptors_wrap_ordinary_nodes_by_stage_and_then_by_installation() -> None:
    """Start, finish and subgraphs are not wrapped [AGT-02]."""
    seen: list[str] = []
    first = _Note("memory", Stage.MEMORY, seen)
    agent = _agent(_line("a")).install(_Feature(first, _Note("lease", Stage.LEASE, seen)))
    await agent.run("")

    assert seen == ["lease>a", "memory>a", "a>memory", "a>lease"]


async def test_an_interceptor_may_change_what_goes_in_and_what_comes_out() -> None:
    """Of every ordinary node, in subgraphs too [AGT-02]."""

    class Brackets(kb.Interceptor):
        async def around_node(
            self, context: Any, node: Any, value: Any, call: Callable[[Any], Awaitable[Any]]
        ) -> Any:
            return f"[{await call(value + ' ')}]"

    output = (await _agent(_nested()).install(_Feature(Brackets())).run("")).output

    assert output == "[[[[[ a] b] c] d] e]"


async def test_a_run_of_nodes_that_block_can_be_stopped_between_them() -> None:
    """A node that never waits holds up the loop, and the next one does not begin any more [KB-128]."""
    began: list[str] = []
    line = kb.strategy("line", input=str, output=str)

    def blocking(name: str) -> Any:
        async def block(ctx: kb.Context, text: str) -> str:
            began.append(name)
            time.sleep(0.05)  # noqa: ASYNC251 - as a synchronous client does
            return text

        return line.node(name=name)(block)

    line.start >> blocking("a") >> blocking("b") >> blocking("c") >> line.finish
    task = asyncio.ensure_future(kb.Agent(kb.OfflineExecutor(), "offline", line).run("x"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert began == ["a"]
