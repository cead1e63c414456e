"""One SQLite file: opening, checking, migrating it, and doing a transaction without freezing the event loop."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Literal, TypeVar

from koogbook import clock
from koogbook.errors import StoreError

T = TypeVar("T")
Durability = Literal["normal", "full"]
Migration = Callable[[sqlite3.Connection], None]

APPLICATION_ID = 0x6B6F6F67  # "koog" in the file's header: tells a koogbook file from another SQLite file
_PAGE_BYTES = 2048
_LOG_BYTES = 2**22  # 4 MiB, SQLite's own measure: so long the log grows before it is written back
_BUSY_LIMIT_SECONDS = 10.0
_FIRST_WAIT_SECONDS = 0.005
_LONGEST_WAIT_SECONDS = 0.2
_PATIENCE_SECONDS = 0.5
_OPENING_TRIES = 100
_MEMORY = ":memory:"

#: Connections that a forked child found open. To close one there would remove the parent's locks and its log.
_inherited: list[sqlite3.Connection] = []


class SqliteFile:
    """A connection that opens on first use, and again in a forked process.

    ``durability="normal"`` survives the death of the process at any moment; ``"full"`` also a power loss, at the
    price of a flush to the disk per commit. May be used from several threads: one at a time holds ``guard``, which is
    held during each transaction and keeps what is remembered of the file in step with it.

    Raises:
        StoreError: On use, when the file is no koogbook store, is of a newer version, cannot be written, or was
            removed or replaced since it was opened.
    """

    def __init__(
        self, path: str | Path, migrations: Sequence[Migration], *, durability: Durability = "normal"
    ) -> None:
        if durability not in ("normal", "full"):
            raise ValueError(f"durability is 'normal' or 'full', not {durability!r}.")
        self.path = Path(path)
        # A program that changes its folder later still means the file of now.
        self._place = self.path if str(path) == _MEMORY else self.path.absolute()
        self._migrations = migrations
        self._durability = durability
        self._connection: sqlite3.Connection | None = None
        self._closing: Callable[[], object] | None = None
        self._opened_by = 0
        self._inode: tuple[int, int] | None = None
        self.guard = threading.RLock()

    @property
    def identity(self) -> str:
        """The same for every object on this file."""
        return f"memory-{id(self)}" if str(self._place) == _MEMORY else str(self._place.resolve())

    @property
    def connection(self) -> sqlite3.Connection:
        """The open connection."""
        if self._connection is not None and self._opened_by != os.getpid():
            _inherited.append(self._connection)
            self._connection = None
        if self._connection is None:
            self._connection = self._open()
            self._opened_by = os.getpid()
            self._closing = weakref.finalize(self, _close, self._connection, self._opened_by)
            self._inode = self._inode_now()
        elif self._inode_now() != self._inode:
            self.close()
            raise StoreError(
                f"{self.path} was removed or replaced while it was in use. Nothing was saved, and what it held is not "
                "there any more. The next use opens what is at this path then, or makes a new file."
            )
        return self._connection

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self.guard:
            if self._connection is not None and self._closing is not None:
                self._closing()
            self._connection = self._closing = None

    def _inode_now(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._place)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    async def transact(
        self, work: Callable[[sqlite3.Connection], T], *, on_rollback: Callable[[], None] | None = None
    ) -> T:
        """Run ``work`` in one immediate transaction; all of it is kept or nothing.

        It is tried at once. While another process writes, the event loop goes on and it is tried again.
        ``on_rollback`` is called when it had begun and is taken back.

        Raises:
            StoreError: The file was busy for 10 s, or cannot be written.
        """
        started = clock.monotonic()
        wait = _FIRST_WAIT_SECONDS
        while True:
            try:
                return self.transact_now(work, on_rollback=on_rollback)
            except _BusyError as busy:
                if clock.monotonic() - started > _BUSY_LIMIT_SECONDS:
                    raise StoreError(
                        f"{self.path} has been locked by another process for {_BUSY_LIMIT_SECONDS:g} s. Nothing was "
                        "saved. End the other writer, or give this run a file of its own."
                    ) from busy
            await clock.sleep(wait)
            wait = min(wait * 2, _LONGEST_WAIT_SECONDS)

    def transact_now(
        self,
        work: Callable[[sqlite3.Connection], T],
        *,
        patient: bool = False,
        on_rollback: Callable[[], None] | None = None,
    ) -> T:
        """As :meth:`transact`, at once; ``patient`` waits for another writer for half a second.

        Raises:
            TimeoutError: Another process is writing; nothing was done.
        """
        try:
            with self.guard:
                connection = self.connection
                if patient:
                    with self._waiting(connection):
                        return _transaction(connection, work, on_rollback)
                return _transaction(connection, work, on_rollback)
        except sqlite3.Error as problem:
            raise self._explained(problem) from problem

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` on one consistent state of the file, without writing.

        Raises:
            StoreError: The file cannot be read.
        """
        try:
            return self._read(work, patient=False)
        except _BusyError:
            # Readers wait for nobody, except while another process mends the log of one that was killed.
            try:
                return self._read(work, patient=True)
            except _BusyError as busy:
                raise StoreError(f"{self.path} could not be read: {busy} Nothing was changed.") from busy

    def _read(self, work: Callable[[sqlite3.Connection], T], *, patient: bool) -> T:
        try:
            with self.guard:
                connection = self.connection
                if connection.in_transaction:  # a caller's filter that reads the store itself
                    return work(connection)
                with self._waiting(connection) if patient else nullcontext():
                    connection.execute("BEGIN")
                    try:
                        return work(connection)
                    finally:
                        connection.execute("ROLLBACK")
        except sqlite3.Error as problem:
            raise self._explained(problem) from problem

    @contextmanager
    def _waiting(self, connection: sqlite3.Connection) -> Iterator[None]:
        connection.execute(f"PRAGMA busy_timeout={int(_PATIENCE_SECONDS * 1000)}")
        try:
            yield
        finally:
            connection.execute("PRAGMA busy_timeout=0")

    def _explained(self, problem: sqlite3.Error) -> Exception:
        code = getattr(problem, "sqlite_errorcode", None)
        primary = None if code is None else code & 0xFF
        if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return _BusyError(f"Another process is writing {self.path} ({problem}).")
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
        if primary == sqlite3.SQLITE_ERROR:
            return StoreError(
                f"{self.path} is no whole koogbook store ({problem}). Nothing was changed. Restore it from a copy, or "
                "give another path."
            )
        return problem

    def _open(self) -> sqlite3.Connection:
        try:
            self._place.parent.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise StoreError(
                f"The folder of {self.path} cannot be made: {problem}. Give a path in a folder that can be written."
            ) from problem
        try:
            connection = sqlite3.connect(
                self._place, timeout=5.0, isolation_level=None, check_same_thread=False
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
        owner, tables = _owner_and_tables(connection)
        if owner != APPLICATION_ID and (owner or tables):
            raise StoreError(
                f"{self.path} is an SQLite file of another program. It was not touched. Give another path."
            )
        if not tables:
            # A commit writes whole pages, and a checkpoint touches few bytes of several: half the usual page is faster.
            connection.execute(f"PRAGMA page_size={_PAGE_BYTES}")
        connection.execute(f"PRAGMA wal_autocheckpoint={_LOG_BYTES // _PAGE_BYTES}")
        mode = _switch_to_log(connection)
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


def _close(connection: sqlite3.Connection, opened_by: int) -> None:
    """Close what nobody closed, when its file object or the program ends; a forked child leaves it to its parent."""
    if opened_by == os.getpid():
        connection.close()


def _owner_and_tables(connection: sqlite3.Connection) -> tuple[int, int]:
    """Whose file it is and how many tables it has, at one moment: another process may be making it just now."""
    connection.execute("BEGIN")
    try:
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        return connection.execute("PRAGMA application_id").fetchone()[0], tables
    finally:
        connection.execute("ROLLBACK")


def _transaction(
    connection: sqlite3.Connection,
    work: Callable[[sqlite3.Connection], T],
    on_rollback: Callable[[], None] | None,
) -> T:
    connection.execute("BEGIN IMMEDIATE")
    try:
        result = work(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if on_rollback is not None:
            on_rollback()
        raise
    return result


def _switch_to_log(connection: sqlite3.Connection) -> str:
    """Choose write-ahead logging; two processes that make one new file at once get in each other's way for a moment."""
    for _ in range(_OPENING_TRIES):
        try:
            return str(connection.execute("PRAGMA journal_mode=WAL").fetchone()[0])
        except sqlite3.OperationalError as busy:
            if busy.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            time.sleep(_FIRST_WAIT_SECONDS)
    return str(connection.execute("PRAGMA journal_mode=WAL").fetchone()[0])


class _BusyError(TimeoutError):
    """Another connection is writing."""
