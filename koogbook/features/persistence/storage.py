"""What a checkpoint store must do, and what it may do better.

The three methods of :class:`CheckpointStorage` are the whole obligation. The rest is looked for by method name; where
appending or leases are missing, the weaker behaviour is used and said once in an event. A store that no other process
can reach needs no leases and has ``in_process = True``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol, runtime_checkable

from msgspec import Struct

from koogbook.features.persistence.checkpoint import SCHEMA_VERSION, Checkpoint, CheckpointInfo, Kind
from koogbook.messages.model import LLModel, LLMParams
from koogbook.messages.prompt import Prompt

#: Chooses checkpoints by their light form: ``lambda info: info.version >= 3``.
CheckpointFilter = Callable[[CheckpointInfo], bool]


class CheckpointStorage(Protocol):
    """Keeps checkpoints per session id (Koog's ``PersistenceStorageProvider``)."""

    async def get_checkpoints(
        self, session_id: str, filter: CheckpointFilter | None = None
    ) -> list[Checkpoint]:
        """All checkpoints of a session, lowest version first; empty when it is unknown."""

    async def save_checkpoint(self, session_id: str, checkpoint: Checkpoint) -> None:
        """Keep one.

        Raises:
            CheckpointConflictError: The session has this version or id already, with other content.
        """

    async def get_latest_checkpoint(
        self, session_id: str, filter: CheckpointFilter | None = None
    ) -> Checkpoint | None:
        """The one with the highest version, tombstones included; None when there is none."""


class Draft(Struct, frozen=True, kw_only=True):
    """A checkpoint before the store has given it a version: the prompt as it is, so that only news is written."""

    id: str
    session_id: str
    parent: str | None
    kind: Kind
    created: datetime
    agent_id: str
    run_id: str
    path: str
    prompt: Prompt
    model: LLModel
    params: LLMParams
    tools: tuple[str, ...]
    iterations: int
    fingerprint: str
    fingerprint_body: bytes
    strategy_version: str
    input: bytes
    output: bytes
    storage: dict[str, bytes]
    left_out: tuple[str, ...] = ()
    lease: str = ""
    schema_version: int = SCHEMA_VERSION


def info_of(draft: Draft, version: int, *, bytes_written: int = 0) -> CheckpointInfo:
    """The light form of a draft that has got its version."""
    return CheckpointInfo(
        id=draft.id,
        session_id=draft.session_id,
        version=version,
        parent=draft.parent,
        kind=draft.kind,
        created=draft.created,
        agent_id=draft.agent_id,
        path=draft.path,
        messages=len(draft.prompt),
        tokens=draft.prompt.tokens,
        iterations=draft.iterations,
        fingerprint=draft.fingerprint,
        strategy_version=draft.strategy_version,
        left_out=draft.left_out,
        bytes=bytes_written,
        run_id=draft.run_id,
        schema_version=draft.schema_version,
    )


def checkpoint_of(draft: Draft, info: CheckpointInfo) -> Checkpoint:
    """A draft that has got its version, as the whole checkpoint."""
    return Checkpoint(
        info=info,
        messages=draft.prompt.messages,
        prompt_id=draft.prompt.id,
        model=draft.model,
        params=draft.params,
        tools=draft.tools,
        input=draft.input,
        output=draft.output,
        storage=draft.storage,
        fingerprint_body=draft.fingerprint_body,
    )


@runtime_checkable
class AppendsCheckpoints(Protocol):
    """A store that writes only what is new and gives the version in the same step."""

    async def append_checkpoint(self, draft: Draft) -> CheckpointInfo:
        """Save, with the version after the session's highest.

        Raises:
            LostLeaseError: Another run holds the session's lease by now; nothing was saved.
            CheckpointConflictError: The session has this id already; nothing was saved.
        """

    def remember_restored(self, info: CheckpointInfo, prompt: Prompt) -> None:
        """Know that this prompt holds what that checkpoint stored, so that the next one writes only what is new."""


@runtime_checkable
class ListsCheckpoints(Protocol):
    """A store that lists without touching messages or state, at once and without a loop."""

    def list_infos(self, session_id: str | None = None, *, with_forks: bool = False) -> list[CheckpointInfo]:
        """The light forms of one session (and of what was forked from it) or of all, oldest first."""

    def get_fingerprints(self, hashes: Sequence[str]) -> dict[str, bytes]:
        """The stored fingerprints by hash; unknown ones are missing."""


@runtime_checkable
class ForksCheckpoints(Protocol):
    """A store that starts a new session at a checkpoint without copying its messages."""

    async def fork_checkpoint(
        self, session_id: str, checkpoint_id: str, to_session_id: str, *, fork_id: str, created: datetime
    ) -> CheckpointInfo:
        """Save the fork as version 0 of the new session.

        Raises:
            CheckpointNotFoundError: No such checkpoint.
            CheckpointConflictError: The new session has checkpoints already.
            SessionBusyError: A run holds the new session's lease.
        """


class LeaseHolder(Struct, frozen=True):
    """Who holds a session's lease."""

    token: str
    host: str
    pid: int
    expires: datetime


@runtime_checkable
class LeasesSessions(Protocol):
    """A store that lets one run at a time hold a session id, also over processes.

    Each method returns at once. Where another process is writing just now it raises ``TimeoutError``, has done nothing,
    and may be asked again.
    """

    def take_lease(self, session_id: str, token: str, seconds: float) -> LeaseHolder | None:
        """Take the lease; the present holder when it cannot be had, None when it is ours.

        A holder whose time is up, or whose process on this host is gone, is replaced.
        """

    def renew_lease(self, session_id: str, token: str, seconds: float) -> bool:
        """Hold it longer; False when it is not ours any more."""

    def release_lease(self, session_id: str, token: str) -> None:
        """Let go of it, if it is ours."""


class NoPersistence:
    """Keeps nothing (Koog's no-op provider), the default of :class:`Persistence`."""

    async def get_checkpoints(
        self, session_id: str, filter: CheckpointFilter | None = None
    ) -> list[Checkpoint]:
        """Empty."""
        return []

    async def save_checkpoint(self, session_id: str, checkpoint: Checkpoint) -> None:
        """Does nothing."""

    async def get_latest_checkpoint(
        self, session_id: str, filter: CheckpointFilter | None = None
    ) -> Checkpoint | None:
        """None."""
        return None
