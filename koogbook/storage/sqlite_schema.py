"""The tables of a koogbook file, as a list of migrations: applying the first n gives schema version n.

Ids that come from outside are kept as bytes and found by their BLAKE2b, so that any text can be one.
"""

from __future__ import annotations

import sqlite3
from hashlib import blake2b


def _first(db: sqlite3.Connection) -> None:
    statements = (
        "CREATE TABLE conversation(id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, name BLOB NOT NULL)",
        "CREATE TABLE message(id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, body BLOB NOT NULL)",
        # head: the first messages of base that stayed. tail: tail_count messages of base from tail_from, which stand
        # at tail_at here. All other positions are entries of the segment's own.
        "CREATE TABLE segment(id INTEGER PRIMARY KEY, base INTEGER REFERENCES segment, head INTEGER NOT NULL, "
        "tail_at INTEGER NOT NULL, tail_from INTEGER NOT NULL, tail_count INTEGER NOT NULL, depth INTEGER NOT NULL)",
        "CREATE TABLE entry(segment INTEGER NOT NULL REFERENCES segment, position INTEGER NOT NULL, "
        "message INTEGER NOT NULL REFERENCES message, PRIMARY KEY(segment, position)) WITHOUT ROWID",
        "CREATE TABLE fingerprint(hash TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID",
        "CREATE TABLE setting(id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, body BLOB NOT NULL)",
        "CREATE TABLE checkpoint(conversation INTEGER NOT NULL REFERENCES conversation, "
        "version INTEGER NOT NULL, id BLOB NOT NULL, parent BLOB, kind TEXT NOT NULL, created REAL NOT NULL, "
        "path BLOB NOT NULL, segment INTEGER NOT NULL REFERENCES segment, length INTEGER NOT NULL, "
        "tokens INTEGER NOT NULL, iterations INTEGER NOT NULL, setting INTEGER NOT NULL REFERENCES setting, "
        # A small state stands last in its row, where a listing does not read it; a large one is in the table below.
        "left_out TEXT, bytes INTEGER NOT NULL, state BLOB, PRIMARY KEY(conversation, version)) WITHOUT ROWID",
        "CREATE UNIQUE INDEX checkpoint_id ON checkpoint(conversation, id)",
        "CREATE TABLE state(conversation INTEGER NOT NULL, version INTEGER NOT NULL, body BLOB NOT NULL, "
        "FOREIGN KEY(conversation, version) REFERENCES checkpoint)",
        "CREATE UNIQUE INDEX state_version ON state(conversation, version)",
        "CREATE TABLE lease(key BLOB PRIMARY KEY, token TEXT NOT NULL, host TEXT NOT NULL, pid INTEGER NOT NULL, "
        "started TEXT NOT NULL, expires REAL NOT NULL) WITHOUT ROWID",
    )
    for statement in statements:
        db.execute(statement)


def _tool_calls(db: sqlite3.Connection) -> None:
    db.execute(
        "CREATE TABLE tool_call(id INTEGER PRIMARY KEY, conversation INTEGER NOT NULL REFERENCES conversation, "
        "number INTEGER NOT NULL, run BLOB NOT NULL, path BLOB NOT NULL, call_id BLOB, tool BLOB NOT NULL, "
        # started: whole microseconds since 1970, UTC
        "args BLOB NOT NULL, status TEXT NOT NULL, output BLOB NOT NULL, error BLOB NOT NULL, "
        "started INTEGER NOT NULL, seconds REAL)"
    )
    db.execute("CREATE UNIQUE INDEX tool_call_number ON tool_call(conversation, number)")


MIGRATIONS = (_first, _tool_calls)


def as_bytes(text: str) -> bytes:
    """Any text as bytes, lone surrogates and NUL included."""
    return text.encode("utf-8", "surrogatepass")


def as_text(body: bytes) -> str:
    """The text that :func:`as_bytes` was given."""
    return body.decode("utf-8", "surrogatepass")


def key_of(session_id: str) -> bytes:
    """What a session id is found by: 16 bytes, whatever it holds."""
    return blake2b(as_bytes(session_id), digest_size=16).digest()


def conversation_id(db: sqlite3.Connection, session_id: str) -> int:
    """The row of a session id, made where it is new."""
    key = key_of(session_id)
    row = db.execute("SELECT id FROM conversation WHERE key = ?", (key,)).fetchone()
    if row is None:
        row = db.execute(
            "INSERT INTO conversation(key, name) VALUES(?, ?) RETURNING id", (key, as_bytes(session_id))
        ).fetchone()
    return int(row[0])
