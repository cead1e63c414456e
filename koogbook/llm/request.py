"""One request to a model, frozen, and what has to be done to a history before it is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from koogbook.messages.marks import attachment_mark, foreign_mark, is_thought
from koogbook.messages.message import Message
from koogbook.messages.model import LLModel, LLMParams
from koogbook.messages.parts import Attachment, Foreign, Part, Text, ToolCall, ToolResult
from koogbook.tools.tool import ToolSpec

Purpose = Literal["conversation", "compression", "flush", "consolidation", "extraction", "selection"]


class Request(Struct, frozen=True, kw_only=True):
    """What an executor is asked (Koog's prompt, model and tools in one).

    ``purpose`` says what for, so that usage is reported apart; it stays in the process. ``schema`` is a JSON schema
    as text where structured output is wanted. ``choice`` is which of several wanted answers this one is to be, from 0,
    None where one is wanted; no provider is sent it, and it keeps equal requests apart where answers are kept.
    """

    messages: tuple[Message, ...]
    model: LLModel
    purpose: Purpose = "conversation"
    tools: tuple[ToolSpec, ...] = ()
    params: LLMParams = LLMParams()
    schema: str | None = None
    choice: int | None = None

    @property
    def tokens(self) -> int:
        """Estimated tokens of the messages."""
        return sum(message.tokens for message in self.messages)


def call_as_text(call: ToolCall) -> str:
    """A tool call as a line of text, for requests that offer no tools."""
    return f"[called {call.tool} with {call.args}]"


def result_as_text(result: ToolResult) -> str:
    """A tool result as text, for requests that offer no tools."""
    word = "failed with" if result.is_error else "answered"
    return f"[{result.tool or 'the tool'} {word}: {result.output}]"


def without_tool_parts(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The same history with calls and results as text, since providers refuse them beside an empty tool list.

    Only what is sent changes; the stored history keeps its parts. Tool messages become user messages.
    """
    return tuple(
        _as_text(message) if message.calls or message.role == "tool" else message for message in messages
    )


def _as_text(message: Message) -> Message:
    parts: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolCall):
            parts.append(Text(call_as_text(part)))
        elif isinstance(part, ToolResult):
            parts.append(Text(result_as_text(part)))
        else:
            parts.append(part)
    return Message(
        role="user" if message.role == "tool" else message.role,
        parts=tuple(parts),
        id=message.id,
        time=message.time,
        name=message.name,
        metadata_json=message.metadata_json,
    )


def quote_history(messages: Sequence[Message]) -> str:
    """A history as one text that a model reads as material and does not go on with.

    Each message stands between two tag lines. The tags inside a text are made harmless, the rest is verbatim.
    """
    lines: list[str] = []
    for position, message in enumerate(messages):
        lines.append(f'<message number="{position}" role="{message.role}">')
        lines.extend(_quoted(message))
        lines.append("</message>")
    return "\n".join(lines)


def _quoted(message: Message) -> list[str]:
    lines = []
    for part in message.parts:
        if isinstance(part, Text):
            lines.append(part.text)
        elif isinstance(part, ToolCall):
            lines.append(call_as_text(part))
        elif isinstance(part, ToolResult):
            lines.append(part.output)
        elif isinstance(part, Attachment):
            lines.append(attachment_mark(part))
        elif isinstance(part, Foreign) and not is_thought(part):
            lines.append(foreign_mark(part))
        else:
            lines.append("[reasoning]")
    return [
        line.replace("</message", "<\u200b/message").replace("<message ", "<\u200bmessage ") for line in lines
    ]


def is_quote_tag(line: str) -> bool:
    """Whether a line of :func:`quote_history` is one of its tags."""
    return line == "</message>" or (line.startswith('<message number="') and line.endswith('">'))
