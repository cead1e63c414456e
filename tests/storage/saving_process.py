"""A program that saves checkpoints to a file; the tests start several of it at once.

``saving_process.py FILE store SESSION NAME COUNT`` appends to a store; ``... agent SESSION NAME COUNT`` runs an agent
of so many nodes; ``... hold SESSION`` takes a lease and waits to be killed; ``... fork`` forks with an open store.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time

from stored_values import draft, message

import koogbook as kb


async def append(path: str, session_id: str, name: str, count: int) -> None:
    """Append checkpoints to one session."""
    store = kb.SqliteCheckpoints(path)
    prompt = kb.Prompt(id="p")
    for number in range(count):
        prompt = prompt.append(message(f"{name} {number}"))
        await store.append_checkpoint(draft(session_id, f"{name} {number}", prompt=prompt))


async def run_agent(path: str, session_id: str, name: str, count: int) -> None:
    """Run an agent with a checkpoint after each of its node runs."""
    counting = kb.strategy("counting", input=int, output=int)

    @counting.node
    async def step(ctx: kb.Context, number: int) -> int:
        async with ctx.llm.write_session() as session:
            session.append(kb.user(f"{name} {number}"))
        return number + 1

    counting.start >> step
    counting.edge(step, step, when=lambda number: number < count, label="again")
    step >> counting.finish
    agent = kb.Agent(kb.OfflineExecutor(), "offline", counting, id=name, max_iterations=count)
    agent.install(kb.Persistence(kb.SqliteCheckpoints(path)))
    run = await agent.run(0, session_id=session_id)
    print(run.output, flush=True)


def hold(path: str, session_id: str) -> None:
    """Take the lease, say so, and stay."""
    store = kb.SqliteCheckpoints(path)
    print(store.take_lease(session_id, "theirs", 3_600.0), flush=True)
    time.sleep(60)


def fork(path: str) -> None:
    """Save in a process, in its forked child, and in the process again, with one store object.

    Ends with 1 where the child used the connection of its parent.
    """
    store = kb.SqliteCheckpoints(path)
    asyncio.run(store.append_checkpoint(draft("s", "parent before")))
    of_parent = store._file.connection
    child = os.fork()
    if not child:
        asyncio.run(store.append_checkpoint(draft("s", "child")))
        is_shared = store._file.connection is of_parent
        store.close()
        os._exit(is_shared)
    _, status = os.waitpid(child, 0)
    asyncio.run(store.append_checkpoint(draft("s", "parent after")))
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    file, mode, *rest = sys.argv[1:]
    match mode:
        case "store":
            asyncio.run(append(file, rest[0], rest[1], int(rest[2])))
        case "agent":
            asyncio.run(run_agent(file, rest[0], rest[1], int(rest[2])))
        case "hold":
            hold(file, rest[0])
        case "fork":
            fork(file)
