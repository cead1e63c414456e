"""Messages as LangChain messages: ``{type, data}``, or the form and the place that they came in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from koogbook.messages.message import Message
from koogbook.messages.metadata import metadata_text
from koogbook.messages.parts import Part, Text, ToolCall, ToolResult
from koogbook.transcripts.files import parse
from koogbook.transcripts.formats import Loss, Written
from koogbook.transcripts.langchain.parts import block_from_part, usage_metadata
from koogbook.transcripts.reading import TIME_FIELDS
from koogbook.transcripts.spelling import respelled
from koogbook.transcripts.writing import CallIds, Lost, call_ids, is_made, metadata_of, unplaced

#: Metadata of a message from a LangChain file: fields that koogbook has no place for, how the others were spelled, and
#: what it stood in. Of the layout: ``form`` of the entry and what is ``around`` the fields of the message there, the
#: way ``at`` which it lay in an object, ``alone`` or in a list, ``bare`` for a text instead of a message, ``ids`` for
#: ids that are taken as they are.
FIELDS_KEY: Final = "langchain"
SPELLING_KEY: Final = "langchain_spelling"
LAYOUT_KEY: Final = "langchain_layout"

_TYPES: Final = {"user": "human", "assistant": "ai", "system": "system", "tool": "tool"}
_BODY_KEYS: Final = {"data": "data", "constructor": "kwargs"}


def write_conversation(messages: Sequence[Message], extra: Mapping[str, Any]) -> Written:
    """A history as LangChain messages: a list, or the object that they came in.

    A message that came from a LangChain file and is unchanged comes out as it went in. Calls whose arguments are no
    JSON object become ``invalid_tool_calls``. Times have no place.
    """
    ids = call_ids(messages, as_they_are=lambda one: bool(metadata_of(one, LAYOUT_KEY).get("ids")))
    losses: list[Loss] = []
    found: list[tuple[Any, dict[str, Any]]] = []
    for position, one in enumerate(messages):
        lost: list[str] = []
        for piece, known in _pieces(one, position, ids):
            plain = plain_entry(piece, known, lost)
            entry = respelled(piece, metadata_of(piece, SPELLING_KEY), plain)
            found.append((entry, metadata_of(one, LAYOUT_KEY)))
            losses += [Loss(position, text) for text in lost if entry is plain]
            lost.clear()
        losses += unplaced(position, one, _places(one), FIELDS_KEY)
    return Written(_placed(found, extra), tuple(losses))


def plain_entry(one: Message, ids: Mapping[int, str] | None = None, lost: list[str] | None = None) -> Any:
    """A message with at most one result as an entry; what is not in there is added to ``lost``, in words."""
    layout = metadata_of(one, LAYOUT_KEY)
    fields = metadata_of(one, FIELDS_KEY)
    ids = ids or {}
    lost = [] if lost is None else lost
    role = one.role
    if role == "tool" and not one.results:
        lost.append("that it is of a tool: it has no result, and became a human message")
        role = "user"
    around = layout.get("around") or {"type": _TYPES[role]}
    body = {**fields, "content": _content(one, lost)}
    if one.results:
        body |= _result_fields(one.results[0], ids.get(one.parts.index(one.results[0])), around)
    elif one.name is not None:
        body["name"] = one.name
    if "id" not in fields and one.id and not is_made(one.id):
        body["id"] = one.id
    if one.calls:
        body |= _calls(one, ids, lost)
        first = one.parts.index(one.calls[0])
        if any(not isinstance(part, ToolCall) and part != Text("") for part in one.parts[first:]):
            lost.append("the order of its parts: calls stand after all else")
    if one.usage is not None and "usage_metadata" not in fields and "response_metadata" not in fields:
        body["usage_metadata"] = usage_metadata(one.usage)
    if one.finish_reason is not None and "response_metadata" not in fields:
        body["response_metadata"] = {"finish_reason": one.finish_reason}
    if layout.get("bare") and body.keys() == {"content"} and isinstance(body["content"], str):
        return body["content"]
    key = _BODY_KEYS.get(layout.get("form", "data"))
    return {**around, **body} if key is None else {**around, key: body}


def _pieces(one: Message, position: int, ids: CallIds) -> list[tuple[Message, dict[int, str]]]:
    """The message, or where it has several results one for each, with the ids of its calls and results."""
    own = {index: ids[position, index] for index in range(len(one.parts)) if (position, index) in ids}
    if len(one.results) < 2:
        return [(one, own)]
    pieces: list[tuple[Message, dict[int, str]]] = []
    inside: list[Part] = []
    for index, part in enumerate(one.parts):
        if isinstance(part, ToolResult) and any(isinstance(before, ToolResult) for before in inside):
            pieces.append((one.with_parts(inside), _ids_of(inside, own, index)))
            inside = []
        inside.append(part)
    pieces.append((one.with_parts(inside), _ids_of(inside, own, len(one.parts))))
    # The id and the further fields of the message are those of one entry.
    layout = metadata_of(one, LAYOUT_KEY)
    form = metadata_text({LAYOUT_KEY: layout} if layout else None)
    return [
        (replace(piece, id="", metadata_json=form) if number else piece, known)
        for number, (piece, known) in enumerate(pieces)
    ]


def _ids_of(inside: Sequence[Part], own: Mapping[int, str], end: int) -> dict[int, str]:
    start = end - len(inside)
    return {index - start: call_id for index, call_id in own.items() if start <= index < end}


def _content(one: Message, lost: list[str]) -> Any:
    blocks: list[Any] = []
    for part in one.parts:
        if isinstance(part, ToolResult):
            blocks += [{"type": "text", "text": part.output}] if part.output else []
        elif not isinstance(part, ToolCall) and part != Text(""):
            block = block_from_part(part)
            if isinstance(block, Lost):
                lost.append(block)
            else:
                blocks.append(block)
    if not blocks:
        return ""
    only = blocks[0]
    is_text = isinstance(only, dict) and only.keys() == {"type", "text"} and only["type"] == "text"
    return only["text"] if len(blocks) == 1 and is_text else blocks


def _result_fields(result: ToolResult, call_id: str | None, around: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"name": result.tool} if result.tool else {}
    if around.get("type") != "function":
        found["tool_call_id"] = call_id or result.call_id or ""
    return found | ({"status": "error"} if result.is_error else {})


def _calls(one: Message, ids: Mapping[int, str], lost: list[str]) -> dict[str, Any]:
    valid: list[Any] = []
    invalid: list[Any] = []
    for index, part in enumerate(one.parts):
        if not isinstance(part, ToolCall):
            continue
        call_id = ids.get(index) or part.id
        args = _object(part.args)
        if args is None:
            broken = {"name": part.tool, "args": part.args, "id": call_id, "error": None}
            invalid.append({**broken, "type": "invalid_tool_call"})
        else:
            if invalid:
                lost.append(
                    f"the order of its calls: that of {part.tool} comes before those with broken arguments"
                )
            valid.append({"name": part.tool, "args": args, "id": call_id, "type": "tool_call"})
    return {"tool_calls": valid} | ({"invalid_tool_calls": invalid} if invalid else {})


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = parse(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _places(one: Message) -> set[str]:
    fields = metadata_of(one, FIELDS_KEY)
    places = {"id", "usage", "finish_reason"} | (set() if one.results else {"name"})
    return places | ({"time"} if fields.keys() & set(TIME_FIELDS) else set())


def _placed(found: Sequence[tuple[Any, dict[str, Any]]], extra: Mapping[str, Any]) -> Any:
    """The entries where they lay in their object; new ones stand beside the one before them."""
    ways = [tuple(layout["at"]) if isinstance(layout.get("at"), list) else () for _, layout in found]
    way: tuple[str | int, ...] = next((one for one in ways if one), ())
    lists: dict[tuple[str | int, ...], list[Any]] = {}
    alone: set[tuple[str | int, ...]] = set()
    for (entry, layout), own in zip(found, ways, strict=True):
        way = own or way
        lists.setdefault(way, []).append(entry)
        if layout.get("alone"):
            alone.add(way)
    if not way:
        entries = lists.get((), [])
        return {**extra, "messages": entries} if extra else entries
    value: Any = dict(extra)
    for own, entries in lists.items():
        value = _put(value, own, entries[0] if own in alone and len(entries) == 1 else entries)
    return value


def _put(value: Any, way: tuple[str | int, ...], new: Any) -> Any:
    """A copy of a value with something new at the end of a way; what is missing on it is made."""
    if not way:
        return new
    key, rest = way[0], way[1:]
    if isinstance(key, str):
        held = value if isinstance(value, dict) else {}
        return {**held, key: _put(held.get(key), rest, new)}
    items = list(value) if isinstance(value, list) else []
    items += [None] * (key + 1 - len(items))
    items[key] = _put(items[key], rest, new)
    return items
