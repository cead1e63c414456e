"""Laws of parallel blocks, for branches that write, fail and wait at random."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from parallel_world import agent_of, history, told

import koogbook as kb
from koogbook import events
from koogbook.errors import MergeConflictError
from koogbook.messages.message import tool_result
from koogbook.messages.pairing import pair_messages
from koogbook.messages.parts import ToolCall
from koogbook.runtime.parallel.merges import fold, select_by_index
from koogbook.runtime.parallel.policies import union

NAMES = ("x", "y", "z")
KEYS = {name: kb.storage_key(name, list[int]) for name in NAMES}


class Plan(Struct, frozen=True):
    """What a branch does: after each wait of so many steps of the loop it appends, stores or removes one thing."""

    waits: tuple[int, ...]
    appends: tuple[str, ...]
    writes: tuple[tuple[str, int | None, bool], ...]
    fails: bool = False


texts = st.sampled_from(("text", "pair"))
writes = st.tuples(st.sampled_from(NAMES), st.none() | st.integers(0, 2), st.booleans())
plans = st.builds(
    Plan,
    waits=st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple),
    appends=st.lists(texts, max_size=3).map(tuple),
    writes=st.lists(writes, max_size=4).map(tuple),
    fails=st.integers(0, 5).map(lambda number: number == 0),
)
starts = st.dictionaries(st.sampled_from(NAMES), st.lists(st.integers(0, 2), max_size=2))


class Boom(Exception):
    """What a branch fails with on purpose."""


def branch_of(name: str, plan: Plan) -> Any:
    """A branch that does what is planned, and gives its name."""

    async def branch(ctx: kb.Context, value: Any) -> str:
        for number, kind in enumerate(plan.appends):
            await _wait(plan, number)
            async with ctx.llm.write_session() as session:
                if kind == "text":
                    session.append(kb.user(f"{name} {number}"))
                else:
                    call = ToolCall("weather", id=f"{name} {number}")
                    session.append(kb.assistant(f"{name} {number}", calls=[call]), tool_result(call, "fine"))
        for number, (key, item, in_place) in enumerate(plan.writes):
            await _wait(plan, number)
            _write(ctx.storage, key, item, in_place=in_place)
        await _wait(plan, 0)
        if plan.fails:
            raise Boom(name)
        return name

    return branch


async def _wait(plan: Plan, number: int) -> None:
    for _ in range(plan.waits[number % len(plan.waits)]):
        await asyncio.sleep(0)


def _write(storage: Any, name: str, item: int | None, *, in_place: bool) -> None:
    key = KEYS[name]
    if item is None:
        storage.remove(key)
    elif in_place and storage.get(key) is not None:
        storage.get(key).append(item)
    else:
        storage.set(key, [item])


def model_of(start: dict[str, list[int]], plan: Plan) -> dict[str, list[int]]:
    """The storage that a branch leaves behind, as a dict."""
    left = {name: list(items) for name, items in start.items()}
    for name, item, in_place in plan.writes:
        if item is None:
            left.pop(name, None)
        elif in_place and name in left:
            left[name].append(item)
        else:
            left[name] = [item]
    return left


def run(branches: list[Plan], merge: Any, start: dict[str, list[int]], on_error: Any = "collect") -> kb.Run:
    """Run them behind a node that appends a message and fills the storage."""
    trip = kb.strategy("trip")
    block = trip.parallel("block", merge=merge, on_error=on_error)
    for number, plan in enumerate(branches):
        block.node(name=f"b{number}")(branch_of(f"b{number}", plan))

    @trip.node
    async def before(ctx: kb.Context, value: Any) -> Any:
        async with ctx.llm.write_session() as session:
            session.append(kb.user("before"))
        for name, items in start.items():
            ctx.storage.set(KEYS[name], list(items))
        return value

    trip.start >> before >> block >> trip.finish
    return agent_of(trip).run_sync("x")


def kept(done: kb.Run) -> dict[str, Any]:
    """The storage of a run as a dict."""
    return {name: done.storage.get(KEYS[name]) for name in done.storage.names}


def listed(**policies: Any) -> Any:
    """A fold of all outputs into a list."""
    return fold([], lambda found, output: [*found, output], **policies)


lists_of_plans = st.lists(plans, min_size=1, max_size=5).filter(lambda found: not all(p.fails for p in found))


@settings(max_examples=60)
@given(lists_of_plans, starts)
def test_the_base_policies_leave_everything_as_it_was(
    branches: list[Plan], start: dict[str, list[int]]
) -> None:
    """And the results come in the order of the branches [GRA-08]."""
    done = run(branches, listed(history="base", storage="base"), start)

    assert done.output == [f"b{number}" for number, plan in enumerate(branches) if not plan.fails]
    assert history(done) == ["before"]
    assert kept(done) == start


@settings(max_examples=60)
@given(lists_of_plans, starts)
def test_append_all_has_every_message_once_in_order(
    branches: list[Plan], start: dict[str, list[int]]
) -> None:
    """Those of branches that did not fail, in whole pairs [GRA-08]."""
    done = run(branches, listed(history="append_all"), start)
    expected = [
        text
        for number, plan in enumerate(branches)
        if not plan.fails
        for at, kind in enumerate(plan.appends)
        for text in ([f"b{number} {at}"] if kind == "text" else [f"b{number} {at}", "fine"])
    ]
    pairing = pair_messages(done.prompt.messages)

    assert history(done) == ["before", *expected]
    assert (pairing.defects, pairing.tail) == ((), None)
    assert len({message.id for message in done.prompt.messages}) == len(done.prompt)


@settings(max_examples=60)
@given(lists_of_plans, starts, st.sampled_from(["error", "last", "first"]))
def test_a_union_is_that_of_dicts(
    branches: list[Plan], start: dict[str, list[int]], on_conflict: str
) -> None:
    """What differs from the beginning is taken, and conflicts are what differs in several [GRA-08]."""
    changed: dict[str, list[list[int] | None]] = {}
    for plan in branches:
        left = model_of(start, plan)
        for name in NAMES:
            if not plan.fails and left.get(name) != start.get(name):
                changed.setdefault(name, []).append(left.get(name))
    conflicts = {name for name, values in changed.items() if any(value != values[0] for value in values)}
    place = -1 if on_conflict == "last" else 0
    expected = {
        name: changed[name][place] if name in changed else start[name] for name in {**start, **changed}
    }
    policy = union(lambda name, values: values[0]) if on_conflict == "first" else union(on_conflict)  # type: ignore[arg-type]

    try:
        done = run(branches, listed(storage=policy), start)
    except MergeConflictError as conflict:
        refused = conflict.key
    else:
        refused = ""
        assert kept(done) == {name: value for name, value in expected.items() if value is not None}
    assert (refused in conflicts) == bool(on_conflict == "error" and conflicts)


@settings(max_examples=60)
@given(lists_of_plans, starts, st.integers(0, 4))
def test_the_winner_s_world_is_the_one_that_goes_on(
    branches: list[Plan], start: dict[str, list[int]], wanted: int
) -> None:
    """Its history and its storage, of the others nothing, and what is thrown away is what the others wrote [GRA-08]."""
    left = [(number, plan) for number, plan in enumerate(branches) if not plan.fails]
    number, plan = left[wanted % len(left)]
    done = run(branches, select_by_index(lambda outputs: wanted % len(outputs)), start)
    (merged,) = told(done, events.BranchesMerged)

    assert (done.output, merged.winner) == (f"b{number}", f"b{number}")
    assert [text for text in history(done) if text != "fine"] == [
        "before",
        *(f"b{number} {at}" for at in range(len(plan.appends))),
    ]
    assert kept(done) == model_of(start, plan)
    assert not any(one.startswith(f"b{number}:") for one in merged.thrown_away)


@settings(max_examples=40)
@given(st.lists(plans, min_size=1, max_size=5))
def test_with_cancel_a_failure_ends_the_block_with_nothing_changed(branches: list[Plan]) -> None:
    """Any failure of any branch, at any moment [GRA-08]."""
    try:
        done = run(branches, listed(history="append_all", storage=union("last")), {}, "cancel")
    except Boom as problem:
        assert any(plan.fails for plan in branches)
        last: kb.Run = problem.run  # type: ignore[attr-defined]
        assert (history(last), kept(last)) == (["before"], {})
        assert told(last, events.BranchesMerged) == []
        starting = [event.path for event in told(last, events.BranchStarting)]
        ended = told(last, events.BranchCompleted) + told(last, events.BranchFailed)
        assert sorted(event.path for event in ended) == sorted(starting)
    else:
        assert len(done.output) == len(branches)
