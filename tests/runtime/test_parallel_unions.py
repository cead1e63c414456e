"""The storage that a run goes on with after a parallel block whose branches all have a say in it."""

from __future__ import annotations

from typing import Any

import pytest
from parallel_world import (
    CLIENT,
    COUNT,
    NOTES,
    Client,
    agent_of,
    block_of,
    folded,
    gives,
    notices,
    results,
    run_of,
    says,
    stored,
    told,
)

import koogbook as kb
from koogbook import events
from koogbook.errors import MergeConflictError, StorageKeyError
from koogbook.runtime.parallel.merges import merge
from koogbook.runtime.parallel.policies import union
from koogbook.runtime.parallel.storage_copies import REMOVED


async def test_a_union_takes_what_single_branches_have_changed() -> None:
    """Set, changed in place, or removed, with the objects that the branches made [GRA-08]."""
    made: list[Any] = []

    async def extend(ctx: kb.Context, value: Any) -> None:
        notes = ctx.storage.get_value(NOTES)
        notes.append("in place")
        made.append(notes)

    async def add(ctx: kb.Context, value: Any) -> None:
        made.append(Client())
        ctx.storage.set(CLIENT, made[-1])

    run = await run_of(folded(storage="union"), {"extend": extend, "add": add, "look": says("x", notes=[])})

    assert stored(run, NOTES) is made[0]
    assert made[0] == ["before", "in place"]
    assert stored(run, CLIENT) is made[1]


async def test_a_union_takes_out_what_a_branch_has_taken_out() -> None:
    """Though it was there before [GRA-08]."""

    async def remove(ctx: kb.Context, value: Any) -> None:
        ctx.storage.remove(NOTES)

    run = await run_of(folded(storage="union"), {"a": remove, "b": gives(1)})

    assert run.storage.names == ()


@pytest.mark.parametrize("other", [{"notes": ["b"]}, {"remove": True}])
async def test_different_values_of_one_name_are_refused(other: dict[str, Any]) -> None:
    """The error has key, branches and remedy; nothing is taken over, no message either [GRA-08]."""

    async def change(ctx: kb.Context, value: Any) -> None:
        await says("b", notes=other.get("notes"))(ctx, value)
        if "remove" in other:
            ctx.storage.remove(NOTES)

    merging = folded(history="append_all", storage="union")
    agent = agent_of(block_of(merging, {"a": says("a", notes=["a"]), "b": change})[0])
    with pytest.raises(MergeConflictError, match=r"on_conflict='last'") as caught:
        await agent.run("x")

    assert (caught.value.key, caught.value.branches) == ("notes", ("a", "b"))
    assert agent.last_run is not None
    assert results(agent.last_run) == (["before"], ["before"], None)


async def test_the_same_change_in_several_branches_is_one() -> None:
    """No conflict, and nothing is lost [GRA-08]."""
    run = await run_of(
        folded(history="append_all", storage="union"),
        {name: says(name, notes=["x"], count=1) for name in "abc"},
    )

    assert results(run) == (["before", "a", "b", "c"], ["before", "x"], 1)
    assert told(run, events.BranchesMerged)[0].thrown_away == ()


async def test_the_last_branch_counts_where_that_was_said() -> None:
    """A notice tells what it replaced, once [GRA-08]."""
    branches = {name: says(name, count=count) for name, count in (("a", 1), ("b", 3), ("c", 2), ("d", 3))}

    run = await run_of(folded(history="append_all", storage=union("last")), branches)

    assert stored(run, COUNT) == 3
    ((level, text),) = notices(run, "storage value replaced")
    assert (level, "'count'" in text, "those of a, c are gone" in text) == ("info", True, True)
    assert notices(run, "branch writes dropped") == []
    assert told(run, events.BranchesMerged)[0].thrown_away == ("a: storage count", "c: storage count")


@pytest.mark.parametrize("own", [{"a": 1}, {"a": 1, "b": 1}])
async def test_what_the_branches_replace_of_another_writer_is_told(own: dict[str, int]) -> None:
    """A value that was set around the block while its branches ran is gone, and a notice says so [GRA-08]."""
    branches = {name: says(name, count=count) for name, count in own.items()}

    async def chooses(ctx: kb.Context, found: Any) -> str:
        ctx.storage.set(COUNT, 7)
        ctx.storage.set(NOTES, ["of nobody else"])
        return "x"

    run = await run_of(merge(chooses, history="base", storage="union"), {"look": gives(1), **branches})

    assert (stored(run, COUNT), stored(run, NOTES)) == (1, ["of nobody else"])
    ((level, text),) = notices(run, "storage value replaced")
    assert (level, "'count'" in text, "'notes'" in text) == ("warning", True, False)


async def _joined(name: str, values: Any) -> Any:
    return sum(0 if value is REMOVED else value for value in values)


@pytest.mark.parametrize("settle", [lambda name, values: sum(v for v in values if v is not REMOVED), _joined])
async def test_a_function_settles_conflicts(settle: Any) -> None:
    """Plain or async, of the name and the values in the order of the branches [GRA-08]."""

    async def remove(ctx: kb.Context, value: Any) -> None:
        ctx.storage.remove(COUNT)

    trip, block = block_of(
        folded(history="append_all", storage=union(settle)),
        {"a": says("a", count=1), "b": says("b", count=2)},
    )
    block.node(name="c")(remove)
    trip.nodes["before"].function = says("first", count=5)
    run = await agent_of(trip).run("x")

    assert stored(run, COUNT) == 3
    assert told(run, events.BranchesMerged)[0].thrown_away == ()


async def test_a_function_that_fails_says_where() -> None:
    """With the key [GRA-08]."""

    def boom(name: str, values: Any) -> Any:
        raise LookupError("boom")

    with pytest.raises(LookupError) as caught:
        await run_of(folded(storage=union(boom)), {"a": says("a", count=1), "b": says("b", count=2)})

    assert "in on_conflict of trip/research, storage key count" in caught.value.__notes__


async def test_one_name_with_two_types_is_refused() -> None:
    """No function could make one value of them [GRA-11]."""

    async def other(ctx: kb.Context, value: Any) -> None:
        ctx.storage.set(kb.storage_key("count", str), "1")

    branches = {"a": says("a", count=1), "b": other}
    with pytest.raises(MergeConflictError, match=r"different types.*left 1 \(int\); b left '1' \(str\)"):
        await run_of(folded(storage=union(lambda name, values: values[0])), branches)


async def test_a_name_that_the_merge_function_uses_with_another_type_is_refused() -> None:
    """Before anything is taken over [GRA-11]."""

    def use(ctx: kb.Context, results: Any) -> None:
        ctx.storage.set(kb.storage_key("count", str), "1")

    agent = agent_of(block_of(merge(use, storage="union"), {"a": says("a", count=1, notes=["a"])})[0])
    with pytest.raises(StorageKeyError, match="in use for str"):
        await agent.run("x")

    assert agent.last_run is not None
    assert stored(agent.last_run, NOTES) == ["before"]


async def test_inner_blocks_hand_their_writes_to_their_branch() -> None:
    """And so to the run, where all policies say so [GRA-08]."""
    keep = folded(history="append_all", storage="union")
    trip, block = block_of(keep, {"a": says("a", notes=["a"])})
    inner = block.parallel("b", merge=keep)
    inner.node(name="x")(says("x", count=1))
    inner.node(name="y")(says("y"))

    run = await agent_of(trip).run("x")

    assert results(run) == (["before", "a", "x", "y"], ["before", "a"], 1)
