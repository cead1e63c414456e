"""A program that keeps tool executions in a file; the tests start several of it at once, or kill it.

``journalling_process.py FILE store NAME COUNT`` begins and ends so many; ``... hang`` runs an agent whose tool says
that it runs and never ends.
"""

from __future__ import annotations

import asyncio
import sys

import koogbook as kb
from koogbook.features.tool_journal import ToolJournal
from koogbook.storage.sqlite_journal import SqliteJournal
from koogbook.tools.journal import ToolExecution


async def store(path: str, name: str, count: int) -> None:
    """Begin and end executions of one session."""
    journal = SqliteJournal(path)
    for at in range(count):
        number = await journal.begin(
            ToolExecution(
                number=0, session_id="s", run_id=name, path="", call_id=None, tool="t", args=str(at)
            )
        )
        await journal.end("s", number, status="succeeded", output=f"{name} {at}", error="", seconds=0.0)


async def hang(path: str) -> None:
    """Run a tool that waits to be killed."""

    async def book(city: str) -> str:
        """Book a hotel."""
        print("running", flush=True)
        await asyncio.sleep(60)
        return city

    executor = kb.ScriptedExecutor(
        lambda request: kb.assistant(calls=[kb.ToolCall("book", '{"city":"Bonn"}', "c1")])
    )
    agent = kb.Agent(executor, "offline", tools=[book], id="killed")
    agent.install(kb.Persistence(kb.SqliteCheckpoints(path)))
    agent.install(ToolJournal(SqliteJournal(path)))
    await agent.run("go", session_id="s")


if __name__ == "__main__":
    file, mode, *rest = sys.argv[1:]
    asyncio.run(hang(file) if mode == "hang" else store(file, rest[0], int(rest[1])))
