"""The exports of claude.ai as one of the formats."""

from __future__ import annotations

from typing import Final

from koogbook.transcripts.claude_export.read import read_claude_export
from koogbook.transcripts.claude_export.shape import find_claude_export, is_claude_message
from koogbook.transcripts.formats import TranscriptFormat

FORMAT: Final = TranscriptFormat(
    name="claude-export",
    title="claude.ai exports",
    find=find_claude_export,
    is_entry=is_claude_message,
    read=read_claude_export,
)
