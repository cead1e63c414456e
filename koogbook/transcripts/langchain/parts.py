"""Content blocks of LangChain messages: those of several providers, and the library's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from koogbook.messages.message import Usage
from koogbook.messages.parts import Attachment, Foreign, Part, Reasoning, Text
from koogbook.transcripts.anthropic.parts import SEALED_BLOCKS, decoded, foreign, part_from_block
from koogbook.transcripts.openai_chat.parts import part_from_openai, part_to_openai
from koogbook.transcripts.openai_responses.parts import loaded, reasoning_from
from koogbook.transcripts.token_counts import count_in
from koogbook.transcripts.transcript import preview
from koogbook.transcripts.writing import Lost

#: Blocks in which providers repeat the calls that a message has beside its content.
CALL_BLOCKS: Final = frozenset({"function_call", "tool_call", "tool_use"})
_STANDARD: Final = ("image", "audio", "video", "file")


def part_from_block_of_any(raw: Any) -> tuple[Part, bool]:
    """The part that a block is, and whether it is understood; what is not is kept as :class:`Foreign`."""
    if isinstance(raw, str):
        return Text(raw), True
    found = _standard(raw) or part_from_openai(raw)[0]
    if isinstance(found, Foreign):
        found = part_from_block(raw)
    if isinstance(found, Foreign):
        return foreign(raw), found.kind in SEALED_BLOCKS
    return found, True


def block_from_part(part: Part) -> Any:
    """The block for a part other than a call or a result, or a :class:`Lost`.

    Pictures and files take the form of OpenAI chat, which the library's chat models understand.
    """
    if isinstance(part, Foreign):
        value = loaded(part)
        if isinstance(value, str | dict):
            return value
        return Lost(f"a part of kind {part.kind!r} that is no block: {preview(part.raw)}")
    if isinstance(part, Reasoning):
        if part.signature is not None and part.id is None:
            return {"type": "thinking", "thinking": part.text, "signature": part.signature}
        own = {} if part.id is None else {"id": part.id}
        sealed = {} if part.signature is None else {"extras": {"signature": part.signature}}
        return {"type": "reasoning", "reasoning": part.text, **own, **sealed}
    return part_to_openai(part)


def usage_of(body: Mapping[str, Any]) -> Usage | None:
    """Tokens as ``usage_metadata`` counts them, else as the provider's own metadata do."""
    given, own = body.get("usage_metadata"), body.get("response_metadata")
    found = Usage(
        input_tokens=count_in(given, "input_tokens"),
        output_tokens=count_in(given, "output_tokens"),
        cache_read_tokens=count_in(given, "input_token_details", "cache_read"),
        cache_write_tokens=count_in(given, "input_token_details", "cache_creation"),
        reasoning_tokens=count_in(given, "output_token_details", "reasoning"),
    )
    if found == Usage():
        found = Usage(
            input_tokens=count_in(own, "token_usage", "prompt_tokens"),
            output_tokens=count_in(own, "token_usage", "completion_tokens"),
        )
    return None if found == Usage() else found


def usage_metadata(usage: Usage) -> dict[str, Any]:
    """Usage as the library keeps it."""
    found: dict[str, Any] = {
        "input_tokens": usage.input_tokens or 0,
        "output_tokens": usage.output_tokens or 0,
        "total_tokens": usage.total,
    }
    read = {"cache_read": usage.cache_read_tokens, "cache_creation": usage.cache_write_tokens}
    thought = {"reasoning": usage.reasoning_tokens}
    for name, details in (("input_token_details", read), ("output_token_details", thought)):
        if known := {key: count for key, count in details.items() if count is not None}:
            found[name] = known
    return found


def _standard(raw: Any) -> Part | None:
    """The part of a block in the library's own form."""
    match raw:
        case {"type": "reasoning", "reasoning": str(text), **more}:
            extras = more.get("extras")
            sealed = extras.get("signature") if isinstance(extras, dict) else None
            return Reasoning(text, _text(sealed), _text(more.get("id")))
        case {"type": "reasoning", "summary": list()}:
            return reasoning_from(raw)
        case {"type": str(kind), **more} if kind in _STANDARD and not isinstance(more.get("source"), dict):
            return _attachment(kind, more)
    return None


def _attachment(kind: Any, more: Mapping[Any, Any]) -> Attachment | None:
    name = _text(more.get("name"))
    mime = _text(more.get("mime_type")) or ""
    inline = more.get("base64") if "base64" in more else more.get("data")
    if isinstance(inline, str):
        data = decoded(inline)
        return None if data is None else Attachment(kind, mime, data=data, name=name)
    if isinstance(more.get("url"), str):
        return Attachment(kind, mime, url=more["url"], name=name)
    file_id = more.get("file_id", more.get("id"))
    return Attachment(kind, mime, file_id=file_id, name=name) if isinstance(file_id, str) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
