"""One conversation of a claude.ai export, read into messages and defects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from koogbook.messages.message import Message, Role
from koogbook.messages.parts import Attachment, Foreign, Part, Reasoning, Text, ToolCall, ToolResult
from koogbook.transcripts.branches import about_branch, chosen_line, no_branches
from koogbook.transcripts.claude_export.shape import SENDERS
from koogbook.transcripts.conversation import Conversation
from koogbook.transcripts.reading import Reading
from koogbook.transcripts.transcript import Defect, preview
from koogbook.transcripts.trees import Node, last_leaf

#: Metadata of a message from an export: the fields that koogbook has no place for.
FIELDS_KEY: Final = "claude_export"

#: The parent of a first message, which stands for nothing.
_NO_PARENT: Final = "00000000-0000-4000-8000-000000000000"
_KNOWN: Final = frozenset(
    {"uuid", "sender", "text", "content", "attachments", "files", "files_v2", "created_at"}
)


def read_claude_export(conversation: Conversation) -> tuple[tuple[Message, ...], tuple[Defect, ...]]:
    """The messages in order; of a tree those of the line to the newest message, or of the branch that was asked for.

    Calls and results that stand in one message of the assistant become messages of their own, in order. The text of an
    attachment is a file with this text.

    Raises:
        TranscriptError: The parents of messages make a circle, or there is no branch of this name.
    """
    reader = _Reader(conversation)
    entries = conversation.entries
    numbers = {_id(raw): number for number, raw in enumerate(entries) if _id(raw)}
    if len(numbers) == len(entries) and any(_parent(raw) in numbers for raw in entries):
        reader.read_tree(numbers)
    elif conversation.branch is not None:
        raise no_branches(conversation.where)
    else:
        for number, raw in enumerate(entries):
            reader.read(number, raw)
    return reader.done()


class _Reader(Reading):
    """Reads one message of the export after the other."""

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(conversation)
        self._used: set[str] = set()

    def read_tree(self, numbers: dict[str, int]) -> None:
        """Read the messages of the line that was asked for, and list the branches beside it."""
        entries = self.conversation.entries
        nodes = [
            Node(own, parent if (parent := _parent(entries[number])) in numbers else None)
            for own, number in numbers.items()
        ]
        end = json.loads(self.conversation.extra_json).get("current_leaf_message_uuid")
        if not isinstance(end, str) or end not in numbers:
            end = last_leaf(nodes) or nodes[-1].id
        line = chosen_line(nodes, end, self.conversation.branch)
        position: dict[str | None, int] = {}
        for own in line.ids:
            self.read(numbers[own], entries[numbers[own]])
            position[own] = len(self.messages)
        for branch in line.branches:
            self.go_to(numbers[branch.ids[0]])
            text = about_branch(
                branch.ids, branch.fork, lambda own: True, lambda own: _words(entries[numbers[own]])
            )
            self.defects.append(Defect(position.get(branch.fork, 0), "other_branch", text, self.place))

    def read(self, number: int, raw: Any) -> None:
        """Read one message of the export, which may become several."""
        self.go_to(number)
        if not isinstance(raw, dict):
            self.report("bad_message", f"no message but {type(raw).__name__}, left out: {preview(raw)}")
            return
        original, raw = raw, self.mended(raw)
        sender = raw.get("sender")
        role: Role = "assistant" if sender == "assistant" else "user"
        if not isinstance(sender, str) or sender not in SENDERS:
            self.report("unknown_role", f"sender {sender!r} is taken for the user", ".sender")
        parts = [*self._content(raw, role), *self._attached(raw)]
        if not any(not isinstance(part, Text) or part.text for part in parts):
            self.report("empty_content", "the message is empty", ".text")
        time = self.time_of(number, raw)
        fields = {
            key: value for key, value in original.items() if key not in _KNOWN and value not in (None, [])
        }
        for count, (one_role, one_parts) in enumerate(_pieces(role, parts)):
            one = Message(
                role=one_role,
                parts=tuple(one_parts),
                id=self._id_of(number, original, count),
                time=time,
            )
            self.add(one, {FIELDS_KEY: fields} if fields and not count else {})

    def _id_of(self, number: int, raw: dict[str, Any], count: int) -> str:
        own = _id(raw)
        if own and not count and own not in self._used:
            self._used.add(own)
            return own
        if own and not count:
            self.report("duplicate_id", f"uuid {own!r} was used before; another id is made", ".uuid")
        return self.id_of(number, {key: value for key, value in raw.items() if key != "id"}, count)

    def _content(self, raw: dict[str, Any], role: Role) -> list[Part]:
        blocks = raw.get("content")
        found = (
            [part for index, block in enumerate(blocks) for part in self._block(block, index, role)]
            if isinstance(blocks, list)
            else []
        )
        text = raw.get("text")
        if found:
            return found
        if isinstance(text, str):
            return [Text(text)]
        if text is not None:
            self.report("bad_content", f"the text is {type(text).__name__}, kept as JSON text", ".text")
            return [Text(json.dumps(text, ensure_ascii=False))]
        return []

    def _block(self, block: Any, index: int, role: Role) -> list[Part]:
        field = f".content[{index}]"
        match block:
            case {"type": "text", "text": str(text)}:
                return [Text(text)] if text else []
            case {"type": "thinking", "thinking": str(text)}:
                signature = block.get("signature")
                return [Reasoning(text, signature if isinstance(signature, str) else None)]
            case {"type": "tool_use", "name": str(name)} if role == "assistant":
                own = block.get("id")
                call_id = own if isinstance(own, str) else None
                given = block.get("input")
                args = (
                    json.dumps(given, ensure_ascii=False)
                    if isinstance(given, dict)
                    else self.arguments(name, given, f"{field}.input")
                )
                self.note_call(name, call_id, f"{field}.id")
                return [ToolCall(name, args, call_id)]
            case {"type": "tool_result"} if role == "assistant":
                own = block.get("tool_use_id")
                call_id = own if isinstance(own, str) else None
                name = block.get("name")
                tool = name if isinstance(name, str) else self.tool_names.get(call_id or "", "")
                failed = block.get("is_error") is True
                return [ToolResult(_output(block.get("content")), tool, call_id, failed)]
        kind = block.get("type") if isinstance(block, dict) else None
        kind = kind if isinstance(kind, str) else type(block).__name__
        self.report("unknown_part", f"block of type {kind!r}, kept as it is", field)
        return [Foreign(kind, json.dumps(block, ensure_ascii=False, sort_keys=True))]

    def _attached(self, raw: dict[str, Any]) -> Iterator[Part]:
        for name in ("attachments", "files", "files_v2"):
            given = raw.get(name)
            if given is None or (name == "files_v2" and raw.get("files")):
                continue
            for index, one in enumerate(given if isinstance(given, list) else [given]):
                part = _attachment(one)
                if part is None:
                    self.report(
                        "unknown_part", "an attachment without a name, kept as it is", f".{name}[{index}]"
                    )
                    part = Foreign(name, json.dumps(one, ensure_ascii=False, sort_keys=True))
                yield part


def _pieces(role: Role, parts: list[Part]) -> Iterator[tuple[Role, list[Part]]]:
    """The parts of an entry cut where results begin and end: results are a tool's."""
    piece: list[Part] = []
    speaker = role
    for part in parts:
        now: Role = "tool" if isinstance(part, ToolResult) else role
        if now != speaker:
            if piece:
                yield speaker, piece
            piece, speaker = [], now
        piece.append(part)
    yield speaker, piece


def _attachment(value: Any) -> Part | None:
    if not isinstance(value, dict):
        return None
    name = value.get("file_name")
    text = value.get("extracted_content")
    kind = value.get("file_type")
    if isinstance(text, str) and text:
        mime = kind if isinstance(kind, str) and "/" in kind else "text/plain"
        return Attachment(
            "file", mime, data=text.encode("utf-8"), name=name if isinstance(name, str) else None
        )
    own = value.get("file_uuid")
    known = own if isinstance(own, str) and own else name
    if not isinstance(known, str) or not known:
        return None
    is_image = value.get("file_kind") == "image"
    return Attachment(
        "image" if is_image else "file", file_id=known, name=name if isinstance(name, str) else None
    )


def _output(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(
        isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
        for block in value
    ):
        return "\n".join(block["text"] for block in value)
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _id(raw: Any) -> str:
    own = raw.get("uuid") if isinstance(raw, dict) else None
    return own if isinstance(own, str) else ""


def _parent(raw: Any) -> str | None:
    parent = raw.get("parent_message_uuid") if isinstance(raw, dict) else None
    return parent if isinstance(parent, str) and parent != _NO_PARENT else None


def _words(raw: Any) -> str:
    text = raw.get("text") if isinstance(raw, dict) else None
    return text if isinstance(text, str) and text else "no text"
