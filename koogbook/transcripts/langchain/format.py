"""LangChain messages as a format."""

from __future__ import annotations

from typing import Final

from koogbook.transcripts.formats import TranscriptFormat
from koogbook.transcripts.langchain.read import read_conversation
from koogbook.transcripts.langchain.shape import find, is_entry
from koogbook.transcripts.langchain.write import write_conversation

FORMAT: Final = TranscriptFormat(
    name="langchain",
    title="LangChain messages",
    find=find,
    is_entry=is_entry,
    read=read_conversation,
    write=write_conversation,
)
