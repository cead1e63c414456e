"""Ready conditions for edges: they choose an edge, and never change what travels along it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable
from typing import Any, overload

from koogbook.errors import GraphError
from koogbook.functions import is_async
from koogbook.messages.message import Message
from koogbook.messages.parts import ToolCall, ToolResult
from koogbook.runtime.node import Step
from koogbook.runtime.ready.functions import is_same_given, tool_name


class Condition:
    """A condition with a label, made from what was given; equal to another that was made from the same.

    So an edge that a cell defines again is the edge from before. Calling it with ``(ctx, output)`` says whether it
    holds.
    """

    __slots__ = ("_given", "_holds", "label")

    def __init__(self, label: str, given: tuple[Any, ...], holds: Callable[[Any, Any], Any]) -> None:
        self.label = label
        self._given = given
        self._holds = holds

    def __call__(self, ctx: Any, output: Any) -> Any:
        """Whether it holds."""
        return self._holds(ctx, output)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Condition)
            and self.label == other.label
            and is_same_given(self._given, other._given)
        )

    def __hash__(self) -> int:
        return hash(self.label)

    def __repr__(self) -> str:
        return f"<condition: {self.label}>"


def history_over(*, max_messages: int | None = None, max_tokens: int | None = None) -> Condition:
    """A condition for an edge: the committed history has more messages, or more estimated tokens, than this.

    Raises:
        ValueError: Neither limit is given, or one is below 1.
    """
    given = [limit for limit in (max_messages, max_tokens) if limit is not None]
    if not given or any(limit < 1 for limit in given):
        raise ValueError("history_over needs max_messages= or max_tokens=, each at least 1.")
    limits = []
    if max_messages is not None:
        limits.append(f"over {max_messages:,} messages")
    if max_tokens is not None:
        limits.append(f"over {max_tokens:,} tokens")

    def holds(ctx: Any, output: Any) -> bool:
        prompt = ctx.llm.committed.prompt
        return (max_messages is not None and len(prompt) > max_messages) or (
            max_tokens is not None and prompt.tokens > max_tokens
        )

    return Condition(" or ".join(limits), (max_messages, max_tokens), holds)


def has_tool_calls(output: Any) -> bool:
    """A condition for an edge: the output is an assistant message with tool calls (Koog's ``onToolCalls``).

    It chooses the edge and drops none of the calls.
    """
    return isinstance(output, Message) and bool(output.calls)


has_tool_calls.label = "tool calls"  # type: ignore[attr-defined]


_MISSING: Any = object()


@overload
def has_text(output: Any, /) -> bool: ...
@overload
def has_text(*, allow_tool_calls: bool) -> Condition: ...
def has_text(output: Any = _MISSING, /, *, allow_tool_calls: bool = False) -> bool | Condition:
    """A condition for an edge: an assistant message with text and without calls (Koog's ``onAssistantMessage``).

    ``when=kb.has_text``; a reply with text and calls as well counts with ``when=kb.has_text(allow_tool_calls=True)``.
    """
    if output is not _MISSING:
        return _has_text(output, allow_tool_calls)
    return Condition(
        "text, with or without calls" if allow_tool_calls else "text",
        (allow_tool_calls,),
        lambda ctx, given: _has_text(given, allow_tool_calls),
    )


has_text.label = "text"  # type: ignore[attr-defined]


def _has_text(output: Any, allow_tool_calls: bool) -> bool:
    return (
        isinstance(output, Message)
        and output.role == "assistant"
        and bool(output.text.strip())
        and (allow_tool_calls or not output.calls)
    )


def calls_tool(tool: Any, where: Callable[[dict[str, Any]], Any] | None = None) -> Condition:
    """A condition for an edge: the output calls this tool (Koog's ``onToolCall(tool)``), perhaps among others.

    It chooses the edge and drops none of the calls. The output is an assistant message or a single call.

    Args:
        tool: Its name, the tool, or its function.
        where: A function of the call's arguments, decoded from JSON, by name; the condition holds where it does for
            one of the calls. Arguments that are no JSON object fulfil none.

    Raises:
        GraphError: It is no tool, or ``where`` is no plain function.
    """
    name = tool_name(tool, "calls_tool")
    if where is not None and (not callable(where) or is_async(where)):
        raise GraphError(
            f"calls_tool({name!r}), where=: it is a plain function of the arguments, not {where!r:.60}. Nothing was "
            "defined. What has to be awaited goes into when= itself: async def condition(ctx, output)."
        )

    def holds(ctx: Any, output: Any) -> bool:
        calls = output.calls if isinstance(output, Message) else (output,)
        found = [call for call in calls if isinstance(call, ToolCall) and call.tool == name]
        if where is None:
            return bool(found)
        decoded = (_arguments(call) for call in found)
        return any(arguments is not None and where(arguments) for arguments in decoded)

    label = f"calls {name}"
    if where is not None:
        named = getattr(where, "__name__", type(where).__name__)
        label += " where it fits" if named == "<lambda>" else f" where {named.replace('_', ' ')}"
    return Condition(label, (name, where), holds)


def _arguments(call: ToolCall) -> dict[str, Any] | None:
    try:
        decoded = json.loads(call.args or "{}")
    except (ValueError, RecursionError):
        return None
    return decoded if isinstance(decoded, dict) else None


def is_instance(kind: type | tuple[type, ...]) -> Condition:
    """A condition for an edge: the output is of this type, or of one of these (Koog's ``onIsInstance``).

    Raises:
        GraphError: It is no type.
    """
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not kinds or not all(isinstance(one, type) for one in kinds):
        raise GraphError(
            f"is_instance takes a type or a tuple of types, not {kind!r:.60}. Nothing was defined. Of list[int] and "
            "the like only the list can be seen: is_instance(list)."
        )
    named = " or ".join(one.__name__ for one in kinds)
    return Condition(f"is {named}", kinds, lambda ctx, output: isinstance(output, kinds))


def tools_succeeded(output: Any) -> bool:
    """A condition for an edge: the output is a tool message, or a list of them, and no result is an error.

    Koog's ``onSuccessful``. Of what holds no result at all it does not hold, and neither does :func:`tools_failed`.
    """
    results = _results(output)
    return bool(results) and not any(result.is_error for result in results)


def tools_failed(output: Any) -> bool:
    """A condition for an edge: the output is a tool message, or a list of them, and a result is an error.

    Koog's ``onFailure``. It chooses the edge and drops none of the results.
    """
    return any(result.is_error for result in _results(output))


tools_succeeded.label = "tools succeeded"  # type: ignore[attr-defined]
tools_failed.label = "a tool failed"  # type: ignore[attr-defined]


def _results(output: Any) -> list[ToolResult]:
    messages = output if isinstance(output, list | tuple) else [output]
    return [result for message in messages if isinstance(message, Message) for result in message.results]


def not_(condition: Callable[..., Any]) -> Condition:
    """A condition for an edge: this one does not hold; it takes ``(output)`` or ``(ctx, output)``, sync or async.

    Raises:
        GraphError: It takes other arguments.
    """
    step = Step("when", condition)

    def holds(ctx: Any, output: Any) -> bool | Awaitable[bool]:
        given = step.function(ctx, output) if step.with_context else step.function(output)
        return _not_awaited(given) if inspect.isawaitable(given) else not given

    return Condition(f"not {_label(step)}", (condition,), holds)


#: They make conditions, and are none themselves.
_MAKERS: tuple[Any, ...] = (history_over, calls_tool, is_instance, not_)
for _maker in _MAKERS:
    _maker.makes_condition = True


async def _not_awaited(given: Awaitable[Any]) -> bool:
    return not await given


def _label(step: Step) -> str:
    label = getattr(step.function, "label", None)
    name = getattr(step.function, "__name__", type(step.function).__name__)
    return label if isinstance(label, str) else "condition" if name == "<lambda>" else name.replace("_", " ")
