"""The journal tells what came of a call, also where an interceptor nearer to the tool has a hand in it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import koogbook as kb
from koogbook.events import ToolCallCompleted
from koogbook.features.tool_journal import ToolJournal
from koogbook.pipeline import Interceptor, Stage
from koogbook.storage.memory_journal import MemoryJournal
from koogbook.tools.tool import ToolException

Call = Callable[[kb.ToolCall], Awaitable[kb.Message]]
Around = Callable[[kb.ToolCall, Call], Awaitable[kb.Message]]


class Nearer:
    """A feature, installed behind the journal and so nearer to the tool, that does this around each call."""

    key = "Nearer"
    subscriptions: tuple[Any, ...] = ()

    def __init__(self, around: Around) -> None:
        class Wrapping(Interceptor):
            stage = Stage.INNERMOST

            async def around_tool_call(self, tool_call: kb.ToolCall, call: Any) -> kb.Message:
                return await around(tool_call, call)

        self.interceptors = (Wrapping(),)

    def install(self, agent: Any) -> Any:
        """One installation of it."""
        return self

    def bind(self, context: Any) -> Any:
        """Nothing of its own."""
        return self

    async def close(self) -> None:
        """Nothing to close."""


def is_error(result: kb.Message) -> bool:
    """Whether it is an error result."""
    return result.results[0].is_error


async def again(tool_call: kb.ToolCall, call: Call) -> kb.Message:
    """Once more where it failed; another call may come in between."""
    result = await call(tool_call)
    if not is_error(result):
        return result
    await asyncio.sleep(0)
    return await call(tool_call)


async def masked(tool_call: kb.ToolCall, call: Call) -> kb.Message:
    """The model reads none of it."""
    return kb.tool_result(tool_call, "***", is_error=is_error(await call(tool_call)))


async def refused(tool_call: kb.ToolCall, call: Call) -> kb.Message:
    """The model reads an error, whatever came."""
    await call(tool_call)
    return kb.tool_result(tool_call, "not for you", is_error=True)


async def softened(tool_call: kb.ToolCall, call: Call) -> kb.Message:
    """An answer in place of an error."""
    result = await call(tool_call)
    return kb.tool_result(tool_call, "no seat") if is_error(result) else result


async def nothing(tool_call: kb.ToolCall, call: Call) -> Any:
    """What is refused further out."""
    await call(tool_call)


def agent_with(journal: MemoryJournal, around: Around, *fails: str, calls: int = 1) -> kb.Agent:
    """An agent that books; the first executions of its tool fail with these texts, and the others do not."""
    trip = kb.strategy("trip", input=str, output=Any)
    problems = list(fails)

    @trip.node
    async def work(ctx: kb.Context, text: str) -> Any:
        asked = [kb.ToolCall("book", "{}", "c1")] * calls
        return [one.results[0].output for one in await ctx.run_tools(asked, parallel=calls)]

    trip.start >> work >> trip.finish

    async def book() -> str:
        """Book."""
        if problems:
            raise ValueError(problems.pop(0))
        return "booked"

    agent = kb.Agent(kb.OfflineExecutor(), "offline", trip, tools=[book])
    return agent.install(ToolJournal(journal)).install(Nearer(around))


def ends(journal: MemoryJournal) -> list[tuple[str, str, str]]:
    """How the rows of the session say that it ended."""
    return [(one.status, one.output, one.error) for one in journal.executions("s")]


@pytest.mark.parametrize(
    ("around", "fails", "end"),
    [
        (again, ["full"], ("succeeded", "booked", "")),
        (again, ["full", "closed"], ("failed", "", "ValueError: closed")),
        (masked, [], ("succeeded", "***", "")),
        (masked, ["full"], ("failed", "", "***")),
        (refused, [], ("succeeded", "not for you", "")),
        (softened, ["full"], ("succeeded", "no seat", "")),
    ],
    ids=["tried again", "in vain", "masked", "masked error", "refused", "softened"],
)
async def test_a_row_has_what_came_of_the_call(
    around: Around, fails: list[str], end: tuple[str, str, str]
) -> None:
    """The last try counts, and the output is what the model got; what a tool did is done [AGT-05, PER-12a]."""
    journal = MemoryJournal()
    run = await agent_with(journal, around, *fails).run("go", session_id="s")

    assert ends(journal) == [end]
    assert end[1] in ("", run.output[0])


async def test_calls_of_one_id_at_once_keep_their_own_ends() -> None:
    """Each is tried again while the others run [AGT-05]."""
    journal = MemoryJournal()
    await agent_with(journal, again, "a", "b", "c", "d", calls=3).run("go", session_id="s")

    # The three fail, then the first fails once more.
    assert ends(journal) == [
        ("failed", "", "ValueError: d"),
        ("succeeded", "booked", ""),
        ("succeeded", "booked", ""),
    ]


async def test_a_call_that_is_passed_on_changed_is_the_one_that_ran() -> None:
    """A tool's own error is told of it, without the words around it [PER-12a]."""

    async def renamed(tool_call: kb.ToolCall, call: Call) -> kb.Message:
        result = await call(kb.ToolCall("book", "{}", "other"))
        return kb.tool_result(tool_call, result.results[0].output, is_error=is_error(result))

    journal = MemoryJournal()
    await agent_with(journal, renamed, "full").run("go", session_id="s")

    assert ends(journal) == [("failed", "", "ValueError: full")]


async def test_a_tool_that_succeeded_did_so_though_an_interceptor_spoils_its_result() -> None:
    """The run fails further out, and the effect is there [PER-12a]."""
    journal = MemoryJournal()
    with pytest.raises(kb.KoogbookError, match="gave NoneType"):
        await agent_with(journal, nothing).run("go", session_id="s")

    assert ends(journal) == [("succeeded", "booked", "")]


async def test_a_listener_that_raises_after_the_second_try_does_not_change_it() -> None:
    """The row is of that try [PER-12a]."""

    def boom(event: kb.events.Event) -> None:
        raise RuntimeError("listener")

    journal = MemoryJournal()
    with pytest.raises(RuntimeError, match="listener"):
        await agent_with(journal, again, "full").on(boom, ToolCallCompleted).run("go", session_id="s")

    assert ends(journal) == [("succeeded", "booked", "")]


async def test_tools_of_an_agent_that_an_interceptor_asks_are_not_the_tool() -> None:
    """Though they run in the same call, and are counted in the same way [AGT-03a]."""

    async def refuses() -> str:
        """Refuse."""
        raise ToolException("inner")

    inner = kb.strategy("inner", input=str, output=Any)

    @inner.node
    async def work(ctx: kb.Context, text: str) -> Any:
        await ctx.run_tools([kb.ToolCall("refuses", "{}", "c1")] * 2)
        return text

    inner.start >> work >> inner.finish
    judge = kb.Agent(kb.OfflineExecutor(), "offline", inner, tools=[refuses])

    async def judged(tool_call: kb.ToolCall, call: Call) -> kb.Message:
        result = await call(tool_call)
        await judge.run("well?")
        return result

    journal = MemoryJournal()
    await agent_with(journal, judged, "full").run("go", session_id="s")

    assert ends(journal) == [("failed", "", "ValueError: full")]


async def test_calls_inside_a_tool_are_not_the_tool() -> None:
    """Those that it makes in its first try do not hide the second one [AGT-05]."""
    trip = kb.strategy("trip", input=str, output=Any)

    @trip.node
    async def work(ctx: kb.Context, text: str) -> Any:
        async def look() -> str:
            """Look."""
            return "seen"

        async def book() -> str:
            """Book."""
            if not tries:
                tries.append((await ctx.run_tools([kb.ToolCall("look", "{}", "c2")]))[0].text)
                raise ValueError("full")
            raise ValueError("closed")

        tries: list[str] = []
        async with ctx.llm.write_session() as session:
            session.tools = [kb.Tool(look), kb.Tool(book)]
        await ctx.run_tools([kb.ToolCall("book", "{}", "c1")])
        return tries

    trip.start >> work >> trip.finish
    journal = MemoryJournal()
    agent = (
        kb.Agent(kb.OfflineExecutor(), "offline", trip).install(ToolJournal(journal)).install(Nearer(again))
    )
    run = await agent.run("go", session_id="s")

    assert run.output == ["seen"]
    assert ends(journal) == [("failed", "", "ValueError: closed"), ("succeeded", "seen", "")]


async def test_a_cancellation_between_two_tries_leaves_what_the_first_did() -> None:
    """It failed, and nothing ran after it [AGT-06, PER-12a]."""
    waits = asyncio.Event()

    async def waiting(tool_call: kb.ToolCall, call: Call) -> kb.Message:
        await call(tool_call)
        waits.set()
        await asyncio.Event().wait()
        return await call(tool_call)

    journal = MemoryJournal()
    task = asyncio.ensure_future(agent_with(journal, waiting, "full").run("go", session_id="s"))
    await waits.wait()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task

    assert task.cancelled()
    assert ends(journal) == [("failed", "", "ValueError: full")]
