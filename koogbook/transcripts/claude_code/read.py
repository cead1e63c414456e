"""One log of Claude Code, read into messages and defects."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from koogbook.messages.message import REFERENCE_NAME, SUMMARY_NAME, Message, Role, Usage
from koogbook.messages.parts import Part, Text, ToolResult
from koogbook.transcripts.anthropic.parts import usage_of
from koogbook.transcripts.anthropic.read import BlockReading
from koogbook.transcripts.branches import about_branch
from koogbook.transcripts.claude_code.log import Lines, Log, OtherBranch, is_message
from koogbook.transcripts.conversation import Conversation
from koogbook.transcripts.transcript import Defect, preview

#: Metadata of a message from a log: its entries, without the content, and the compaction before it.
FIELDS_KEY: Final = "claude_code"


def read_conversation(conversation: Conversation) -> tuple[tuple[Message, ...], tuple[Defect, ...]]:
    """The messages of the main line, from the root to the last leaf, or of the branch that was asked for.

    Entries of one ``message.id`` make one message. The summary of a compaction has the name ``koogbook.summary`` and
    what the program said in the user's place (``isMeta``) has ``koogbook.reference``: neither counts as the user's
    words. Other branches are defects with their number of messages, and so are entries that are no messages.

    Raises:
        TranscriptError: Entries are parents of each other in a circle, there is no such branch, or the log is nested
            too deeply.
    """
    reader = _Reader(conversation)
    with reader.not_too_deep():
        return reader.read()


class _Positions(Struct, frozen=True):
    """The entries that are read, in order of the file, and the message that each became part of."""

    numbers: list[int]
    messages: list[int]


class _Reader(BlockReading):
    """Reads one piece after the other."""

    def read(self) -> tuple[tuple[Message, ...], tuple[Defect, ...]]:
        entries = self.conversation.entries
        lines = Log(entries).lines(self.conversation.branch)
        found: list[tuple[int, int]] = []
        boundaries = [number for number in lines.outside if _is_boundary(entries[number])]
        for piece in lines.pieces:
            found += [(number, len(self.messages)) for number in piece]
            before = [number for number in boundaries if number < piece[0]]
            boundaries = boundaries[len(before) :]
            fields = {"compact_boundary": entries[before[-1]]} if before else {}
            if entries[piece[0]]["type"] == "assistant":
                self._read_assistant(piece, fields)
            else:
                self._read_user(piece[0], fields)
        found.sort()
        positions = _Positions([number for number, _ in found], [message for _, message in found])
        self._report_lines(lines, positions, boundaries)
        return self.done()

    def _read_assistant(self, piece: Sequence[int], fields: dict[str, Any]) -> None:
        parts: list[Part] = []
        usage: Usage | None = None
        reason: str | None = None
        for number in piece:
            self.go_to(number)
            inner = self._mended(number)["message"]
            parts += [part for _, found in self._content(inner, "assistant") for part in found]
            usage = usage_of(inner.get("usage")) or usage
            given = inner.get("stop_reason")
            reason = given if isinstance(given, str) else reason
        self.go_to(piece[0])
        if not parts:
            self.report("empty_content", "the message has no content", ".message.content")
        first = self.conversation.entries[piece[0]]
        one = Message(
            role="assistant",
            parts=tuple(parts),
            id=first["uuid"],
            time=self.time_of(piece[0], first),
            usage=usage,
            finish_reason=reason,
        )
        self._keep(one, piece, fields)

    def _read_user(self, number: int, fields: dict[str, Any]) -> None:
        self.go_to(number)
        entry = self._mended(number)
        blocks = self._content(entry["message"], "user")
        results = [found for is_result, found in blocks if is_result]
        others = tuple(part for is_result, found in blocks if not is_result for part in found)
        if not blocks:
            self.report("empty_content", "the message has no content", ".message.content")
        if any(is_result for is_result, _ in blocks[len(results) :]):
            self.report(
                "out_of_order", "something is said before a result, and is read after it", ".message.content"
            )
        name = SUMMARY_NAME if entry.get("isCompactSummary") is True else None
        if name is None and entry.get("isMeta") is True:
            name = REFERENCE_NAME
        time = self.time_of(number, entry)
        groups = [*results, others] if others or not results else results
        for part_number, parts in enumerate(groups):
            role: Role = "tool" if part_number < len(results) else "user"
            own = self.conversation.entries[number]["uuid"]
            one = Message(
                role=role,
                parts=tuple(parts),
                id=self.id_of(number, entry, part_number) if part_number else own,
                time=time,
                name=name if role == "user" else None,
            )
            self._keep(one, () if part_number else (number,), {} if part_number else fields)

    def _content(self, inner: dict[str, Any], role: Role) -> list[tuple[bool, tuple[Part, ...]]]:
        """The parts of each block, and whether it is a result; empty texts are left out and listed."""
        content = inner.get("content")
        field = ".message.content"
        if isinstance(content, str):
            return [(False, (Text(content),))] if content else []
        if not isinstance(content, list):
            if content is None:
                return []
            self.report("bad_content", f"the content is {type(content).__name__}, kept as JSON text", field)
            return [(False, (Text(json.dumps(content, ensure_ascii=False)),))]
        found = []
        for at, block in enumerate(content):
            if isinstance(block, dict) and block.get("type") == "text" and block.get("text") == "":
                self.report("empty_content", "an empty text is left out", f"{field}[{at}]")
                continue
            parts = self.parts_of(role, block, f"{field}[{at}]")
            found.append((isinstance(parts[0], ToolResult), parts))
        return found

    def _mended(self, number: int) -> dict[str, Any]:
        entry: dict[str, Any] = self.conversation.entries[number]
        return {**entry, "message": self.mended(entry["message"], ".message")}

    def _keep(self, one: Message, piece: Sequence[int], fields: dict[str, Any]) -> None:
        kept = [_without_content(self.conversation.entries[number]) for number in piece]
        self.add(one, {FIELDS_KEY: fields | ({"entries": kept} if kept else {})} if kept or fields else {})

    # ------------------------------------------------------------------------------------------ what is not read

    def _report_lines(self, lines: Lines, positions: _Positions, unused: Sequence[int]) -> None:
        entries = self.conversation.entries
        for number in lines.repeated:
            self.go_to(number)
            own = entries[number]["uuid"]
            text = f"id {preview(own)!r} came before; this one is left out: {preview(entries[number])}"
            self.defects.append(
                Defect(_position(number, positions), "duplicate_id", text, f"{self.place}.uuid")
            )
        for number in lines.missing:
            self.go_to(number)
            parent = entries[number].get("parentUuid") or entries[number].get("logicalParentUuid")
            text = f"its parent {preview(parent)!r} is not in the file; what came before it is not known"
            self.defects.append(Defect(_position(number, positions), "missing_parent", text, self.place))
        least = 0
        for other in lines.branches:
            # Their numbers are the order of the defects, which are put in the order of their positions.
            least = max(least, 0 if other.fork is None else _position(other.fork, positions))
            self._report_branch(other, least)
        groups: dict[str, list[int]] = {}
        for number in lines.outside:
            if not _is_boundary(entries[number]) or number in unused:
                groups.setdefault(_kind(entries[number]), []).append(number)
        for kind, numbers in groups.items():
            self.go_to(numbers[0])
            count = "1 entry" if len(numbers) == 1 else f"{len(numbers):,} entries"
            first = preview(entries[numbers[0]])
            text = f"{count} of type {kind}, no message and left out; the first is {first}"
            position = _position(numbers[0], positions)
            self.defects.append(Defect(position, "unknown_entry", text, self.place))

    def _report_branch(self, other: OtherBranch, position: int) -> None:
        entries = self.conversation.entries
        self.go_to(other.entries[0])
        fork = None if other.fork is None else entries[other.fork]["uuid"]
        firsts = {entries[number]["uuid"]: number for number in other.messages}
        ids = [entries[number]["uuid"] for number in other.entries]
        text = about_branch(ids, fork, firsts.__contains__, lambda own: _words(entries[firsts[own]]))
        text = f"a side chain, which is {text}" if other.is_side_chain else text
        self.defects.append(Defect(position, "other_branch", text, self.place))


def _words(entry: dict[str, Any]) -> str:
    """The text of an entry, or its content as JSON where it has none."""
    content = entry["message"].get("content")
    if isinstance(content, list):
        texts = [block.get("text") for block in content if isinstance(block, dict)]
        content = next((text for text in texts if isinstance(text, str)), content)
    return preview(content)


def _position(number: int, positions: _Positions) -> int:
    """The message of an entry, or of the last one before it that is read."""
    at = bisect_right(positions.numbers, number)
    return positions.messages[at - 1] if at else 0


def _is_boundary(entry: Any) -> bool:
    return isinstance(entry, dict) and entry.get("subtype") == "compact_boundary"


def _kind(entry: Any) -> str:
    if not isinstance(entry, dict):
        return type(entry).__name__
    kind = preview(entry.get("type"))
    if is_message(entry) or entry.get("type") in ("user", "assistant"):
        return f"{kind} without a place in the tree" if is_message(entry) else f"{kind} without a message"
    return f"{kind} ({preview(entry['subtype'])})" if "subtype" in entry else kind


def _without_content(entry: dict[str, Any]) -> dict[str, Any]:
    inner = {key: value for key, value in entry["message"].items() if key != "content"}
    return {**entry, "message": inner}
