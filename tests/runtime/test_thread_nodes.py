"""Nodes that block run in a thread and call back onto the loop of their run."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from typing import Any

import pytest

import koogbook as kb
from koogbook.errors import GraphError, NestedSessionError, WrongLoopError
from koogbook.events import NodeFailed, SessionOpened
from koogbook.runtime.threads import call_on_loop

VARIABLE: ContextVar[str] = ContextVar("variable", default="unset")
ANSWERS = ["one", "two", "three", "four"]


def line_of(function: Any, **options: Any) -> kb.Agent:
    """An agent whose strategy is one node in a thread."""
    graph = kb.strategy("s", input=Any, output=Any)
    node = graph.node(thread=True, name="slow")(function)
    graph.start >> node >> graph.finish
    return kb.Agent(kb.ScriptedExecutor(ANSWERS), "m", graph, **options)


async def ask(ctx: kb.Context, text: str) -> str:
    """Ask in a session."""
    async with ctx.llm.write_session() as session:
        session.append(kb.user(text))
        return (await session.request()).text


async def until(condition: Any) -> None:
    """Wait until something holds, for a while."""
    for _ in range(500):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never held")


async def test_a_node_that_blocks_does_not_stop_the_loop() -> None:
    """It runs in a thread of its own, named by its path [GRA-01]."""
    go = threading.Event()
    names: list[str] = []

    def slow(ctx: kb.Context, value: str) -> str:
        names.append(threading.current_thread().name)
        assert go.wait(10)
        return value.upper()

    task = asyncio.ensure_future(line_of(slow).run("x"))
    await until(lambda: names)
    go.set()

    assert (await task).output == "X"
    assert names == ["node s/slow"]


async def test_it_awaits_an_async_function_on_the_loop_of_the_run() -> None:
    """With its arguments, and gets what it gives [GRA-01]."""
    loops: list[Any] = []

    async def add(one: int, *, other: int) -> int:
        loops.append(asyncio.get_running_loop())
        await asyncio.sleep(0)
        return one + other

    run = await line_of(lambda ctx, value: ctx.call(add, value, other=2)).run(1)

    assert run.output == 3
    assert loops == [asyncio.get_running_loop()]


async def test_sessions_are_used_by_calling_back() -> None:
    """As the node would: they are told with its path, and commit [GRA-01, SES-02]."""
    run = await line_of(lambda ctx, value: [ctx.call(ask, ctx, value), ctx.call(ask, ctx, "b")]).run("a")

    assert run.output == ["one", "two"]
    assert [message.text for message in run.prompt] == ["a", "one", "b", "two"]
    assert {one.path for one in run.events if isinstance(one, SessionOpened)} == {"s/slow"}


async def test_its_tools_are_run_by_calling_back() -> None:
    """A synchronous one in yet another thread [AGT-05]."""

    def weather(city: str) -> str:
        """The weather."""
        return f"rain in {city}"

    calls = [kb.ToolCall("weather", '{"city": "Rome"}')]
    run = await line_of(lambda ctx, value: ctx.call(ctx.run_tools, calls)[0].text, tools=[weather]).run("x")

    assert run.output == "rain in Rome"


async def test_context_variables_of_the_node_are_seen_in_the_thread_and_in_what_it_calls() -> None:
    """And its path [GRA-01]."""

    async def look(ctx: kb.Context) -> tuple[str, str]:
        return VARIABLE.get(), ctx.path

    VARIABLE.set("outside")
    run = await line_of(lambda ctx, value: (VARIABLE.get(), ctx.path, ctx.call(look, ctx))).run("x")

    assert run.output == ("outside", "s/slow", ("outside", "s/slow"))


async def test_what_the_async_function_raises_is_raised_in_the_thread() -> None:
    """With the lines of both in its traceback [GRA-01]."""

    async def breaks_here() -> None:
        await asyncio.sleep(0)
        raise ValueError("broken")

    def slow(ctx: kb.Context, value: str) -> str:
        try:
            ctx.call(breaks_here)
        except ValueError as problem:
            return "".join(traceback.format_tb(problem.__traceback__))
        return ""

    shown = (await line_of(slow).run("x")).output

    assert "breaks_here" in shown
    assert "in slow" in shown


async def test_what_the_node_raises_ends_the_run() -> None:
    """With a note that says where, and an event [GRA-01]."""

    def slow(ctx: kb.Context, value: str) -> str:
        raise KeyError("here")

    with pytest.raises(KeyError) as caught:
        await line_of(slow).run("x")
    run = caught.value.run  # type: ignore[attr-defined]

    assert "in node s/slow, visit 1" in caught.value.__notes__
    assert [one.path for one in run.events if isinstance(one, NodeFailed)] == ["s/slow"]
    assert "in slow" in "".join(traceback.format_tb(caught.value.__traceback__))


async def test_the_end_of_an_iterator_is_an_error_and_no_endless_wait() -> None:
    """A future cannot hold StopIteration [GRA-01]."""
    with pytest.raises(RuntimeError, match="StopIteration"):
        await asyncio.wait_for(line_of(lambda ctx, value: next(iter(()))).run("x"), 5)


async def test_a_session_that_excludes_another_one_of_the_same_thread_is_refused() -> None:
    """Who lets a thread call back waits for it, and may not hold what it needs [LCK-03]."""

    async def outer(ctx: kb.Context) -> None:
        async with ctx.llm.write_session():
            await asyncio.to_thread(ctx.call, ask, ctx, "inner")

    agent = line_of(lambda ctx, value: ctx.call(outer, ctx), session_wait_seconds=5)
    started = time.monotonic()
    with pytest.raises(NestedSessionError, match="awaits it through a thread"):
        await agent.run("x")
    assert time.monotonic() - started < 4


async def test_a_call_within_a_call_is_fine_where_nothing_excludes_it() -> None:
    """By way of a thread that is started on the loop [GRA-01]."""

    async def outer(ctx: kb.Context) -> str:
        return await asyncio.to_thread(ctx.call, ask, ctx, "inner")

    assert (await line_of(lambda ctx, value: ctx.call(outer, ctx)).run("x")).output == "one"


async def test_when_the_run_is_stopped_what_the_thread_waits_for_has_ended_before() -> None:
    """Its sessions are closed and the lock is free; the thread is told, and not waited for [AGT-06]."""
    inside, told, ended = asyncio.Event(), threading.Event(), []
    after: list[BaseException] = []

    async def hold(ctx: kb.Context) -> None:
        async with ctx.llm.write_session():
            inside.set()
            try:
                await asyncio.sleep(60)
            finally:
                await asyncio.sleep(0.05)
                ended.append(time.monotonic())

    def slow(ctx: kb.Context, value: Any) -> None:
        for _ in range(2):
            try:
                ctx.call(hold, ctx)
            except asyncio.CancelledError as problem:
                after.append(problem)
        told.set()

    contexts: list[kb.Context] = []
    agent = line_of(lambda ctx, value: (contexts.append(ctx), slow(ctx, value)))
    task = asyncio.ensure_future(agent.run("x"))
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert len(ended) == 1
    assert contexts[0].llm.statistics().writer is None
    await until(told.is_set)
    assert len(after) == 2


async def test_a_stopped_run_does_not_wait_for_its_thread() -> None:
    """Nothing can stop a function that blocks [AGT-06]."""
    go, began = threading.Event(), threading.Event()

    def slow(ctx: kb.Context, value: Any) -> None:
        began.set()
        go.wait(30)

    task = asyncio.ensure_future(line_of(slow).run("x"))
    await until(began.is_set)
    started = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - started < 5
    go.set()


async def test_cancelling_again_while_what_it_waits_for_ends_changes_nothing() -> None:
    """It has ended before the run has [AGT-06]."""
    inside, ended = asyncio.Event(), []

    async def hold() -> None:
        inside.set()
        try:
            await asyncio.sleep(60)
        finally:
            for _ in range(3):
                try:
                    await asyncio.sleep(0.05)
                except asyncio.CancelledError:
                    continue
            ended.append(True)

    task = asyncio.ensure_future(line_of(lambda ctx, value: ctx.call(hold)).run("x"))
    await inside.wait()
    task.cancel()
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == [True]


async def test_calling_outside_of_such_a_node_is_refused() -> None:
    """On the loop it would wait for itself; the message says what to write [GRA-01]."""
    graph = kb.strategy("s", input=Any, output=Any)

    @graph.node
    async def plain(ctx: kb.Context, value: Any) -> Any:
        return ctx.call(ask, ctx, value)

    graph.start >> plain >> graph.finish
    with pytest.raises(WrongLoopError, match=r"Nothing was called. Write: await ask\("):
        await kb.Agent(kb.ScriptedExecutor([]), "m", graph).run("x")

    async def on_loop(ctx: kb.Context) -> Any:
        return ctx.call(ask, ctx, "x")

    with pytest.raises(WrongLoopError):
        await line_of(lambda ctx, value: ctx.call(on_loop, ctx)).run("x")
    with pytest.raises(WrongLoopError):
        await asyncio.to_thread(call_on_loop, asyncio.sleep, 0)


async def test_calling_after_the_node_has_ended_is_refused() -> None:
    """From a thread that the node has left behind [GRA-01]."""
    go, problems = threading.Event(), []

    def slow(ctx: kb.Context, value: Any) -> str:
        def late() -> None:
            go.wait(10)
            try:
                ctx.call(ask, ctx, "late")
            except BaseException as problem:
                problems.append(problem)

        threading.Thread(target=copy_context().run, args=(late,), daemon=True).start()
        return "done"

    run = await line_of(slow).run("x")
    go.set()
    await until(lambda: problems)

    assert isinstance(problems[0], WrongLoopError)
    assert "after node s/slow had ended" in str(problems[0])
    assert len(run.prompt) == 0


async def test_threads_of_the_node_may_call_at_once() -> None:
    """Those that have its context variables [GRA-01]."""

    async def double(number: int) -> int:
        await asyncio.sleep(0.01)
        return 2 * number

    def slow(ctx: kb.Context, value: int) -> list[int]:
        with ThreadPoolExecutor(4) as pool:
            futures = [pool.submit(copy_context().run, ctx.call, double, number) for number in range(value)]
            return [future.result() for future in futures]

    assert (await line_of(slow).run(8)).output == [0, 2, 4, 6, 8, 10, 12, 14]


async def test_a_plain_function_cannot_be_awaited() -> None:
    """The message says how it is called [GRA-01]."""
    with pytest.raises(TypeError, match=r"len gave int.*len\(\.\.\.\)"):
        await line_of(lambda ctx, value: ctx.call(len, value)).run("x")


async def test_more_nodes_at_once_than_the_loop_has_threads_do_not_wait_for_ever() -> None:
    """Each has a thread to itself, and their tools find one of the pool [GRA-08]."""

    def weather(city: str) -> str:
        """The weather."""
        return city

    def slow(ctx: kb.Context, value: int) -> Any:
        return ctx.path, ctx.call(ctx.run_tools, [kb.ToolCall("weather", f'{{"city": "{value}"}}')])[0].text

    agents = [line_of(slow, tools=[weather]) for _ in range(40)]
    runs = await asyncio.wait_for(asyncio.gather(*(agent.run(at) for at, agent in enumerate(agents))), 20)

    assert [run.output for run in runs] == [("s/slow", str(at)) for at in range(40)]


def test_it_works_without_a_loop_around() -> None:
    """In a script [AGT-01]."""
    agent = line_of(lambda ctx, value: ctx.call(ask, ctx, value))

    assert agent.run_sync("x").output == "one"


def test_a_script_that_gives_up_does_not_wait_for_the_thread() -> None:
    """The end of its loop does not, either [AGT-06]."""
    go = threading.Event()

    async def stopped() -> None:
        async with asyncio.timeout(0.1):
            await line_of(lambda ctx, value: go.wait(20)).run("x")

    started = time.monotonic()
    with pytest.raises(TimeoutError):
        asyncio.run(stopped())
    assert time.monotonic() - started < 5
    go.set()


def test_a_program_that_ends_does_not_wait_for_the_thread() -> None:
    """It may block for ever [AGT-06]."""
    program = (
        "import asyncio, time, koogbook as kb\n"
        "graph = kb.strategy('s')\n"
        "node = graph.node(thread=True, name='slow')(lambda ctx, value: time.sleep(120))\n"
        "graph.start >> node >> graph.finish\n"
        "agent = kb.Agent(kb.ScriptedExecutor([]), 'm', graph)\n"
        "asyncio.run(asyncio.wait_for(agent.run('x'), 0.1))\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30)

    assert ended.stderr.rstrip().endswith("TimeoutError")


def test_the_node_is_a_plain_function_in_a_unit_test() -> None:
    """Calling it calls the function, here and now [GRA-01]."""
    graph = kb.strategy("s")

    @graph.node(thread=True)
    def double(ctx: Any, value: int) -> int:
        return 2 * value

    assert double(None, 4) == 8


def test_an_async_function_is_no_node_for_a_thread() -> None:
    """And a plain one no other node [GRA-01]."""
    graph = kb.strategy("s")

    with pytest.raises(GraphError, match="Leave out thread=True, or the async"):
        graph.node(thread=True, name="a")(ask)  # type: ignore[call-overload]
    with pytest.raises(GraphError, match="thread=True"):
        graph.node(name="b")(lambda ctx, value: value)


async def test_a_call_that_was_made_already_is_refused() -> None:
    """``ctx.call`` takes the function and its arguments; nothing is left unawaited [GRA-01]."""

    def slow(ctx: kb.Context, value: str) -> str:
        return ctx.call(ask(ctx, value))  # type: ignore[arg-type]

    with pytest.raises(TypeError, match=r"ctx\.call\(ask, ctx\), not coroutine ask\. Nothing was called"):
        await line_of(slow).run("x")


async def test_a_coroutine_that_a_thread_gives_is_awaited() -> None:
    """On the loop of the run, as that of a tool is [GRA-01]."""

    def slow(ctx: kb.Context, value: str) -> Any:
        return ask(ctx, value)

    assert (await line_of(slow).run("x")).output == "one"
