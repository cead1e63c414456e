"""What a checkpoint costs in rows and bytes: the same at message 10 and at message 1,000."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stored_values import draft, message

import koogbook as kb

TABLES = ("message", "entry", "segment", "checkpoint", "setting", "fingerprint")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[kb.SqliteCheckpoints]:
    """An empty store."""
    made = kb.SqliteCheckpoints(tmp_path / "kb.db")
    yield made
    made.close()


def rows(store: kb.SqliteCheckpoints) -> dict[str, int]:
    """How many rows each table has."""
    with sqlite3.connect(store.path) as db:
        found = {name: db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in TABLES}
    db.close()
    return found


def grown(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """The tables that have more rows, and how many."""
    return {name: after[name] - before[name] for name in TABLES if after[name] != before[name]}


async def steps(store: kb.SqliteCheckpoints, prompt: kb.Prompt, first: int, last: int) -> kb.Prompt:
    """Save a checkpoint per new message, as a run does."""
    for number in range(first, last):
        prompt = prompt.append(message(f"step {number:05}"))
        await store.append_checkpoint(draft("s", f"c{number:05}", prompt=prompt))
    return prompt


@pytest.mark.parametrize("length", [10, 1_000])
async def test_a_checkpoint_adds_its_row_and_what_is_new_of_the_history(
    store: kb.SqliteCheckpoints, length: int
) -> None:
    """The checkpoint, a message and its entry, however long the history is [PER-19]."""
    prompt = await steps(store, kb.Prompt(id="p"), 0, length)
    before = rows(store)

    await steps(store, prompt, length, length + 1)

    assert grown(before, rows(store)) == {"message": 1, "entry": 1, "checkpoint": 1}


async def test_a_checkpoint_adds_the_same_bytes_at_any_length(store: kb.SqliteCheckpoints) -> None:
    """References included [PER-19]."""
    await steps(store, kb.Prompt(id="p"), 0, 1_000)

    infos = store.list_infos("s")

    assert infos[10].bytes == infos[-1].bytes


async def test_a_checkpoint_without_a_new_message_adds_no_message(store: kb.SqliteCheckpoints) -> None:
    """A node that only computes costs its own row [PER-19]."""
    prompt = await steps(store, kb.Prompt(id="p"), 0, 50)
    before = rows(store)

    await store.append_checkpoint(draft("s", "same", prompt=prompt))

    assert grown(before, rows(store)) == {"checkpoint": 1}


async def test_ten_compressions_add_only_their_summaries(store: kb.SqliteCheckpoints) -> None:
    """One message and one entry each: what stayed is referred to [PER-19]."""
    prompt = await steps(store, kb.Prompt(id="p"), 0, 100)
    before = rows(store)

    for number in range(10):
        kept = (prompt[0], message(f"summary {number}", name="koogbook.summary"), *prompt.messages[12:])
        prompt = prompt.with_messages(kept)
        await store.append_checkpoint(draft("s", f"compressed {number}", prompt=prompt))

    assert grown(before, rows(store)) == {
        "message": 10,
        "entry": 10,
        "segment": 10,
        "checkpoint": 10,
    }


async def test_a_compression_that_keeps_the_end_stores_the_end_once(store: kb.SqliteCheckpoints) -> None:
    """Kept messages that stand at another place now are no new rows [PER-19]."""
    prompt = await steps(store, kb.Prompt(id="p"), 0, 100)
    before = rows(store)

    await store.append_checkpoint(
        draft("s", "new", prompt=prompt.with_messages((message("summary"), *prompt.messages[50:])))
    )

    assert grown(before, rows(store))["entry"] == 1


async def test_a_restart_adds_no_message(store: kb.SqliteCheckpoints) -> None:
    """A restored history goes on in a segment of its own that refers to what is there [PER-19]."""
    await steps(store, kb.Prompt(id="p"), 0, 100)
    store.close()
    latest: Any = await store.get_latest_checkpoint("s")
    prompt = kb.Prompt(latest.messages, id="p")
    store.remember_restored(latest.info, prompt)
    before = rows(store)

    await steps(store, prompt, 100, 101)

    assert grown(before, rows(store)) == {
        "message": 1,
        "entry": 1,
        "segment": 1,
        "checkpoint": 1,
    }


async def test_a_fork_adds_no_message(store: kb.SqliteCheckpoints) -> None:
    """One checkpoint row [PER-20]."""
    await steps(store, kb.Prompt(id="p"), 0, 100)
    before = rows(store)

    await store.fork_checkpoint("s", "c00050", "t", fork_id="f", created=message().time)

    assert grown(before, rows(store)) == {"checkpoint": 1}


async def test_listing_reads_neither_messages_nor_state(store: kb.SqliteCheckpoints) -> None:
    """A table of a thousand checkpoints needs the light forms only: without those rows it is the same [PER-02]."""
    await steps(store, kb.Prompt(id="p"), 0, 20)
    await store.append_checkpoint(draft("s", "large", output=b'"' + b"x" * 5_000 + b'"'))
    before = store.list_infos("s")
    store.close()
    with sqlite3.connect(store.path) as db:
        db.executescript("DELETE FROM state; DELETE FROM entry; DELETE FROM message;")
        db.execute("UPDATE checkpoint SET state = NULL")
    db.close()

    assert store.list_infos("s") == before


async def test_an_old_version_is_read_as_it_was(store: kb.SqliteCheckpoints) -> None:
    """Later messages of the same segment are not part of it [PER-19]."""
    await steps(store, kb.Prompt(id="p"), 0, 30)

    found = await store.get_checkpoints("s", lambda info: info.version == 9)

    assert [one.text for one in found[0].messages] == [f"step {number:05}" for number in range(10)]


async def test_a_thousand_checkpoints_in_memory_share_their_messages() -> None:
    """The in-memory store keeps no copy: each checkpoint's first message is the same object [PER-19]."""
    memory = kb.MemoryCheckpoints()
    prompt = kb.Prompt(id="p")
    for number in range(1_000):
        prompt = prompt.append(message(f"step {number}"))
        await memory.append_checkpoint(draft("s", f"c{number}", prompt=prompt))

    ends = await memory.get_checkpoints("s", lambda info: info.version in (0, 999))

    assert ends[0].messages[0] is ends[1].messages[0]
