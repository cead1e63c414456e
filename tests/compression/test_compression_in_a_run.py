"""Compression inside a run: the node, the call, the events, and what a failure leaves behind."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import koogbook as kb
from koogbook.errors import EmptySummaryError, ExecutorError
from koogbook.events import CompressionCompleted, CompressionFailed, Notice

LONG = "Of the seven trains to the coast only the last one carries bicycles, and it leaves at nine. " * 6


def history() -> list[kb.Message]:
    """A long turn and a short one."""
    return [kb.user(LONG), kb.assistant(LONG), kb.user("last")]


def agent(strategy: Any, executor: Any, **options: Any) -> kb.Agent:
    """An agent whose strategy appends a history, compresses it in a node and passes its input through."""
    graph = kb.strategy("shrink", input=str, output=str)

    @graph.node
    async def fill(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            session.append(*history())
        return text

    compress = graph.compress_history(strategy, name="compress", **options.pop("node", {}))
    graph.start >> fill >> compress >> graph.finish
    return kb.Agent(executor, "m", graph, system_prompt="rules", **options)


async def test_the_node_passes_its_input_through() -> None:
    """What goes into a compression node comes out of it [CMP-01]."""
    run = await agent(None, kb.ScriptedExecutor(["TLDR"])).run("the input")

    assert run.output == "the input"
    assert [message.text for message in run.prompt] == ["rules", LONG, "TLDR", "last"]


async def test_the_call_compresses_inside_an_open_session() -> None:
    """``replace_history_with_tldr`` works on the session's own history and gives the ledger [CMP-01]."""
    graph = kb.strategy("call", input=str, output=str)
    seen: list[Any] = []

    @graph.node
    async def shrink(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            session.append(*history())
            ledger = await session.replace_history_with_tldr(kb.WholeHistory())
            seen.extend([ledger.status, [message.text for message in session.messages]])
        return text

    graph.start >> shrink >> graph.finish
    run = await kb.Agent(kb.ScriptedExecutor(["TLDR"]), "m", graph).run("go")

    assert seen == ["applied", [LONG, "TLDR", "last"]]
    assert [message.text for message in run.prompt] == seen[1]


async def test_the_ledger_of_a_run_is_found_on_it() -> None:
    """``run.compressions`` holds one ledger per compression [CMP-15]."""
    run = await agent(None, kb.ScriptedExecutor(["TLDR"])).run("go")

    assert [(one.strategy, one.status, one.model_calls) for one in run.compressions] == [
        ("WholeHistory()", "applied", 1)
    ]


async def test_summary_calls_are_counted_apart() -> None:
    """Their purpose is ``compression`` [CMP-15]."""
    run = await agent(None, kb.ScriptedExecutor(["TLDR"])).run("go")

    assert [(spent.purpose, spent.calls) for spent in run.usage] == [("compression", 1)]


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ([ExecutorError("down")], ExecutorError),
        ([None], ExecutorError),
        ([""], EmptySummaryError),
        (["  \n"], EmptySummaryError),
        ([kb.ToolCall("look", "{}")], EmptySummaryError),
        ([asyncio.CancelledError()], asyncio.CancelledError),
    ],
)
async def test_a_failed_summary_leaves_the_prompt_as_it_was(
    script: list[Any], error: type[BaseException]
) -> None:
    """Failing, empty, no text, cancelled: it raises, and the committed prompt is the same [CMP-12, KB-031, KB-032]."""
    shrinking = agent(None, kb.ScriptedExecutor(script))
    before: list[Any] = []
    shrinking.on(lambda event: before.append(event), CompressionFailed)

    with pytest.raises(error) as caught:
        await shrinking.run("go")

    assert [message.text for message in caught.value.run.prompt] == ["rules", LONG, LONG, "last"]  # type: ignore[attr-defined]
    assert len(before) == 1


async def test_a_failed_summary_inside_a_caught_session_commits_the_old_messages() -> None:
    """A node that catches the error and goes on commits a history without a trace of the attempt [CMP-12]."""
    graph = kb.strategy("catch", input=str, output=str)
    seen: list[Any] = []

    @graph.node
    async def shrink(ctx: kb.Context, text: str) -> str:
        async with ctx.llm.write_session() as session:
            session.append(*history())
            before = session.prompt
            with pytest.raises(ExecutorError):
                await session.replace_history_with_tldr()
            seen.append(session.prompt is before)
        return text

    graph.start >> shrink >> graph.finish
    run = await kb.Agent(kb.OfflineExecutor(fail=True), "m", graph).run("go")

    assert seen == [True]
    assert len(run.prompt) == 3


async def test_half_a_result_is_never_committed() -> None:
    """A strategy whose second summary fails leaves nothing of the first one [CMP-12]."""

    class Twice:
        async def compress(self, session: Any, memory_messages: Any) -> Any:
            first = await kb.summarise(session, session.messages[:2])
            session.prompt = session.prompt.with_messages([session.messages[0], first.message])
            await kb.summarise(session, session.messages[2:])

    shrinking = agent(Twice(), kb.ScriptedExecutor(["S1", ExecutorError("down")]))

    with pytest.raises(ExecutorError) as caught:
        await shrinking.run("go")

    assert len(caught.value.run.prompt) == 4  # type: ignore[attr-defined]


async def test_a_longer_summary_is_refused_and_the_run_goes_on() -> None:
    """Not taken, said in an event, and the node passes its input on [CMP-13]."""
    run = await agent(None, kb.ScriptedExecutor([LONG * 3])).run("go")

    assert [message.text for message in run.prompt] == ["rules", LONG, LONG, "last"]
    assert (run.output, run.compressions[0].status) == ("go", "refused")
    assert any("not taken" in event.text for event in run.events if isinstance(event, Notice))


@pytest.mark.parametrize("options", [{"node": {"allow_longer": True}}, {"compat": "koog"}])
async def test_a_longer_summary_is_taken_where_that_is_allowed(options: dict[str, Any]) -> None:
    """By ``allow_longer=True``, which Koog's way of working implies [CMP-13]."""
    run = await agent(None, kb.ScriptedExecutor([LONG * 3]), **options).run("go")

    assert run.compressions[0].status == "applied"


async def test_a_summary_of_the_same_size_is_refused() -> None:
    """Not smaller is no gain [CMP-13]."""
    run = await agent(None, kb.ScriptedExecutor([LONG])).run("go")

    assert run.compressions[0].status == "refused"


async def test_koogs_way_drops_the_last_user_message() -> None:
    """``compat="koog"`` composes as Koog does [CMP-08]."""
    run = await agent(None, kb.ScriptedExecutor(["TLDR"]), compat="koog").run("go")

    assert [message.text for message in run.prompt] == ["rules", LONG, "TLDR"]


async def test_forgetting_strategies_are_named_in_the_events() -> None:
    """The warning is in the run, not only in the ledger [CMP-10]."""

    class Forgets:
        async def compress(self, session: Any, memory_messages: Any) -> Any:
            [message for message in session.messages if message.role == "system"]

    run = await agent(Forgets(), kb.OfflineExecutor()).run("go")

    assert any(
        "Forgets.compress returned nothing" in event.text for event in run.events if isinstance(event, Notice)
    )


async def test_a_completed_compression_is_an_event() -> None:
    """Views are made from it [CMP-15]."""
    run = await agent(None, kb.ScriptedExecutor(["TLDR"])).run("go")

    assert [event.ledger.status for event in run.events if isinstance(event, CompressionCompleted)] == [
        "applied"
    ]
