"""SQLite and the folder ``.koogbook`` here: that checkpoints can be kept and read."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from koogbook.errors import StoreError
from koogbook.notebook.self_check.finding import Finding
from koogbook.storage.sqlite_checkpoints import SqliteCheckpoints
from koogbook.storage.sqlite_file import APPLICATION_ID
from koogbook.storage.sqlite_schema import MIGRATIONS

_STORE = Path(".koogbook/koogbook.db")
_ELSEWHERE = 'work in a folder on a local disk, or give a path there: SqliteCheckpoints("...")'


def sqlite() -> Iterable[Finding]:
    """SQLite's version, its write-ahead log in the current folder, and its full-text search."""
    version = sqlite3.sqlite_version
    with closing(sqlite3.connect(":memory:")) as db:
        try:
            db.execute("CREATE VIRTUAL TABLE text USING fts5(body)")
        except sqlite3.OperationalError as problem:
            yield Finding(
                "SQLite", "warning", f"{version}, no full-text search ({problem})", "use a Python with FTS5"
            )
        else:
            yield Finding("SQLite", "ok", f"{version}, with full-text search")
    yield _write_ahead_log()


def _write_ahead_log() -> Finding:
    name = "SQLite in this folder"
    try:
        with tempfile.TemporaryDirectory(prefix=".koogbook-check-", dir=".") as folder:
            with closing(sqlite3.connect(Path(folder) / "check.db", isolation_level=None)) as db:
                mode = db.execute("PRAGMA journal_mode=WAL").fetchone()[0]
                db.execute("CREATE TABLE kept(value)")
                db.execute("INSERT INTO kept VALUES (1)")
            if mode != "wal":
                return Finding(name, "failed", f"no write-ahead log, it stays in mode {mode!r}", _ELSEWHERE)
    except (OSError, sqlite3.Error) as problem:
        return Finding(name, "failed", f"cannot be written: {problem}", _ELSEWHERE)
    return Finding(name, "ok", "write-ahead log works")


def folder() -> Iterable[Finding]:
    """The folder ``.koogbook``: that it can be written, or made."""
    name = ".koogbook"
    home = _STORE.parent
    if home.exists() and not home.is_dir():
        yield Finding(name, "failed", "is a file, and should be a folder", "move it away")
        return
    place = home if home.exists() else Path()
    try:
        with tempfile.TemporaryFile(dir=place):
            yield Finding(name, "ok", "can be written" if home.exists() else "not there yet, can be made")
    except OSError as problem:
        yield Finding(
            name, "failed", f"cannot be {'written' if home.exists() else 'made'}: {problem}", _ELSEWHERE
        )


def store() -> Iterable[Finding]:
    """The checkpoints that are here already: that this koogbook can open them. An older file stays as it is."""
    name = str(_STORE)
    if not _STORE.exists():
        yield Finding(name, "skipped", "none here yet")
        return
    try:
        owner, version = _owner_and_version(_STORE)
        if owner == APPLICATION_ID and version < len(MIGRATIONS):
            yield Finding(
                name,
                "warning",
                f"schema {version}; the next use brings it to {len(MIGRATIONS)}",
                "keep a copy if an older koogbook is to read it, too",
            )
            return
        with closing(SqliteCheckpoints(_STORE)) as checkpoints:
            checkpoints.list_infos("")
        yield Finding(name, "ok", f"schema {version}, {os.path.getsize(_STORE):,} bytes")
    except (StoreError, sqlite3.Error) as problem:
        yield Finding(
            name, "failed", str(problem), f"move {name} away; koogbook makes a new one when it is used next"
        )


def _owner_and_version(path: Path) -> tuple[int, int]:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)) as db:
        return (
            db.execute("PRAGMA application_id").fetchone()[0],
            db.execute("PRAGMA user_version").fetchone()[0],
        )
