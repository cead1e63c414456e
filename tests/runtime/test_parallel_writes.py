"""What a run goes on with after a parallel block: histories and storages by policy, and what is told of the rest."""

from __future__ import annotations

from typing import Any

import pytest
from parallel_world import (
    BRANCHES,
    COUNT,
    NOTES,
    agent_of,
    block_of,
    folded,
    gives,
    history,
    notices,
    results,
    run_of,
    says,
    stored,
    told,
)

import koogbook as kb
from koogbook import events
from koogbook.errors import BoundaryTypeError, MergeConflictError
from koogbook.runtime.parallel.merges import merge, select_by, select_by_max

# ------------------------------------------------------------------------------------------- as in Koog


async def test_a_fold_goes_on_as_if_no_branch_had_written() -> None:
    """As in Koog, which throws all writes away without a word; here a warning names them and what to write [GRA-08]."""
    run = await run_of(folded(), BRANCHES)

    assert results(run) == (["before"], ["before"], None)
    assert notices(run, "branch writes dropped") == [
        (
            "warning",
            "trip/research goes on with the context from before it, and what its branches wrote is gone: museums: 2 "
            "messages, storage notes; parks: 1 message, storage count. To keep it: "
            'kb.fold(..., history="append_all", storage="union"). If it may go, say so: history="base", '
            'storage="base".',
        )
    ]


async def test_of_a_selection_one_world_survives() -> None:
    """As in Koog: the winner's history and storage, and of the others nothing; here that is told [GRA-08]."""
    run = await run_of(select_by_max(lambda output: output), BRANCHES)

    assert results(run) == (["before", "p1"], ["before"], 7)
    ((level, text),) = notices(run, "branch writes dropped")
    assert (level, "goes on with branch parks" in text, "museums: 2 messages, storage notes" in text) == (
        "info",
        True,
        True,
    )
    (merged,) = told(run, events.BranchesMerged)
    assert (merged.merge, merged.history, merged.storage, merged.winner, merged.thrown_away) == (
        "select_by_max",
        "winner",
        "winner",
        "parks",
        ("museums: 2 messages, storage notes",),
    )


async def test_the_winner_s_model_tools_and_parameters_survive_too() -> None:
    """Koog puts the whole context of the branch in the place of the one before [GRA-08]."""

    def weather(place: str) -> str:
        """Say how it will be."""
        return "fine"

    async def other_world(ctx: kb.Context, value: Any) -> int:
        async with ctx.llm.write_session() as session:
            session.model = "better"
            session.tools = [weather]
            session.change_params(temperature=0.5)
        return 1

    branches = {"a": other_world, "b": gives(0)}
    won = await run_of(select_by(bool), branches)
    lost = await run_of(folded(history="append_all"), branches)

    committed = won._context.llm.committed
    assert (str(committed.model), committed.tools.names, committed.prompt.params.temperature) == (
        "better",
        ("weather",),
        0.5,
    )
    assert notices(won, "settings replaced") == []
    assert str(lost._context.llm.committed.model) == "offline"
    assert told(lost, events.BranchesMerged)[0].thrown_away == ("a: tools, model, parameters",)


async def test_a_function_goes_on_as_a_fold_does() -> None:
    """With the line to write for it [GRA-08]."""

    def first(results: Any) -> Any:
        return results[0].output

    run = await run_of(first, BRANCHES)

    ((level, text),) = notices(run, "branch writes dropped")
    assert level == "warning"
    assert 'kb.merge(first, history="append_all", storage="union")' in text


async def test_what_a_function_takes_over_itself_is_not_dropped() -> None:
    """It may write to the context that goes on [GRA-08]."""

    async def take(ctx: kb.Context, results: Any) -> int:
        museums, parks, _ = (result.context for result in results)
        async with ctx.llm.write_session() as session:
            session.append(
                *museums.llm.committed.prompt.messages[1:], *parks.llm.committed.prompt.messages[1:]
            )
        ctx.storage.set(NOTES, museums.storage.get_value(NOTES))
        return 0

    run = await run_of(take, BRANCHES)

    assert results(run) == (["before", "m1", "m2", "p1"], ["before", "Prado"], None)
    ((_, text),) = notices(run, "branch writes dropped")
    assert "is gone: parks: storage count. To keep it" in text


async def test_what_a_function_has_appended_itself_is_not_appended_again() -> None:
    """Where the policy appends as well [GRA-08]."""

    async def take(ctx: kb.Context, results: Any) -> int:
        async with ctx.llm.write_session() as session:
            session.append(*results[1].context.llm.committed.prompt.messages[1:])
        return 0

    run = await run_of(merge(take, history="append_all"), BRANCHES)

    assert history(run) == ["before", "p1", "m1", "m2"]


# ------------------------------------------------------------------------------------------- what is told


@pytest.mark.parametrize(
    ("policies", "level"),
    [
        ({}, "warning"),
        ({"history": "base"}, "warning"),
        ({"storage": "base"}, "warning"),
        ({"history": "base", "storage": "base"}, None),
        ({"history": "append_all", "storage": "base"}, None),
        ({"storage": "union"}, "warning"),
    ],
)
async def test_what_was_said_is_no_warning(policies: dict[str, Any], level: str | None) -> None:
    """A fold whose policies are spelled out drops by intention [GRA-08]."""
    run = await run_of(folded(**policies), BRANCHES)

    assert [one[0] for one in notices(run, "branch writes dropped")] == ([level] if level else [])


@pytest.mark.parametrize(
    ("policies", "level"), [({"history": "base"}, None), ({"storage": "base"}, "warning"), ({}, "warning")]
)
async def test_only_what_is_lost_had_to_be_said(policies: dict[str, Any], level: str | None) -> None:
    """A policy for storages says nothing of messages, nor does one that nobody needed [GRA-08]."""
    run = await run_of(folded(**policies), {"a": says("a"), "b": says("b")})

    assert [one[0] for one in notices(run, "branch writes dropped")] == ([level] if level else [])


@pytest.mark.parametrize(
    ("given", "branches"),
    [
        (folded(), {"a": gives(1), "b": gives(2)}),
        (folded(history="append_all", storage="union"), BRANCHES),
        (select_by(bool), {"a": says("a"), "b": gives(0)}),
        (folded(), {"a": says("b", notes=[]), "b": gives(1)} | {"a": gives(1)}),
    ],
)
async def test_when_nothing_is_lost_nothing_is_said(given: Any, branches: Any) -> None:
    """No notice, and nothing in the event [GRA-08]."""
    run = await run_of(given, branches)

    assert notices(run, "branch writes dropped") == []
    assert told(run, events.BranchesMerged)[0].thrown_away == ()


async def test_a_history_that_was_rewritten_and_is_left_behind_is_told_as_such() -> None:
    """There is no part of it that could be appended [GRA-08]."""

    async def cut(ctx: kb.Context, value: Any) -> int:
        async with ctx.llm.write_session() as session:
            session.clear_history()
        return 1

    run = await run_of(folded(), {"a": cut})

    assert told(run, events.BranchesMerged)[0].thrown_away == ("a: a rewritten history of 0 messages",)


async def test_nothing_is_taken_over_when_the_output_is_not_of_the_declared_type() -> None:
    """The merge fails, and it says which type was declared [GRA-02]."""
    trip, _ = block_of(folded(history="append_all"), BRANCHES, output=str)
    agent = agent_of(trip)

    with pytest.raises(BoundaryTypeError, match=r"trip/research/finish got int 3.*gives str"):
        await agent.run("x")
    assert agent.last_run is not None
    assert results(agent.last_run) == (["before"], ["before"], None)
    assert [one.path for one in told(agent.last_run, events.NodeFailed)] == [
        "trip/research/finish",
        "trip/research",
    ]


async def test_a_selection_that_says_what_goes_on_tells_nothing() -> None:
    """What was left out can be said, in the words of the notice [GRA-08]."""
    plain = await run_of(select_by_max(lambda output: output), BRANCHES)
    ((_, text),) = notices(plain, "branch writes dropped")
    assert text.endswith('If it may go, say so: history="winner", storage="winner".')

    said = select_by_max(lambda output: output, history="winner", storage="winner")
    run = await run_of(said, BRANCHES)
    assert notices(run, "branch writes dropped") == []
    assert told(run, events.BranchesMerged)[0].thrown_away != ()


@pytest.mark.parametrize(
    ("counts", "proposed"),
    [((1, 1), 'storage="union"'), ((1, 2), 'storage=kb.union(on_conflict="last")')],
)
async def test_what_would_keep_it_works(counts: tuple[int, int], proposed: str) -> None:
    """A union that refuses different values is no remedy where there are some [GRA-08]."""
    branches = {f"b{count}{place}": says("x", gives=1, count=count) for place, count in enumerate(counts)}
    ((_, text),) = notices(await run_of(folded(history="append_all"), branches), "branch writes dropped")

    assert f"To keep it: kb.fold(..., {proposed})." in text
    options = eval(f"dict({proposed})", {"kb": kb})
    run = await run_of(folded(history="append_all", **options), branches)
    assert stored(run, COUNT) == counts[-1]


async def test_a_long_list_of_what_is_lost_is_cut() -> None:
    """The event holds all of it [GRA-08]."""
    run = await run_of(folded(), {f"b{number}": says(str(number)) for number in range(30)})
    ((_, text),) = notices(run, "branch writes dropped")

    assert "b4: 1 message; and 25 more." in text
    assert len(told(run, events.BranchesMerged)[0].thrown_away) == 30


async def test_a_winner_that_has_rewritten_its_history_overwrites_nothing_of_others() -> None:
    """The storage is as it was, too [GRA-08]."""
    around: list[kb.Context] = []

    async def rewrites(ctx: kb.Context, value: Any) -> int:
        async with around[0].llm.write_session() as session:
            session.append(kb.user("from outside"))
        async with ctx.llm.write_session() as session:
            session.prompt = kb.Prompt([kb.user("rewritten")])
        ctx.storage.set(COUNT, 7)
        return 1

    trip, _ = block_of(select_by_max(lambda output: output), {"a": rewrites})

    @trip.node(replace=True)
    async def before(ctx: kb.Context, value: Any) -> Any:
        around.append(ctx)
        async with ctx.llm.write_session() as session:
            session.append(kb.user("base"))
        return value

    agent = agent_of(trip)
    with pytest.raises(MergeConflictError, match="branch a, which has rewritten its history, began with"):
        await agent.run("x")
    assert agent.last_run is not None
    assert history(agent.last_run) == ["base", "from outside"]
    assert stored(agent.last_run, COUNT) is None
