"""One conversation of ShareGPT turns, read into messages and defects."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from koogbook.messages.message import Message, Role
from koogbook.messages.parts import Part, Text, ToolCall, ToolResult
from koogbook.transcripts.conversation import Conversation
from koogbook.transcripts.files import parse
from koogbook.transcripts.reading import UNKNOWN_TIME, Reading
from koogbook.transcripts.sharegpt.shape import FILE_KEY, USUAL_KEYS, Kind, kind_of
from koogbook.transcripts.sharegpt.write import BESIDE_KEY, SPELLING_KEY, plain_turns
from koogbook.transcripts.spelling import spelling
from koogbook.transcripts.transcript import Defect, preview

_ROLES: Final[dict[Kind, Role]] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "call": "assistant",
    "result": "tool",
}


def read_sharegpt(conversation: Conversation) -> tuple[tuple[Message, ...], tuple[Defect, ...]]:
    """Messages from the turns of one conversation.

    Calls in a row, and a text right before them, are one message. Observations answer the calls before them in order;
    the format has no ids, so each call gets one by its place. Turns that are missing are listed, and so are names that
    nobody knows; those are taken for the user's.
    """
    extra = json.loads(conversation.extra_json)
    reader = _Reader(conversation, tuple(extra.get(FILE_KEY, {}).get("keys", USUAL_KEYS)))
    reader.read_beside(extra)
    entries = conversation.entries
    start = 0
    while start < len(entries):
        end = start + 1
        if reader.kind_of(entries[start]) in ("assistant", "call"):
            while end < len(entries) and reader.kind_of(entries[end]) == "call":
                end += 1
        reader.read(start, entries[start:end])
        start = end
    return reader.done()


class _Reader(Reading):
    """Reads one turn, or a text with its calls, after the other."""

    def __init__(self, conversation: Conversation, keys: tuple[str, str]) -> None:
        super().__init__(conversation)
        self._who, self._what = self._keys = keys
        self._before: Role = "system"
        self._open: deque[ToolCall] = deque()
        self._listed = False

    def kind_of(self, raw: Any) -> Kind | None:
        """Who speaks in a turn; None where nobody knows."""
        return kind_of(raw, self._who)

    def read_beside(self, extra: dict[str, Any]) -> None:
        """Take the system prompt that stands beside the turns, and list tools that are no JSON."""
        place = self.place
        self.place = place.rpartition(".")[0] or place
        text = extra.get("system")
        if isinstance(text, str) and text:
            one = Message(
                role="system",
                parts=(Text(self.mended(text, ".system")),),
                id=self.id_of(-1, {"system": text}),
                time=UNKNOWN_TIME - timedelta(seconds=1),
            )
            self.add(one, {BESIDE_KEY: True})
        tools = extra.get("tools")
        if isinstance(tools, str) and tools.strip():
            self.report("bad_content", f"the tools are no JSON, kept as text: {preview(tools)}", ".tools")
        self.place = place

    def read(self, number: int, given: Sequence[Any]) -> None:
        """Read one turn, or a text and the calls after it."""
        self.go_to(number)
        kind = self.kind_of(given[0])
        if not isinstance(given[0], dict):
            self.report(
                "bad_message", f"no turn but {type(given[0]).__name__}, left out: {preview(given[0])}"
            )
            return
        first: dict[str, Any] = given[0]
        if kind is None:
            self.report(
                "unknown_role", f"{self._who} {first.get(self._who)!r} is taken for the user", f".{self._who}"
            )
            kind = "user"
        self._note_missing(kind)
        one = Message(
            role=_ROLES[kind],
            parts=tuple(self._parts(number, given, kind)),
            id=self.id_of(number, first),
            time=self.time_of(number, first),
        )
        spelled = spelling(one, list(given), plain_turns(one, self._keys))
        self.add(one, {SPELLING_KEY: spelled} if spelled else {})
        self._before = one.role

    def _parts(self, number: int, given: Sequence[dict[str, Any]], kind: Kind) -> list[Part]:
        parts: list[Part] = []
        if kind == "result":
            return self._results(self._text(given[0]))
        for offset, raw in enumerate(given):
            self.go_to(number + offset)
            if self.kind_of(raw) == "call":
                parts += self._calls(number + offset, raw)
                continue
            text = self._text(raw)
            if text or len(given) == 1:
                parts.append(Text(text))
            if not text:
                self.report("empty_content", "the text is empty", f".{self._what}")
        self.go_to(number)
        calls = [part for part in parts if isinstance(part, ToolCall)]
        self._open, self._listed = deque(calls), len(calls) > 1 and len(given) == 1
        return parts

    def _text(self, raw: dict[str, Any]) -> str:
        value = self.mended(raw.get(self._what), f".{self._what}")
        if isinstance(value, str):
            return value
        if value is None:
            return ""
        self.report("bad_content", f"the text is {type(value).__name__}, kept as JSON text", f".{self._what}")
        return json.dumps(value, ensure_ascii=False)

    def _calls(self, number: int, raw: dict[str, Any]) -> list[Part]:
        field = f".{self._what}"
        value = self.mended(raw.get(self._what), field)
        found = _parsed(value)
        listed = found if isinstance(found, list) and found else [found]
        if not all(isinstance(call, dict) and isinstance(call.get("name"), str) for call in listed):
            self.report("bad_call", f"no call with a name, kept as text: {preview(value)}", field)
            return [Text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))]
        calls: list[Part] = []
        for index, call in enumerate(listed):
            call_id = f"call_{number}" if len(listed) == 1 else f"call_{number}_{index}"
            name = call["name"]
            args = call.get("arguments", call.get("parameters", {}))
            is_object = isinstance(args, dict)
            text = json.dumps(args, ensure_ascii=False) if is_object else self.arguments(name, args, field)
            calls.append(ToolCall(name, text, call_id))
            self.note_call(name, call_id, field)
        return calls

    def _results(self, text: str) -> list[Part]:
        """The result of the next call; of all, where they stood in one list and so do the results."""
        outputs = [text]
        listed = _parsed(text) if self._listed else None
        if isinstance(listed, list) and len(listed) == len(self._open):
            outputs = [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in listed]
        self._listed = False
        results: list[Part] = []
        for output in outputs:
            call = self._open.popleft() if self._open else None
            results.append(ToolResult(output, call.tool, call.id) if call else ToolResult(output))
        return results

    def _note_missing(self, kind: Kind) -> None:
        role = _ROLES[kind]
        spoken = [one for one in self.messages if one.role != "system"]
        if role == "assistant" and not spoken:
            self.report("missing_turn", "the assistant speaks first; what it was asked is missing")
        elif role == self._before and role in ("user", "assistant"):
            missing = "an answer" if role == "user" else "what the user said"
            self.report(
                "missing_turn", f"two turns of the {role} in a row; {missing} between them is missing"
            )


def _parsed(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return parse(value)
    except (ValueError, RecursionError):
        return None
