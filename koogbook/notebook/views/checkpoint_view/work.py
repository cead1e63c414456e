"""What clicks do with the selected checkpoint that has to be awaited: fork, look inside, compare, export."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from koogbook.errors import ViewError
from koogbook.features.persistence.checkpoint import CheckpointInfo
from koogbook.notebook.pace import running_loop
from koogbook.notebook.views.checkpoint_view.selection import Compared, Inside, inside_of, quoted
from koogbook.notebook.views.checkpoint_view.table import checkpoint_key
from koogbook.notebook.views.look.isolates import path_apart, set_apart
from koogbook.notebook.views.view import Action

if TYPE_CHECKING:
    from koogbook.notebook.views.checkpoint_view.checkpoints import CheckpointView


class Here:
    """What was done with one selected checkpoint, and is gone with the selection.

    ``fork_to`` is the session id that somebody typed for a fork, ``said`` what came of the last click.
    """

    __slots__ = ("compared", "fork_to", "inside", "key", "said")

    def __init__(self, key: str) -> None:
        self.key = key
        self.fork_to = ""
        self.said = ""
        self.inside: Inside | None = None
        self.compared: Compared | None = None


class SelectionWork:
    """Starts on the running loop what is asked for, and shows in its view what came of it."""

    def __init__(self, view: CheckpointView) -> None:
        #: The key of the checkpoint that is marked for a diff.
        self.marked = ""
        self._view = view
        self._here = Here("")
        self._tasks: set[asyncio.Task[None]] = set()

    def actions(self) -> Mapping[str, Action]:
        """By the word that the front end sends."""
        return {
            "fork_to": self._name_fork,
            "fork": self._fork,
            "inspect": self._inspect,
            "diff": self._mark_or_compare,
            "unmark": self._unmark,
            "export": self._export,
        }

    def here(self) -> Here:
        """What belongs to what is selected now."""
        info = self._view.selected
        key = "" if info is None else checkpoint_key(info)
        if self._here.key != key:
            self._here = Here(key)
        return self._here

    def _name_fork(self, value: str) -> None:
        self._view.info()
        self.here().fork_to = value.strip()

    def _fork(self, value: str) -> None:
        info, here = self._view.info(), self.here()
        to = value or here.fork_to

        async def fork() -> str:
            forked = await self._view.fork(checkpoint_key(info), to=to)
            here.fork_to = ""
            session = set_apart(repr(forked.session_id))
            line = f"run = await agent.run(None, session_id={set_apart(quoted(forked.session_id))})"
            return f"Forked: session {session} begins with {set_apart(forked.id)}. Go on there: {line}"

        self._start(fork(), f"Forking {set_apart(info.id)} ...", here)

    def _inspect(self, value: str) -> None:
        info, here = self._view.info(), self.here()

        async def inspect() -> str:
            here.inside = inside_of(await self._view.checkpoint(checkpoint_key(info)))
            return "What is in it stands below."

        self._start(inspect(), f"Reading {set_apart(info.id)} ...", here)

    def _mark_or_compare(self, value: str) -> None:
        info, here = self._view.info(), self.here()
        before, after = self.marked, checkpoint_key(info)
        if not before or before == after:
            self.marked = "" if before else after
            return

        async def compare() -> str:
            view = await self._view.diff(before, after)
            here.compared = Compared(_id(before), info.id, view.element, view.to_text())
            return "The diff stands below."

        self._start(compare(), f"Reading {set_apart(_id(before))} and {set_apart(info.id)} ...", here)

    def _unmark(self, value: str) -> None:
        self.marked, self.here().compared = "", None

    def _export(self, value: str) -> None:
        info: CheckpointInfo = self._view.info()

        async def export() -> str:
            return f"Written: {path_apart(str(await self._view.export(checkpoint_key(info))))}"

        self._start(export(), f"Writing {set_apart(info.id)} ...", self.here())

    def _start(self, work: Coroutine[Any, Any, str], doing: str, here: Here) -> None:
        loop = running_loop()
        if loop is None:
            work.close()
            raise ViewError(
                "This is done on a running event loop, and none runs here. Nothing was changed. Await the method of "
                "the view instead: fork, checkpoint, diff or export."
            )
        here.said = doing
        task = loop.create_task(self._finish(work, here))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _finish(self, work: Coroutine[Any, Any, str], here: Here) -> None:
        try:
            here.said = await work
        except Exception as problem:
            here.said, self._view.trouble = "", f"{type(problem).__name__}: {problem}"
        except BaseException:
            here.said = "This was cancelled."
            raise
        finally:
            self._view.redraw()


def _id(key: str) -> str:
    id: str = json.loads(key)[1]
    return id
