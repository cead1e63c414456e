"""Deciding at the start of a run whether to go on from a checkpoint, and putting its state back."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Literal

from koogbook.errors import (
    CheckpointNotFoundError,
    IncompatibleCheckpointError,
    UndecodableValueError,
    UnfinishedRunError,
)
from koogbook.events import CheckpointRestored
from koogbook.features.persistence.checkpoint import SCHEMA_VERSION, Checkpoint
from koogbook.features.persistence.fingerprint import compare, key_shapes
from koogbook.features.persistence.inputs import is_same_input
from koogbook.llm.context import Committed
from koogbook.messages.prompt import Prompt
from koogbook.runtime.context import Context, ResumePoint
from koogbook.state.codec import decode_state
from koogbook.tools.tool import ToolRegistry

ResumeWord = Literal["same_input", "auto", "never", "require"]
ResumePolicy = ResumeWord | Callable[[Checkpoint, Any], bool | Awaitable[bool]]


async def decide(
    ctx: Context, policy: ResumePolicy, latest: Checkpoint | None, value: Any
) -> Checkpoint | None:
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
        answer = policy(open_run, value)
        goes_on = await answer if inspect.isawaitable(answer) else answer
        if goes_on:
            return open_run
        _leave_behind(ctx, open_run, "the resume function said no")
        return None
    if policy == "never":
        _leave_behind(ctx, open_run, "resume='never'")
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


def _leave_behind(ctx: Context, open_run: Checkpoint, reason: str) -> None:
    ctx.log.notice(
        "unfinished run left behind",
        f"{reason}: checkpoint {open_run.info.id} after {open_run.info.path} stays where it is",
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
    if info.schema_version > SCHEMA_VERSION:
        newer = f"form of the checkpoint: stored {info.schema_version}, this koogbook knows {SCHEMA_VERSION}"
        raise _incompatible(ctx, checkpoint, (newer,))
    if checkpoint.fingerprint_body:
        compared = compare(checkpoint.fingerprint_body, ctx.strategy, info.path, ctx.storage.keys)
        differences = compared.differences
        if compared.level == "incompatible":
            raise _incompatible(ctx, checkpoint, differences)
    if node is None:
        raise _incompatible(ctx, checkpoint, (*differences, f"node {info.path}: is gone"))
    notes: list[str] = []
    try:
        output = decode_state(checkpoint.output, node.output_type, notes=notes)
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
    ctx.storage.load_encoded(checkpoint.storage, info.left_out, key_shapes(checkpoint.fingerprint_body))
    ctx.storage.on_note = ctx.log.notice
    ctx.shared.iterations = info.iterations
    ctx.shared.resume = ResumePoint(info.path, output)
    ctx.shared.input = _stored_input(ctx, checkpoint, value)
    ignored = value is not None and not _is_same_input(ctx, checkpoint, value)
    ctx.log.emit(
        CheckpointRestored, info.path, checkpoint=info.id, version=info.version, input_ignored=ignored
    )
    _notice_what_is_older(ctx, checkpoint, committed)
    if ignored:
        ctx.log.notice("input ignored", f"the run goes on from {info.id}; the new input was not used")
    if missing:
        ctx.log.notice(
            "tool missing", f"the checkpoint offers tools that the agent has not: {', '.join(missing)}"
        )
    for note in notes:
        ctx.log.notice("field filled in", f"output of {info.path}: {note}")
    if differences:
        ctx.log.notice("strategy changed", f"since checkpoint {info.id}: " + "; ".join(differences))


def _notice_what_is_older(ctx: Context, checkpoint: Checkpoint, configured: Committed) -> None:
    """A run goes on as it was begun: say so where the agent has been given something else since."""
    if configured.model != checkpoint.model:
        ctx.log.notice(
            "model restored", f"the run goes on with {checkpoint.model}; the agent now has {configured.model}"
        )
    now = [message.text for message in configured.prompt.messages if message.role == "system"]
    then = [message.text for message in checkpoint.messages if message.role == "system"]
    if configured.prompt.params != checkpoint.params:
        ctx.log.notice(
            "params restored", "the run goes on with the parameters it was begun with; the agent has others"
        )
    given = [
        message.text
        for message in checkpoint.messages
        if message.role == "system" and message.metadata.get("from_agent") is True
    ]
    if any(text not in then for text in now) or any(text not in now for text in given):
        ctx.log.notice(
            "system prompt restored",
            "the run goes on with the system messages it was begun with; the agent now has other ones",
        )


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
    return is_same_input(checkpoint.input, value, ctx.strategy.input_type)


def _stored_input(ctx: Context, checkpoint: Checkpoint, value: Any) -> Any:
    if not checkpoint.input:
        return value
    notes: list[str] = []
    try:
        restored = decode_state(checkpoint.input, ctx.strategy.input_type, notes=notes)
    except UndecodableValueError as problem:
        ctx.log.notice("input not restored", f"ctx.input is the new one: {problem}")
        return value
    for note in notes:
        ctx.log.notice("field filled in", f"input: {note}")
    return restored


def _shown(body: bytes) -> str:
    return _short(body.decode("utf-8", "replace")) if body else "an input that could not be stored"


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."
