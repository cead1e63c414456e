"""What ``agent.run`` gives: the output, and everything that can be seen of how it came about."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from koogbook.events import (
    CheckpointRestored,
    CheckpointSaved,
    CompressionCompleted,
    Event,
    Notice,
    RunCompleted,
    RunFailed,
    TombstoneSaved,
)
from koogbook.llm.call_record import CallRecord
from koogbook.llm.usage import (
    ModelUsage,
    NodeUsage,
    PurposeUsage,
    usage_by_model,
    usage_by_node,
    usage_of_all,
)
from koogbook.messages.ledger import Ledger
from koogbook.messages.prompt import Prompt
from koogbook.tools.journal import ToolExecution, tool_executions

if TYPE_CHECKING:
    from koogbook.agents.report import Report
    from koogbook.runtime.context import Context


RunState = Literal["running", "completed", "failed", "cancelled"]


class LastCheckpoint(Struct, frozen=True):
    """What was really saved last."""

    id: str
    version: int
    path: str
    left_out: tuple[str, ...] = ()


class Run:
    """One call of ``agent.run``; a failed one is ``error.run`` and ``agent.last_run``.

    ``session_id`` names the conversation (Koog's runId), ``run_id`` this call alone.
    """

    __slots__ = ("__weakref__", "_context", "error", "installed", "output")

    def __init__(self, context: Context, installed: Sequence[str] = ()) -> None:
        self._context = context
        self.output: Any = None
        self.error: BaseException | None = None
        self.installed = tuple(installed)

    @property
    def run_id(self) -> str:
        """This call of ``agent.run``."""
        return self._context.run_id

    @property
    def session_id(self) -> str:
        """The conversation."""
        return self._context.session_id

    @property
    def agent_id(self) -> str:
        """The agent."""
        return self._context.agent_id

    @property
    def strategy(self) -> Any:
        """The compiled strategy that ran."""
        return self._context.strategy

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything that happened, in order."""
        return tuple(self._context.log.events)

    @property
    def prompt(self) -> Prompt:
        """The last committed prompt."""
        return self._context.llm.committed.prompt

    @property
    def acted(self) -> tuple[str, ...]:
        """The installed features that changed or kept something in this run, in the order they first did."""
        return tuple(self._context.log.acted)

    @property
    def state(self) -> RunState:
        """How far it is, or how it ended."""
        if self.error is not None:
            ended = next(
                (one for one in reversed(self._context.log.events) if isinstance(one, RunFailed)), None
            )
            return "cancelled" if ended is not None and ended.cancelled else "failed"
        completed = any(isinstance(one, RunCompleted) for one in reversed(self._context.log.events))
        return "completed" if completed else "running"

    @property
    def storage(self) -> Any:
        """The run's storage."""
        return self._context.storage

    @property
    def iterations(self) -> int:
        """Node runs so far, those before a resume included."""
        return self._context.iterations

    @property
    def calls(self) -> tuple[CallRecord, ...]:
        """The requests to the model, as they went out, with their answers."""
        return tuple(self._context.llm.calls.records)

    @property
    def usage(self) -> tuple[PurposeUsage, ...]:
        """Calls, tokens and cost, for each purpose apart."""
        return self._context.llm.calls.usage()

    @property
    def usage_by_node(self) -> tuple[NodeUsage, ...]:
        """Calls, tokens and cost, for each node apart."""
        return usage_by_node(self.calls)

    @property
    def usage_by_model(self) -> tuple[ModelUsage, ...]:
        """Calls, tokens and cost, for each model apart that answered or was asked in vain."""
        return usage_by_model(self.calls)

    @property
    def cost(self) -> Decimal | None:
        """What all requests cost in US dollars, with what providers counted for attempts that gave no answer.

        None where nothing of it has a known price.
        Where some have one and others have not, it is the cost of those that have: ``unpriced`` in the usages says how
        many have not.
        """
        return usage_of_all(self.calls).cost

    @property
    def compressions(self) -> tuple[Ledger, ...]:
        """The record of each compression, refused and unchanged ones included."""
        return tuple(event.ledger for event in self.events if isinstance(event, CompressionCompleted))

    @property
    def tool_executions(self) -> tuple[ToolExecution, ...]:
        """The tool calls that were run or refused, in the order in which they began."""
        return tool_executions(self.events)

    @property
    def resumed_from(self) -> CheckpointRestored | None:
        """The checkpoint that this run went on from, or None."""
        return next((event for event in self.events if isinstance(event, CheckpointRestored)), None)

    @property
    def resumed(self) -> bool:
        """Whether it went on from a checkpoint."""
        return self.resumed_from is not None

    @property
    def interrupted(self) -> None:
        """What the run waits for a person to decide; no node can ask yet, so always None."""
        return None

    @property
    def last_checkpoint(self) -> LastCheckpoint | None:
        """What was really saved last, tombstones included; None when nothing was."""
        for event in reversed(self._context.log.events):
            if isinstance(event, CheckpointSaved):
                return LastCheckpoint(event.checkpoint, event.version, event.path, event.left_out)
            if isinstance(event, TombstoneSaved):
                return LastCheckpoint(event.checkpoint, event.version, event.path)
        return None

    def notice(self, kind: str, text: str) -> None:
        """Add something that was noticed from outside to the events, so that it stands in the report."""
        self._context.log.emit_quietly(Notice, "", kind=kind, text=text)

    def report(self) -> Report:
        """What happened, in words: outcome, nodes, sessions, requests, compressions, checkpoints, what needs a look."""
        from koogbook.agents.report import report_of

        return report_of(self)

    def __repr__(self) -> str:
        state = f"failed: {type(self.error).__name__}" if self.state == "failed" else self.state
        return f"<run {self.run_id} of session {self.session_id!r}, {state}, {len(self._context.log.events)} events>"
