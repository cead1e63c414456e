"""Checkpoints in an SQLite file, each message stored once.

A history is a *segment*: its own entries (position -> message) and, where it came from another one by a change, the
parts of that other segment that stayed: a head, and a tail that may stand at another place. A checkpoint is one small
row that names a segment and how much of it was there, so saving costs the same at message 10 and at 10,000, a
compression adds its summary only, and a fork adds one row.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from weakref import WeakKeyDictionary

import msgspec
from msgspec.structs import replace

from koogbook.errors import (
    CheckpointConflictError,
    CheckpointError,
    CheckpointNotFoundError,
    LostLeaseError,
)
from koogbook.features.persistence.checkpoint import Checkpoint, CheckpointInfo
from koogbook.features.persistence.storage import CheckpointFilter, Draft, LeaseHolder
from koogbook.messages.prompt import MessageLog, Prompt
from koogbook.storage import sqlite_leases
from koogbook.storage.memory_checkpoints import forks_of, no_such_checkpoint, session_in_use
from koogbook.storage.sqlite_file import Durability, SqliteFile
from koogbook.storage.sqlite_rows import Setting, State, read_checkpoints, read_infos, select, setting_encoder
from koogbook.storage.sqlite_schema import MIGRATIONS, as_bytes, conversation_id, key_of
from koogbook.storage.sqlite_segments import Place, write_history

_MOST_REMEMBERED_SESSIONS = 64
_MOST_REMEMBERED_SETTINGS = 256
_SHARED_FIELDS = (
    "id",
    "parent",
    "kind",
    "created",
    "agent_id",
    "path",
    "iterations",
    "fingerprint",
    "strategy_version",
    "left_out",
    "run_id",
)


class SqliteCheckpoints:
    """Keeps checkpoints in an SQLite file, by default ``.koogbook/koogbook.db`` below the current folder.

    Args:
        path: The file; it and its folder are made on first use.
        durability: ``"normal"`` survives the death of the process, ``"full"`` also a power loss.

    Raises:
        StoreError: On use: the file belongs to another program, is newer than this koogbook, or cannot be written.
    """

    def __init__(
        self, path: str | Path = ".koogbook/koogbook.db", *, durability: Durability = "normal"
    ) -> None:
        self._file = SqliteFile(path, MIGRATIONS, durability=durability)
        self._places: WeakKeyDictionary[MessageLog, Place] = WeakKeyDictionary()
        self._last: OrderedDict[str, tuple[Prompt, Place]] = OrderedDict()
        self._settings: dict[Setting, int] = {}
        self._conversations: dict[str, int] = {}

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
        self._file.close()
        self._forget()

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
        if same:
            known = replace(same[0], info=replace(same[0].info, bytes=info.bytes))
            if known == checkpoint:
                return
            raise CheckpointConflictError(
                f"Session {session_id!r} has a checkpoint with version {known.info.version} and id "
                f"{known.info.id!r} already, and it is another one. Nothing was saved. Take the next version and a "
                "fresh id."
            )
        draft = Draft(
            **{name: getattr(info, name) for name in _SHARED_FIELDS},
            session_id=session_id,
            prompt=Prompt(checkpoint.messages, id=checkpoint.prompt_id, allow_duplicate=True),
            model=checkpoint.model,
            params=checkpoint.params,
            tools=checkpoint.tools,
            fingerprint_body=checkpoint.fingerprint_body,
            input=checkpoint.input,
            output=checkpoint.output,
            storage=checkpoint.storage,
        )
        await self._save(draft, info.version)

    async def fork_checkpoint(
        self, session_id: str, checkpoint_id: str, to_session_id: str, *, fork_id: str, created: datetime
    ) -> CheckpointInfo:
        """See :class:`koogbook.features.persistence.storage.ForksCheckpoints`."""

        def fork(db: sqlite3.Connection) -> None:
            row = db.execute(
                "SELECT c.rowid, c.kind FROM checkpoint c JOIN conversation s ON s.id = c.conversation "
                "WHERE s.key = ? AND c.id = ?",
                (key_of(session_id), as_bytes(checkpoint_id)),
            ).fetchone()
            if row is None:
                raise CheckpointNotFoundError(no_such_checkpoint(session_id, checkpoint_id))
            if row[1] == "tombstone":
                raise CheckpointError(
                    f"Checkpoint {checkpoint_id!r} is a tombstone: the run had ended and nothing comes after it. "
                    "Fork from the one before."
                )
            target = conversation_id(db, to_session_id)
            if db.execute("SELECT 1 FROM checkpoint WHERE conversation = ? LIMIT 1", (target,)).fetchone():
                raise CheckpointConflictError(session_in_use(to_session_id))
            made = db.execute(
                "INSERT INTO checkpoint(conversation, version, id, parent, kind, created, path, segment, length, "
                "tokens, iterations, setting, left_out, bytes) SELECT ?, 0, ?, id, 'fork', ?, path, segment, length, "
                "tokens, iterations, setting, left_out, 0 FROM checkpoint WHERE rowid = ?",
                (target, as_bytes(fork_id), created.timestamp(), row[0]),
            ).lastrowid
            db.execute(
                "INSERT INTO state(checkpoint, body) SELECT ?, body FROM state WHERE checkpoint = ?",
                (made, row[0]),
            )

        await self._file.transact(fork)
        return self.list_infos(to_session_id)[0]

    def remember_restored(self, info: CheckpointInfo, prompt: Prompt) -> None:
        """See :class:`koogbook.features.persistence.storage.AppendsCheckpoints`."""

        def find(db: sqlite3.Connection) -> Place | None:
            row = db.execute(
                "SELECT c.segment, c.length, g.depth FROM checkpoint c JOIN conversation s ON s.id = c.conversation "
                "JOIN segment g ON g.id = c.segment WHERE s.key = ? AND c.id = ?",
                (key_of(info.session_id), as_bytes(info.id)),
            ).fetchone()
            return None if row is None else Place(*row)

        place = self._file.read(find)
        if place is not None and place.length == len(prompt):
            self._last[info.session_id] = (prompt, place)

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
        own = self._file.read(lambda db: read_infos(db, select(db, session_id)))
        if session_id is None or not with_forks:
            return own
        return own + forks_of(own, self._file.read(lambda db: read_infos(db, select(db, None))))

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
        self._file.transact_now(lambda db: sqlite_leases.release(db, session_id, token))

    def __repr__(self) -> str:
        return f"SqliteCheckpoints({self.path.name!r})"

    # ------------------------------------------------------------------------------- inside

    async def _save(self, draft: Draft, version: int | None) -> CheckpointInfo:
        saved: tuple[CheckpointInfo, Place]
        try:
            saved = await self._file.transact(lambda db: self._write(db, draft, version))
        except BaseException:
            # What is remembered may name rows that were rolled back.
            self._forget()
            raise
        info, place = saved
        stored = self._places.get(draft.prompt._log)
        if stored is None or stored.length < place.length:
            self._places[draft.prompt._log] = place
        self._last[draft.session_id] = (draft.prompt, place)
        self._last.move_to_end(draft.session_id)
        while len(self._last) > _MOST_REMEMBERED_SESSIONS:
            self._last.popitem(last=False)
        return info

    def _write(
        self, db: sqlite3.Connection, draft: Draft, version: int | None
    ) -> tuple[CheckpointInfo, Place]:
        session, prompt = draft.session_id, draft.prompt
        if draft.lease and not sqlite_leases.is_held(db, key_of(session), draft.lease):
            raise LostLeaseError(
                f"This run has lost session {session!r} to another one, which took its lease over. The checkpoint "
                f"after {draft.path} was not saved, and what was saved before is unharmed. Stop this run."
            )
        conversation = self._conversations.get(session)
        if conversation is None:
            conversation = self._conversations[session] = conversation_id(db, session)
        if version is None:
            highest = db.execute(
                "SELECT max(version) FROM checkpoint WHERE conversation = ?", (conversation,)
            ).fetchone()[0]
            version = 0 if highest is None else highest + 1
        written = write_history(db, prompt, self._places.get(prompt._log), self._last.get(session))
        state = msgspec.json.encode(
            State(
                msgspec.Raw(draft.output), {name: msgspec.Raw(body) for name, body in draft.storage.items()}
            )
        )
        setting, setting_bytes = self._setting(db, draft)
        new_bytes = written.new_bytes + len(state) + setting_bytes
        tokens = prompt.tokens
        try:
            row = db.execute(
                "INSERT INTO checkpoint(conversation, version, id, parent, kind, created, path, segment, length, "
                "tokens, iterations, setting, left_out, bytes) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    conversation,
                    version,
                    as_bytes(draft.id),
                    None if draft.parent is None else as_bytes(draft.parent),
                    draft.kind,
                    draft.created.timestamp(),
                    as_bytes(draft.path),
                    written.place.segment,
                    len(prompt),
                    tokens,
                    draft.iterations,
                    setting,
                    msgspec.json.encode(draft.left_out).decode() if draft.left_out else None,
                    new_bytes,
                ),
            ).lastrowid
        except sqlite3.IntegrityError as taken:
            raise CheckpointConflictError(
                f"Session {session!r} has a checkpoint with version {version} or id {draft.id!r} already. Nothing was "
                "saved. Take a fresh id."
            ) from taken
        db.execute("INSERT INTO state(checkpoint, body) VALUES(?, ?)", (row, state))
        info = CheckpointInfo(
            **{name: getattr(draft, name) for name in _SHARED_FIELDS},
            session_id=session,
            version=version,
            messages=len(prompt),
            tokens=tokens,
            bytes=new_bytes,
        )
        return info, written.place

    def _setting(self, db: sqlite3.Connection, draft: Draft) -> tuple[int, int]:
        setting = Setting(
            agent_id=draft.agent_id,
            run_id=draft.run_id,
            prompt_id=draft.prompt.id,
            model=draft.model,
            params=draft.params,
            tools=draft.tools,
            input=draft.input,
            fingerprint=draft.fingerprint,
            strategy_version=draft.strategy_version,
        )
        known = self._settings.get(setting)
        if known is not None:
            return known, 0
        body = setting_encoder.encode(setting)
        digest = blake2b(body, digest_size=16).digest()
        db.execute(
            "INSERT OR IGNORE INTO fingerprint(hash, body) VALUES(?, ?)",
            (draft.fingerprint, draft.fingerprint_body),
        )
        db.execute("INSERT OR IGNORE INTO setting(digest, body) VALUES(?, ?)", (digest, body))
        row = int(db.execute("SELECT id FROM setting WHERE digest = ?", (digest,)).fetchone()[0])
        if len(self._settings) >= _MOST_REMEMBERED_SETTINGS:
            self._settings.clear()
        self._settings[setting] = row
        return row, len(body)

    def _forget(self) -> None:
        self._places.clear()
        self._last.clear()
        self._settings.clear()
        self._conversations.clear()
