"""The model and the parameters of a request."""

from __future__ import annotations

from math import isfinite
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from koogbook.errors import MessageError
from koogbook.messages.parts import require_integers, require_types


class LLModel(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A model by name, with what is known of it (Koog's ``LLModel``).

    ``context_tokens`` and ``max_output_tokens`` are None where they are unknown.

    Raises:
        MessageError: A field is of another type, or a number is below 1 or has more than 64 bits.
    """

    id: str
    provider: str = ""
    context_tokens: int | None = None
    max_output_tokens: int | None = None

    def __post_init__(self) -> None:
        require_types(self, str, "id", "provider")
        require_integers(self, "context_tokens", "max_output_tokens")
        for name in ("context_tokens", "max_output_tokens"):
            number = getattr(self, name)
            if number is not None and number < 1:
                raise MessageError(
                    f"The {name} of a model are at least 1, or None where they are unknown; not {number}. "
                    f"No model was made. Leave them out: LLModel({self.id!r}, {self.provider!r})."
                )

    def __str__(self) -> str:
        return f"{self.provider}:{self.id}" if self.provider else self.id


def as_model(model: LLModel | str) -> LLModel:
    """A model from ``"id"`` or ``"provider:id"``."""
    if isinstance(model, LLModel):
        return model
    if not isinstance(model, str) or not model:
        raise MessageError(
            f"A model is a name such as 'offline' or 'provider:name', or an LLModel, not {model!r}."
        )
    provider, colon, name = model.partition(":")
    return LLModel(name, provider) if colon else LLModel(model)


class ToolChoice(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Whether and which tool the model has to call; ``tool`` goes with ``named`` only."""

    mode: Literal["auto", "none", "required", "named"] = "auto"
    tool: str | None = None

    def __post_init__(self) -> None:
        require_types(self, str, "mode")
        if self.mode not in ("auto", "none", "required", "named"):
            raise MessageError(f"A tool choice is 'auto', 'none', 'required' or 'named', not {self.mode!r}.")
        require_types(self, str, "tool", optional=True)
        if (self.mode == "named") != (self.tool is not None):
            raise MessageError(
                "A tool is named with mode 'named', and only there: ToolChoice('named', 'search')."
            )


class LLMParams(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of a request (Koog's ``LLMParams``); None leaves it to the provider.

    Raises:
        MessageError: A value of another type, a temperature that is no finite number, or a whole number of more than
            64 bits.
    """

    temperature: float | None = None
    max_tokens: int | None = None
    choices: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    tool_choice: ToolChoice | None = None
    user: str | None = None

    def __post_init__(self) -> None:
        stop: object = self.stop
        if isinstance(stop, list):
            force_setattr(self, "stop", tuple(stop))
        temperature: object = self.temperature
        if type(temperature) is int:
            try:
                force_setattr(self, "temperature", float(temperature))
            except OverflowError as problem:
                raise MessageError("A temperature is a finite number; this one is too large.") from problem
        require_types(self, float, "temperature", optional=True)
        if self.temperature is not None and not isfinite(self.temperature):
            raise MessageError(f"A temperature is a finite number, not {self.temperature}.")
        require_integers(self, "max_tokens", "choices", "seed")
        for name in ("max_tokens", "choices"):
            number = getattr(self, name)
            if number is not None and number < 1:
                raise MessageError(
                    f"{name} is at least 1, or None to leave it to the provider; not {number}."
                )
        require_types(self, tuple, "stop")
        require_types(self, ToolChoice, "tool_choice", optional=True)
        require_types(self, str, "user", optional=True)
        if not all(type(text) is str for text in self.stop):
            raise MessageError(f"The stop texts are a tuple of texts, not {self.stop!r}.")

    def with_changes(self, **changes: Any) -> LLMParams:
        """A copy in which only these fields differ."""
        return replace(self, **changes)
