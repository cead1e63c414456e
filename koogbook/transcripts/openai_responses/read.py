"""One conversation of OpenAI Responses items, read into messages and defects."""

from __future__ import annotations

import json
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from koogbook.messages.message import Message, Role
from koogbook.messages.parts import Foreign, Part, Text, ToolCall
from koogbook.transcripts.conversation import Conversation
from koogbook.transcripts.openai_responses.parts import foreign, part_from_content, reasoning_from, usage_of
from koogbook.transcripts.openai_responses.shape import (
    CLIENT_ITEMS,
    MODEL_ITEMS,
    InputText,
    InstructionsField,
)
from koogbook.transcripts.openai_responses.write import LAYOUT_KEY, SPELLING_KEY, plain_items
from koogbook.transcripts.reading import Reading
from koogbook.transcripts.results import result_parts
from koogbook.transcripts.spelling import spelling
from koogbook.transcripts.transcript import Defect, preview

_ROLES: Final[dict[str, Role]] = {
    "user": "user",
    "system": "system",
    "developer": "system",
    "assistant": "assistant",
}
_OUTPUTS: Final = ("function_call_output", "custom_tool_call_output")


def read_conversation(conversation: Conversation) -> tuple[tuple[Message, ...], tuple[Defect, ...]]:
    """Messages from the items of one conversation; ids and times as in OpenAI chat.

    Items of the model that follow each other make one assistant message, each output one tool message.

    Raises:
        TranscriptError: The conversation is nested too deeply.
    """
    reader = _Reader(conversation)
    with reader.not_too_deep():
        for number, raw in enumerate(conversation.entries):
            reader.read(number, raw)
        return reader.finished()


class _Turn(Struct):
    """Items of the model that are one message on their way."""

    number: int
    originals: list[dict[str, Any]]
    parts: list[Part]
    layout: dict[str, Any]


class _Reader(Reading):
    """Reads one item after the other."""

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(conversation)
        self._turn: _Turn | None = None
        self._custom: set[str] = set()
        self._extra: dict[str, Any] = json.loads(conversation.extra_json)

    def go_to(self, number: int) -> None:
        first = self.conversation.entries[0]
        super().go_to(number - 1 if isinstance(first, InstructionsField) else number)

    def read(self, number: int, raw: Any) -> None:
        if isinstance(raw, InstructionsField):
            self.place = raw.where.removesuffix(".instructions")
            self._field(number, "system", raw.text, "instructions", ".instructions")
            return
        if isinstance(raw, InputText):
            self.place = self.conversation.where
            self._field(number, "user", raw.text, "input_text", "")
            return
        self.go_to(number)
        if not isinstance(raw, dict):
            self.report("bad_message", f"no item but {type(raw).__name__}, left out: {preview(raw)}")
            return
        original, raw = raw, self.mended(raw)
        kind = raw.get("type")
        kind = kind if isinstance(kind, str) else ""
        if kind in CLIENT_ITEMS:
            self._close()
        if kind in _OUTPUTS:
            self._output(number, original, raw)
        elif kind in CLIENT_ITEMS:
            self.report("unknown_part", f"item of type {kind!r}, kept as it is")
            self._keep(number, "tool", (foreign(raw),), [original], {})
        elif kind in MODEL_ITEMS:
            self._model_item(number, original, raw)
        elif "role" in raw or kind == "message":
            self._message(number, original, raw)
        else:
            self._model_item(number, original, raw)

    def finished(self) -> tuple[tuple[Message, ...], tuple[Defect, ...]]:
        self._close()
        last = next(
            (at for at in reversed(range(len(self.messages))) if self.messages[at].role == "assistant"), None
        )
        if last is not None and self._extra.get("object") == "response":
            reason = self._extra.get("incomplete_details")
            why = reason.get("reason") if isinstance(reason, dict) else self._extra.get("status")
            self.messages[last] = replace(
                self.messages[last],
                usage=usage_of(self._extra.get("usage")),
                finish_reason=why if isinstance(why, str) else None,
            )
        if self._extra.get("instructions") is not None:
            self.place = self.conversation.where.removesuffix(".output").removesuffix(".input")
            text = f"no text, kept beside the messages: {preview(self._extra['instructions'])}"
            self.defects.append(Defect(0, "bad_content", text, f"{self.place}.instructions"))
        return self.done()

    def _field(self, number: int, role: Role, text: str, name: str, field: str) -> None:
        if not text:
            self.report("empty_content", "the text is empty", field)
        content = str(self.mended(text, field))
        self._keep(number, role, (Text(content),), [{"role": role, "content": text}], {name: True})

    def _message(self, number: int, original: dict[str, Any], raw: dict[str, Any]) -> None:
        given = raw.get("role")
        role = _ROLES.get(given) if isinstance(given, str) else None
        if role is None:
            self.report("unknown_role", f"role {given!r} is taken for a user message", ".role")
            role = "user"
        if role != "assistant":
            self._close()
        parts = self._content(raw, "content")
        if not parts or parts == [Text("")]:
            self.report("empty_content", "the message has no content", ".content")
        layout = _layout(parts) | ({"role": "developer"} if given == "developer" else {})
        if role == "assistant":
            layout |= {"blocks": True} if isinstance(raw.get("content"), list) else {}
            self._extend(number, original, parts, layout)
        else:
            self._keep(number, role, tuple(parts), [original], layout)

    def _model_item(self, number: int, original: dict[str, Any], raw: dict[str, Any]) -> None:
        kind = raw.get("type")
        layout: dict[str, Any] = {}
        part: Part
        if kind == "reasoning":
            part = reasoning_from(raw)
        elif kind in ("function_call", "custom_tool_call") and isinstance(raw.get("name"), str):
            part = self._call(raw, layout)
        else:
            part = foreign(raw)
            if kind in ("function_call", "custom_tool_call"):
                self.report("bad_call", f"no call with a name, kept as it is: {preview(raw)}")
            else:
                self.report("unknown_part", f"item of type {kind!r}, kept as it is")
            if part.kind not in MODEL_ITEMS:
                layout["items"] = [part.kind]
        self._extend(number, original, [part], layout)

    def _call(self, raw: dict[str, Any], layout: dict[str, Any]) -> ToolCall:
        name = raw["name"]
        call_id = raw.get("call_id") if isinstance(raw.get("call_id"), str) else None
        if not call_id:
            layout["ids"] = True
        if raw["type"] == "custom_tool_call":
            self.note_call(name, call_id, ".call_id")
            layout["custom"] = [call_id] if call_id else []
            self._custom |= {call_id} if call_id else set()
            given = raw.get("input")
            args = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        else:
            self.note_call(name, call_id, ".call_id")
            args = self.arguments(name, raw.get("arguments"), ".arguments")
        return ToolCall(name, args, call_id)

    def _output(self, number: int, original: dict[str, Any], raw: dict[str, Any]) -> None:
        call_id = raw.get("call_id") if isinstance(raw.get("call_id"), str) else None
        content = self._content(raw, "output")
        tool = self.tool_names.get(call_id or "", "")
        parts = result_parts(self, content, tool, call_id, False, ".output")
        self._keep(number, "tool", parts, [original], _layout(content))

    def _content(self, raw: dict[str, Any], name: str) -> list[Part]:
        value = raw.get(name)
        if isinstance(value, str):
            return [Text(value)]
        if value is None:
            return []
        if not isinstance(value, list):
            self.report(
                "bad_content", f"the content is {type(value).__name__}, kept as JSON text", f".{name}"
            )
            return [Text(json.dumps(value, ensure_ascii=False))]
        parts: list[Part] = []
        for index, block in enumerate(value):
            part = part_from_content(block)
            if isinstance(part, Foreign):
                self.report(
                    "unknown_part", f"block of type {part.kind!r}, kept as it is", f".{name}[{index}]"
                )
            parts.append(part)
        return parts

    def _extend(
        self, number: int, original: dict[str, Any], parts: list[Part], layout: dict[str, Any]
    ) -> None:
        """Take an item of the model into the message on its way."""
        if self._turn is None:
            self._turn = _Turn(number, [], [], {})
        self._turn.originals.append(original)
        self._turn.parts += parts
        for key, value in layout.items():
            before = self._turn.layout.get(key)
            self._turn.layout[key] = before + value if isinstance(before, list) else value

    def _close(self) -> None:
        turn, self._turn = self._turn, None
        if turn is not None:
            place = self.place
            self.go_to(turn.number)
            self._keep(turn.number, "assistant", tuple(turn.parts), turn.originals, turn.layout)
            self.place = place

    def _keep(
        self,
        number: int,
        role: Role,
        parts: tuple[Part, ...],
        originals: list[dict[str, Any]],
        layout: dict[str, Any],
    ) -> None:
        one = Message(
            role=role,
            parts=parts,
            id=self.id_of(number, originals[0]),
            time=self.time_of(number, originals[0]),
            metadata_json=json.dumps({LAYOUT_KEY: layout}) if layout else "{}",
        )
        change = spelling(one, originals, plain_items(one, custom=self._custom))
        self.add(one, one.metadata | ({SPELLING_KEY: change} if change else {}))


def _layout(parts: list[Part]) -> dict[str, Any]:
    return {"own": True} if any(isinstance(part, Foreign) for part in parts) else {}
