"""The model and the parameters of a request."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace


class LLModel(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A model by name, with what is known of it (Koog's ``LLModel``).

    ``context_tokens`` and ``max_output_tokens`` are None where they are unknown.
    """

    id: str
    provider: str = ""
    context_tokens: int | None = None
    max_output_tokens: int | None = None

    def __str__(self) -> str:
        return f"{self.provider}:{self.id}" if self.provider else self.id


def as_model(model: LLModel | str) -> LLModel:
    """A model from ``"id"`` or ``"provider:id"``."""
    if isinstance(model, LLModel):
        return model
    provider, colon, name = model.partition(":")
    return LLModel(name, provider) if colon else LLModel(model)


class ToolChoice(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Whether and which tool the model has to call; ``tool`` goes with ``named`` only."""

    mode: Literal["auto", "none", "required", "named"] = "auto"
    tool: str | None = None


class LLMParams(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of a request (Koog's ``LLMParams``); None leaves it to the provider."""

    temperature: float | None = None
    max_tokens: int | None = None
    choices: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    tool_choice: ToolChoice | None = None
    user: str | None = None

    def with_changes(self, **changes: Any) -> LLMParams:
        """A copy in which only these fields differ."""
        return replace(self, **changes)
