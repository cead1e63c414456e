"""Messages as ShareGPT turns."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from koogbook.messages.message import Message
from koogbook.messages.parts import Attachment, Foreign, Reasoning, Text, ToolCall, ToolResult
from koogbook.transcripts.files import parse
from koogbook.transcripts.formats import Loss, Written
from koogbook.transcripts.lone_surrogates import without_lone_surrogates
from koogbook.transcripts.reading import TIME_FIELDS
from koogbook.transcripts.sharegpt.shape import FILE_KEY, USUAL_KEYS
from koogbook.transcripts.spelling import respelled
from koogbook.transcripts.transcript import preview
from koogbook.transcripts.writing import unplaced

#: Metadata that a message from a ShareGPT file carries: how its turns were spelled, and whether it stood beside them.
SPELLING_KEY: Final = "sharegpt"
BESIDE_KEY: Final = "sharegpt_layout"

#: The ids that the reader gives to calls.
_MADE_ID: Final = re.compile(r"call_[0-9]+(_[0-9]+)?")

_SPEAKERS: Final = {"system": "system", "user": "human", "assistant": "gpt", "tool": "observation"}
#: In which order the turns of a message come.
_ORDER: Final[dict[type, int]] = {ToolResult: 0, Text: 1, ToolCall: 2}
_ROLES: Final = {"human": "user", "gpt": "assistant"}


def to_sharegpt(messages: tuple[Message, ...], extra: Mapping[str, Any]) -> Written:
    """Messages as an object with ``conversations``, or as the file had them.

    The format has no ids of calls, so results belong to calls by their order; times, ids and token counts of messages
    are not in it.
    """
    spelled = extra.get(FILE_KEY, {})
    keys = tuple(spelled.get("keys", USUAL_KEYS))
    rest = {key: value for key, value in extra.items() if key not in (FILE_KEY, "system")}
    if "own" in spelled:
        rest[FILE_KEY] = spelled["own"]
    if "tools" in spelled:
        rest["tools"] = _as_text(rest.get("tools"), spelled["tools"])
    if "system" in extra and not extra["system"]:
        rest["system"] = extra["system"]
    spoken = messages
    if messages and messages[0].role == "system" and messages[0].metadata.get(BESIDE_KEY):
        rest["system"] = _system(messages[0], extra.get("system"))
        spoken = messages[1:]
    written = [_turns(one, keys) for one in spoken]
    turns = [turn for some in written for turn in some]
    beside: list[list[Any]] = [[]] * (len(messages) - len(spoken))
    losses = tuple(
        loss
        for position, (one, some) in enumerate(zip(messages, beside + written, strict=True))
        for loss in (*_losses(position, one, some, keys), *_border(position, messages))
    )
    name = spelled.get("list", "conversations")
    if name is None and not rest:
        return Written(turns, losses)
    return Written({**rest, name or "conversations": turns}, losses)


def plain_turns(one: Message, keys: tuple[str, str] = USUAL_KEYS) -> list[dict[str, Any]]:
    """The turns of a message as the format spells them by default."""
    who, what = keys
    text = "\n".join(part.text for part in one.parts if isinstance(part, Text))
    calls = [_call_text(part) for part in one.parts if isinstance(part, ToolCall)]
    outputs = [part.output for part in one.parts if isinstance(part, ToolResult)]
    if outputs and text:
        outputs[-1] += f"\n{text}"
    speaker = _SPEAKERS[one.role]
    if who == "role":
        speaker = _ROLES.get(speaker, speaker)
    texts = outputs or ([text] if text or not calls else [])
    return [
        *({who: speaker, what: value} for value in texts),
        *({who: "function_call", what: value} for value in calls),
    ]


def _turns(one: Message, keys: tuple[str, str]) -> list[dict[str, Any]]:
    plain = plain_turns(one, keys)
    if one.metadata_json == "{}":
        return plain
    turns: list[dict[str, Any]] = respelled(one, one.metadata.get(SPELLING_KEY), plain)
    return turns


def _call_text(call: ToolCall) -> str:
    try:
        args = parse(call.args)
    except (ValueError, RecursionError):
        args = call.args
    return json.dumps(
        {"name": call.tool, "arguments": args if isinstance(args, dict) else call.args}, ensure_ascii=False
    )


def _as_text(tools: Any, original: str) -> str:
    """The tools as JSON text: the file's own where they are the same."""
    try:
        if parse(original) == tools:
            return original
    except (ValueError, RecursionError):
        return original
    return json.dumps(tools, ensure_ascii=False)


def _system(one: Message, original: Any) -> str:
    return str(original) if without_lone_surrogates(original) == one.text else one.text


def _losses(position: int, one: Message, turns: list[Any], keys: tuple[str, str]) -> Iterator[Loss]:
    for part in one.parts:
        if isinstance(part, Reasoning):
            yield Loss(position, "its reasoning")
        elif isinstance(part, Attachment):
            yield Loss(position, f"its {part.kind} {part.name or part.url or part.file_id or part.mime}")
        elif isinstance(part, Foreign):
            yield Loss(position, f"its part of kind {part.kind}")
        elif isinstance(part, ToolResult) and part.is_error:
            yield Loss(position, f"that the result of {part.tool or 'a tool'} is an error")
        elif isinstance(part, ToolCall) and part.id is not None and not _MADE_ID.fullmatch(part.id):
            yield Loss(position, f"the id {preview(part.id)!r} of a call of {part.tool}")
    ranks = [_ORDER[type(part)] for part in one.parts if type(part) in _ORDER and part != Text("")]
    if ranks != sorted(ranks) and turns == plain_turns(one, keys):
        yield Loss(
            position, "the order of its parts: its texts stand together, before calls and after results"
        )
    fields = {key for turn in turns if isinstance(turn, dict) for key in turn}
    places = {"id"} & fields | ({"time"} if fields.intersection(TIME_FIELDS) else set())
    yield from unplaced(position, one, places, SPELLING_KEY)


def _border(position: int, messages: tuple[Message, ...]) -> Iterator[Loss]:
    one = messages[position]
    before = messages[position - 1].role if position else ""
    if one.role == "assistant" == before and one.calls and not one.text:
        yield Loss(position, "its border: calls right after a text or other calls are one message with them")
