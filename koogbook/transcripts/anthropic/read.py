"""One conversation of Anthropic messages, read into messages and defects."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from koogbook.messages.message import Message, Role
from koogbook.messages.parts import Foreign, Part, Text, ToolCall, ToolResult
from koogbook.transcripts.anthropic.parts import (
    KNOWN_BLOCKS,
    SEALED_BLOCKS,
    foreign,
    part_from_block,
    usage_of,
)
from koogbook.transcripts.anthropic.shape import SystemField
from koogbook.transcripts.anthropic.write import (
    FIELDS_KEY,
    LAYOUT_KEY,
    SPELLING_KEY,
    is_plain_text,
    needs_other_id,
    order_mark,
    plain_blocks,
)
from koogbook.transcripts.conversation import Conversation
from koogbook.transcripts.reading import Reading
from koogbook.transcripts.results import result_parts
from koogbook.transcripts.spelling import spelling
from koogbook.transcripts.transcript import Defect, preview

_ROLES: Final[dict[str, Role]] = {"user": "user", "assistant": "assistant", "system": "system"}


def read_conversation(conversation: Conversation) -> tuple[tuple[Message, ...], tuple[Defect, ...]]:
    """Messages from the JSON values of one conversation; ids, times and further fields as in OpenAI chat.

    A user entry with results gives a tool message for each of them, and a user message for what else it says. Empty
    text blocks, which the API refuses, are left out; beside a call they are the API's own way, and no defect.

    Raises:
        TranscriptError: The conversation is nested too deeply.
    """
    reader = _Reader(conversation)
    with reader.not_too_deep():
        for number, raw in enumerate(conversation.entries):
            reader.read(number, raw)
        return reader.done()


class BlockReading(Reading):
    """Reads content blocks, of whatever stands around them."""

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(conversation)
        self._call_ids: set[str] = set()
        #: Whether an export would give a call of the present entry another id.
        self.odd_ids = False

    def parts_of(self, role: Role, block: Any, field: str) -> tuple[Part, ...]:
        """The parts of one block: a result may have several, every other block has one."""
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "tool_use" and role == "assistant":
            return (self._call(block, field),)
        if kind == "tool_result" and role == "user":
            return self._result(block, field)
        part = part_from_block(block)
        if isinstance(part, Foreign) and part.kind not in SEALED_BLOCKS:
            self.report("unknown_part", f"block of type {part.kind!r}, kept as it is", field)
        return (part,)

    def _call(self, block: dict[str, Any], field: str) -> Part:
        name = block.get("name")
        if not isinstance(name, str):
            self.report("bad_call", f"no call with a name, kept as it is: {preview(block)}", field)
            return foreign(block)
        given = block.get("id")
        call_id = given if isinstance(given, str) else None
        self.odd_ids |= needs_other_id(call_id or "", self._call_ids)
        self._call_ids.add(call_id or "")
        self.note_call(name, call_id, f"{field}.id")
        return ToolCall(name, self._input(name, block.get("input"), f"{field}.input"), call_id)

    def _input(self, name: str, value: Any, field: str) -> str:
        if isinstance(value, dict):
            return str(self.mended(json.dumps(value, ensure_ascii=False), field))
        if isinstance(value, str):
            self.report(
                "broken_arguments", f"arguments of {name} are a text, not an object: {preview(value)}", field
            )
            return value
        self.report("broken_arguments", f"arguments of {name} are no object: {preview(value)}", field)
        return "{}" if value is None else json.dumps(value, ensure_ascii=False)

    def _result(self, block: dict[str, Any], field: str) -> tuple[Part, ...]:
        given = block.get("tool_use_id")
        call_id = given if isinstance(given, str) else None
        content = block.get("content")
        parts: list[Part] = []
        if isinstance(content, list):
            for index, inner in enumerate(content):
                part = part_from_block(inner)
                if isinstance(part, Foreign):
                    text = f"block of type {part.kind!r} in a result, kept as it is"
                    self.report("unknown_part", text, f"{field}.content[{index}]")
                parts.append(part)
        elif isinstance(content, str):
            parts = [Text(content)]
        elif content is not None:
            kind = type(content).__name__
            self.report("bad_content", f"the content is {kind}, kept as JSON text", f"{field}.content")
            parts = [Text(json.dumps(content, ensure_ascii=False))]
        tool = self.tool_names.get(call_id or "", "")
        failed = block.get("is_error") is True
        return result_parts(self, parts, tool, call_id, failed, f"{field}.content")


class _Reader(BlockReading):
    """Reads one entry after the other."""

    def go_to(self, number: int) -> None:
        first = self.conversation.entries[0]
        super().go_to(number - 1 if isinstance(first, SystemField) else number)

    def read(self, number: int, raw: Any) -> None:
        if isinstance(raw, SystemField):
            self.place = raw.where.removesuffix(".system")
            original = {"role": "system", "content": raw.content}
            mended = {"role": "system", "content": self.mended(raw.content, ".system")}
            self._entry(number, original, mended, ".system", {})
            return
        self.go_to(number)
        if not isinstance(raw, dict):
            self.report("bad_message", f"no message but {type(raw).__name__}, left out: {preview(raw)}")
            return
        layout = {"inline": True} if raw.get("role") == "system" else {}
        self._entry(number, raw, self.mended(raw), ".content", layout)

    def _entry(
        self, number: int, original: dict[str, Any], raw: dict[str, Any], field: str, layout: dict[str, Any]
    ) -> None:
        given = raw.get("role")
        role = _ROLES.get(given) if isinstance(given, str) else None
        if role is None:
            self.report("unknown_role", f"role {given!r} is taken for a user message", ".role")
            role = "user"
        fields = {key: value for key, value in original.items() if key not in ("role", "content")}
        if "role" in original and given != role:
            fields["role"] = original["role"]
        if without := [key for key in ("role", "content") if key not in original]:
            layout["without"] = without
        self.odd_ids = False
        time = self.time_of(number, raw)
        blocks, spelled = self._blocks(raw, original.get("content"), role, field)
        # What the API wants first comes first here as well: a result belongs to the calls just before it.
        results = [
            at for at, (_, parts) in enumerate(blocks) if isinstance(next(iter(parts), None), ToolResult)
        ]
        others = [at for at in range(len(blocks)) if at not in set(results)]
        if results and others and others[0] < results[-1]:
            self.report("out_of_order", "something is said before a result, and is read after it", field)
        groups = [[at] for at in results] + ([others] if others or not results else [])
        before = self.messages[-1].role if self.messages else None
        whole: list[Part] = []
        for part_number, group in enumerate(groups):
            is_result = part_number < len(results)
            parts = [part for at in group for part in blocks[at][1]]
            whole += parts
            own = dict(layout) if not part_number else {}
            if not part_number and before == "tool" and role == "user":
                own["apart"] = True
            if any(isinstance(part, Foreign) and part.kind not in KNOWN_BLOCKS for part in parts):
                own["own"] = True
            if self.odd_ids:
                own["ids"] = True
            content = spelled[0] if spelled else [blocks[at][0] for at in group]
            if len(groups) == 1 and isinstance(raw.get("content"), list):
                own |= {"block": True} if not content or is_plain_text(content) else {}
            sequence = [*results, *others]
            if part_number == len(groups) - 1 and sequence != sorted(sequence):
                own |= {"order": sequence, "mark": order_mark(whole)}
            one = Message(
                role="tool" if is_result else role,
                parts=tuple(parts),
                id=self.id_of(number, original, part_number),
                time=time,
                usage=usage_of(raw.get("usage")) if role == "assistant" else None,
                finish_reason=_text(raw.get("stop_reason")) if role == "assistant" else None,
            )
            self._keep(one, content, {} if part_number else fields, own)

    def _keep(self, one: Message, content: Any, fields: dict[str, Any], layout: dict[str, Any]) -> None:
        metadata = {LAYOUT_KEY: layout} if layout else {}
        marked = Message(
            role=one.role, parts=one.parts, id=one.id, time=one.time, metadata_json=json.dumps(metadata)
        )
        change = spelling(one, content, plain_blocks(marked))
        more = ({FIELDS_KEY: fields} if fields else {}) | ({SPELLING_KEY: change} if change else {})
        self.add(one, metadata | more)

    def _blocks(
        self, raw: dict[str, Any], original: Any, role: Role, field: str
    ) -> tuple[list[tuple[Any, tuple[Part, ...]]], tuple[Any, ...]]:
        """The blocks as the file has them, each with its parts; and the content alone where it is no such list."""
        content = raw.get("content")
        if isinstance(content, list):
            kept = self._without_empty(content, original, role, field)
            found = [(source, self.parts_of(role, block, f"{field}[{at}]")) for at, block, source in kept]
            if not found:
                self.report("empty_content", "there are no blocks with anything in them", field)
            return found, ()
        if isinstance(content, str):
            if not content:
                self.report("empty_content", "the text is empty", field)
                return [("", (Text(""),))], (original,)
            return [({"type": "text", "text": original}, (Text(content),))], ()
        if content is None:
            missing = "null" if "content" in raw else "missing"
            self.report("empty_content", f"the content is {missing}", field)
            return [], (None,)
        self.report("bad_content", f"the content is {type(content).__name__}, kept as JSON text", field)
        return [("", (Text(json.dumps(content, ensure_ascii=False)),))], (original,)

    def _without_empty(
        self, content: Sequence[Any], original: Sequence[Any], role: Role, field: str
    ) -> list[tuple[int, Any, Any]]:
        """Index, block and block as the file has it, for all but empty texts."""
        called = any(isinstance(block, dict) and block.get("type") == "tool_use" for block in content)
        kept: list[tuple[int, Any, Any]] = []
        for at, (block, source) in enumerate(zip(content, original, strict=True)):
            if _is_empty(block):
                if role != "assistant" or not called or len(block) > 2:
                    self._report_empty(block, f"{field}[{at}]")
                continue
            for index, inner in enumerate(_inner(block)):
                if _is_empty(inner) and len(inner) > 2:
                    self._report_empty(inner, f"{field}[{at}].content[{index}]")
            kept.append((at, _result_without_empty(block), _result_without_empty(source)))
        return kept

    def _report_empty(self, block: dict[str, Any], field: str) -> None:
        more = {key: value for key, value in block.items() if key not in ("type", "text")}
        also = f", with {preview(more)}" if more else ""
        self.report("empty_content", f"an empty text is left out{also}", field)


def _is_empty(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "text" and block.get("text") == ""


def _inner(block: Any) -> list[Any]:
    """The blocks inside a result."""
    if not isinstance(block, dict) or block.get("type") != "tool_result":
        return []
    content = block.get("content")
    return content if isinstance(content, list) else []


def _result_without_empty(block: Any) -> Any:
    """A result whose empty texts are left out: they hold nothing, and the API refuses them."""
    content = _inner(block)
    if not any(map(_is_empty, content)):
        return block
    kept = [inner for inner in content if not _is_empty(inner)]
    rest = {key: value for key, value in block.items() if key != "content"}
    return {**rest, "content": kept} if kept else rest


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
