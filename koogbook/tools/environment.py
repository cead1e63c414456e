"""Running the calls of one turn: every call gets a result, whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import msgspec

from koogbook import clock
from koogbook.events import ToolCallCompleted, ToolCallFailed, ToolCallStarting, ToolValidationFailed
from koogbook.messages.message import Message, tool_result
from koogbook.messages.parts import ToolCall
from koogbook.pipeline import EventLog
from koogbook.tools.tool import Tool, ToolRegistry


async def run_calls(calls: Iterable[ToolCall], tools: ToolRegistry, log: EventLog) -> list[Message]:
    """Run tool calls one by one and give one result message per call, in call order.

    An unknown tool, arguments that do not fit, or an exception in the tool become an error result for the model; the
    run goes on. A tool that returns None succeeded. A synchronous tool runs in a thread. Cancellation goes through.
    """
    return [await _run_call(call, tools, log) for call in calls]


async def _run_call(call: ToolCall, tools: ToolRegistry, log: EventLog) -> Message:
    tool = tools.get(call.tool)
    if tool is None:
        offered = ", ".join(tools.names) or "none"
        return _refuse(call, f"There is no tool named {call.tool!r}. Tools on offer: {offered}.", log)
    try:
        arguments = msgspec.structs.asdict(msgspec.json.decode(call.args or "{}", type=tool.arguments))
    except (msgspec.DecodeError, UnicodeError) as problem:
        return _refuse(call, f"The arguments do not fit: {problem}. Schema: {tool.spec.parameters}", log)
    log.emit(ToolCallStarting, tool=call.tool, call_id=call.id, args=call.args)
    started = clock.monotonic()
    try:
        returned = (
            await tool.function(**arguments)
            if tool.is_async
            else await asyncio.to_thread(tool.function, **arguments)
        )
        output = _as_text(tool, returned)
    except Exception as problem:
        error = f"{type(problem).__name__}: {problem}"
        log.emit(
            ToolCallFailed, tool=call.tool, call_id=call.id, seconds=clock.monotonic() - started, error=error
        )
        return tool_result(call, f"The tool failed: {error}", is_error=True)
    log.emit(
        ToolCallCompleted, tool=call.tool, call_id=call.id, seconds=clock.monotonic() - started, output=output
    )
    return tool_result(call, output)


def _refuse(call: ToolCall, error: str, log: EventLog) -> Message:
    log.emit(ToolValidationFailed, tool=call.tool, call_id=call.id, error=error)
    return tool_result(call, error, is_error=True)


def _as_text(tool: Tool, returned: object) -> str:
    if isinstance(returned, str):
        return returned
    if returned is None:
        return ""
    try:
        return msgspec.json.encode(returned).decode()
    except (TypeError, ValueError) as problem:
        raise TypeError(
            f"tool {tool.name!r} returned {type(returned).__name__}, which is no JSON: {problem}"
        ) from problem
