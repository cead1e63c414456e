"""Who goes on when a task is done: a look at asyncio from outside, as far as it lets itself be looked at.

Seen are the waits that end only when the task ends: ``await task``, ``asyncio.gather``, ``asyncio.wait`` for all,
``asyncio.wait_for``, ``asyncio.shield``, and the task groups of asyncio and anyio at the end of their block.

Seen as well is the task in which a streamed answer is made, for the one who reads it, and the one in which a node in a
thread lets something be done (:func:`works_for`).

Not seen are a queue, an event, a condition or a future of one's own that the task would set, other threads, a
subprocess, ``asyncio.as_completed``, ``asyncio.wait`` for the first one, and what other libraries build on plain
futures. A cycle by way of these is ended by the limit of the wait for the lock.

It reads what asyncio keeps in attributes that are not public. Where an interpreter does not have them, the wait is
simply not seen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Iterable, Iterator
from functools import partial
from types import FunctionType
from typing import Any, NamedTuple
from weakref import ReferenceType, WeakKeyDictionary, ref

Awaited = asyncio.Future[Any]


class Step(NamedTuple):
    """``waiting`` goes on when another one is done; ``how`` is what it waits through, empty for a plain await."""

    waiting: Awaited
    how: str


#: The task that a task works for: it goes on when that one hands something over; and through what.
_workers: WeakKeyDictionary[Awaited, tuple[ReferenceType[Awaited], str]] = WeakKeyDictionary()


def works_for(worker: Awaited, employer: Awaited | None, how: str = "a streamed answer") -> None:
    """Say that one task goes on only when another one has something for it, which asyncio does not know of."""
    if employer is not None:
        _workers[worker] = ref(employer), how


def is_suspended(task: Awaited) -> bool:
    """Whether this task waits for anything at all; one that is about to run does not."""
    awaited = getattr(task, "_fut_waiter", task)
    return awaited is not None and not awaited.done()


def awaiting(future: Awaited) -> Iterator[Step]:
    """Those that wait for this future or task to be done."""
    yield from _employers(future)
    for callback in _callbacks(future):
        yield from _behind(callback, future)


def way_up(
    start: Awaited,
    goals: Container[Any],
    more: Callable[[Awaited], Iterable[Step]],
    dead_ends: set[int],
) -> tuple[Any, str] | None:
    """One of ``goals`` that waits for ``start``, however many stand between, and what it waits through.

    ``more`` gives further steps up from a future. ``dead_ends`` are the ids of what leads to no goal, and become more:
    many starts with the same goals are looked at in one go, in which nothing is gone over twice.
    """
    if id(start) in dead_ends:
        return None
    came_from: dict[Awaited, tuple[Awaited, str]] = {}
    seen = {id(start)}
    heads = [start]
    for future in heads:
        steps: list[Step] = [*more(future), *_employers(future)]
        for callback in _callbacks(future):
            if (number := id(callback)) not in dead_ends and number not in seen:
                seen.add(number)
                steps.extend(_behind(callback, future))
        for waiting, how in steps:
            number = id(waiting)
            if number in dead_ends or number in seen or waiting.done():
                continue
            seen.add(number)
            came_from[waiting] = (future, how)
            if waiting in goals:
                return waiting, _told(waiting, came_from)
            heads.append(waiting)
    dead_ends |= seen
    return None


def _told(goal: Awaited, came_from: dict[Awaited, tuple[Awaited, str]]) -> str:
    words: dict[str, None] = {}
    at: Awaited | None = goal
    while at in came_from:
        at, how = came_from[at]
        if how:
            words[how] = None
    return " and ".join(words)


def _employers(worker: Awaited) -> Iterator[Step]:
    found = _workers.get(worker) if _workers else None
    employer = None if found is None else found[0]()
    if found is not None and employer is not None:
        yield Step(employer, found[1])


def _callbacks(future: Awaited) -> list[Any]:
    entries = getattr(future, "_callbacks", None)
    return [entry[0] if isinstance(entry, tuple) else entry for entry in entries] if entries else []


def _behind(callback: Any, future: Awaited) -> Iterator[Step]:
    """What a done callback of this future lets go on."""
    owner = getattr(callback, "__self__", None)
    if asyncio.isfuture(owner):
        # The wake-up of a task that awaits it. Other methods of a task may be called back as well, such as cancel.
        if getattr(owner, "_fut_waiter", None) is future:
            yield Step(owner, "")
    elif owner is not None:
        yield from _of_group(owner)
    elif isinstance(callback, partial):
        if callback.args and asyncio.isfuture(callback.args[0]) and _is_known(callback.func):
            yield Step(callback.args[0], "wait_for")
    elif isinstance(callback, FunctionType) and _is_known(callback):
        yield from _of_closure(callback)


def _of_closure(callback: FunctionType) -> Iterator[Step]:
    cells: dict[str, Any] = {}
    for name, cell in zip(callback.__code__.co_freevars, callback.__closure__ or (), strict=False):
        try:
            cells[name] = cell.cell_contents
        except ValueError:  # nothing in it yet
            continue
    if cells.get("return_when") == asyncio.FIRST_COMPLETED:
        return
    how = callback.__qualname__.partition(".")[0].lstrip("_")
    for name, value in cells.items():
        if name in ("outer", "waiter") and asyncio.isfuture(value):
            yield Step(value, how)
        elif name == "self":
            yield from _of_group(value)


def _of_group(owner: Any) -> Iterator[Step]:
    completed = getattr(owner, "_on_completed_fut", None)
    if asyncio.isfuture(completed):
        yield Step(completed, type(owner).__name__)


def _is_known(function: Any) -> bool:
    """Whether it is asyncio's or anyio's own: a callback of somebody else may hold futures for any reason."""
    return str(getattr(function, "__module__", "")).partition(".")[0] in ("asyncio", "anyio")
