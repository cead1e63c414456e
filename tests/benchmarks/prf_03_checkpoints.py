"""PRF-03 and PRF-04: a checkpoint after each step of a growing conversation; time, size and growth."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Literal

import floors
import peers
from harness import Bound, Case, Column, Measures, Rows, Table
from workload import SAVED_STEPS, TEXTS, bytes_in, fresh_folder, summed_up

import koogbook as kb
from koogbook.llm.write_session import LLMWriteSession
from koogbook.messages.codec import encode_message
from koogbook.messages.message import SUMMARY_NAME

NORMAL = "koogbook, durability normal"
FULL = "koogbook, durability full"
COMPRESSED = "koogbook normal, 10 compressions"
FLOOR_NORMAL = "content-addressed SQLite, WAL NORMAL"
FLOOR_FULL = "content-addressed SQLite, WAL FULL"
DELTA = "langgraph SQLite, DeltaChannel (beta)"
MESSAGES = "langgraph SQLite, add_messages"
BURR = "burr aiosqlite"

_STEPS_BETWEEN_COMPRESSIONS = SAVED_STEPS // 10
_KEPT = 50


class KeepLatest:
    """Puts one message in the place of all but the latest ones, without asking a model."""

    def __init__(self) -> None:
        self.summaries: list[kb.Message] = []

    async def compress(
        self, session: LLMWriteSession, memory_messages: Sequence[kb.Message]
    ) -> list[kb.Message]:
        number = len(self.summaries)
        made = kb.assistant(f"Summary {number}: ferries and museums. " * 20, name=SUMMARY_NAME)
        self.summaries.append(made)
        return [made, *session.messages[-_KEPT:]]


def talking_strategy(marks: list[float], compression: KeepLatest | None) -> kb.Strategy:
    """Two nodes in turn, each of which appends one user message."""
    talking = kb.strategy("talk", input=int, output=int)

    async def say(ctx: kb.Context, number: int) -> int:
        marks.append(time.perf_counter())
        async with ctx.llm.write_session() as session:
            session.append(kb.user(TEXTS[number]))
            if compression is not None and (number + 1) % _STEPS_BETWEEN_COMPRESSIONS == 0:
                await session.replace_history_with_tldr(compression)
        return number + 1

    a = talking.node(name="a")(say)
    b = talking.node(name="b")(say)
    talking.start >> a
    for own, other in ((a, b), (b, a)):
        talking.edge(own, talking.finish, when=_is_done, label="done")
        talking.edge(own, other)
    return talking


def _is_done(number: int) -> bool:
    return number >= SAVED_STEPS


def koogbook_saving(
    durability: Literal["normal", "full"], *, compressing: bool = False
) -> Callable[[], Measures]:
    def run() -> Measures:
        marks: list[float] = []
        compression = KeepLatest() if compressing else None
        with fresh_folder() as folder:
            storage = kb.SqliteCheckpoints(folder / "koogbook.db", durability=durability)
            agent = kb.Agent(
                kb.OfflineExecutor(),
                "offline",
                talking_strategy(marks, compression),
                max_iterations=SAVED_STEPS + 10,
            ).install(kb.Persistence(storage=storage))
            storage.list_infos()  # opens the file, as the floors and peers do before the clock starts
            seconds = asyncio.run(_run(agent))
            added = sum(info.bytes for info in storage.list_infos())
            closing = time.perf_counter()
            storage.close()
            closing = time.perf_counter() - closing
            measured = summed_up(seconds, marks, bytes_in(folder), closing)
        measured["added"] = float(added)
        if compression is not None:
            assert len(compression.summaries) == SAVED_STEPS // _STEPS_BETWEEN_COMPRESSIONS
            measured["summaries"] = float(sum(len(encode_message(one)) for one in compression.summaries))
        return measured

    return run


async def _run(agent: kb.Agent) -> float:
    started = time.perf_counter()
    done = await agent.run(0, session_id="chat")
    seconds = time.perf_counter() - started
    assert done.output == SAVED_STEPS
    return seconds


def _cases() -> tuple[list[Case], list[str]]:
    known = (
        (DELTA, peers.LANGGRAPH_SQLITE, peers.langgraph_saving("delta")),
        (MESSAGES, peers.LANGGRAPH_SQLITE, peers.langgraph_saving("add_messages")),
        (BURR, peers.BURR_SQLITE, peers.burr_saving),
    )
    own = [
        Case(NORMAL, "koogbook", koogbook_saving("normal")),
        Case(FLOOR_NORMAL, "floor", floors.content_addressed("NORMAL")),
        Case(FULL, "koogbook", koogbook_saving("full"), floor=FLOOR_FULL),
        Case(FLOOR_FULL, "floor", floors.content_addressed("FULL"), floor=FLOOR_FULL),
        Case(COMPRESSED, "koogbook", koogbook_saving("normal", compressing=True)),
    ]
    return (
        [*own, *(Case(name, "peer", run) for name, there, run in known if there)],
        [name for name, there, _ in known if not there],
    )


def tables() -> tuple[Table, Table]:
    """Both statements; they have their cases in common and are measured once."""
    cases, missing = _cases()
    times = Table(
        statement="PRF-03",
        title=f"a checkpoint after each of {SAVED_STEPS:,} steps, one 500-character message each",
        cases=cases,
        columns=[
            Column("seconds", "us a step", 1e-6 * SAVED_STEPS, 0),
            Column("with_close", "with closing", 1e-6 * SAVED_STEPS, 0),
        ],
        bounds=[
            Bound(NORMAL, DELTA, 0.12),
            Bound(NORMAL, MESSAGES, 0.04),
            Bound(NORMAL, BURR, 0.03),
            Bound(NORMAL, FLOOR_NORMAL, 2.5),
            Bound(FULL, FLOOR_FULL, 2.0),
            # Closing writes back what the log still holds: a store that puts it off must not look better for it.
            Bound(
                NORMAL, FLOOR_NORMAL, 2.5, "with_close", f"with closing, held to the same: / {FLOOR_NORMAL}"
            ),
            Bound(FULL, FLOOR_FULL, 2.0, "with_close", f"with closing, held to the same: / {FLOOR_FULL}"),
        ],
        missing=missing,
        notes=["peers save with their own defaults; langgraph queues its writes on a thread."],
    )
    sizes = Table(
        statement="PRF-04",
        title="bytes on disk of that, and growth of time over the run",
        cases=cases,
        columns=[
            Column("bytes", "kB", 1e3, 0),
            Column("first_100", "first 100 ms", 1e-3, 1),
            Column("last_100", "last 100 ms", 1e-3, 1),
            Column("growth", "growth", digits=2),
        ],
        bounds=[
            Bound(NORMAL, DELTA, 0.2, "bytes"),
            Bound(NORMAL, MESSAGES, 1 / 200, "bytes"),
            Bound(NORMAL, FLOOR_NORMAL, 1.5, "bytes"),
            Bound(
                NORMAL,
                FLOOR_NORMAL,
                1.3,
                "growth",
                "growth of koogbook / growth of the floor, durability normal",
            ),
            Bound(
                FULL, FLOOR_FULL, 1.3, "growth", "growth of koogbook / growth of the floor, durability full"
            ),
            Bound(COMPRESSED, NORMAL, 1.1, "bytes", "bytes with ten compressions / without"),
        ],
        missing=missing,
        facts=_added_by_compressions,
        notes=["growth is the time of the last 100 steps over that of the first 100."],
    )
    return times, sizes


def _added_by_compressions(rows: Rows) -> list[tuple[str, bool]]:
    with_them, without = rows[COMPRESSED].median("added"), rows[NORMAL].median("added")
    summaries = rows[COMPRESSED].median("summaries")
    if with_them is None or without is None or summaries is None:
        return []
    added = with_them - without
    return [
        (
            f"ten compressions add {added:,.0f} bytes to the store; their summaries have {summaries:,.0f}",
            added <= summaries,
        )
    ]
