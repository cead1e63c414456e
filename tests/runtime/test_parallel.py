"""The branches of a parallel block at work."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import permutations
from typing import Any

import pytest
from parallel_world import (
    CLIENT,
    COUNT,
    NOTES,
    Client,
    agent_of,
    block_of,
    gives,
    history,
    notices,
    run_of,
    says,
    stored,
    told,
)

import koogbook as kb
from koogbook import clock, events
from koogbook.errors import MaxIterationsError
from koogbook.pipeline import Interceptor, current_path
from koogbook.runtime.parallel.merges import fold, merge, select_by_max

ALL = fold([], lambda found, output: [*found, output], history="base", storage="base")


async def test_branches_run_at_once() -> None:
    """Each waits for the others, which would never end one after another [GRA-08]."""
    barrier = asyncio.Barrier(3)

    async def branch(ctx: kb.Context, value: Any) -> int:
        return await barrier.wait()

    run = await run_of(ALL, {"a": branch, "b": branch, "c": branch})

    assert sorted(run.output) == [0, 1, 2]


@pytest.mark.parametrize("order", list(permutations([0.1, 0.2, 0.3])))
async def test_results_come_in_the_order_of_definition(
    order: tuple[float, ...], fixed_clock: clock.FixedClock
) -> None:
    """Whatever order the branches end in [GRA-08]."""
    branches = {name: says(name, sleep=seconds) for name, seconds in zip("abc", order, strict=True)}

    task = asyncio.create_task(run_of(ALL, branches))
    for _ in range(3):
        await asyncio.sleep(0.005)
        fixed_clock.advance(0.1)

    assert (await task).output == ["a", "b", "c"]


async def test_every_branch_gets_the_block_s_input() -> None:
    """The very object [GRA-08]."""
    given = object()

    async def branch(ctx: kb.Context, value: Any) -> bool:
        return value is given

    trip, _ = block_of(ALL, {"a": branch, "b": branch})

    assert (await agent_of(trip).run(given)).output == [True, True]


async def test_no_branch_sees_what_another_one_writes() -> None:
    """History and storage are copies, also of what is inside a list [GRA-08]."""
    first_wrote = asyncio.Event()

    async def first(ctx: kb.Context, value: Any) -> None:
        await says("first", notes=["first"], count=1)(ctx, value)
        first_wrote.set()

    async def second(ctx: kb.Context, value: Any) -> Any:
        await first_wrote.wait()
        return [one.text for one in ctx.llm.committed.prompt], ctx.storage.get(NOTES), ctx.storage.get(COUNT)

    run = await run_of(ALL, {"first": first, "second": second})

    assert run.output == [None, (["before"], ["before"], None)]
    assert (history(run), stored(run, NOTES), stored(run, COUNT)) == (["before"], ["before"], None)


async def test_the_llm_context_of_a_branch_has_its_path_for_a_name() -> None:
    """So that views tell the locks of branches apart [GRA-08]."""
    run = await run_of(ALL, {"a": says("one"), "b": says("two")})

    assert [event.context for event in told(run, events.SessionOpened)] == [
        "trip",
        "trip/research/a",
        "trip/research/b",
    ]
    assert [event.who for event in told(run, events.SessionOpened)] == ["before", "a", "b"]


async def test_a_branch_knows_where_it_is() -> None:
    """``ctx.path`` is that of the node, in subgraphs too [GRA-08]."""
    trip, block = block_of(ALL, {})
    sub = block.subgraph("parks")

    async def path(ctx: kb.Context, value: Any) -> str:
        await asyncio.sleep(0)
        return ctx.path

    block.node(name="museums")(path)
    sub.start >> sub.node(name="one")(path) >> sub.finish
    run = await agent_of(trip).run("x")

    assert sorted(run.output) == ["trip/research/museums", "trip/research/parks/one"]
    assert current_path.get() == ""


async def test_blocks_stand_in_branches_of_blocks() -> None:
    """To any depth, each merged by itself [GRA-08]."""
    trip, block = block_of(ALL, {"museums": gives("M")})
    sub = block.subgraph("parks")
    inner = sub.parallel("which", merge=select_by_max(len))
    inner.node(name="small")(gives("p"))
    deeper = inner.parallel("large", merge=ALL)
    deeper.node(name="east")(gives("E"))
    deeper.node(name="west")(gives("W"))
    sub.start >> inner >> sub.finish

    run = await agent_of(trip).run("x")

    assert run.output == ["M", ["E", "W"]]
    assert [event.path for event in told(run, events.BranchesMerged)] == [
        "trip/research/parks/which/large",
        "trip/research/parks/which",
        "trip/research",
    ]


async def test_the_events_of_a_block_tell_all_of_it() -> None:
    """Start, edges, branches, merge: as a view draws it [AGT-03]."""
    run = await run_of(ALL, {"a": gives(1), "b": gives(2)})
    inside = [
        (event.name, event.path.removeprefix("trip/"), getattr(event, "target", "").removeprefix("trip/"))
        for event in run.events
        if event.path.startswith("trip/research")
    ]

    def branch(name: str) -> list[tuple[str, str, str]]:
        path = f"research/{name}"
        return [
            ("EdgeTaken", "research/start", path),
            ("BranchStarting", path, ""),
            ("NodeStarting", path, ""),
            ("NodeCompleted", path, ""),
            ("BranchCompleted", path, ""),
            ("EdgeTaken", path, "research/finish"),
        ]

    assert inside == [
        ("NodeStarting", "research", ""),
        ("NodeStarting", "research/start", ""),
        ("NodeCompleted", "research/start", ""),
        *branch("a"),
        *branch("b"),
        ("NodeStarting", "research/finish", ""),
        ("BranchesMerged", "research", ""),
        ("NodeCompleted", "research/finish", ""),
        ("NodeCompleted", "research", ""),
        ("EdgeTaken", "research", "after"),
    ]
    (merge_starting,) = told(run, events.NodeStarting, path="trip/research/finish")
    (merge_completed,) = told(run, events.NodeCompleted, path="trip/research/finish")
    assert (merge_starting.input, merge_completed.output) == ((1, 2), [1, 2])


async def test_branches_have_their_places_and_times() -> None:
    """The place in the order of definition, and how long each took [AGT-03]."""
    run = await run_of(ALL, {"a": gives(1), "b": says("late", sleep=0.02)})

    assert [event.order for event in told(run, events.BranchStarting)] == [0, 1]
    late = told(run, events.BranchCompleted)[1]
    assert late.order == 1
    assert late.seconds > 0.015


async def test_interceptors_go_around_the_block_and_its_branches() -> None:
    """The block as one node, each branch's nodes besides [AGT-02]."""
    around: list[tuple[str, bool]] = []

    class Watch(Interceptor):
        async def around_node(
            self, context: Any, node: Any, value: Any, call: Callable[[Any], Awaitable[Any]]
        ) -> Any:
            around.append((node.path, context.is_root))
            return await call(value)

    class Watching:
        key = "Watching"
        subscriptions = ()
        interceptors = (Watch(),)

        def install(self, agent: Any) -> Watching:
            return self

        def bind(self, context: Any) -> None:
            return None

        async def close(self) -> None:
            return None

    agent = agent_of(block_of(ALL, {"a": gives(1), "b": gives(2)})[0])
    agent.install(Watching())
    await agent.run("x")

    assert around == [
        ("trip/before", True),
        ("trip/research", True),
        ("trip/research/a", False),
        ("trip/research/b", False),
        ("trip/after", True),
    ]


async def test_all_branches_count_in_one_counter() -> None:
    """As in Koog, whose forks share the state of the run [GRA-08]."""
    run = await run_of(ALL, {name: gives(name) for name in "abc"})

    assert run.iterations == 5
    with pytest.raises(MaxIterationsError):
        await agent_of(block_of(ALL, {name: gives(name) for name in "abc"})[0], max_iterations=3).run("x")


async def test_a_block_in_a_cycle_copies_what_the_run_has_then() -> None:
    """Each time it is entered [GRA-08]."""
    loop = kb.strategy("loop")

    async def grow(ctx: kb.Context, value: Any) -> int:
        seen = len(ctx.llm.committed.prompt)
        await says(f"{seen} before")(ctx, value)
        return seen

    block = loop.parallel("block", merge=merge(lambda results: results[0].output, history="append_all"))
    block.node(name="a")(grow)
    block.node(name="b")(grow)
    loop.start >> block
    loop.edge(block, block, when=lambda seen: seen < 4, label="again")
    loop.edge(block, loop.finish)

    run = await agent_of(loop).run("x")

    assert history(run) == ["0 before", "0 before", "2 before", "2 before", "4 before", "4 before"]


# ------------------------------------------------------------------------------------------- shared objects


async def test_what_has_no_copy_is_shared_and_said() -> None:
    """An open client is the same one in all branches, and the notice names its key once in a run [GRA-08]."""
    client = Client()
    trip = kb.strategy("trip")
    seen = []

    @trip.node
    async def before(ctx: kb.Context, value: Any) -> Any:
        ctx.storage.set(CLIENT, client)
        return value

    async def look(ctx: kb.Context, value: Any) -> None:
        seen.append(ctx.storage.get(CLIENT) is client)

    blocks = [trip.parallel(name, merge=ALL) for name in ("one", "two")]
    for block in blocks:
        block.node(name="a")(look)
        block.node(name="b")(look)
    trip.start >> before >> blocks[0] >> blocks[1] >> trip.finish
    run = await agent_of(trip).run("x")

    assert seen == [True] * 4
    ((_, text),) = notices(run, "storage key shared")
    assert text.startswith("there is no copy of the Client under the storage key 'client'")
    assert "saved" not in text
    assert stored(run, CLIENT) is client


async def test_an_unused_storage_is_not_decoded() -> None:
    """A copy decodes what is asked for [PRF-07]."""
    sizes = []

    async def look(ctx: kb.Context, value: Any) -> None:
        sizes.append(len(ctx.storage.used))
        ctx.storage.get(NOTES)
        sizes.append(len(ctx.storage.used))

    await run_of(ALL, {"a": look})

    assert sizes == [0, 1]


async def test_a_hundred_branches_leave_no_task() -> None:
    """And are merged in order [PRF-07]."""
    before = asyncio.all_tasks()
    run = await agent_of(
        block_of(ALL, {f"b{number}": says(str(number), sleep=0.001) for number in range(100)})[0],
        max_iterations=200,
    ).run("x")

    assert run.output == [str(number) for number in range(100)]
    assert asyncio.all_tasks() == before
