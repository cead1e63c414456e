"""The program of the kill-and-resume experiment: two nodes, a checkpoint between them, and a death in the second.

``persist_demo_program.py MODE SESSION AGENT``, with the database in the current folder. In mode ``save`` the process is
killed inside ``consume``; every other mode runs to the end.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from dataclasses import dataclass

import koogbook as kb


@dataclass
class SavedState:
    """What a checkpoint can hold."""

    customer: str
    count: int

    def __str__(self) -> str:
        return f"({self.customer}, {self.count})"


class Ephemeral:
    """What no checkpoint can hold."""


STATE = kb.storage_key("business-state", SavedState)
EPHEMERAL = kb.storage_key("ephemeral", Ephemeral)


async def main(mode: str, session_id: str, agent_id: str) -> None:
    """Run the strategy once and print what the nodes see."""
    disk = kb.SqliteCheckpoints("state/koogbook.db")
    executor = kb.OfflineExecutor()
    first_executed = False
    demo = kb.strategy("persist-demo", input=str, output=str)

    @demo.node
    async def prepare(ctx: kb.Context, text: str) -> str:
        nonlocal first_executed
        first_executed = True
        print(
            f"PREPARE pid={os.getpid()} agent={ctx.agent_id} session={ctx.session_id} input={text}",
            flush=True,
        )
        ctx.storage.set(STATE, SavedState("Alice", 42))
        ctx.storage.set(EPHEMERAL, Ephemeral())
        return f"prepared:{text}"

    @demo.node
    async def consume(ctx: kb.Context, previous: str) -> str:
        if mode == "save":
            saved = await disk.get_latest_checkpoint(ctx.session_id)
            assert saved is not None
            keys = ", ".join(sorted(saved.storage))
            print(f"SAVED node={saved.info.node_path} keys=[{keys}]", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        state = ctx.storage.get_value(kb.storage_key("business-state", SavedState))
        readable = ctx.storage.get(EPHEMERAL) is not None
        print(
            f"RESTORED pid={os.getpid()} agent={ctx.agent_id} session={ctx.session_id} state={state} "
            f"previous={previous} firstExecuted={str(first_executed).lower()}"
        )
        print(f"EPHEMERAL readable={str(readable).lower()}")
        return previous

    demo.start >> prepare >> consume >> demo.finish
    agent = kb.Agent(executor, "offline", demo, id=agent_id, max_iterations=30)
    agent.install(kb.Persistence(disk, resume="auto"))
    run = await agent.run("ORIGINAL" if mode == "save" else "NEW-IGNORED", session_id=session_id)
    print(f"RESULT {run.output}")
    print(f"REQUESTS {len(executor.prompts)}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
