"""The feature as a user installs it, and what it offers to agents and nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from difflib import get_close_matches
from typing import Any, ClassVar, Literal, get_args

from koogbook import clock
from koogbook.errors import CheckpointConflictError, CheckpointNotFoundError
from koogbook.features.persistence.checkpoint import (
    Checkpoint,
    CheckpointInfo,
    fork_of,
    no_such_checkpoint,
    session_in_use,
)
from koogbook.features.persistence.hold import kept_free
from koogbook.features.persistence.resume import ResumePolicy, ResumeWord
from koogbook.features.persistence.saving import PersistenceInterceptor
from koogbook.features.persistence.storage import (
    CheckpointStorage,
    ForksCheckpoints,
    ListsCheckpoints,
    NoPersistence,
)
from koogbook.runtime.context import Context

OnSaveError = Literal["raise", "log"]
OnBusy = Literal["raise", "wait"]


@dataclass(frozen=True)
class Persistence:
    """Saves a checkpoint after each completed node and goes on from the last one (Koog's ``Persistence``).

    Local variables, closures, clients and open files are never in a checkpoint; an effect that was done before its
    checkpoint was saved may be done again.

    Args:
        storage: Where checkpoints are kept; the default keeps nothing, and says so.
        automatic: Save after each node, and a tombstone when the run completes. Off, a run still resumes.
        resume: What to do with an unfinished run: ``"same_input"`` goes on when the input is None or the one it was
            started with and refuses another; ``"auto"`` always goes on and ignores the input (Koog's way);
            ``"never"`` starts afresh; ``"require"`` insists on one; or a function of (checkpoint, new input), async
            or not, that returns True to go on and False to start afresh. ``None`` is ``"same_input"``, and ``"auto"``
            with ``compat="koog"``.
        on_save_error: ``"raise"`` stops the run when a save fails, ``"log"`` reports it and goes on.
        on_busy: What to do when another process runs this session id: ``"raise"`` or ``"wait"``.
        strict: Raise where something would be left out of a checkpoint, instead of reporting it.

    Raises:
        ValueError: An option is none of its words; the message names the nearest one.
        TypeError: The storage is none.
    """

    key: ClassVar[str] = "Persistence"
    storage: CheckpointStorage | None = None
    _: KW_ONLY
    automatic: bool = True
    resume: ResumePolicy | None = None
    on_save_error: OnSaveError = "raise"
    on_busy: OnBusy = "raise"
    strict: bool = False

    def __post_init__(self) -> None:
        if self.storage is not None and (
            isinstance(self.storage, type) or not hasattr(self.storage, "get_latest_checkpoint")
        ):
            raise TypeError(
                f"storage is where checkpoints are kept, not {self.storage!r}. For a file: "
                'kb.Persistence(storage=kb.SqliteCheckpoints("path.db")).'
            )
        _require_word("on_save_error", self.on_save_error, get_args(OnSaveError))
        _require_word("on_busy", self.on_busy, get_args(OnBusy))
        if self.resume is not None and not callable(self.resume):
            _require_word("resume", self.resume, get_args(ResumeWord), ", None or a function")
        for name in ("automatic", "strict"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} is True or False, not {getattr(self, name)!r}.")

    def resume_policy(self, compat: str) -> ResumePolicy:
        """The policy that counts: with ``resume=None`` it depends on the agent's ``compat``."""
        if self.resume is not None:
            return self.resume
        return "auto" if compat == "koog" else "same_input"

    def install(self, agent: Any) -> InstalledPersistence:
        """Make the state of one installation."""
        return InstalledPersistence(self)


class InstalledPersistence:
    """One installation of :class:`Persistence` on one agent."""

    key = "Persistence"
    subscriptions: tuple[Any, ...] = ()

    def __init__(self, config: Persistence) -> None:
        self.config = config
        self.storage: CheckpointStorage = NoPersistence() if config.storage is None else config.storage
        self.interceptors = (PersistenceInterceptor(config, self.storage),)

    def bind(self, ctx: Context) -> RunPersistence:
        """What ``ctx.persistence()`` gives."""
        return RunPersistence(self.storage, ctx)

    async def close(self) -> None:
        """Nothing to flush: each save was awaited. The storage belongs to whoever made it."""

    async def fork(self, session_id: str, checkpoint_id: str, to_session_id: str) -> CheckpointInfo:
        """Start another session at a checkpoint; both lines stay.

        The id may be cut short, as the views print it, where one checkpoint alone begins so. The name or the path of a
        node in its place means the last checkpoint that was saved after that node.

        Raises:
            CheckpointNotFoundError: No such checkpoint in that session, or several that begin so.
            CheckpointConflictError: The new session has checkpoints.
            SessionBusyError: A run holds the new session id; it would go on over the fork.
            CheckpointError: It is a tombstone, after which nothing comes.
        """
        with kept_free(self.storage, to_session_id):
            return await self._fork(
                session_id, await self._whole_id(session_id, checkpoint_id), to_session_id
            )

    async def _whole_id(self, session_id: str, given: str) -> str:
        if not given:
            return given
        if isinstance(self.storage, ListsCheckpoints):
            infos = self.storage.list_infos(session_id)
        else:
            infos = [found.info for found in await self.storage.get_checkpoints(session_id)]
        ids = [info.id for info in infos]
        begin_so = [one for one in ids if one.startswith(given)]
        if given in ids:
            return given
        after = [info.id for info in infos if given in (info.path, info.path.rpartition("/")[2])]
        if after or not begin_so:
            return after[-1] if after else given
        if len(begin_so) > 1:
            raise CheckpointNotFoundError(
                f"{len(begin_so)} checkpoints of session {session_id!r} begin with {given!r}: "
                f"{', '.join(begin_so[:5])}. Nothing was changed. Give more of the id."
            )
        return begin_so[0]

    async def _fork(self, session_id: str, checkpoint_id: str, to_session_id: str) -> CheckpointInfo:
        storage, fork_id, created = self.storage, clock.new_id(), clock.now()
        if isinstance(storage, ForksCheckpoints):
            return await storage.fork_checkpoint(
                session_id, checkpoint_id, to_session_id, fork_id=fork_id, created=created
            )
        found = await storage.get_checkpoints(session_id, lambda info: info.id == checkpoint_id)
        if not found:
            raise CheckpointNotFoundError(no_such_checkpoint(session_id, checkpoint_id))
        forked = fork_of(found[0], to_session_id, fork_id=fork_id, created=created)
        if await storage.get_latest_checkpoint(to_session_id) is not None:
            raise CheckpointConflictError(session_in_use(to_session_id))
        await storage.save_checkpoint(to_session_id, forked)
        return forked.info


class RunPersistence:
    """The checkpoints of one run, for its nodes."""

    __slots__ = ("_ctx", "storage")

    def __init__(self, storage: CheckpointStorage, ctx: Context) -> None:
        self.storage = storage
        self._ctx = ctx

    async def latest(self) -> Checkpoint | None:
        """The newest checkpoint of this session, or None."""
        return await self.storage.get_latest_checkpoint(self._ctx.session_id)


def _require_word(option: str, given: object, words: Sequence[str], others: str = "") -> None:
    if given in words:
        return
    listed = " or ".join(repr(word) for word in words) if len(words) == 2 else ", ".join(map(repr, words))
    near = get_close_matches(given.lower(), words, n=1, cutoff=0.0) if isinstance(given, str) else []
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"{option} is {listed}{others}, not {given!r}.{hint}")
