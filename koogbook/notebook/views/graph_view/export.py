"""The graph of a strategy, or of a run, as a file."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from koogbook.errors import ViewError
from koogbook.notebook.views.graph_view.painting import paint_png
from koogbook.notebook.views.graph_view.state import graph_state
from koogbook.notebook.views.graph_view.view import graph_drawing, graph_svg
from koogbook.notebook.views.look.styles import TOKENS, Theme
from koogbook.notebook.views.saving import require_folder, target_with_suffix, write
from koogbook.notebook.views.view import run_behind
from koogbook.runtime.export import to_dot, to_json, to_mermaid
from koogbook.runtime.shape import GraphShape

_TEXTS: dict[str, Callable[[GraphShape], str]] = {".mmd": to_mermaid, ".dot": to_dot, ".json": to_json}
_PICTURES = (".svg", ".png")


def export_graph(of: Any, path: str | Path, *, theme: Theme = "light") -> Path:
    """Write the graph of a strategy, or of a run with what happened in it, to a file; same graph, same bytes.

    Nothing is asked of the network or of another program.

    Args:
        of: A strategy, a run, or an agent.
        path: Its suffix says what is written: ``.svg`` and ``.png`` are the picture of the graph view, ``.mmd`` is
            Mermaid, ``.dot`` is the language of Graphviz, ``.json`` is what ``strategy.to_json()`` gives.
        theme: The colours of a picture: ``"light"`` or ``"dark"``.

    Returns:
        The path of the file.

    Raises:
        TypeError: ``of`` is none of these.
        ViewError: Another suffix, or another theme, or no such folder, or the file cannot be written; nothing was.
    """
    if not isinstance(path, str | PathLike):
        raise TypeError(
            f"export_graph takes a strategy, a run or an agent, and then the path of the file, not {path!r:.60}. "
            "Nothing was written."
        )
    there = (*_PICTURES, *_TEXTS)
    target = target_with_suffix("export_graph", path, there, f"It writes {', '.join(there)}.")
    suffix = target.suffix.casefold()
    require_folder(target)
    if theme not in TOKENS:
        raise ViewError(f"theme is 'light' or 'dark', not {theme!r:.60}. Nothing was written.")
    found = run_behind(of)
    shape = getattr(getattr(found, "strategy", found), "shape", None)
    if shape is None:
        raise TypeError(
            f"export_graph takes a strategy, a run or an agent, not {of!r:.60}. Nothing was written."
        )
    shape = shape() if callable(shape) else shape
    if suffix in _TEXTS:
        body = _TEXTS[suffix](shape).encode("utf-8", "replace")
    else:
        state = graph_state(shape, getattr(found, "events", ()))
        body = graph_svg(state, theme) if suffix == ".svg" else paint_png(graph_drawing(state), theme)
    return write(target, body)
