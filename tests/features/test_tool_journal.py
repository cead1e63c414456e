"""The journal has a row before a tool runs, and its end before anything else happens."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from pathlib import Path
from typing import Any

import pytest

import koogbook as kb
from koogbook.errors import FeatureInstallError, StoreError
from koogbook.events import Notice, ToolCallCompleted, ToolCallFailed, ToolCallStarting
from koogbook.features.tool_journal import ToolJournal
from koogbook.storage.memory_journal import MemoryJournal
from koogbook.storage.sqlite_journal import SqliteJournal
from koogbook.tools.journal import ToolExecution
from koogbook.tools.tool import ToolException


class Watched(MemoryJournal):
    """A journal that can fail, or take its time."""

    def __init__(self, *, fails: str = "", waits: str = "") -> None:
        super().__init__()
        self.fails, self.waits = fails, waits
        self.reached = asyncio.Event()
        self.gate = asyncio.Event()

    async def begin(self, execution: ToolExecution) -> int:
        """Keep, wait or fail."""
        await self._check("begin")
        return await super().begin(execution)

    async def end(self, session_id: str, number: int, **fields: Any) -> None:
        """Keep, wait or fail."""
        await self._check("end")
        await super().end(session_id, number, **fields)

    async def _check(self, method: str) -> None:
        if self.waits == method:
            self.reached.set()
            await self.gate.wait()
        if self.fails == method:
            raise StoreError("the disk is full")


seen: list[Any] = []


def agent_with(
    journal: Any, *calls: kb.ToolCall, parallel: int | bool = False, also: Any = (), **options: Any
) -> kb.Agent:
    """An agent that runs these calls in its one node and gives the texts of their results."""
    trip = kb.strategy("trip", input=str, output=Any)

    @trip.node
    async def work(ctx: kb.Context, text: str) -> Any:
        results = await ctx.run_tools(calls, parallel=parallel)
        return [result.results[0].output for result in results]

    trip.start >> work >> trip.finish

    async def book(city: str) -> str:
        """Book."""
        seen.append([one.status for one in journal.executions("s")])
        return f"booked {city}"

    async def broken(city: str) -> str:
        """Fail."""
        raise ValueError(city)

    async def refuses(city: str) -> str:
        """Refuse."""
        raise ToolException("no")

    async def waits(city: str) -> str:
        """Wait for ever."""
        await asyncio.Event().wait()
        return city

    agent = kb.Agent(kb.OfflineExecutor(), "offline", trip, tools=[book, broken, refuses, waits, *also])
    return agent.install(ToolJournal(journal, **options))


def call(tool: str, city: str = "Bonn", id: str | None = "c1") -> kb.ToolCall:
    """A call of a tool."""
    return kb.ToolCall(tool, f'{{"city":"{city}"}}', id)


async def _cancelled(task: asyncio.Future[Any], times: int = 1) -> None:
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0)
    if isinstance(task, asyncio.Task) and not task.done():
        await asyncio.sleep(0)


@pytest.fixture(params=["memory", "sqlite"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A journal of each kind."""
    seen.clear()
    return MemoryJournal() if request.param == "memory" else SqliteJournal(tmp_path / "kb.db")


async def test_an_execution_is_kept_with_everything(journal: Any) -> None:
    """Session, run, place, call and result [AGT-03a, AGT-05]."""
    run = await agent_with(journal, call("book")).run("go", session_id="s")

    (kept,) = journal.executions("s")
    assert (kept.number, kept.session_id, kept.run_id, kept.path) == (1, "s", run.run_id, "trip/work")
    assert (kept.call_id, kept.tool, kept.args) == ("c1", "book", '{"city":"Bonn"}')
    assert (kept.status, kept.output, kept.error) == ("succeeded", "booked Bonn", "")
    assert kept.started.tzinfo is not None
    assert kept.seconds is not None


async def test_the_row_is_there_before_the_tool_runs(journal: Any) -> None:
    """And the end of the one before it [PER-12a]."""
    await agent_with(journal, call("book"), call("book")).run("go", session_id="s")

    assert seen == [["started"], ["succeeded", "started"]]


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        (call("broken"), "ValueError: Bonn"),
        (call("refuses"), "no"),
        (call("nowhere"), "There is no tool named 'nowhere'."),
        (kb.ToolCall("book", '{"city":5}', "c1"), "The arguments do not fit: city:"),
    ],
    ids=["raised", "refused", "unknown", "arguments"],
)
async def test_what_fails_is_kept_as_failed(journal: Any, asked: kb.ToolCall, error: str) -> None:
    """With its reason, and without the words that the model reads before it [PER-12a]."""
    await agent_with(journal, asked).run("go", session_id="s")

    (kept,) = journal.executions("s")
    assert (kept.status, kept.output) == ("failed", "")
    assert kept.error.startswith(error)


async def test_runs_of_a_session_go_on_counting(journal: Any) -> None:
    """The run id tells them apart [AGT-03a]."""
    agent = agent_with(journal, call("book"))
    first = await agent.run("go", session_id="s")
    second = await agent.run("go", session_id="s")

    assert [(one.number, one.run_id) for one in journal.executions("s")] == [
        (1, first.run_id),
        (2, second.run_id),
    ]


async def test_calls_at_once_have_a_row_each(journal: Any) -> None:
    """Those of one id, too [AGT-05, KB-019]."""
    agent = agent_with(journal, call("book", "Ulm"), call("broken", "Ulm"), call("book", "Bonn"), parallel=3)
    await agent.run("go", session_id="s")

    kept = journal.executions("s")
    assert [(one.number, one.status) for one in kept] == [(1, "succeeded"), (2, "failed"), (3, "succeeded")]
    assert [one.output for one in kept] == ["booked Ulm", "", "booked Bonn"]


async def test_the_journal_and_the_events_tell_the_same(journal: Any) -> None:
    """Both are read from what happened [AGT-05]."""
    from koogbook.tools.journal import tool_executions

    asked = [call("book"), call("broken"), call("refuses"), call("nowhere"), call("book", id=None)] * 2
    run = await agent_with(journal, *asked, parallel=4).run("go", session_id="s")

    def rows(executions: Any) -> Any:
        return [(one.tool, one.call_id, one.status, one.output, one.error) for one in executions]

    assert rows(tool_executions(run.events)) == rows(journal.executions("s"))


@pytest.mark.parametrize(
    ("tool", "status", "said"),
    [("book", "succeeded", "booked Bonn"), ("broken", "failed", "ValueError: Bonn")],
)
async def test_a_listener_that_raises_does_not_change_what_the_tool_did(
    journal: Any, tool: str, status: str, said: str
) -> None:
    """A tool that has run is not one that failed [PER-12a]."""

    def boom(event: kb.events.Event) -> None:
        raise RuntimeError("listener")

    agent = agent_with(journal, call(tool)).on(boom, ToolCallCompleted, ToolCallFailed)
    with pytest.raises(RuntimeError, match="listener"):
        await agent.run("go", session_id="s")

    (kept,) = journal.executions("s")
    assert (kept.status, kept.output + kept.error) == (status, said)


async def test_a_cancelled_function_in_a_thread_is_kept_as_one_that_may_have_run(journal: Any) -> None:
    """Nothing can stop it, and its effect may be there [AGT-06, PER-12a]."""
    released, began = threading.Event(), threading.Event()

    def works(city: str) -> str:
        """Work."""
        began.set()
        released.wait(5)
        return city

    agent = agent_with(journal, call("works"), also=[works])
    task = asyncio.ensure_future(agent.run("go", session_id="s"))
    await asyncio.to_thread(began.wait, 5)
    await _cancelled(task)
    with contextlib.suppress(asyncio.CancelledError):
        await task
    released.set()

    (kept,) = journal.executions("s")
    assert kept.status == "cancelled"
    assert kept.error.endswith("may have run to its end")
    assert kept.error == agent.last_run.tool_executions[0].error  # type: ignore[union-attr]


async def test_a_run_says_that_the_journal_acted(journal: Any) -> None:
    """Where it kept something, and only there [AGT-02]."""
    assert (await agent_with(journal, call("book")).run("go", session_id="s")).acted == ("ToolJournal",)
    assert (await agent_with(journal).run("go", session_id="s")).acted == ()


async def test_a_node_can_read_the_journal_of_its_session(journal: Any) -> None:
    """``ctx.feature`` gives it [AGT-02]."""
    agent = agent_with(journal, call("book"))
    await agent.run("go", session_id="s")
    read = kb.strategy("read", input=str, output=int)

    @read.node
    async def count(ctx: kb.Context, text: str) -> int:
        return len(ctx.feature("ToolJournal").executions())

    read.start >> count >> read.finish
    other = kb.Agent(kb.OfflineExecutor(), "offline", read).install(ToolJournal(journal))

    assert (await other.run("go", session_id="s")).output == 1


async def test_what_another_feature_answers_is_no_execution(journal: Any) -> None:
    """No tool ran [AGT-02]."""

    class Answers(kb.Interceptor):
        async def around_tool_call(self, tool_call: kb.ToolCall, call: Any) -> kb.Message:
            return kb.tool_result(tool_call, "not now")

    class Installed:
        key = "Answers"
        subscriptions = ()
        interceptors = (Answers(),)

        def bind(self, context: Any) -> Any:
            return self

        async def close(self) -> None: ...

    class Feature:
        key = "Answers"

        def install(self, agent: Any) -> Any:
            return Installed()

    agent = agent_with(journal, call("book")).install(Feature())

    assert (await agent.run("go", session_id="s")).output == ["not now"]
    assert journal.executions("s") == ()


async def test_a_run_inside_a_tool_does_not_mix_with_the_one_around_it(journal: Any) -> None:
    """Each row is of the run that called [AGT-03a]."""
    inner = agent_with(journal, call("book", "inner"))

    async def ask(city: str) -> str:
        """Ask another agent."""
        return str((await inner.run("go", session_id="inner")).output)

    trip = kb.strategy("outer", input=str, output=Any)

    @trip.node
    async def work(ctx: kb.Context, text: str) -> Any:
        return len(await ctx.run_tools([call("ask"), call("ask")]))

    trip.start >> work >> trip.finish
    outer = kb.Agent(kb.OfflineExecutor(), "offline", trip, tools=[ask]).install(ToolJournal(journal))
    await outer.run("go", session_id="outer")

    assert [one.tool for one in journal.executions("outer")] == ["ask", "ask"]
    assert [one.tool for one in journal.executions("inner")] == ["book", "book"]


# ------------------------------------------------------------------------------------------- cancellation


async def _until_it_waits(agent: kb.Agent) -> asyncio.Task[kb.Run]:
    started = asyncio.Event()
    agent.on(lambda event: started.set(), ToolCallStarting)
    task = asyncio.ensure_future(agent.run("go", session_id="s"))
    await started.wait()
    await asyncio.sleep(0)
    return task


@pytest.mark.parametrize("times", [1, 3])
async def test_a_cancelled_execution_is_kept_as_cancelled(journal: Any, times: int) -> None:
    """And the cancellation goes on [AGT-06, PER-12a]."""
    task = await _until_it_waits(agent_with(journal, call("waits")))
    await _cancelled(task, times)
    with contextlib.suppress(asyncio.CancelledError):
        await task

    assert task.cancelled()
    assert [(one.status, one.error) for one in journal.executions("s")] == [("cancelled", "CancelledError")]


async def test_calls_at_once_are_all_kept_as_cancelled(journal: Any) -> None:
    """None stays open [AGT-06]."""
    task = await _until_it_waits(agent_with(journal, call("waits"), call("waits"), call("waits"), parallel=2))
    await _cancelled(task)
    with contextlib.suppress(asyncio.CancelledError):
        await task

    assert {one.status for one in journal.executions("s")} == {"cancelled"}


@pytest.mark.parametrize(
    ("tool", "waits", "status"),
    [("book", "begin", "cancelled"), ("book", "end", "succeeded"), ("broken", "end", "failed")],
)
async def test_a_write_that_is_cancelled_is_finished(tool: str, waits: str, status: str) -> None:
    """However often; a tool whose row is not written yet does not run [AGT-06]."""
    seen.clear()
    journal = Watched(waits=waits)
    task = asyncio.ensure_future(agent_with(journal, call(tool)).run("go", session_id="s"))
    await journal.reached.wait()
    await _cancelled(task, 2)
    assert not task.done()
    journal.gate.set()
    with contextlib.suppress(asyncio.CancelledError):
        await task

    assert task.cancelled()
    assert [one.status for one in journal.executions("s")] == [status]
    assert bool(seen) is (status == "succeeded")


async def test_the_end_of_a_cancelled_execution_is_written_whole() -> None:
    """Also where it is cancelled again while that is on its way [AGT-06]."""
    journal = Watched(waits="end")
    task = await _until_it_waits(agent_with(journal, call("waits")))
    task.cancel()
    await journal.reached.wait()
    await _cancelled(task, 2)
    assert not task.done()
    journal.gate.set()
    with contextlib.suppress(asyncio.CancelledError):
        await task

    assert task.cancelled()
    assert [one.status for one in journal.executions("s")] == ["cancelled"]


async def test_a_store_that_fails_at_a_cancellation_does_not_take_its_place() -> None:
    """It is reported [AGT-06]."""
    agent = agent_with(Watched(fails="end"), call("waits"))
    task = await _until_it_waits(agent)
    await _cancelled(task)
    with contextlib.suppress(asyncio.CancelledError):
        await task

    assert task.cancelled()
    notices = [event.kind for event in agent.last_run.events if isinstance(event, Notice)]  # type: ignore[union-attr]
    assert notices == ["tool execution not kept"]


# ------------------------------------------------------------------------------------------- a store that fails


@pytest.mark.parametrize(("fails", "ran"), [("begin", []), ("end", [["started"]])])
async def test_a_journal_that_cannot_be_written_stops_the_run(fails: str, ran: list[Any]) -> None:
    """Before the tool runs, where it is the beginning that fails [PER-12a]."""
    seen.clear()

    with pytest.raises(StoreError, match="the disk is full"):
        await agent_with(Watched(fails=fails), call("book")).run("go", session_id="s")

    assert seen == ran


@pytest.mark.parametrize("fails", ["begin", "end"])
async def test_a_journal_may_fail_without_stopping_the_run(fails: str) -> None:
    """Then it stands in the report of the run [PER-12a]."""
    run = await agent_with(Watched(fails=fails), call("book"), on_error="log").run("go", session_id="s")

    assert run.output == ["booked Bonn"]
    assert "not in the journal of tool executions: StoreError: the disk is full" in str(run.report())


@pytest.mark.parametrize("storage", ["path.db", None, MemoryJournal, object()])
def test_what_is_no_store_is_refused(storage: Any) -> None:
    """With the line to write [AGT-02]."""
    with pytest.raises(TypeError, match=r"kb.ToolJournal\(kb.SqliteJournal"):
        ToolJournal(storage)


def test_another_word_for_on_error_is_refused() -> None:
    """There are two [AGT-02]."""
    with pytest.raises(ValueError, match="'raise' or 'log'"):
        ToolJournal(MemoryJournal(), on_error="ignore")  # type: ignore[arg-type]


def test_one_journal_is_installed_once() -> None:
    """Each execution has one row [AGT-02]."""
    with pytest.raises(FeatureInstallError):
        agent_with(MemoryJournal()).install(ToolJournal(MemoryJournal()))
