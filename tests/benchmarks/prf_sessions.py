"""SES-SPEED: what a session's lock costs, with all its events, beside a lock without any."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from harness import Bound, Case, Column, Measures, Table, is_installed

import koogbook as kb
from koogbook.compression.compress import compress_session
from koogbook.llm.calls import ModelCalls
from koogbook.llm.context import LLMContext
from koogbook.pipeline import EventLog
from koogbook.tools.tool import ToolRegistry

WRITE = "koogbook write_session"
READ = "koogbook read_session"
WAITING = "koogbook write_session, 1,000 tasks wait"
FLOOR = "asyncio.Lock"
FLOOR_WAITING = "asyncio.Lock, 1,000 tasks wait"
PEER_WRITE = "aiorwlock writer_lock"
PEER_READ = "aiorwlock reader_lock"
PEER_WAITING = "aiorwlock writer_lock, 1,000 tasks wait"

SESSIONS = 10_000
TASKS = 1_000

Opens = Callable[[], AbstractAsyncContextManager[Any]]
#: What the round before has told: it is freed when the next one has begun, which then finds memory to use. Asking the
#: system for it anew can cost more than all that is measured here.
_told: list[EventLog] = []


def table() -> Table:
    there = is_installed("aiorwlock")
    peers = [
        Case(PEER_WRITE, "peer", _alone(_writer_lock), FLOOR),
        Case(PEER_READ, "peer", _alone(_reader_lock), FLOOR),
        Case(PEER_WAITING, "peer", _waiting(_writer_lock), FLOOR_WAITING),
    ]
    return Table(
        statement="SES-SPEED",
        title=f"{SESSIONS:,} sessions one after the other, and {TASKS:,} tasks that wait for one",
        cases=[
            Case(WRITE, "koogbook", _alone(lambda: _context().write_session), FLOOR),
            Case(READ, "koogbook", _alone(lambda: _context().read_session), FLOOR),
            Case(WAITING, "koogbook", _waiting(lambda: _context().write_session), FLOOR_WAITING),
            Case(FLOOR, "floor", _alone(_plain_lock)),
            Case(FLOOR_WAITING, "floor", _waiting(_plain_lock)),
            *(peers if there else []),
        ],
        columns=[Column("seconds", "us a session", 1e-6, 2)],
        bounds=[
            Bound(WRITE, PEER_WRITE, 2.0),
            Bound(READ, PEER_READ, 2.0),
            Bound(WAITING, PEER_WAITING, 2.0),
        ],
        missing=[] if there else ["aiorwlock"],
        notes=[
            "a session of koogbook leaves three to five events, has a limit of 10 s, names its place in the code and "
            "is looked after for circles; the others are locks alone. Each event of a wait names up to 64 ahead of it."
        ],
    )


def _context() -> LLMContext:
    log = EventLog("run", "chat")
    _told[:] = [*_told[-1:], log]
    return LLMContext(
        "trip",
        prompt=kb.Prompt([kb.user("x")]),
        tools=ToolRegistry(),
        model=kb.LLModel("offline"),
        calls=ModelCalls(kb.OfflineExecutor(), log),
        compressor=compress_session,
    )


def _plain_lock() -> Opens:
    lock = asyncio.Lock()
    return lambda: lock


def _writer_lock() -> Opens:
    import aiorwlock

    lock = aiorwlock.RWLock()
    return lambda: lock.writer_lock


def _reader_lock() -> Opens:
    import aiorwlock

    lock = aiorwlock.RWLock()
    return lambda: lock.reader_lock


def _alone(make: Callable[[], Opens]) -> Callable[[], Measures]:
    async def run() -> float:
        opens = make()
        started = time.perf_counter()
        for _ in range(SESSIONS):
            async with opens():
                pass
        return (time.perf_counter() - started) / SESSIONS

    return _measured(run)


def _waiting(make: Callable[[], Opens]) -> Callable[[], Measures]:
    async def run() -> float:
        opens = make()

        async def visit() -> None:
            async with opens():
                pass

        started = time.perf_counter()
        async with opens():
            tasks = [asyncio.ensure_future(visit()) for _ in range(TASKS)]
            await asyncio.sleep(0)
        await asyncio.gather(*tasks)
        return (time.perf_counter() - started) / TASKS

    return _measured(run)


def _measured(run: Callable[[], Awaitable[float]]) -> Callable[[], Measures]:
    async def measured() -> float:
        return await run()

    return lambda: {"seconds": asyncio.run(measured())}
