"""The branches of a parallel block at work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from koogbook.runtime.compiled import CompiledNode
from koogbook.runtime.context import Context

#: Runs a node of a block, interceptors and events included, on a context with an input.
RunNode = Callable[[Context, CompiledNode, Any], Awaitable[Any]]


async def run_parallel(ctx: Context, block: CompiledNode, value: Any, run_node: RunNode) -> Any:
    """Run all branches of a block at once and merge what they give."""
    raise NotImplementedError
