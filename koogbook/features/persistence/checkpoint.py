"""What a checkpoint holds, and the light form of it that listings use."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from koogbook.errors import CheckpointError
from koogbook.messages.message import Message
from koogbook.messages.model import LLModel, LLMParams

#: The form in which a checkpoint holds its state; a change of that form gets the next number.
SCHEMA_VERSION = 1

Kind = Literal["node", "manual", "rollback", "fork", "interrupt", "tombstone"]


class CheckpointInfo(Struct, frozen=True, kw_only=True):
    """A checkpoint without its messages and state: what a table shows.

    ``version`` is the running number in the session, from 0; ``schema_version`` tells the form of the checkpoint
    itself, ``strategy_version`` is the strategy's own. ``path`` is the node that completed
    (``strategy/subgraph/node``); ``node_path`` puts the agent id before it, as Koog prints it. ``parent`` is the id of
    the checkpoint that it follows, in another session where it is the first of a fork. ``bytes`` is what this
    checkpoint added to the store.
    """

    id: str
    session_id: str
    version: int
    parent: str | None
    kind: Kind
    created: datetime
    agent_id: str
    path: str
    messages: int
    tokens: int
    iterations: int
    fingerprint: str
    strategy_version: str
    left_out: tuple[str, ...] = ()
    bytes: int = 0
    run_id: str = ""
    schema_version: int = SCHEMA_VERSION

    @property
    def node_path(self) -> str:
        """``agent/strategy/subgraph/node``, as Koog prints it."""
        return f"{self.agent_id}/{self.path}" if self.path else self.agent_id

    @property
    def is_tombstone(self) -> bool:
        """The session id had ended with this one."""
        return self.kind == "tombstone"


class Checkpoint(Struct, frozen=True, kw_only=True):
    """The state of a run after a node: everything that the next node needs, as plain values.

    ``input``, ``output`` and the entries of ``storage`` are kept encoded (see
    :mod:`koogbook.state.codec`) until somebody who knows the declared type asks for them.
    """

    info: CheckpointInfo
    messages: tuple[Message, ...]
    prompt_id: str
    model: LLModel
    params: LLMParams
    tools: tuple[str, ...]
    input: bytes
    output: bytes
    storage: dict[str, bytes]
    fingerprint_body: bytes = b""

    @property
    def output_type(self) -> str:
        """The declared type of the output in words, as the fingerprint has it; empty where it has none.

        A tombstone has no output.
        """
        if self.info.is_tombstone:
            return ""
        try:
            output: object = json.loads(self.fingerprint_body)["nodes"][self.info.path][1]
        except (ValueError, LookupError, TypeError, RecursionError):
            return ""
        return output if isinstance(output, str) else ""


def fork_of(checkpoint: Checkpoint, to_session_id: str, *, fork_id: str, created: datetime) -> Checkpoint:
    """The first checkpoint of a fork: the same state under another session id.

    Raises:
        CheckpointError: It is a tombstone.
    """
    if checkpoint.info.is_tombstone:
        raise CheckpointError(nothing_after_tombstone(checkpoint.info.id))
    info = replace(
        checkpoint.info,
        id=fork_id,
        session_id=to_session_id,
        version=0,
        parent=checkpoint.info.id,
        kind="fork",
        created=created,
        bytes=0,
    )
    return replace(checkpoint, info=info)


def forks_of(own: Sequence[CheckpointInfo], everything: Sequence[CheckpointInfo]) -> list[CheckpointInfo]:
    """The checkpoints of all sessions that were forked from these, and of those forked from them in turn."""
    sessions = {info.session_id for info in own}
    ids = {info.id for info in own}
    found: list[CheckpointInfo] = []
    while True:
        new = {
            info.session_id
            for info in everything
            if info.version == 0
            and info.kind == "fork"
            and info.parent in ids
            and info.session_id not in sessions
        }
        if not new:
            return found
        sessions |= new
        more = [info for info in everything if info.session_id in new]
        ids |= {info.id for info in more}
        found.extend(more)


def nothing_after_tombstone(checkpoint_id: str) -> str:
    """The message for a fork from a tombstone."""
    return (
        f"Checkpoint {checkpoint_id!r} is a tombstone: the run had ended and nothing comes after it. Nothing was "
        "changed. Fork from the one before."
    )


def no_such_checkpoint(session_id: str, checkpoint_id: str) -> str:
    """The message for an id that is not there."""
    return (
        f"Session {session_id!r} has no checkpoint {checkpoint_id!r}. Nothing was changed. "
        "kb.checkpoints(agent, session_id) lists those it has."
    )


def session_in_use(session_id: str) -> str:
    """The message for a fork onto a session that has checkpoints."""
    return (
        f"Session {session_id!r} has checkpoints already, and a fork begins a new one. Nothing was changed. "
        "Choose another session id for the fork."
    )


def is_another_one(session_id: str, known: CheckpointInfo) -> str:
    """The message for a version or id that is taken by other content."""
    return (
        f"Session {session_id!r} has a checkpoint with version {known.version} and id {known.id!r} already, and it is "
        "another one. Nothing was saved. Take the next version and a fresh id."
    )
