"""What somebody else changes around a parallel block while it runs, and in its branches when they have ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
from parallel_world import (
    COUNT,
    NOTES,
    Branch,
    agent_of,
    block_of,
    folded,
    history,
    notices,
    says,
    stored,
)

import koogbook as kb
from koogbook import events
from koogbook.errors import MergeConflictError, StorageKeyError
from koogbook.runtime.parallel.merges import select_by_max

Outside = Callable[[kb.Context], Awaitable[None]]
CHOSEN = select_by_max(lambda output: 1)
ALL = folded(history="append_all", storage="union")


class World:
    """An agent with a block of these branches; ``around`` is the context around it, ``agent`` runs it."""

    def __init__(self, merge: Any, branches: Mapping[str, Branch]) -> None:
        self.around: kb.Context | None = None
        trip, _ = block_of(merge, branches)

        @trip.node(replace=True)
        async def before(ctx: kb.Context, value: Any) -> Any:
            self.around = ctx
            async with ctx.llm.write_session() as session:
                session.append(kb.user("base"))
            return value

        self.agent = agent_of(trip)


async def run_with(merge: Any, branch: Branch, outside: Outside) -> kb.Run:
    """Run a block with a branch, and from inside it something on the context around."""

    async def both(ctx: kb.Context, value: Any) -> Any:
        assert world.around is not None
        output = await branch(ctx, value)
        await outside(world.around)
        return output

    world = World(merge, {"a": both})
    try:
        return await world.agent.run("x")
    except MergeConflictError as problem:
        problem.run = world.agent.last_run  # type: ignore[attr-defined]
        raise


def weather(place: str) -> str:
    """Say how it will be."""
    return "fine"


def trains(place: str) -> str:
    """Say when they go."""
    return "at nine"


# ------------------------------------------------------------------------------------------- while the merge waits


async def run_holding(merge: Any, then: Callable[[kb.Context, kb.Context], Any]) -> kb.Run:
    """Run a block whose branch writes, and ``then`` while the merge waits for the session around the block.

    It is called with the context around the block and that of the branch.
    """
    tasks: list[asyncio.Task[None]] = []
    waited_for = asyncio.Event()

    async def hold(around: kb.Context, branch: kb.Context, held: asyncio.Event) -> None:
        async with around.llm.write_session():
            held.set()
            await waited_for.wait()
            then(around, branch)

    async def writes(ctx: kb.Context, value: Any) -> int:
        assert world.around is not None
        held = asyncio.Event()
        tasks.append(asyncio.create_task(hold(world.around, ctx, held)))
        await held.wait()
        await says("a", count=1)(ctx, value)
        return 1

    world = World(merge, {"a": writes})
    world.agent.on(lambda event: waited_for.set(), events.SessionWaiting)
    try:
        return await world.agent.run("x")
    finally:
        await tasks[0]


@pytest.mark.parametrize("merge", [CHOSEN, ALL], ids=["winner", "append_all"])
async def test_a_value_that_is_set_while_the_merge_waits_for_its_session_is_told(merge: Any) -> None:
    """It is gone, and a notice says so, as of one that was set before [GRA-08]."""
    run = await run_holding(merge, lambda around, _: around.storage.set(COUNT, 99))

    assert (stored(run, COUNT), history(run)) == (1, ["base", "a"])
    ((level, text),) = notices(run, "storage value replaced")
    assert (level, "storage of 'count' was changed around trip/research" in text) == ("warning", True)


@pytest.mark.parametrize("merge", [CHOSEN, ALL], ids=["winner", "append_all"])
async def test_a_name_that_gets_another_type_while_the_merge_waits_is_refused(merge: Any) -> None:
    """And nothing is taken over, no message either [GRA-11]."""
    seen: list[kb.Context] = []
    other = kb.storage_key("count", str)

    def uses(around: kb.Context, _: kb.Context) -> None:
        seen.append(around)
        around.storage.set(other, "one")

    with pytest.raises(StorageKeyError, match="in use for str"):
        await run_holding(merge, uses)
    assert [message.text for message in seen[0].llm.committed.prompt] == ["base"]
    assert seen[0].storage.get(other) == "one"


# ------------------------------------------------------------------------------------------- settings


async def _changes(ctx: kb.Context, setting: str, value: Any) -> None:
    async with ctx.llm.write_session() as session:
        if setting == "parameters":
            session.change_params(temperature=value)
        else:
            setattr(session, setting, value)


def _settings(run: kb.Run) -> dict[str, Any]:
    committed = run._context.llm.committed
    return {
        "parameters": committed.prompt.params.temperature,
        "model": str(committed.model),
        "tools": committed.tools.names,
    }


async def _rewrites(ctx: kb.Context, value: Any) -> int:
    async with ctx.llm.write_session() as session:
        session.prompt = kb.Prompt([kb.user("rewritten")])
    return 1


SETTINGS = [("parameters", 0.9, 0.5), ("model", "other", "better"), ("tools", [trains], [weather])]


def _left(value: Any) -> Any:
    return tuple(one.__name__ for one in value) if isinstance(value, list) else value


@pytest.mark.parametrize(("setting", "outside", "_"), SETTINGS)
@pytest.mark.parametrize("branch", [says("a", gives=1), _rewrites], ids=["appends", "rewrites"])
async def test_a_setting_that_the_winner_left_alone_stays_as_it_is_around(
    branch: Branch, setting: str, outside: Any, _: Any
) -> None:
    """Somebody else has changed it there meanwhile, and nothing is lost [GRA-08]."""
    run = await run_with(CHOSEN, branch, lambda around: _changes(around, setting, outside))

    assert _settings(run)[setting] == _left(outside)
    assert notices(run, "settings replaced") == notices(run, "branch writes dropped") == []


@pytest.mark.parametrize(("setting", "outside", "own"), SETTINGS)
async def test_a_setting_that_both_have_changed_is_the_winner_s_and_told(
    setting: str, outside: Any, own: Any
) -> None:
    """The notice names it, and the other ones stay as they are around [GRA-08]."""
    others = {name: value for name, value, _ in SETTINGS}

    async def branch(ctx: kb.Context, value: Any) -> int:
        await _changes(ctx, setting, own)
        return 1

    async def change_all(around: kb.Context) -> None:
        for name, value in others.items():
            await _changes(around, name, value)

    run = await run_with(CHOSEN, branch, change_all)

    assert _settings(run) == {name: _left(value) for name, value in (others | {setting: own}).items()}
    ((level, text),) = notices(run, "settings replaced")
    assert (level, text.split(" while ")[0]) == (
        "warning",
        f"{setting} of the LLM context around trip/research changed",
    )
    assert "settings replaced" in str(run.report())


@pytest.mark.parametrize(("setting", "value", "_"), SETTINGS)
async def test_the_same_setting_inside_and_around_is_nothing_to_tell(
    setting: str, value: Any, _: Any
) -> None:
    """Nothing is gone [GRA-08]."""
    same = [kb.Tool(one) for one in value] if isinstance(value, list) else value

    async def branch(ctx: kb.Context, given: Any) -> int:
        await _changes(ctx, setting, same)
        return 1

    run = await run_with(CHOSEN, branch, lambda around: _changes(around, setting, same))

    assert _settings(run)[setting] == _left(value)
    assert notices(run, "settings replaced") == []


# ------------------------------------------------------------------------------------------- histories


async def test_a_message_that_was_replaced_around_a_block_is_not_overwritten() -> None:
    """Though there are as many as before [GRA-08]."""

    async def replaces(around: kb.Context) -> None:
        async with around.llm.write_session() as session:
            session.prompt = session.prompt.with_messages([kb.user("another one")])

    with pytest.raises(MergeConflictError, match=r"branch a, .*\(1 message\).*\(1 message now\)") as caught:
        await run_with(CHOSEN, _rewrites, replaces)
    assert caught.value.branches == ("a",)
    assert history(caught.value.run) == ["another one"]  # type: ignore[attr-defined]


# ------------------------------------------------------------------------------------------- what comes too late


async def test_a_late_change_is_told_though_the_merge_has_failed() -> None:
    """The branches have ended in any case [GRA-08]."""
    go = asyncio.Event()
    tasks: list[asyncio.Task[None]] = []

    async def later(ctx: kb.Context) -> None:
        await go.wait()
        ctx.storage.set(NOTES, ["late"])

    async def leaves(ctx: kb.Context, value: Any) -> None:
        tasks.append(asyncio.create_task(later(ctx)))

    def merges(results: Any) -> Any:
        raise LookupError("no")

    agent = World(merges, {"a": leaves}).agent
    with pytest.raises(LookupError):
        await agent.run("x")
    go.set()
    await tasks[0]

    ((_, text),) = notices(agent.last_run, "late change")
    assert "the storage key 'notes' was set in branch a of trip/research" in text


async def test_a_late_change_is_told_while_the_merge_waits_for_its_session() -> None:
    """What the branches have left was looked at before [GRA-08]."""
    run = await run_holding(CHOSEN, lambda _, branch: branch.storage.set(NOTES, ["late"]))

    ((_, text),) = notices(run, "late change")
    assert "the storage key 'notes' was set in branch a of trip/research" in text
    assert stored(run, NOTES) is None


# ------------------------------------------------------------------------------------------- what is proposed


async def test_no_history_is_proposed_to_be_appended_that_cannot_be() -> None:
    """One branch has rewritten its own: the notice names the messages and no way to append them [GRA-08]."""
    world = World(folded(), {"a": _rewrites, "b": says("b")})
    run = await world.agent.run("x")

    ((_, text),) = notices(run, "branch writes dropped")
    assert "a: a rewritten history of 1 message; b: 1 message" in text
    assert "append_all" not in text
