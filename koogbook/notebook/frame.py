"""How views are shown in a notebook: as a widget with its static form beside it, or as the static form alone.

``KOOGBOOK_STATIC=1`` shows each view once, final, without a widget: for batch runs and for notebooks whose outputs are
compared. Updates of live views are coalesced, ten a second at most, and fewer where a picture takes long to make.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

from koogbook.code_place import Cell, defining_cell
from koogbook.notebook.frozen import WIDGET_VIEW
from koogbook.notebook.pace import Pace, running_loop
from koogbook.notebook.views.look.markup import live_tree
from koogbook.notebook.views.view import View

if TYPE_CHECKING:
    from koogbook.notebook.widgets.view_widget import ViewWidget

#: Seconds between two pictures at least.
PACE = 0.1

#: Seconds after a change until what would be saved has changed, too.
KEPT_AFTER = 1.0

#: Seconds that a widget outlives its place on the page: one that is closed while a front end is still making its view
#: leaves an error in there.
GRACE = 2.0


def is_static() -> bool:
    """Whether views are shown without a widget: asked for by ``KOOGBOOK_STATIC``, or there is no kernel."""
    return os.environ.get("KOOGBOOK_STATIC", "") not in ("", "0") or getattr(_shell(), "kernel", None) is None


def bundle(view: View[Any]) -> dict[str, Any]:
    """The static form: text, and HTML that stands alone."""
    return {"text/plain": str(view), "text/html": view.to_html()}


def show(view: View[Any]) -> None:
    """Show a view under the cell that is running; without a notebook, print it."""
    if is_static():
        show_static(view)
        return
    live = _live.get(id(view))
    if live is None:
        live = _live[id(view)] = Live(view)
    live.show(defining_cell())


def show_static(view: View[Any]) -> None:
    """Show the static form of a view; without a notebook, print it."""
    if _shell() is None:
        print(view)
    else:
        _display(bundle(view), view.title)


def show_text(text: str) -> None:
    """Show a line under the cell that is running; without a notebook, print it."""
    if _shell() is None:
        print(text)
    else:
        _display({"text/plain": text}, "Text")


def close(view: View[Any]) -> None:
    """End the live form of a view; what it showed last stays as its static form."""
    live = _live.pop(id(view), None)
    if live is not None:
        live.freeze()


def freeze_all() -> int:
    """Turn all live views that are shown into their static form; gives how many."""
    count = 0
    while _live:
        _, live = _live.popitem()
        count += live.freeze()
    return count


def cell_gone(cell_id: str) -> None:
    """A cell runs again, or was deleted: what it showed is gone from the page, and is freed here."""
    for key, live in list(_live.items()):
        if live.left_by(cell_id):
            del _live[key]
            live.end()


class Live:
    """The live form of one view: its widget, where it is shown, and when it is drawn again."""

    def __init__(self, view: View[Any]) -> None:
        from koogbook.notebook.widgets.view_widget import ViewWidget

        self.view = view
        self._drawn = view.element
        self.widget: ViewWidget = ViewWidget(live_tree(view.live_element(self._drawn)), self._done)
        self._loop = running_loop()
        self._places: list[tuple[str, str]] = []
        self._shown = 0
        self._went_on = view.goes_on
        self._pace = Pace(self._draw, self._loop, every=PACE)
        self._keep = Pace(self._keep_picture, self._loop, every=KEPT_AFTER, after=KEPT_AFTER)
        self._stop = view.watch(self._pace.nudge)
        if view.goes_on:
            self._pace.nudge()

    def show(self, cell: Cell | None) -> None:
        """Show it once more."""
        self._shown += 1
        handle = f"{self.widget.model_id}-{self._shown}"
        self._places.append((handle, cell.id if cell is not None else ""))
        widget = {WIDGET_VIEW: {"version_major": 2, "version_minor": 0, "model_id": self.widget.model_id}}
        _display({**bundle(self.view), **widget}, self.view.title, handle)

    def left_by(self, cell_id: str) -> bool:
        """Take away the places under a cell; says whether none is left."""
        before = len(self._places)
        self._places = [place for place in self._places if place[1] != cell_id]
        return before > 0 and not self._places

    def freeze(self) -> int:
        """Turn it into its static form wherever it is shown; gives in how many places."""
        for handle, _ in self._places:
            _display(bundle(self.view), self.view.title, handle, update=True)
        self.end(after=GRACE)
        return len(self._places)

    def end(self, *, after: float = 0.0) -> None:
        """Free everything; the widget so many seconds later."""
        self._stop()
        self._pace.stop()
        self._keep.stop()
        if after and self._loop is not None and not self._loop.is_closed():
            self._loop.call_later(after, self.widget.close)
        else:
            self.widget.close()

    def _done(self, do: str, value: str) -> None:
        """A click: it may come on any thread, so it is only put on the loop."""
        if self._loop is None or self._loop.is_closed():
            self._act(do, value)
        else:
            self._loop.call_soon_threadsafe(partial(self._act, do, value))

    def _act(self, do: str, value: str) -> None:
        try:
            self.view.act(do, value)
        except Exception as problem:
            self.view.trouble = f"{type(problem).__name__}: {problem}"
            self.view.refresh()
        self._pace.hurry()

    def _draw(self) -> None:
        self._went_on = self.view.goes_on
        fault = ""
        try:
            self._drawn = self.view.element
        except Exception as problem:
            # The last good picture stays, and says why there is no newer one.
            fault = f"No newer picture could be made: {type(problem).__name__}: {problem}"
        sent = self.widget.update(live_tree(self.view.live_element(self._drawn, fault)))
        if self._went_on:
            self._pace.nudge()
        elif sent and not fault:
            self._keep.nudge()

    def _keep_picture(self) -> None:
        """Let what is saved for this view be what it shows now, and not what it showed first."""
        self.widget.send({"picture": bundle(self.view)})


_live: dict[int, Live] = {}


def _shell() -> Any:
    import sys

    module = sys.modules.get("IPython")
    return None if module is None else module.get_ipython()


def _display(data: dict[str, Any], title: str, handle: str | None = None, *, update: bool = False) -> None:
    from IPython.display import display

    metadata = {"koogbook": {"view": title}}
    if handle is None:
        display(data, metadata=metadata, raw=True)
    else:
        display(data, metadata=metadata, raw=True, display_id=handle, update=update)
