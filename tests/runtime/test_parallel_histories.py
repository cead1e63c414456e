"""The history that a run goes on with after a parallel block whose branches all have a say in it."""

from __future__ import annotations

from typing import Any

import pytest
from parallel_world import (
    BRANCHES,
    agent_of,
    block_of,
    folded,
    history,
    results,
    run_of,
    says,
    told,
)

import koogbook as kb
from koogbook import events
from koogbook.errors import MergeConflictError
from koogbook.messages.message import tool_result
from koogbook.messages.parts import ToolCall
from koogbook.runtime.parallel.merges import select_by_max


async def test_append_all_takes_what_each_branch_added_in_the_order_of_the_branches() -> None:
    """Whatever order they ended in [GRA-08]."""
    branches = {"a": says("a1", "a2", sleep=0.02), "b": says("b1"), "c": says("c1", sleep=0.01)}

    run = await run_of(folded(history="append_all"), branches)

    assert history(run) == ["before", "a1", "a2", "b1", "c1"]
    (changed,) = told(run, events.PromptChanged, context="trip", path="trip/research/finish")
    assert (changed.messages_before, changed.messages, changed.replaced) == (1, 5, False)


async def test_a_selection_may_keep_the_messages_of_all() -> None:
    """The output is the winner's [GRA-08]."""
    run = await run_of(select_by_max(lambda output: output, history="append_all", storage="union"), BRANCHES)

    assert (run.output, *results(run)) == (2, ["before", "m1", "m2", "p1"], ["before", "Prado"], 7)


async def test_the_same_message_in_two_branches_stands_once() -> None:
    """By its id [GRA-08]."""
    shared = kb.user("shared")

    async def branch(ctx: kb.Context, value: Any) -> None:
        async with ctx.llm.write_session() as session:
            session.append(shared, kb.user("own"))

    run = await run_of(folded(history="append_all"), {"a": branch, "b": branch})

    assert history(run) == ["before", "shared", "own", "own"]


async def test_a_message_that_a_branch_has_doubled_on_purpose_stays_doubled() -> None:
    """It is that branch's own doing [GRA-08]."""

    async def branch(ctx: kb.Context, value: Any) -> None:
        async with ctx.llm.write_session() as session:
            again = kb.user("again")
            session.append(again)
            session.append(again, allow_duplicate=True)

    run = await run_of(folded(history="append_all"), {"a": branch, "b": says("b")})

    assert history(run) == ["before", "again", "again", "b"]


async def test_different_messages_of_one_id_do_not_fit_together() -> None:
    """The error names both branches and the id [GRA-08]."""

    def branch(text: str) -> Any:
        async def run(ctx: kb.Context, value: Any) -> None:
            async with ctx.llm.write_session() as session:
                session.append(kb.user(text, id="same"))

        return run

    with pytest.raises(MergeConflictError, match="'same'") as caught:
        await run_of(folded(history="append_all"), {"a": branch("one"), "b": branch("two")})

    assert caught.value.branches == ("a", "b")


async def test_a_rewritten_history_cannot_be_appended() -> None:
    """The error names the branch and the remedies, and nothing of any branch is taken over [GRA-08]."""

    async def cut(ctx: kb.Context, value: Any) -> None:
        async with ctx.llm.write_session() as session:
            session.prompt = session.prompt.with_messages([kb.user("TLDR")])

    agent = agent_of(
        block_of(folded(history="append_all", storage="union"), {"a": says("a", notes=["a"]), "b": cut})[0]
    )
    with pytest.raises(MergeConflictError, match=r"Branch b has rewritten its history.*kb.select_by_max"):
        await agent.run("x")

    assert agent.last_run is not None
    assert results(agent.last_run) == (["before"], ["before"], None)


def calling(*, answers: int, of: int = 2) -> Any:
    """A branch that leaves so many calls, and results for the first of them."""
    calls = [ToolCall("weather", id=f"c{number}") for number in range(of)]

    async def branch(ctx: kb.Context, value: Any) -> None:
        async with ctx.llm.write_session() as session:
            session.append(kb.assistant(calls=calls))
            for call in calls[:answers]:
                session.append(tool_result(call, "fine"))

    return branch


async def test_whole_pairs_are_appended() -> None:
    """Each call with its results behind it [GRA-08]."""
    run = await run_of(folded(history="append_all"), {"a": calling(answers=2), "b": calling(answers=2)})

    roles = [message.role for message in run.prompt.messages]
    assert roles == ["user", *["assistant", "tool", "tool"] * 2]


@pytest.mark.parametrize(("branches", "named"), [(("open", "whole"), "open"), (("whole", "open"), "open")])
async def test_open_calls_are_refused(branches: tuple[str, str], named: str) -> None:
    """In the last branch too: the next request would be refused [GRA-08]."""
    known = {"open": calling(answers=1), "whole": calling(answers=2)}

    with pytest.raises(MergeConflictError, match=f"branch {named} do not stand behind") as caught:
        await run_of(folded(history="append_all"), {name: known[name] for name in branches})

    assert caught.value.branches == (named,)


async def test_results_of_one_call_in_two_branches_do_not_fit_together() -> None:
    """A call that was open before the block has one result, not two [GRA-08]."""
    call = ToolCall("weather", id="c")

    async def answer(ctx: kb.Context, value: Any) -> None:
        async with ctx.llm.write_session() as session:
            session.append(tool_result(call, "fine"))

    trip = kb.strategy("trip")

    @trip.node
    async def ask(ctx: kb.Context, value: Any) -> Any:
        async with ctx.llm.write_session() as session:
            session.append(kb.user("?"), kb.assistant(calls=[call]))
        return value

    block = trip.parallel("research", merge=folded(history="append_all"))
    block.node(name="a")(answer)
    trip.start >> ask >> block >> trip.finish
    assert [one.role for one in (await agent_of(trip).run("x")).prompt.messages] == [
        "user",
        "assistant",
        "tool",
    ]

    block.node(name="b")(answer)
    with pytest.raises(MergeConflictError, match="branch b"):
        await agent_of(trip).run("x")
