"""What the ready nodes do: functions of ``(ctx, input)``, made from what the user has given."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from koogbook import clock
from koogbook.errors import GraphError, StructuredOutputError, ToolPairingError
from koogbook.functions import is_same_function
from koogbook.llm.executor import Frame
from koogbook.messages.message import Message, user
from koogbook.messages.pairing import open_calls
from koogbook.messages.parts import ToolCall
from koogbook.runtime.node import NodeFunction, Step
from koogbook.tools.tool import Tool

if TYPE_CHECKING:
    from koogbook.runtime.context import Context

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


class Given:
    """Something that the user has given, equal to another that does the same.

    So a node that a cell defines again with the same lambda is the one from before, and nothing is reported.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Given) and is_same_given(self.value, other.value)

    __hash__ = None  # type: ignore[assignment]


def is_same_given(before: Any, now: Any) -> bool:
    """Whether two things that were given do the same: functions by their code, tools by what a model sees, too."""
    if isinstance(before, list | tuple) and isinstance(now, list | tuple):
        return len(before) == len(now) and all(map(is_same_given, before, now))
    if isinstance(before, dict) and isinstance(now, dict):
        return before.keys() == now.keys() and all(is_same_given(before[key], now[key]) for key in before)
    if isinstance(before, Tool) and isinstance(now, Tool):
        return before.spec == now.spec and is_same_function(before.function, now.function)
    return is_same_function(before, now)


async def pass_on(ctx: Context, value: Any) -> Any:
    """Nothing but its input."""
    return value


def as_appended(value: Any, where: str) -> tuple[Message, ...]:
    """What is appended for an input: a text as a user message, a message, or several of them.

    Raises:
        TypeError: It is something else; nothing was sent.
    """
    if isinstance(value, str):
        return (user(value),)
    if isinstance(value, Message):
        return (value,)
    if isinstance(value, list | tuple):
        return tuple(message for one in value for message in as_appended(one, where))
    raise TypeError(
        f"{where} takes a text, a message or a list of messages, not {type(value).__name__}. Nothing was sent. Make "
        "one of it on the edge that leads there: map=str."
    )


def append_function(given: tuple[Any, ...], name: str) -> NodeFunction:
    """The function of a node that appends these messages, or those that a function gives for its input.

    Raises:
        GraphError: Something else is among them; or a function is not alone, or takes other arguments.
    """
    alone = given[0] if len(given) == 1 else None
    if callable(alone):
        return _append_made(user_function(alone, name, "append_prompt takes messages, texts, or one"))
    if not given or not all(isinstance(one, str | Message) for one in given):
        raise GraphError(
            f"Node {name!r}: append_prompt takes messages, texts (each a user message), or one function of the input, "
            f"not {given!r:.80}. Nothing was defined."
        )
    # Each time they get ids and times of their own, since a history holds a message once.
    return _append_fixed(
        tuple(replace(user(one) if isinstance(one, str) else one, id="", time=_NEVER) for one in given)
    )


def _append_fixed(messages: tuple[Message, ...]) -> NodeFunction:
    async def append(ctx: Context, value: Any) -> Any:
        async with ctx.llm.write_session() as session:
            session.append(*(replace(message, id=clock.new_id(), time=clock.now()) for message in messages))
        return value

    return append


def _append_made(made: UserFunction) -> NodeFunction:
    async def append(ctx: Context, value: Any) -> Any:
        messages = as_appended(await made(ctx, value), f"append_prompt {ctx.path}")
        async with ctx.llm.write_session() as session:
            session.append(*messages)
        return value

    return append


class UserFunction:
    """A function of ``(input)`` or ``(ctx, input)``, sync or async; equal to another that does the same."""

    __slots__ = ("_step",)

    def __init__(self, function: Any) -> None:
        self._step = Step("map", function)

    async def __call__(self, ctx: Context, value: Any) -> Any:
        """What it gives."""
        step = self._step
        given = step.function(ctx, value) if step.with_context else step.function(value)
        return await given if inspect.isawaitable(given) else given

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UserFunction) and is_same_given(self._step.function, other._step.function)

    __hash__ = None  # type: ignore[assignment]


def user_function(function: Any, name: str, takes: str) -> UserFunction:
    """A function that a node was given.

    Raises:
        GraphError: It takes other arguments.
    """
    try:
        return UserFunction(function)
    except GraphError:
        raise GraphError(
            f"{name!r}: {takes} function of (input) or (ctx, input), not {function!r:.60}. Nothing was defined."
        ) from None


class Asking(Struct, frozen=True):
    """A request method of a write session, its arguments, and what of its result is meant, all of it when empty."""

    method: str
    arguments: Given = Given({})
    part: str = ""


def request_function(asking: Asking) -> NodeFunction:
    """The function of a node that appends its input and asks the model, in one session."""

    async def request(ctx: Context, value: Any) -> Any:
        messages = as_appended(value, ctx.path)
        with _ExplainsPairing(ctx):
            async with ctx.llm.write_session() as session:
                session.append(*messages)
                reply = await getattr(session, asking.method)(**asking.arguments.value)
        return getattr(reply, asking.part) if asking.part else reply

    return request


class _ExplainsPairing:
    """Says of a call without its result which node is likely to be left out."""

    __slots__ = ("_ctx",)

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if not isinstance(problem, ToolPairingError):
            return
        waiting = open_calls(self._ctx.llm.committed.prompt.messages)
        if waiting:
            names = dict.fromkeys(call.tool for call in waiting)
            problem.add_note(
                f"calls of {', '.join(names)} wait for results: did you leave out execute_tools or send_tool_results "
                f"before {self._ctx.path}? A model may also call a tool that it was not offered; lead such an answer "
                "to the tools as well, when=kb.has_tool_calls."
            )


def structured_function(asking: Asking, on_failure: Literal["raise", "output"]) -> NodeFunction:
    """The function of a node that asks for data; without an answer that fits it raises, or gives the error."""
    request = request_function(asking)
    if on_failure == "raise":
        return request

    async def request_or_error(ctx: Context, value: Any) -> Any:
        try:
            return await request(ctx, value)
        except StructuredOutputError as problem:
            ctx.log.notice("structured output", f"{ctx.path} gives the error on: {problem}")
            return problem

    return request_or_error


def streaming_function(on_frame: Given) -> NodeFunction:
    """The function of a node that appends its input and asks for an answer in frames."""

    async def request(ctx: Context, value: Any) -> Message:
        messages = as_appended(value, ctx.path)
        with _ExplainsPairing(ctx):
            async with ctx.llm.write_session() as session:
                session.append(*messages)
                async with session.request_streaming() as stream:
                    async for frame in stream:
                        await _hand_on(on_frame.value, frame)
        assert stream.message is not None  # it was read to its end
        return stream.message

    return request


async def _hand_on(on_frame: Any, frame: Frame) -> None:
    if on_frame is not None:
        given = on_frame(frame)
        if inspect.isawaitable(given):
            await given


def execute_function(parallel: int | bool) -> NodeFunction:
    """The function of a node that runs all calls of a reply."""

    async def execute(ctx: Context, reply: Any) -> list[Message]:
        results: list[Message] = await ctx.run_tools(_reply(ctx, reply), parallel=parallel)
        return results

    return execute


async def execute_one(ctx: Context, asked: Any) -> Message:
    """Run the one call of a reply, or a call.

    Raises:
        GraphError: The reply has no call, or several; none was run.
    """
    calls = [asked] if isinstance(asked, ToolCall) else _reply(ctx, asked).calls
    if len(calls) != 1:
        raise GraphError(
            f"{ctx.path} runs one call, and the reply has {len(calls)}. None was run. A reply may have several: use "
            "execute_tools, and an edge that is taken when there are some, when=kb.has_tool_calls."
        )
    result: Message = (await ctx.run_tools(calls))[0]
    return result


def _reply(ctx: Context, reply: Any) -> Message:
    if not isinstance(reply, Message):
        raise TypeError(
            f"{ctx.path} runs the calls of a reply, a kb.Message, not of {type(reply).__name__}. Nothing was run. Lead "
            "an edge there from a node that gives one."
        )
    return reply


def compress_function(strategy: Any, preserve_memory: bool, allow_longer: bool | None) -> NodeFunction:
    """The function of a compression node: its input passes through unchanged."""

    async def compress(ctx: Context, value: Any) -> Any:
        async with ctx.llm.write_session() as session:
            await session.replace_history_with_tldr(
                strategy, preserve_memory=preserve_memory, allow_longer=allow_longer
            )
        return value

    return compress


def compress_note(strategy: Any) -> str:
    """How a compression node names its strategy; the same in every process, so without the address of an object."""
    if strategy is None:
        return "WholeHistory()"
    plain: Any = object.__repr__
    return type(strategy).__name__ if type(strategy).__repr__ is plain else repr(strategy)


def tool_name(tool: Any, what: str) -> str:
    """The name of a tool that is given as its name, as a tool, or as its function.

    Raises:
        GraphError: It is none of these.
    """
    name = tool if isinstance(tool, str) else getattr(tool, "name", getattr(tool, "__name__", None))
    if not isinstance(name, str) or not name:
        raise GraphError(
            f"{what} takes a tool, its function or its name, not {tool!r:.60}. Nothing was defined."
        )
    return name
