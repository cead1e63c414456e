"""The nodes of a subgraph that works on a task: ask, run tools, send their results, until the finish tool is called."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from copy import copy
from functools import wraps
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from koogbook.errors import BoundaryTypeError, GraphError, TaskNotFinishedError
from koogbook.llm.layers import layer_tag
from koogbook.messages.message import REFERENCE_NAME, Message, user
from koogbook.messages.parts import ToolCall
from koogbook.runtime.checking.boundaries import acceptor
from koogbook.runtime.node import NodeFunction
from koogbook.runtime.ready.functions import Given, UserFunction
from koogbook.state.codec import describe_type
from koogbook.tools.results import ResultError, as_text
from koogbook.tools.tool import Tool, ToolException

_LONGEST = 200


class TaskTurn(Struct, frozen=True, kw_only=True):
    """Where a task stands; what its nodes hand on.

    ``input`` is what the subgraph was given, ``reply`` what the model answered last, ``texts`` how often that was no
    tool call so far. ``results`` are those of its calls, not appended yet, and with ``is_finished`` the finish tool is
    among them and gave ``result``.
    """

    input: Any
    reply: Message
    texts: int = 0
    results: tuple[Message, ...] = ()
    is_finished: bool = False
    result: Any = None


class TaskPlan(Struct, frozen=True, kw_only=True):
    """What a task subgraph was asked for: its text or the function that makes it, and how it ends.

    ``conclude`` makes the output of the finish tool's result and the input. ``checked`` is the type that the result has
    to be of; Any where its schema has seen to that.
    """

    task: str | UserFunction
    finish: Given
    finish_name: str
    parallel_tools: int | bool
    text_limit: int
    checked: Any
    conclude: Callable[[Any, Any], Any]


class _Outcome:
    """What the finish tool gave in this call."""

    __slots__ = ("is_given", "value", "was_finished")

    def __init__(self, *, was_finished: bool) -> None:
        self.was_finished = was_finished
        self.is_given = False
        self.value: Any = None


#: Where the finish tool puts what it gives: an object, and no text for the model.
_outcome: ContextVar[_Outcome | None] = ContextVar("koogbook_task_outcome", default=None)


def watched(finish: Tool) -> Tool:
    """The same tool, which says what it gives to the node that runs it."""
    function = finish.function
    made = copy(finish)

    @wraps(function)
    def called(**arguments: Any) -> Any:
        outcome = _outcome.get()
        if outcome is not None and outcome.was_finished:
            raise ToolException(
                f"The task is finished: an earlier call of {finish.name} in this turn counts. This one was not run."
            )
        given = function(**arguments)
        return _awaited(outcome, given) if inspect.isawaitable(given) else _kept(outcome, given)

    @wraps(function)
    async def called_async(**arguments: Any) -> Any:
        given = called(**arguments)
        return await given if inspect.isawaitable(given) else given

    made.function = called_async if finish.is_async else called
    return made


async def _awaited(outcome: _Outcome | None, given: Awaitable[Any]) -> str:
    return _kept(outcome, await given)


def _kept(outcome: _Outcome | None, value: Any) -> str:
    if outcome is not None:
        outcome.value, outcome.is_given = value, True
    try:
        return as_text(value)
    except ResultError:  # the output may be anything, and the model need not read it
        return "The task is finished."


def ask_function(plan: TaskPlan) -> NodeFunction:
    """Say the task and ask; the answer has to call tools, as all that follow."""

    async def ask(ctx: Any, value: Any) -> TaskTurn:
        text = await plan.task(ctx, value) if isinstance(plan.task, UserFunction) else plan.task
        if not isinstance(text, str):
            raise GraphError(
                f"{ctx.path}: the function of the task gives a text, not {type(text).__name__}. Nothing was sent."
            )
        return TaskTurn(input=value, reply=await _asked(ctx, user(text)))

    return ask


def run_tools_function(plan: TaskPlan) -> NodeFunction:
    """Run all calls of the answer, that of the finish tool included; each gets a result, in call order."""

    async def run_tools(ctx: Any, turn: TaskTurn) -> TaskTurn:
        results, outcome = await _run(ctx, turn.reply.calls, plan)
        if outcome is None:
            return replace(turn, results=results)
        accepts = acceptor(plan.checked)
        if accepts is not None and not accepts(outcome.value):
            raise BoundaryTypeError(
                f"{ctx.path}: the finish tool {plan.finish_name} gave {type(outcome.value).__name__} "
                f"{outcome.value!r:.80}, and the subgraph gives {describe_type(plan.checked)}. Mend its return value, "
                "or the output= of the subgraph.",
                node=ctx.path,
                value=outcome.value,
            )
        return replace(turn, results=results, is_finished=True, result=outcome.value)

    return run_tools


async def _run(
    ctx: Any, calls: tuple[ToolCall, ...], plan: TaskPlan
) -> tuple[tuple[Message, ...], _Outcome | None]:
    others = [at for at, call in enumerate(calls) if call.tool != plan.finish_name]
    results: dict[int, Message] = {}
    if plan.parallel_tools:
        at_once = await ctx.run_tools([calls[at] for at in others], parallel=plan.parallel_tools)
        results.update(zip(others, at_once, strict=True))
    finished: _Outcome | None = None
    for at, call in enumerate(calls):
        if at in results:
            continue
        outcome = _Outcome(was_finished=finished is not None)
        token = _outcome.set(outcome if call.tool == plan.finish_name else None)
        try:
            results[at] = (await ctx.run_tools([call]))[0]
        finally:
            _outcome.reset(token)
        if outcome.is_given and not any(result.is_error for result in results[at].results):
            finished = outcome
    return tuple(results[at] for at in range(len(calls))), finished


async def send_results(ctx: Any, turn: TaskTurn) -> TaskTurn:
    """Append the results and ask again."""
    return replace(turn, results=(), reply=await _asked(ctx, *turn.results))


def nudge_function(plan: TaskPlan) -> NodeFunction:
    """Answer a text: the model is told to call a tool, a number of times."""

    async def nudge(ctx: Any, turn: TaskTurn) -> TaskTurn:
        if turn.texts >= plan.text_limit:
            said = turn.reply.text.strip()
            raise TaskNotFinishedError(
                f"Subgraph {ctx.path.rpartition('/')[0]!r}: the model was to work with tools and to end with "
                f"{plan.finish_name!r}, and it answered {_times(turn.texts + 1)} without calling any, at last with "
                f"{_quoted(said)}. Its task is not finished. "
                "Say in the task when to call what, ask another model, or allow more such answers: text_limit=."
            )
        reply = await _asked(ctx, _reminder(plan.finish_name))
        return replace(turn, texts=turn.texts + 1, reply=reply)

    return nudge


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _quoted(said: str) -> str:
    if not said:
        return "nothing"
    return f'"{said[:_LONGEST]}{"..." if len(said) > _LONGEST else ""}"'


def take_result_function(plan: TaskPlan) -> NodeFunction:
    """Append the results of the last turn and give the output; the model is not asked again."""

    async def take_result(ctx: Any, turn: TaskTurn) -> Any:
        async with ctx.llm.write_session() as session:
            session.append(*turn.results)
        return plan.conclude(turn.result, turn.input)

    return take_result


def calls_tools(turn: TaskTurn) -> bool:
    """Whether the answer calls tools."""
    return bool(turn.reply.calls)


def is_finished(turn: TaskTurn) -> bool:
    """Whether the finish tool was called with arguments that fit."""
    return turn.is_finished


async def _asked(ctx: Any, *messages: Message) -> Message:
    async with ctx.llm.write_session() as session:
        session.append(*messages)
        reply: Message = await session.request_only_calling_tools()
    return reply


def _reminder(finish: str) -> Message:
    return user(
        "Do not answer in text: nobody reads it here. Go on with the task by calling a tool. When the task is done, "
        f"call {finish}.",
        name=REFERENCE_NAME,
        metadata={**layer_tag("instruction"), "nudge": True},
    )
