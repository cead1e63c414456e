"""A subgraph at work: on the context around it, or on one of its own that is given back at its end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from koogbook.events import SubgraphCompleted, SubgraphFailed, SubgraphStarting
from koogbook.runtime.compiled import CompiledNode
from koogbook.runtime.context import Context
from koogbook.runtime.own_context import enter, hand_back

#: Runs the graph of a node on a context, from its start or from where the run was resumed.
Go = Callable[[Context], Awaitable[Any]]


async def run_subgraph(ctx: Context, node: CompiledNode, go: Go) -> Any:
    """Run a subgraph; on success its messages become those of the context around it, on failure nothing does.

    Model, tools and parameters of the context around it stay as they are.
    """
    ctx.log.emit(SubgraphStarting, node.path)
    try:
        options = node.options
        output = await (go(ctx) if options is None else _on_its_own(ctx, node, go))
    except BaseException as problem:
        ctx.log.emit_quietly(
            SubgraphFailed,
            node.path,
            error=f"{type(problem).__name__}: {problem}",
            cancelled=isinstance(problem, asyncio.CancelledError),
        )
        raise
    ctx.log.emit(SubgraphCompleted, node.path)
    return output


async def _on_its_own(ctx: Context, node: CompiledNode, go: Go) -> Any:
    child = await enter(ctx, node)
    try:
        output = await go(child)
    except Exception:
        if node.options is not None and node.options.on_failure == "keep":
            await hand_back(ctx, child, node)
        raise
    await hand_back(ctx, child, node)
    return output
