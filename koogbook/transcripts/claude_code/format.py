"""Claude Code logs as a format."""

from __future__ import annotations

from typing import Final

from koogbook.transcripts.claude_code.read import read_conversation
from koogbook.transcripts.claude_code.shape import find, is_entry
from koogbook.transcripts.formats import TranscriptFormat

FORMAT: Final = TranscriptFormat(
    name="claude-code",
    title="Claude Code logs",
    find=find,
    is_entry=is_entry,
    read=read_conversation,
)
