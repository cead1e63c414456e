"""One session on several event loops, and runs that would wait for each other for ever."""

from __future__ import annotations

import asyncio
import gc
import re
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from persisted_runs import PlainCheckpoints, Trip, notices

import koogbook as kb
from koogbook.errors import SessionBusyError
from koogbook.events import Event, Notice

LONGEST = 30.0  # seconds: how long a test waits for what would hang; a busy machine is no fault

STORES: dict[str, Callable[[Path], tuple[Any, Any]]] = {
    "memory": lambda folder: (kb.MemoryCheckpoints(),) * 2,
    "plain": lambda folder: (PlainCheckpoints(),) * 2,
    "one object on a file": lambda folder: (kb.SqliteCheckpoints(folder / "kb.db"),) * 2,
    "two objects on a file": lambda folder: (
        kb.SqliteCheckpoints(folder / "kb.db"),
        kb.SqliteCheckpoints(folder / "kb.db"),
    ),
}


class OnThread:
    """A coroutine that runs on an event loop of its own, in a thread of its own."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        self.result: Any = None
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    def _run(self, work: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        try:
            self.result = asyncio.run(work())
        except Exception as problem:
            self.result = problem

    def ended(self) -> Any:
        """What it gave or raised; None where it goes on for ever."""
        self._thread.join(LONGEST)
        return self.result


async def until(flag: threading.Event) -> None:
    """Wait for something that happens on another thread."""
    async with asyncio.timeout(LONGEST):
        while not flag.is_set():  # noqa: ASYNC110 - an asyncio.Event belongs to one loop
            await asyncio.sleep(0.002)


@pytest.mark.parametrize("kind", STORES)
def test_two_event_loops_that_run_one_session_wait_for_each_other(kind: str, tmp_path: Path) -> None:
    """A second run of this process waits on whatever thread it is, and is not refused [PER-05c]."""
    stores = STORES[kind](tmp_path)
    is_inside, is_waiting = threading.Event(), threading.Event()

    async def stay(ctx: kb.Context) -> None:
        is_inside.set()
        await until(is_waiting)

    def hear(event: Event) -> None:
        if isinstance(event, Notice) and event.kind == "waiting for session":
            is_waiting.set()

    first, second = Trip(stores[0], during={"book": stay}), Trip(stores[1])
    second.agent.on(hear)
    one = OnThread(lambda: first.run("Rome", "same"))
    assert is_inside.wait(LONGEST)
    other = OnThread(lambda: second.run("Oslo", "same"))

    assert [one.ended().output, other.ended().output] == ["pay(book(plan(Rome)))", "pay(book(plan(Oslo)))"]
    kinds = [found.info.kind for found in asyncio.run(stores[0].get_checkpoints("same"))]
    assert kinds == ["node", "node", "node", "tombstone"] * 2


@pytest.mark.parametrize("kind", STORES)
def test_four_event_loops_share_one_agents_sessions(kind: str, tmp_path: Path) -> None:
    """Each session's versions are whole, whoever saved when [PER-21]."""
    store = STORES[kind](tmp_path)[0]
    trip = Trip(store)

    async def work() -> None:
        for number in range(8):
            await trip.run("Rome", f"s{number % 3}")

    threads = [OnThread(work) for _ in range(4)]
    assert [thread.ended() for thread in threads] == [None] * 4

    found = [len(asyncio.run(store.get_checkpoints(f"s{number}"))) for number in range(3)]
    assert found == [48, 48, 32]


async def test_a_run_that_stops_waiting_lets_the_next_one_have_its_turn(store: Any) -> None:
    """A cancelled one in the line holds nobody up [PER-05c]."""
    trip = Trip(store, during={"book": lambda ctx: asyncio.sleep(0.01)})
    first, second, third = (asyncio.create_task(trip.run(place)) for place in ("Rome", "Oslo", "Bern"))
    await asyncio.sleep(0)
    second.cancel()

    await asyncio.wait([first, second, third], timeout=LONGEST)

    assert (second.cancelled(), third.result().output) == (True, "pay(book(plan(Bern)))")


async def test_runs_of_one_session_have_their_turns_in_order(store: Any) -> None:
    """First come, first served [PER-05c]."""
    trip = Trip(store, during={"book": lambda ctx: asyncio.sleep(0)})
    places = ["Rome", "Oslo", "Bern", "Riga", "Lima"]

    await asyncio.gather(*(trip.run(place) for place in places))

    assert [text for name, text in trip.ran if name == "plan"] == places


async def test_a_loop_that_was_stopped_in_the_line_holds_nobody_up(store: Any) -> None:
    """What waits on it never takes its turn [PER-05c]."""
    trip = Trip(store, during={"book": lambda ctx: asyncio.sleep(0.05)})
    first = asyncio.create_task(trip.run("Rome"))
    await asyncio.sleep(0)
    stopped = asyncio.new_event_loop()

    def begin_and_stop() -> asyncio.Task[kb.Run]:
        waiting = stopped.create_task(trip.run("Oslo"))
        stopped.run_until_complete(asyncio.sleep(0.001))
        return waiting

    waiting = await asyncio.to_thread(begin_and_stop)
    third = await asyncio.wait_for(trip.run("Bern"), LONGEST)

    assert (first.done(), waiting.done(), third.output) == (True, False, "pay(book(plan(Bern)))")
    waiting.cancel()
    await asyncio.to_thread(
        lambda: stopped.run_until_complete(asyncio.gather(waiting, return_exceptions=True))
    )
    stopped.close()


async def test_a_waiting_run_that_is_thrown_away_leaves_the_line(store: Any) -> None:
    """The collector closes it, and the session is free when its run has ended [PER-05c]."""
    trip = Trip(store, during={"book": lambda ctx: asyncio.sleep(0)})
    first = asyncio.create_task(trip.run("Rome"))
    await asyncio.sleep(0)
    abandoned = trip.run("Oslo")
    abandoned.send(None)
    del abandoned
    gc.collect()

    await first
    assert (await asyncio.wait_for(trip.run("Bern"), LONGEST)).output == "pay(book(plan(Bern)))"


# ------------------------------------------------------------------------------------------- crossed waits


class Crossing:
    """Agents whose ``book`` runs another session inside, once all of them are at that point."""

    def __init__(self, stores: list[Any], sessions: list[str]) -> None:
        self.refused: list[str] = []
        self._here = 0
        self._counting = threading.Lock()
        self._all_here = threading.Event()
        self._count = len(sessions)
        self.runs = [
            lambda store=store, own=own, inner=inner: Trip(
                store, during={"book": self._nest(store, inner)}
            ).run("Rome", own)
            for store, own, inner in zip(stores, sessions, [*sessions[1:], sessions[0]], strict=True)
        ]

    def _nest(self, store: Any, session_id: str) -> Callable[[kb.Context], Any]:
        async def nest(ctx: kb.Context) -> None:
            with self._counting:
                self._here += 1
                if self._here == self._count:
                    self._all_here.set()
            await until(self._all_here)
            try:
                await Trip(store).run("Oslo", session_id)
            except SessionBusyError as problem:
                self.refused.append(str(problem))

        return nest


@pytest.mark.parametrize("sessions", [["s0", "s1"], ["s0", "s1", "s2"]])
async def test_crossed_nested_runs_are_refused_and_do_not_wait_for_ever(
    store: Any, sessions: list[str]
) -> None:
    """The one that would close the circle is told which sessions wait for each other; the others go on [PER-05c]."""
    crossing = Crossing([store] * len(sessions), sessions)

    async with asyncio.timeout(LONGEST):
        runs = await asyncio.gather(*(run() for run in crossing.runs))

    assert [run.output for run in runs] == ["pay(book(plan(Rome)))"] * len(sessions)
    assert len(crossing.refused) == 1
    assert re.match(
        r"A run of session 's\d' was started from inside a run of session 's\d'", crossing.refused[0]
    )


@pytest.mark.parametrize("kind", STORES)
def test_crossed_nested_runs_on_two_event_loops_are_refused(kind: str, tmp_path: Path) -> None:
    """Over threads as on one loop [PER-05c]."""
    crossing = Crossing(list(STORES[kind](tmp_path)), ["s0", "s1"])

    threads = [OnThread(run) for run in crossing.runs]

    assert [thread.ended().output for thread in threads] == ["pay(book(plan(Rome)))"] * 2
    assert len(crossing.refused) == 1


async def test_an_inner_run_waits_for_a_session_that_waits_for_nobody(store: Any) -> None:
    """Only circles are refused [PER-05c]."""
    other = asyncio.create_task(
        Trip(store, during={"book": lambda ctx: asyncio.sleep(0.01)}).run("Rome", "inner")
    )
    await asyncio.sleep(0)
    inner: list[kb.Run] = []

    async def nest(ctx: kb.Context) -> None:
        inner.append(await Trip(store).run("Oslo", "inner"))

    await Trip(store, during={"book": nest}).run("Rome", "outer")

    assert (await other).output == "pay(book(plan(Rome)))"
    assert len(notices(inner[0], "waiting for session")) == 1


# ------------------------------------------------------------------------------------------- forks


async def test_a_fork_onto_a_session_that_a_run_holds_is_refused(store: Any) -> None:
    """The run would save over it; nothing is changed [PER-20]."""
    first = await Trip(store).crash()
    assert first.last_checkpoint is not None
    origin = first.last_checkpoint.id
    refused: list[str] = []

    async def fork(ctx: kb.Context) -> None:
        with pytest.raises(SessionBusyError) as caught:
            await Trip(store).agent.fork("s", origin, to="t")
        refused.append(str(caught.value))

    await Trip(store, during={"plan": fork}).run("Oslo", "t")

    assert "Session 't' is being run" in refused[0]
    assert [one.info.kind for one in await store.get_checkpoints("t")] == [
        "node",
        "node",
        "node",
        "tombstone",
    ]


async def test_after_a_refused_fork_the_session_is_free(store: Any) -> None:
    """The reservation goes with the error [PER-20]."""
    with pytest.raises(kb.errors.CheckpointNotFoundError):
        await Trip(store).agent.fork("s", "unheard of", to="t")

    assert (await asyncio.wait_for(Trip(store).run("Oslo", "t"), LONGEST)).output == "pay(book(plan(Oslo)))"
