"""Checkpoints in memory: gone with the object, good for trying things out and for tests."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace

from koogbook.errors import CheckpointConflictError, CheckpointNotFoundError
from koogbook.features.persistence.checkpoint import (
    Checkpoint,
    CheckpointInfo,
    fork_of,
    forks_of,
    is_another_one,
    no_such_checkpoint,
    session_in_use,
)
from koogbook.features.persistence.storage import CheckpointFilter, Draft, checkpoint_of, info_of
from koogbook.messages.prompt import Prompt


class _Line:
    """The checkpoints of one session, lowest version first."""

    __slots__ = ("infos", "kept", "versions")

    def __init__(self) -> None:
        self.infos: list[CheckpointInfo] = []
        self.kept: list[Draft | Checkpoint] = []
        self.versions: dict[str, int] = {}

    def put(self, info: CheckpointInfo, kept: Draft | Checkpoint) -> None:
        at = self.place_of(info.version)
        self.infos.insert(at, info)
        self.kept.insert(at, kept)
        self.versions[info.id] = info.version

    def place_of(self, version: int) -> int:
        """Where this version stands, or would stand."""
        return bisect_left(self.infos, version, key=lambda info: info.version)

    def find(self, version: int, checkpoint_id: str) -> Checkpoint | None:
        """The checkpoint that has this version or this id."""
        at = self.place_of(self.versions.get(checkpoint_id, version))
        return self.whole(at) if at < len(self.infos) and self._is(at, version, checkpoint_id) else None

    def whole(self, at: int) -> Checkpoint:
        kept = self.kept[at]
        found = kept if isinstance(kept, Checkpoint) else checkpoint_of(kept, self.infos[at])
        return replace(found, storage=dict(found.storage))

    def _is(self, at: int, version: int, checkpoint_id: str) -> bool:
        return self.infos[at].version == version or self.infos[at].id == checkpoint_id


class MemoryCheckpoints:
    """Keeps checkpoints in this object (Koog's in-memory provider). Messages are shared, not copied."""

    #: No other process can reach it, so it needs no leases.
    in_process = True

    def __init__(self) -> None:
        self._lines: dict[str, _Line] = {}
        self._fingerprints: dict[str, bytes] = {}

    async def get_checkpoints(
        self, session_id: str, filter: CheckpointFilter | None = None
    ) -> list[Checkpoint]:
        """See :class:`koogbook.features.persistence.storage.CheckpointStorage`."""
        line = self._lines.get(session_id, _Line())
        return [line.whole(at) for at, info in enumerate(line.infos) if filter is None or filter(info)]

    async def get_latest_checkpoint(
        self, session_id: str, filter: CheckpointFilter | None = None
    ) -> Checkpoint | None:
        """See :class:`koogbook.features.persistence.storage.CheckpointStorage`."""
        line = self._lines.get(session_id, _Line())
        for at in reversed(range(len(line.infos))):
            if filter is None or filter(line.infos[at]):
                return line.whole(at)
        return None

    async def save_checkpoint(self, session_id: str, checkpoint: Checkpoint) -> None:
        """See :class:`koogbook.features.persistence.storage.CheckpointStorage`."""
        info = checkpoint.info
        known = self._lines.get(session_id, _Line()).find(info.version, info.id)
        if known is None:
            self._keep(session_id, checkpoint, info, checkpoint.fingerprint_body)
        elif known != checkpoint:
            raise CheckpointConflictError(is_another_one(session_id, known.info))

    async def append_checkpoint(self, draft: Draft) -> CheckpointInfo:
        """See :class:`koogbook.features.persistence.storage.AppendsCheckpoints`."""
        line = self._lines.get(draft.session_id, _Line())
        if draft.id in line.versions:
            raise CheckpointConflictError(
                f"Session {draft.session_id!r} has a checkpoint {draft.id!r} already. Nothing was saved. "
                "Take a fresh id."
            )
        info = info_of(draft, line.infos[-1].version + 1 if line.infos else 0)
        self._keep(draft.session_id, draft, info, draft.fingerprint_body)
        return info

    def remember_restored(self, info: CheckpointInfo, prompt: Prompt) -> None:
        """Nothing to remember: messages are shared objects."""

    def list_infos(self, session_id: str | None = None, *, with_forks: bool = False) -> list[CheckpointInfo]:
        """See :class:`koogbook.features.persistence.storage.ListsCheckpoints`."""
        if session_id is None:
            everything = [info for line in tuple(self._lines.values()) for info in line.infos]
            return sorted(everything, key=lambda info: info.created)
        found = list(self._lines.get(session_id, _Line()).infos)
        return found + forks_of(found, self.list_infos()) if with_forks else found

    def get_fingerprints(self, hashes: Sequence[str]) -> dict[str, bytes]:
        """See :class:`koogbook.features.persistence.storage.ListsCheckpoints`."""
        return {one: self._fingerprints[one] for one in hashes if one in self._fingerprints}

    async def fork_checkpoint(
        self, session_id: str, checkpoint_id: str, to_session_id: str, *, fork_id: str, created: datetime
    ) -> CheckpointInfo:
        """See :class:`koogbook.features.persistence.storage.ForksCheckpoints`."""
        found = await self.get_checkpoints(session_id, lambda info: info.id == checkpoint_id)
        if not found:
            raise CheckpointNotFoundError(no_such_checkpoint(session_id, checkpoint_id))
        forked = fork_of(found[0], to_session_id, fork_id=fork_id, created=created)
        if to_session_id in self._lines:
            raise CheckpointConflictError(session_in_use(to_session_id))
        self._keep(to_session_id, forked, forked.info, forked.fingerprint_body)
        return forked.info

    def _keep(
        self, session_id: str, kept: Draft | Checkpoint, info: CheckpointInfo, fingerprint: bytes
    ) -> None:
        # The caller may go on changing its own dict, as it may change those that it is given.
        self._lines.setdefault(session_id, _Line()).put(info, replace(kept, storage=dict(kept.storage)))
        self._fingerprints[info.fingerprint] = fingerprint

    def __repr__(self) -> str:
        return f"MemoryCheckpoints({len(self._lines)} sessions)"
