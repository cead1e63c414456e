"""What happened, as immutable records. Views, traces and reports are made from these and from nothing else.

Every event has the wall time (``time``, seconds since the epoch, UTC), the monotonic time (``at``, seconds), the run
and session it belongs to, and ``path``: where in the strategy it happened (``strategy/subgraph/node``, empty outside).
``session_id`` names the conversation, ``run_id`` one call of ``agent.run`` (Koog's runId is our session id).

What begins (``...Starting``, ``SessionOpened``) ends once, with the same path: completed or failed, and failed says
whether it was cancelled; a session is closed, refused, or has timed out. Two kinds of failure have no beginning:
``ToolValidationFailed``, since the tool never began, and ``HandlerFailed``, which is about another event.

``input`` and ``output`` are the objects themselves, not copies: a listener may read them and may not change them.
"""

from __future__ import annotations

from koogbook.events.event import Event
from koogbook.events.graph import (
    BranchCompleted,
    BranchesMerged,
    BranchFailed,
    BranchStarting,
    EdgeTaken,
    NodeCompleted,
    NodeFailed,
    NodeStarting,
    SubgraphCompleted,
    SubgraphFailed,
    SubgraphStarting,
)
from koogbook.events.history import (
    CheckpointRestored,
    CheckpointSaved,
    CheckpointSkipped,
    CompressionCompleted,
    CompressionFailed,
    CompressionStarting,
    TombstoneSaved,
)
from koogbook.events.models import (
    LLMCallCached,
    LLMCallCompleted,
    LLMCallFailed,
    LLMCallFellBack,
    LLMCallRetrying,
    LLMCallStarting,
    LLMStreamingCompleted,
    LLMStreamingFailed,
    LLMStreamingFrame,
    LLMStreamingStarting,
)
from koogbook.events.notices import HandlerFailed, Notice
from koogbook.events.runs import (
    AgentClosing,
    RunCompleted,
    RunFailed,
    RunStarting,
    StrategyCompleted,
    StrategyFailed,
    StrategyStarting,
)
from koogbook.events.sessions import (
    PromptChanged,
    SessionAcquired,
    SessionClosed,
    SessionCommitted,
    SessionDiscarded,
    SessionEvent,
    SessionMode,
    SessionOpened,
    SessionRefused,
    SessionSlow,
    SessionTimedOut,
    SessionWaiting,
)
from koogbook.events.tools import ToolCallCompleted, ToolCallFailed, ToolCallStarting, ToolValidationFailed

__all__ = [
    "AgentClosing",
    "BranchCompleted",
    "BranchFailed",
    "BranchStarting",
    "BranchesMerged",
    "CheckpointRestored",
    "CheckpointSaved",
    "CheckpointSkipped",
    "CompressionCompleted",
    "CompressionFailed",
    "CompressionStarting",
    "EdgeTaken",
    "Event",
    "HandlerFailed",
    "LLMCallCached",
    "LLMCallCompleted",
    "LLMCallFailed",
    "LLMCallFellBack",
    "LLMCallRetrying",
    "LLMCallStarting",
    "LLMStreamingCompleted",
    "LLMStreamingFailed",
    "LLMStreamingFrame",
    "LLMStreamingStarting",
    "NodeCompleted",
    "NodeFailed",
    "NodeStarting",
    "Notice",
    "PromptChanged",
    "RunCompleted",
    "RunFailed",
    "RunStarting",
    "SessionAcquired",
    "SessionClosed",
    "SessionCommitted",
    "SessionDiscarded",
    "SessionEvent",
    "SessionMode",
    "SessionOpened",
    "SessionRefused",
    "SessionSlow",
    "SessionTimedOut",
    "SessionWaiting",
    "StrategyCompleted",
    "StrategyFailed",
    "StrategyStarting",
    "SubgraphCompleted",
    "SubgraphFailed",
    "SubgraphStarting",
    "TombstoneSaved",
    "ToolCallCompleted",
    "ToolCallFailed",
    "ToolCallStarting",
    "ToolValidationFailed",
]
