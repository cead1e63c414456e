"""Leases on session ids in an SQLite file: one run at a time, over processes, and a dead holder is found out."""

from __future__ import annotations

import os
import socket
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from koogbook import clock
from koogbook.features.persistence.storage import LeaseHolder
from koogbook.storage.sqlite_schema import key_of

#: Tokens that runs of this process hold. A row of ours that is not among them was left by a run that is over.
_held_here: set[str] = set()


def take(db: sqlite3.Connection, session_id: str, token: str, seconds: float) -> LeaseHolder | None:
    """Take the lease inside a transaction; the present holder when it is alive and its time is not up."""
    holder = holder_of(db, session_id)
    if holder is not None:
        return holder
    db.execute(
        "INSERT OR REPLACE INTO lease(key, token, host, pid, started, expires) VALUES(?, ?, ?, ?, ?, ?)",
        (
            key_of(session_id),
            token,
            socket.gethostname(),
            os.getpid(),
            _started(os.getpid()),
            clock.now().timestamp() + seconds,
        ),
    )
    _held_here.add(token)
    return None


def holder_of(db: sqlite3.Connection, session_id: str) -> LeaseHolder | None:
    """Who holds the lease: None where nobody does, where its time is up, or where the holder is known to be gone."""
    row = db.execute(
        "SELECT token, host, pid, started, expires FROM lease WHERE key = ?", (key_of(session_id),)
    ).fetchone()
    if row is None or row[4] <= clock.now().timestamp() or _is_dead(*row[:4]):
        return None
    return LeaseHolder(row[0], row[1], row[2], datetime.fromtimestamp(row[4], UTC))


def renew(db: sqlite3.Connection, session_id: str, token: str, seconds: float) -> bool:
    """Move the end of the lease on; False when another one holds it."""
    done = db.execute(
        "UPDATE lease SET expires = ? WHERE key = ? AND token = ?",
        (clock.now().timestamp() + seconds, key_of(session_id), token),
    )
    return done.rowcount == 1


def leave(token: str) -> None:
    """Count what this token holds as left behind, so that it is free for this process even before it is released."""
    _held_here.discard(token)


def release(db: sqlite3.Connection, session_id: str, token: str) -> None:
    """Let go, if it is held under this token."""
    db.execute("DELETE FROM lease WHERE key = ? AND token = ?", (key_of(session_id), token))


def _is_dead(token: str, host: str, pid: int, started: str) -> bool:
    """Whether the holder is known to be gone: on this host, and its process, or in this process its run, is over."""
    if host != socket.gethostname():
        return False
    if pid == os.getpid():
        return token not in _held_here
    if os.name == "nt":  # there a signal of 0 is no question but an interrupt
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return bool(started) and _started(pid) not in ("", started)


def _started(pid: int) -> str:
    """When a process started, as the system counts it; empty where it does not say (outside Linux)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    # A zombie runs nothing any more: its parent has not asked for its exit code yet.
    return "gone" if fields[:1] == ["Z"] else fields[19] if len(fields) > 19 else ""
