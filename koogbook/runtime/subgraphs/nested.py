"""A subgraph at work: on the context around it, or on one of its own that is given back at its end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from koogbook.events import SubgraphCompleted, SubgraphFailed, SubgraphStarting
from koogbook.runtime.compiled import CompiledNode
from koogbook.runtime.context import Context
from koogbook.runtime.error_words import error_in_words
from koogbook.runtime.subgraphs.own_context import OwnContext, enter, hand_back

#: Runs the graph of a node on a context, from its start or from where the run was resumed.
Go = Callable[[Context], Awaitable[Any]]


async def run_subgraph(ctx: Context, node: CompiledNode, go: Go) -> Any:
    """Run a subgraph; on success its messages become those of the context around it, on failure nothing does.

    Model, tools and parameters of the context around it stay as they are: it works on a copy, and of that the messages
    alone come back. A cancelled one hands nothing over.
    """
    try:
        ctx.log.emit(SubgraphStarting, node.path)
        options = node.options
        if options is None:
            output = await go(ctx)
        else:
            output = await _on_its_own(await enter(ctx, node.path, options), go)
    except BaseException as problem:
        ctx.log.emit_quietly(
            SubgraphFailed,
            node.path,
            error=error_in_words(problem),
            cancelled=isinstance(problem, asyncio.CancelledError),
        )
        raise
    ctx.log.emit(SubgraphCompleted, node.path)
    return output


async def _on_its_own(own: OwnContext, go: Go) -> Any:
    try:
        try:
            output = await go(own.inner)
        except Exception as problem:
            if own.options.on_failure == "keep":
                await _keep(own, problem)
            raise
        await hand_back(own)
        return output
    finally:
        own.inner.llm.over = f"subgraph {own.path}"


async def _keep(own: OwnContext, problem: Exception) -> None:
    """Hand over what a subgraph has that failed; what goes wrong with that is told, and its failure stays the error."""
    try:
        await hand_back(own)
    except Exception as second:
        text = f"the messages of {own.path} could not be kept: {type(second).__name__}: {second}"
        problem.add_note(text)
        own.inner.log.notice("subgraph", text)
