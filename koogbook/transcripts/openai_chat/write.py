"""Messages as OpenAI chat JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from koogbook.messages.message import Message
from koogbook.messages.parts import Foreign, Part, Reasoning, Text, ToolCall, ToolResult
from koogbook.messages.prompt import Prompt, as_messages
from koogbook.transcripts.conversation import LIST_NAMES
from koogbook.transcripts.formats import Loss, Written
from koogbook.transcripts.openai_chat.parts import block_from_part
from koogbook.transcripts.openai_chat.shape import LIST_KEY
from koogbook.transcripts.reading import TIME_FIELDS
from koogbook.transcripts.spelling import respelled
from koogbook.transcripts.transcript import Transcript
from koogbook.transcripts.writing import Lost, call_ids, changed_ids, metadata_of, pieces, unplaced

#: Metadata of a message from an OpenAI file: fields that koogbook has no place for, how the others were spelled, the
#: role where it is none of the four, and the layout: ``blocks`` for texts in a list, ``own`` for raw parts of this
#: format, ``reasoning`` for the field of the thoughts, ``old`` for a call from before there were tools, ``custom`` for
#: the ids of calls with a free text, ``no_id`` for a result that named no call.
FIELDS_KEY: Final = "openai"
SPELLING_KEY: Final = "openai_spelling"
LAYOUT_KEY: Final = "openai_layout"
ROLE_KEY: Final = "original_role"

#: Where messages of this format, and those of Responses, have the ids of their calls with a free text.
_CUSTOM_IN: Final = (LAYOUT_KEY, "openai_responses_layout")


def to_openai(messages: Sequence[Message] | Prompt | Transcript) -> list[dict[str, Any]]:
    """Messages as OpenAI chat JSON values.

    A message that came from an OpenAI file and is unchanged comes out as it went in. Calls without an id get
    one. The format has no place for times, ids of messages, usage, error flags, signatures of reasoning, and parts of
    other APIs; these are not in the result (:func:`koogbook.transcripts.export.export_transcript` lists them, and
    :func:`koogbook.messages.codec.encode_message` keeps all).
    """
    return _written(as_messages(messages))[0]


def write_conversation(messages: Sequence[Message], extra: Mapping[str, Any]) -> Written:
    """A history as OpenAI chat messages: a list, or an object with it and what the file said besides."""
    entries, losses = _written(messages)
    beside = dict(extra)
    name = beside.pop(LIST_KEY) if beside.get(LIST_KEY) in LIST_NAMES else "messages"
    return Written({**beside, name: entries} if extra else entries, tuple(losses))


def plain_entry(
    one: Message, ids: Mapping[int, str] | None = None, lost: list[str] | None = None
) -> dict[str, Any]:
    """A message with at most one result as the format spells it by default.

    An empty text is no part of a list, and beside calls it is null: some servers refuse both. ``ids`` are those of
    calls and results, by part; what is not in the entry is added to ``lost``, in words.
    """
    layout = metadata_of(one, LAYOUT_KEY)
    ids = {} if ids is None else ids
    lost = [] if lost is None else lost
    entry: dict[str, Any] = {**metadata_of(one, FIELDS_KEY), "role": _role(one, lost)}
    for result in one.results[:1]:
        call_id = ids.get(one.parts.index(result)) or result.call_id
        if call_id is not None:
            entry["tool_call_id"] = call_id
        elif one.metadata_json != "{}" and one.metadata.get(ROLE_KEY) == "function":
            entry |= {"role": "function"} | ({"name": result.tool} if result.tool else {})
        elif not layout.get("no_id"):
            lost.append(f"which call the result of {result.tool or 'a tool'} answers: it has no id")
        if result.is_error:
            lost.append(f"that the result of {result.tool or 'a tool'} is an error")
    entry["content"] = _content(one, layout, lost)
    if one.name is not None:
        entry["name"] = one.name
    thoughts = [part for part in one.parts if isinstance(part, Reasoning)]
    if any(part.signature is not None or part.id is not None for part in thoughts):
        lost.append("the signature and id of its reasoning")
    if any(part.text for part in thoughts):
        field = layout.get("reasoning", "reasoning_content")
        entry[field] = "\n".join(part.text for part in thoughts if part.text)
    calls = _calls(one, ids)
    if _is_old(one):
        entry["function_call"] = calls[0]["function"]
    elif calls:
        entry["tool_calls"] = calls
    ranks = [_rank(part) for part in one.parts if part != Text("")]
    if ranks != sorted(ranks):
        lost.append("the order of its parts")
    return entry


def _written(messages: Sequence[Message]) -> tuple[list[dict[str, Any]], list[Loss]]:
    ids = call_ids(messages, as_they_are=_is_old)
    entries: list[dict[str, Any]] = []
    losses = list(changed_ids(messages, ids))
    for position, one in enumerate(messages):
        for start, piece in pieces(one):
            known = {
                index: ids[position, start + index]
                for index in range(len(piece.parts))
                if (position, start + index) in ids
            }
            lost: list[str] = []
            plain = plain_entry(piece, known, lost)
            entry = respelled(piece, metadata_of(piece, SPELLING_KEY), plain)
            losses += [Loss(position, text) for text in lost if entry is plain]
            if _is_of_others(piece):
                losses.append(Loss(position, "that it was said: nothing in it has a place"))
            else:
                entries.append(entry)
        fields = metadata_of(one, FIELDS_KEY)
        places = {"name"} | ({"id"} if fields.get("id") == one.id else set())
        places |= {"time"} if fields.keys() & set(TIME_FIELDS) else set()
        losses += unplaced(position, one, places, FIELDS_KEY, ROLE_KEY)
    return entries, sorted(losses, key=lambda loss: loss.position)


def _role(one: Message, lost: list[str]) -> str:
    if one.role == "tool" and not one.results:
        if not _is_of_others(one):
            lost.append("that it is of a tool: it has no result, and became a user message")
        return "user"
    is_developers = one.role == "system" and one.metadata.get(ROLE_KEY) == "developer"
    return "developer" if is_developers else one.role


def _is_old(one: Message) -> bool:
    """Whether a message has one call of the time before tools, which had no ids."""
    return bool(metadata_of(one, LAYOUT_KEY).get("old")) and [part.id for part in one.calls] == [None]


def _content(one: Message, layout: Mapping[str, Any], lost: list[str]) -> Any:
    as_list = bool(layout.get("blocks"))
    given = [part for part in one.parts if not isinstance(part, Reasoning | ToolCall | ToolResult)]
    found = [
        block_from_part(part, own=bool(layout.get("own"))) for part in given if as_list or part != Text("")
    ]
    lost += [block for block in found if isinstance(block, Lost)]
    blocks = [block for block in found if not isinstance(block, Lost)]
    for result in one.results[:1]:
        if result.output or not blocks:
            blocks.insert(0, {"type": "text", "text": result.output})
    if not blocks:
        return None if one.role == "assistant" and (one.calls or not given) else ""
    is_text = isinstance(blocks[0], dict) and blocks[0].keys() == {"type", "text"}
    return blocks[0]["text"] if is_text and len(blocks) == 1 and not as_list else blocks


def _calls(one: Message, ids: Mapping[int, str]) -> list[dict[str, Any]]:
    custom = {call_id for key in _CUSTOM_IN for call_id in metadata_of(one, key).get("custom", ())}
    entries: list[dict[str, Any]] = []
    for index, part in enumerate(one.parts if one.calls else ()):
        if isinstance(part, ToolCall):
            call_id = ids.get(index) or part.id
            own = {} if call_id is None else {"id": call_id}
            if part.id in custom:
                body = {"name": part.tool, "input": part.args}
                entries.append({"type": "custom", "custom": body, **own})
            else:
                body = {"name": part.tool, "arguments": part.args}
                entries.append({"type": "function", "function": body, **own})
    return entries


def _rank(part: Part) -> int:
    """Where the format has a part: thoughts and a result first, calls last."""
    return 0 if isinstance(part, Reasoning | ToolResult) else 2 if isinstance(part, ToolCall) else 1


def _is_of_others(one: Message) -> bool:
    """Whether there is nothing in a message but raw parts of other APIs."""
    parts = [part for part in one.parts if part != Text("")]
    own = metadata_of(one, LAYOUT_KEY).get("own")
    return bool(parts) and not own and all(isinstance(part, Foreign) for part in parts)
