"""The table of checkpoints as an object: what it is of, what is chosen in it, and what can be done in it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from koogbook.errors import ViewError
from koogbook.features.persistence.checkpoint import Checkpoint, CheckpointInfo
from koogbook.notebook.views.checkpoint_view.filtering import sort_column
from koogbook.notebook.views.checkpoint_view.reading import write_checkpoint
from koogbook.notebook.views.checkpoint_view.selection import export_name
from koogbook.notebook.views.checkpoint_view.source import CheckpointSource
from koogbook.notebook.views.checkpoint_view.state import CheckpointState, page_state
from koogbook.notebook.views.checkpoint_view.table import Choice, checkpoint_key
from koogbook.notebook.views.checkpoint_view.text import checkpoint_text
from koogbook.notebook.views.checkpoint_view.view import checkpoint_element
from koogbook.notebook.views.checkpoint_view.watching import Watching
from koogbook.notebook.views.checkpoint_view.work import SelectionWork
from koogbook.notebook.views.diff_view.diff import DiffView, diff
from koogbook.notebook.views.look.markup import Element
from koogbook.notebook.views.view import Action, View

if TYPE_CHECKING:
    import pandas


class CheckpointView(View[CheckpointState]):
    """The checkpoints of a session and of its forks; made by ``kb.checkpoints``.

    The store is read for :meth:`refresh`, after a fork, and when a run of its agent has saved something, unless that
    takes long: then the head says that there is more. The verdicts are those against the code as it is at each look,
    which every click is.
    """

    title = "Checkpoints"

    def __init__(self, of: Any, session_id: str | None = None) -> None:
        self._source = CheckpointSource(of, session_id)
        self._choice = Choice()
        self._work = SelectionWork(self)
        self._keeps_what_was_read = False
        super().__init__(of)

    # ------------------------------------------------------------------------------------- what it shows

    def look(self) -> CheckpointState:
        """The page that is chosen, of what was read last, judged against the strategy as it is now."""
        source, table = self._source, self._source.table()
        place, here = self._place(), self._work.here()
        if place is not None and source.forks and not here.fork_to:
            here.fork_to = source.free_session(table.rows[place].info.session_id)
        return page_state(
            table,
            self._choice,
            store=repr(source.storage),
            sessions=source.sessions(),
            selected=place,
            fork_to=here.fork_to,
            marked=self._work.marked,
            inside=here.inside,
            compared=here.compared,
            said=here.said,
            not_checked=source.code.why_not,
            empty=source.empty,
            is_behind=source.is_behind,
        )

    def to_text(self) -> str:
        """ASCII text of at most 100 columns."""
        return checkpoint_text(self.state)

    @property
    def element(self) -> Element:
        """The markup, for a page."""
        return checkpoint_element(self.state)

    @property
    def selected(self) -> CheckpointInfo | None:
        """The selected checkpoint without its messages and state, or None; ``await view.checkpoint()`` has all."""
        place = self._place()
        return None if place is None else self._source.table().rows[place].info

    def info(self, id: str = "") -> CheckpointInfo:
        """A checkpoint without its messages and state, by its id or the beginning of it; the selected one without.

        Raises:
            ViewError: No checkpoint has this id, or several begin so; or none is selected.
        """
        found = self._source.table().rows[self._source.place(id)].info if id else self.selected
        if found is None:
            raise ViewError("No checkpoint is selected. Nothing was changed. Select one, or give its id.")
        return found

    def follow(self) -> None:
        """Show what a run of the agent has saved since, or that there is more; costs next to nothing without it."""
        if self._source.is_behind and not self.state.is_behind:
            self.redraw()

    def refresh(self) -> None:
        """Look at the store and at the code again."""
        if not self._keeps_what_was_read:
            self._source.forget()
        super().refresh()

    def redraw(self) -> None:
        """Show what is chosen, without reading the store again."""
        super().refresh()

    def act(self, do: str, value: str = "") -> None:
        """Do what a click does; the store is not read again for it, but for ``refresh`` and after a fork.

        Raises:
            ViewError: This view cannot do that, or there is no such checkpoint, column or page.
        """
        self._keeps_what_was_read = True
        try:
            super().act(do, value)
        except BaseException:
            # A live view shows the trouble at once, and need not read the store again for that, either.
            try:
                asyncio.get_running_loop().call_soon(self._read_when_asked)
            except RuntimeError:
                self._read_when_asked()
            raise
        self._read_when_asked()

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """As for every view; while somebody watches, it looks again when a run of its agent has saved something."""
        end, watching = super().watch(watcher), Watching(self)

        def stop() -> None:
            watching.stop()
            end()

        return stop

    # ------------------------------------------------------------------------------------- what is chosen

    def select(self, what: str) -> None:
        """Select a checkpoint by its id or the beginning of it, here and in all other tables of the same agent.

        The page on which it stands is shown. An empty text selects nothing.

        Raises:
            ViewError: No checkpoint has this id, or several begin so.
        """
        if not what:
            self._subject.selected = ""
        else:
            table, place = self._source.table(), self._source.place(what)
            if range(place, place + 1) not in table.page(self._choice)[1]:
                self._choice = table.choice_of(self._choice, place) or self._choice
            self._subject.selected = checkpoint_key(table.rows[place].info)
        for view in tuple(self._subject.views):
            if isinstance(view, CheckpointView):
                view.redraw()

    def sort(self, column: str | None, *, descending: bool = False) -> None:
        """Sort by a column; None is tree order.

        Raises:
            ViewError: There is no such column.
        """
        name = sort_column(column) if column else ""
        self._choose(sort=name, descending=bool(name) and descending, page=1)

    def filter(self, text: str) -> None:
        """Show only those that pass: ``view.filter("node:verify tokens>1000 verdict:not")``.

        Raises:
            ViewError: There is no such column, or a value does not fit it; the table shows what it showed.
        """
        self._source.table().passed(text)
        self._choose(filter=text, page=1)

    def turn_to(self, page: int) -> None:
        """Show a page; they count from 1.

        Raises:
            ViewError: There is no such page.
        """
        pages = self._source.table().pages(self._choice)
        if not 1 <= page <= pages:
            raise ViewError(
                f"There is no page {page}; the last one is {pages:,}. The table shows what it showed."
            )
        self._choose(page=page)

    # ------------------------------------------------------------------------------------- what it gives

    def to_dataframe(self) -> pandas.DataFrame:
        """All checkpoints that pass the filter, of all pages, in the order of the table, with typed columns."""
        from koogbook.notebook.views.checkpoint_view.frames import as_frame

        table = self._source.table()
        return as_frame(table, table.sorted(self._choice))

    async def checkpoint(self, id: str = "") -> Checkpoint:
        """A whole checkpoint by its id or the beginning of it; without an id the selected one.

        Raises:
            ViewError: No checkpoint has this id, or several begin so.
            CheckpointNotFoundError: It is not in the store any more.
        """
        return await self._source.whole(self.info(id))

    async def diff(self, before: str, after: str = "") -> DiffView:
        """The messages of two checkpoints side by side; without the second id, the selected one is it.

        Raises:
            ViewError: No checkpoint has one of these ids, or several begin so.
            CheckpointNotFoundError: One is not in the store any more.
        """
        first, second = self.info(before), self.info(after)
        one, other = await self._source.whole(first), await self._source.whole(second)
        return diff(one.messages, other.messages, name=f"{first.id} to {second.id}")

    async def fork(self, id: str = "", *, to: str = "") -> CheckpointInfo:
        """Start another session at a checkpoint, by default at the selected one; both lines stay.

        ``to`` is the new session id, by default one that is free. ``await agent.run(None, session_id=...)`` goes on.

        Raises:
            ViewError: The view is of a store alone; no checkpoint has this id, or several begin so.
            CheckpointError: It is a tombstone, or the new session id is in use.
        """
        source = self._source
        if not source.forks:
            raise ViewError(
                "This table is of a store, and an agent forks. Nothing was changed. Use kb.checkpoints(agent)."
            )
        info = self.info(id)
        new = to or source.free_session(info.session_id)
        forked: CheckpointInfo = await source.of.fork(info.session_id, info.id, to=new)
        source.forget()
        self.redraw()
        return forked

    async def export(self, id: str = "", path: str | Path | None = None) -> Path:
        """Write a checkpoint as one JSON file, by default the selected one into the current folder; gives the path.

        Raises:
            ViewError: There is such a file already, or no such checkpoint; nothing was written.
        """
        info = self.info(id)
        found = await self._source.whole(info)
        return write_checkpoint(found, Path(export_name(info) if path is None else path))

    # ------------------------------------------------------------------------------------- clicks

    def actions(self) -> Mapping[str, Action]:
        """Select, sort, filter, page, open runs and fold them; look inside, diff, fork and export what is selected."""
        return {
            "select": self._click,
            "back": lambda value: self.select(""),
            "sort": self._next_order,
            "filter": self.filter,
            "page": self._page,
            "open": self._open,
            "fold": lambda value: self._choose(opened=frozenset(), page=1),
            "refresh": lambda value: self._source.forget(),
            **self._work.actions(),
        }

    def _click(self, value: str) -> None:
        self.select("" if self._source.place(value) == self._place() else value)

    def _next_order(self, value: str) -> None:
        column = sort_column(value)
        if self._choice.sort != column:
            self.sort(column)
        else:
            self.sort(None if self._choice.descending else column, descending=True)

    def _page(self, value: str) -> None:
        last = self._source.table().pages(self._choice)
        now = min(self._choice.page, last)
        steps = {"first": 1, "previous": max(now - 1, 1), "next": min(now + 1, last), "last": last}
        if value not in steps and not (value.isascii() and value.isdigit()):
            raise ViewError(f"There is no page {value!r}. It is a number, or one of {', '.join(steps)}.")
        self.turn_to(steps[value] if value in steps else int(value))

    def _open(self, value: str) -> None:
        info = self._source.table().rows[self._source.place(value)].info
        self._choose(opened=self._choice.opened ^ {checkpoint_key(info)})

    # ------------------------------------------------------------------------------------- what it knows

    def _choose(self, **what: Any) -> None:
        self._choice = replace(self._choice, **what)
        self.redraw()

    def _read_when_asked(self) -> None:
        self._keeps_what_was_read = False

    def _place(self) -> int | None:
        """Where the selected one stands; None where it is not in this table."""
        key = self._subject.selected
        return self._source.table().find(*json.loads(key)) if key else None


def checkpoints(
    agent: Any,
    session_id: str | None = None,
    *,
    filter: str = "",
    sort: str | None = None,
    descending: bool = False,
    page: int = 1,
    selected: str | None = None,
) -> CheckpointView:
    """The checkpoints of a session and of its forks, each with a verdict against the strategy as it is now.

    Args:
        agent: An agent with Persistence, or a store.
        session_id: The session; None shows all.
        filter: Words and conditions that must all hold, such as ``"node:verify tokens>1000 verdict:not"``.
        sort: The column to sort by; None puts parents before their children.
        descending: Sort the largest first.
        page: Which page, from 1.
        selected: The id, or the beginning of it, of the checkpoint to show in detail.

    Raises:
        FeatureNotInstalledError: The agent has no Persistence.
        FeatureError: The store cannot list.
        ViewError: There is no such column, page or checkpoint.
    """
    view = CheckpointView(agent, session_id)
    if filter:
        view.filter(filter)
    if sort is not None:
        view.sort(sort, descending=descending)
    if page != 1:
        view.turn_to(page)
    if selected is not None:
        view.select(selected)
    return view
