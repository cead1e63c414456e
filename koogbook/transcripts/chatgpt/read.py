"""One conversation of a ChatGPT export, read into messages and defects."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec.structs import replace

from koogbook.messages.message import Message, Role
from koogbook.messages.parts import Part, Text, ToolCall, ToolResult
from koogbook.transcripts.branches import about_branch, chosen_line, no_branches
from koogbook.transcripts.chatgpt.content import parts_of
from koogbook.transcripts.conversation import Conversation
from koogbook.transcripts.files import parse
from koogbook.transcripts.reading import UNKNOWN_TIME, Reading, as_time
from koogbook.transcripts.results import result_parts
from koogbook.transcripts.transcript import Defect, preview
from koogbook.transcripts.trees import Line, Node, last_leaf

#: Metadata of a message from an export: the fields that koogbook has no place for.
FIELDS_KEY: Final = "chatgpt"

_ROLES: Final[dict[str, Role]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
#: Texts that ChatGPT puts before a conversation, in the name of the user.
_SETTINGS: Final = ("user_editable_context", "model_editable_context")


def read_chatgpt(conversation: Conversation) -> tuple[tuple[Message, ...], tuple[Defect, ...]]:
    """The messages from the root to ``current_node``, or those of the branch that was asked for.

    A message to a tool is a call, and what a tool says is the result of the call before it; what it says right after
    that is added to this result, with a defect. Nodes without a message and system messages without text are left out,
    the latter with a defect; each branch beside the line is a defect.

    Raises:
        TranscriptError: The parents of nodes make a circle, or there is no branch of this name.
    """
    entries = conversation.entries
    if not all(isinstance(entry, tuple) for entry in entries):
        if conversation.branch is not None:
            raise no_branches(conversation.where)
        reader = _Reader(conversation)
        for number, raw in enumerate(entries):
            reader.go_to(number)
            id = reader.id_of(number, raw) if isinstance(raw, dict) else ""
            reader.read(str(number), raw, id)
        return reader.done()
    nodes = {key: node for key, node in entries if isinstance(node, dict)}
    reader = _Reader(conversation)
    for key, node in entries:
        if not isinstance(node, dict):
            reader.place = f"{conversation.where}.{key}"
            reader.report("bad_message", f"no node but {type(node).__name__}, left out: {preview(node)}")
    tree = [Node(key, _parent(node)) for key, node in nodes.items()]
    end = reader.end_of(nodes, tree)
    if end is not None:
        reader.read_line(nodes, chosen_line(tree, end, conversation.branch))
    return reader.done()


class _Reader(Reading):
    """Reads one message after the other."""

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(conversation)
        self._extra: dict[str, Any] = json.loads(conversation.extra_json)
        self._time = as_time(self._extra.get("create_time")) or UNKNOWN_TIME
        self._open: deque[ToolCall] = deque()

    def end_of(self, nodes: dict[str, dict[str, Any]], tree: Sequence[Node]) -> str | None:
        """The node that the conversation stands at: the file's own, else the last leaf."""
        end = self._extra.get("current_node")
        if isinstance(end, str) and end in nodes:
            return end
        found = last_leaf(tree) or next(iter(nodes), None)
        if found is not None:
            said = "is missing" if end is None else f"{preview(end)!r} is no node"
            self.place = self.conversation.where
            self.report("unknown_entry", f"current_node {said}; the line to the last leaf {found!r} was read")
        return found

    def read_line(self, nodes: dict[str, dict[str, Any]], line: Line) -> None:
        """Read the messages of a line, and list the branches beside it."""
        position: dict[str | None, int] = {}
        for key in line.ids:
            self.place = f"{self.conversation.where}.{key}"
            raw = nodes[key].get("message")
            if raw is not None:
                self.place += ".message"
                self.read(key, raw, key)
            position[key] = len(self.messages)
        for key in line.missing:
            self.place = f"{self.conversation.where}.{key}.parent"
            self.report("unknown_entry", f"the parent {_parent(nodes[key])!r} of {key!r} is not in the file")
        for branch in line.branches:
            text = about_branch(
                branch.ids,
                branch.fork,
                lambda key: isinstance(nodes[key].get("message"), dict),
                lambda key: _words(nodes[key]["message"]),
            )
            at = position.get(branch.fork, 0)
            self.defects.append(
                Defect(at, "other_branch", text, f"{self.conversation.where}.{branch.ids[0]}")
            )

    def read(self, key: str, raw: Any, id: str) -> None:
        """Read one message, which gets this id; ``key`` says which it is."""
        if not isinstance(raw, dict):
            self.report("bad_message", f"no message but {type(raw).__name__}, left out: {preview(raw)}")
            return
        original, raw = raw, self.mended(raw)
        author = raw.get("author") if isinstance(raw.get("author"), dict) else {}
        given, name = author.get("role"), author.get("name")
        role = _ROLES.get(given) if isinstance(given, str) else None
        if role is None:
            self.report("unknown_role", f"role {given!r} is taken for a user message", ".author.role")
            role = "user"
        content = raw.get("content")
        kind = content.get("content_type") if isinstance(content, dict) else None
        if role == "user" and kind in _SETTINGS:
            role = "system"
        parts, unknown = parts_of(content)
        for one in unknown:
            self.report("unknown_part", f"content of type {one!r}, kept as it is", ".content")
        if not parts:
            self.report(
                "empty_content",
                "a system message without text, left out" if role == "system" else "the text is empty",
                ".content",
            )
            if role == "system":
                return
        if raw.get("status") in ("in_progress", "finished_partial_completion"):
            self.report("unfinished_message", f"the message is not whole: {raw['status']}", ".status")
        if role == "assistant":
            parts = self._called(key, raw, parts)
        elif role == "tool":
            tool = name if isinstance(name, str) else ""
            if self._adds_to_result(tool):
                self._add_to_result(parts, original)
                return
            parts = self._result(tool, parts)
        else:
            self._open.clear()
        self.add(
            Message(
                role=role,
                parts=parts,
                id=id,
                time=self._time_of(raw),
                name=name if role != "tool" and isinstance(name, str) else None,
                finish_reason=_finish_reason(raw),
            ),
            {FIELDS_KEY: fields} if (fields := _fields(original, role)) else {},
        )

    def _called(self, key: str, raw: dict[str, Any], parts: tuple[Part, ...]) -> tuple[Part, ...]:
        """A message to a tool as a call of it."""
        to = raw.get("recipient")
        if not isinstance(to, str) or to in ("all", ""):
            self._open.clear()
            return parts
        text = "\n".join(part.text for part in parts if isinstance(part, Text))
        call = ToolCall(to, _arguments(text), f"call_{key}")
        self.note_call(to, call.id, ".recipient")
        self._open = deque([call])
        return (*(part for part in parts if not isinstance(part, Text)), call)

    def _result(self, tool: str, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        """What a tool says as the result of the call before it, which may name a part of the tool."""
        call = self._open.popleft() if self._open else None
        named = tool or (call.tool if call else "")
        return result_parts(self, parts, named, call.id if call else None, False, ".content")

    def _adds_to_result(self, tool: str) -> bool:
        """Whether a tool goes on speaking: its call has a result, and nothing was said since."""
        results = self.messages[-1].results if self.messages else ()
        return any(result.call_id is not None and tool in ("", result.tool) for result in results)

    def _add_to_result(self, parts: tuple[Part, ...], raw: dict[str, Any]) -> None:
        before, place = self.messages.pop(), self.places.pop()
        more, *others = self._result("", parts)
        answered = [
            replace(part, output="\n".join(text for text in (part.output, more.output) if text))
            if isinstance(part, ToolResult) and isinstance(more, ToolResult)
            else part
            for part in before.parts
        ]
        self.report("joined_result", f"{before.results[0].tool} goes on; what it says is one result")
        metadata = before.metadata
        said = {key: raw[key] for key in ("id", "create_time") if key in raw} | _fields(raw, "tool")
        metadata.setdefault(FIELDS_KEY, {}).setdefault("further", []).append(said)
        self.add(before.with_parts([*answered, *others]), metadata)
        self.places[-1] = place

    def _time_of(self, raw: dict[str, Any]) -> datetime:
        """The time of a message; where it gives none, a moment after the one before."""
        given = raw.get("create_time")
        found = as_time(given)
        if found is None:
            if "create_time" in raw:
                said = "there is no time" if given is None else f"{preview(given)!r} is no time"
                said += "; it counts as a microsecond after the message before"
                self.report("bad_time", said, ".create_time")
            found = self._time + timedelta(microseconds=1)
        self._time = found
        return found


def _parent(node: dict[str, Any]) -> str | None:
    parent = node.get("parent")
    return parent if isinstance(parent, str) else None


def _words(raw: dict[str, Any]) -> str:
    parts, _ = parts_of(raw.get("content"))
    return next((part.text for part in parts if isinstance(part, Text)), "") or "no text"


def _arguments(text: str) -> str:
    """What a tool was sent as a JSON object: as it is where it is one, else with the text as ``input``."""
    try:
        if isinstance(parse(text), dict):
            return text
    except (ValueError, RecursionError):
        pass
    return json.dumps({"input": text}, ensure_ascii=False)


def _finish_reason(raw: dict[str, Any]) -> str | None:
    more = raw.get("metadata")
    details = more.get("finish_details") if isinstance(more, dict) else None
    kind = details.get("type") if isinstance(details, dict) else None
    return kind if isinstance(kind, str) else None


def _fields(raw: dict[str, Any], role: Role) -> dict[str, Any]:
    """What a message has besides its author, time and text, and besides what every message has."""
    left_out = {"id", "author", "content", "create_time"}
    fields = {key: value for key, value in raw.items() if key not in left_out and value not in (None, {}, [])}
    for key, usual in (("status", "finished_successfully"), ("recipient", "all"), ("weight", 1.0)):
        if fields.get(key) == usual:
            del fields[key]
    author = raw.get("author")
    if isinstance(author, dict):
        more = {key: value for key, value in author.items() if value not in (None, {}, role)}
        if more:
            fields["author"] = more
    content = raw.get("content")
    plain = {"content_type": "text", "parts": content.get("parts")} if isinstance(content, dict) else content
    if content != plain and not (role == "assistant" and content is None):
        fields["content"] = content
    return fields
