"""Which thoughts have a place of their own in a request, and would not become words of the conversation."""

from __future__ import annotations

from typing import Any

from koogbook.llm.providers.names import Provider
from koogbook.messages.parts import Reasoning

#: What pydantic-ai gives as the id of a thought that came in a field of that name, or between tags in the text.
_FIELDS = ("reasoning", "reasoning_content")
_TAGS = "content"


def has_place(part: Reasoning, kept: dict[str, Any], provider: Provider, profile: Any) -> bool:
    """Whether a thought of this provider's own goes back as one; ``kept`` are its other fields.

    Where it does not, the library would write it into the text, between tags that models then copy.
    """
    if provider.name in ("anthropic", "bedrock"):
        return part.signature is not None
    if provider.name == "openai-responses":
        return bool(part.id) and (part.id not in (*_FIELDS, _TAGS) or bool(part.signature))
    if provider.name == "openrouter":
        return bool(kept.get("provider_details"))
    if not provider.speaks_chat:
        return True
    way = profile.get("openai_chat_send_back_thinking_parts", "auto")
    field = profile.get("openai_chat_thinking_field", None)
    if way == "field":
        return bool(field)
    return way == "auto" and bool(part.id) and part.id != _TAGS and (not field or part.id == field)
