"""One conversation of a claude.ai export, read into messages and defects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final, Literal

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
#: What stands in the text for a block that could not be shown.
_PLACEHOLDER: Final = re.compile(r"```\s*This block is not supported on your current device yet\.\s*```")


def read_claude_export(conversation: Conversation) -> tuple[tuple[Message, ...], tuple[Defect, ...]]:
    """The messages in order; of a tree those of the line to the newest message, or of the branch that was asked for.

    Calls and results that stand in one message of the assistant become messages of their own, in order. The text of an
    attachment is a plain file with this text. Fields of blocks and attachments that koogbook has no place for are kept
    in the metadata by their number in the list, and so is a text that differs from the blocks, which is listed.

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
        fields = {
            key: value for key, value in original.items() if key not in _KNOWN and value not in (None, [])
        }
        parts = [*self._content(raw, role, fields), *self._attached(raw, fields)]
        if not any(not isinstance(part, Text) or part.text for part in parts):
            self.report("empty_content", "the message is empty", ".text")
        time = self.time_of(number, raw)
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

    def _content(self, raw: dict[str, Any], role: Role, fields: dict[str, Any]) -> list[Part]:
        blocks, text = raw.get("content"), raw.get("text")
        found: list[Part] = []
        if blocks is not None and not isinstance(blocks, list):
            blocks = [blocks]
        for index, block in enumerate(blocks or ()):
            parts, taken = self._block(block, index, role)
            found += parts
            _keep_rest(fields, "content", index, block, taken)
        if text is not None and not isinstance(text, str):
            self.report("bad_content", f"the text is {type(text).__name__}, kept as JSON text", ".text")
            text = json.dumps(text, ensure_ascii=False)
        if not found or not text:
            return found if text is None or found else [Text(text)]
        said = [part.text for part in found if isinstance(part, Text)]
        if _squeezed(text) == _squeezed("".join(said)) or not _squeezed(text):
            return found
        if not said:
            return [Text(text), *found]
        self.report(
            "bad_content", f"the text differs from the blocks, kept in the metadata: {preview(text)}", ".text"
        )
        fields["text"] = text
        return found

    def _block(self, block: Any, index: int, role: Role) -> tuple[list[Part], set[str]]:
        """The parts of a block, and those of its fields that are in them."""
        field = f".content[{index}]"
        match block:
            case str(text) | {"type": "text", "text": str(text)}:
                return [Text(text)] if text else [], {"type", "text"}
            case {"type": "thinking", "thinking": str(text)}:
                signature = _text(block.get("signature"))
                taken = {"type", "thinking"} | ({"signature"} if signature is not None else set())
                return [Reasoning(text, signature)], taken
            case {"type": "tool_use", "name": str(name)} if role == "assistant":
                call_id = _text(block.get("id"))
                given = block.get("input")
                args = (
                    json.dumps(given, ensure_ascii=False)
                    if isinstance(given, dict)
                    else self.arguments(name, given, f"{field}.input")
                )
                self.note_call(name, call_id, f"{field}.id")
                return [ToolCall(name, args, call_id)], {"type", "id", "name", "input"}
            case {"type": "tool_result"} if role == "assistant":
                call_id = _text(block.get("tool_use_id"))
                tool = _text(block.get("name")) or self.tool_names.get(call_id or "", "")
                output, is_whole = _output(block.get("content"))
                taken = {"type", "tool_use_id", "name", "is_error"} | ({"content"} if is_whole else set())
                return [ToolResult(output, tool, call_id, block.get("is_error") is True)], taken
        kind = block.get("type") if isinstance(block, dict) else None
        kind = kind if isinstance(kind, str) else type(block).__name__
        self.report("unknown_part", f"block of type {kind!r}, kept as it is", field)
        raw = json.dumps(block, ensure_ascii=False, sort_keys=True)
        return [Foreign(kind, raw)], set(block) if isinstance(block, dict) else set()

    def _attached(self, raw: dict[str, Any], fields: dict[str, Any]) -> Iterator[Part]:
        for name in ("attachments", "files", "files_v2"):
            given = raw.get(name)
            if given is None:
                continue
            if name == "files_v2" and raw.get("files"):
                fields |= {name: given} if given else {}  # the same files, told in another way
                continue
            for index, one in enumerate(given if isinstance(given, list) else [given]):
                part, taken = _attachment(one)
                if part is None:
                    self.report(
                        "unknown_part", "an attachment without a name, kept as it is", f".{name}[{index}]"
                    )
                    part = Foreign(name, json.dumps(one, ensure_ascii=False, sort_keys=True))
                else:
                    _keep_rest(fields, name, index, one, taken)
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


def _attachment(value: Any) -> tuple[Part | None, set[str]]:
    """The file that an attachment is, and those of its fields that are in it."""
    if not isinstance(value, dict):
        return None, set()
    name = _text(value.get("file_name"))
    text = value.get("extracted_content")
    if isinstance(text, str) and text:
        # Whatever the file was, this is the text that was taken out of it.
        data = text.encode("utf-8")
        return Attachment("file", "text/plain", data=data, name=name), {"file_name", "extracted_content"}
    known = _text(value.get("file_uuid")) or name
    if not known:
        return None, set()
    kind: Literal["image", "file"] = "image" if value.get("file_kind") == "image" else "file"
    return Attachment(kind, file_id=known, name=name), {"file_name", "file_uuid"}


def _keep_rest(fields: dict[str, Any], name: str, index: int, value: Any, taken: set[str]) -> None:
    """Keep under ``name`` what a block or an attachment has besides the fields that were taken."""
    if not isinstance(value, dict):
        return
    rest = {key: inner for key, inner in value.items() if key not in taken and inner not in (None, [])}
    if rest:
        fields.setdefault(name, {})[str(index)] = rest


def _output(value: Any) -> tuple[str, bool]:
    """A result as text, and whether all of it is in there."""
    if isinstance(value, str):
        return value, True
    if isinstance(value, list) and all(
        isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
        for block in value
    ):
        whole = all(block.keys() == {"type", "text"} for block in value)
        return "\n".join(block["text"] for block in value), whole
    return "" if value is None else json.dumps(value, ensure_ascii=False), True


def _squeezed(text: str) -> str:
    """A text without white space, and without what stands for blocks."""
    return "".join(_PLACEHOLDER.sub("", text).split())


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _id(raw: Any) -> str:
    own = raw.get("uuid") if isinstance(raw, dict) else None
    return own if isinstance(own, str) else ""


def _parent(raw: Any) -> str | None:
    parent = raw.get("parent_message_uuid") if isinstance(raw, dict) else None
    return parent if isinstance(parent, str) and parent != _NO_PARENT else None


def _words(raw: Any) -> str:
    text = raw.get("text") if isinstance(raw, dict) else None
    return text if isinstance(text, str) and text else "no text"
