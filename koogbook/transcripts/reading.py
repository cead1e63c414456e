"""What the readers of all formats share: where they are, what is odd there, ids, times, and arguments of calls."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any, Final

from koogbook.errors import MessageError, TranscriptError
from koogbook.messages.message import Message, message
from koogbook.messages.pairing import Pairing, pair_messages
from koogbook.messages.parts import ToolCall
from koogbook.transcripts.conversation import Conversation
from koogbook.transcripts.lone_surrogates import lone_surrogates, without_lone_surrogates
from koogbook.transcripts.transcript import Defect, DefectKind, preview

#: The time of the first message where a file gives none; each later entry is one second after it.
UNKNOWN_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC)

#: Where entries give their time; the first counts.
TIME_FIELDS: Final = ("created", "created_at", "create_time", "timestamp", "time")
_MILLISECONDS_FROM: Final = 1e11


class Reading:
    """What is known half-way through a conversation."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.place = conversation.where
        self.messages: list[Message] = []
        self.places: list[str] = []
        self.defects: list[Defect] = []
        #: The tools of the calls so far, by call id.
        self.tool_names: dict[str, str] = {}
        self._call_places: dict[str, str] = {}
        self._given_ids: Counter[str] = Counter(
            without_lone_surrogates(entry["id"])
            for entry in conversation.entries
            if isinstance(entry, dict) and isinstance(entry.get("id"), str)
        )

    @contextmanager
    def not_too_deep(self) -> Iterator[None]:
        """Turn the end of the interpreter's stack inside the block into an error that says where it was.

        Raises:
            TranscriptError: The conversation is nested too deeply.
        """
        try:
            yield
        except RecursionError:
            raise TranscriptError(
                f"{self.place} is nested too deeply to be read, and no message is. Nothing was loaded; check the file."
            ) from None

    def go_to(self, number: int) -> None:
        """What follows is about this entry, from 0."""
        lines = self.conversation.lines
        self.place = f"line {lines[number]}" if lines else f"{self.conversation.where}[{number}]"

    def report(self, kind: DefectKind, text: str, field: str = "") -> None:
        """List something odd about the message that comes next, at ``field`` of the present entry."""
        self.defects.append(Defect(len(self.messages), kind, text, self.place + field))

    def add(self, one: Message, metadata: dict[str, Any]) -> None:
        """Take a message, with what an export needs of it; metadata that cannot be kept is listed."""
        try:
            kept = message(
                one.role,
                one.parts,
                id=one.id,
                time=one.time,
                name=one.name,
                usage=one.usage,
                finish_reason=one.finish_reason,
                metadata=metadata,
            )
        except MessageError as problem:
            self.report("unkept_fields", f"further fields cannot be kept: {problem}")
            kept = one
        self.messages.append(kept)
        self.places.append(self.place)

    def done(self) -> tuple[tuple[Message, ...], tuple[Defect, ...]]:
        """The messages and all defects in order, those of calls and results included."""
        pairing = pair_messages(self.messages)
        for broken in pairing.defects:
            place = self.places[broken.position]
            self.defects.append(Defect(broken.position, broken.kind, str(broken), place))
        self.defects += self._open_calls(pairing)
        return tuple(self.messages), tuple(sorted(self.defects, key=lambda one: one.position))

    def mended(self, value: Any, field: str = "") -> Any:
        """The value without halves of characters: a server refuses every request with one."""
        found = list(lone_surrogates(value))
        for inside, places in found:
            at = ", ".join(map(str, places[:5])) + (f" and {len(places) - 5} more" if len(places) > 5 else "")
            self.report(
                "lone_surrogate",
                f"half of a pair of characters, at {at} of the text, replaced by U+FFFD",
                field + inside,
            )
        return without_lone_surrogates(value) if found else value

    def note_call(self, tool: str, call_id: str | None, field: str) -> None:
        """Remember a call, so that its result knows the tool; an id that comes again is listed."""
        if call_id is None:
            return
        before = self._call_places.get(call_id)
        if before is not None:
            self.report(
                "reused_call_id",
                f"call id {preview(call_id)!r} was used before, at {before}; a result belongs to the nearest call "
                "before it",
                field,
            )
        self._call_places[call_id] = self.place + field.removesuffix(".id")
        if tool:
            self.tool_names[call_id] = tool

    def arguments(self, tool: str, value: Any, field: str) -> str:
        """The arguments of a call as JSON text, whatever they came as; a text is kept as it is."""
        if not isinstance(value, str):
            self.report(
                "arguments_not_text", f"arguments of {tool} are {type(value).__name__}, not text", field
            )
            return "{}" if value is None else json.dumps(value, ensure_ascii=False)
        try:
            decoded = json.loads(value)
        except (ValueError, RecursionError) as problem:
            self.report(
                "broken_arguments", f"arguments of {tool} are no JSON ({problem}): {preview(value)}", field
            )
            return value
        if isinstance(decoded, str) and _is_object(decoded):
            self.report(
                "double_encoded_arguments",
                f"arguments of {tool} were JSON inside a JSON text, and are taken out of it",
                field,
            )
            return str(self.mended(decoded, field))
        if not isinstance(decoded, dict):
            self.report("broken_arguments", f"arguments of {tool} are no object: {preview(value)}", field)
        return value

    def id_of(self, number: int, raw: dict[str, Any], part: int = 0) -> str:
        """The id of an entry where it is unique, else a hash of content and position.

        ``part`` counts the messages that are made of one entry; all but the first get an id of their own.
        """
        own = without_lone_surrogates(raw.get("id"))
        if isinstance(own, str) and own and not part:
            if self._given_ids[own] == 1:
                return own
            self.report(
                "duplicate_id", f"id {own!r} is used {self._given_ids[own]} times; another one is made", ".id"
            )
        body = json.dumps([number, raw, part] if part else [number, raw], sort_keys=True).encode("ascii")
        return blake2b(body, digest_size=8).hexdigest()

    def time_of(self, number: int, raw: dict[str, Any]) -> datetime:
        """The time that an entry gives; else :data:`UNKNOWN_TIME` and a second for each entry before."""
        for field in TIME_FIELDS:
            value = raw.get(field)
            if value is not None:
                found = as_time(value)
                if found is not None:
                    return found
                self.report("bad_time", f"{preview(value)!r} is no time", f".{field}")
        return UNKNOWN_TIME + timedelta(seconds=number)

    def _open_calls(self, pairing: Pairing) -> Iterator[Defect]:
        """The calls at the end that have no result: it may still come, but a reader has to know."""
        if pairing.tail is None:
            return
        answered = {pair.call_part for pair in pairing.pairs if pair.call_message == pairing.tail}
        for index, part in enumerate(self.messages[pairing.tail].parts):
            if isinstance(part, ToolCall) and index not in answered:
                text = f"message {pairing.tail}: a call at the end without a result (tool {part.tool}, id {part.id!r})"
                yield Defect(pairing.tail, "open_call", text, self.places[pairing.tail])


def as_time(value: Any) -> datetime | None:
    """A moment from seconds or milliseconds since the epoch, or from ISO text (UTC without a zone); else None."""
    try:
        if isinstance(value, str):
            parsed = datetime.fromisoformat(value)
            return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            seconds = value / 1000 if abs(value) >= _MILLISECONDS_FROM else value
            return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
