"""Running the calls of one turn: every call gets a result, whatever happens."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from koogbook import clock
from koogbook.errors import FeatureError
from koogbook.events import ToolCallCompleted, ToolCallFailed, ToolCallStarting, ToolValidationFailed
from koogbook.messages.message import Message, tool_result
from koogbook.messages.parts import ToolCall
from koogbook.pipeline import EventLog, Wrapper, wrapped
from koogbook.tools.tool import Tool, ToolRegistry


async def run_calls(
    calls: Iterable[ToolCall], tools: ToolRegistry, log: EventLog, around: Sequence[Wrapper] = ()
) -> list[Message]:
    """Run tool calls one by one and give one result message per call, in call order.

    An unknown tool, arguments that do not fit, or an exception in the tool become an error result for the model; the
    run goes on. A tool that returns None succeeded. A synchronous tool runs in a thread. Cancellation goes through.

    Args:
        calls: What the model asked for.
        tools: What it may ask for.
        log: Takes the events.
        around: Wrappers of each call, outermost first; what they raise ends the run.

    Raises:
        FeatureError: A wrapper gave something else than a tool message with the result of its call.
    """
    return [await _run_wrapped(call, tools, log, around) for call in calls]


async def _run_wrapped(
    call: ToolCall, tools: ToolRegistry, log: EventLog, around: Sequence[Wrapper]
) -> Message:
    if not around:
        return await _run_call(call, tools, log)
    result = await wrapped(around, lambda asked: _run_call(asked, tools, log))(call)
    if (
        not isinstance(result, Message)
        or result.role != "tool"
        or [one.call_id for one in result.results] != [call.id]
    ):
        given = result.role if isinstance(result, Message) else type(result).__name__
        raise FeatureError(
            f"around_tool_call of call {call.id!r} of {call.tool!r} gave {given} and not a tool message with the "
            "result of this call. Nothing was appended. Return what call gives, or kb.tool_result(tool_call, ...)."
        )
    return result


async def _run_call(call: ToolCall, tools: ToolRegistry, log: EventLog) -> Message:
    tool = tools.get(call.tool)
    if tool is None:
        offered = ", ".join(tools.names) or "none"
        return _refuse(call, f"There is no tool named {call.tool!r}. Tools on offer: {offered}.", log)
    try:
        arguments = msgspec.structs.asdict(msgspec.json.decode(call.args or "{}", type=tool.arguments))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as problem:
        return _refuse(call, f"The arguments do not fit: {problem}. Schema: {tool.spec.parameters}", log)
    log.emit(ToolCallStarting, tool=call.tool, call_id=call.id, args=call.args)
    started = clock.monotonic()
    try:
        output = _as_text(tool, await _called(tool, arguments))
    except BaseException as problem:
        seconds, error = clock.monotonic() - started, f"{type(problem).__name__}: {problem}"
        if not isinstance(problem, Exception):
            log.emit_quietly(ToolCallFailed, tool=call.tool, call_id=call.id, seconds=seconds, error=error)
            raise
        log.emit(ToolCallFailed, tool=call.tool, call_id=call.id, seconds=seconds, error=error)
        return tool_result(call, f"The tool failed: {error}", is_error=True)
    log.emit(
        ToolCallCompleted, tool=call.tool, call_id=call.id, seconds=clock.monotonic() - started, output=output
    )
    return tool_result(call, output)


async def _called(tool: Tool, arguments: dict[str, Any]) -> object:
    if tool.is_async:
        return await tool.function(**arguments)
    returned = await asyncio.to_thread(_called_in_thread, tool, arguments)
    return await returned if inspect.isawaitable(returned) else returned


def _called_in_thread(tool: Tool, arguments: dict[str, Any]) -> object:
    try:
        return tool.function(**arguments)
    except StopIteration as problem:
        # A future cannot hold it: on Python 3.11 the run would wait for ever.
        raise RuntimeError("the tool raised StopIteration, as next() does at the end") from problem


def _refuse(call: ToolCall, error: str, log: EventLog) -> Message:
    log.emit(ToolValidationFailed, tool=call.tool, call_id=call.id, error=error)
    return tool_result(call, error, is_error=True)


def _as_text(tool: Tool, returned: object) -> str:
    if isinstance(returned, str):
        return returned
    if returned is None:
        return ""
    try:
        built = msgspec.to_builtins(returned, str_keys=True)
        return json.dumps(built, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as problem:
        raise TypeError(
            f"tool {tool.name!r} returned {type(returned).__name__}, which is no JSON: {problem}"
        ) from problem
