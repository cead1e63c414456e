"""What a tool answered: its texts as one result, and what else it shows."""

from __future__ import annotations

from collections.abc import Sequence

from koogbook.messages.parts import Part, Text, ToolResult
from koogbook.transcripts.reading import Reading


def result_parts(
    reading: Reading, content: Sequence[Part], tool: str, call_id: str | None, is_error: bool, field: str
) -> tuple[Part, ...]:
    """The result of a call, then the pictures and other parts of its content.

    A text that stood after one of these is read before it, which is listed at ``field``.
    """
    texts = [at for at, part in enumerate(content) if isinstance(part, Text)]
    others = [part for part in content if not isinstance(part, Text)]
    if texts and texts[-1] >= len(texts):
        text = "a text stands after a picture or another part of the result, and is read before it"
        reading.report("out_of_order", text, field)
    output = "\n".join(part.text for part in content if isinstance(part, Text))
    return (ToolResult(output, tool, call_id, is_error), *others)
