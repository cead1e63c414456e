"""Models of OpenAI's chat protocol, with the names that pydantic-ai leaves out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

#: In the metadata of a document: the name of its file.
FILE_NAME = "filename"


@cache
def named_prompt() -> Any:
    """The class of what a user said with a name: pydantic-ai's own has none."""
    from pydantic_ai.messages import UserPromptPart

    @dataclass(repr=False)
    class NamedPrompt(UserPromptPart):
        name: str = ""

    return NamedPrompt


@cache
def chat_class(base: Any) -> Any:
    """That class of models, whose requests have the names of users and files."""

    class Chat(base):  # type: ignore[misc, unused-ignore]
        async def _map_user_prompt(self, part: Any) -> Any:
            said = await super()._map_user_prompt(part)
            name = getattr(part, "name", "")
            return {**said, "name": name} if name else said

        async def _map_binary_content_item(self, item: Any) -> Any:
            made = await super()._map_binary_content_item(item)
            name = (item.vendor_metadata or {}).get(FILE_NAME)
            if name and made["type"] == "file":
                made["file"]["filename"] = name
            return made

        def _get_stream_options(self, model_settings: Any) -> Any:
            # Some servers count anew with each piece whether they were asked to or not. The setting makes the library
            # take the last figure in place of their sum; asking for it would be refused by those that do not know it.
            return {"include_usage": True}

    return Chat
