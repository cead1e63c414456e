"""A message: an immutable value with a role, parts, an id and a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from hashlib import blake2b
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from koogbook import clock
from koogbook.errors import MessageError
from koogbook.messages.metadata import NO_METADATA, metadata_text, read_metadata
from koogbook.messages.parts import (
    Attachment,
    Foreign,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    require_integers,
    require_types,
    shown,
)

Role = Literal["system", "user", "assistant", "tool"]
ROLES: tuple[Role, ...] = ("system", "user", "assistant", "tool")

#: Names that koogbook gives to messages of its own. A rule about user messages means those without one.
SUMMARY_NAME = "koogbook.summary"
REFERENCE_NAME = "koogbook.reference"
RESERVED_NAMES = frozenset({SUMMARY_NAME, REFERENCE_NAME})

#: Text by which a message counts as memory, as in Koog: looked for as it stands in text parts of any role.
MEMORY_FACTS_MARKER = "Here are the relevant facts from memory"
MEMORY_OFF_MARKER = "Memory feature is not enabled"
MEMORY_MARKERS = (MEMORY_FACTS_MARKER, MEMORY_OFF_MARKER)

_PART_KINDS = frozenset({Text, Reasoning, ToolCall, ToolResult, Foreign, Attachment})


class Usage(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Tokens as the provider counted them; None where it did not say.

    ``cache_read_tokens`` and ``cache_write_tokens`` are parts of ``input_tokens``, ``reasoning_tokens`` of
    ``output_tokens``.

    Raises:
        MessageError: A number is of another type, or of more than 64 bits.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None

    def __post_init__(self) -> None:
        require_integers(
            self,
            "input_tokens",
            "output_tokens",
            "cache_read_tokens",
            "cache_write_tokens",
            "reasoning_tokens",
        )

    @property
    def total(self) -> int:
        """Both together, unknown ones as 0."""
        return (self.input_tokens or 0) + (self.output_tokens or 0)


class Message(
    Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, dict=True, weakref=True
):
    """One message of a conversation (Koog's ``Message``), equal to another when all fields are.

    Build it with :func:`system`, :func:`user`, :func:`assistant` and :func:`tool_result`.

    ``time`` is kept in UTC, so that equal messages have equal bytes wherever they were made.
    ``metadata_json`` is JSON text, so that a message is immutable to the bottom; :attr:`metadata` reads it.

    Raises:
        MessageError: ``time`` has no zone or is finer than a microsecond, the role is unknown, a part stands where its
            role has none or is no part, metadata is no JSON object, or a field is of another type.
    """

    role: Role
    parts: tuple[Part, ...]
    id: str
    time: datetime
    name: str | None = None
    usage: Usage | None = None
    finish_reason: str | None = None
    metadata_json: str = NO_METADATA

    def __post_init__(self) -> None:
        if type(self.parts) is not tuple:
            if not isinstance(self.parts, Iterable):
                raise MessageError(f"The parts of a message are a tuple of parts, not {shown(self.parts)}.")
            force_setattr(self, "parts", tuple(self.parts))
        if type(self.id) is not str or not isinstance(self.time, datetime):
            raise MessageError(
                f"A message has a text as id and a datetime as time, not {shown(self.id)} and {shown(self.time)}."
            )
        if self.time.tzinfo is not UTC or type(self.time) is not datetime:
            force_setattr(self, "time", _in_utc(self.id, self.time))
        role: object = self.role
        if type(role) is not str or role not in ROLES:
            require_types(self, str, "role")
            raise MessageError(f"Unknown role {role!r}: a message is one of {', '.join(ROLES)}.")
        for part in self.parts:
            kind = type(part)
            if (kind is ToolCall and role != "assistant") or (kind is ToolResult and role != "tool"):
                raise MessageError(
                    f"A {role} message cannot hold a {kind.__name__}: calls belong to assistant messages, "
                    "results to tool messages."
                )
            if kind not in _PART_KINDS:
                raise MessageError(
                    f"A {role} message cannot hold {shown(part)}: its parts are text or one of "
                    f"{', '.join(sorted(one.__name__ for one in _PART_KINDS))}."
                )
        if self.name is not None or self.usage is not None or self.finish_reason is not None:
            require_types(self, str, "name", "finish_reason", optional=True)
            require_types(self, Usage, "usage", optional=True)
        if self.metadata_json is not NO_METADATA:
            require_types(self, str, "metadata_json")
            read_metadata(self.metadata_json)

    @cached_property
    def text(self) -> str:
        """The text parts, joined by line breaks; a tool message's output where it has no text."""
        return "\n".join(
            part.text if isinstance(part, Text) else part.output
            for part in self.parts
            if isinstance(part, Text | ToolResult)
        )

    @cached_property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in the order the model wrote them."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @cached_property
    def results(self) -> tuple[ToolResult, ...]:
        """The tool results."""
        return tuple(part for part in self.parts if isinstance(part, ToolResult))

    @property
    def metadata(self) -> dict[str, Any]:
        """A fresh copy of the metadata."""
        loaded: dict[str, Any] = json.loads(self.metadata_json)
        return loaded

    @cached_property
    def digest(self) -> bytes:
        """The content hash: BLAKE2b, 16 bytes, over the sorted encoding with id, time and usage."""
        from koogbook.messages.codec import encode_message

        return blake2b(encode_message(self), digest_size=16).digest()

    @cached_property
    def tokens(self) -> int:
        """Tokens, counted once: estimated, unless another counter is set (:mod:`koogbook.messages.token_counters`)."""
        from koogbook.messages.tokens import message_tokens

        return message_tokens(self)

    @property
    def is_summary(self) -> bool:
        """Made by history compression."""
        return self.name == SUMMARY_NAME

    @cached_property
    def is_memory(self) -> bool:
        """Carries a memory marker in a text part, or the metadata tag ``memory``."""
        if any(
            marker in part.text for part in self.parts if isinstance(part, Text) for marker in MEMORY_MARKERS
        ):
            return True
        return self.metadata_json != NO_METADATA and self.metadata.get("memory") is True

    @property
    def is_from_user(self) -> bool:
        """A user message without a reserved name: something that a person said."""
        return self.role == "user" and self.name not in RESERVED_NAMES

    def with_parts(self, parts: Iterable[Part]) -> Message:
        """The same message, id and time with other parts."""
        return replace(self, parts=tuple(parts))

    def with_text(self, text: str) -> Message:
        """The same message, id and time with one text part in place of all text parts."""
        return self.with_parts([Text(text), *(part for part in self.parts if not isinstance(part, Text))])


def _in_utc(id: str, time: datetime) -> datetime:
    """The same moment as a plain datetime: one of a subclass (pandas has one) could not be stored."""
    if time.tzinfo is None or time.utcoffset() is None:
        raise MessageError(
            f"Message {id!r} has a time without a zone ({time}). Use an aware one: datetime(..., tzinfo=UTC)."
        )
    try:
        moved = time.astimezone(UTC)
    except OverflowError as problem:
        raise MessageError(f"Message {id!r} has a time out of range ({time}): {problem}.") from problem
    plain = datetime.combine(moved.date(), moved.time(), UTC)
    if plain != moved:
        raise MessageError(f"Message {id!r} has a time finer than a microsecond ({time}). Round it first.")
    return plain


def _parts(content: str | Part | Iterable[str | Part]) -> tuple[Part, ...]:
    if isinstance(content, str):
        return (Text(content),)
    if isinstance(content, Text | Reasoning | Attachment | ToolCall | ToolResult | Foreign):
        return (content,)
    if content is None:
        raise MessageError("A message needs text or parts, not None. Use '' for an empty text.")
    if isinstance(content, Mapping | bytes | bytearray) or not isinstance(content, Iterable):
        raise MessageError(
            f"A message needs text or parts, not {type(content).__name__}. Use str(...) or json.dumps(...) to make "
            "it text."
        )
    return tuple(Text(part) if isinstance(part, str) else part for part in content)


def message(
    role: Role,
    content: str | Part | Iterable[str | Part],
    *,
    id: str | None = None,
    time: datetime | None = None,
    name: str | None = None,
    usage: Usage | None = None,
    finish_reason: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Message:
    """A message of any role; without ``id`` and ``time`` they are fresh ones.

    Raises:
        MessageError: See :class:`Message`; or the metadata is not JSON.
    """
    return Message(
        role=role,
        parts=_parts(content),
        id=clock.new_id() if id is None else id,
        time=clock.now() if time is None else time,
        name=name,
        usage=usage,
        finish_reason=finish_reason,
        metadata_json=metadata_text(metadata),
    )


def system(content: str | Part | Iterable[str | Part], **fields: Any) -> Message:
    """A system message; fields as for :func:`message`."""
    return message("system", content, **fields)


def user(content: str | Part | Iterable[str | Part], **fields: Any) -> Message:
    """A user message; fields as for :func:`message`."""
    return message("user", content, **fields)


def assistant(
    content: str | Part | Iterable[str | Part] = (), *, calls: Iterable[ToolCall] = (), **fields: Any
) -> Message:
    """An assistant message with text, tool calls, or both; fields as for :func:`message`."""
    wanted = tuple(calls)
    if not all(isinstance(call, ToolCall) for call in wanted):
        raise MessageError(
            f"The calls of a message are tool calls, not {calls!r:.60}: calls=[kb.ToolCall('name')]."
        )
    return message("assistant", (*_parts(content), *wanted), **fields)


def tool_result(
    call: ToolCall | str | None, output: str, *, is_error: bool = False, tool: str = "", **fields: Any
) -> Message:
    """A tool message with one result, for a call or a call id; fields as for :func:`message`."""
    if isinstance(call, ToolCall):
        part = ToolResult(output=output, tool=tool or call.tool, call_id=call.id, is_error=is_error)
    else:
        part = ToolResult(output=output, tool=tool, call_id=call, is_error=is_error)
    return message("tool", part, **fields)
