"""Checkpoints in an SQLite file, each message stored once.

A history is a *segment*: its own entries (position -> message) and, where it came from another one by a change, the
parts of that other segment that stayed: a head, and a tail that may stand at another place. A checkpoint is one small
row that names a segment and how much of it was there, so saving costs the same at message 10 and at 10,000, a
compression adds its summary only, and a fork adds one row.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from msgspec.structs import replace

from koogbook.errors import CheckpointConflictError
from koogbook.features.persistence.checkpoint import Checkpoint, CheckpointInfo, is_another_one
from koogbook.features.persistence.storage import CheckpointFilter, Draft, LeaseHolder
from koogbook.messages.prompt import Prompt
from koogbook.storage import sqlite_leases
from koogbook.storage.sqlite_file import Durability, SqliteFile
from koogbook.storage.sqlite_rows import fork_row, read_checkpoints, read_forks, read_infos, select
from koogbook.storage.sqlite_schema import MIGRATIONS
from koogbook.storage.sqlite_writer import CheckpointWriter


class SqliteCheckpoints:
    """Keeps checkpoints in an SQLite file, by default ``.koogbook/koogbook.db`` below the current folder.

    Args:
        path: The file; it and its folder are made on first use.
        durability: ``"normal"`` survives the death of the process, ``"full"`` also a power loss.

    Raises:
        StoreError: On use: the file belongs to another program, is newer than this koogbook, cannot be written, or was
            removed while it was in use.
        CorruptStoreError: On reading: what is stored is not what was saved.
    """

    def __init__(
        self, path: str | Path = ".koogbook/koogbook.db", *, durability: Durability = "normal"
    ) -> None:
        self._file = SqliteFile(path, MIGRATIONS, durability=durability)
        self._writer = CheckpointWriter()

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    @property
    def identity(self) -> str:
        """The same for every object on this file."""
        return self._file.identity

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._file.guard:
            self._file.close()
            self._writer.forget()

    # ------------------------------------------------------------------------------- saving

    async def append_checkpoint(self, draft: Draft) -> CheckpointInfo:
        """See :class:`koogbook.features.persistence.storage.AppendsCheckpoints`."""
        return await self._save(draft, None)

    async def save_checkpoint(self, session_id: str, checkpoint: Checkpoint) -> None:
        """See :class:`koogbook.features.persistence.storage.CheckpointStorage`."""
        info = checkpoint.info
        same = await self.get_checkpoints(
            session_id, lambda other: other.version == info.version or other.id == info.id
        )
        if not same:
            await self._save(_draft_of(session_id, checkpoint), info.version)
        elif replace(same[0], info=replace(same[0].info, bytes=info.bytes)) != checkpoint:
            raise CheckpointConflictError(is_another_one(session_id, same[0].info))

    async def fork_checkpoint(
        self, session_id: str, checkpoint_id: str, to_session_id: str, *, fork_id: str, created: datetime
    ) -> CheckpointInfo:
        """See :class:`koogbook.features.persistence.storage.ForksCheckpoints`."""
        await self._file.transact(
            lambda db: fork_row(db, session_id, checkpoint_id, to_session_id, fork_id, created)
        )
        return self.list_infos(to_session_id)[0]

    def remember_restored(self, info: CheckpointInfo, prompt: Prompt) -> None:
        """See :class:`koogbook.features.persistence.storage.AppendsCheckpoints`."""
        self._file.read(lambda db: self._writer.remember_restored(db, info, prompt))

    async def _save(self, draft: Draft, version: int | None) -> CheckpointInfo:
        # After a rollback what is remembered may name rows that are not there; no other thread may use it before.
        written = await self._file.transact(
            lambda db: self._writer.write(db, draft, version), on_rollback=self._writer.forget
        )
        with self._file.guard:
            self._writer.remember_saved(draft, written)
        return written.info

    # ------------------------------------------------------------------------------- reading

    async def get_checkpoints(
        self, session_id: str, filter: CheckpointFilter | None = None
    ) -> list[Checkpoint]:
        """See :class:`koogbook.features.persistence.storage.CheckpointStorage`."""
        return self._file.read(lambda db: read_checkpoints(db, select(db, session_id), filter))

    async def get_latest_checkpoint(
        self, session_id: str, filter: CheckpointFilter | None = None
    ) -> Checkpoint | None:
        """See :class:`koogbook.features.persistence.storage.CheckpointStorage`."""

        def latest(db: sqlite3.Connection) -> list[Checkpoint]:
            if filter is None:
                return read_checkpoints(db, select(db, session_id, "ORDER BY c.version DESC LIMIT 1"), None)
            rows = select(db, session_id)
            chosen = [row for row, info in zip(rows, read_infos(db, rows), strict=True) if filter(info)]
            return read_checkpoints(db, chosen[-1:], None)

        found = self._file.read(latest)
        return found[0] if found else None

    def list_infos(self, session_id: str | None = None, *, with_forks: bool = False) -> list[CheckpointInfo]:
        """See :class:`koogbook.features.persistence.storage.ListsCheckpoints`."""

        def listed(db: sqlite3.Connection) -> list[CheckpointInfo]:
            own = read_infos(db, select(db, session_id))
            return own + read_forks(db, own) if with_forks and session_id is not None else own

        return self._file.read(listed)

    def get_fingerprints(self, hashes: Sequence[str]) -> dict[str, bytes]:
        """See :class:`koogbook.features.persistence.storage.ListsCheckpoints`."""
        wanted = list(dict.fromkeys(hashes))
        marks = ",".join("?" * len(wanted))
        rows = self._file.read(
            lambda db: db.execute(
                f"SELECT hash, body FROM fingerprint WHERE hash IN ({marks})", wanted
            ).fetchall()
        )
        return dict(rows)

    # ------------------------------------------------------------------------------- leases

    def take_lease(self, session_id: str, token: str, seconds: float) -> LeaseHolder | None:
        """See :class:`koogbook.features.persistence.storage.LeasesSessions`."""
        return self._file.transact_now(lambda db: sqlite_leases.take(db, session_id, token, seconds))

    def renew_lease(self, session_id: str, token: str, seconds: float) -> bool:
        """See :class:`koogbook.features.persistence.storage.LeasesSessions`."""
        return self._file.transact_now(lambda db: sqlite_leases.renew(db, session_id, token, seconds))

    def release_lease(self, session_id: str, token: str) -> None:
        """See :class:`koogbook.features.persistence.storage.LeasesSessions`."""
        sqlite_leases.leave(token)
        self._file.transact_now(lambda db: sqlite_leases.release(db, session_id, token), patient=True)

    def __repr__(self) -> str:
        return f"SqliteCheckpoints({self.path.name!r})"


def _draft_of(session_id: str, checkpoint: Checkpoint) -> Draft:
    info = checkpoint.info
    return Draft(
        id=info.id,
        session_id=session_id,
        parent=info.parent,
        kind=info.kind,
        created=info.created,
        agent_id=info.agent_id,
        run_id=info.run_id,
        path=info.path,
        prompt=Prompt(checkpoint.messages, id=checkpoint.prompt_id, allow_duplicate=True),
        model=checkpoint.model,
        params=checkpoint.params,
        tools=checkpoint.tools,
        iterations=info.iterations,
        fingerprint=info.fingerprint,
        fingerprint_body=checkpoint.fingerprint_body,
        strategy_version=info.strategy_version,
        input=checkpoint.input,
        output=checkpoint.output,
        storage=checkpoint.storage,
        left_out=info.left_out,
        schema_version=info.schema_version,
    )
