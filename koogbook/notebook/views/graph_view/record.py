"""What the events of a run say about each node of a strategy."""

from __future__ import annotations

from typing import Any, Literal

from koogbook.events import (
    BranchesMerged,
    CompressionCompleted,
    CompressionFailed,
    EdgeTaken,
    Event,
    LLMCallCompleted,
    NodeCompleted,
    NodeFailed,
    NodeStarting,
    SubgraphCompleted,
    SubgraphFailed,
    SubgraphStarting,
)
from koogbook.messages.ledger import Ledger
from koogbook.notebook.views.look.measure import percent, thousands

NodeStatus = Literal["visited", "running", "failed", "stopped", "not reached"]


class NodeRecord:
    """The visits of one node, filled event by event. Visits count from 1."""

    __slots__ = (
        "begun",
        "chosen",
        "done",
        "error",
        "left_by",
        "output",
        "result",
        "seconds",
        "tokens",
        "visit",
        "visits",
    )

    def __init__(self) -> None:
        self.visits: dict[int, NodeStatus] = {}
        self.seconds: dict[int, float] = {}
        #: Tokens in and out by visit.
        self.tokens: dict[int, tuple[int, int]] = {}
        self.left_by: dict[int, str] = {}
        self.visit = 0
        #: When the last visit began, on the monotonic clock.
        self.begun = 0.0
        #: The last visit that gave an output, and the output.
        self.done = 0
        self.output: Any = None
        self.error = ""
        #: What a compression did, or a merge.
        self.result = ""
        #: Whether the merge of its block has chosen it.
        self.chosen = False

    @property
    def status(self) -> NodeStatus:
        """How the last visit stands."""
        return self.visits[self.visit] if self.visit else "not reached"

    @property
    def failures(self) -> int:
        """How many visits failed."""
        return sum(status == "failed" for status in self.visits.values())

    @property
    def fact(self) -> str:
        """The one thing worth knowing beside visits and time."""
        if self.status == "failed":
            return self.error
        if self.result:
            return self.result
        tokens = sum(sum(pair) for pair in self.tokens.values())
        words = ["chosen"] if self.chosen else []
        if tokens:
            words.append(f"{thousands(tokens)} tokens")
        if self.failures:
            words.append(f"{self.failures} failed")
        return ", ".join(words)

    def note(self, event: Event) -> None:
        """Take in one event of this node; those of other kinds change nothing."""
        match event:
            case NodeStarting():
                self._start(event.visit, event.at)
            case SubgraphStarting() if self.status != "running":
                # A resumed run enters a subgraph without starting its node again.
                self._start(self.visit + 1, event.at)
            case NodeCompleted():
                self.visits[event.visit] = "visited"
                self.seconds[event.visit] = event.seconds
                self.output, self.done = event.output, event.visit
            case SubgraphCompleted():
                self.visits[self.visit] = "visited"
            case NodeFailed(cancelled=True):
                self.visits[event.visit] = "stopped"
                self.seconds[event.visit] = event.seconds
            case NodeFailed():
                self.visits[event.visit] = "failed"
                self.seconds[event.visit] = event.seconds
                self.error = event.error
            case SubgraphFailed(cancelled=True):
                self.visits[self.visit] = "stopped"
            case SubgraphFailed():
                self.visits[self.visit] = "failed"
                self.error = event.error
            case BranchesMerged():
                self.result = f"chose {event.winner}" if event.winner else event.merge
            case EdgeTaken():
                self.left_by[self.visit] = event.label or event.target.rpartition("/")[2]
            case LLMCallCompleted(usage=usage) if usage is not None:
                before = self.tokens.get(self.visit, (0, 0))
                self.tokens[self.visit] = (
                    before[0] + (usage.input_tokens or 0),
                    before[1] + (usage.output_tokens or 0),
                )
            case CompressionCompleted():
                self.result = _result(event.ledger)
            case CompressionFailed():
                self.result = "compression failed"

    def end(self) -> None:
        """The run is over: a visit that still runs did not end by itself."""
        if self.status == "running":
            self.visits[self.visit] = "failed"
            self.error = "the run ended before it did"

    def so_far(self, now: float) -> None:
        """Let the visit that goes on count until now."""
        if self.status == "running":
            self.seconds[self.visit] = max(now - self.begun, 0.0)

    def _start(self, visit: int, at: float) -> None:
        self.visit, self.begun, self.chosen = visit, at, False
        self.visits[visit] = "running"


def _result(ledger: Ledger) -> str:
    match ledger.status:
        case "applied":
            return percent(-ledger.saved_share, signed=True)
        case "unchanged":
            return "nothing to compress"
        case "refused":
            return "refused, kept"
