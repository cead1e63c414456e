"""Pictures, sounds and files on their way to a provider."""

from __future__ import annotations

import binascii
from base64 import b64decode
from typing import Any
from urllib.parse import unquote_to_bytes

from koogbook.errors import ProviderError
from koogbook.llm.providers.chat_models import FILE_NAME
from koogbook.llm.providers.names import Provider
from koogbook.messages.parts import Attachment

_USUAL_TYPES = {
    "image": "image/png",
    "audio": "audio/wav",
    "video": "video/mp4",
    "file": "application/octet-stream",
}

#: The sounds that OpenAI's chat protocol has names for.
#: Who keeps files that a request can name.
_KEEP_FILES = frozenset({"anthropic", "bedrock", "google", "openai"})
_SOUNDS_OF_CHAT = frozenset({"audio/mp3", "audio/mpeg", "audio/wav", "audio/wave", "audio/x-wav"})


def mime_of(part: Attachment) -> str:
    """Its media type, or the usual one of its kind."""
    return part.mime or _USUAL_TYPES[part.kind]


def takes_file_name(part: Attachment, provider: Provider) -> bool:
    """Whether its name can go with it: that of a document in OpenAI's chat protocol."""
    return provider.speaks_chat and part.kind == "file" and part.data is not None


def sent_attachment(part: Attachment, provider: Provider, model: str) -> Any:
    """An attachment as pydantic-ai has it.

    Raises:
        ProviderError: It holds no data, or is of a kind that the protocol has no name for.
    """
    from pydantic_ai.messages import AudioUrl, BinaryContent, DocumentUrl, ImageUrl, UploadedFile, VideoUrl

    mime = mime_of(part)
    if part.file_id is not None:
        if provider.system not in _KEEP_FILES:
            raise ProviderError(
                f"{model} cannot be sent the {part.kind} {part.file_id!r:.60}: it lies with the provider that the "
                "conversation came from. Nothing was sent. Give the data itself, "
                f"kb.Attachment({part.kind!r}, data=...), or take it out: session.rewrite_prompt(...).",
                model=model,
            )
        system: Any = provider.system
        return UploadedFile(part.file_id, provider_name=system, media_type=part.mime or None)
    data = part.data
    url = str(part.url)
    if data is None and url.startswith("data:"):
        head, _, text = url.removeprefix("data:").partition(",")
        mime = head.partition(";")[0] or mime
        data = _decoded(head, text, part, model)
    if data is None:
        kinds: dict[str, Any] = {"image": ImageUrl, "audio": AudioUrl, "video": VideoUrl, "file": DocumentUrl}
        return kinds[part.kind](url, media_type=part.mime or None)
    if provider.speaks_chat and mime.startswith("audio/") and mime not in _SOUNDS_OF_CHAT:
        raise ProviderError(
            f"{provider.name} takes sounds as audio/wav or audio/mpeg, not {mime!r}. Nothing was sent. Convert it "
            "first.",
            model=model,
        )
    named = {FILE_NAME: part.name} if part.name and takes_file_name(part, provider) else None
    return BinaryContent(data, media_type=mime, vendor_metadata=named)


def _decoded(head: str, text: str, part: Attachment, model: str) -> bytes:
    try:
        data = b64decode(unquote_to_bytes(text), validate=True) if head.endswith(";base64") else b""
    except binascii.Error:
        data = b""
    if data:
        return data
    raise ProviderError(
        f"An attachment of kind {part.kind!r} has a data: address with no base64 data in it that can be read. Nothing "
        "was sent. Give its bytes with data=.",
        model=model,
    )
