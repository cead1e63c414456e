"""Running the calls of one turn: every call gets a result, whatever happens."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextvars import ContextVar
from difflib import get_close_matches
from functools import partial
from typing import Any

from koogbook import clock
from koogbook.errors import FeatureError
from koogbook.events import ToolCallCompleted, ToolCallFailed, ToolCallStarting, ToolValidationFailed
from koogbook.messages.message import Message, tool_result
from koogbook.messages.parts import ToolCall
from koogbook.pipeline import EventLog, Wrapper, wrapped
from koogbook.tools.failures import in_words, refusal
from koogbook.tools.results import as_text
from koogbook.tools.tool import LONGEST_NAME, Tool, ToolException, ToolRegistry

#: Where a wrapper wants to know what it let through: the log and the number of each execution, as they begin.
let_through: ContextVar[list[tuple[EventLog, int]] | None] = ContextVar("koogbook_let_through", default=None)

_IN_ITS_THREAD = "; the function ran in a thread, which nothing can stop, and may have run to its end"


async def run_calls(
    calls: Iterable[ToolCall],
    tools: ToolRegistry,
    log: EventLog,
    around: Sequence[Wrapper] = (),
    *,
    parallel: int | None = None,
) -> list[Message]:
    """Run tool calls and give one result message per call, in call order.

    An unknown tool, arguments that do not fit, or an exception in the tool become an error result for the model; the
    run goes on. A tool that returns None succeeded. A synchronous tool runs in a thread. Cancellation goes through, and
    does not wait for the threads of synchronous tools, which nothing can stop: their functions may run to their ends,
    and the event says so.

    Args:
        calls: What the model asked for.
        tools: What it may ask for.
        log: Takes the events.
        around: Wrappers of each call, outermost first; what they raise ends the run.
        parallel: At most so many at once, each in a task of its own; None or 1: one after another. Where one ends the
            run, the others are cancelled and have all ended before it does.

    Raises:
        FeatureError: A wrapper gave something else than a tool message with the result of its call.
        ValueError: ``parallel`` is less than 1.
    """
    if parallel is not None and parallel < 1:
        raise ValueError(f"parallel says how many calls may run at once, from 1, not {parallel!r}.")
    asked = list(calls)
    if parallel is None or parallel == 1 or len(asked) < 2:
        return [await _run_wrapped(call, tools, log, around) for call in asked]
    return await _at_once([partial(_run_wrapped, call, tools, log, around) for call in asked], parallel)


async def _at_once(jobs: Sequence[Callable[[], Awaitable[Message]]], most: int) -> list[Message]:
    """Run jobs in tasks, at most so many at once; the first that raises cancels the others and waits for them."""
    results: list[Message | None] = [None] * len(jobs)
    ended_by: list[BaseException] = []
    free = asyncio.Semaphore(most)

    async def run(at: int) -> None:
        try:
            async with free:
                results[at] = await jobs[at]()
        except BaseException as problem:  # raised again below: here an interrupt would break the loop itself
            end(problem)

    def end(problem: BaseException) -> None:
        """Cancel the others, once: a second time would cut off what they do at their end."""
        if not ended_by:
            for task in tasks:
                if task is not asyncio.current_task():
                    task.cancel()
        ended_by.append(problem)

    tasks = [asyncio.create_task(run(at)) for at in range(len(jobs))]
    while not all(task.done() for task in tasks):
        try:
            await asyncio.wait(tasks)
        except (
            asyncio.CancelledError
        ) as problem:  # of the whole turn: it comes before what the calls ended with
            end(problem)
            ended_by.insert(0, problem)
    if ended_by:
        raise ended_by[0]
    return [result for result in results if result is not None]


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
    number = log.next_number()
    if (let := let_through.get()) is not None:
        let.append((log, number))
    tool = tools.get(call.tool)
    if tool is None:
        return _refuse(call, number, _unknown(call.tool, tools.names), log)
    try:
        arguments = tool.read_arguments(call.args)
    except ToolException as problem:
        return _refuse(call, number, refusal(problem), log)
    started = clock.monotonic()
    try:
        log.emit(ToolCallStarting, tool=call.tool, call_id=call.id, number=number, args=call.args)
        output = as_text(await _called(tool, arguments))
    except ToolException as problem:
        return _refuse(call, number, refusal(problem), log)
    except BaseException as problem:
        failed: dict[str, Any] = {
            "tool": call.tool,
            "call_id": call.id,
            "number": number,
            "seconds": clock.monotonic() - started,
            "error": in_words(problem),
        }
        cancelled = isinstance(problem, asyncio.CancelledError) and _is_being_cancelled()
        if cancelled and not tool.is_async:
            failed["error"] += _IN_ITS_THREAD
        # A tool that wants to end the program has failed, and so has one that waited for what somebody cancelled; that
        # the user interrupts it, a cancellation of the run, or what a listener has raised inside of it, goes on.
        goes_on = cancelled or not isinstance(problem, Exception | SystemExit | asyncio.CancelledError)
        if goes_on or log.came_of_listener(problem):
            log.emit_quietly(ToolCallFailed, cancelled=cancelled, **failed)
            raise
        log.emit(ToolCallFailed, **failed)
        return tool_result(call, f"The tool failed: {failed['error']}", is_error=True)
    log.emit(
        ToolCallCompleted,
        tool=call.tool,
        call_id=call.id,
        number=number,
        seconds=clock.monotonic() - started,
        output=output,
    )
    return tool_result(call, output)


def _is_being_cancelled() -> bool:
    """Whether somebody has cancelled the current task, and not only something that it waits for."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


async def _called(tool: Tool, arguments: dict[str, Any]) -> object:
    if tool.is_async:
        returned = tool.function(**arguments)
    else:
        returned = await asyncio.to_thread(_called_in_thread, tool, arguments)
    return await returned if inspect.isawaitable(returned) else returned


def _called_in_thread(tool: Tool, arguments: dict[str, Any]) -> object:
    try:
        return tool.function(**arguments)
    except StopIteration as problem:
        # A future cannot hold it: on Python 3.11 the run would wait for ever.
        raise RuntimeError("the tool raised StopIteration, as next() does at the end") from problem


# ------------------------------------------------------------------------------------------- what the model reads


def _refuse(call: ToolCall, number: int, error: str, log: EventLog) -> Message:
    log.emit(
        ToolValidationFailed, tool=call.tool, call_id=call.id, number=number, error=error, args=call.args
    )
    return tool_result(call, error, is_error=True)


def _unknown(name: str, names: Sequence[str]) -> str:
    """That there is no such tool, and which there are, the nearest first."""
    said = f"There is no tool named {name[:LONGEST_NAME]!r}."
    if not names:
        return f"{said} There are no tools at all: answer without one."
    near = get_close_matches(name[:LONGEST_NAME], names, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"{said}{hint} Tools on offer: {', '.join(dict.fromkeys((*near, *names)))}."
