"""Writing checkpoints: which rows are new, and what is remembered so that the next one writes only what is new."""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from hashlib import blake2b
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct

from koogbook.errors import CheckpointConflictError, LostLeaseError
from koogbook.features.persistence.checkpoint import CheckpointInfo
from koogbook.features.persistence.storage import Draft, info_of
from koogbook.messages.prompt import MessageLog, Prompt
from koogbook.storage.sqlite_rows import Setting, State, encode_names, encode_setting
from koogbook.storage.sqlite_schema import as_bytes, conversation_id, key_of
from koogbook.storage.sqlite_segments import Place, write_history

_MOST_REMEMBERED_SESSIONS = 64
_MOST_REMEMBERED_SETTINGS = 256
_LARGEST_INLINE_STATE = (
    256  # bytes; a small state saves a page per commit where it stands in its checkpoint's row
)


class WrittenCheckpoint(Struct, frozen=True):
    """What a save came to: the checkpoint's light form, and where its history stands."""

    info: CheckpointInfo
    place: Place


class CheckpointWriter:
    """Writes checkpoints inside transactions of one file, and remembers rows that it knows to be there."""

    def __init__(self) -> None:
        self._db: sqlite3.Connection | None = None
        self._places: WeakKeyDictionary[MessageLog, Place] = WeakKeyDictionary()
        self._last: OrderedDict[str, tuple[Prompt, Place]] = OrderedDict()
        self._settings: dict[Setting, int] = {}
        self._conversations: dict[str, tuple[int, bytes]] = {}

    def forget(self) -> None:
        """Know nothing of the file any more; the next save then looks."""
        self._places.clear()
        self._last.clear()
        self._settings.clear()
        self._conversations.clear()

    def write(self, db: sqlite3.Connection, draft: Draft, version: int | None) -> WrittenCheckpoint:
        """Write the rows of a checkpoint; None is the version after the highest.

        Raises:
            LostLeaseError: The draft's lease is not held any more.
            CheckpointConflictError: The session has this version or id.
        """
        if db is not self._db:  # opened again: it may be another file by now
            self.forget()
            self._db = db
        session, prompt = draft.session_id, draft.prompt
        known = self._conversations.get(session)
        if known is None:
            known = self._conversations[session] = (conversation_id(db, session), key_of(session))
        conversation = known[0]
        highest, holder = db.execute(
            "SELECT (SELECT max(version) FROM checkpoint WHERE conversation = ?), "
            "(SELECT token FROM lease WHERE key = ?)",
            known,
        ).fetchone()
        if draft.lease and holder != draft.lease:
            raise LostLeaseError(
                f"This run has lost session {session!r} to another one, which took its lease over. The checkpoint "
                f"after {draft.path} was not saved, and what was saved before is unharmed. Stop this run."
            )
        if version is None:
            version = 0 if highest is None else highest + 1
        history = write_history(db, prompt, self._places.get(prompt._log), self._last.get(session))
        state = msgspec.msgpack.encode(
            State(draft.output, tuple((as_bytes(name), body) for name, body in draft.storage.items()))
        )
        setting, setting_bytes = self._setting(db, draft)
        info = info_of(draft, version, bytes_written=history.new_bytes + len(state) + setting_bytes)
        try:
            db.execute(
                "INSERT INTO checkpoint(conversation, version, id, parent, kind, created, path, segment, length, "
                "tokens, iterations, setting, left_out, bytes, state) "
                "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    conversation,
                    version,
                    as_bytes(draft.id),
                    None if draft.parent is None else as_bytes(draft.parent),
                    draft.kind,
                    draft.created.timestamp(),
                    as_bytes(draft.path),
                    history.place.segment,
                    info.messages,
                    info.tokens,
                    draft.iterations,
                    setting,
                    encode_names(draft.left_out) if draft.left_out else None,
                    info.bytes,
                    state if len(state) <= _LARGEST_INLINE_STATE else None,
                ),
            )
        except sqlite3.IntegrityError as taken:
            raise CheckpointConflictError(
                f"Session {session!r} has a checkpoint with version {version} or id {draft.id!r} already. Nothing was "
                "saved. Take a fresh id."
            ) from taken
        if len(state) > _LARGEST_INLINE_STATE:
            db.execute(
                "INSERT INTO state(conversation, version, body) VALUES(?, ?, ?)",
                (conversation, version, state),
            )
        return WrittenCheckpoint(info, history.place)

    def remember_saved(self, draft: Draft, written: WrittenCheckpoint) -> None:
        """Know that the transaction of this save was committed."""
        place = written.place
        stored = self._places.get(draft.prompt._log)
        if stored is None or stored.length < place.length:
            self._places[draft.prompt._log] = place
        self._remember_last(draft.session_id, draft.prompt, place)

    def remember_restored(self, db: sqlite3.Connection, info: CheckpointInfo, prompt: Prompt) -> None:
        """Know that this prompt holds what that checkpoint stored."""
        if db is not self._db:
            self.forget()
            self._db = db
        row = db.execute(
            "SELECT c.segment, c.length, g.depth FROM checkpoint c JOIN conversation s ON s.id = c.conversation "
            "JOIN segment g ON g.id = c.segment WHERE s.key = ? AND c.id = ?",
            (key_of(info.session_id), as_bytes(info.id)),
        ).fetchone()
        if row is not None and row[1] == len(prompt):
            self._remember_last(info.session_id, prompt, Place(*row))

    def _remember_last(self, session_id: str, prompt: Prompt, place: Place) -> None:
        self._last[session_id] = (prompt, place)
        self._last.move_to_end(session_id)
        while len(self._last) > _MOST_REMEMBERED_SESSIONS:
            self._last.popitem(last=False)

    def _setting(self, db: sqlite3.Connection, draft: Draft) -> tuple[int, int]:
        """The row of what rarely changes, and the bytes that it added."""
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
            schema_version=draft.schema_version,
        )
        known = self._settings.get(setting)
        if known is not None:
            return known, 0
        body = encode_setting(setting)
        digest = blake2b(body, digest_size=16).digest()
        db.execute(
            "INSERT OR IGNORE INTO fingerprint(hash, body) VALUES(?, ?)",
            (draft.fingerprint, draft.fingerprint_body),
        )
        added = db.execute(
            "INSERT OR IGNORE INTO setting(digest, body) VALUES(?, ?)", (digest, body)
        ).rowcount
        row = int(db.execute("SELECT id FROM setting WHERE digest = ?", (digest,)).fetchone()[0])
        if len(self._settings) >= _MOST_REMEMBERED_SETTINGS:
            self._settings.clear()
        self._settings[setting] = row
        return row, len(body) if added else 0
