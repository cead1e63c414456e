"""Messages as OpenAI chat JSON, and conversations written to files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from koogbook.messages.message import Message
from koogbook.messages.pairing import pair_messages
from koogbook.messages.parts import Reasoning, Text, ToolCall, ToolResult
from koogbook.messages.prompt import Prompt, as_messages
from koogbook.transcripts.files import json_bytes, replaced_file
from koogbook.transcripts.openai_chat.parts import merged, part_to_openai
from koogbook.transcripts.spelling import parts_mark
from koogbook.transcripts.transcript import Transcript

#: Metadata that a message from an OpenAI file carries: fields that koogbook has no place for, how the known
#: ones were spelled where there are several spellings, and the role where it is none of the four.
FIELDS_KEY = "openai"
SPELLING_KEY = "openai_spelling"
ROLE_KEY = "original_role"

CallIds = Mapping[tuple[int, int], str]


def to_openai(messages: Sequence[Message] | Prompt | Transcript) -> list[dict[str, Any]]:
    """Messages as OpenAI chat JSON values.

    A message that came from an OpenAI file and is unchanged comes out as it went in. Calls without an id get
    one. The format has no place for times, ids of messages, usage, error flags and signatures of reasoning;
    these are not in the result (:func:`koogbook.messages.codec.encode_message` keeps all).
    """
    history = as_messages(messages)
    ids = _call_ids(history)
    return [entry for position, one in enumerate(history) for entry in _entries(one, position, ids)]


def write_openai(messages: Sequence[Message] | Prompt | Transcript, path: str | Path) -> Path:
    """Write one conversation as an OpenAI chat file, in one step, and return its path.

    The file is a list of messages; for a transcript whose file said more of it, an object with that beside
    ``messages``.
    """
    values: Any = to_openai(messages)
    if isinstance(messages, Transcript) and messages.extra:
        values = {**messages.extra, "messages": values}
    with replaced_file(path) as file:
        file.write(json_bytes(values, indent=2) + b"\n")
    return Path(path)


def plain_entry(one: Message, position: int = 0, ids: CallIds | None = None) -> dict[str, Any]:
    """A message with at most one result as the format spells it by default.

    An empty text is no part of a list, and beside calls it is null: some servers refuse both.
    """
    ids = ids or {}
    entry: dict[str, Any] = {"role": one.role}
    given = [part for part in one.parts if not isinstance(part, Reasoning | ToolCall | ToolResult)]
    content = [part for part in given if not isinstance(part, Text) or part.text]
    if one.results:
        output = one.results[0].output
        call_id = ids.get((position, one.parts.index(one.results[0]))) or one.results[0].call_id
        if call_id is not None:
            entry["tool_call_id"] = call_id
        texts = [{"type": "text", "text": output}] if output else []
        entry["content"] = [*texts, *map(part_to_openai, content)] if content else output
    elif not content:
        entry["content"] = None if one.role == "assistant" and (one.calls or not given) else ""
    elif len(content) == 1 and isinstance(content[0], Text):
        entry["content"] = content[0].text
    else:
        entry["content"] = [part_to_openai(part) for part in content]
    if one.name is not None:
        entry["name"] = one.name
    reasoning = [part.text for part in one.parts if isinstance(part, Reasoning)]
    if reasoning:
        entry["reasoning_content"] = "\n".join(reasoning)
    calls = [
        _call_entry(part, part.id or ids.get((position, index)))
        for index, part in enumerate(one.parts)
        if isinstance(part, ToolCall)
    ]
    if calls:
        entry["tool_calls"] = calls
    return entry


def _call_entry(call: ToolCall, call_id: str | None) -> dict[str, Any]:
    function = {"name": call.tool, "arguments": call.args}
    return {"type": "function", "function": function} | ({} if call_id is None else {"id": call_id})


def _entries(one: Message, position: int, ids: CallIds) -> list[dict[str, Any]]:
    if len(one.results) > 1:
        results = [(index, part) for index, part in enumerate(one.parts) if isinstance(part, ToolResult)]
        others = [part for part in one.parts if not isinstance(part, ToolResult)]
        pieces = [
            one.with_parts([part] if number else [part, *others]) for number, (_, part) in enumerate(results)
        ]
        found = [
            {(position, 0): ids[position, index]} if (position, index) in ids else {} for index, _ in results
        ]
        return [plain_entry(piece, position, known) for piece, known in zip(pieces, found, strict=True)]
    entry = plain_entry(one, position, ids)
    if one.metadata_json == "{}":
        return [entry]
    metadata = one.metadata
    spelling = metadata.get(SPELLING_KEY)
    if isinstance(spelling, dict) and spelling.get("parts") == parts_mark(one.role, one.parts):
        if "surplus" in spelling:
            content = [part for part in one.parts if not isinstance(part, Reasoning | ToolCall | ToolResult)]
            entry["content"] = [
                merged(part_to_openai(part), surplus)
                for part, surplus in zip(content, spelling["surplus"], strict=True)
            ]
        entry.update(spelling.get("fields", {}))
        for key in spelling.get("absent", ()):
            entry.pop(key, None)
    elif metadata.get(ROLE_KEY) == "developer":
        entry["role"] = "developer"
    fields = metadata.get(FIELDS_KEY)
    return [{**fields, **entry} if isinstance(fields, dict) else entry]


def _call_ids(messages: Sequence[Message]) -> dict[tuple[int, int], str]:
    """Ids for calls that have none and for the results that belong to them, by message and part."""
    ids = {
        (position, index): f"call_{position}_{index}"
        for position, one in enumerate(messages)
        for index, part in enumerate(one.parts)
        if isinstance(part, ToolCall) and not part.id
    }
    for pair in pair_messages(messages).pairs:
        call = messages[pair.call_message].parts[pair.call_part]
        if isinstance(call, ToolCall):
            call_id = ids.get((pair.call_message, pair.call_part)) or call.id
            if call_id:
                ids[pair.result_message, pair.result_part] = call_id
    return ids
