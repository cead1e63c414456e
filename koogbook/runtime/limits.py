"""How many node runs a run may have, and the error of one that has more: which nodes took them."""

from __future__ import annotations

from collections.abc import Iterator

from koogbook.errors import MaxIterationsError
from koogbook.runtime.compiled import CompiledNode
from koogbook.runtime.context import Context


def count(ctx: Context, node: CompiledNode) -> None:
    """Count a node run.

    Raises:
        MaxIterationsError: There were as many as there may be.
    """
    shared = ctx.shared
    if shared.iterations >= shared.max_iterations:
        raise _over_limit(ctx, node)
    shared.iterations += 1


def _over_limit(ctx: Context, node: CompiledNode) -> MaxIterationsError:
    """The error of a node that would be one run too many."""
    limit = ctx.max_iterations
    visits = {
        one.path: ctx.shared.visits.get(one.path, 0)
        for one in ctx.strategy.graph.all_nodes()
        if one.counts or one is node
    }
    in_blocks = [
        f"{sum(count for path, count in visits.items() if path.startswith(f'{block.path}/'))} of them were in the "
        f"branches of {block.path}. "
        for block in _blocks_around(ctx, node.path)
    ]
    kept = (
        "What was done so far is kept."
        if ctx.is_root
        else "What was committed so far to the context of the run is kept, and nothing of the branch or subgraph that "
        "this is in."
    )
    path, most = max(visits.items(), key=lambda one: one[1], default=("", 0))
    loop = f" If not, look at the edges that lead back: {path} was run {most} times." if most > 1 else ""
    twice = "".join(
        f" {one.text} {one.remedy}" for one in ctx.strategy.findings if one.kind == "defined_twice"
    )
    return MaxIterationsError(
        f"{node.path} would be node run {limit + 1}, and max_iterations is {limit}. {''.join(in_blocks)}{kept} If so "
        f"many are meant: kb.Agent(..., max_iterations=...).{loop}{twice}"
    )


def _blocks_around(ctx: Context, path: str) -> Iterator[CompiledNode]:
    while "/" in (path := path.rpartition("/")[0]):
        found = ctx.strategy.graph.find(path)
        if found is not None and found.join is not None:
            yield found
