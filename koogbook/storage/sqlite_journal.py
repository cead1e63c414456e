"""The journal of tool executions in an SQLite file, which may be the one that keeps the checkpoints."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from koogbook.errors import CorruptStoreError, FeatureError
from koogbook.storage.sqlite_file import Durability, SqliteFile
from koogbook.storage.sqlite_schema import MIGRATIONS, as_bytes, as_text, conversation_id, key_of
from koogbook.tools.journal import Status, ToolExecution, not_begun

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class SqliteJournal:
    """Keeps tool executions in an SQLite file, by default ``.koogbook/koogbook.db`` below the current folder.

    Args:
        path: The file; it and its folder are made on first use. :class:`~koogbook.SqliteCheckpoints` may use it, too.
        durability: ``"normal"`` survives the death of the process, ``"full"`` also a power loss.

    Raises:
        StoreError: On use: the file belongs to another program, is newer than this koogbook, cannot be written, or was
            removed while it was in use.
        CorruptStoreError: On reading: what is stored is no tool execution.
    """

    def __init__(
        self, path: str | Path = ".koogbook/koogbook.db", *, durability: Durability = "normal"
    ) -> None:
        self._file = SqliteFile(path, MIGRATIONS, durability=durability)

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._file.close()

    async def begin(self, execution: ToolExecution) -> int:
        """See :class:`koogbook.tools.journal.JournalStorage`."""
        return await self._file.transact(lambda db: _begin(db, execution))

    async def end(
        self, session_id: str, number: int, *, status: Status, output: str, error: str, seconds: float
    ) -> None:
        """See :class:`koogbook.tools.journal.JournalStorage`."""
        row = (status, as_bytes(output), as_bytes(error), seconds, key_of(session_id), number)
        ended = await self._file.transact(lambda db: db.execute(_END, row).rowcount)
        if not ended:
            raise FeatureError(not_begun(session_id, number))

    def executions(self, session_id: str, run_id: str | None = None) -> tuple[ToolExecution, ...]:
        """See :class:`koogbook.tools.journal.JournalStorage`."""
        of_run = ("", ()) if run_id is None else (" AND t.run = ?", (as_bytes(run_id),))
        rows = self._file.read(
            lambda db: db.execute(
                f"{_SELECT}{of_run[0]} ORDER BY t.number", (key_of(session_id), *of_run[1])
            ).fetchall()
        )
        return tuple(_execution(session_id, row) for row in rows)

    def __repr__(self) -> str:
        return f"SqliteJournal({self.path.name!r})"


_END = (
    "UPDATE tool_call SET status = ?, output = ?, error = ?, seconds = ? WHERE conversation = "
    "(SELECT id FROM conversation WHERE key = ?) AND number = ? AND status = 'started'"
)
_SELECT = (
    "SELECT t.number, t.run, t.path, t.call_id, t.tool, t.args, t.status, t.output, t.error, t.started, t.seconds "
    "FROM tool_call t JOIN conversation s ON s.id = t.conversation WHERE s.key = ?"
)


def _begin(db: sqlite3.Connection, execution: ToolExecution) -> int:
    conversation = conversation_id(db, execution.session_id)
    highest = db.execute(
        "SELECT max(number) FROM tool_call WHERE conversation = ?", (conversation,)
    ).fetchone()[0]
    number = 1 if highest is None else int(highest) + 1
    db.execute(
        "INSERT INTO tool_call(conversation, number, run, path, call_id, tool, args, status, output, error, started, "
        "seconds) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            conversation,
            number,
            as_bytes(execution.run_id),
            as_bytes(execution.path),
            None if execution.call_id is None else as_bytes(execution.call_id),
            as_bytes(execution.tool),
            as_bytes(execution.args),
            execution.status,
            as_bytes(execution.output),
            as_bytes(execution.error),
            (execution.started - _EPOCH) // timedelta(microseconds=1),  # whole, since a float would round it
            execution.seconds,
        ),
    )
    return number


def _execution(session_id: str, row: Sequence[Any]) -> ToolExecution:
    number, run, path, call_id, tool, args, status, output, error, started, seconds = row
    try:
        return ToolExecution(
            number=number,
            session_id=session_id,
            run_id=as_text(run),
            path=as_text(path),
            call_id=None if call_id is None else as_text(call_id),
            tool=as_text(tool),
            args=as_text(args),
            status=msgspec.convert(status, Status),
            output=as_text(output),
            error=as_text(error),
            started=_EPOCH + timedelta(microseconds=started),
            seconds=msgspec.convert(seconds, float | None),
        )
    except (msgspec.ValidationError, AttributeError, TypeError, ValueError, OverflowError) as problem:
        raise CorruptStoreError(
            f"Tool execution {number} of session {session_id!r} is damaged: {type(problem).__name__}: {problem}. "
            "Nothing was changed. Restore the file from a copy."
        ) from problem
