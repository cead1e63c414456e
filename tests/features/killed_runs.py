"""A program that runs an agent many times, each time in a forked process that is killed at another moment.

``killed_runs.py FOLDER event|statement|instant COUNT`` prints one line of JSON per kill: which versions were reported
as saved before it, what another process then finds in the file, and how the run ends when it is started again.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import koogbook as kb
from koogbook.errors import KoogbookError
from koogbook.events import CheckpointSaved, TombstoneSaved

_SEED = 20
_NODES = 6


def agent_on(path: Path, ran: list[int]) -> tuple[kb.Agent, kb.SqliteCheckpoints]:
    """An agent whose one node runs six times and whose history is compressed half way."""
    loop = kb.strategy("loop", input=int, output=int)

    @loop.node
    async def step(ctx: kb.Context, number: int) -> int:
        ran.append(number)
        async with ctx.llm.write_session() as session:
            session.append(kb.user(f"step {number} " + "x" * 400))
            if number == _NODES // 2:
                await session.replace_history_with_tldr()
        await asyncio.sleep(0)
        return number + 1

    loop.start >> step
    loop.edge(step, step, when=lambda number: number < _NODES, label="again")
    step >> loop.finish
    store = kb.SqliteCheckpoints(path)
    agent = kb.Agent(kb.ScriptedExecutor(lambda request: "TLDR"), "offline", loop, system_prompt="rules")
    return agent.install(kb.Persistence(store)), store


def run_and_die(path: Path, mode: str, at: int, report: int) -> None:
    """Run, report each version whose save has returned, and be killed at event or statement number ``at``."""
    agent, store = agent_on(path, [])
    counted = 0

    def count(*_: Any) -> None:
        nonlocal counted
        if counted == at:
            os.kill(os.getpid(), signal.SIGKILL)
        counted += 1

    def tell(event: Any) -> None:
        os.write(report, bytes([event.version]))

    agent.on(tell, CheckpointSaved, TombstoneSaved)
    if mode == "event":
        agent.on(count)
    if mode == "statement":
        store._file.connection.set_trace_callback(count)
    asyncio.run(agent.run(0, session_id="s"))
    os._exit(0)


def found_in(path: Path) -> dict[str, Any]:
    """What is in the file afterwards, and how the run ends when it is started again."""
    ran: list[int] = []
    agent, store = agent_on(path, ran)
    try:
        before = asyncio.run(store.get_checkpoints("s"))
        run = asyncio.run(agent.run(0, session_id="s"))
    except KoogbookError as problem:
        return {"error": f"{type(problem).__name__}: {problem}"}
    return {
        "versions": [one.info.version for one in before],
        "histories": [[message.text[:6] for message in one.messages] for one in before],
        "ended": bool(before) and before[-1].info.is_tombstone,
        "ran": ran,
        "output": run.output,
        "final": [message.text[:6] for message in run.prompt],
    }


def kill_one(path: Path, mode: str, at: int, instants: random.Random) -> dict[str, Any]:
    """Fork, let the child be killed, and look at what it left.

    At an instant means: after so many reported saves, and then a random part of what about two more steps take.
    """
    read_end, write_end = os.pipe()
    child = os.fork()
    if not child:
        os.close(read_end)
        run_and_die(path, mode, at, write_end)
    os.close(write_end)
    returned: list[int] = []
    if mode == "instant":
        for _ in range(instants.randrange(_NODES + 1)):
            returned += os.read(read_end, 1)
        time.sleep(instants.uniform(0.0, 0.002))
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with os.fdopen(read_end, "rb") as reported:
        returned += reported.read()
    return {
        "at": at,
        "killed": os.WIFSIGNALED(status),
        "returned": max(returned, default=-1),
        **found_in(path),
    }


if __name__ == "__main__":
    folder, how, most = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    seeded = random.Random(_SEED)
    for number in range(most):
        told = kill_one(folder / f"{number}.db", how, number, seeded)
        print(json.dumps(told), flush=True)
        if how != "instant" and not told["killed"]:
            break
