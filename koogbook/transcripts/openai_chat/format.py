"""OpenAI chat messages as one of the formats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec.structs import replace

from koogbook.messages.message import Message
from koogbook.messages.metadata import metadata_text
from koogbook.messages.parts import Reasoning, ToolResult
from koogbook.transcripts.formats import Loss, TranscriptFormat, Written
from koogbook.transcripts.openai_chat.read import read_conversation
from koogbook.transcripts.openai_chat.shape import find_openai_chat, is_openai_message
from koogbook.transcripts.openai_chat.write import FIELDS_KEY, ROLE_KEY, to_openai
from koogbook.transcripts.reading import TIME_FIELDS
from koogbook.transcripts.writing import metadata_of, unplaced


def _write(messages: tuple[Message, ...], extra: Mapping[str, Any]) -> Written:
    entries = to_openai(messages)
    losses = tuple(loss for position, one in enumerate(messages) for loss in _losses(position, one))
    return Written({**extra, "messages": entries} if extra else entries, losses)


def _losses(position: int, one: Message) -> Iterator[Loss]:
    for part in one.parts:
        if isinstance(part, Reasoning) and (part.signature is not None or part.id is not None):
            yield Loss(position, "the signature and id of its reasoning")
        if isinstance(part, ToolResult) and part.is_error:
            yield Loss(position, f"that the result of {part.tool or 'a tool'} is an error")
    fields = metadata_of(one, FIELDS_KEY)
    places = {"name"}
    places |= {"id"} if fields.get("id") == one.id else set()
    places |= {"time"} if any(field in fields for field in TIME_FIELDS) else set()
    if one.metadata_json != "{}" and ROLE_KEY in one.metadata:  # it is written as the role
        others = {key: value for key, value in one.metadata.items() if key != ROLE_KEY}
        one = replace(one, metadata_json=metadata_text(others))
    yield from unplaced(position, one, places, FIELDS_KEY)


FORMAT: Final = TranscriptFormat(
    name="openai-chat",
    title="OpenAI chat messages",
    find=find_openai_chat,
    is_entry=is_openai_message,
    read=read_conversation,
    write=_write,
)
