"""Ready node functions and conditions."""

from __future__ import annotations

from typing import Any

from koogbook.messages.message import Message
from koogbook.runtime.node import NodeFunction


def compress_function(strategy: Any, preserve_memory: bool, allow_longer: bool | None) -> NodeFunction:
    """The function of a compression node: its input passes through unchanged."""

    async def compress(ctx: Any, value: Any) -> Any:
        async with ctx.llm.write_session() as session:
            await session.replace_history_with_tldr(
                strategy, preserve_memory=preserve_memory, allow_longer=allow_longer
            )
        return value

    return compress


def compress_note(strategy: Any) -> str:
    """How a compression node names its strategy; the same in every process, so without the address of an object."""
    if strategy is None:
        return "WholeHistory()"
    plain: Any = object.__repr__
    return type(strategy).__name__ if type(strategy).__repr__ is plain else repr(strategy)


class HistoryOver:
    """Holds when the committed history is over a budget; see :func:`history_over`."""

    __slots__ = ("label", "max_messages", "max_tokens")

    def __init__(self, max_messages: int | None, max_tokens: int | None) -> None:
        self.max_messages = max_messages
        self.max_tokens = max_tokens
        limits = []
        if max_messages is not None:
            limits.append(f"over {max_messages:,} messages")
        if max_tokens is not None:
            limits.append(f"over {max_tokens:,} tokens")
        self.label = " or ".join(limits)

    def __call__(self, ctx: Any, output: Any) -> bool:
        """Whether the committed history is over one of the limits."""
        prompt = ctx.llm.committed.prompt
        return (self.max_messages is not None and len(prompt) > self.max_messages) or (
            self.max_tokens is not None and prompt.tokens > self.max_tokens
        )


def history_over(*, max_messages: int | None = None, max_tokens: int | None = None) -> HistoryOver:
    """A condition for an edge: the history has more messages, or more estimated tokens, than this.

    Raises:
        ValueError: Neither limit is given, or one is below 1.
    """
    given = [limit for limit in (max_messages, max_tokens) if limit is not None]
    if not given or any(limit < 1 for limit in given):
        raise ValueError("history_over needs max_messages= or max_tokens=, each at least 1.")
    return HistoryOver(max_messages, max_tokens)


def has_tool_calls(output: Any) -> bool:
    """A condition for an edge: the output is an assistant message with tool calls (Koog's ``onToolCalls``).

    It chooses the edge and drops none of the calls.
    """
    return isinstance(output, Message) and bool(output.calls)


has_tool_calls.label = "tool calls"  # type: ignore[attr-defined]
