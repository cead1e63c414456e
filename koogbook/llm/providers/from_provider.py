"""From what pydantic-ai gives to our messages and frames."""

from __future__ import annotations

import json
from typing import Any

from koogbook.llm.providers.keys import Redactor
from koogbook.llm.providers.to_provider import PARTS_KEY
from koogbook.messages.message import Message, Usage, assistant
from koogbook.messages.parts import Attachment, Foreign, Part, Reasoning, Text, ToolCall

#: Fields of a part that have a place of their own in a message, or that change from one reading to the next.
_NOT_KEPT = frozenset({"timestamp"})


#: Set in the metadata of an answer whose stream ended without saying so: there may have been more of it.
INCOMPLETE_KEY = "incomplete"


def message_of(response: Any, answered_by: str, redactor: Redactor, *, incomplete: bool = False) -> Message:
    """The answer as an assistant message; what its provider wants back and has no part here is in the metadata."""
    parts: list[Part] = []
    kept: list[Any] = []
    counts = {"text": 0, "reasoning": 0, "call": 0}
    for one in response.parts:
        part = part_of(one, redactor)
        if part is None:
            continue
        parts.append(part)
        kind = {Text: "text", Reasoning: "reasoning", ToolCall: "call"}.get(type(part))
        if kind is None:
            continue
        fields = _fields(one, kind)
        if fields:
            place: Any = part.id if isinstance(part, ToolCall) and part.id else counts[kind]
            kept.append([kind, place, fields])
        counts[kind] += 1
    metadata: dict[str, Any] = {"answered_by": answered_by}
    if response.model_name and response.model_name != answered_by.partition(":")[2]:
        metadata["model"] = redactor.without_values(str(response.model_name))
    if response.provider_response_id:
        metadata["response_id"] = redactor.without_values(str(response.provider_response_id))
    if kept:
        metadata[PARTS_KEY] = redactor.without_values_in(kept)
    if incomplete:
        metadata[INCOMPLETE_KEY] = True
    return assistant(
        parts,
        usage=usage_of(response.usage),
        finish_reason=finish_reason_of(response),
        metadata=metadata,
    )


def finish_reason_of(response: Any) -> str | None:
    """Why the answer ended, in the provider's own word where there is no common one; None where it did not say.

    The library makes up a "stop" where there is no word.
    """
    common: str | None = response.finish_reason
    details = response.provider_details or {}
    own = details.get("finish_reason")
    if common == "stop" and not own and not details.get("refusal"):
        return None
    return common or (str(own).lower() if own else None)


def part_of(part: Any, redactor: Redactor) -> Part | None:
    """One part of an answer; None for a text that is empty."""
    match part.part_kind:
        case "text":
            # Some providers sign a text that is empty, and want it back.
            text = redactor.without_sent(part.content)
            return Text(text) if text or part.provider_details else None
        case "thinking":
            if not part.content and not part.signature and not part.id:
                return None
            return Reasoning(redactor.without_sent(part.content), part.signature, part.id)
        case "tool-call":
            return call_of(part, redactor)
        case "file":
            return Attachment(_kind_of(part.content.media_type), part.content.media_type, part.content.data)
        case kind:
            return Foreign(kind, redactor.without_sent(_json_of(part)))


def call_of(part: Any, redactor: Redactor) -> ToolCall:
    """A call, its arguments as the model wrote them."""
    args = part.args
    if args is None or args == "":
        args = "{}"
    elif not isinstance(args, str):
        args = json.dumps(args, ensure_ascii=False)
    return ToolCall(part.tool_name, redactor.without_sent(args), part.tool_call_id or None)


def is_half_a_call(part: Any) -> bool:
    """Whether a part is a call whose arguments are no whole JSON object yet."""
    if part.part_kind != "tool-call" or isinstance(part.args, dict):
        return False
    try:
        return not isinstance(json.loads(part.args or ""), dict)
    except ValueError:
        return True


def usage_of(usage: Any) -> Usage | None:
    """Tokens as they were counted; None where nobody counted."""
    if not usage.input_tokens and not usage.output_tokens:
        return None
    details = usage.details or {}
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens or None,
        cache_write_tokens=usage.cache_write_tokens or None,
        reasoning_tokens=details.get("reasoning_tokens") or details.get("thoughts_tokens") or None,
    )


def _fields(part: Any, kind: str) -> dict[str, Any]:
    """An id that is not the call's, and the provider's own details, as plain JSON."""
    fields: dict[str, Any] = {}
    if kind != "reasoning" and getattr(part, "id", None):
        fields["id"] = str(part.id)
    details = {key: value for key, value in (part.provider_details or {}).items() if key not in _NOT_KEPT}
    if details:
        fields["details"] = _plain(details)
    return fields


def _plain(value: Any) -> Any:
    from pydantic_core import to_jsonable_python

    return json.loads(json.dumps(to_jsonable_python(value)))


def _json_of(part: Any) -> str:
    from pydantic_core import to_jsonable_python

    return json.dumps(to_jsonable_python(part), ensure_ascii=False, sort_keys=True)


def _kind_of(mime: str) -> Any:
    kind = mime.partition("/")[0]
    return kind if kind in ("image", "audio", "video") else "file"
