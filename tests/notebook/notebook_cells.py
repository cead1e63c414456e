"""Cells that run in a shell as a kernel runs them."""

from __future__ import annotations

import sys
from typing import Any

from IPython.core.interactiveshell import ExecutionResult, InteractiveShell

import koogbook as kb

PREPARE = """
%%koog_node --after start --no-graph
async def prepare(ctx: kb.Context, text: str) -> str:
    async with ctx.llm.write_session() as session:
        session.append(kb.user(text))
    return text
"""
ANSWER = """
%%koog_node --after prepare --no-graph
async def answer(ctx: kb.Context, text: str) -> str:
    async with ctx.llm.write_session() as session:
        reply = await session.request_without_tools()
    return reply.text
"""
LOUD = """
%%koog_node --after start --no-graph
async def loud(ctx, text: str) -> str:
    return text.upper()
"""


class Cells:
    """Runs cells on the loop of the test, with the events that a kernel triggers."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell

    def __getitem__(self, name: str) -> Any:
        return self.shell.user_ns[name]

    def __contains__(self, name: str) -> bool:
        return name in self.shell.user_ns

    async def run(self, cell: str, id: str | None = None) -> ExecutionResult:
        """Run a cell, whatever comes of it; ``id`` is the one that a front end gives to the cell."""
        problem: Any = None
        try:
            transformed = self.shell.transform_cell(cell)
        except Exception:
            transformed, problem = cell, sys.exc_info()
        result = None
        try:
            result = await self.shell.run_cell_async(
                cell,
                store_history=True,
                transformed_cell=transformed,
                preprocessing_exc_tuple=problem,
                cell_id=id,
            )
        finally:
            self.shell.events.trigger("post_execute")
            self.shell.events.trigger("post_run_cell", result)
        return result

    async def __call__(self, cell: str, id: str | None = None) -> Any:
        """Run a cell that has to work; gives the value of its last expression."""
        result = await self.run(cell, id)
        result.raise_error()
        return result.result

    async def refused(self, cell: str, id: str | None = None) -> str:
        """Run a cell that has to be wrong use; gives the line that says so."""
        result = await self.run(cell, id)
        problem = result.error_before_exec or result.error_in_exec
        assert type(problem).__name__ == "UsageError", problem
        assert "\n" not in str(problem)
        return str(problem)


def edges(strategy: kb.Strategy) -> list[str]:
    """The edges in words, in their order."""
    return [
        f"{edge.source.name} >> {edge.target.name}{f' ({edge.label})' if edge.label else ''}"
        for edge in strategy.edges
    ]
