"""What persistence does around a run and after each node: going on from a checkpoint, and saving the next ones."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from koogbook import clock
from koogbook.errors import LostLeaseError, UnencodableValueError
from koogbook.events import CheckpointSaved, CheckpointSkipped, TombstoneSaved
from koogbook.features.persistence.checkpoint import CheckpointInfo, Kind
from koogbook.features.persistence.fingerprint import fingerprint
from koogbook.features.persistence.hold import SessionHold
from koogbook.features.persistence.resume import decide, restore
from koogbook.features.persistence.storage import (
    AppendsCheckpoints,
    CheckpointStorage,
    Draft,
    LeasesSessions,
    NoPersistence,
    checkpoint_of,
    info_of,
)
from koogbook.pipeline import Interceptor, Stage
from koogbook.runtime.compiled import CompiledNode
from koogbook.runtime.context import Context
from koogbook.state.codec import encode_state

if TYPE_CHECKING:
    from koogbook.features.persistence.feature import Persistence


class PersistenceInterceptor(Interceptor):
    """Holds the session, restores, saves after each node, and marks the end."""

    stage = Stage.RESTORE

    def __init__(self, config: Persistence, storage: CheckpointStorage) -> None:
        self._config = config
        self._storage = storage
        self._appends = storage if isinstance(storage, AppendsCheckpoints) else None
        self._saves = config.automatic and not isinstance(storage, NoPersistence)
        self._runs: dict[str, _RunState] = {}
        #: By session: the checkpoint after which nodes ran that could not be saved, and their paths.
        self._skipped: dict[str, tuple[str | None, tuple[str, ...]]] = {}
        self._said: set[str] = set()

    async def around_run(self, run: Context, value: Any, call: Callable[[Any], Awaitable[Any]]) -> Any:
        """Restore what there is to go on from, run, and save the tombstone."""
        config, storage = self._config, self._storage
        if isinstance(storage, NoPersistence):
            self._say_once(
                run,
                "no persistence",
                "Persistence is installed without a storage and keeps nothing: a restart begins afresh. "
                "Add one: kb.Persistence(storage=kb.SqliteCheckpoints()).",
            )
        elif not isinstance(storage, LeasesSessions) and not getattr(storage, "in_process", False):
            self._say_once(
                run,
                "no leases",
                f"{type(storage).__name__} has no take_lease: a run of the same session in another process is not "
                "noticed, and both would save.",
            )
        async with SessionHold(storage, run, config.on_busy) as hold:
            latest = await storage.get_latest_checkpoint(run.session_id)
            resumed = await decide(run, config.resume_policy(run.llm.compat), latest, value)
            state = _RunState(hold.token, latest.info.id if latest else None)
            if resumed is None:
                state.input = _encode_input(run, value)
            else:
                run.log.acted["Persistence"] = None
                restore(run, resumed, value)
                await run.restored(resumed)
                self._say_skipped(run, resumed.info)
                state.input, state.lost = resumed.input, resumed.info.left_out
                if self._appends is not None:
                    self._appends.remember_restored(resumed.info, run.llm.committed.prompt)
            self._runs[run.run_id] = state
            try:
                output = await call(value)
                if self._saves:
                    await self._save_tombstone(run, state)
                return output
            finally:
                del self._runs[run.run_id]

    async def around_node(
        self, context: Context, node: CompiledNode, value: Any, call: Callable[[Any], Awaitable[Any]]
    ) -> Any:
        """Run the node and save a checkpoint before the next one starts; parts of a branch have none."""
        output = await call(value)
        if self._saves and context.is_root:
            await self._save_after(context, self._runs[context.run_id], node, output)
        return output

    async def _save_after(self, ctx: Context, state: _RunState, node: CompiledNode, output: Any) -> None:
        strict = self._config.strict
        try:
            encoded = encode_state(output, node.output_type)
        except UnencodableValueError as problem:
            reason = (
                f"the output of {node.path} ({type(output).__name__}) cannot be stored: {problem} "
                "A restart goes on from the checkpoint before."
            )
            self._skip(ctx, state, node.path, reason)
            if strict:
                raise
            return
        entries, reasons = ctx.storage.to_encoded()
        if reasons and strict:
            raise UnencodableValueError(
                f"strict=True, and these storage keys cannot be stored after {node.path}: "
                + "; ".join(f"{name}: {why}" for name, why in reasons.items())
            )
        # What was lost before a restart is still missing now, unless a node has made it again.
        lost = [name for name in state.lost if name not in entries and name not in reasons]
        info = await self._save(ctx, state, "node", node.path, encoded, entries, (*reasons, *lost))
        if info is None:
            return
        state.parent = info.id
        ctx.log.acted["Persistence"] = None
        ctx.log.emit(
            CheckpointSaved,
            node.path,
            checkpoint=info.id,
            version=info.version,
            kind="node",
            left_out=info.left_out,
        )
        for name, why in reasons.items():
            if name not in state.said:
                state.said.add(name)
                ctx.log.notice("storage key left out", f"{name} is in no checkpoint: {why}")

    async def _save_tombstone(self, ctx: Context, state: _RunState) -> None:
        path = f"{ctx.strategy.name}/finish"
        info = await self._save(ctx, state, "tombstone", path, b"null", {}, ())
        if info is not None:
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
    ) -> CheckpointInfo | None:
        """Save, or None where it failed and ``on_save_error="log"`` says to go on."""
        committed = ctx.llm.committed
        keys = ctx.storage.keys
        if state.fingerprint is None or state.keys != keys:
            state.fingerprint = fingerprint(ctx.strategy, keys, ctx.storage.restored_shapes)
            state.keys = keys
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
        try:
            info = await self._store(ctx, draft)
        except LostLeaseError:
            raise
        except Exception as problem:
            reason = f"the save failed: {type(problem).__name__}: {problem}"
            self._skip(ctx, state, path, reason)
            if self._config.on_save_error == "raise":
                raise
            return None
        self._skipped.pop(ctx.session_id, None)
        return info

    async def _store(self, ctx: Context, draft: Draft) -> CheckpointInfo:
        if self._appends is not None:
            return await self._appends.append_checkpoint(draft)
        storage = self._storage
        self._say_once(
            ctx,
            "plain checkpoint storage",
            f"{type(storage).__name__} has no append_checkpoint: each checkpoint is written whole, and two processes "
            "could choose the same version.",
        )
        latest = await storage.get_latest_checkpoint(draft.session_id)
        info = info_of(draft, 0 if latest is None else latest.info.version + 1)
        await storage.save_checkpoint(draft.session_id, checkpoint_of(draft, info))
        return info

    def _skip(self, ctx: Context, state: _RunState, path: str, reason: str) -> None:
        after, paths = self._skipped.get(ctx.session_id, (None, ()))
        self._skipped[ctx.session_id] = (state.parent, (*paths, path) if after == state.parent else (path,))
        ctx.log.emit(CheckpointSkipped, path, reason=reason)
        # Also to the program's log: after a crash nobody has the report any more.
        logging.getLogger("koogbook").warning(
            "no checkpoint after %s of session %r: %s", path, ctx.session_id, reason
        )

    def _say_skipped(self, ctx: Context, info: CheckpointInfo) -> None:
        """Say what ran after the checkpoint that a run goes on from, where this installation saw it being skipped."""
        after, skipped = self._skipped.pop(ctx.session_id, (None, ()))
        if after == info.id:
            ctx.log.notice(
                "checkpoint skipped",
                f"the run goes on after {info.path}: what ran after it could not be saved and may run again "
                f"({', '.join(skipped)})",
            )

    def _say_once(self, ctx: Context, kind: str, text: str) -> None:
        """A notice that one installation gives once."""
        if kind not in self._said:
            self._said.add(kind)
            ctx.log.notice(kind, text)


class _RunState:
    """What one run remembers between its saves; ``lost`` are the keys that a restored checkpoint had left out."""

    __slots__ = ("fingerprint", "input", "keys", "lease", "lost", "parent", "said")

    def __init__(self, lease: str, parent: str | None) -> None:
        self.lease = lease
        self.parent = parent
        self.input = b"null"
        self.lost: tuple[str, ...] = ()
        self.keys: tuple[Any, ...] = ()
        self.fingerprint: tuple[str, bytes] | None = None
        self.said: set[str] = set()


def _encode_input(ctx: Context, value: Any) -> bytes:
    try:
        return encode_state(value, ctx.strategy.input_type)
    except UnencodableValueError as problem:
        ctx.log.notice(
            "input not stored",
            f"the input cannot be stored in checkpoints ({problem}); after a restart only run(None) goes on",
        )
        return b""
