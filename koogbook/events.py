"""What happened, as immutable records. Views, traces and reports are made from these and from nothing else.

Every event has the wall time (``time``, seconds since the epoch, UTC), the monotonic time (``at``, seconds), the run
and session it belongs to, and ``path``: where in the strategy it happened (``strategy/subgraph/node``, empty outside).
``session_id`` names the conversation, ``run_id`` one call of ``agent.run`` (Koog's runId is our session id).

``input`` and ``output`` are the objects themselves, not copies: a listener may read them and may not change them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal

from msgspec import Struct

from koogbook.code_place import CodeExcerpt
from koogbook.messages.ledger import Ledger
from koogbook.messages.message import Usage

SessionMode = Literal["read", "write"]


class Event(Struct, frozen=True, kw_only=True):
    """Something that happened."""

    time: float = 0.0
    at: float = 0.0
    run_id: str = ""
    session_id: str = ""
    path: str = ""

    @property
    def name(self) -> str:
        """The kind of event: the class's name."""
        return type(self).__name__

    @property
    def parent(self) -> str:
        """The path of what ``path`` stands in: ``strategy/sub`` for ``strategy/sub/node``, empty for a strategy."""
        return self.path.rpartition("/")[0]

    @property
    def when(self) -> datetime:
        """Wall time, aware, UTC."""
        return datetime.fromtimestamp(self.time, UTC)


# ------------------------------------------------------------------------------------------- runs


class RunStarting(Event, frozen=True, kw_only=True):
    """``agent.run`` was called (Koog's AgentStarting)."""

    agent_id: str
    strategy: str
    input: Any = None


class RunCompleted(Event, frozen=True, kw_only=True):
    """The run gave its output (Koog's AgentCompleted)."""

    output: Any = None


class RunFailed(Event, frozen=True, kw_only=True):
    """The run ended with an exception or was cancelled (Koog's AgentExecutionFailed)."""

    error: str
    cancelled: bool = False


class AgentClosing(Event, frozen=True, kw_only=True):
    """``agent.close()`` was called (Koog's AgentClosing)."""

    agent_id: str


class StrategyStarting(Event, frozen=True, kw_only=True):
    """The graph starts (Koog's StrategyStarting), at its start node or, resumed, after the node ``resumed_after``."""

    strategy: str
    resumed_after: str = ""


class StrategyCompleted(Event, frozen=True, kw_only=True):
    """The graph reached its finish node (Koog's StrategyCompleted)."""

    strategy: str


class SubgraphStarting(Event, frozen=True, kw_only=True):
    """A subgraph starts (Koog's SubgraphExecutionStarting)."""


class SubgraphCompleted(Event, frozen=True, kw_only=True):
    """A subgraph reached its finish node (Koog's SubgraphExecutionCompleted)."""


class SubgraphFailed(Event, frozen=True, kw_only=True):
    """A subgraph ended with an exception (Koog's SubgraphExecutionFailed)."""

    error: str


class NodeStarting(Event, frozen=True, kw_only=True):
    """A node starts, start and finish included (Koog's NodeExecutionStarting); ``visit`` counts from 1 in the run."""

    visit: int
    iteration: int
    input: Any = None


class NodeCompleted(Event, frozen=True, kw_only=True):
    """A node returned (Koog's NodeExecutionCompleted)."""

    visit: int
    seconds: float
    output: Any = None


class NodeFailed(Event, frozen=True, kw_only=True):
    """A node raised or was cancelled (Koog's NodeExecutionFailed)."""

    visit: int
    seconds: float
    error: str
    cancelled: bool = False


class EdgeTaken(Event, frozen=True, kw_only=True):
    """The edge by which a node was left: ``order`` is its place in the order in which they are tried."""

    target: str
    order: int
    label: str = ""


# ------------------------------------------------------------------------------------------- sessions


# There are many, and they hold numbers and texts alone: nothing for the garbage collector, which leaves them out.
class SessionEvent(Event, frozen=True, kw_only=True, gc=False):
    """Something about one session on one LLM context.

    ``context`` names the lock's owner (``trip`` for the root context), ``session`` is unique in the process,
    ``who`` the node or task, ``place`` the code (``file:line`` or ``cell 3:2``).
    """

    context: str
    session: int
    mode: SessionMode
    who: str
    place: str


class SessionOpened(SessionEvent, frozen=True, kw_only=True):
    """A session was asked for."""


class SessionWaiting(SessionEvent, frozen=True, kw_only=True):
    """The session has to wait; ``ahead`` are the sessions that hold the lock or stand before it.

    The first 64 of them are named, ``ahead_more`` is how many there are besides.
    """

    ahead: tuple[int, ...] = ()
    ahead_more: int = 0


class SessionAcquired(SessionEvent, frozen=True, kw_only=True):
    """The session holds the lock."""

    waited: float = 0.0


class SessionCommitted(SessionEvent, frozen=True, kw_only=True):
    """A write session ended normally; prompt, tools and model were written back."""

    messages: int = 0
    tokens: int = 0


class SessionDiscarded(SessionEvent, frozen=True, kw_only=True):
    """A write session ended by an exception or a cancellation; nothing was written back."""

    error: str = ""


class SessionClosed(SessionEvent, frozen=True, kw_only=True):
    """The session is over: it released the lock, which it had held for so many seconds, or left the queue (0)."""

    held: float = 0.0


class SessionRefused(SessionEvent, frozen=True, kw_only=True):
    """A nested session was refused; ``first`` is the place of the one that is still open.

    ``first_code`` and ``code`` are the lines around both places, None where the code cannot be read. ``waits`` says
    how the holder waits for the task that asked, empty where both are one task.
    """

    first: str
    first_mode: SessionMode
    first_code: CodeExcerpt | None = None
    code: CodeExcerpt | None = None
    waits: str = ""


class SessionTimedOut(SessionEvent, frozen=True, kw_only=True):
    """A session gave up waiting."""

    waited: float = 0.0
    holders: tuple[str, ...] = ()


class SessionSlow(SessionEvent, frozen=True, kw_only=True):
    """A session has held the lock for long; it goes on."""

    held: float


class PromptChanged(Event, frozen=True, kw_only=True):
    """The committed prompt is another one. ``replaced`` says that it is not just the old one with more at its end."""

    context: str
    messages_before: int
    messages: int
    tokens_before: int
    tokens: int
    replaced: bool = False


# ------------------------------------------------------------------------------------------- models


class LLMCallStarting(Event, frozen=True, kw_only=True):
    """A request goes to the executor (Koog's LLMCallStarting)."""

    call: int
    purpose: str
    model: str
    messages: int
    tokens: int
    tools: tuple[str, ...] = ()


class LLMCallCompleted(Event, frozen=True, kw_only=True):
    """The executor answered (Koog's LLMCallCompleted)."""

    call: int
    purpose: str
    seconds: float
    usage: Usage | None = None
    finish_reason: str | None = None


class LLMCallFailed(Event, frozen=True, kw_only=True):
    """The executor raised, or the request was cancelled (Koog's LLMCallFailed).

    ``usage`` is what a provider counted all the same, None where it counted nothing or did not say, and ``spent_by``
    the model for which it did, ``provider:model``.
    """

    call: int
    purpose: str
    seconds: float
    error: str
    cancelled: bool = False
    usage: Usage | None = None
    spent_by: str = ""


class LLMCallRetrying(Event, frozen=True, kw_only=True):
    """A request failed and is to be made again after a pause of ``wait`` seconds, which begins now.

    A cancellation in the pause ends it: then there is no further attempt. ``attempt`` is the one that failed, from 1;
    ``usage`` and ``spent_by`` are those of :class:`LLMCallFailed`.
    """

    call: int
    model: str
    attempt: int
    wait: float
    error: str
    usage: Usage | None = None
    spent_by: str = ""


class LLMCallFellBack(Event, frozen=True, kw_only=True):
    """A model did not answer, and the request goes to the next one.

    ``usage`` and ``spent_by`` are those of :class:`LLMCallFailed`.
    """

    call: int
    model: str
    to: str
    error: str
    usage: Usage | None = None
    spent_by: str = ""


class LLMCallCached(Event, frozen=True, kw_only=True):
    """The answer was there already, and nobody was asked; ``key`` names it in the cache."""

    call: int
    model: str
    key: str


class LLMStreamingStarting(LLMCallStarting, frozen=True, kw_only=True):
    """A request goes to the executor, and its answer comes in frames (Koog's LLMStreamingStarting)."""


class LLMStreamingFrame(Event, frozen=True, kw_only=True):
    """A piece of the answer came (Koog's LLMStreamingFrameReceived); ``kind`` is what it is a piece of."""

    call: int
    kind: Literal["text", "reasoning", "tool call"]
    text: str


class LLMStreamingCompleted(LLMCallCompleted, frozen=True, kw_only=True):
    """The last frame came (Koog's LLMStreamingCompleted)."""

    frames: int = 0


class LLMStreamingFailed(LLMCallFailed, frozen=True, kw_only=True):
    """The stream broke off, or was left before its end: ``cancelled`` (Koog's LLMStreamingFailed)."""

    frames: int = 0


# ------------------------------------------------------------------------------------------- tools


class ToolCallStarting(Event, frozen=True, kw_only=True):
    """A tool is about to run (Koog's ToolCallStarting); ``args`` is the raw JSON text."""

    tool: str
    call_id: str | None
    args: str


class ToolCallCompleted(Event, frozen=True, kw_only=True):
    """A tool returned (Koog's ToolCallCompleted)."""

    tool: str
    call_id: str | None
    seconds: float
    output: str


class ToolValidationFailed(Event, frozen=True, kw_only=True):
    """An unknown tool, or arguments that do not fit: an error result (Koog's ToolValidationFailed)."""

    tool: str
    call_id: str | None
    error: str


class ToolCallFailed(Event, frozen=True, kw_only=True):
    """A tool raised; the model gets an error result (Koog's ToolCallFailed)."""

    tool: str
    call_id: str | None
    seconds: float
    error: str


# ------------------------------------------------------------------------------------------- compression


class CompressionCompleted(Event, frozen=True, kw_only=True):
    """A compression ended; ``ledger.status`` says whether its result was taken."""

    ledger: Ledger


class CompressionFailed(Event, frozen=True, kw_only=True):
    """A compression raised; the prompt is as it was."""

    strategy: str
    error: str


# ------------------------------------------------------------------------------------------- checkpoints


class CheckpointSaved(Event, frozen=True, kw_only=True):
    """A checkpoint is in the store."""

    checkpoint: str
    version: int
    kind: str
    left_out: tuple[str, ...] = ()


class CheckpointSkipped(Event, frozen=True, kw_only=True):
    """A node's output or the save failed, so there is no checkpoint after it."""

    reason: str


class CheckpointRestored(Event, frozen=True, kw_only=True):
    """The run goes on from a checkpoint; ``input_ignored`` says that a new input was given and not used."""

    checkpoint: str
    version: int
    input_ignored: bool = False


class TombstoneSaved(Event, frozen=True, kw_only=True):
    """The session id has ended; the next run with it starts afresh."""

    checkpoint: str
    version: int


# ------------------------------------------------------------------------------------------- the rest


class Notice(Event, frozen=True, kw_only=True):
    """Something was skipped, repaired, ignored or needs a look; ``kind`` is a stable word for it."""

    kind: str
    text: str
    level: Literal["info", "warning"] = "warning"


class HandlerFailed(Event, frozen=True, kw_only=True):
    """A listener raised and was told to log it (``on_handler_error="log"``)."""

    handler: str
    event: str
    error: str
