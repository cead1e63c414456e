"""Deciding at the start of a run whether to go on from a checkpoint, and putting its state back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from koogbook.errors import (
    CheckpointNotFoundError,
    IncompatibleCheckpointError,
    UndecodableValueError,
    UnencodableValueError,
    UnfinishedRunError,
)
from koogbook.events import CheckpointRestored
from koogbook.features.persistence.checkpoint import Checkpoint
from koogbook.features.persistence.fingerprint import compare
from koogbook.llm.context import Committed
from koogbook.messages.prompt import Prompt
from koogbook.runtime.context import Context, ResumePoint
from koogbook.state.codec import decode_state, encode_state
from koogbook.tools.tool import ToolRegistry

ResumePolicy = Literal["same_input", "auto", "never", "require"] | Callable[[Checkpoint, Any], bool]


def decide(ctx: Context, policy: ResumePolicy, latest: Checkpoint | None, value: Any) -> Checkpoint | None:
    """The checkpoint to go on from, or None for a fresh start.

    Raises:
        UnfinishedRunError: There is an unfinished run and ``value`` is not the input it was started with.
        CheckpointNotFoundError: The policy is ``"require"`` and there is nothing to go on from.
    """
    open_run = latest if latest is not None and not latest.info.is_tombstone else None
    if open_run is None:
        if policy == "require":
            state = "has ended" if latest is not None else "has no checkpoint"
            raise CheckpointNotFoundError(
                f"resume='require', and session {ctx.session_id!r} {state}. Nothing was run. Check the id, or use "
                "resume='same_input'."
            )
        return None
    if callable(policy):
        return open_run if policy(open_run, value) else None
    if policy == "never":
        ctx.log.notice(
            "unfinished run left behind",
            f"resume='never': checkpoint {open_run.info.id} after {open_run.info.path} stays where it is",
        )
        return None
    if policy in ("auto", "require") or value is None or _is_same_input(ctx, open_run, value):
        return open_run
    raise UnfinishedRunError(
        f"Session {ctx.session_id!r} has an unfinished run: checkpoint {open_run.info.id} after "
        f"{open_run.info.path}, started with {_shown(open_run.input)}. The new input {_short(repr(value))} was not "
        "used and nothing was changed. Go on with it: run(None, session_id=...) or the same input. Give it up: "
        "kb.Persistence(..., resume='never'). Go on and ignore the new input, as Koog does: resume='auto'. Or use "
        "another session id.",
        checkpoint_id=open_run.info.id,
    )


def restore(ctx: Context, checkpoint: Checkpoint, value: Any) -> None:
    """Put messages, storage, model, params, tools and iteration count back, then set where the run goes on.

    The edges of the completed node are evaluated after this, against the restored state.

    Raises:
        IncompatibleCheckpointError: The node is gone or its type has changed; nothing was changed.
    """
    info = checkpoint.info
    node = ctx.strategy.graph.find(info.path)
    differences: tuple[str, ...] = ()
    if checkpoint.fingerprint_body:
        compared = compare(checkpoint.fingerprint_body, ctx.strategy, info.path)
        differences = compared.differences
        if compared.level == "incompatible":
            raise _incompatible(ctx, checkpoint, differences)
    if node is None:
        raise _incompatible(ctx, checkpoint, (*differences, f"node {info.path}: is gone"))
    try:
        output = decode_state(checkpoint.output, node.output_type)
    except UndecodableValueError as problem:
        raise _incompatible(ctx, checkpoint, (*differences, f"output of {info.path}: {problem}")) from problem
    committed = ctx.llm.committed
    offered = [(name, committed.tools.get(name)) for name in checkpoint.tools]
    tools = [tool for _, tool in offered if tool is not None]
    missing = [name for name, tool in offered if tool is None]
    ctx.llm.restore(
        Committed(
            Prompt(
                checkpoint.messages, id=checkpoint.prompt_id, params=checkpoint.params, allow_duplicate=True
            ),
            ToolRegistry(tools),
            checkpoint.model,
        )
    )
    ctx.storage.load_encoded(checkpoint.storage, info.left_out)
    ctx.iterations = info.iterations
    ctx.resume = ResumePoint(info.path, output)
    ctx.input = _stored_input(ctx, checkpoint, value)
    ignored = value is not None and not _is_same_input(ctx, checkpoint, value)
    ctx.log.emit(
        CheckpointRestored, info.path, checkpoint=info.id, version=info.version, input_ignored=ignored
    )
    if ignored:
        ctx.log.notice("input ignored", f"the run goes on from {info.id}; the new input was not used")
    if missing:
        ctx.log.notice(
            "tool missing", f"the checkpoint offers tools that the agent has not: {', '.join(missing)}"
        )
    if differences:
        ctx.log.notice("strategy changed", f"since checkpoint {info.id}: " + "; ".join(differences))


def _incompatible(
    ctx: Context, checkpoint: Checkpoint, differences: tuple[str, ...]
) -> IncompatibleCheckpointError:
    listed = "; ".join(differences)
    return IncompatibleCheckpointError(
        f"Session {ctx.session_id!r} cannot go on from checkpoint {checkpoint.info.id} (version "
        f"{checkpoint.info.version}) with the strategy as it is now: {listed}. Nothing was changed. Put the node "
        "back as it was, fork from an earlier checkpoint, or start afresh: kb.Persistence(..., resume='never').",
        differences=differences,
    )


def _is_same_input(ctx: Context, checkpoint: Checkpoint, value: Any) -> bool:
    try:
        return encode_state(value, ctx.strategy.input_type) == checkpoint.input
    except UnencodableValueError:
        return False


def _stored_input(ctx: Context, checkpoint: Checkpoint, value: Any) -> Any:
    try:
        return decode_state(checkpoint.input, ctx.strategy.input_type) if checkpoint.input else value
    except UndecodableValueError as problem:
        ctx.log.notice("input not restored", f"ctx.input is the new one: {problem}")
        return value


def _shown(body: bytes) -> str:
    return _short(body.decode("utf-8", "replace")) if body else "an input that could not be stored"


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."
