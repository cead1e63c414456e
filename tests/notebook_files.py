"""Saved notebooks of all kinds, made as data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

VIEW = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"


def shown(
    model: str = "", *, view: str | None = "Strategy graph", html: Any = "<p>picture</p>", **data: Any
) -> dict[str, Any]:
    """An output: of a koogbook view, of a foreign widget (``view=None``), without HTML (``html=None``)."""
    bundle: dict[str, Any] = {"text/plain": "text", **data}
    if html is not None:
        bundle["text/html"] = html
    if model:
        bundle[VIEW] = {"model_id": model, "version_major": 2, "version_minor": 0}
    metadata = {} if view is None else {"koogbook": {"view": view}}
    return {"data": bundle, "metadata": metadata, "output_type": "display_data"}


def cell(*outputs: dict[str, Any], source: str = "kb.graph(trip)") -> dict[str, Any]:
    """A code cell with these outputs."""
    return {
        "cell_type": "code",
        "execution_count": 1,
        "id": "c",
        "metadata": {},
        "outputs": list(outputs),
        "source": [source],
    }


def text_cell(source: str) -> dict[str, Any]:
    """A cell of prose."""
    return {"cell_type": "markdown", "id": "t", "metadata": {}, "source": [source]}


def model(*refers_to: str, ours: bool = False, **state: Any) -> dict[str, Any]:
    """A saved widget model that refers to others."""
    inner: dict[str, Any] = {f"child{at}": f"IPY_MODEL_{name}" for at, name in enumerate(refers_to)} | state
    if ours:
        inner["_anywidget_id"] = "koogbook.notebook.widgets.view_widget.ViewWidget"
    return {"model_module": "anywidget", "model_module_version": "~0.11.*", "model_name": "M", "state": inner}


def notebook(*cells: dict[str, Any], models: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    """A notebook of these cells with the state of these widget models."""
    about: dict[str, Any] = {"language_info": {"name": "python"}, **metadata}
    if models is not None:
        about["widgets"] = {STATE: {"state": models, "version_major": 2, "version_minor": 0}}
    return {"cells": list(cells), "metadata": about, "nbformat": 4, "nbformat_minor": 5}


def live() -> dict[str, Any]:
    """A notebook with one view that is live: its model and the layout of it."""
    return notebook(text_cell("# Trip"), cell(shown("v")), models={"v": model("l", ours=True), "l": model()})


def save(path: Path, content: dict[str, Any]) -> Path:
    """Write it as Jupyter does."""
    text = json.dumps(content, ensure_ascii=False, indent=1, sort_keys=True, separators=(",", ": "))
    path.write_text(f"{text}\n", encoding="utf-8", errors="backslashreplace")
    return path
