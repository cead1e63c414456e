"""The view of a run, while it goes on and when it is over."""

from __future__ import annotations

import asyncio
import re
import time
from typing import Any

import pytest

import koogbook as kb
from koogbook import clock
from koogbook.errors import ViewError, WrongLoopError
from koogbook.notebook.views.look.markup import live_tree, render, render_static
from koogbook.notebook.views.run_view.runs import RunView

HOSTILE = "<img src=x onerror=alert(1)>"


def trip(**more: Any) -> kb.Strategy:
    """One node that writes, one that compresses and one that answers."""
    made = kb.strategy("trip", input=str, output=str)

    @made.node
    async def plan(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            session.append(*(kb.user(f"{text} {number}: " + "a long story " * 20) for number in range(6)))
        await asyncio.sleep(more.get("wait", 0))
        return text

    @made.node
    async def answer(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            await session.request_without_tools()
        if text == "fail":
            raise RuntimeError("no seats")
        return text * more.get("times", 1)

    compress = made.compress_history(kb.WholeHistory(), name="compress")
    made.start >> plan >> compress >> answer >> made.finish
    return made


def agent_of(strategy: kb.Strategy) -> kb.Agent:
    """An agent with checkpoints in memory."""
    agent = kb.Agent(kb.ExtractiveExecutor(), "offline", strategy)
    return agent.install(kb.Persistence(storage=kb.MemoryCheckpoints()))


def view_of(run: kb.Run) -> RunView:
    """Its view."""
    return RunView(run, max_iterations=50)


async def test_the_figures_are_those_of_the_run() -> None:
    """Iterations, messages, tokens, calls, what compression saved, checkpoints. [NBK-04]"""
    run = await agent_of(trip()).run("Rome", "s")
    figures = dict(view_of(run).state.figures)
    ledger = run.compressions[0]

    assert figures == {
        "iteration": "3 of 50",
        "messages": str(len(run.prompt)),
        "prompt tokens": f"{run.prompt.tokens:,}",
        "compressed by": f"{ledger.tokens_before - ledger.tokens_after:,}",
        "model calls": "2",
        "tokens in": f"{sum(row.input_tokens for row in run.usage):,}",
        "tokens out": f"{sum(row.output_tokens for row in run.usage):,}",
        "checkpoints": "3",
    }


async def test_the_figures_and_the_report_have_the_same_tokens() -> None:
    """Estimates where nothing was counted; what came from the cache cost nothing, and is no call. [NBK-04]"""
    ask = kb.strategy("ask", input=str, output=str)

    @ask.node
    async def twice(ctx: kb.Context, text: str) -> str:
        for _ in range(2):
            async with ctx.llm.write_session() as session:
                session.clear_history()
                session.append(kb.user(text))
                reply = await session.request()
        return reply.text

    ask.start >> twice >> ask.finish
    executor = kb.CachedExecutor(kb.ScriptedExecutor(["Rain and wind."]))
    run = await kb.Agent(executor, "offline", ask).run("How is the weather?")
    figures = dict(view_of(run).state.figures)

    assert figures["model calls"] == "1"
    assert int(figures["tokens in"]) > 0
    assert f"{figures['tokens in']} tokens in, {figures['tokens out']} out" in str(run.report())


async def test_a_run_that_is_over_shows_its_output() -> None:
    """In every form. [NBK-10]"""
    view = view_of(await agent_of(trip()).run("To Rome"))

    assert [("To Rome" in form) for form in (str(view), view.to_html(), render(view.element))] == [True] * 3


async def test_a_long_output_is_cut_and_says_so() -> None:
    """What is left out is counted, with where all of it is."""
    run = await agent_of(trip(times=10_000)).run("Rome")
    html = render_static(view_of(run).element)

    assert (len(html) < 80_000, "38,800 characters left out; run.output has all" in html) == (True, True)


async def test_a_failed_run_shows_its_error() -> None:
    """With the node that failed."""
    agent = agent_of(trip())
    with pytest.raises(RuntimeError):
        await agent.run("fail")
    assert agent.last_run is not None
    text = str(view_of(agent.last_run))

    assert ("failed in answer" in text, "FAILED: RuntimeError: no seats" in text) == (True, True)


async def test_what_a_model_writes_is_text() -> None:
    """Markup in an output is shown, not made. [NBK-11]"""
    html = view_of(await agent_of(trip()).run(HOSTILE)).to_html()

    assert (HOSTILE in html, "&lt;img src=x" in html) == (False, True)


async def test_a_node_can_be_inspected_in_it() -> None:
    """The panel of the node takes the place of the figures, and Escape brings them back."""
    view = view_of(await agent_of(trip()).run("Rome"))

    view.act("select", "trip/answer")
    chosen = render(view.element)
    view.act("back")

    assert ("Edges out" in chosen, "Edges out" in render(view.element)) == (True, False)


async def test_a_session_can_be_selected_in_it() -> None:
    """A click on a bar shows the session below, and Escape lets go of it. [NBK-06]"""
    view = view_of(await agent_of(trip()).run("Rome"))
    (number,) = [row.number for row in view.state.locks.lanes[0].sessions][:1]

    view.act("session", str(number))
    chosen, selected = render(view.element), view.session
    view.act("back")

    assert selected is not None
    assert (selected.number, selected.who) == (number, "plan")
    assert ("asked at" in chosen, "asked at" in render(view.element)) == (True, False)
    assert view.session is None


async def test_a_session_that_is_not_there_is_not_selected() -> None:
    """One sees which there are. [NBK-06]"""
    view = view_of(await agent_of(trip()).run("Rome"))

    with pytest.raises(ViewError, match=r"There is no session '0'. There is: \d+ \(write plan\)"):
        view.act("session", "0")


async def test_a_session_is_selected_in_all_views_of_the_run() -> None:
    """In the panel and in the lock view, whichever was clicked; nodes have a selection of their own. [NBK-11]"""
    run = await agent_of(trip()).run("Rome")
    panel, locks = view_of(run), kb.locks(run)
    first, second = [row.number for row in locks.state.lanes[0].sessions][:2]

    panel.act("session", str(first))
    seen = [locks.selected, panel.session]
    locks.act("select", str(second))
    seen.append(panel.session)

    assert [None if row is None else row.number for row in seen] == [first, first, second]
    assert panel.selected is None


async def test_the_stop_button_is_there_only_while_it_goes_on() -> None:
    """What cannot be stopped any more has no button for it."""
    stopped: list[bool] = []
    agent = agent_of(trip(wait=0.05))
    views: list[RunView] = []

    def begun(run: kb.Run) -> None:
        views.append(RunView(run, max_iterations=50, stop=lambda: stopped.append(True)))

    task = asyncio.ensure_future(agent.run("Rome", on_start=begun))
    await clock.sleep(0.01)
    during = str(live_tree(views[0].element))
    views[0].act("stop")
    await task
    views[0].refresh()

    assert ("'data-do': 'stop'" in during, "'data-do': 'stop'" in str(live_tree(views[0].element))) == (
        True,
        False,
    )
    assert stopped == [True]


async def test_a_run_that_goes_on_says_where_it_is() -> None:
    """The sentence in the head names the node that runs, and its time passes. [NBK-04]"""
    agent = agent_of(trip(wait=0.05))
    begun: list[kb.Run] = []
    task = asyncio.ensure_future(agent.run("Rome", on_start=begun.append))
    await clock.sleep(0.02)
    during = view_of(begun[0])
    sentence = during.state.graph.status
    await task

    assert re.match(r"running plan, visit 1 · [2-9]\d ms · iteration 1", sentence)


async def test_an_answer_that_comes_in_frames_is_shown_while_it_is_written() -> None:
    """As text, in every form, until it is whole. [NBK-04, EXE-05]"""
    talk = kb.strategy("talk", input=str, output=str)
    shown: list[tuple[str, str, str]] = []

    @talk.node
    async def tell(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            async for _ in session.request_streaming():
                assert agent.last_run is not None
                view = view_of(agent.last_run)
                shown.append((view.state.writing, str(view), render(view.element)))
        return text

    talk.start >> tell >> talk.finish
    agent = kb.Agent(kb.ScriptedExecutor([f"once {HOSTILE}"]), "offline", talk)
    run = await agent.run("Rome", "s")

    assert [writing for writing, _, _ in shown[:2]] == ["once ", "once <img "]
    assert "being written: once <img" in shown[1][1]
    assert "once &lt;img" in shown[1][2]
    assert "<img" not in shown[-2][2]
    assert view_of(run).state.writing == ""


async def test_notices_of_the_run_stand_in_it() -> None:
    """What needs a look is not only in the report."""
    made = trip()
    agent = kb.Agent(kb.ExtractiveExecutor(), "offline", made).install(kb.Persistence())
    view = view_of(await agent.run("Rome"))
    text = " ".join(str(view).split())

    assert view.state.attention
    assert [notice for notice in view.state.attention if notice not in text] == []


async def test_watching_gives_the_run() -> None:
    """``run = await kb.watch(agent, ...)``, also where there is no notebook. [NBK-01]"""
    run = await kb.watch(agent_of(trip()), "Rome", "chat-1")

    assert (run.output, run.session_id) == ("Rome", "chat-1")


async def test_a_watched_run_goes_on_by_itself_and_can_be_cancelled() -> None:
    """The handle of a run in the background. [NBK-04]"""
    agent = agent_of(trip(wait=30))
    handle = kb.watch(agent, "Rome", "chat-1")
    await clock.sleep(0.02)
    handle.cancel()
    with pytest.raises(asyncio.CancelledError):
        await handle
    again = await agent_of(trip()).run("Rome", "chat-1")

    assert (handle.done, handle.run is not None and handle.run.state, again.output) == (
        True,
        "cancelled",
        "Rome",
    )


async def test_cancelling_who_awaits_it_ends_the_run() -> None:
    """An interrupted cell leaves nothing running. [KB-126]"""
    handle = kb.watch(agent_of(trip(wait=30)), "Rome")

    async def cell() -> kb.Run:
        return await handle

    task = asyncio.ensure_future(cell())
    await clock.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert [one for one in asyncio.all_tasks() if "koogbook" in one.get_name()] == []


def test_watching_without_a_loop_says_what_to_write() -> None:
    """One line with the remedy. [KB-131]"""
    with pytest.raises(WrongLoopError, match=r"asyncio.run\(agent.run\(...\)\)"):
        kb.watch(agent_of(trip()), "Rome")


async def test_watching_what_is_no_agent_is_refused() -> None:
    """One line says what it takes."""
    with pytest.raises(TypeError, match="watch takes an agent"):
        kb.watch(trip(), "Rome")  # type: ignore[arg-type]


async def test_a_node_that_blocks_is_named() -> None:
    """What held up the loop, for how long, and what to write instead. [KB-128]"""
    line = kb.strategy("line", input=str, output=str)

    @line.node
    async def slow(ctx: kb.Context, text: str) -> str:
        time.sleep(1.5)  # noqa: ASYNC251 - as a synchronous client does
        return text

    line.start >> slow >> line.finish
    run = await kb.watch(kb.Agent(kb.OfflineExecutor(), "offline", line), "x")
    (notice,) = [text for text in run.report().attention if "blocked" in text]

    assert re.search(r"line/slow blocked the event loop for 1\.[3-9] s", notice)


async def test_a_node_that_awaits_is_not_named() -> None:
    """However long it takes."""
    run = await kb.watch(agent_of(trip(wait=1.3)), "Rome")

    assert [text for text in run.report().attention if "blocked" in text] == []
