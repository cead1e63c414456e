"""A message in one line, and in full."""

from __future__ import annotations

import json

from koogbook.messages.marks import attachment_mark, foreign_mark
from koogbook.messages.message import Message
from koogbook.messages.parts import Attachment, Foreign, Reasoning, Text, ToolCall, ToolResult
from koogbook.notebook.views.diff_view.model import RoleMark

_LONGEST = 400
_LONGEST_PARSED = 20_000


def role_mark(message: Message) -> RoleMark:
    """What a message is, more exactly than its role: a call, a result, a memory, a summary."""
    if message.is_summary:
        return "summary"
    if message.is_memory:
        return "memory"
    if message.role == "tool":
        return "result"
    return "call" if message.calls else message.role


def preview(message: Message) -> str:
    """The first characters of a message in one line, calls as ``tool(key=value)``."""
    pieces: list[str] = []
    length = 0
    for part in message.parts:
        if length > _LONGEST:
            break
        piece = " ".join(part_text(part)[: 4 * _LONGEST].split())
        if piece:
            pieces.append(piece)
            length += len(piece)
    return "  ".join(pieces)[:_LONGEST] or "(empty)"


def full_text(message: Message) -> str:
    """All parts of a message, one after the other."""
    return "\n".join(part_text(part) for part in message.parts)


def part_text(part: Text | Reasoning | Attachment | ToolCall | ToolResult | Foreign) -> str:
    """A part as text; what is no text is named in brackets."""
    match part:
        case Text():
            return part.text
        case Reasoning():
            return f"[reasoning] {part.text}"
        case ToolCall():
            return call_text(part)
        case ToolResult():
            return f"[error] {part.output}" if part.is_error else part.output
        case Attachment():
            return attachment_mark(part)
        case Foreign():
            return foreign_mark(part)


def call_text(call: ToolCall) -> str:
    """A call as one would write it; arguments that are no JSON object, or very long, stay as the model wrote them."""
    if len(call.args) > _LONGEST_PARSED:
        return f"{call.tool}({call.args})"
    try:
        arguments = json.loads(call.args)
    except (ValueError, RecursionError):
        return f"{call.tool}({call.args})"
    if not isinstance(arguments, dict):
        return f"{call.tool}({call.args})"
    return f"{call.tool}({', '.join(f'{key}={_value(value)}' for key, value in arguments.items())})"


def _value(value: object) -> str:
    return str(value) if isinstance(value, bool | None) else json.dumps(value, ensure_ascii=False)
