"""One SQLite file: opening, checking, migrating it, and doing a transaction without freezing the event loop."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, TypeVar

from koogbook import clock
from koogbook.errors import StoreError

T = TypeVar("T")
Durability = Literal["normal", "full"]
Migration = Callable[[sqlite3.Connection], None]

APPLICATION_ID = 0x6B6F6F67  # "koog" in the file's header: tells a koogbook file from another SQLite file
_BUSY_LIMIT_SECONDS = 10.0
_FIRST_WAIT_SECONDS = 0.005
_LONGEST_WAIT_SECONDS = 0.2


class SqliteFile:
    """A connection that opens on first use.

    ``durability="normal"`` survives the death of the process at any moment; ``"full"`` also a power loss, at the
    price of a flush to the disk per commit.

    Raises:
        StoreError: On use, when the file is no koogbook store, is of a newer version, or cannot be written.
    """

    def __init__(
        self, path: str | Path, migrations: Sequence[Migration], *, durability: Durability = "normal"
    ) -> None:
        if durability not in ("normal", "full"):
            raise ValueError(f"durability is 'normal' or 'full', not {durability!r}.")
        self.path = Path(path)
        self._migrations = migrations
        self._durability = durability
        self._connection: sqlite3.Connection | None = None

    @property
    def identity(self) -> str:
        """The same for every object on this file."""
        return str(self.path.resolve())

    @property
    def connection(self) -> sqlite3.Connection:
        """The open connection."""
        if self._connection is None:
            self._connection = self._open()
        return self._connection

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def transact(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` in one immediate transaction; all of it is kept or nothing.

        It is tried at once. While another process writes, the event loop goes on and it is tried again.

        Raises:
            StoreError: The file was busy for 10 s, or cannot be written.
        """
        started = clock.monotonic()
        wait = _FIRST_WAIT_SECONDS
        while True:
            try:
                return self.transact_now(work)
            except _BusyError as busy:
                if clock.monotonic() - started > _BUSY_LIMIT_SECONDS:
                    raise StoreError(
                        f"{self.path} has been locked by another process for {_BUSY_LIMIT_SECONDS:g} s. Nothing was "
                        "saved. End the other writer, or give this run a file of its own."
                    ) from busy
            await clock.sleep(wait)
            wait = min(wait * 2, _LONGEST_WAIT_SECONDS)

    def transact_now(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """As :meth:`transact`, once; used where nothing may be awaited."""
        connection = self.connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            try:
                result = work(connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        except sqlite3.Error as problem:
            raise self._explained(problem) from problem
        return result

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` on one consistent state of the file, without writing.

        Raises:
            StoreError: The file cannot be read.
        """
        connection = self.connection
        try:
            connection.execute("BEGIN")
            try:
                return work(connection)
            finally:
                connection.execute("ROLLBACK")
        except sqlite3.Error as problem:
            raise self._explained(problem) from problem

    def _explained(self, problem: sqlite3.Error) -> Exception:
        code = getattr(problem, "sqlite_errorcode", None)
        primary = None if code is None else code & 0xFF
        if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return _BusyError(str(problem))
        if primary in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return StoreError(
                f"{self.path} is no readable SQLite file ({problem}). Nothing was changed. Restore it from a copy, or "
                "give another path."
            )
        if primary in (
            sqlite3.SQLITE_READONLY,
            sqlite3.SQLITE_CANTOPEN,
            sqlite3.SQLITE_FULL,
            sqlite3.SQLITE_IOERR,
        ):
            return StoreError(
                f"{self.path} cannot be written ({problem}). What was saved before is unharmed. Make room or rights "
                "there, or give another path."
            )
        return problem

    def _open(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise StoreError(
                f"The folder of {self.path} cannot be made: {problem}. Give a path in a folder that can be written."
            ) from problem
        try:
            connection = sqlite3.connect(
                self.path, timeout=5.0, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as problem:
            raise StoreError(
                f"{self.path} cannot be opened: {problem}. Give the path of a file."
            ) from problem
        try:
            self._prepare(connection)
        except sqlite3.Error as problem:
            connection.close()
            explained = self._explained(problem)
            raise (
                explained
                if isinstance(explained, StoreError)
                else StoreError(f"{self.path} cannot be opened as a store: {problem}.")
            ) from problem
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        owner = connection.execute("PRAGMA application_id").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if owner != APPLICATION_ID and (owner or tables):
            raise StoreError(
                f"{self.path} is an SQLite file of another program. It was not touched. Give another path."
            )
        mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
        if mode not in ("wal", "memory"):
            raise StoreError(
                f"{self.path} cannot use write-ahead logging (it stays in mode {mode!r}), as happens on some network "
                "drives; two processes could then harm it. Give a path on a local disk."
            )
        connection.execute(f"PRAGMA synchronous={'FULL' if self._durability == 'full' else 'NORMAL'}")
        connection.execute("BEGIN IMMEDIATE")
        try:
            self._migrate(connection)
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        # From here on a busy file is waited for by the event loop, not by SQLite.
        connection.execute("PRAGMA busy_timeout=0")

    def _migrate(self, connection: sqlite3.Connection) -> None:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        newest = len(self._migrations)
        if version > newest:
            raise StoreError(
                f"{self.path} was written by a newer koogbook (schema {version}, this one knows {newest}). It was not "
                "touched. Update koogbook, or give another path."
            )
        for migrate in self._migrations[version:]:
            migrate(connection)
        if version < newest:
            connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version={newest}")


class _BusyError(Exception):
    """Another connection is writing."""
