"""Rows of checkpoints: how they are listed and put together again."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

import msgspec
from msgspec import Struct

from koogbook.errors import (
    CheckpointConflictError,
    CheckpointError,
    CheckpointNotFoundError,
    CorruptStoreError,
    SessionBusyError,
)
from koogbook.features.persistence.checkpoint import (
    Checkpoint,
    CheckpointInfo,
    Kind,
    no_such_checkpoint,
    nothing_after_tombstone,
    session_in_use,
)
from koogbook.features.persistence.storage import CheckpointFilter
from koogbook.messages.codec import encode_with_surrogates
from koogbook.messages.model import LLModel, LLMParams
from koogbook.storage import sqlite_leases
from koogbook.storage.sqlite_schema import as_bytes, as_text, conversation_id, key_of
from koogbook.storage.sqlite_segments import read_history


class Setting(Struct, frozen=True):
    """What rarely changes from checkpoint to checkpoint, stored once for all of a run that share it."""

    agent_id: str
    run_id: str
    prompt_id: str
    model: LLModel
    params: LLMParams
    tools: tuple[str, ...]
    input: bytes
    fingerprint: str
    strategy_version: str
    schema_version: int = 1  # for ever: what is meant where a file does not say


class State(Struct, frozen=True, array_like=True):
    """What a checkpoint holds of its own: the node's output and the storage by key name, all encoded already."""

    output: bytes
    storage: tuple[tuple[bytes, bytes], ...]


class Row(Struct, frozen=True):
    """A row of the listing, as the columns stand in :func:`select`."""

    conversation: int
    name: bytes
    version: int
    id: bytes
    parent: bytes | None
    kind: str
    created: float
    path: bytes
    segment: int
    length: int
    tokens: int
    iterations: int
    left_out: str | None
    bytes: int
    setting: int


_setting_encoder = msgspec.json.Encoder(order="sorted")
_setting_decoder = msgspec.json.Decoder(Setting)
_state_decoder = msgspec.msgpack.Decoder(State)


def encode_setting(setting: Setting) -> bytes:
    """A setting as JSON, keys sorted; lone surrogates, which msgspec refuses, are escaped."""
    try:
        return _setting_encoder.encode(setting)
    except UnicodeEncodeError:
        return encode_with_surrogates(msgspec.to_builtins(setting))


def _decode_setting(body: bytes) -> Setting:
    try:
        return _setting_decoder.decode(body)
    except msgspec.DecodeError:
        return msgspec.convert(json.loads(body), Setting)


def encode_names(names: Sequence[str]) -> bytes:
    """Names as JSON, lone surrogates included."""
    return encode_with_surrogates(list(names))


def decode_names(text: str | bytes) -> tuple[str, ...]:
    """What :func:`encode_names` was given."""
    return msgspec.convert(json.loads(text), tuple[str, ...])


def select(db: sqlite3.Connection, session_id: str | None, order: str = "ORDER BY c.version") -> list[Row]:
    """The rows of a session, or of all in the order of their making."""
    if session_id is None:
        return _select(db, "ORDER BY c.created, c.conversation, c.version")
    return _select(db, f"WHERE s.key = ? {order}", key_of(session_id))


def read_forks(db: sqlite3.Connection, own: Sequence[CheckpointInfo]) -> list[CheckpointInfo]:
    """The light forms of all sessions that were forked from these, and of those forked from them in turn.

    Of other sessions only the first rows of forks are read, however much the store holds.
    """
    first = read_infos(db, _select(db, "WHERE c.kind = 'fork' AND c.version = 0 ORDER BY c.created"))
    sessions, ids = {info.session_id for info in own}, {info.id for info in own}
    found: list[CheckpointInfo] = []
    while True:
        new = [info.session_id for info in first if info.parent in ids and info.session_id not in sessions]
        if not new:
            return found
        more = [info for session in dict.fromkeys(new) for info in read_infos(db, select(db, session))]
        sessions.update(new)
        ids.update(info.id for info in more)
        found += sorted(more, key=lambda info: info.created)


def _select(db: sqlite3.Connection, rest: str, *values: bytes) -> list[Row]:
    return [
        Row(*found)
        for found in db.execute(
            "SELECT c.conversation, s.name, c.version, c.id, c.parent, c.kind, c.created, c.path, c.segment, c.length, "
            "c.tokens, c.iterations, c.left_out, c.bytes, c.setting "
            "FROM checkpoint c JOIN conversation s ON s.id = c.conversation " + rest,
            values,
        )
    ]


def _settings_of(db: sqlite3.Connection, rows: Sequence[Row]) -> dict[int, Setting]:
    found: dict[int, Setting] = {}
    for row in rows:
        if row.setting not in found:
            with damage_of(row):
                body = db.execute("SELECT body FROM setting WHERE id = ?", (row.setting,)).fetchone()[0]
                found[row.setting] = _decode_setting(body)
    return found


@contextmanager
def damage_of(row: Row) -> Iterator[None]:
    """Turn whatever stored bytes can do wrong into one error that names the checkpoint."""
    try:
        yield
    except CorruptStoreError:
        raise
    except (
        msgspec.MsgspecError,
        ValueError,
        TypeError,
        LookupError,
        OverflowError,
        OSError,
        MemoryError,
        RecursionError,
    ) as problem:
        raise CorruptStoreError(
            f"Checkpoint {_shown(row.id)} (version {row.version}) of session {_shown(row.name)} is damaged: "
            f"{type(problem).__name__}: {problem}. Nothing was changed. Restore the file from a copy, or go on from "
            "another checkpoint."
        ) from problem


def _shown(body: object) -> str:
    return body.decode("utf-8", "replace") if isinstance(body, bytes) else repr(body)


def read_infos(db: sqlite3.Connection, rows: Sequence[Row]) -> list[CheckpointInfo]:
    """The light forms of these rows."""
    settings = _settings_of(db, rows)
    return [_info(row, settings[row.setting]) for row in rows]


def _info(row: Row, setting: Setting) -> CheckpointInfo:
    with damage_of(row):
        return _undamaged_info(row, setting)


def _undamaged_info(row: Row, setting: Setting) -> CheckpointInfo:
    return CheckpointInfo(
        id=as_text(row.id),
        session_id=as_text(row.name),
        version=row.version,
        parent=None if row.parent is None else as_text(row.parent),
        kind=msgspec.convert(row.kind, Kind),
        created=datetime.fromtimestamp(row.created, UTC),
        agent_id=setting.agent_id,
        path=as_text(row.path),
        messages=row.length,
        tokens=row.tokens,
        iterations=row.iterations,
        fingerprint=setting.fingerprint,
        strategy_version=setting.strategy_version,
        left_out=decode_names(row.left_out) if row.left_out else (),
        bytes=row.bytes,
        run_id=setting.run_id,
        schema_version=setting.schema_version,
    )


def read_checkpoints(
    db: sqlite3.Connection, rows: Sequence[Row], filter: CheckpointFilter | None
) -> list[Checkpoint]:
    """The whole checkpoints of these rows, those that pass the filter.

    Raises:
        CorruptStoreError: Rows that belong to one are missing.
    """
    settings = _settings_of(db, rows)
    found: list[Checkpoint] = []
    for row in rows:
        setting = settings[row.setting]
        info = _info(row, setting)
        if filter is not None and not filter(info):
            continue
        with damage_of(row):
            found.append(_read_checkpoint(db, row, info, setting))
    return found


def _read_checkpoint(db: sqlite3.Connection, row: Row, info: CheckpointInfo, setting: Setting) -> Checkpoint:
    state = db.execute(
        "SELECT coalesce(c.state, s.body) FROM checkpoint c LEFT JOIN state s USING (conversation, version) "
        "WHERE c.conversation = ? AND c.version = ?",
        (row.conversation, row.version),
    ).fetchone()
    stored = db.execute("SELECT body FROM fingerprint WHERE hash = ?", (setting.fingerprint,)).fetchone()
    if state[0] is None or stored is None:
        raise CorruptStoreError(
            f"Checkpoint {info.id} of session {info.session_id!r} has lost a row it needs. Nothing was changed. "
            "Restore the file from a copy, or go on from another checkpoint."
        )
    kept = _state_decoder.decode(state[0])
    return Checkpoint(
        info=info,
        messages=read_history(db, row.segment, row.length),
        prompt_id=setting.prompt_id,
        model=setting.model,
        params=setting.params,
        tools=setting.tools,
        input=setting.input,
        output=kept.output,
        storage={as_text(name): body for name, body in kept.storage},
        fingerprint_body=stored[0],
    )


def fork_row(
    db: sqlite3.Connection,
    session_id: str,
    checkpoint_id: str,
    to_session_id: str,
    fork_id: str,
    created: datetime,
) -> None:
    """Copy a checkpoint's row and state to another session as its first one; its messages stay where they are."""
    row = db.execute(
        "SELECT c.kind, c.conversation, c.version FROM checkpoint c JOIN conversation s ON s.id = c.conversation "
        "WHERE s.key = ? AND c.id = ?",
        (key_of(session_id), as_bytes(checkpoint_id)),
    ).fetchone()
    if row is None:
        raise CheckpointNotFoundError(no_such_checkpoint(session_id, checkpoint_id))
    if row[0] == "tombstone":
        raise CheckpointError(nothing_after_tombstone(checkpoint_id))
    target = conversation_id(db, to_session_id)
    if db.execute("SELECT 1 FROM checkpoint WHERE conversation = ? LIMIT 1", (target,)).fetchone():
        raise CheckpointConflictError(session_in_use(to_session_id))
    holder = sqlite_leases.holder_of(db, to_session_id)
    if holder is not None:
        raise SessionBusyError(
            f"Session {to_session_id!r} is being run by process {holder.pid} on {holder.host}, and a fork begins a new "
            "session. Nothing was changed. Choose another session id for the fork."
        )
    origin = row[1:]
    db.execute(
        "INSERT INTO checkpoint(conversation, version, id, parent, kind, created, path, segment, length, "
        "tokens, iterations, setting, left_out, bytes, state) SELECT ?, 0, ?, id, 'fork', ?, path, segment, length, "
        "tokens, iterations, setting, left_out, 0, state FROM checkpoint WHERE conversation = ? AND version = ?",
        (target, as_bytes(fork_id), created.timestamp(), *origin),
    )
    db.execute(
        "INSERT INTO state(conversation, version, body) SELECT ?, 0, body FROM state "
        "WHERE conversation = ? AND version = ?",
        (target, *origin),
    )
