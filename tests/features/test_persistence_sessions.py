"""One session id is run by one run at a time, in this process and over processes."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from persisted_runs import Boom, PlainCheckpoints, Trip, notices

import koogbook as kb
from koogbook import clock
from koogbook.errors import LostLeaseError, SessionBusyError, StoreError

HOLDER = """
import sys, time
import koogbook as kb
kb.SqliteCheckpoints(sys.argv[1]).take_lease("s", "theirs", 3600.0)
print("held", flush=True)
time.sleep(60)
"""


@asynccontextmanager
async def held_elsewhere(store: kb.SqliteCheckpoints) -> AsyncIterator[subprocess.Popen[str]]:
    """Another process that holds session ``s`` of this file."""
    process = subprocess.Popen(  # noqa: ASYNC220 - starting it is quick
        [sys.executable, "-c", HOLDER, store.path], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


async def let_others_run(ctx: kb.Context) -> None:
    """A node that waits for a moment."""
    await asyncio.sleep(0)


# ------------------------------------------------------------------------------------------- in one process


async def test_two_runs_of_one_session_wait_for_each_other(store: Any) -> None:
    """The second one starts when the first one has ended, and starts afresh [PER-05c]."""
    trip = Trip(store, during={"book": let_others_run})

    first, second = await asyncio.gather(trip.run("Rome"), trip.run("Oslo"))

    assert [text for _, text in trip.ran[3:]] == ["Oslo", "plan(Oslo)", "book(plan(Oslo))"]
    assert [len(notices(run, "waiting for session")) for run in (first, second)] == [0, 1]


async def test_two_agents_with_one_store_wait_for_each_other(store: Any) -> None:
    """The session belongs to the store and the id, not to the agent [PER-05c]."""
    one, other = Trip(store, during={"book": let_others_run}), Trip(store)

    await asyncio.gather(one.run("Rome"), other.run("Oslo"))

    kinds = [found.info.kind for found in await store.get_checkpoints("s")]
    assert kinds == ["node", "node", "node", "tombstone"] * 2


async def test_two_store_objects_on_one_file_are_one_store(sqlite: kb.SqliteCheckpoints) -> None:
    """The lock in this process is on the file [PER-05c]."""
    one = Trip(sqlite, during={"book": let_others_run})
    other = Trip(kb.SqliteCheckpoints(sqlite.path))

    _, second = await asyncio.gather(one.run("Rome"), other.run("Oslo"))

    assert len(notices(second, "waiting for session")) == 1


async def test_runs_of_different_sessions_do_not_wait(store: Any) -> None:
    """Their nodes take turns [PER-05c]."""
    meet = asyncio.Barrier(2)

    async def wait(ctx: kb.Context) -> None:
        await asyncio.wait_for(meet.wait(), 5)

    trip = Trip(store, during={"book": wait})

    runs = await asyncio.gather(trip.run(session_id="a"), trip.run(session_id="b"))

    assert [run.output for run in runs] == ["pay(book(plan(Rome)))"] * 2


async def test_a_run_inside_a_run_of_its_own_session_is_refused(store: Any) -> None:
    """It would wait for itself; the outer run goes on when it catches that [PER-05c]."""
    refused: list[str] = []

    async def nest(ctx: kb.Context) -> None:
        with pytest.raises(SessionBusyError) as caught:
            await Trip(store).run()
        refused.append(str(caught.value))

    run = await Trip(store, during={"book": nest}).run()

    assert "would wait for itself" in refused[0]
    assert run.output == "pay(book(plan(Rome)))"


async def test_a_run_inside_a_run_of_another_session_is_fine(store: Any) -> None:
    """Agents may use agents [PER-05c]."""
    inner = Trip(store)

    async def nest(ctx: kb.Context) -> None:
        await inner.run(session_id="inner")

    await Trip(store, during={"book": nest}).run()

    assert len(inner.ran) == 3


async def test_a_task_that_outlives_its_run_may_run_the_session_later(store: Any) -> None:
    """What it inherited from the node that started it is over [PER-05c]."""
    done = asyncio.Event()
    tasks: list[asyncio.Task[kb.Run]] = []

    async def later() -> kb.Run:
        await done.wait()
        return await Trip(store).run("Oslo")

    async def start(ctx: kb.Context) -> None:
        tasks.append(asyncio.create_task(later()))

    await Trip(store, during={"book": start}).run()
    done.set()

    assert (await tasks[0]).output == "pay(book(plan(Oslo)))"


@pytest.mark.parametrize("error", [Boom, asyncio.CancelledError, KeyboardInterrupt])
async def test_a_run_that_ends_badly_lets_go_of_its_session(store: Any, error: type[BaseException]) -> None:
    """Whatever ended it [PER-05c]."""

    async def fail(ctx: kb.Context) -> None:
        raise error

    with suppress(error):
        await Trip(store, during={"book": fail}).run()

    assert (await Trip(store).run()).output == "pay(book(plan(Rome)))"


async def test_a_refused_start_lets_go_of_its_session(store: Any) -> None:
    """An error before the first node as well [PER-05c]."""
    await Trip(store).crash("Rome")
    with pytest.raises(kb.errors.UnfinishedRunError):
        await Trip(store).run("Oslo")

    assert (await Trip(store).run("Rome")).resumed


async def test_without_a_storage_nothing_is_held() -> None:
    """A nested run of the same id is nobody's business then [PER-05c]."""
    inner = Trip()

    async def nest(ctx: kb.Context) -> None:
        await inner.run()

    await Trip(during={"book": nest}).run()

    assert len(inner.ran) == 3


# ------------------------------------------------------------------------------------------- over processes


async def test_a_session_that_another_process_runs_is_busy(sqlite: kb.SqliteCheckpoints) -> None:
    """The error names the process, and no node ran [PER-05c]."""
    trip = Trip(sqlite)

    async with held_elsewhere(sqlite) as holder:
        with pytest.raises(SessionBusyError, match=f"by process {holder.pid} on "):
            await trip.run()

    assert trip.ran == []


async def test_other_sessions_of_the_file_are_free(sqlite: kb.SqliteCheckpoints) -> None:
    """A lease is for one session id [PER-05c]."""
    async with held_elsewhere(sqlite):
        run = await Trip(sqlite).run(session_id="another")

    assert run.output == "pay(book(plan(Rome)))"


async def test_a_dead_holders_session_is_taken_over(sqlite: kb.SqliteCheckpoints) -> None:
    """At once, although its lease lasts for an hour [PER-05c]."""
    async with held_elsewhere(sqlite):
        pass

    assert (await Trip(sqlite).run()).output == "pay(book(plan(Rome)))"


async def test_a_busy_session_can_be_waited_for(
    sqlite: kb.SqliteCheckpoints, fixed_clock: kb.FixedClock
) -> None:
    """``on_busy="wait"`` says so once and runs when the other one is gone [PER-05c]."""
    trip = Trip(sqlite, on_busy="wait")

    async with held_elsewhere(sqlite) as holder:
        running = asyncio.create_task(trip.run())
        await asyncio.sleep(0.05)
        assert trip.ran == []
        holder.kill()
        run = await asyncio.wait_for(running, 10)

    assert run.output == "pay(book(plan(Rome)))"
    assert len(notices(run, "waiting for session")) == 1


async def test_a_run_that_lost_its_session_saves_nothing_more(sqlite: kb.SqliteCheckpoints) -> None:
    """Blocked for longer than its lease, and taken over meanwhile: the next save stops it [PER-05c]."""

    async def block(ctx: kb.Context) -> None:
        with clock.use(kb.FixedClock(datetime(2999, 1, 1, tzinfo=UTC))):
            kb.SqliteCheckpoints(sqlite.path).take_lease("s", "thief", 30.0)

    trip = Trip(sqlite, during={"book": block}, on_save_error="log")

    with pytest.raises(LostLeaseError, match="lost session 's'"):
        await trip.run()

    assert [info.path for info in sqlite.list_infos("s")] == ["trip/plan"]
    assert [name for name, _ in trip.ran] == ["plan", "book"]


async def test_a_run_that_was_blocked_and_not_taken_over_goes_on(
    sqlite: kb.SqliteCheckpoints, fixed_clock: kb.FixedClock
) -> None:
    """Its lease ran out, and nobody minded [PER-05c]."""

    async def block(ctx: kb.Context) -> None:
        with sqlite3.connect(sqlite.path) as db:
            db.execute("UPDATE lease SET expires = 0")
        db.close()

    assert (await Trip(sqlite, during={"book": block}).run()).output == "pay(book(plan(Rome)))"


async def test_a_long_run_renews_its_lease(sqlite: kb.SqliteCheckpoints, fixed_clock: kb.FixedClock) -> None:
    """An hour in a node does not make the session free for others [PER-05c]."""
    asked: list[Any] = []

    async def wait(ctx: kb.Context) -> None:
        fixed_clock.advance(3_600.0)
        asked.append(kb.SqliteCheckpoints(sqlite.path).take_lease("s", "thief", 30.0))

    await Trip(sqlite, during={"book": wait}).run()

    assert asked[0].pid == os.getpid()


async def test_a_renewal_finds_out_that_the_session_is_lost(
    sqlite: kb.SqliteCheckpoints, fixed_clock: kb.FixedClock
) -> None:
    """A notice before the save that fails [PER-05c]."""

    async def lose(ctx: kb.Context) -> None:
        with clock.use(kb.FixedClock(datetime(2999, 1, 1, tzinfo=UTC))):
            kb.SqliteCheckpoints(sqlite.path).take_lease("s", "thief", 30.0)
        fixed_clock.advance(60.0)

    trip = Trip(sqlite, during={"book": lose})

    with pytest.raises(LostLeaseError):
        await trip.run()

    assert len(notices(trip.agent.last_run, "lease lost")) == 1


async def test_a_renewal_that_cannot_be_written_is_tried_again(
    sqlite: kb.SqliteCheckpoints, fixed_clock: kb.FixedClock
) -> None:
    """Somebody writes for twelve seconds: said, and the lease is kept [PER-05c]."""
    asked: list[Any] = []

    async def wait(ctx: kb.Context) -> None:
        other = sqlite3.connect(sqlite.path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        fixed_clock.advance(12.0)
        other.close()
        fixed_clock.advance(25.0)
        asked.append(kb.SqliteCheckpoints(sqlite.path).take_lease("s", "thief", 30.0))

    run = await Trip(sqlite, during={"book": wait}).run()

    assert asked[0] is not None
    assert len(notices(run, "lease not renewed")) > 0


async def test_a_start_waits_for_another_writer(sqlite: kb.SqliteCheckpoints) -> None:
    """The lease is asked for again until the file is free [PER-05c]."""
    sqlite.list_infos()
    other = sqlite3.connect(sqlite.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    running = asyncio.create_task(Trip(sqlite).run())
    await asyncio.sleep(0.03)
    other.close()

    assert (await running).output == "pay(book(plan(Rome)))"


async def test_a_start_gives_up_on_a_file_that_stays_locked(
    sqlite: kb.SqliteCheckpoints, fixed_clock: kb.FixedClock
) -> None:
    """After ten seconds, and no node ran [PER-05c]."""
    sqlite.list_infos()
    other = sqlite3.connect(sqlite.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    trip = Trip(sqlite)

    with pytest.raises(StoreError, match="could not be reserved"):
        await trip.run()
    other.close()

    assert trip.ran == []


async def test_a_lease_that_cannot_be_released_does_not_cost_the_output(
    sqlite: kb.SqliteCheckpoints, fixed_clock: kb.FixedClock
) -> None:
    """The run has completed; what is left behind is said, and this process may go on at once [PER-05c]."""
    other = sqlite3.connect(sqlite.path, isolation_level=None)

    def lock(event: kb.events.Event) -> None:
        other.execute("BEGIN IMMEDIATE")

    trip = Trip(sqlite)
    trip.agent.on(lock, kb.events.TombstoneSaved)
    run = await trip.run()
    other.close()

    assert run.output == "pay(book(plan(Rome)))"
    assert len(notices(run, "lease not released")) == 1
    assert (await Trip(sqlite).run("Oslo")).output == "pay(book(plan(Oslo)))"


async def test_a_run_that_is_thrown_away_lets_go_of_its_session(tmp_path: Path) -> None:
    """A coroutine that nobody finishes is closed without a loop, and its lease goes with it [PER-05c]."""
    store = kb.SqliteCheckpoints(tmp_path / "kb.db")

    async def wait(ctx: kb.Context) -> None:
        await asyncio.sleep(0)

    running = Trip(store, during={"book": wait}).run()
    running.send(None)
    running.close()

    assert (await Trip(store).run()).resumed


async def test_two_processes_with_the_same_ids_have_different_tokens(
    sqlite: kb.SqliteCheckpoints, fixed_clock: kb.FixedClock
) -> None:
    """Ids from a seed must not let one holder pass for the other [PER-05c]."""
    seen: list[Any] = []

    async def look(ctx: kb.Context) -> None:
        seen.append(kb.SqliteCheckpoints(sqlite.path).take_lease("s", "mine", 30.0))

    await Trip(sqlite, during={"book": look}).run()

    assert seen[0].token.startswith(f"{os.getpid()}-")


async def test_a_store_without_leases_is_held_in_this_process_only() -> None:
    """The plain protocol has none, and nothing fails for that [PER-05c]."""
    store = PlainCheckpoints()
    trip = Trip(store, during={"book": let_others_run})

    await asyncio.gather(trip.run("Rome"), trip.run("Oslo"))

    assert [one.info.version for one in store.saved] == list(range(8))
