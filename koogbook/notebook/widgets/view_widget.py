"""The widget of all views: a live tree that the front end draws, and the words that it sends back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from koogbook.notebook.views.look.markup import Tree
from koogbook.notebook.views.look.styles import widget_sheet
from koogbook.notebook.widgets.patch import changes

_KEPT_BACK = ("tree", "version")


class ViewWidget(anywidget.AnyWidget):
    """Shows a live tree; what is sent for an update are the changes of it.

    ``on_do(do, value)`` is called for each click, on whichever thread the kernel has for it.
    """

    _esm = (Path(__file__).parent / "view.js").read_text(encoding="utf-8")
    _css = widget_sheet()

    tree = traitlets.Any().tag(sync=True)
    version = traitlets.Int(0).tag(sync=True)
    model_name = traitlets.Unicode("").tag(sync=True)

    def __init__(self, tree: Tree, on_do: Callable[[str, str], None]) -> None:
        super().__init__(tree=tree)
        self.model_name = self.model_id
        self._on_do: Callable[[str, str], None] | None = on_do
        self.on_msg(ViewWidget._take)

    def update(self, tree: Tree) -> bool:
        """Show another tree; says whether anything was sent."""
        found = changes(self.tree, tree)
        if not found:
            return False
        before = self.version
        self.tree, self.version = tree, before + 1
        self.send({"from": before, "version": self.version, "changes": found})
        return True

    def send_state(self, key: Any = None) -> None:
        """Send the state; the tree goes with the whole state alone, and as changes otherwise."""
        if key not in _KEPT_BACK:
            super().send_state(key)

    def close(self) -> None:
        """End it in the front end, too; afterwards nothing here holds on to a view."""
        self._on_do = None
        self.layout.close()  # a model of its own, which nothing else would close
        super().close()

    def _take(self, content: Any, buffers: Any) -> None:
        if not isinstance(content, dict):
            return
        if content.get("ask") == "all":
            self.send({"tree": self.tree, "version": self.version})
        elif isinstance(content.get("do"), str) and self._on_do is not None:
            self._on_do(content["do"], str(content.get("value", "")))
