"""Checkpoints in memory: gone with the object, good for trying things out and for tests."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from koogbook.errors import CheckpointConflictError, CheckpointNotFoundError
from koogbook.features.persistence.checkpoint import Checkpoint, CheckpointInfo
from koogbook.features.persistence.feature import checkpoint_of, fork_of
from koogbook.features.persistence.storage import CheckpointFilter, Draft
from koogbook.messages.prompt import Prompt


class MemoryCheckpoints:
    """Keeps checkpoints in this object (Koog's in-memory provider). Messages are shared, not copied."""

    def __init__(self) -> None:
        self._sessions: dict[str, list[Draft | Checkpoint]] = {}
        self._infos: dict[str, list[CheckpointInfo]] = {}
        self._fingerprints: dict[str, bytes] = {}

    async def get_checkpoints(
        self, session_id: str, filter: CheckpointFilter | None = None
    ) -> list[Checkpoint]:
        """See :class:`koogbook.features.persistence.storage.CheckpointStorage`."""
        return [
            self._whole(session_id, at)
            for at, info in enumerate(self._infos.get(session_id, ()))
            if filter is None or filter(info)
        ]

    async def get_latest_checkpoint(
        self, session_id: str, filter: CheckpointFilter | None = None
    ) -> Checkpoint | None:
        """See :class:`koogbook.features.persistence.storage.CheckpointStorage`."""
        infos = self._infos.get(session_id, [])
        chosen = [at for at, info in enumerate(infos) if filter is None or filter(info)]
        return self._whole(session_id, max(chosen, key=lambda at: infos[at].version)) if chosen else None

    async def save_checkpoint(self, session_id: str, checkpoint: Checkpoint) -> None:
        """See :class:`koogbook.features.persistence.storage.CheckpointStorage`."""
        info = checkpoint.info
        for at, known in enumerate(self._infos.get(session_id, ())):
            if known.version == info.version or known.id == info.id:
                if self._whole(session_id, at) == checkpoint:
                    return
                raise CheckpointConflictError(
                    f"Session {session_id!r} has a checkpoint with version {known.version} and id {known.id!r} "
                    "already, and it is another one. Nothing was saved. Take the next version and a fresh id."
                )
        self._keep(session_id, checkpoint, info)
        self._infos[session_id].sort(key=lambda one: one.version)
        self._sessions[session_id].sort(
            key=lambda one: (
                one.info.version if isinstance(one, Checkpoint) else self._version_of(session_id, one)
            )
        )
        self._fingerprints[info.fingerprint] = checkpoint.fingerprint_body

    async def append_checkpoint(self, draft: Draft) -> CheckpointInfo:
        """See :class:`koogbook.features.persistence.storage.AppendsCheckpoints`."""
        infos = self._infos.get(draft.session_id, [])
        if any(info.id == draft.id for info in infos):
            raise CheckpointConflictError(
                f"Session {draft.session_id!r} has a checkpoint {draft.id!r} already. Nothing was saved. "
                "Take a fresh id."
            )
        info = checkpoint_of(draft, infos[-1].version + 1 if infos else 0).info
        self._keep(draft.session_id, draft, info)
        self._fingerprints[draft.fingerprint] = draft.fingerprint_body
        return info

    def remember_restored(self, info: CheckpointInfo, prompt: Prompt) -> None:
        """Nothing to remember: messages are shared objects."""

    def list_infos(self, session_id: str | None = None, *, with_forks: bool = False) -> list[CheckpointInfo]:
        """See :class:`koogbook.features.persistence.storage.ListsCheckpoints`."""
        if session_id is None:
            return [info for infos in self._infos.values() for info in infos]
        found = list(self._infos.get(session_id, ()))
        if with_forks:
            found.extend(forks_of(found, [info for infos in self._infos.values() for info in infos]))
        return found

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
        if self._infos.get(to_session_id):
            raise CheckpointConflictError(session_in_use(to_session_id))
        forked = fork_of(found[0], to_session_id)
        self._keep(to_session_id, forked, forked.info)
        return forked.info

    def _keep(self, session_id: str, kept: Draft | Checkpoint, info: CheckpointInfo) -> None:
        self._sessions.setdefault(session_id, []).append(kept)
        self._infos.setdefault(session_id, []).append(info)

    def _version_of(self, session_id: str, draft: Draft) -> int:
        return next(info.version for info in self._infos[session_id] if info.id == draft.id)

    def _whole(self, session_id: str, at: int) -> Checkpoint:
        kept, info = self._sessions[session_id][at], self._infos[session_id][at]
        return kept if isinstance(kept, Checkpoint) else checkpoint_of(kept, info.version)

    def __repr__(self) -> str:
        return f"MemoryCheckpoints({len(self._infos)} sessions)"


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
