"""The context of a subgraph that has one of its own: how it begins, and what it gives back."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import NamedTuple

from koogbook.errors import GraphError, ToolError
from koogbook.llm.context import LLMContext
from koogbook.messages.message import Message, system
from koogbook.messages.model import as_model
from koogbook.messages.prompt import Prompt
from koogbook.runtime.context import Context
from koogbook.runtime.histories import is_same_history, replace_history, with_params
from koogbook.runtime.subgraphs.options import SubgraphOptions
from koogbook.runtime.subgraphs.task_loop import watched
from koogbook.runtime.subgraphs.tools_for_task import ToolsForTask, chosen_tools
from koogbook.tools.tool import Tool, ToolRegistry


class OwnContext(NamedTuple):
    """A subgraph at work on a context of its own.

    ``around`` is the context around it, ``base`` the prompt there when it began, ``inner`` its own one, and ``own``
    holds the ids of the system messages that are for it alone.
    """

    path: str
    options: SubgraphOptions
    around: Context
    base: Prompt
    inner: Context
    own: frozenset[str]


async def enter(ctx: Context, path: str, options: SubgraphOptions) -> OwnContext:
    """The context that a subgraph runs on: a copy of the one around it, with what is its own.

    Raises:
        ToolError: A tool that is named is not around it.
        GraphError: The tool that ends its task has the name of another one.
        StructuredOutputError: The model chose no tools.
    """
    around = ctx.llm.committed
    systems = [system(text) for text in options.system_texts]
    prompt = with_params(_first_prompt(around.prompt, options, systems), options.params)
    model = around.model
    if options.model is not None:
        model = ctx.llm.calls.executor.resolve(as_model(options.model))
    llm = ctx.llm.fork(path, prompt=prompt, model=model)
    tools = await _tools(options, around.tools, llm, path)
    if tools is not around.tools:
        llm = llm.fork(path, tools=tools)
    return OwnContext(
        path, options, ctx, around.prompt, ctx.fork(llm), frozenset(message.id for message in systems)
    )


async def hand_back(done: OwnContext) -> None:
    """Make the messages of a subgraph those of the context around it, as its options say.

    Raises:
        MergeConflictError: The history around it was changed meanwhile; nothing was taken.
        GraphError: The function that hands out gave something else than messages; nothing was taken.
    """
    final = done.inner.llm.committed.prompt
    if done.options.history == "fresh":
        handed = await _handed_out(done, final.messages)
        if handed:
            async with done.around.llm.write_session() as session:
                session.append(*handed)
        return
    merged = _merged(done, final)
    if is_same_history(done.base, merged):
        return
    async with done.around.llm.write_session() as session:
        replace_history(
            session,
            done.base,
            merged,
            who=f"Subgraph {done.path!r}",
            otherwise="Nothing of the subgraph was taken. Let the task that writes there wait for the subgraph, or "
            "give this one history='fresh'.",
        )


def _first_prompt(around: Prompt, options: SubgraphOptions, systems: list[Message]) -> Prompt:
    if options.history == "fresh":
        messages = systems or [message for message in around if message.role == "system"]
    elif systems:
        messages = [*systems, *(message for message in around if message.role != "system")]
    else:
        return around
    return Prompt(messages, id=around.id, params=around.params, allow_duplicate=True)


async def _tools(options: SubgraphOptions, around: ToolRegistry, llm: LLMContext, path: str) -> ToolRegistry:
    tools = around
    if isinstance(options.tools, ToolsForTask):
        tools = await chosen_tools(options.tools, around, llm, path)
    elif options.tools is not None:
        tools = ToolRegistry(
            _found(one, around, path) if isinstance(one, str) else one for one in options.listed_tools
        )
    finish = options.finish_tool
    if finish is None:
        return tools
    if tools.get(finish.name) is not None:
        raise GraphError(
            f"Subgraph {path!r} ends when the model calls {finish.name!r}, and another tool of that name is on offer. "
            "The subgraph was not begun. Give the finish tool another name, finish_tool=kb.Tool(function, name=...), "
            "or the subgraph tools of its own: tools=[...]."
        )
    return ToolRegistry([*tools, watched(finish)])


def _found(name: str, around: ToolRegistry, path: str) -> Tool:
    tool = around.get(name)
    if tool is None:
        raise ToolError(
            f"Subgraph {path!r} is to have the tool {name!r}, and there is none of that name around it. There are: "
            f"{', '.join(around.names) or 'none'}. The subgraph was not begun. Give the agent the tool, or the "
            "subgraph the function itself: tools=[function]."
        )
    return tool


def _merged(done: OwnContext, final: Prompt) -> Prompt:
    """The final history, with the system messages around the subgraph where it had its own."""
    if not done.own:
        if final.id == done.base.id:
            return final
        return Prompt(final, id=done.base.id, params=final.params, allow_duplicate=True)
    left = [message for message in final if message.id not in done.own]
    before = [message for message in done.base if message.role != "system"]
    if left[: len(before)] == before:
        added = left[len(before) :]
        return done.base.append(*added, allow_duplicate=True) if added else done.base
    systems = [message for message in done.base if message.role == "system"]
    return Prompt([*systems, *left], id=done.base.id, params=done.base.params, allow_duplicate=True)


async def _handed_out(done: OwnContext, messages: tuple[Message, ...]) -> list[Message]:
    hand_out = done.options.hand_out
    if hand_out == "nothing":
        return []
    if hand_out == "all":
        return [message for message in messages if message.role != "system"]
    if hand_out == "last":
        answers = [one for one in messages if one.role == "assistant" and one.text.strip() and not one.calls]
        if not answers:
            done.inner.log.notice(
                "hand out",
                f"{done.path}: there is no answer to hand out; the history around it stays as it was.",
            )
        return answers[-1:]
    given = hand_out(messages)
    handed = await given if inspect.isawaitable(given) else given
    found = list(handed) if isinstance(handed, Iterable) and not isinstance(handed, Message) else None
    if found is None or not all(isinstance(one, Message) for one in found):
        raise GraphError(
            f"Subgraph {done.path!r}, hand_out=: the function gives a list of messages, not {handed!r:.60}. Nothing of "
            "the subgraph was taken."
        )
    # A fresh history may begin with the system messages around it, which stand there already.
    there = {message.id for message in done.base if message.role == "system"}
    return [message for message in found if message.id not in there]
