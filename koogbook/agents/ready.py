"""Ready strategies: ordinary graphs of visible nodes, which can be drawn, run, and built upon."""

from __future__ import annotations

from typing import Any

from koogbook.errors import GraphError, ToolError
from koogbook.llm.layers import layer_tag
from koogbook.llm.write_session import LLMWriteSession
from koogbook.messages.message import REFERENCE_NAME, Message, user
from koogbook.runtime.builder import Strategy, strategy
from koogbook.runtime.context import Context
from koogbook.runtime.ready.conditions import Condition, has_tool_calls
from koogbook.runtime.storage import storage_key
from koogbook.tools.tool import Tool, ToolRegistry


def single_run_strategy(
    name: str = "single_run", *, parallel_tools: int | bool = False
) -> Strategy[str, str]:
    """Append the input, ask with the agent's tools, run tool calls until there are none, give the last text.

    Koog's ``singleRunStrategy``. ``parallel_tools`` runs the calls of a turn at once: at most so many, 16 with
    ``True``.

    Raises:
        GraphError: The name holds a ``/``, or ``parallel_tools`` is no such number.
    """
    single = strategy(name, input=str, output=str)
    ask = single.llm_request(name="ask")
    run_tools = single.execute_tools(name="run_tools", parallel=parallel_tools)
    send_results = single.send_tool_results(name="send_results")
    single.start >> ask
    for asking in (ask, send_results):
        single.edge(asking, run_tools, when=has_tool_calls, label="tool calls")
        single.edge(asking, single.finish, map=_text, label="")
    run_tools >> send_results
    return single


def chat_strategy(
    name: str = "chat", *, exit_tool: Any = None, parallel_tools: int | bool = False
) -> Strategy[str, str]:
    """Let the model work with tools until it calls the one that ends the chat (Koog's ``chatAgentStrategy``).

    The model talks to the user by tools of the agent, such as one that says something and gives the answer. When it
    answers in text, it is told to call a tool. The strategy gives what the exit tool gave, as text.

    Args:
        name: Its name.
        exit_tool: A tool or a function; ``exit(farewell)`` when left out. It is offered besides the agent's tools,
            unless the agent has one of its name itself.
        parallel_tools: Run the calls of a turn at once: at most so many, 16 with ``True``.

    Raises:
        GraphError: ``exit_tool`` is no tool, or ``parallel_tools`` no such number.
    """
    leaving = _exit_tool(exit_tool)
    chat = strategy(name, input=str, output=str)

    async def asked(ctx: Context, *messages: Message) -> Message:
        async with ctx.llm.write_session() as session:
            _offer(session, leaving)
            session.append(*messages)
            return await session.request()

    @chat.node
    async def ask(ctx: Context, text: str) -> Message:
        return await asked(ctx, user(text))

    @chat.node
    async def push_back(ctx: Context, reply: Message) -> Message:
        names = dict.fromkeys((*ctx.llm.committed.tools.names, leaving.name))
        return await asked(
            ctx,
            _instruction(
                f"Do not answer in text: nobody reads it. Call one of the tools: {', '.join(names)}.", "nudge"
            ),
        )

    run_tools = chat.execute_tools(name="run_tools", parallel=parallel_tools)

    @chat.node
    async def send_results(ctx: Context, results: list[Message]) -> Message:
        return await asked(ctx, *results)

    @chat.node
    async def leave(ctx: Context, results: list[Message]) -> str:
        async with ctx.llm.write_session() as session:
            session.append(*results)
        return next(result.text for result in results if _has_left(result, leaving.name))

    chat.start >> ask
    for asking in (ask, push_back, send_results):
        chat.edge(asking, run_tools, when=has_tool_calls, label="tool calls")
        chat.edge(asking, push_back, label="text")
    chat.edge(run_tools, leave, when=_left(leaving.name))
    chat.edge(run_tools, send_results, label="goes on")
    leave >> chat.finish
    return chat


#: How many turns of tools a run of the strategy has had; kept in checkpoints.
_TURNS = storage_key("koogbook.react_turns", int)


def react_strategy(
    reasoning_interval: int = 1, name: str = "react", *, parallel_tools: int | bool = False
) -> Strategy[str, str]:
    """Let the model reason in text, then act with tools, and reason again (Koog's ``reActStrategy``).

    It reasons before it first acts and after every ``reasoning_interval`` turns of tool calls; no tools are offered
    then, and where the model calls some all the same they are run as when it acts. It gives the last text of an answer
    without calls.

    Raises:
        GraphError: ``reasoning_interval`` is below 1, or ``parallel_tools`` no such number.
    """
    if (
        isinstance(reasoning_interval, bool)
        or not isinstance(reasoning_interval, int)
        or reasoning_interval < 1
    ):
        raise GraphError(
            f"react_strategy, reasoning_interval=: it is at least 1, not {reasoning_interval!r:.60}. Nothing was "
            "defined."
        )
    react = strategy(name, input=str, output=str)
    act = react.llm_request(name="act")
    run_tools = react.execute_tools(name="run_tools", parallel=parallel_tools)

    @react.node
    async def begin(ctx: Context, text: str) -> list[Message]:
        ctx.storage.set(_TURNS, 0)
        return [user(text)]

    @react.node
    async def reason(ctx: Context, messages: list[Message]) -> Message:
        async with ctx.llm.write_session() as session:
            session.append(*messages, _instruction(_REASON, "reasoning"))
            return await session.request_without_tools()

    @react.node
    async def count_turn(ctx: Context, results: list[Message]) -> list[Message]:
        ctx.storage.set(_TURNS, (ctx.storage.get(_TURNS) or 0) + 1)
        return results

    def is_due(ctx: Context, results: list[Message]) -> bool:
        return (ctx.storage.get(_TURNS) or 0) % reasoning_interval == 0

    react.start >> begin >> reason
    react.edge(reason, run_tools, when=has_tool_calls, label="tool calls")
    react.edge(reason, act, map=_nothing_new, label="")
    react.edge(act, run_tools, when=has_tool_calls, label="tool calls")
    react.edge(act, react.finish, map=_text, label="")
    run_tools >> count_turn
    react.edge(
        count_turn,
        reason,
        when=is_due,
        label=f"every {reasoning_interval} turns" if reasoning_interval > 1 else "each turn",
    )
    react.edge(count_turn, act, label="else")
    return react


_REASON = (
    "Before you act, think in text: what is known by now, what is still missing, and which step comes next. Do not "
    "answer yet."
)


def _text(reply: Message) -> str:
    return reply.text


def _nothing_new(reply: Message) -> list[Message]:
    return []


def _instruction(text: str, kind: str) -> Message:
    """A user message that nobody takes for words of the user."""
    return user(text, name=REFERENCE_NAME, metadata={**layer_tag("instruction"), kind: True})


def _exit_tool(given: Any) -> Tool:
    if isinstance(given, Tool):
        return given
    try:
        return Tool(_exit, name="exit") if given is None else Tool(given)
    except ToolError as problem:
        raise GraphError(f"chat_strategy, exit_tool=: {problem} Nothing was defined.") from problem


def _exit(farewell: str = "") -> str:
    """End the conversation.

    Args:
        farewell: The last words to the user.
    """
    return farewell


def _offer(session: LLMWriteSession, tool: Tool) -> None:
    """Offer it besides the tools of the session, also to a run that goes on from a checkpoint."""
    if session.tools.get(tool.name) is None:
        session.tools = ToolRegistry([*session.tools, tool])


def _left(name: str) -> Condition:
    return Condition(
        f"{name} called", (name,), lambda ctx, results: any(_has_left(one, name) for one in results)
    )


def _has_left(message: Message, name: str) -> bool:
    return any(result.tool == name and not result.is_error for result in message.results)
