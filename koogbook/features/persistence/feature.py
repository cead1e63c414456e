"""The feature: a checkpoint after each node, a tombstone at the end, and going on from one at the start."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, Literal
from weakref import WeakValueDictionary

from msgspec.structs import replace

from koogbook import clock
from koogbook.errors import (
    CheckpointError,
    CheckpointNotFoundError,
    LostLeaseError,
    SessionBusyError,
    UnencodableValueError,
)
from koogbook.events import CheckpointSaved, CheckpointSkipped, TombstoneSaved
from koogbook.features.persistence.checkpoint import Checkpoint, CheckpointInfo, Kind
from koogbook.features.persistence.fingerprint import fingerprint
from koogbook.features.persistence.resume import ResumePolicy, decide, restore
from koogbook.features.persistence.storage import (
    AppendsCheckpoints,
    CheckpointStorage,
    Draft,
    ForksCheckpoints,
    LeasesSessions,
    NoPersistence,
)
from koogbook.pipeline import Interceptor, Stage
from koogbook.runtime.compiled import CompiledNode
from koogbook.runtime.context import Context
from koogbook.state.codec import encode_state

_LEASE_SECONDS = 30.0
_BUSY_POLL_SECONDS = 0.2
_held_here: ContextVar[tuple[tuple[object, str], ...]] = ContextVar("koogbook_held_sessions", default=())
_locks: WeakValueDictionary[tuple[object, str], asyncio.Lock] = WeakValueDictionary()


class Persistence:
    """Saves a checkpoint after each completed node and goes on from the last one (Koog's ``Persistence``).

    Local variables, closures, clients and open files are never in a checkpoint; an effect that was done before its
    checkpoint was saved may be done again.

    Args:
        storage: Where checkpoints are kept; the default keeps nothing, and says so.
        automatic: Save after each node, and a tombstone when the run completes. Off, a run still resumes.
        resume: What to do with an unfinished run: ``"same_input"`` goes on when the input is None or the one it was
            started with and refuses another; ``"auto"`` always goes on and ignores the input (Koog's way);
            ``"never"`` starts afresh; ``"require"`` insists on one; or a function of (checkpoint, new input) that
            returns True to go on. ``None`` is ``"same_input"``, and ``"auto"`` with ``compat="koog"``.
        on_save_error: ``"raise"`` stops the run when a save fails, ``"log"`` reports it and goes on.
        on_busy: What to do when another process runs this session id: ``"raise"`` or ``"wait"``.
        strict: Raise where something would be left out of a checkpoint, instead of reporting it.
    """

    key = "Persistence"

    def __init__(
        self,
        storage: CheckpointStorage | None = None,
        *,
        automatic: bool = True,
        resume: ResumePolicy | None = None,
        on_save_error: Literal["raise", "log"] = "raise",
        on_busy: Literal["raise", "wait"] = "raise",
        strict: bool = False,
    ) -> None:
        self.storage: CheckpointStorage = NoPersistence() if storage is None else storage
        self.automatic = automatic
        self.resume = resume
        self.on_save_error = on_save_error
        self.on_busy = on_busy
        self.strict = strict

    def install(self, agent: Any) -> InstalledPersistence:
        """Make the state of one installation."""
        return InstalledPersistence(self)


class InstalledPersistence:
    """One installation of :class:`Persistence` on one agent."""

    key = "Persistence"
    subscriptions: tuple[Any, ...] = ()

    def __init__(self, config: Persistence) -> None:
        self.config = config
        self.storage = config.storage
        self.interceptors = (_PersistenceInterceptor(self),)
        self.said: set[str] = set()

    def bind(self, ctx: Context) -> RunPersistence:
        """What ``ctx.persistence()`` gives."""
        return RunPersistence(self, ctx)

    async def close(self) -> None:
        """Nothing to flush: each save was awaited. The storage belongs to whoever made it."""

    def say_once(self, ctx: Context, kind: str, text: str) -> None:
        """A notice that one installation gives once."""
        if kind not in self.said:
            self.said.add(kind)
            ctx.log.notice(kind, text)

    async def fork(self, session_id: str, checkpoint_id: str, to_session_id: str) -> CheckpointInfo:
        """Start another session at a checkpoint; both lines stay.

        Raises:
            CheckpointNotFoundError: No such checkpoint in that session.
            CheckpointConflictError: The new session id is in use.
            CheckpointError: It is a tombstone, after which nothing comes.
        """
        if isinstance(self.storage, ForksCheckpoints):
            return await self.storage.fork_checkpoint(
                session_id, checkpoint_id, to_session_id, fork_id=clock.new_id(), created=clock.now()
            )
        found = await self.storage.get_checkpoints(session_id, lambda info: info.id == checkpoint_id)
        if not found:
            raise CheckpointNotFoundError(f"Session {session_id!r} has no checkpoint {checkpoint_id!r}.")
        forked = fork_of(found[0], to_session_id)
        await self.storage.save_checkpoint(to_session_id, forked)
        return forked.info


def fork_of(checkpoint: Checkpoint, to_session_id: str) -> Checkpoint:
    """The first checkpoint of a fork: the same state under another session id.

    Raises:
        CheckpointError: It is a tombstone.
    """
    if checkpoint.info.is_tombstone:
        raise CheckpointError(
            f"Checkpoint {checkpoint.info.id!r} is a tombstone: the run had ended and nothing comes after it. "
            "Fork from the one before."
        )
    info = replace(
        checkpoint.info,
        id=clock.new_id(),
        session_id=to_session_id,
        version=0,
        parent=checkpoint.info.id,
        kind="fork",
        created=clock.now(),
        bytes=0,
    )
    return replace(checkpoint, info=info)


class RunPersistence:
    """The checkpoints of one run, for its nodes."""

    __slots__ = ("_ctx", "_installed")

    def __init__(self, installed: InstalledPersistence, ctx: Context) -> None:
        self._installed = installed
        self._ctx = ctx

    @property
    def storage(self) -> CheckpointStorage:
        """The store, for reading it."""
        return self._installed.storage

    async def latest(self) -> Checkpoint | None:
        """The newest checkpoint of this session, or None."""
        return await self._installed.storage.get_latest_checkpoint(self._ctx.session_id)


class _PersistenceInterceptor(Interceptor):
    stage = Stage.RESTORE

    def __init__(self, installed: InstalledPersistence) -> None:
        self._installed = installed
        self._runs: dict[str, _RunState] = {}

    async def around_run(self, run: Context, value: Any, call: Callable[[Any], Awaitable[Any]]) -> Any:
        installed, config = self._installed, self._installed.config
        if isinstance(installed.storage, NoPersistence):
            installed.say_once(
                run,
                "no persistence",
                "Persistence is installed without a storage and keeps nothing: a restart begins afresh. "
                "Add one: kb.Persistence(storage=kb.SqliteCheckpoints()).",
            )
        async with _SessionHold(installed, run) as hold:
            latest = await installed.storage.get_latest_checkpoint(run.session_id)
            policy = config.resume or ("auto" if run.llm.compat == "koog" else "same_input")
            resumed = decide(run, policy, latest, value)
            state = _RunState(hold.token, latest.info.id if latest else None)
            if resumed is not None:
                restore(run, resumed, value)
                state.input = resumed.input
            else:
                state.input = _encode_input(run, value)
            if resumed is not None and isinstance(installed.storage, AppendsCheckpoints):
                installed.storage.remember_restored(resumed.info, run.llm.committed.prompt)
            self._runs[run.run_id] = state
            try:
                output = await call(value)
                if config.automatic and not isinstance(installed.storage, NoPersistence):
                    await self._save_tombstone(run, state)
                return output
            finally:
                del self._runs[run.run_id]

    async def around_node(
        self, context: Context, node: CompiledNode, value: Any, call: Callable[[Any], Awaitable[Any]]
    ) -> Any:
        output = await call(value)
        if self._installed.config.automatic and not isinstance(self._installed.storage, NoPersistence):
            await self._save_after(context, node, output)
        return output

    async def _save_after(self, ctx: Context, node: CompiledNode, output: Any) -> None:
        config = self._installed.config
        try:
            encoded = encode_state(output, node.output_type)
        except UnencodableValueError as problem:
            reason = (
                f"the output of {node.path} ({type(output).__name__}) cannot be stored: {problem} "
                "A restart goes on from the checkpoint before."
            )
            ctx.log.emit(CheckpointSkipped, node.path, reason=reason)
            if config.strict:
                raise
            return
        entries, left_out = ctx.storage.to_encoded()
        if left_out and config.strict:
            raise UnencodableValueError(
                f"strict=True, and these storage keys cannot be stored after {node.path}: "
                + "; ".join(f"{name}: {why}" for name, why in left_out.items())
            )
        state = self._runs[ctx.run_id]
        try:
            info = await self._save(ctx, state, "node", node.path, encoded, entries, tuple(left_out))
        except LostLeaseError:
            raise
        except (CheckpointError, OSError) as problem:
            ctx.log.emit(CheckpointSkipped, node.path, reason=f"the save failed: {problem}")
            if config.on_save_error == "raise":
                raise
            return
        state.parent = info.id
        ctx.log.emit(
            CheckpointSaved,
            node.path,
            checkpoint=info.id,
            version=info.version,
            kind="node",
            left_out=info.left_out,
        )
        for name, why in left_out.items():
            if name not in state.said:
                state.said.add(name)
                ctx.log.notice("storage key left out", f"{name} is in no checkpoint: {why}")

    async def _save_tombstone(self, ctx: Context, state: _RunState) -> None:
        path = f"{ctx.strategy.name}/finish"
        info = await self._save(ctx, state, "tombstone", path, b"null", {}, ())
        ctx.log.emit(TombstoneSaved, path, checkpoint=info.id, version=info.version)

    async def _save(
        self,
        ctx: Context,
        state: _RunState,
        kind: Kind,
        path: str,
        output: bytes,
        entries: dict[str, bytes],
        left_out: tuple[str, ...],
    ) -> CheckpointInfo:
        committed = ctx.llm.committed
        keys = ctx.storage.keys
        if state.fingerprint is None or state.keys != keys:
            state.fingerprint, state.keys = fingerprint(ctx.strategy, keys), keys
        draft = Draft(
            id=clock.new_id(),
            session_id=ctx.session_id,
            parent=state.parent,
            kind=kind,
            created=clock.now(),
            agent_id=ctx.agent_id,
            run_id=ctx.run_id,
            path=path,
            prompt=committed.prompt,
            model=committed.model,
            params=committed.prompt.params,
            tools=committed.tools.names,
            iterations=ctx.iterations,
            fingerprint=state.fingerprint[0],
            fingerprint_body=state.fingerprint[1],
            strategy_version=ctx.strategy.version,
            input=state.input,
            output=output,
            storage=entries,
            left_out=left_out,
            lease=state.lease,
        )
        storage = self._installed.storage
        if isinstance(storage, AppendsCheckpoints):
            return await storage.append_checkpoint(draft)
        self._installed.say_once(
            ctx,
            "plain checkpoint storage",
            f"{type(storage).__name__} has no append_checkpoint: each checkpoint is written whole, and two processes "
            "could choose the same version.",
        )
        latest = await storage.get_latest_checkpoint(ctx.session_id)
        checkpoint = checkpoint_of(draft, 0 if latest is None else latest.info.version + 1)
        await storage.save_checkpoint(ctx.session_id, checkpoint)
        return checkpoint.info


class _RunState:
    """What one run remembers between its saves."""

    __slots__ = ("fingerprint", "input", "keys", "lease", "parent", "said")

    def __init__(self, lease: str, parent: str | None) -> None:
        self.lease = lease
        self.parent = parent
        self.input = b"null"
        self.keys: tuple[Any, ...] = ()
        self.fingerprint: tuple[str, bytes] | None = None
        self.said: set[str] = set()


def checkpoint_of(draft: Draft, version: int, *, bytes_written: int = 0) -> Checkpoint:
    """A draft with its version, as the whole checkpoint."""
    info = CheckpointInfo(
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
    )
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


def _encode_input(ctx: Context, value: Any) -> bytes:
    try:
        return encode_state(value, ctx.strategy.input_type)
    except UnencodableValueError as problem:
        ctx.log.notice(
            "input not stored",
            f"the input cannot be stored in checkpoints ({problem}); after a restart only run(None) goes on",
        )
        return b""


class _SessionHold:
    """One run's hold on its session id: in this process by a lock, over processes by a lease."""

    def __init__(self, installed: InstalledPersistence, ctx: Context) -> None:
        self._installed = installed
        self._ctx = ctx
        storage = installed.storage
        self._key = (getattr(storage, "identity", id(storage)), ctx.session_id)
        self._lock: asyncio.Lock | None = None
        self._mark: Any = None
        self._renewal: clock.TimerHandle | None = None
        self.token = ""

    async def __aenter__(self) -> _SessionHold:
        ctx, storage = self._ctx, self._installed.storage
        if isinstance(storage, NoPersistence):
            return self
        if self._key in _held_here.get():
            raise SessionBusyError(
                f"A run of session {ctx.session_id!r} was started from inside a run of the same session and would "
                "wait for itself. Nothing was changed. Use another session id for the inner run."
            )
        lock = self._lock = _locks.setdefault(self._key, asyncio.Lock())
        if lock.locked():
            ctx.log.notice(
                "waiting for session",
                f"another run of session {ctx.session_id!r} is going on here",
                level="info",
            )
        await lock.acquire()
        try:
            await self._take_lease()
        except BaseException:
            lock.release()
            raise
        self._mark = _held_here.set((*_held_here.get(), self._key))
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._lock is None:
            return
        _held_here.reset(self._mark)
        if self._renewal is not None:
            self._renewal.cancel()
        try:
            if self.token and isinstance(self._installed.storage, LeasesSessions):
                self._installed.storage.release_lease(self._ctx.session_id, self.token)
        finally:
            self._lock.release()

    async def _take_lease(self) -> None:
        ctx, storage = self._ctx, self._installed.storage
        if not isinstance(storage, LeasesSessions):
            return
        token = clock.new_id()
        while (holder := storage.take_lease(ctx.session_id, token, _LEASE_SECONDS)) is not None:
            if self._installed.config.on_busy == "raise":
                raise SessionBusyError(
                    f"Session {ctx.session_id!r} is being run by process {holder.pid} on {holder.host} (its lease "
                    f"ends {holder.expires:%H:%M:%S} UTC unless it is renewed). Nothing was changed. Wait and run "
                    "again, use another session id, or install kb.Persistence(..., on_busy='wait')."
                )
            self._installed.say_once(
                ctx, "waiting for session", f"process {holder.pid} on {holder.host} runs {ctx.session_id!r}"
            )
            await clock.sleep(_BUSY_POLL_SECONDS)
        self.token = token
        self._renew_later()

    def _renew_later(self) -> None:
        self._renewal = clock.call_later(_LEASE_SECONDS / 3, self._renew)

    def _renew(self) -> None:
        storage = self._installed.storage
        assert isinstance(storage, LeasesSessions)
        if storage.renew_lease(self._ctx.session_id, self.token, _LEASE_SECONDS):
            self._renew_later()
        else:
            self._ctx.log.notice(
                "lease lost",
                f"another run has taken over session {self._ctx.session_id!r}; this one saves no more",
            )
