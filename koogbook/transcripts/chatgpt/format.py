"""ChatGPT's exports as one of the formats."""

from __future__ import annotations

from typing import Final

from koogbook.transcripts.chatgpt.read import read_chatgpt
from koogbook.transcripts.chatgpt.shape import find_chatgpt, is_chatgpt_message
from koogbook.transcripts.formats import TranscriptFormat

FORMAT: Final = TranscriptFormat(
    name="chatgpt",
    title="ChatGPT exports",
    find=find_chatgpt,
    is_entry=is_chatgpt_message,
    read=read_chatgpt,
)
