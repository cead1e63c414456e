"""OpenAI Responses items as a format."""

from __future__ import annotations

from typing import Final

from koogbook.transcripts.formats import TranscriptFormat
from koogbook.transcripts.openai_responses.read import read_conversation
from koogbook.transcripts.openai_responses.shape import find, is_entry
from koogbook.transcripts.openai_responses.write import write_conversation

FORMAT: Final = TranscriptFormat(
    name="openai-responses",
    title="OpenAI Responses items",
    find=find,
    is_entry=is_entry,
    read=read_conversation,
    write=write_conversation,
)
