"""Nodes that block: they run in a thread of their own, and call back onto the loop of their run.

Each has a thread to itself and not one of the loop's pool: a pool has few, and nodes that wait in all of them for a
tool that needs one as well would wait for ever. The thread is a daemon, so that neither the end of a loop nor that of
the program waits for one that was left behind.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import threading
from collections.abc import Awaitable, Callable
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, ParamSpec, TypeVar

from koogbook.errors import WrongLoopError
from koogbook.llm.wait_cycles import works_for
from koogbook.pipeline import current_path

T = TypeVar("T")
P = ParamSpec("P")

_STOPPED = "the run of this node was stopped"


class _Node:
    """A node at work in a thread, and what its thread has asked the loop for; all but ``call`` is for the loop."""

    __slots__ = ("asked", "is_over", "is_stopped", "loop", "path")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.path = current_path.get()
        #: The tasks that ``ctx.call`` waits for; more than one where the thread has started others.
        self.asked: set[asyncio.Task[Any]] = set()
        self.is_stopped = False
        self.is_over = False

    def call(self, waiting: asyncio.Task[Any], function: Callable[[], Any], named: str) -> Any:
        """From a thread: await an async function in a task of the loop, and give what it gives."""
        self._require_going(named)
        answer: concurrent.futures.Future[Any] = concurrent.futures.Future()
        context = copy_context()
        try:
            self.loop.call_soon_threadsafe(self._start, answer, waiting, function, named, context)
        except RuntimeError as problem:
            if not self.loop.is_closed():
                raise
            raise self._over(named) from problem
        return answer.result()

    def _start(
        self,
        answer: concurrent.futures.Future[Any],
        waiting: asyncio.Task[Any],
        function: Callable[[], Any],
        named: str,
        context: Any,
    ) -> None:
        try:
            self._require_going(named)
        except BaseException as problem:
            answer.set_exception(problem)
            return
        task = self.loop.create_task(self._called(function, named), context=context)
        # The task of the node goes on when this one is done, which asyncio does not know of.
        works_for(task, waiting, "a thread")
        self.asked.add(task)
        task.add_done_callback(partial(self._answer, answer))

    async def _called(self, function: Callable[[], Any], named: str) -> Any:
        task = asyncio.current_task()
        assert task is not None
        # A thread that is started in here works for this task.
        _current.set((self, task))
        awaited = function()
        if not inspect.isawaitable(awaited):
            raise TypeError(
                f"ctx.call takes an async function, and {named} gave {type(awaited).__name__}, which cannot be "
                f"awaited. It was called, on the loop of the run. A plain function is called as it is: {named}(...)."
            )
        return await awaited

    def _answer(self, answer: concurrent.futures.Future[Any], task: asyncio.Task[Any]) -> None:
        self.asked.discard(task)
        if task.cancelled():
            answer.set_exception(asyncio.CancelledError(_STOPPED) if self.is_stopped else _cancelled(task))
            return
        problem = task.exception()
        if problem is not None:
            answer.set_exception(problem)
        else:
            answer.set_result(task.result())

    def _require_going(self, named: str) -> None:
        if self.is_stopped:
            raise asyncio.CancelledError(_STOPPED)
        if self.is_over or self.loop.is_closed():
            raise self._over(named)

    def _over(self, named: str) -> BaseException:
        if self.is_stopped:
            return asyncio.CancelledError(_STOPPED)
        return WrongLoopError(
            f"ctx.call({named}, ...) came after node {self.path} had ended: nobody waits for it any more, and nothing "
            "was called. Call it before the function of the node returns, and wait there for threads of your own."
        )

    async def end_what_was_asked(self) -> None:
        """Cancel what the thread waits for, until it has ended: its sessions are closed when this returns."""
        stopped: asyncio.CancelledError | None = None
        while self.asked:
            for task in self.asked:
                task.cancel(_STOPPED)
            try:
                await asyncio.wait(self.asked)
            except asyncio.CancelledError as again:
                stopped = again
        if stopped is not None:
            raise stopped


#: The node whose thread this is, and the task that waits for the thread.
_current: ContextVar[tuple[_Node, asyncio.Task[Any]] | None] = ContextVar(
    "koogbook_node_thread", default=None
)


def in_thread(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Awaitable[Any]]:
    """The async function of a node whose own function blocks: it runs in a thread.

    A run that is stopped does not wait for the thread, which goes on until its function returns or calls back.
    """

    async def run(ctx: Any, value: Any) -> Any:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        node = _Node(loop)
        done: asyncio.Future[Any] = loop.create_future()
        context = copy_context()
        context.run(_current.set, (node, task))
        threading.Thread(
            target=context.run,
            args=(_work, loop, done, function, ctx, value),
            name=f"node {node.path}",
            daemon=True,
        ).start()
        try:
            output = await done
            # Of an async function that it called and did not wait for, such as a lambda around one.
            return await output if inspect.iscoroutine(output) else output
        except asyncio.CancelledError:
            node.is_stopped = True
            raise
        finally:
            node.is_over = True
            if done.done() and not done.cancelled():
                done.exception()  # looked at, also where a cancellation came at the same moment
            await node.end_what_was_asked()

    return run


def _work(
    loop: asyncio.AbstractEventLoop,
    done: asyncio.Future[Any],
    function: Callable[[Any, Any], Any],
    ctx: Any,
    value: Any,
) -> None:
    settle: Callable[[], None]
    try:
        settle = partial(done.set_result, function(ctx, value))
    except StopIteration as problem:
        # A future cannot hold it.
        wrapped = RuntimeError("the node raised StopIteration, as next() does at the end")
        wrapped.__cause__ = problem
        settle = partial(done.set_exception, wrapped)
    except BaseException as problem:
        settle = partial(done.set_exception, problem)
    try:
        loop.call_soon_threadsafe(_settle, done, settle)
    except RuntimeError:
        # The loop is closed: the run was stopped, and nobody waits.
        if not loop.is_closed():
            raise


def _settle(done: asyncio.Future[Any], settle: Callable[[], None]) -> None:
    if not done.done():
        settle()


def _cancelled(task: asyncio.Task[Any]) -> BaseException:
    """How a task ended that was cancelled by itself, or by what it awaited."""
    try:
        task.result()
    except asyncio.CancelledError as problem:
        return problem
    raise AssertionError("the task was cancelled")


def call_on_loop(function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
    """See :meth:`koogbook.runtime.context.Context.call`."""
    named = str(getattr(function, "__name__", type(function).__name__))
    given_here: Any = function
    if not callable(given_here):
        if inspect.iscoroutine(given_here):
            given_here.close()
        raise TypeError(
            f"ctx.call takes an async function and its arguments, ctx.call(ask, ctx), not {type(given_here).__name__} "
            f"{named}. Nothing was called. Hand over the function itself, and behind it what it is called with."
        )
    here = _current.get()
    if here is None or _is_running_here():
        raise WrongLoopError(
            "ctx.call waits in a thread for what runs on the loop, and this is no node with thread=True, or it is the "
            f"loop itself, which would wait for itself. Nothing was called. Write: await {named}(...)."
        )
    node, waiting = here
    given: T = node.call(waiting, partial(function, *args, **kwargs), named)
    return given


def _is_running_here() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
