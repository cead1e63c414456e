"""What becomes of the history: compressions, and checkpoints of it."""

from __future__ import annotations

from koogbook.events.event import Event
from koogbook.messages.ledger import Ledger


class CompressionStarting(Event, frozen=True, kw_only=True):
    """A compression begins; ``messages`` and ``tokens`` are those of the history as it is."""

    strategy: str
    messages: int
    tokens: int


class CompressionCompleted(Event, frozen=True, kw_only=True):
    """A compression ended; ``ledger.status`` says whether its result was taken."""

    ledger: Ledger


class CompressionFailed(Event, frozen=True, kw_only=True):
    """A compression raised or was cancelled; the prompt is as it was."""

    strategy: str
    error: str
    cancelled: bool = False


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
