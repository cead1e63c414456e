"""One conversation of OpenAI chat JSON, read into messages and defects."""

from __future__ import annotations

import json
from typing import Any, Final

from msgspec import Struct, field

from koogbook.messages.message import Message, Role
from koogbook.messages.metadata import metadata_text
from koogbook.messages.parts import Part, Reasoning, Text, ToolCall
from koogbook.transcripts.conversation import Conversation
from koogbook.transcripts.openai_chat.parts import part_from_openai
from koogbook.transcripts.openai_chat.write import (
    FIELDS_KEY,
    LAYOUT_KEY,
    ROLE_KEY,
    SPELLING_KEY,
    plain_entry,
)
from koogbook.transcripts.reading import Reading
from koogbook.transcripts.results import result_parts
from koogbook.transcripts.spelling import spelling
from koogbook.transcripts.transcript import Defect, preview

_ROLES: Final[dict[str, Role]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
    # Programs of all sorts write these.
    "human": "user",
    "ai": "assistant",
    "bot": "assistant",
    "model": "assistant",
}
#: Where home-made files put what is said.
_OTHER_NAMES: Final = ("text", "message")
#: Where servers put the thoughts of a model; the first counts, and is what an export writes.
_THOUGHTS: Final = ("reasoning_content", "reasoning")


def read_conversation(conversation: Conversation) -> tuple[tuple[Message, ...], tuple[Defect, ...]]:
    """Messages from the JSON values of one conversation.

    Ids are the file's own where they are unique, else hashes of content and position. Times are the file's
    own (``created``, ``timestamp``, ...; seconds, milliseconds or ISO text, without a zone UTC), else
    ``UNKNOWN_TIME`` and a second per message, so that loading twice gives the same. Fields without a
    place in a message are kept in its metadata, and so is what an export needs to write a message as it was.
    """
    reader = _Reader(conversation)
    for number, raw in enumerate(conversation.entries):
        reader.read(number, raw)
    return reader.done()


class _Entry(Struct):
    """One entry on its way: the fields that became parts, those of them that were no text, as text, and its layout."""

    raw: dict[str, Any]
    role: Role
    known: set[str] = field(default_factory=lambda: {"role", "content"})
    as_text: dict[str, Any] = field(default_factory=dict)
    layout: dict[str, Any] = field(default_factory=dict)

    @property
    def called(self) -> bool:
        return self.role == "assistant" and bool(self.raw.get("tool_calls") or self.raw.get("function_call"))


class _Reader(Reading):
    """Reads one entry after the other."""

    def read(self, number: int, raw: Any) -> None:
        self.go_to(number)
        if not isinstance(raw, dict):
            self.report("bad_message", f"no message but {type(raw).__name__}, left out: {preview(raw)}")
            return
        raw = self.mended(raw)
        given = raw.get("role")
        role = _ROLES.get(given.lower()) if isinstance(given, str) else None
        if role is None:
            self.report("unknown_role", f"role {given!r} is taken for a user message", ".role")
            role = "user"
        entry = _Entry(raw, role)
        parts = self._parts(entry, self._content(entry))
        name = raw.get("name") if role != "tool" else None
        if isinstance(name, str):
            entry.known.add("name")
        metadata: dict[str, Any] = {LAYOUT_KEY: entry.layout} if entry.layout else {}
        if given != role and isinstance(given, str):
            metadata[ROLE_KEY] = given
        one = Message(
            role=role,
            parts=parts,
            id=self.id_of(number, raw),
            time=self.time_of(number, raw),
            name=name if isinstance(name, str) else None,
            metadata_json=metadata_text(metadata),
        )
        spelled = {key: value for key, value in (raw | entry.as_text).items() if key in entry.known}
        fields = {key: value for key, value in raw.items() if key not in entry.known}
        kept = spelling(one, spelled, plain_entry(one))
        metadata |= {FIELDS_KEY: fields} if fields else {}
        metadata |= {SPELLING_KEY: kept} if kept else {}
        self.add(one, metadata)

    def _content(self, entry: _Entry) -> list[Part]:
        value = entry.raw.get("content")
        refusal = entry.raw.get("refusal")
        other = next((name for name in _OTHER_NAMES if isinstance(entry.raw.get(name), str)), None)
        if other is not None and not {"content", "refusal"}.intersection(entry.raw) and not entry.called:
            self.report(
                "bad_content", f"what is said stands under {other!r} and not under 'content'", f".{other}"
            )
            value = entry.raw[other]
        if isinstance(value, list) and value:
            return self._content_parts(value, entry)
        if value is not None and not isinstance(value, str | list):
            kind = type(value).__name__
            self.report("bad_content", f"the content is {kind}, kept as JSON text", ".content")
            value = entry.as_text["content"] = json.dumps(value, ensure_ascii=False)
        if isinstance(value, str) and value:
            return [Text(value)]
        if isinstance(refusal, str) and refusal:
            return [Text(refusal)]
        if not entry.called and not (entry.role == "tool" and value == ""):
            said = "the text is empty" if value == "" else "the list of parts is empty"
            if value is None:
                said = f"the content is {'null' if 'content' in entry.raw else 'missing'}"
            self.report("empty_content", said, ".content")
        return [Text("")] if value == "" and not entry.called else []

    def _content_parts(self, values: list[Any], entry: _Entry) -> list[Part]:
        parts: list[Part] = []
        for index, value in enumerate(values):
            part, understood = part_from_openai(value)
            if not understood:
                kind = value.get("type") if isinstance(value, dict) else type(value).__name__
                self.report("unknown_part", f"part of type {kind!r}, kept as it is", f".content[{index}]")
                entry.layout["own"] = True
            if part != Text("") or not entry.called:
                parts.append(part)
        if Text("") in parts or (len(parts) == 1 and isinstance(parts[0], Text)):
            entry.layout["blocks"] = True
        return parts

    def _parts(self, entry: _Entry, content: list[Part]) -> tuple[Part, ...]:
        """All parts of a message."""
        if entry.role != "assistant":
            for field in ("tool_calls", "function_call"):
                if entry.raw.get(field):
                    said = preview(entry.raw[field])
                    text = f"a call in a message that is no assistant's, kept in the metadata: {said}"
                    self.report("bad_call", text, f".{field}")
            return self._result(entry, content) if entry.role == "tool" else tuple(content)
        field = next(
            (name for name in _THOUGHTS if isinstance(entry.raw.get(name), str) and entry.raw[name]), ""
        )
        if field:
            entry.known.add(field)
            entry.layout |= {"reasoning": field} if field != _THOUGHTS[0] else {}
        thoughts = [Reasoning(entry.raw[field])] if field else []
        return (*thoughts, *content, *self._calls(entry))

    def _result(self, entry: _Entry, content: list[Part]) -> tuple[Part, ...]:
        entry.known.add("tool_call_id")
        call_id, name = entry.raw.get("tool_call_id"), entry.raw.get("name")
        call_id = call_id if isinstance(call_id, str) else None
        if entry.raw["role"] == "function":
            entry.known.add("name")
        elif call_id is None:
            entry.layout["no_id"] = True
        tool = name if isinstance(name, str) else self.tool_names.get(call_id or "", "")
        return result_parts(self, content, tool, call_id, False, ".content")

    def _calls(self, entry: _Entry) -> list[ToolCall]:
        calls: list[ToolCall] = []
        listed, old = entry.raw.get("tool_calls"), entry.raw.get("function_call")
        entry.known |= {"tool_calls", "function_call"}
        if isinstance(listed, list):
            entry.as_text["tool_calls"] = [
                self._call(call, f".tool_calls[{index}]", calls, entry) for index, call in enumerate(listed)
            ]
        elif listed is not None:
            self.report("bad_call", f"no list of calls: {preview(listed)}", ".tool_calls")
        if old is not None and listed:
            text = f"a call beside tool_calls, kept in the metadata: {preview(old)}"
            self.report("bad_call", text, ".function_call")
            entry.known.remove("function_call")
        elif old is not None:
            entry.layout["old"] = True
            wrapped = self._call({"function": old}, ".function_call", calls, entry)
            entry.as_text["function_call"] = wrapped["function"]
        return calls

    def _call(self, raw: Any, field: str, calls: list[ToolCall], entry: _Entry) -> Any:
        """The call with arguments that are no text made text, which is what an export writes."""
        body_key = "custom" if isinstance(raw, dict) and "custom" in raw else "function"
        body = raw.get(body_key) if isinstance(raw, dict) else None
        name = body.get("name") if isinstance(body, dict) else None
        if not isinstance(body, dict) or not isinstance(name, str):
            self.report("bad_call", f"no call with a name, kept in the metadata: {preview(raw)}", field)
            return raw
        call_id = raw.get("id") if isinstance(raw.get("id"), str) else None
        self.note_call(name, call_id, f"{field}.id")
        if body_key == "custom":
            calls.append(ToolCall(name, str(body.get("input", "")), call_id))
            entry.layout.setdefault("custom", []).append(call_id)
            return raw
        given = body.get("arguments")
        args = self.arguments(name, given, f"{field}.{body_key}.arguments")
        calls.append(ToolCall(name, args, call_id))
        return {**raw, body_key: {**body, "arguments": given if isinstance(given, str) else args}}
