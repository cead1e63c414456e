"""What is a conversation in the ShareGPT format, and how its turns are called."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, Literal

from koogbook.transcripts.conversation import LIST_NAMES, Conversation
from koogbook.transcripts.files import parse

Kind = Literal["system", "user", "assistant", "call", "result"]

#: Who speaks, by every name in use, in small letters.
KINDS: Final[dict[str, Kind]] = {
    "system": "system",
    "human": "user",
    "user": "user",
    "ai": "assistant",
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

#: The names of who speaks and of what; other names in use; and those of chat messages, which say nothing of the format.
USUAL_KEYS: Final = ("from", "value")
_OTHER_KEYS: Final = (("role", "value"), ("from", "content"))
ROLE_KEYS: Final = ("role", "content")

_LIST_NAMES: Final = (*dict.fromkeys(("conversations", "items", *LIST_NAMES)),)
#: Fields that make a chat message of what would be a turn, unless they are its own.
_CHAT_KEYS: Final = frozenset({"role", "content", "tool_calls", "tool_call_id"})
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
    keys = _keys([value])
    if keys is not None:
        return Conversation([value], where, _extra({}, None, keys))
    for name in _LIST_NAMES:
        inner = value.get(name)
        if isinstance(inner, list) and (keys := _keys(inner)) is not None:
            rest = {key: entry for key, entry in value.items() if key != name}
            return Conversation(inner, f"{where}.{name}", _extra(rest, name, keys))
    return None


def is_turn(value: Any) -> bool:
    """Whether a value is one turn: by the names of its fields, or with a role that only this format has."""
    return (
        _is_turn_of(value, USUAL_KEYS)
        or any(_is_turn_of(value, keys) and kind_of(value, keys[0]) is not None for keys in _OTHER_KEYS)
        or (_is_role_turn(value) and value["role"] in KINDS and value["role"] not in _NAMES_OF_OTHERS)
    )


def kind_of(value: Any, who: str) -> Kind | None:
    """Who speaks in a turn; None where nobody knows."""
    given = value.get(who) if isinstance(value, dict) else None
    return KINDS.get(given.lower()) if isinstance(given, str) else None


def _is_turn_of(value: Any, keys: tuple[str, str]) -> bool:
    who, what = keys
    # A number as the value is an edge of a graph, or a price.
    return (
        isinstance(value, dict)
        and isinstance(value.get(who), str)
        and what in value
        and not isinstance(value[what], int | float)
        and (keys == USUAL_KEYS or value.keys() & _CHAT_KEYS <= {who, what})
    )


def _is_role_turn(value: Any) -> bool:
    return (
        _is_turn_of(value, ROLE_KEYS)
        and isinstance(value["content"], str)
        and kind_of(value, "role") is not None
    )


def _keys(entries: Sequence[Any]) -> tuple[str, str] | None:
    """The spelling of a list of turns; None where it is none."""
    for keys in (USUAL_KEYS, *_OTHER_KEYS):
        turns = [entry for entry in entries if _is_turn_of(entry, keys)]
        if len(turns) * 2 >= len(entries) and any(kind_of(entry, keys[0]) for entry in turns):
            return keys
    is_own = any(_is_role_turn(entry) and entry["role"] not in _NAMES_OF_OTHERS for entry in entries)
    return ROLE_KEYS if is_own and all(map(_is_role_turn, entries)) else None


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
