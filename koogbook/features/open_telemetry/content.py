"""Messages as the JSON texts in which spans hold them, where content is wanted."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from koogbook.messages.marks import attachment_mark, foreign_mark
from koogbook.messages.message import Message
from koogbook.messages.parts import Attachment, Foreign, Part, Reasoning, Text, ToolCall, ToolResult
from koogbook.tools.tool import ToolSpec


def messages_text(messages: Iterable[Message], *, answered: bool = False) -> str:
    """Messages as a JSON text by the conventions' schema; ``answered`` says that they are a model's answers."""
    return _text([_message(one, answered=answered) for one in messages])


def value_text(value: object, role: str) -> str | None:
    """What an agent was given or gave, if it is a text or a message; None for what is none."""
    if isinstance(value, Message):
        return messages_text([value])
    if isinstance(value, str):
        return _text([{"role": role, "parts": [{"type": "text", "content": value}]}])
    return None


def tools_text(tools: Iterable[ToolSpec]) -> str:
    """Definitions of tools as a JSON text."""
    return _text(
        [
            {
                "type": "function",
                "name": one.name,
                "description": one.description,
                "parameters": _read(one.parameters),
            }
            for one in tools
        ]
    )


def plain(text: str) -> str:
    """A text as exporters take it: what is no UTF-8, a lone surrogate, as its escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _message(message: Message, *, answered: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"role": message.role, "parts": [_part(one) for one in message.parts]}
    if answered:
        found["finish_reason"] = message.finish_reason or "stop"
    return found


def _part(part: Part) -> dict[str, Any]:
    match part:
        case Text(text=text):
            return {"type": "text", "content": text}
        case Reasoning(text=text):
            return {"type": "reasoning", "content": text}
        case ToolCall(tool=tool, args=args, id=id):
            return {"type": "tool_call", "id": id, "name": tool, "arguments": _read(args)}
        case ToolResult(output=output, call_id=call_id):
            return {"type": "tool_call_response", "id": call_id, "response": output}
        case Attachment():
            # Not its bytes: they may be of any size.
            return {"type": part.kind, "content": attachment_mark(part)}
        case Foreign():
            return {"type": part.kind, "content": foreign_mark(part)}


def _read(text: str) -> Any:
    """What a JSON text says; a broken one is itself."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _text(value: Any) -> str:
    return plain(json.dumps(value, ensure_ascii=False))
