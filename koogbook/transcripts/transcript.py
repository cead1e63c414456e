"""A conversation as it was found in a file, and what was odd about it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import takewhile
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from koogbook.messages.message import Message
from koogbook.messages.parts import ToolCall, ToolResult

DefectKind = Literal[
    "arguments_not_text",
    "bad_call",
    "bad_content",
    "bad_message",
    "bad_time",
    "broken_arguments",
    "broken_line",
    "double_encoded_arguments",
    "duplicate_id",
    "empty_content",
    "empty_conversation",
    "joined_result",
    "lone_surrogate",
    "missing_parent",
    "missing_turn",
    "mixed_formats",
    "open_call",
    "orphan_result",
    "other_branch",
    "out_of_order",
    "repaired",
    "reused_call_id",
    "torn_line",
    "unanswered_call",
    "unfinished_message",
    "unkept_fields",
    "unknown_entry",
    "unknown_part",
    "unknown_role",
]


class Defect(Struct, frozen=True, omit_defaults=True):
    """Something in a file that is not as it should be.

    ``position`` is the index of the message; for a line that could not be read it is the line's number, from
    1. ``where`` is the place in the file (``$[3].messages[7].content[0]``, ``line 12``).
    """

    position: int
    kind: DefectKind
    text: str
    where: str = ""

    def __str__(self) -> str:
        return f"{self.where or self.position}: {self.text} ({self.kind})"


class Transcript(Struct, frozen=True, kw_only=True, omit_defaults=True, repr_omit_defaults=True):
    """One conversation out of a file.

    ``index`` counts the conversations of the file from 0. ``extra_json`` holds what the file says of the
    conversation besides its messages (``model``, ``tools``), as JSON text; :attr:`extra` reads it.
    """

    messages: tuple[Message, ...]
    defects: tuple[Defect, ...] = ()
    format: str
    source: str = ""
    index: int = 0
    extra_json: str = "{}"

    def __len__(self) -> int:
        return len(self.messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages)

    def __repr__(self) -> str:
        calls = sum(len(message.calls) for message in self.messages)
        facts = [
            _count(len(self.messages), "message"),
            f"about {self.tokens:,} tokens",
            f"{_count(calls, 'call')} of {_count(len(self.tools), 'tool')}" if calls else "",
            _count(len(self.defects), "defect") if self.defects else "",
            f"{self.format} from {self.source!r}" if self.source else self.format,
            f"index {self.index}" if self.index else "",
        ]
        return f"Transcript({', '.join(fact for fact in facts if fact)})"

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools that were called or have answered, in the order they first appear."""
        used: list[ToolCall | ToolResult] = []
        for message in self.messages:
            used += message.calls
            used += message.results
        return tuple(dict.fromkeys(part.tool for part in used if part.tool))

    @property
    def tokens(self) -> int:
        """Estimated tokens of all messages."""
        return sum(message.tokens for message in self.messages)

    @property
    def extra(self) -> dict[str, Any]:
        """A fresh copy of what the file says besides the messages."""
        loaded: dict[str, Any] = json.loads(self.extra_json)
        return loaded

    @property
    def context(self) -> tuple[Message, ...]:
        """What the model had before it at the end: from the last summary on, after the system messages at the start.

        Without a summary all messages. Summaries that follow each other are one.
        """
        last = max((at for at, message in enumerate(self.messages) if message.is_summary), default=0)
        while last and self.messages[last - 1].is_summary:
            last -= 1
        head = tuple(takewhile(lambda message: message.role == "system", self.messages[:last]))
        return head + self.messages[last:]

    def repaired(self, *, open_tail: bool = True) -> Transcript:
        """This conversation with a history that a provider takes; what was changed is added to the defects.

        See :func:`koogbook.transcripts.repair.repair_pairs`; ``open_tail``: calls at the end may still wait for their
        results. The transcript itself stays as it is.
        """
        from koogbook.transcripts.repair import repair_pairs

        messages, changes = repair_pairs(self.messages, open_tail=open_tail)
        return replace(self, messages=messages, defects=self.defects + changes)


def preview(value: object, limit: int = 60) -> str:
    """The beginning of a value for a message to a person, on one line."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)
    line = " ".join(text[: limit * 2].split())
    whole = len(line) <= limit and len(text) <= limit * 2
    shown = line if whole else line[: limit - 1] + "…"
    # A terminal would obey some characters, and a file cannot hold half of a pair.
    return shown if shown.isprintable() else "".join(map(_visible, shown))


def _visible(character: str) -> str:
    return character if character.isprintable() else ascii(character)[1:-1]


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
