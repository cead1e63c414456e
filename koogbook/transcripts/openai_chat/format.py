"""OpenAI chat messages as one of the formats."""

from __future__ import annotations

from typing import Final

from koogbook.transcripts.formats import TranscriptFormat
from koogbook.transcripts.openai_chat.read import read_conversation
from koogbook.transcripts.openai_chat.shape import find_openai_chat, is_openai_message
from koogbook.transcripts.openai_chat.write import write_conversation

FORMAT: Final = TranscriptFormat(
    name="openai-chat",
    title="OpenAI chat messages",
    find=find_openai_chat,
    is_entry=is_openai_message,
    read=read_conversation,
    write=write_conversation,
)
