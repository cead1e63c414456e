"""The run loop: from node to node until the finish node.

Nodes are awaited directly, with no task of their own. Every 64 steps, and after a node that took long, the loop lets
other tasks run: awaiting a coroutine that never waits does not, and a notebook would freeze and could not be stopped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from types import CoroutineType
from typing import Any

from koogbook import clock
from koogbook.errors import IncompatibleCheckpointError
from koogbook.events import EdgeTaken, NodeCompleted, NodeFailed, NodeStarting
from koogbook.pipeline import Interceptor, Wrapper, current_path, wrapped, wrappers
from koogbook.runtime.checking.edge_errors import Refusal, add_once, explain, holds, not_awaited, stuck
from koogbook.runtime.compiled import CompiledGraph, CompiledNode
from koogbook.runtime.context import Context, ResumePoint
from koogbook.runtime.error_words import error_in_words
from koogbook.runtime.limits import count
from koogbook.runtime.parallel.branches import run_parallel
from koogbook.runtime.subgraphs.nested import run_subgraph

_STEPS_BETWEEN_YIELDS = 64
_SECONDS_BETWEEN_YIELDS = 0.02


async def run_graph(
    ctx: Context, graph: CompiledGraph, value: Any, interceptors: Sequence[Interceptor] = ()
) -> Any:
    """Run a compiled graph from its start, or from where the run was resumed, and give its output.

    Raises:
        StuckInNodeError: No edge takes a node's output.
        MaxIterationsError: More node runs than allowed.
        Exception: What a node, a condition or a transformation raised, with a note that says where.
    """
    arounds = wrappers(interceptors, "around_node", ctx.log.acted)
    resume, ctx.shared.resume = ctx.shared.resume, None
    return await _run(ctx, graph, value, arounds, resume)


async def _run(
    ctx: Context, graph: CompiledGraph, value: Any, arounds: Sequence[Wrapper], resume: ResumePoint | None
) -> Any:
    node = graph.start
    steps = 0
    now = asyncio.get_running_loop().time
    paused = now()
    if resume is not None:
        node, output = await _resumed(ctx, graph, arounds, resume)
        if node is graph.finish:
            return output
        node, value = await _next(ctx, node, output)
    while True:
        if arounds and node.wraps:
            output = await _run_wrapped(ctx, node, arounds, value)
        else:
            output = await _run_node(ctx, node, arounds, value)
        if node is graph.finish:
            return output
        node, value = await _next(ctx, node, output)
        steps += 1
        if not steps % _STEPS_BETWEEN_YIELDS or now() - paused > _SECONDS_BETWEEN_YIELDS:
            await clock.sleep(0)
            paused = now()


async def _resumed(
    ctx: Context, graph: CompiledGraph, arounds: Sequence[Wrapper], resume: ResumePoint
) -> tuple[CompiledNode, Any]:
    """The node of this graph that had completed, with its output; a subgraph on the way is run to its end."""
    name, _, deeper = resume.path.removeprefix(f"{graph.path}/").partition("/")
    node = graph.nodes[name]
    if not deeper or node.subgraph is None:
        return node, resume.output
    if node.join is not None:
        raise IncompatibleCheckpointError(
            f"{node.path} is a parallel block now, and the checkpoint is of a node inside of it, {resume.path}: "
            "branches begin together, and there is no going on in the middle. No node was run. Make it a subgraph "
            "again, fork from an earlier checkpoint, or start afresh: kb.Persistence(..., resume='never')."
        )
    return node, await _run_node(ctx, node, arounds, None, resume)


async def _run_wrapped(ctx: Context, node: CompiledNode, arounds: Sequence[Wrapper], value: Any) -> Any:
    if arounds and node.wraps:
        return await wrapped(arounds, partial(_run_node, ctx, node, arounds), ctx, node)(value)
    return await _run_node(ctx, node, arounds, value)


async def _run_node(
    ctx: Context,
    node: CompiledNode,
    arounds: Sequence[Wrapper],
    value: Any,
    resume: ResumePoint | None = None,
) -> Any:
    shared = ctx.shared
    if node.counts:
        count(ctx, node)
    path = node.path
    visit = shared.visits.get(path, 0) + 1
    shared.visits[path] = visit
    log = ctx.log
    token = current_path.set(path)
    try:
        started = clock.monotonic()
        try:
            log.add(
                NodeStarting(
                    time=log.offset + started,
                    at=started,
                    run_id=log.run_id,
                    session_id=log.session_id,
                    path=path,
                    visit=visit,
                    iteration=shared.iterations,
                    input=value,
                )
            )
            if node.subgraph is None:
                output = await node.function(ctx, value)
                if type(output) is CoroutineType:
                    raise not_awaited(node, output)
            elif node.join is not None:
                output = await run_parallel(
                    ctx, node, value, lambda branch, one, given: _run_wrapped(branch, one, arounds, given)
                )
            else:
                inner, before = node.subgraph, shared.iterations
                output = await run_subgraph(ctx, node, lambda on: _run(on, inner, value, arounds, resume))
                if shared.iterations == before and resume is None:
                    # Nothing in it counts, and a circle of such subgraphs would have no end.
                    count(ctx, node)
        except BaseException as problem:
            log.emit_quietly(
                NodeFailed,
                path,
                visit=visit,
                seconds=clock.monotonic() - started,
                error=error_in_words(problem),
                cancelled=isinstance(problem, asyncio.CancelledError),
            )
            add_once(problem, f"in node {path}, visit {visit}")
            raise
        ended = clock.monotonic()
        log.add(
            NodeCompleted(
                time=log.offset + ended,
                at=ended,
                run_id=log.run_id,
                session_id=log.session_id,
                path=path,
                visit=visit,
                seconds=ended - started,
                output=output,
            )
        )
        return output
    finally:
        current_path.reset(token)


async def _next(ctx: Context, node: CompiledNode, output: Any) -> tuple[CompiledNode, Any]:
    """The first edge that takes this output, and the value that it hands on."""
    refused: tuple[Refusal, ...] = ()
    for edge in node.edges:
        value = output
        for step in edge.steps:
            try:
                result = step.function(ctx, value) if step.with_context else step.function(value)
                if step.is_async or hasattr(type(result), "__await__"):
                    result = await result
            except Exception as problem:
                explain(problem, node, edge, step, value)
                raise
            if step.kind == "map":
                value = result
            elif result is not True and (result is False or not holds(result, node, edge, step, value)):
                refused += ((edge, step, value),)
                break
        else:
            log, at = ctx.log, clock.monotonic()
            log.add(
                EdgeTaken(
                    time=log.offset + at,
                    at=at,
                    run_id=log.run_id,
                    session_id=log.session_id,
                    path=node.path,
                    target=edge.target.path,
                    order=edge.order,
                    label=edge.label,
                )
            )
            return edge.target, value
    raise stuck(node, output, refused)
