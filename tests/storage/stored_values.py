"""Checkpoints and drafts for the tests of stores, and a store that has only the three methods."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import koogbook as kb
from koogbook.features.persistence.checkpoint import Checkpoint, CheckpointInfo
from koogbook.features.persistence.storage import CheckpointFilter, Draft

WHEN = datetime(2026, 3, 1, 8, 0, 0, 123456, tzinfo=UTC)


def message(text: str = "hello", **fields: Any) -> kb.Message:
    """A user message that is the same at each call with the same text."""
    return kb.user(text, **{"id": f"id-{text}", "time": WHEN, **fields})


def checkpoint(session_id: str = "s", version: int = 0, **changes: Any) -> Checkpoint:
    """A whole checkpoint with every field set; fields of its light form may be given as well."""
    messages = changes.pop("messages", (kb.system("rules", id="rules", time=WHEN), message()))
    info: dict[str, Any] = {
        "id": f"c{version}",
        "session_id": session_id,
        "version": version,
        "parent": f"c{version - 1}" if version else None,
        "kind": "node",
        "created": WHEN + timedelta(seconds=version),
        "agent_id": "agent",
        "path": "trip/plan",
        "messages": len(messages),
        "tokens": sum(one.tokens for one in messages),
        "iterations": version + 1,
        "fingerprint": "print",
        "strategy_version": "1",
        "left_out": ("client",),
        "run_id": "run",
    }
    body: dict[str, Any] = {
        "prompt_id": session_id,
        "model": kb.LLModel("small", "maker", 8_000, 1_000),
        "params": kb.LLMParams(temperature=0.5, stop=("END",), tool_choice=kb.ToolChoice("named", "look")),
        "tools": ("look", "book"),
        "input": b'"go"',
        "output": b'{"a":[1,2.5,null]}',
        "storage": {"seat": b"7", "name": b'"x"'},
        "fingerprint_body": b'{"strategy":"trip"}',
    }
    for name in changes:
        (body if name in body else info)[name] = changes[name]
    return Checkpoint(info=CheckpointInfo(**info), messages=tuple(messages), **body)


def draft(session_id: str = "s", checkpoint_id: str = "c0", **changes: Any) -> Draft:
    """A draft with every field set."""
    fields: dict[str, Any] = {
        "id": checkpoint_id,
        "session_id": session_id,
        "parent": None,
        "kind": "node",
        "created": WHEN,
        "agent_id": "agent",
        "run_id": "run",
        "path": "trip/plan",
        "prompt": kb.Prompt([message()], id=session_id),
        "model": kb.LLModel("small"),
        "params": kb.LLMParams(),
        "tools": (),
        "iterations": 1,
        "fingerprint": "print",
        "fingerprint_body": b"{}",
        "strategy_version": "1",
        "input": b"null",
        "output": b"null",
        "storage": {},
    }
    return Draft(**{**fields, **changes})


class PlainCheckpoints:
    """A store of somebody's own with the three methods of the protocol and nothing else."""

    def __init__(self) -> None:
        self.saved: dict[str, list[Checkpoint]] = {}

    async def get_checkpoints(
        self, session_id: str, filter: CheckpointFilter | None = None
    ) -> list[Checkpoint]:
        """See :class:`koogbook.features.persistence.storage.CheckpointStorage`."""
        found = sorted(self.saved.get(session_id, ()), key=lambda one: one.info.version)
        return [one for one in found if filter is None or filter(one.info)]

    async def save_checkpoint(self, session_id: str, checkpoint: Checkpoint) -> None:
        """See :class:`koogbook.features.persistence.storage.CheckpointStorage`."""
        line = self.saved.setdefault(session_id, [])
        taken = [
            one
            for one in line
            if one.info.version == checkpoint.info.version or one.info.id == checkpoint.info.id
        ]
        if taken and taken != [checkpoint]:
            raise kb.errors.CheckpointConflictError(f"version {checkpoint.info.version} is taken")
        if not taken:
            line.append(checkpoint)

    async def get_latest_checkpoint(
        self, session_id: str, filter: CheckpointFilter | None = None
    ) -> Checkpoint | None:
        """See :class:`koogbook.features.persistence.storage.CheckpointStorage`."""
        return next(reversed(await self.get_checkpoints(session_id, filter)), None)
