"""One conversation of OpenAI chat JSON, read into messages and defects."""

from __future__ import annotations

import json
from typing import Any, Final

from koogbook.messages.message import Message, Role
from koogbook.messages.parts import Part, Reasoning, Text, ToolCall, ToolResult
from koogbook.transcripts.conversation import Conversation
from koogbook.transcripts.openai_chat.parts import part_from_openai
from koogbook.transcripts.openai_chat.write import FIELDS_KEY, ROLE_KEY, SPELLING_KEY, plain_entry
from koogbook.transcripts.reading import Reading
from koogbook.transcripts.spelling import parts_mark
from koogbook.transcripts.transcript import Defect, preview

_ROLES: Final[dict[str, Role]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}


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


class _Reader(Reading):
    """Reads one entry after the other."""

    def read(self, number: int, raw: Any) -> None:
        self.go_to(number)
        if not isinstance(raw, dict):
            self.report("bad_message", f"no message but {type(raw).__name__}, left out: {preview(raw)}")
            return
        original, raw = raw, self.mended(raw)
        given = raw.get("role")
        role = _ROLES.get(given) if isinstance(given, str) else None
        if role is None:
            self.report("unknown_role", f"role {given!r} is taken for a user message", ".role")
            role = "user"
        content, surplus = self._content(raw, role)
        parts, calls_as_text = self._parts(raw, role, content)
        one = Message(
            role=role,
            parts=parts,
            id=self.id_of(number, original),
            time=self.time_of(number, raw),
            name=raw["name"] if role != "tool" and isinstance(raw.get("name"), str) else None,
        )
        known = {"role", "content"}
        known |= {"tool_call_id"} if role == "tool" else {"name"} if one.name is not None else set()
        if role == "assistant":
            known |= {"tool_calls", "function_call"}
        if any(isinstance(part, Reasoning) for part in parts):
            known |= {"reasoning_content"}
        fields = {key: value for key, value in original.items() if key not in known}
        spelled = {key: raw[key] for key in raw if key in known} | calls_as_text
        mended = {key: original[key] for key in spelled if original[key] != raw[key]}
        if "content" in mended:
            surplus = None
        spelling = _spelling(one, spelled | mended, fields, surplus)
        metadata = {
            **({FIELDS_KEY: fields} if fields else {}),
            **({SPELLING_KEY: spelling} if spelling else {}),
            **({ROLE_KEY: given} if given != role and isinstance(given, str) else {}),
        }
        self.add(one, metadata)

    def _content(self, raw: dict[str, Any], role: Role) -> tuple[list[Part], list[dict[str, Any]] | None]:
        """The content parts, and their surplus fields where these are enough to spell the content again."""
        value = raw.get("content")
        called = role == "assistant" and (raw.get("tool_calls") or raw.get("function_call"))
        refusal = raw.get("refusal")
        if isinstance(value, str):
            if not value and role != "tool" and not called:
                self.report("empty_content", "the text is empty", ".content")
            return [Text(value)] if value or not called else [], None
        if value is None:
            if isinstance(refusal, str) and refusal:
                return [Text(refusal)], None
            if not called:
                missing = "null" if "content" in raw else "missing"
                self.report("empty_content", f"the content is {missing}", ".content")
            return [], None
        if isinstance(value, list):
            return self._content_parts(value, bool(called))
        self.report("bad_content", f"the content is {type(value).__name__}, kept as JSON text", ".content")
        return [Text(json.dumps(value, ensure_ascii=False))], None

    def _content_parts(
        self, values: list[Any], called: bool
    ) -> tuple[list[Part], list[dict[str, Any]] | None]:
        if not values:
            self.report("empty_content", "the list of parts is empty", ".content")
            return [], None
        parts: list[Part] = []
        surplus: list[dict[str, Any]] | None = []
        for index, value in enumerate(values):
            if (
                isinstance(value, dict)
                and value.get("type") == "refusal"
                and isinstance(value.get("refusal"), str)
            ):
                parts.append(Text(value["refusal"]))
                surplus = None
                continue
            part, more = part_from_openai(value)
            if called and part == Text(""):
                surplus = None
                continue
            parts.append(part)
            if more is None:
                kind = value.get("type") if isinstance(value, dict) else type(value).__name__
                self.report("unknown_part", f"part of type {kind!r}, kept as it is", f".content[{index}]")
            if surplus is not None:
                surplus.append(more or {})
        return parts, surplus

    def _parts(
        self, raw: dict[str, Any], role: Role, content: list[Part]
    ) -> tuple[tuple[Part, ...], dict[str, Any]]:
        """All parts, and the call fields of ``raw`` with arguments that are no text made text."""
        if role == "tool":
            call_id = raw.get("tool_call_id")
            call_id = call_id if isinstance(call_id, str) else None
            name = raw.get("name")
            tool = name if isinstance(name, str) else self.tool_names.get(call_id or "", "")
            texts = [part.text for part in content if isinstance(part, Text)]
            others = [part for part in content if not isinstance(part, Text)]
            return (ToolResult("\n".join(texts), tool, call_id), *others), {}
        if role != "assistant":
            return tuple(content), {}
        thought = raw.get("reasoning_content")
        reasoning = [Reasoning(thought)] if isinstance(thought, str) and thought else []
        calls: list[Part] = []
        as_text: dict[str, Any] = {}
        listed = raw.get("tool_calls")
        if isinstance(listed, list):
            as_text["tool_calls"] = [
                self._call(entry, f".tool_calls[{index}]", calls) for index, entry in enumerate(listed)
            ]
        elif listed is not None:
            self.report("bad_call", f"no list of calls: {preview(listed)}", ".tool_calls")
        if raw.get("function_call") is not None and not listed:
            wrapped = self._call({"function": raw["function_call"]}, ".function_call", calls)
            as_text["function_call"] = wrapped["function"]
        return (*reasoning, *content, *calls), as_text

    def _call(self, entry: Any, field: str, calls: list[Part]) -> Any:
        body_key = "custom" if isinstance(entry, dict) and "custom" in entry else "function"
        body = entry.get(body_key) if isinstance(entry, dict) else None
        name = body.get("name") if isinstance(body, dict) else None
        if not isinstance(body, dict) or not isinstance(name, str):
            self.report("bad_call", f"no call with a name, kept in the metadata: {preview(entry)}", field)
            return entry
        call_id = entry.get("id") if isinstance(entry.get("id"), str) else None
        self.note_call("" if body_key == "custom" else name, call_id, f"{field}.id")
        if body_key == "custom":
            calls.append(ToolCall(name, str(body.get("input", "")), call_id))
            return entry
        given = body.get("arguments")
        args = self.arguments(name, given, f"{field}.{body_key}.arguments")
        calls.append(ToolCall(name, args, call_id))
        return {**entry, body_key: {**body, "arguments": given if isinstance(given, str) else args}}


def _spelling(
    one: Message, known: dict[str, Any], fields: dict[str, Any], surplus: list[dict[str, Any]] | None
) -> dict[str, Any]:
    """How ``known`` differs from the default spelling of the message; empty where it does not."""
    plain = plain_entry(one)
    differing = {key: value for key, value in known.items() if key not in plain or plain[key] != value}
    absent = [key for key in plain if key not in known and key not in fields]
    if known.get("role") == "function" and "tool_call_id" not in known:
        absent.append("tool_call_id")  # this role has no ids, and an export must not make one
    spelling: dict[str, Any] = {}
    if surplus is not None and one.role != "tool" and "content" in differing:
        spelling["surplus"] = surplus
        del differing["content"]
    if differing:
        spelling["fields"] = differing
    if absent:
        spelling["absent"] = absent
    if spelling:
        spelling["parts"] = parts_mark(one.role, one.parts)
    return spelling
