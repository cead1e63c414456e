"""Anthropic messages as a format."""

from __future__ import annotations

from typing import Final

from koogbook.transcripts.anthropic.read import read_conversation
from koogbook.transcripts.anthropic.shape import find, is_entry
from koogbook.transcripts.anthropic.write import write_conversation
from koogbook.transcripts.formats import TranscriptFormat

FORMAT: Final = TranscriptFormat(
    name="anthropic",
    title="Anthropic messages",
    find=find,
    is_entry=is_entry,
    read=read_conversation,
    write=write_conversation,
)
