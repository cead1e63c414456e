"""Whole checkpoints out of a store, and as a file."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import msgspec

from koogbook.errors import CheckpointNotFoundError, ViewError
from koogbook.features.persistence.checkpoint import Checkpoint, CheckpointInfo, no_such_checkpoint
from koogbook.features.persistence.storage import CheckpointStorage
from koogbook.messages.codec import encode_message


async def read_checkpoint(storage: CheckpointStorage, info: CheckpointInfo) -> Checkpoint:
    """The whole checkpoint of a light form.

    Raises:
        CheckpointNotFoundError: It is not in the store any more.
        CorruptStoreError: What is stored is not what was saved.
    """
    found = await storage.get_checkpoints(info.session_id, lambda other: other.id == info.id)
    if not found:
        raise CheckpointNotFoundError(no_such_checkpoint(info.session_id, info.id))
    return found[0]


def write_checkpoint(checkpoint: Checkpoint, path: Path) -> Path:
    """Write a checkpoint as one JSON file in ASCII; gives the path.

    Stored values that are JSON stand there as ``{"json": ...}``, all others as ``{"base64": ...}``, so that the bytes
    in the store can be had back.

    Raises:
        ViewError: There is such a file already, or it cannot be written; nothing was written.
    """
    content = {
        "format": "koogbook checkpoint",
        "info": msgspec.to_builtins(checkpoint.info),
        "prompt_id": checkpoint.prompt_id,
        "model": msgspec.to_builtins(checkpoint.model),
        "params": msgspec.to_builtins(checkpoint.params),
        "tools": list(checkpoint.tools),
        "messages": [_value(encode_message(message)) for message in checkpoint.messages],
        "input": _value(checkpoint.input),
        "output": _value(checkpoint.output),
        "storage": {name: _value(body) for name, body in checkpoint.storage.items()},
        "fingerprint": _value(checkpoint.fingerprint_body),
    }
    text = json.dumps(content, indent=1)
    try:
        with path.open("x", encoding="ascii") as file:
            file.write(text)
    except FileExistsError:
        raise ViewError(
            f"{path} exists already. Nothing was written. Give another path, or take that file away."
        ) from None
    except OSError as problem:
        raise ViewError(f"{path} cannot be written: {problem}. Give another path.") from problem
    return path


def _value(body: bytes) -> dict[str, Any]:
    """Bytes as the JSON that they are, where that gives them back exactly."""
    try:
        value = json.loads(body)
        written = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except (ValueError, RecursionError):
        written = None
    if written == body:
        return {"json": value}
    return {"base64": base64.b64encode(body).decode("ascii")}
