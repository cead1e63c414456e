"""What is a conversation in the ShareGPT format, and how its turns are called."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, Literal

from koogbook.transcripts.conversation import LIST_NAMES, Conversation
from koogbook.transcripts.files import parse

Kind = Literal["system", "user", "assistant", "call", "result"]

#: Who speaks, by every name in use.
KINDS: Final[dict[str, Kind]] = {
    "system": "system",
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "model": "assistant",
    "function_call": "call",
    "function-call": "call",
    "tool_call": "call",
    "observation": "result",
    "tool": "result",
    "function": "result",
    "function_response": "result",
    "function-response": "result",
    "tool_response": "result",
    "tool_result": "result",
}

#: The key of ``extra`` with how the file is spelled where that is not the usual way.
FILE_KEY: Final = "sharegpt"

#: The names of who speaks and of what, and the same in files that call them as chat messages do.
USUAL_KEYS: Final = ("from", "value")
ROLE_KEYS: Final = ("role", "content")

_LIST_NAMES: Final = (*dict.fromkeys(("conversations", "items", *LIST_NAMES)),)
_NAMES_OF_OTHERS: Final = frozenset({"system", "user", "assistant", "tool", "function"})


def find_sharegpt(value: Any, where: str) -> Conversation | None:
    """A list of turns, an object with such a list, or one turn alone; else None.

    ``tools`` that are JSON text are parsed; :data:`FILE_KEY` has the text, and what else is not as usual.
    """
    if isinstance(value, list):
        keys = _keys(value)
        return None if keys is None else Conversation(value, where, _extra({}, None, keys))
    if not isinstance(value, dict):
        return None
    if _is_usual_turn(value) and value["from"] in KINDS:
        return Conversation([value], where, _extra({}, None, USUAL_KEYS))
    for name in _LIST_NAMES:
        inner = value.get(name)
        if isinstance(inner, list) and (keys := _keys(inner)) is not None:
            rest = {key: entry for key, entry in value.items() if key != name}
            return Conversation(inner, f"{where}.{name}", _extra(rest, name, keys))
    return None


def is_turn(value: Any) -> bool:
    """Whether a value is one turn: with ``from`` and ``value``, or with a role that only this format has."""
    return _is_usual_turn(value) or (_is_role_turn(value) and value["role"] not in _NAMES_OF_OTHERS)


def _is_usual_turn(value: Any) -> bool:
    # A number as the value is an edge of a graph, or a price.
    return (
        isinstance(value, dict)
        and isinstance(value.get("from"), str)
        and "value" in value
        and not isinstance(value["value"], int | float)
    )


def _is_role_turn(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("role"), str)
        and value["role"] in KINDS
        and isinstance(value.get("content"), str)
        and not {"tool_calls", "tool_call_id"} & value.keys()
    )


def _keys(entries: Sequence[Any]) -> tuple[str, str] | None:
    """The spelling of a list of turns; None where it is none."""
    usual = [entry for entry in entries if _is_usual_turn(entry)]
    if usual and len(usual) * 2 >= len(entries) and any(entry["from"] in KINDS for entry in usual):
        return USUAL_KEYS
    return ROLE_KEYS if all(map(_is_role_turn, entries)) and any(map(is_turn, entries)) else None


def _extra(rest: dict[str, Any], name: str | None, keys: tuple[str, str]) -> str:
    spelled: dict[str, Any] = {}
    if name != "conversations":
        spelled["list"] = name
    if keys != USUAL_KEYS:
        spelled["keys"] = list(keys)
    tools = rest.get("tools")
    if isinstance(tools, str):
        spelled["tools"] = tools
        rest = {**rest, "tools": _parsed(tools)}
    if FILE_KEY in rest:
        spelled["own"] = rest[FILE_KEY]
    return json.dumps({**rest, FILE_KEY: spelled} if spelled else rest, ensure_ascii=False)


def _parsed(text: str) -> Any:
    try:
        return parse(text)
    except (ValueError, RecursionError):
        return text
