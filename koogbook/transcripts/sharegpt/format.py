"""ShareGPT as one of the formats."""

from __future__ import annotations

from typing import Final

from koogbook.transcripts.formats import TranscriptFormat
from koogbook.transcripts.sharegpt.read import read_sharegpt
from koogbook.transcripts.sharegpt.shape import find_sharegpt, is_turn
from koogbook.transcripts.sharegpt.write import to_sharegpt

FORMAT: Final = TranscriptFormat(
    name="sharegpt",
    title="ShareGPT turns",
    find=find_sharegpt,
    is_entry=is_turn,
    read=read_sharegpt,
    write=to_sharegpt,
)
