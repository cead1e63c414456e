"""How LangChain messages are known, and where they lie in data sets, runs and checkpoints."""

from __future__ import annotations

import json
from typing import Any, Final

from msgspec import Struct

from koogbook.transcripts.anthropic.shape import is_entry as is_anthropic
from koogbook.transcripts.conversation import LIST_NAMES, Conversation

Path = tuple[str | int, ...]

#: What the types and classes of messages mean. A class is a label here, and is never looked up or built.
KINDS: Final = {
    "human": "user",
    "HumanMessage": "user",
    "HumanMessageChunk": "user",
    "ai": "assistant",
    "AIMessage": "assistant",
    "AIMessageChunk": "assistant",
    "system": "system",
    "SystemMessage": "system",
    "SystemMessageChunk": "system",
    "tool": "tool",
    "ToolMessage": "tool",
    "ToolMessageChunk": "tool",
    "function": "tool",
    "FunctionMessage": "tool",
    "FunctionMessageChunk": "tool",
    "chat": "chat",
    "ChatMessage": "chat",
    "ChatMessageChunk": "chat",
    "remove": "remove",
    "RemoveMessage": "remove",
}
#: Where objects keep the messages that went in, and those that came out; the first that fits is taken.
_INPUTS: Final[tuple[Path, ...]] = (
    ("inputs", "input"),
    ("inputs", "messages"),
    ("inputs", "messages", 0),
    *((name,) for name in LIST_NAMES),
    ("values", "messages"),
    ("channel_values", "messages"),
    ("checkpoint", "channel_values", "messages"),
)
_OUTPUTS: Final[tuple[Path, ...]] = (
    ("outputs", "output"),
    ("outputs", "generations", 0, 0, "message"),
    ("outputs", "generations", 0, 0, "text"),
    ("outputs", "messages"),
    ("outputs", "message"),
    ("outputs", "choices", 0, "message"),
    ("outputs",),
)
#: Lists with several answers to the same question, of which the first is read.
_CANDIDATES: Final[tuple[Path, ...]] = (("outputs", "generations", 0), ("outputs", "choices"))


class Placed(Struct, frozen=True):
    """A message that lies deeper inside an object: its value, its place, and the way to the list that holds it.

    ``alone`` says that there is no list, and the way leads to the message itself; ``others`` counts the answers beside
    it that are not read.
    """

    value: Any
    where: str
    path: Path
    alone: bool = False
    others: int = 0


def find(value: Any, where: str) -> Conversation | None:
    """The conversation that a value is: messages, an example or run with inputs and outputs, a checkpoint.

    Outputs that begin with the inputs are the whole conversation, as in runs of a graph.
    """
    if isinstance(value, list):
        return Conversation(value, where, format="langchain") if _is_marked_list(value) else None
    if not isinstance(value, dict):
        return None
    if is_entry(value):
        return Conversation([value], where, format="langchain")
    before, after = (
        next(((path, there) for path in paths if _is_held(there := _at(value, path))), None)
        for paths in (_INPUTS, _OUTPUTS)
    )
    if before is not None and after is not None and _begins_with(_listed(after[1]), _listed(before[1])):
        before = None
    found = [one for one in (before, after) if one is not None]
    if not (any(_is_marked(there) for _, there in found) or _is_run(found)):
        return None
    entries = [one for path, there in found for one in _placed(value, there, path, where)]
    rest = value
    for path, _ in found:
        rest = without(rest, path)
    return Conversation(entries, where, json.dumps(rest, ensure_ascii=False), format="langchain")


def is_entry(value: Any) -> bool:
    """Whether a value is one message in a form that no other library has."""
    if not isinstance(value, dict) or kind_of(value) is None:
        return False
    return "role" not in value or "data" in value or "lc" in value or value.get("type") == "chat"


def kind_of(value: dict[str, Any]) -> str | None:
    """The type or class by which a message calls itself, one of :data:`KINDS`; None where it is no such message."""
    kind = value.get("type")
    if kind == "constructor" and "lc" in value and isinstance(value.get("kwargs"), dict):
        names = value.get("id")
        kind = names[-1] if isinstance(names, list) and names else None
    elif not isinstance(value.get("data"), dict) and "content" not in value and kind != "remove":
        return None
    return kind if isinstance(kind, str) and kind in KINDS else None


def without(value: Any, path: Path) -> Any:
    """A copy of a value that lacks what lies at a path; in a list, null stands there."""
    key, *rest = path
    if isinstance(value, dict):
        kept = {name: inner for name, inner in value.items() if name != key}
        return {**kept, key: without(value[key], tuple(rest))} if rest else kept
    return [
        (without(inner, tuple(rest)) if rest else None) if index == key else inner
        for index, inner in enumerate(value)
    ]


def _at(value: Any, path: Path) -> Any:
    for depth, key in enumerate(path):
        if isinstance(key, str) and isinstance(value, dict):
            value = value.get(key)
        elif isinstance(key, int) and isinstance(value, list) and key < len(value):
            # What is one of several lies beside others that would be left unread.
            value = value[key] if len(value) == 1 or path[:depth] in _CANDIDATES else None
        else:
            return None
    return value


def _is_held(there: Any) -> bool:
    """Whether a value can be messages: a list with at least half of them, one message, or a text."""
    if isinstance(there, list):
        return 0 < len(there) <= 2 * sum(map(_is_message, there))
    return isinstance(there, str) or _is_message(there)


def _is_run(found: list[tuple[Path, Any]]) -> bool:
    """Whether messages that this reader understands are what went into a run, or came out of it."""
    held = [one for _, there in found for one in _listed(there)]
    return (
        all(path[0] in ("inputs", "outputs") for path, _ in found)
        and any(map(_is_message, held))
        and not any(map(is_anthropic, held))
    )


def _begins_with(entries: list[Any], first: list[Any]) -> bool:
    return len(first) <= len(entries) and all(map(_is_same, entries, first))


def _is_same(one: Any, other: Any) -> bool:
    """Whether two messages have the same id, or where one has none, the same role and content."""
    (own, *said), (its, *meant) = _facts(one), _facts(other)
    return bool(own == its if own and its else said == meant)


def _facts(value: Any) -> tuple[Any, Any, Any]:
    if not isinstance(value, dict):
        return None, "user", value
    inner = value.get("kwargs", value.get("data"))
    body = inner if isinstance(inner, dict) else value
    kind = kind_of(value) or body.get("role")
    return body.get("id"), KINDS.get(kind, kind) if isinstance(kind, str) else kind, body.get("content")


def _listed(there: Any) -> list[Any]:
    return there if isinstance(there, list) else [there]


def _is_marked(there: Any) -> bool:
    return _is_marked_list(there) if isinstance(there, list) else is_entry(there)


def _is_marked_list(entries: list[Any]) -> bool:
    return 0 < len(entries) <= 2 * sum(map(_is_message, entries)) and any(map(is_entry, entries))


def _is_message(value: Any) -> bool:
    return is_entry(value) or (isinstance(value, dict) and isinstance(value.get("role"), str))


def _placed(value: Any, there: Any, path: Path, where: str) -> list[Placed]:
    way = where + "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    if isinstance(there, list):
        return [Placed(one, f"{way}[{index}]", path) for index, one in enumerate(there)]
    several = next((_at(value, to) for to in _CANDIDATES if to == path[: len(to)]), [there])
    return [Placed(there, way, path, alone=True, others=len(several) - 1)]
