"""From our request to what pydantic-ai sends."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from koogbook.errors import ProviderError
from koogbook.llm.providers.attachments import mime_of, sent_attachment, takes_file_name
from koogbook.llm.providers.chat_models import named_prompt
from koogbook.llm.providers.names import PROVIDERS, Provider
from koogbook.llm.providers.parameters import parameters_of, settings_of, unsupported_by
from koogbook.llm.providers.thoughts import has_place
from koogbook.llm.request import Request
from koogbook.messages.message import REFERENCE_NAME, SUMMARY_NAME, Message
from koogbook.messages.pairing import pair_messages
from koogbook.messages.parts import Attachment, Foreign, Reasoning, Text, ToolCall, ToolResult

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

#: Where a message keeps what its provider wants back with its parts, and that no part of ours has room for.
PARTS_KEY = "provider_parts"

#: For these all system messages are one text before the conversation.
_SYSTEM_AT_THE_TOP = frozenset({"anthropic", "bedrock", "google"})

#: What OpenAI allows as a name.
_SENT_NAME = re.compile(r"[^\s<|\\/>]{1,64}")


class Outgoing(Struct, frozen=True):
    """A request as pydantic-ai takes it; ``not_sent`` are the things that this provider cannot be told."""

    messages: list[Any]
    settings: dict[str, Any]
    parameters: Any
    not_sent: tuple[str, ...] = ()


def outgoing(request: Request, provider: Provider, model: Any) -> Outgoing:
    """The request for that provider, as far as ``model``, the one of pydantic-ai, can take it.

    Raises:
        ProviderError: A part of a message cannot be sent.
    """
    to = _Messages(request, provider, model.profile)
    messages = to.mapped()
    settings = settings_of(request, provider, unsupported_by(model))
    return Outgoing(
        messages,
        settings.taken,
        parameters_of(request, native_schema=bool(model.profile.get("supports_json_schema_output"))),
        (*to.not_sent(), *settings.not_sent),
    )


class _Messages:
    """The messages of one request on their way out."""

    def __init__(self, request: Request, provider: Provider, profile: Any) -> None:
        self._request = request
        self._provider = provider
        self._profile = profile
        self._ids = _sent_ids(request.messages)
        self._thoughts_left_out = 0
        self._escaped = 0
        self._broken_args = 0
        self._names_left_out = 0
        self._file_names_left_out = 0

    def not_sent(self) -> tuple[str, ...]:
        """What was left out, or sent in another form."""
        late = (
            _late_system_messages(self._request.messages) if self._provider.name in _SYSTEM_AT_THE_TOP else 0
        )
        found = (
            (
                self._thoughts_left_out,
                "the thoughts of {} earlier answers, which another model made, nobody signed, or it has no place for",
            ),
            (self._escaped, "lone surrogates in {} texts, as they are: they went as \\uXXXX"),
            (
                self._broken_args,
                "the arguments of {} earlier calls, as they are: they are no JSON object, and went as the text "
                "INVALID_JSON of one",
            ),
            (self._names_left_out, "the names of {} messages, for which it has no place"),
            (self._file_names_left_out, "the names of {} attachments, for which it has no place"),
            (late, "{} system messages in their place: they went before the conversation"),
        )
        return tuple(text.format(count) for count, text in found if count)

    def _safe(self, text: str) -> str:
        """The text, with what UTF-8 cannot hold spelled out."""
        if text.isascii():
            return text
        plain = text.encode("utf-8", "backslashreplace").decode("utf-8")
        self._escaped += plain != text
        return plain

    def mapped(self) -> list[ModelMessage]:
        """All of them: what one side says in a row is one message for a provider."""
        from pydantic_ai.messages import ModelRequest

        mapped: list[ModelMessage] = []
        waiting: list[Any] = []
        for position, message in enumerate(self._request.messages):
            if message.role != "assistant":
                waiting.extend(self._said(position, message))
                continue
            if waiting:
                mapped.append(ModelRequest(parts=waiting, timestamp=message.time))
                waiting = []
            mapped.append(self._answered(position, message))
        if waiting:
            mapped.append(ModelRequest(parts=waiting, timestamp=self._request.messages[-1].time))
        return mapped

    def _said(self, position: int, message: Message) -> list[Any]:
        from pydantic_ai.messages import SystemPromptPart, ToolReturnPart, UserPromptPart

        if message.role == "system":
            return [SystemPromptPart(self._safe(self._text(position, message)), timestamp=message.time)]
        if message.role == "user":
            content = self._content(position, message)
            one = content[0] if len(content) == 1 and isinstance(content[0], str) else content
            name = self._name(message)
            if name:
                return [named_prompt()(one, timestamp=message.time, name=name)]
            return [UserPromptPart(one, timestamp=message.time)]
        said: list[Any] = []
        for index, part in enumerate(message.parts):
            if isinstance(part, ToolResult):
                said.append(
                    ToolReturnPart(
                        tool_name=part.tool or "tool",
                        content=self._safe(part.output),
                        tool_call_id=self._ids.get((position, index), part.call_id or "call"),
                        timestamp=message.time,
                        outcome="failed" if part.is_error else "success",
                    )
                )
            else:
                said.append(UserPromptPart([self._one(position, message, part)], timestamp=message.time))
        return said

    def _name(self, message: Message) -> str | None:
        """Who said it, where that can be sent; our own reserved names are for nobody else."""
        name = message.name
        if not name or name in (SUMMARY_NAME, REFERENCE_NAME):
            return None
        if self._provider.speaks_chat and _SENT_NAME.fullmatch(name):
            return self._safe(name)
        self._names_left_out += 1
        return None

    def _text(self, position: int, message: Message) -> str:
        for part in message.parts:
            if not isinstance(part, Text):
                raise self._refused(position, message, part)
        return message.text

    def _content(self, position: int, message: Message) -> list[Any]:
        return [self._one(position, message, part) for part in message.parts] or [""]

    def _one(self, position: int, message: Message, part: Any) -> Any:
        if isinstance(part, Text):
            return self._safe(part.text)
        if isinstance(part, Attachment):
            self._file_names_left_out += bool(part.name) and not takes_file_name(part, self._provider)
            return sent_attachment(part, self._provider, str(self._request.model))
        raise self._refused(position, message, part)

    def _answered(self, position: int, message: Message) -> ModelMessage:
        from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart

        system = _system_of(message) or self._provider.system
        extras = _Extras(message, own=system == self._provider.system, system=system)
        parts: list[Any] = []
        left_out = False
        for index, part in enumerate(message.parts):
            if isinstance(part, Text):
                parts.append(TextPart(self._safe(part.text), **extras.of("text")))
            elif isinstance(part, ToolCall):
                self._broken_args += not _is_object(part.args)
                parts.append(
                    ToolCallPart(
                        part.tool,
                        self._safe(part.args),
                        tool_call_id=self._ids[(position, index)],
                        **extras.of("call", part.id),
                    )
                )
            else:
                thought = self._thought(part, system, extras)
                if thought is not None:
                    parts.append(thought)
                elif isinstance(part, Reasoning):
                    left_out = True
                elif isinstance(part, Attachment):
                    parts.append(self._made(part))
                else:
                    raise self._refused(position, message, part)
        self._thoughts_left_out += left_out
        return ModelResponse(
            parts=parts,
            provider_name=system,
            model_name=_model_of(message) or self._request.model.id,
            timestamp=message.time,
        )

    def _thought(self, part: Any, system: str, extras: _Extras) -> Any:
        """A thinking part, unchanged, where it comes from the provider that it goes to; None otherwise."""
        from pydantic_ai.messages import ThinkingPart

        if isinstance(part, Foreign) and part.kind == "redacted_thinking":
            data = msgspec.json.decode(part.raw).get("data")
            return ThinkingPart("", id="redacted_thinking", signature=data, provider_name=system)
        if not isinstance(part, Reasoning):
            return None
        kept = extras.of("reasoning")
        if system != self._provider.system:
            return None
        if not has_place(part, kept, self._provider, self._profile):
            return None
        kept.pop("id", None)
        return ThinkingPart(
            part.text, id=part.id, signature=part.signature, **{"provider_name": system, **kept}
        )

    def _made(self, part: Attachment) -> Any:
        """A picture that the model made."""
        from pydantic_ai.messages import BinaryContent, FilePart

        if part.data is None:
            raise ProviderError(
                f"An earlier answer holds {_a(part.kind)} by its address, and {self._provider.name} takes what a model "
                "made only as bytes. Nothing was sent. Give it with data=, or put it into a user message.",
                model=str(self._request.model),
            )
        return FilePart(BinaryContent(part.data, media_type=mime_of(part)))

    def _refused(self, position: int, message: Message, part: Any) -> ProviderError:
        what = part.kind if isinstance(part, Foreign | Attachment) else type(part).__name__
        return ProviderError(
            f"Message {position} ({message.role}) holds a part of kind {what!r}, and {self._provider.name} takes none "
            f"there. Nothing was sent. Make it text, or leave it out: session.rewrite_prompt(...).",
            model=str(self._request.model),
        )


class _Extras:
    """What a message kept of its provider's own fields, part by part."""

    def __init__(self, message: Message, *, own: bool, system: str) -> None:
        self._system = system
        self._kept: list[Any] = list(message.metadata.get(PARTS_KEY, ())) if own else []
        self._seen = {"text": 0, "reasoning": 0, "call": 0}

    def of(self, kind: str, id: str | None = None) -> dict[str, Any]:
        """The fields of the next part of that kind; a call is known by its id, if it has one."""
        place = self._seen[kind]
        self._seen[kind] += 1
        for entry in self._kept:
            match entry:
                case [str(what), where, dict(fields)] if what == kind and where == (id if id else place):
                    wanted = {
                        name: fields[key]
                        for key, name in (("id", "id"), ("details", "provider_details"))
                        if key in fields
                    }
                    return {**wanted, "provider_name": self._system}
        return {}


def _is_object(args: str) -> bool:
    """Whether pydantic-ai can send them as they are."""
    from pydantic_core import from_json

    try:
        return not args or isinstance(from_json(args.encode("utf-8", "backslashreplace")), dict)
    except ValueError:
        return False


def _late_system_messages(messages: Sequence[Message]) -> int:
    """How many do not stand at the beginning."""
    begun, late = False, 0
    for message in messages:
        begun = begun or message.role != "system"
        late += begun and message.role == "system"
    return late


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "ia" else f"a {kind}"


def _system_of(message: Message) -> str | None:
    """Whose signatures a message carries, where it says who answered."""
    provider, colon, _ = str(message.metadata.get("answered_by", "")).partition(":")
    known = PROVIDERS.get(provider)
    return known.system if known and colon else None


def _model_of(message: Message) -> str | None:
    provider, _, model = str(message.metadata.get("answered_by", "")).partition(":")
    return model if provider in PROVIDERS and model else None


def _sent_ids(messages: Sequence[Message]) -> dict[tuple[int, int], str]:
    """The call ids that are sent, by message and part: providers want one for each call, and no two alike."""
    sent: dict[tuple[int, int], str] = {}
    used: set[str] = set()
    for position, message in enumerate(messages):
        for index, part in enumerate(message.parts):
            if isinstance(part, ToolCall):
                id = part.id or f"call_{position}_{index}"
                if id in used:
                    id = f"{id}_{position}_{index}"
                used.add(id)
                sent[(position, index)] = id
    for pair in pair_messages(messages).pairs:
        sent[(pair.result_message, pair.result_part)] = sent[(pair.call_message, pair.call_part)]
    return sent
