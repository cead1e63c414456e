"""One conversation of LangChain messages, read into messages and defects."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, Final

from msgspec.structs import replace

from koogbook.errors import MessageError
from koogbook.messages.message import Message, Role
from koogbook.messages.metadata import metadata_text
from koogbook.messages.parts import Part, Text, ToolCall
from koogbook.transcripts.conversation import Conversation
from koogbook.transcripts.langchain.parts import CALL_BLOCKS, part_from_block_of_any, usage_of
from koogbook.transcripts.langchain.shape import KINDS, Placed, kind_of
from koogbook.transcripts.langchain.write import FIELDS_KEY, LAYOUT_KEY, SPELLING_KEY, plain_entry
from koogbook.transcripts.reading import Reading
from koogbook.transcripts.results import result_parts
from koogbook.transcripts.spelling import spelling
from koogbook.transcripts.transcript import Defect, preview

_ROLES: Final[dict[str, Role]] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
_KNOWN: Final = ("content", "name")
_CALL_FIELDS: Final = ("tool_calls", "invalid_tool_calls")
_RESULT_FIELDS: Final = ("tool_call_id", "status")


def read_conversation(conversation: Conversation) -> tuple[tuple[Message, ...], tuple[Defect, ...]]:
    """Messages from LangChain messages in any of their forms; ids, times and further fields as in OpenAI chat.

    The class that a message names is a label from a fixed table, and nothing is built from it. Chunks are taken for
    whole messages and listed, wishes to remove a message are listed and left out.

    Raises:
        TranscriptError: The conversation is nested too deeply.
    """
    reader = _Reader(conversation)
    with reader.not_too_deep():
        for number, raw in enumerate(conversation.entries):
            reader.read(number, raw)
        reader.report_outputs()
        return reader.done()


class _Reader(Reading):
    """Reads one message after the other."""

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(conversation)
        values = [one.value if isinstance(one, Placed) else one for one in conversation.entries]
        bodies = [_parted(value)[2] for value in values if isinstance(value, dict)]
        self._given_ids = Counter(body["id"] for body in bodies if isinstance(body.get("id"), str))

    def read(self, number: int, raw: Any) -> None:
        layout: dict[str, Any] = {}
        if isinstance(raw, Placed):
            self.place = raw.where
            layout = {"at": list(raw.path)} | ({"alone": True} if raw.alone else {})
            if raw.others:
                text = f"{raw.others:,} more answers to the same question, kept beside the messages"
                self.report("unknown_entry", text)
            if isinstance(raw.value, str):
                role = "ai" if raw.path[0] == "outputs" else "human"
                self._entry(number, {"type": role, "content": raw.value}, layout | {"bare": True})
                return
            raw = raw.value
        else:
            self.go_to(number)
        if not isinstance(raw, dict):
            self.report("bad_message", f"no message but {type(raw).__name__}, left out: {preview(raw)}")
            return
        self._entry(number, raw, layout)

    def report_outputs(self) -> None:
        """List what came out of a run where nothing of it is a message."""
        outputs = json.loads(self.conversation.extra_json).get("outputs")
        read = [one.path[0] for one in self.conversation.entries if isinstance(one, Placed)]
        if outputs and "inputs" in read and "outputs" not in read:
            text = f"outputs without a message, kept beside the messages: {preview(outputs)}"
            place = f"{self.conversation.where}.outputs"
            self.defects.append(Defect(len(self.messages) - 1, "unknown_entry", text, place))

    def _entry(self, number: int, original: dict[str, Any], layout: dict[str, Any]) -> None:
        kind = kind_of(original)
        if kind is not None and KINDS[kind] == "remove":
            self.report("unknown_entry", f"a wish to remove a message, left out: {preview(original)}")
            return
        form, around, source = _parted(original)
        body = self.mended(source, "" if form == "flat" else f".{_field_of(form)}")
        field = "" if form == "flat" else f".{_field_of(form)}"
        role = self._role(original, kind, body)
        if kind is not None and kind.endswith("Chunk"):
            self.report("unfinished_message", f"a piece of a message ({kind}), taken for a whole one")
        parts = self._parts(body, role, field, layout)
        if form != "data" or around != {"type": _TYPE_OF[role]}:
            layout |= {"form": form, "around": around}
        known = {
            *_KNOWN,
            *(_CALL_FIELDS if role == "assistant" else _RESULT_FIELDS if role == "tool" else ()),
        }
        fields = {key: value for key, value in source.items() if key not in known}
        metadata = {LAYOUT_KEY: layout} if layout else {}
        metadata |= {FIELDS_KEY: fields} if fields else {}
        one = Message(
            role=role,
            parts=tuple(parts),
            id=self.id_of(number, source),
            time=self.time_of(number, body),
            name=_text(body.get("name")) if role != "tool" else None,
            usage=usage_of(body) if role == "assistant" else None,
            finish_reason=_reason(body) if role == "assistant" else None,
        )
        self._keep(one, original["content"] if layout.get("bare") else original, metadata)

    def _keep(self, one: Message, original: Any, metadata: dict[str, Any]) -> None:
        try:
            marked = replace(one, metadata_json=metadata_text(metadata))
        except MessageError:
            self.add(one, metadata)  # which lists what cannot be kept
            return
        change = spelling(one, original, plain_entry(marked))
        self.add(one, metadata | ({SPELLING_KEY: change} if change else {}))

    def _role(self, original: dict[str, Any], kind: str | None, body: dict[str, Any]) -> Role:
        named = KINDS[kind] if kind is not None else original.get("role")
        if named == "chat":
            named = body.get("role")
        role = _ROLES.get(named) if isinstance(named, str) else None
        if role is None:
            self.report("unknown_role", f"role {named!r} is taken for a user message", ".role")
            return "user"
        return role

    def _parts(self, body: dict[str, Any], role: Role, field: str, layout: dict[str, Any]) -> list[Part]:
        calls = self._calls(body, field, layout) if role == "assistant" else []
        content = self._content(body, f"{field}.content", {call.id for call in calls}, bool(calls))
        if role == "tool":
            call_id = _text(body.get("tool_call_id"))
            tool = _text(body.get("name")) or self.tool_names.get(call_id or "", "")
            failed = body.get("status") == "error"
            return [*result_parts(self, content, tool, call_id, failed, f"{field}.content")]
        if not content and not calls:
            self.report("empty_content", "the message has no content", f"{field}.content")
        return [*content, *calls]

    def _content(
        self, body: dict[str, Any], field: str, called: set[str | None], has_calls: bool
    ) -> list[Part]:
        value = body.get("content")
        if isinstance(value, str):
            return [Text(value)] if value else []
        if value is None:
            return []
        if not isinstance(value, list):
            self.report("bad_content", f"the content is {type(value).__name__}, kept as JSON text", field)
            return [Text(json.dumps(value, ensure_ascii=False))]
        parts: list[Part] = []
        for index, block in enumerate(value):
            kind = block.get("type") if isinstance(block, dict) else None
            kind = kind if isinstance(kind, str) else None
            if kind in CALL_BLOCKS and _text(block.get("call_id", block.get("id"))) in called and has_calls:
                continue  # the same call stands beside the content
            part, is_understood = part_from_block_of_any(block)
            if not is_understood:
                self.report("unknown_part", f"block of type {kind!r}, kept as it is", f"{field}[{index}]")
            if part != Text(""):
                parts.append(part)
        return parts

    def _calls(self, body: dict[str, Any], field: str, layout: dict[str, Any]) -> list[ToolCall]:
        found: list[ToolCall] = []
        for name in _CALL_FIELDS:
            listed = body.get(name)
            if listed is not None and not isinstance(listed, list):
                self.report("bad_call", f"no list of calls: {preview(listed)}", f"{field}.{name}")
                continue
            for index, entry in enumerate(listed or ()):
                self._call(entry, f"{field}.{name}[{index}]", found)
        more = body.get("additional_kwargs")
        if not found and isinstance(more, dict):
            inner = more.get("tool_calls")
            for index, entry in enumerate(inner if isinstance(inner, list) else ()):
                self._call(entry, f"{field}.additional_kwargs.tool_calls[{index}]", found)
            if not found and isinstance(more.get("function_call"), dict):
                self._call(more["function_call"], f"{field}.additional_kwargs.function_call", found)
        if any(not call.id for call in found):
            layout["ids"] = True
        return found

    def _call(self, entry: Any, field: str, found: list[ToolCall]) -> None:
        """Take a call in the library's form, or in OpenAI's."""
        inner = entry.get("function") if isinstance(entry, dict) else None
        body = inner if isinstance(inner, dict) else entry
        name = body.get("name") if isinstance(body, dict) else None
        if not isinstance(name, str):
            self.report("bad_call", f"no call with a name, kept in the metadata: {preview(entry)}", field)
            return
        call_id = _text(entry.get("id"))
        self.note_call(name, call_id, f"{field}.id")
        given = body.get("args", body.get("arguments"))
        if isinstance(given, dict):
            args = str(self.mended(json.dumps(given, ensure_ascii=False), f"{field}.args"))
        elif given is None:
            args = "{}"
        else:
            args = self.arguments(name, given, f"{field}.args")
        found.append(ToolCall(name, args, call_id))


_TYPE_OF: Final = {"user": "human", "assistant": "ai", "system": "system", "tool": "tool"}


def _parted(value: dict[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The form of an entry, what is around the fields of its message, and these fields."""
    for form, key in (("constructor", "kwargs"), ("data", "data")):
        if isinstance(value.get(key), dict) and (form == "data" or "lc" in value):
            return form, {name: inner for name, inner in value.items() if name != key}, value[key]
    own = "role" if "role" in value and kind_of(value) is None else "type"
    around = {own: value[own]} if own in value else {}
    return "flat", around, {name: inner for name, inner in value.items() if name != own}


def _field_of(form: str) -> str:
    return "kwargs" if form == "constructor" else form


def _reason(body: dict[str, Any]) -> str | None:
    own = body.get("response_metadata")
    if not isinstance(own, dict):
        return None
    return _text(own.get("finish_reason")) or _text(own.get("stop_reason"))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
