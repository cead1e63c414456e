"""The least code that does the same work, without a framework around it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from harness import Measures
from workload import (
    BRANCH_SECONDS,
    BRANCHES,
    LINE_NODES,
    LOOP_STEPS,
    SAVED_STEPS,
    TEXTS,
    bytes_in,
    fresh_folder,
    over_the_ideal,
    summed_up,
)

from koogbook.messages.message import Message

_SCHEMA = (
    "CREATE TABLE body(number INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, json BLOB NOT NULL)",
    "CREATE TABLE link(number INTEGER PRIMARY KEY, before INTEGER, body INTEGER NOT NULL, depth INTEGER NOT NULL)",
    "CREATE TABLE point(number INTEGER PRIMARY KEY, run TEXT NOT NULL, parent INTEGER, node TEXT NOT NULL, "
    "created REAL NOT NULL, link INTEGER NOT NULL, messages INTEGER NOT NULL, state BLOB NOT NULL)",
)


async def _count_up(state: dict[str, int]) -> dict[str, int]:
    state["n"] += 1
    return state


def await_per_step() -> Measures:
    """A table of two nodes, each awaited directly, and a condition after each: no event loop in between."""

    async def loop() -> float:
        async def other(state: dict[str, int]) -> dict[str, int]:
            return await _count_up(state)

        nodes: dict[str, Callable[[dict[str, int]], Awaitable[dict[str, int]]]] = {"a": _count_up, "b": other}
        edges = {"a": "b", "b": "a"}
        state, at = {"n": 0}, "a"
        started = time.perf_counter()
        while state["n"] < LOOP_STEPS:
            state = await nodes[at](state)
            at = edges[at]
        return time.perf_counter() - started

    return {"seconds": asyncio.run(loop())}


def list_of_nodes() -> Measures:
    """A list of functions, awaited one after the other: neither names nor edges."""

    async def run() -> Measures:
        started = time.perf_counter()
        nodes = [_count_up for _ in range(LINE_NODES)]
        built = time.perf_counter() - started
        state = {"n": 0}
        started = time.perf_counter()
        for node in nodes:
            state = await node(state)
        return {"seconds": built, "run": time.perf_counter() - started}

    return asyncio.run(run())


def task_per_step() -> Measures:
    """Every step is an asyncio task of its own."""

    async def loop() -> float:
        state = {"n": 0}
        started = time.perf_counter()
        while state["n"] < LOOP_STEPS:
            state = await asyncio.create_task(_count_up(state))
        return time.perf_counter() - started

    return {"seconds": asyncio.run(loop())}


def gathered_branches() -> Measures:
    """A task for each branch, and the sum of what they give."""

    async def branch(number: int) -> int:
        await asyncio.sleep(BRANCH_SECONDS)
        return number

    async def run() -> float:
        started = time.perf_counter()
        given = await asyncio.gather(*(branch(number) for number in range(BRANCHES)))
        assert sum(given) == sum(range(BRANCHES))
        return time.perf_counter() - started

    return over_the_ideal(asyncio.run(run()))


def content_addressed(synchronous: str) -> Callable[[], Measures]:
    """Each body once under its hash, a chain of links to them, one small row and one commit per checkpoint."""

    def run() -> Measures:
        with fresh_folder() as folder:
            db = sqlite3.connect(folder / "floor.db", isolation_level=None)
            db.execute("PRAGMA journal_mode=WAL")
            db.execute(f"PRAGMA synchronous={synchronous}")
            for statement in _SCHEMA:
                db.execute(statement)
            seconds, marks = asyncio.run(_save_each_step(db.execute))
            closing = time.perf_counter()
            db.close()
            closing = time.perf_counter() - closing
            return summed_up(seconds, marks, bytes_in(folder), closing)

    return run


async def _save_each_step(execute: Callable[..., Any]) -> tuple[float, list[float]]:
    history: list[dict[str, str]] = []

    async def node() -> dict[str, str]:
        number = len(history)
        made = {"role": "user", "content": TEXTS[number], "id": f"m{number}"}
        history.append(made)
        return made

    link: int | None = None
    parent: int | None = None
    started = time.perf_counter()
    marks = [started]
    for step in range(SAVED_STEPS):
        body = json.dumps(await node(), ensure_ascii=False, separators=(",", ":")).encode()
        digest = hashlib.blake2b(body, digest_size=16).digest()
        execute("BEGIN IMMEDIATE")
        row = execute(
            "INSERT INTO body(digest, json) VALUES(?, ?) ON CONFLICT(digest) DO NOTHING RETURNING number",
            (digest, body),
        ).fetchone()
        if row is None:
            row = execute("SELECT number FROM body WHERE digest = ?", (digest,)).fetchone()
        link = execute(
            "INSERT INTO link(before, body, depth) VALUES(?, ?, ?)", (link, row[0], step + 1)
        ).lastrowid
        parent = execute(
            "INSERT INTO point(run, parent, node, created, link, messages, state) VALUES('run', ?, ?, ?, ?, ?, ?)",
            (parent, "ab"[step % 2], time.time(), link, step + 1, b"{}"),
        ).lastrowid
        execute("COMMIT")
        marks.append(time.perf_counter())
    return time.perf_counter() - started, marks


def places_by_id(before: Sequence[Message], after: Sequence[Message]) -> list[int | None]:
    """Where each message of one history stands in the other, by the ids stored with them."""
    places = {message.id: place for place, message in enumerate(after)}
    return [places.get(message.id) for message in before]
