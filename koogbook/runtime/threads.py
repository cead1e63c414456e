"""Nodes that block: they run in a thread of their own, and call back onto the loop of their run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

from koogbook.errors import WrongLoopError

T = TypeVar("T")
P = ParamSpec("P")


class _Thread:
    """The thread of one node: the loop that waits for it, and whether that has given up."""

    __slots__ = ("is_stopped", "loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.is_stopped = threading.Event()


_current: ContextVar[_Thread | None] = ContextVar("koogbook_node_thread", default=None)


def in_thread(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Awaitable[Any]]:
    """The async function of a node whose own function blocks: it runs in a thread.

    A run that is stopped does not wait for the thread, which goes on until its function returns or calls back.
    """

    async def run(ctx: Any, value: Any) -> Any:
        thread = _Thread(asyncio.get_running_loop())
        token = _current.set(thread)
        try:
            return await asyncio.to_thread(_run, function, ctx, value)
        except asyncio.CancelledError:
            thread.is_stopped.set()
            raise
        finally:
            _current.reset(token)

    return run


def _run(function: Callable[[Any, Any], Any], ctx: Any, value: Any) -> Any:
    try:
        return function(ctx, value)
    except StopIteration as problem:
        # A future cannot hold it: on Python 3.11 the run would wait for ever.
        raise RuntimeError("the node raised StopIteration, as next() does at the end") from problem


def call_on_loop(function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
    """See :meth:`koogbook.runtime.context.Context.call`."""
    thread = _current.get()
    if thread is None or _is_running_here():
        raise WrongLoopError(
            "ctx.call waits in a thread for what runs on the loop, and this is no node with thread=True, or it is the "
            f"loop itself, which would wait for itself. Nothing was called. Write: await {_named(function)}(...)."
        )
    if thread.is_stopped.is_set():
        raise asyncio.CancelledError("the run of this node was stopped")

    async def called() -> T:
        return await function(*args, **kwargs)

    future = asyncio.run_coroutine_threadsafe(called(), thread.loop)
    return future.result()


def _is_running_here() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _named(function: Any) -> str:
    return getattr(function, "__name__", "function")
