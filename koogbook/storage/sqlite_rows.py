"""Rows of checkpoints: how they are written, listed and put together again."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

from koogbook.errors import CorruptStoreError
from koogbook.features.persistence.checkpoint import Checkpoint, CheckpointInfo
from koogbook.features.persistence.storage import CheckpointFilter
from koogbook.messages.model import LLModel, LLMParams
from koogbook.storage.sqlite_schema import as_text, key_of
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


class State(Struct, frozen=True):
    """What a checkpoint holds of its own: the node's output and the storage, both encoded already."""

    output: msgspec.Raw
    storage: dict[str, msgspec.Raw]


class Row(Struct, frozen=True):
    """A row of the listing, as the columns stand in :func:`select`."""

    rowid: int
    name: bytes
    version: int
    id: bytes
    parent: bytes | None
    kind: Any
    created: float
    path: bytes
    segment: int
    length: int
    tokens: int
    iterations: int
    left_out: str | None
    bytes: int
    setting: int


setting_encoder = msgspec.json.Encoder(order="sorted")
_setting_decoder = msgspec.json.Decoder(Setting)
_state_decoder = msgspec.json.Decoder(State)


def select(db: sqlite3.Connection, session_id: str | None, order: str = "ORDER BY c.version") -> list[Row]:
    """The rows of a session, or of all in the order of their making."""
    where, values = ("WHERE s.key = ?", (key_of(session_id),)) if session_id is not None else ("", ())
    if session_id is None:
        order = "ORDER BY c.created, c.rowid"
    return [
        Row(*values)
        for values in db.execute(
            "SELECT c.rowid, s.name, c.version, c.id, c.parent, c.kind, c.created, c.path, c.segment, c.length, "
            "c.tokens, c.iterations, c.left_out, c.bytes, c.setting "
            "FROM checkpoint c JOIN conversation s ON s.id = c.conversation "
            f"{where} {order}",
            values,
        )
    ]


def _settings_of(db: sqlite3.Connection, rows: Sequence[Row]) -> dict[int, Setting]:
    return {
        number: _setting_decoder.decode(
            db.execute("SELECT body FROM setting WHERE id = ?", (number,)).fetchone()[0]
        )
        for number in {row.setting for row in rows}
    }


def read_infos(db: sqlite3.Connection, rows: Sequence[Row]) -> list[CheckpointInfo]:
    """The light forms of these rows."""
    settings = _settings_of(db, rows)
    return [_info(row, settings[row.setting]) for row in rows]


def _info(row: Row, setting: Setting) -> CheckpointInfo:
    return CheckpointInfo(
        id=as_text(row.id),
        session_id=as_text(row.name),
        version=row.version,
        parent=None if row.parent is None else as_text(row.parent),
        kind=row.kind,
        created=datetime.fromtimestamp(row.created, UTC),
        agent_id=setting.agent_id,
        path=as_text(row.path),
        messages=row.length,
        tokens=row.tokens,
        iterations=row.iterations,
        fingerprint=setting.fingerprint,
        strategy_version=setting.strategy_version,
        left_out=msgspec.json.decode(row.left_out, type=tuple[str, ...]) if row.left_out else (),
        bytes=row.bytes,
        run_id=setting.run_id,
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
        state = db.execute("SELECT body FROM state WHERE checkpoint = ?", (row.rowid,)).fetchone()
        stored = db.execute("SELECT body FROM fingerprint WHERE hash = ?", (setting.fingerprint,)).fetchone()
        if state is None or stored is None:
            raise CorruptStoreError(
                f"Checkpoint {info.id} of session {info.session_id!r} has lost a row it needs. Nothing was changed. "
                "Restore the file from a copy, or go on from another checkpoint."
            )
        kept = _state_decoder.decode(state[0])
        found.append(
            Checkpoint(
                info=info,
                messages=read_history(db, row.segment, row.length),
                prompt_id=setting.prompt_id,
                model=setting.model,
                params=setting.params,
                tools=setting.tools,
                input=setting.input,
                output=bytes(kept.output),
                storage={name: bytes(body) for name, body in kept.storage.items()},
                fingerprint_body=stored[0],
            )
        )
    return found
