"""A run that is watched: it goes on as a task of the kernel's own loop, and its view moves under the cell."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any

from koogbook.agents.agent import Agent
from koogbook.agents.run import Run
from koogbook.errors import WrongLoopError
from koogbook.events import NodeCompleted, NodeFailed, NodeStarting
from koogbook.notebook import frame
from koogbook.notebook.pace import running_loop
from koogbook.notebook.views.run_view.runs import RunView

#: Seconds after which a run that still goes on gets a panel: what is over sooner is shown when it is over.
SHOWN_AFTER = 0.15

#: Seconds for which a node may hold up the event loop before the run says so.
BLOCKED_AFTER = 1.0


class WatchedRun:
    """A run that goes on by itself: ``await`` it to get the :class:`koogbook.Run`, or ``cancel()`` it.

    Whoever awaits it and is interrupted ends the run, too.
    """

    def __init__(self, agent: Agent, input: Any, session_id: str | None) -> None:
        self.agent = agent
        #: The run, as soon as it has begun.
        self.run: Run | None = None
        #: Its view, likewise.
        self.view: RunView | None = None
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._pulse: Pulse | None = None
        self._task = self._loop.create_task(self._go(input, session_id), name=f"koogbook run of {agent.id}")

    @property
    def done(self) -> bool:
        """Whether it is over, one way or another."""
        return self._task.done()

    def cancel(self) -> None:
        """Stop the run; its sessions are given back, and what was saved stays."""
        self._task.cancel()

    def __await__(self) -> Generator[Any, None, Run]:
        return self._task.__await__()

    def __repr__(self) -> str:
        return f"<watched {self.run!r}>" if self.run is not None else "<watched run, about to begin>"

    async def _go(self, input: Any, session_id: str | None) -> Run:
        try:
            return await self.agent.run(input, session_id, on_start=self._begin)
        finally:
            self._end()

    def _begin(self, run: Run) -> None:
        self.run = run
        self.view = RunView(run, max_iterations=self.agent.max_iterations, stop=self.cancel)
        self._pulse = Pulse(run, self._loop)
        if not frame.is_static():
            self._timer = self._loop.call_later(SHOWN_AFTER, self._show, self.view)

    def _show(self, view: RunView) -> None:
        self._timer = None
        frame.show(view)

    def _end(self) -> None:
        if self._pulse is not None:
            self._pulse.stop()
        if self._timer is not None:
            self._timer.cancel()
        if self.view is None:
            return
        try:
            self._show_end(self.view)
        except Exception as problem:  # a fault in a picture is no fault of the run
            frame.show_text(f"The run is over, and could not be shown: {type(problem).__name__}: {problem}")

    def _show_end(self, view: RunView) -> None:
        """The panel ends as its static form; where there is no live one, this is the only time it is shown."""
        view.refresh()
        if self._timer is not None or frame.is_static():
            frame.show_static(view)
        else:
            view.close()


class Pulse:
    """Notices when a node holds up the event loop, so that nothing can be drawn, clicked or stopped, and says which."""

    _EVERY = 0.2

    def __init__(self, run: Run, loop: asyncio.AbstractEventLoop) -> None:
        self._run = run
        self._loop = loop
        self._next()

    def stop(self) -> None:
        """Look once more, and then no more."""
        self._timer.cancel()
        self._look()

    def _next(self) -> None:
        self._due = self._loop.time() + self._EVERY
        self._timer = self._loop.call_at(self._due, self._beat)

    def _beat(self) -> None:
        self._look()
        self._next()

    def _look(self) -> None:
        late = self._loop.time() - self._due
        if late > BLOCKED_AFTER:
            self._run.notice(
                "blocked",
                f"{self._node()} blocked the event loop for {late + self._EVERY:.1f} s: meanwhile nothing could be "
                "drawn, clicked or stopped. Await what it waits for, or put it into a thread: "
                "await asyncio.to_thread(...).",
            )

    def _node(self) -> str:
        """The node that ran last, whether it is over or not."""
        nodes = (
            event.path
            for event in reversed(self._run.events)
            if isinstance(event, NodeStarting | NodeCompleted | NodeFailed)
            and event.path.rpartition("/")[2] not in ("start", "finish")
        )
        return next(nodes, "the run")


def watch(agent: Agent, input: Any = None, session_id: str | None = None) -> WatchedRun:
    """Run an agent and watch it: ``run = await kb.watch(agent, "...", session_id="chat-1")``.

    Without ``await`` it goes on in the background: ``handle = kb.watch(...)``, later ``await handle`` or
    ``handle.cancel()``.

    Args:
        agent: What is run.
        input: What its strategy takes.
        session_id: The conversation; None makes a fresh one.

    Raises:
        WrongLoopError: There is no running event loop: outside a notebook, or in a plain script.
        TypeError: It is no agent.
    """
    if not isinstance(agent, Agent):
        raise TypeError(f"watch takes an agent, not {agent!r:.60}. Write: kb.watch(kb.Agent(...), input).")
    if running_loop() is None:
        raise WrongLoopError(
            "watch needs a running event loop, as a notebook has one. In a script: run = asyncio.run(agent.run(...)), "
            "then kb.graph(run).save('run.html')."
        )
    return WatchedRun(agent, input, session_id)
