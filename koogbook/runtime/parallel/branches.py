"""The branches of a parallel block at work.

Each branch is a task with a context of its own, and gets the very input of the block: whoever changes that object in
one branch changes it for all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from copy import copy
from typing import Any

from koogbook import clock
from koogbook.errors import FeatureNotInstalledError, MaxIterationsError, MergeError
from koogbook.events import BranchCompleted, BranchFailed, BranchStarting, EdgeTaken
from koogbook.llm.context import Committed
from koogbook.messages.prompt import Prompt
from koogbook.runtime.compiled import CompiledEdge, CompiledGraph, CompiledNode
from koogbook.runtime.context import Context
from koogbook.runtime.parallel.branch_writes import take_over, writes_of
from koogbook.runtime.parallel.merge_kinds import BranchResult, Merge
from koogbook.runtime.parallel.policies import Join, first_few
from koogbook.runtime.parallel.storage_copies import StorageCopies

#: What is wrong with the run or with its code, and with no branch alone.
_OF_THE_RUN = (MaxIterationsError, FeatureNotInstalledError)

#: Runs a node of a block, interceptors and events included, on a context with an input.
RunNode = Callable[[Context, CompiledNode, Any], Awaitable[Any]]


async def run_parallel(ctx: Context, block: CompiledNode, value: Any, run_node: RunNode) -> Any:
    """Run all branches of a block at once and merge what they give, in the order in which they were defined.

    Raises:
        MergeError: No branch can be taken, or what they wrote does not fit together.
        Exception: With ``on_error="cancel"``, what the first branch that failed raised, when all others have ended.
    """
    graph, join = block.subgraph, block.join
    assert graph is not None
    assert join is not None
    given = await run_node(ctx, graph.start, value)
    copies = StorageCopies(ctx.storage, ctx.log.notice)
    branches = _Branches(ctx, graph, join, given, copies, run_node)
    try:
        return await _merge(ctx, block, join.merge, branches, copies, run_node)
    finally:
        branches.end()


async def _merge(
    ctx: Context,
    block: CompiledNode,
    merge: Merge,
    branches: _Branches,
    copies: StorageCopies,
    run_node: RunNode,
) -> Any:
    graph = block.subgraph
    assert graph is not None
    results = await branches.run()
    succeeded = [result for result in results if result.error is None]

    async def merged(on: Context, _: Any) -> Any:
        chosen = await merge.choose(on, results if merge.takes_failed else succeeded, block.path)
        await graph.finish.function(on, chosen.output)  # refuses what is not of the declared type
        branches.end()
        writes = [
            writes_of(result, began, copies) for result, began in zip(results, branches.began, strict=True)
        ]
        await take_over(on, block.path, merge, chosen, writes, copies)
        return chosen.output

    merging = copy(graph.finish)
    merging.function = merged
    return await run_node(ctx, merging, tuple(result.output for result in succeeded))


class _Branch:
    """A branch on its way: what it has given, or why it has not."""

    __slots__ = ("began", "context", "edge", "error", "node", "output")

    def __init__(self, edge: CompiledEdge) -> None:
        self.edge = edge
        self.node = edge.target
        self.context: Context | None = None
        #: What its LLM context was at first.
        self.began: Committed | None = None
        self.output: Any = None
        self.error: BaseException | None = None


class _Branches:
    """The branches of one visit of a block, each in a task of its own."""

    __slots__ = ("_branches", "_copies", "_ctx", "_first", "_given", "_graph", "_join", "_run_node", "_tasks")

    def __init__(
        self,
        ctx: Context,
        graph: CompiledGraph,
        join: Join,
        given: Any,
        copies: StorageCopies,
        run_node: RunNode,
    ) -> None:
        self._ctx = ctx
        self._graph = graph
        self._join = join
        self._given = given
        self._copies = copies
        self._run_node = run_node
        self._branches = [_Branch(edge) for edge in graph.start.edges]
        self._tasks: list[asyncio.Task[None]] = []
        #: The branch whose failure ends the block.
        self._first: _Branch | None = None

    async def run(self) -> list[BranchResult]:
        """Run them all; when this ends, in whatever way, none of them is left."""
        make = asyncio.get_running_loop().create_task
        self._tasks = [make(self._run(branch), name=branch.node.name) for branch in self._branches]
        try:
            await _all_ended(self._tasks)
        except asyncio.CancelledError as stop:
            for branch in self._branches:
                if branch.error is not None and not isinstance(branch.error, asyncio.CancelledError):
                    stop.add_note(f"branch {branch.node.name} had failed: {_described(branch.error)}")
            raise
        first = self._first
        if first is None:
            return self._results()
        assert first.error is not None
        raise self._with_notes(first, first.error)

    async def _run(self, branch: _Branch) -> None:
        node, log, order = branch.node, self._ctx.log, branch.edge.order
        started = clock.monotonic()
        begun = completed = False
        try:
            # Made in the branch's own task, so that sessions on it are told by the nodes, as those of a run are.
            context = branch.context = self._fork(branch)
            self._take(self._graph.start, branch.edge, started)
            begun = True
            log.add(
                BranchStarting(
                    time=log.offset + started,
                    at=started,
                    run_id=log.run_id,
                    session_id=log.session_id,
                    path=node.path,
                    order=order,
                )
            )
            output = await self._run_node(context, node, self._given)
            completed, ended = True, clock.monotonic()
            log.add(
                BranchCompleted(
                    time=log.offset + ended,
                    at=ended,
                    run_id=log.run_id,
                    session_id=log.session_id,
                    path=node.path,
                    order=order,
                    seconds=ended - started,
                )
            )
            self._take(node, node.edges[0], ended)
            branch.output = output
        except BaseException as problem:
            # Also an interruption ends here, and goes out of the block when the others have ended.
            branch.error = problem
            # What is not the branch's own failure, such as that of a listener, is none that could be collected.
            is_own = isinstance(problem, Exception | asyncio.CancelledError) and not log.came_of_listener(
                problem
            )
            if self._join.on_error == "cancel" or not is_own or isinstance(problem, _OF_THE_RUN):
                self._stop_for(branch)
            if completed or not begun:
                return
            log.emit_quietly(
                BranchFailed,
                node.path,
                order=order,
                seconds=clock.monotonic() - started,
                error=_described(problem),
                cancelled=isinstance(problem, asyncio.CancelledError),
            )

    @property
    def began(self) -> list[Committed]:
        """What the LLM contexts of the branches were at first."""
        return [branch.began for branch in self._branches if branch.began is not None]

    def end(self) -> None:
        """Whoever changes the context of a branch from now on changes nothing else, and is told so."""
        for branch in self._branches:
            context = branch.context
            if context is not None:
                over = context.llm.over = f"branch {branch.node.name} of {self._graph.path}"
                context.storage.end(over, self._ctx.log.notice)

    def _fork(self, branch: _Branch) -> Context:
        around = self._ctx.llm
        prompt = around.committed.prompt
        # On a log of its own: the one of the run is then still at its end, and goes on with whatever is taken over.
        own = Prompt(prompt.messages, id=prompt.id, params=prompt.params, allow_duplicate=True)
        llm = around.fork(branch.node.path, prompt=own)
        branch.began = llm.committed
        return self._ctx.fork(llm, self._copies.copy())

    def _take(self, source: CompiledNode, edge: CompiledEdge, at: float) -> None:
        log = self._ctx.log
        log.add(
            EdgeTaken(
                time=log.offset + at,
                at=at,
                run_id=log.run_id,
                session_id=log.session_id,
                path=source.path,
                target=edge.target.path,
                order=edge.order,
                label=edge.label,
            )
        )

    def _stop_for(self, branch: _Branch) -> None:
        """The first failure stops the others; those that follow come of that, or are told in its notes."""
        if self._first is not None:
            return
        self._first = branch
        own = asyncio.current_task()
        _stop([task for task in self._tasks if task is not own])

    def _with_notes(self, first: _Branch, problem: BaseException) -> BaseException:
        others = f"; the other branches were stopped (on_error={self._join.on_error!r})"
        problem.add_note(
            f"in branch {first.node.name} of {self._graph.path}{others if len(self._branches) > 1 else ''}"
        )
        for branch in self._branches:
            more = branch.error
            if branch is not first and more is not None and not isinstance(more, asyncio.CancelledError):
                problem.add_note(f"branch {branch.node.name} failed as well: {_described(more)}")
        return problem

    def _results(self) -> list[BranchResult]:
        results = [
            BranchResult(
                name=branch.node.name,
                input=self._given,
                output=branch.output,
                # One without a context was cancelled by somebody before it began.
                error=branch.error if branch.context is not None else asyncio.CancelledError(),
                context=branch.context or self._fork(branch),
            )
            for branch in self._branches
        ]
        where = self._graph.path
        failed = [(one.name, one.error) for one in results if one.error is not None]
        if len(failed) == len(results):
            listed = first_few([f"{name}: {_described(problem)}" for name, problem in failed])
            raise MergeError(
                f"All branches of {where} have failed, and there is nothing to merge: {listed}. Nothing of the "
                "branches was taken over. Catch in a branch what it may fail with, and return what stands for it."
            ) from failed[0][1]
        for name, problem in failed:
            self._ctx.log.notice(
                "branch failed",
                f"branch {name} of {where} has failed, and the block goes on without it (on_error='collect'): "
                f"{_described(problem)}",
            )
        return results


async def _all_ended(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Wait for all; who is cancelled meanwhile cancels them and waits on, so that none outlives its block."""
    stopped: asyncio.CancelledError | None = None
    while pending := [task for task in tasks if not task.done()]:
        try:
            await asyncio.wait(pending)
        except asyncio.CancelledError as stop:
            _stop(pending, again=stopped is not None)
            stopped = stopped or stop
    if stopped is not None:
        raise stopped


def _stop(tasks: Iterable[asyncio.Task[None]], *, again: bool = False) -> None:
    """Cancel tasks; one that was told to stop already is tidying up, and is left to it unless told ``again``."""
    for task in tasks:
        if again or not task.cancelling():
            task.cancel()


def _described(problem: BaseException | None) -> str:
    return f"{type(problem).__name__}: {problem}" if str(problem) else type(problem).__name__
