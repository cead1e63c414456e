"""What spans hold of events: attributes and keys, and the events of spans."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from koogbook.events import (
    BranchCompleted,
    BranchesMerged,
    BranchFailed,
    BranchStarting,
    CheckpointRestored,
    CheckpointSaved,
    CheckpointSkipped,
    CompressionCompleted,
    CompressionFailed,
    Event,
    LLMCallCached,
    LLMCallFellBack,
    LLMCallRetrying,
    NodeCompleted,
    NodeFailed,
    NodeStarting,
    Notice,
    SessionRefused,
    SessionSlow,
    SessionTimedOut,
    StrategyCompleted,
    StrategyFailed,
    StrategyStarting,
    TombstoneSaved,
)
from koogbook.features.open_telemetry import names
from koogbook.features.open_telemetry.content import plain
from koogbook.messages.message import Usage

if TYPE_CHECKING:
    from opentelemetry.trace import Span
    from opentelemetry.util.types import AttributeValue

Attributes = dict[str, Any]
#: A span by what it is of: ``("node", path, visit)``, ``("call", number)``.
Key = tuple[Any, ...]

NANOSECONDS: Final = 1_000_000_000


def place_of(event: Any) -> tuple[str, Key, Attributes]:
    """What of a graph an event is about: in a word, as a key, and its attributes."""
    match event:
        case StrategyStarting() | StrategyCompleted() | StrategyFailed():
            return "strategy", ("strategy", event.path, event.strategy), {"koogbook.strategy": event.strategy}
        case BranchStarting() | BranchCompleted() | BranchFailed():
            return "branch", ("branch", event.path, event.order), {"koogbook.branch.order": event.order}
        case NodeStarting():
            told = {"koogbook.visit": event.visit, "koogbook.iteration": event.iteration}
            return "node", ("node", event.path, event.visit), told
        case NodeCompleted() | NodeFailed():
            return "node", ("node", event.path, event.visit), {}
        case _:
            return "subgraph", ("subgraph", event.path), {}


def tool_key(event: Any) -> Key:
    """The calls of a run have numbers; where one has none, what the model calls it."""
    return ("tool", event.number) if event.number else ("tool", event.path, event.call_id, event.tool)


def counted(usage: Usage | None) -> Attributes:
    """The tokens that a provider counted."""
    if usage is None:
        return {}
    return {
        names.INPUT_TOKENS: usage.input_tokens,
        names.OUTPUT_TOKENS: usage.output_tokens,
        names.CACHE_READ_TOKENS: usage.cache_read_tokens,
        names.CACHE_WRITE_TOKENS: usage.cache_write_tokens,
        names.REASONING_TOKENS: usage.reasoning_tokens,
    }


def _fields(event: Event, *wanted: str) -> Attributes:
    return {f"koogbook.{name}": getattr(event, name) for name in wanted}


def _compressed(event: CompressionCompleted) -> Attributes:
    ledger = event.ledger
    return {
        "koogbook.compression.strategy": ledger.strategy,
        "koogbook.compression.status": ledger.status,
        "koogbook.compression.messages_before": len(ledger.before),
        "koogbook.compression.messages_after": len(ledger.after),
        "koogbook.compression.tokens_before": ledger.tokens_before,
        "koogbook.compression.tokens_after": ledger.tokens_after,
    }


#: What is no span: the name of the event of a span, and its attributes. None of them is a text of a message.
NOTED: Final[Mapping[type[Event], Callable[[Any], tuple[str, Attributes]]]] = {
    LLMCallRetrying: lambda event: ("retry", _fields(event, "model", "attempt", "wait")),
    LLMCallFellBack: lambda event: ("fallback", _fields(event, "model", "to")),
    LLMCallCached: lambda event: ("cached", _fields(event, "model")),
    CompressionCompleted: lambda event: ("compression", _compressed(event)),
    CompressionFailed: lambda event: ("compression.failed", _fields(event, "strategy", "cancelled")),
    CheckpointSaved: lambda event: ("checkpoint.saved", _fields(event, "checkpoint", "version", "kind")),
    CheckpointSkipped: lambda event: ("checkpoint.skipped", {}),
    CheckpointRestored: lambda event: ("checkpoint.restored", _fields(event, "checkpoint", "version")),
    TombstoneSaved: lambda event: ("tombstone.saved", _fields(event, "checkpoint", "version")),
    BranchesMerged: lambda event: ("branches.merged", _fields(event, "merge", "winner", "failed")),
    SessionRefused: lambda event: ("session.refused", _fields(event, "context", "who")),
    SessionTimedOut: lambda event: ("session.timed_out", _fields(event, "context", "who", "waited")),
    SessionSlow: lambda event: ("session.slow", _fields(event, "context", "who", "held")),
    Notice: lambda event: ("notice", _fields(event, "kind", "level")),
}


def clean(attributes: Mapping[str, Any]) -> dict[str, AttributeValue]:
    """Without those that say nothing, and without what exporters cannot take."""
    return dict(_cleaned(attributes))


def _cleaned(attributes: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in attributes.items():
        if isinstance(value, str):
            yield name, plain(value)
        elif isinstance(value, tuple):
            yield name, tuple(plain(str(one)) for one in value)
        elif value is not None:
            yield name, value


def set_attributes(span: Span, attributes: Mapping[str, Any]) -> None:
    """Add those to a span that say something."""
    span.set_attributes(clean(attributes))


def if_text(value: object) -> str | None:
    """A text, and None for anything else."""
    return value if isinstance(value, str) else None


def time_of(event: Event) -> int:
    """The wall time of an event in nanoseconds since the epoch."""
    return round(event.time * NANOSECONDS)
