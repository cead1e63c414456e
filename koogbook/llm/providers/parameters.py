"""Parameters, tools and the wanted shape of an answer, under the names of pydantic-ai."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from koogbook.llm.providers.names import Provider
from koogbook.llm.request import Request

if TYPE_CHECKING:
    from pydantic_ai.models import ModelRequestParameters


class Settings(Struct, frozen=True):
    """Parameters as pydantic-ai takes them; ``not_sent`` are ours that this provider cannot be told."""

    taken: dict[str, Any]
    not_sent: tuple[str, ...] = ()


def settings_of(request: Request, provider: Provider, unsupported: frozenset[str]) -> Settings:
    """Parameters under the names of pydantic-ai; ``unsupported`` are those that the model would ignore."""
    params = request.params
    given = (
        ("temperature", "temperature", params.temperature),
        ("max_tokens", "max_tokens", params.max_tokens),
        ("seed", "seed", params.seed),
        ("stop", "stop_sequences", list(params.stop) or None),
        ("user", *_user(provider, params.user)),
        ("choices", "", params.choices if params.choices != 1 else None),
        ("tool_choice", "tool_choice", _tool_choice(request)),
    )
    # Our own wrappers ask again, where somebody wants it; a library that does so, too, would multiply it. The clients
    # of these two are made so; told once more, they would copy themselves, and read the environment again.
    told = "max_retries" in unsupported or provider.package in ("anthropic", "openai")
    taken: dict[str, Any] = {} if told else {"max_retries": 0}
    if provider.package == "openai":
        taken["openai_continuous_usage_stats"] = True  # see chat_models
    not_sent = []
    for ours, theirs, value in given:
        if value is None:
            continue
        if theirs and theirs not in unsupported:
            taken[theirs] = value
        else:
            not_sent.append(f"the parameter {ours}")
    return Settings(taken, tuple(not_sent))


def unsupported_by(model: Any) -> frozenset[str]:
    """The settings that a model of pydantic-ai leaves out, by its class and by what is known of its name.

    The library takes some of them away only when it sends, with a warning on stderr or with none.
    """
    profile = model.profile
    found = {*model.unsupported_settings, *profile.get("openai_unsupported_model_settings", ())}
    thinks = profile.get("openai_supports_reasoning", False)
    rests = profile.get("openai_supports_reasoning_effort_none", False)
    if thinks and not (rests and not profile.get("thinking_enabled_by_default", False)):
        found.add("temperature")
    if any(profile.get(f"{whose}_disallows_sampling_settings", False) for whose in ("anthropic", "bedrock")):
        found.add("temperature")
    return frozenset(found)


def _user(provider: Provider, user: str | None) -> tuple[str, Any]:
    """Who asks, under the name that the provider has for it."""
    if provider.package == "openai":
        return "openai_user", user
    if provider.name == "anthropic":
        return "anthropic_metadata", None if user is None else {"user_id": user}
    return "", user


def _tool_choice(request: Request) -> Any:
    choice = request.params.tool_choice
    if choice is None or not request.tools:
        return None
    return [choice.tool] if choice.mode == "named" else choice.mode


def parameters_of(request: Request, *, native_schema: bool) -> ModelRequestParameters:
    """The tools, and the schema of the answer where the model takes one that is an object."""
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition
    from pydantic_ai.tools import ToolDefinition

    tools = [
        ToolDefinition(
            name=spec.name,
            description=spec.description or None,
            parameters_json_schema=json.loads(spec.parameters),
        )
        for spec in request.tools
    ]
    schema = object_schema(request.schema) if native_schema else None
    if schema is None:
        return ModelRequestParameters(function_tools=tools)
    return ModelRequestParameters(
        function_tools=tools,
        output_mode="native",
        output_object=OutputObjectDefinition(json_schema=schema, name=_name_of(schema)),
    )


def object_schema(text: str | None) -> dict[str, Any] | None:
    """A schema whose value is an object, with that object at its top; None for others, which no provider takes."""
    if text is None:
        return None
    schema = json.loads(text)
    definitions = dict(schema.get("$defs", {}))
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        name = reference.removeprefix("#/$defs/").replace("~1", "/").replace("~0", "~")
        top = definitions.get(name)
        if not isinstance(top, dict):
            return None
        # An object that holds one of its own kind refers to itself by that name.
        if f'"{reference}"' not in json.dumps(
            [top, {key: one for key, one in definitions.items() if key != name}]
        ):
            definitions.pop(name)
        schema = {**top, "$defs": definitions} if definitions else dict(top)
    return schema if isinstance(schema, dict) and schema.get("type") == "object" else None


def _name_of(schema: dict[str, Any]) -> str:
    """A title as providers allow names: letters, digits, at most 64 of them."""
    title = "".join(
        char if char.isascii() and char.isalnum() else "_" for char in str(schema.get("title", ""))
    )
    return title.strip("_")[:64] or "answer"
