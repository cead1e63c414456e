"""Leases: one run at a time holds a session id, and who has lost it can save nothing."""

from __future__ import annotations

import asyncio
import os
import socket
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from stored_values import draft

import koogbook as kb
from koogbook import clock
from koogbook.errors import LostLeaseError, StoreError


@pytest.fixture
def store(tmp_path: Path, fixed_clock: kb.FixedClock) -> Iterator[kb.SqliteCheckpoints]:
    """A store on a clock that stands still."""
    made = kb.SqliteCheckpoints(tmp_path / "kb.db")
    yield made
    made.close()


@pytest.fixture
def writer(store: kb.SqliteCheckpoints) -> Iterator[sqlite3.Connection]:
    """Somebody else's connection in the middle of a write."""
    store.list_infos()
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield other
    other.close()


def test_a_free_session_is_taken(store: kb.SqliteCheckpoints) -> None:
    """None says that it is ours [PER-05c]."""
    assert store.take_lease("s", "a", 30.0) is None


def test_a_held_session_names_its_holder(store: kb.SqliteCheckpoints) -> None:
    """Process and host, for the message that a user reads [PER-05c]."""
    store.take_lease("s", "a", 30.0)

    holder = store.take_lease("s", "b", 30.0)

    assert holder is not None
    assert (holder.token, holder.pid, holder.host) == ("a", os.getpid(), socket.gethostname())


def test_a_released_session_is_free(store: kb.SqliteCheckpoints) -> None:
    """At once [PER-05c]."""
    store.take_lease("s", "a", 30.0)
    store.release_lease("s", "a")

    assert store.take_lease("s", "b", 30.0) is None


def test_releasing_with_another_token_changes_nothing(store: kb.SqliteCheckpoints) -> None:
    """Only the holder lets go [PER-05c]."""
    store.take_lease("s", "a", 30.0)
    store.release_lease("s", "b")

    assert store.take_lease("s", "c", 30.0) is not None


def test_a_lease_runs_out(store: kb.SqliteCheckpoints, fixed_clock: kb.FixedClock) -> None:
    """After its time anybody may take it [PER-05c]."""
    store.take_lease("s", "a", 30.0)
    fixed_clock.advance(31.0)

    assert store.take_lease("s", "b", 30.0) is None


def test_a_renewed_lease_lasts_longer(store: kb.SqliteCheckpoints, fixed_clock: kb.FixedClock) -> None:
    """From the renewal on [PER-05c]."""
    store.take_lease("s", "a", 30.0)
    fixed_clock.advance(20.0)
    store.renew_lease("s", "a", 30.0)
    fixed_clock.advance(20.0)

    assert store.take_lease("s", "b", 30.0) is not None


def test_a_lease_that_ran_out_and_was_not_taken_can_be_renewed(
    store: kb.SqliteCheckpoints, fixed_clock: kb.FixedClock
) -> None:
    """A process that slept for an hour goes on where nobody came in between [PER-05c]."""
    store.take_lease("s", "a", 30.0)
    fixed_clock.advance(3_600.0)

    assert store.renew_lease("s", "a", 30.0)


def test_a_lease_that_was_taken_over_cannot_be_renewed(
    store: kb.SqliteCheckpoints, fixed_clock: kb.FixedClock
) -> None:
    """Who slept too long is told so [PER-05c]."""
    store.take_lease("s", "a", 30.0)
    fixed_clock.advance(31.0)
    store.take_lease("s", "b", 30.0)

    assert not store.renew_lease("s", "a", 30.0)


async def test_a_holder_that_lost_its_lease_saves_nothing(
    store: kb.SqliteCheckpoints, fixed_clock: kb.FixedClock
) -> None:
    """Two writers of one line would each undo the other [PER-05c]."""
    store.take_lease("s", "a", 30.0)
    fixed_clock.advance(31.0)
    store.take_lease("s", "b", 30.0)

    with pytest.raises(LostLeaseError, match="was not saved"):
        await store.append_checkpoint(draft(lease="a"))

    assert store.list_infos() == []


async def test_a_lost_lease_stays_lost_after_the_thief_has_gone(
    store: kb.SqliteCheckpoints, fixed_clock: kb.FixedClock
) -> None:
    """The other run may have completed the session meanwhile [PER-05c]."""
    store.take_lease("s", "a", 30.0)
    fixed_clock.advance(31.0)
    store.take_lease("s", "b", 30.0)
    store.release_lease("s", "b")

    with pytest.raises(LostLeaseError):
        await store.append_checkpoint(draft(lease="a"))


async def test_a_holder_whose_time_is_up_may_save_while_nobody_has_taken_over(
    store: kb.SqliteCheckpoints, fixed_clock: kb.FixedClock
) -> None:
    """A blocked event loop alone costs nothing [PER-05c]."""
    store.take_lease("s", "a", 30.0)
    fixed_clock.advance(31.0)

    assert (await store.append_checkpoint(draft(lease="a"))).version == 0


def test_a_lease_that_a_run_of_this_process_left_behind_is_free(store: kb.SqliteCheckpoints) -> None:
    """A row with our process that no run of ours holds is a leftover, whatever its time says [PER-05c]."""
    key = kb.SqliteCheckpoints(store.path)
    key.take_lease("s", "a", 30.0)
    with sqlite3.connect(store.path) as db:
        db.execute("UPDATE lease SET token = 'left behind', expires = 1e12")
    db.close()
    key.close()

    assert store.take_lease("s", "b", 30.0) is None


@pytest.mark.parametrize(
    ("one", "other"), [("a/b", "a\\b"), ("\ud800", "\udfff"), ("x" * 10_000, "x" * 9_999)]
)
def test_leases_of_hostile_ids_are_distinct(store: kb.SqliteCheckpoints, one: str, other: str) -> None:
    """As the sessions are."""
    store.take_lease(one, "a", 30.0)

    assert store.take_lease(other, "b", 30.0) is None
    assert store.take_lease(one, "b", 30.0) is not None


@pytest.mark.parametrize(
    "ask",
    [
        lambda store: store.take_lease("s", "a", 30.0),
        lambda store: store.renew_lease("s", "a", 30.0),
        lambda store: store.release_lease("s", "a"),
    ],
)
def test_a_lease_that_cannot_be_written_now_says_so(
    store: kb.SqliteCheckpoints, writer: sqlite3.Connection, ask: Callable[[Any], Any]
) -> None:
    """Nothing was done, and the caller asks again without freezing the loop [PER-05c]."""
    with pytest.raises(TimeoutError, match="Another process is writing"):
        ask(store)


async def test_a_save_waits_for_another_writer_and_lets_the_loop_go_on(
    store: kb.SqliteCheckpoints, writer: sqlite3.Connection
) -> None:
    """The other one's transaction ends on the same loop that the save waits on [PER-05c]."""
    saving = asyncio.create_task(store.append_checkpoint(draft()))
    await asyncio.sleep(0)
    writer.execute("COMMIT")

    assert (await saving).version == 0


async def test_a_save_gives_up_after_ten_seconds(
    store: kb.SqliteCheckpoints, writer: sqlite3.Connection, fixed_clock: kb.FixedClock
) -> None:
    """With the reason and the time; nothing was saved [PER-03a]."""
    with pytest.raises(StoreError, match="locked by another process for 10 s"):
        await store.append_checkpoint(draft())

    assert clock.monotonic() > 10.0


def test_reading_waits_for_no_writer(store: kb.SqliteCheckpoints, writer: sqlite3.Connection) -> None:
    """Readers see the state before the write."""
    assert store.list_infos() == []
