"""A parallel block in a run that is saved: it is one node, before and after a restart."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from persisted_runs import CLIENT, Boom, Client, notices

import koogbook as kb
from koogbook.errors import IncompatibleCheckpointError
from koogbook.events import CheckpointSaved
from koogbook.runtime.parallel.merges import fold, select_by_max
from koogbook.runtime.parallel.policies import union

NOTES = kb.storage_key("notes", list[str])
ALL = fold(
    "",
    lambda text, output: text + output,
    history="append_all",
    storage=union(lambda name, values: _all(values)),
)


def _all(values: Any) -> list[str]:
    return sorted({note for value in values for note in value})


class Trips:
    """An agent of ``plan``, the blocks ``research`` and ``booking`` of two branches each, and ``pay``.

    The node whose name is in ``broken`` fails. ``ran`` are the names of the nodes that ran.
    """

    def __init__(self, store: Any, merge: Any = ALL, **options: Any) -> None:
        self.ran: list[str] = []
        self.broken = ""
        self.client = False
        trip = kb.strategy("trip", input=str, output=str)
        plan, pay = self._node(trip, "plan"), self._node(trip, "pay")
        blocks = []
        for name, branches in (("research", ("museums", "parks")), ("booking", ("train", "hotel"))):
            block = trip.parallel(name, merge=merge, input=str, output=str)
            for branch in branches:
                self._node(block, branch)
            blocks.append(block)
        trip.start >> plan >> blocks[0] >> blocks[1] >> pay >> trip.finish
        self.agent = kb.Agent(kb.OfflineExecutor(), "offline", trip, system_prompt="rules")
        self.agent.install(kb.Persistence(store, **options))

    def _node(self, graph: Any, name: str) -> Any:
        async def step(ctx: kb.Context, text: str) -> str:
            self.ran.append(name)
            if name == self.broken:
                raise Boom(name)
            async with ctx.llm.write_session() as session:
                session.append(kb.user(f"{name} {text}"))
            ctx.storage.set(NOTES, [*(ctx.storage.get(NOTES) or []), name])
            if self.client and name == "museums":
                ctx.storage.set(CLIENT, Client())
            return f"{name[0]}"

        return graph.node(name=name)(step)

    async def run(self) -> kb.Run:
        """Run it, or go on."""
        self.ran.clear()
        return await self.agent.run("Rome", session_id="s")

    async def crash(self, at: str) -> kb.Run:
        """Run it until a node fails."""
        self.broken = at
        with pytest.raises(Boom):
            await self.run()
        self.broken = ""
        assert self.agent.last_run is not None
        return self.agent.last_run


def state(run: kb.Run) -> tuple[Any, ...]:
    """History, storage and count of iterations that a run ended with."""
    return [one.text for one in run.prompt.messages], run.storage.get(NOTES), run.iterations


def saved(run: kb.Run | None) -> list[str]:
    """The paths after which checkpoints were saved."""
    assert run is not None
    return [event.path for event in run.events if isinstance(event, CheckpointSaved)]


async def test_a_block_is_saved_as_one_node(store: Any) -> None:
    """Nodes in branches save nothing: Koog's branches all compute the same next version and collide [PER-21]."""
    trips = Trips(store)
    run = await trips.run()

    assert saved(run) == ["trip/plan", "trip/research", "trip/booking", "trip/pay"]
    checkpoints = await store.get_checkpoints("s")
    assert [one.info.version for one in checkpoints] == [0, 1, 2, 3, 4]


async def test_what_is_stored_after_a_block_is_what_goes_on(store: Any) -> None:
    """With messages of all branches, storage of all, and all iterations [PER-21]."""
    trips = Trips(store)
    crashed = await trips.crash("train")
    _, stored = (await store.get_checkpoints("s"))[:2]

    assert [one.text for one in stored.messages] == ["rules", "plan Rome", "museums p", "parks p"]
    assert stored.storage["notes"] == b'["museums","parks","plan"]'
    assert (stored.info.path, stored.info.iterations, stored.output) == ("trip/research", 3, b'"mp"')
    assert [one.text for one in crashed.prompt.messages] == [one.text for one in stored.messages]


@pytest.mark.parametrize("merge", [ALL, select_by_max(len)])
async def test_a_resume_goes_on_behind_the_block(store: Any, merge: Any) -> None:
    """And ends as a run that was never stopped, whatever the merge hands over [PER-21]."""
    whole = await Trips(kb.MemoryCheckpoints(), merge).run()
    await Trips(store, merge).crash("train")
    trips = Trips(store, merge)
    resumed = await trips.run()

    assert trips.ran == ["train", "hotel", "pay"]
    assert (resumed.output, *state(resumed)) == (whole.output, *state(whole))
    assert saved(resumed) == ["trip/booking", "trip/pay"]


@pytest.mark.parametrize("at", ["museums", "parks"])
async def test_a_failure_in_the_block_runs_all_of_it_again(store: Any, at: str) -> None:
    """Branches that had ended too: the block is the unit of resume [PER-21]."""
    trips = Trips(store)
    crashed = await trips.crash(at)
    assert saved(crashed) == ["trip/plan"]

    resumed = await trips.run()

    assert trips.ran == ["museums", "parks", "train", "hotel", "pay"]
    assert state(resumed) == state(await Trips(kb.MemoryCheckpoints()).run())


async def test_a_second_block_begins_with_what_the_first_one_gave(store: Any) -> None:
    """Histories add up in order [PER-21]."""
    run = await Trips(store).run()

    assert state(run)[0] == [
        "rules",
        "plan Rome",
        "museums p",
        "parks p",
        "train mp",
        "hotel mp",
        "pay th",
    ]
    assert state(run)[1] == ["hotel", "museums", "parks", "plan", "train", "pay"]


async def test_an_object_that_a_branch_made_and_no_checkpoint_can_hold_is_told(store: Any) -> None:
    """It goes on in this run, and after a restart it is missing, as from any node [PER-03]."""
    trips = Trips(store)
    trips.client = True
    crashed = await trips.crash("pay")

    assert len(notices(crashed, "storage key left out")) == 1
    assert isinstance(crashed.storage.get(CLIENT), Client)
    assert (await trips.run()).storage.get(CLIENT) is None


async def test_sqlite_adds_only_what_the_branches_added(sqlite: kb.SqliteCheckpoints) -> None:
    """The run's history goes on where it was, so that no message is written twice [PER-21]."""
    run = await Trips(sqlite).run()
    changes = [
        (event.replaced, event.messages - event.messages_before)
        for event in run.events
        if isinstance(event, kb.events.PromptChanged) and event.context == "trip"  # type: ignore[attr-defined]
    ]

    assert changes == [(False, 1), (False, 2), (False, 2), (False, 1)]


PROGRAM = """
import asyncio, os, signal, sys
import koogbook as kb
from pathlib import Path
from koogbook.runtime.parallel.merges import fold

folder, kill = Path(sys.argv[1]), sys.argv[2] == "kill"
trip = kb.strategy("trip", input=str, output=str)
block = trip.parallel(
    "research", merge=fold("", lambda text, one: text + one, history="append_all"), input=str, output=str
)
def make(name):
    async def branch(ctx, text):
        with (folder / name).open("a") as effects:
            effects.write("x")
        if kill and name == "c":
            await asyncio.sleep(0.05)
            os.kill(os.getpid(), signal.SIGKILL)
        async with ctx.llm.write_session() as session:
            session.append(kb.user(name))
        return name
    block.node(name=name)(branch)
for name in "abc":
    make(name)
trip.start >> block >> trip.finish
agent = kb.Agent(kb.OfflineExecutor(), "offline", trip)
agent.install(kb.Persistence(kb.SqliteCheckpoints(folder / "kb.db"), on_busy="wait"))
run = agent.run_sync("x", session_id="s")
print(run.output, [one.text for one in run.prompt.messages], run.resumed)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the program kills itself")
def test_a_process_that_is_killed_in_a_block_runs_it_again(tmp_path: Path) -> None:
    """In another process, from the state before the block; effects of branches are done again [PER-21]."""
    program = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    killed = subprocess.run([*program, "kill"], capture_output=True, text=True, timeout=60, check=False)
    assert killed.returncode < 0, killed.stderr

    again = subprocess.run([*program, "run"], capture_output=True, text=True, timeout=60, check=False)

    assert again.stdout.strip() == "abc ['a', 'b', 'c'] False", again.stderr
    assert [(tmp_path / name).read_text() for name in "abc"] == ["xx", "xx", "xx"]


async def test_a_subgraph_that_became_a_block_does_not_go_on_in_the_middle(store: Any) -> None:
    """A checkpoint from inside of it has no place in a block, whose branches begin together [PER-08]."""

    def agent(*, as_block: bool) -> kb.Agent:
        trip = kb.strategy("trip", input=str, output=str)
        graph: Any = (
            trip.parallel("research", merge=ALL, input=str, output=str)
            if as_block
            else trip.subgraph("research", input=str, output=str)
        )

        async def museums(ctx: kb.Context, text: str) -> str:
            return text

        async def parks(ctx: kb.Context, text: str) -> str:
            raise Boom

        first, second = graph.node(museums), graph.node(parks)
        if not as_block:
            graph.start >> first >> second >> graph.finish
        trip.start >> graph >> trip.finish
        return kb.Agent(kb.OfflineExecutor(), "offline", trip).install(kb.Persistence(store))

    with pytest.raises(Boom):
        await agent(as_block=False).run("x", session_id="s")
    with pytest.raises(IncompatibleCheckpointError, match="trip/research is a parallel block now"):
        await agent(as_block=True).run("x", session_id="s")
