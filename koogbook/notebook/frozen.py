"""A saved notebook with its live koogbook views made static, so that it reads the same wherever it is opened.

A shown view is an output with text, HTML and a widget. A reopened widget needs its saved state and a front end that
knows it; the HTML needs neither. Freezing takes out the widget and its state and leaves the HTML.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from math import isinf
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from koogbook.errors import NotebookFileError

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
_WIDGET_STATE = "application/vnd.jupyter.widget-state+json"
_REFERENCE = "IPY_MODEL_"
_INDENT = re.compile(r"\{\r?\n([ \t]+)\"")


class ShownView(Struct, frozen=True):
    """A view in a saved notebook: its title, and the place of its cell, from 1."""

    cell: int
    title: str

    def __str__(self) -> str:
        return f"cell {self.cell} ({self.title})"


class Frozen(Struct, frozen=True):
    """What freezing gave: the notebook, the views made static, how many widget models went with them.

    ``without_html`` are views that stay live, since nothing static stands beside them; ``foreign`` is the number of
    widgets that are not koogbook's.
    """

    notebook: dict[str, Any]
    views: tuple[ShownView, ...]
    models: int
    foreign: int
    without_html: tuple[ShownView, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether there was anything to take out."""
        return bool(self.views or self.models)


class _Output(Struct):
    data: dict[str, Any] = {}
    metadata: dict[str, Any] = {}


class _Cell(Struct):
    outputs: list[_Output] = []


class _Shape(Struct):
    """What has to hold of a notebook for it to be frozen."""

    cells: list[_Cell]
    metadata: dict[str, Any]


def freeze(notebook: Mapping[str, Any]) -> Frozen:
    """Make the koogbook views of a notebook static; the notebook itself is not changed.

    Args:
        notebook: The content of a notebook file, format 4.

    Raises:
        NotebookFileError: It is no notebook of format 4.
    """
    shape = _checked(notebook)
    views: list[ShownView] = []
    without_html: list[ShownView] = []
    frozen: set[str] = set()
    shown: list[str] = []  # by what stays
    foreign = 0
    cells = list(notebook["cells"])
    for at, cell in enumerate(shape.cells):
        for place, output in enumerate(cell.outputs):
            if WIDGET_VIEW not in output.data:
                continue
            title = _title(output)
            if title is None:
                foreign += 1
            elif not _has_html(output):
                without_html.append(ShownView(at + 1, title))
            else:
                views.append(ShownView(at + 1, title))
                frozen.add(_model_id(output))
                cells[at] = _with_static_output(cells[at], place)
                continue
            shown.append(_model_id(output))
    metadata, models = _without_models(shape.metadata, frozen, shown)
    return Frozen(
        {**notebook, "cells": cells, "metadata": metadata}, tuple(views), models, foreign, tuple(without_html)
    )


def _checked(notebook: Mapping[str, Any]) -> _Shape:
    version = notebook.get("nbformat") if isinstance(notebook, Mapping) else None
    if not isinstance(version, int):
        raise NotebookFileError("It is no notebook: the number 'nbformat' is missing. Nothing was changed.")
    if version != 4:
        remedy = "Open and save it in JupyterLab first" if version < 4 else "Update koogbook"
        raise NotebookFileError(
            f"It is a notebook of format {version}, and format 4 can be frozen. Nothing was changed. {remedy}."
        )
    try:
        return msgspec.convert(notebook, _Shape)
    except msgspec.ValidationError as problem:
        raise NotebookFileError(
            f"It is no whole notebook: {problem}. Nothing was changed. Open and save it in JupyterLab."
        ) from problem


def _title(output: _Output) -> str | None:
    """The title of a koogbook view; None for an output that is not koogbook's."""
    ours = output.metadata.get("koogbook")
    return str(ours["view"]) if isinstance(ours, dict) and "view" in ours else None


def _has_html(output: _Output) -> bool:
    html = output.data.get("text/html")
    text = "".join(map(str, html)) if isinstance(html, list) else html
    return isinstance(text, str) and bool(text.strip())


def _model_id(output: _Output) -> str:
    view = output.data[WIDGET_VIEW]
    return str(view.get("model_id", "")) if isinstance(view, dict) else ""


def _with_static_output(cell: dict[str, Any], place: int) -> dict[str, Any]:
    outputs = list(cell["outputs"])
    data = {mime: body for mime, body in outputs[place]["data"].items() if mime != WIDGET_VIEW}
    outputs[place] = {**outputs[place], "data": data}
    return {**cell, "outputs": outputs}


# ------------------------------------------------------------------------------------------- widget models


def _without_models(
    metadata: dict[str, Any], frozen: set[str], shown: Iterable[str]
) -> tuple[dict[str, Any], int]:
    """The metadata without the models of koogbook views that nothing shows or refers to, and how many went."""
    widgets = metadata.get("widgets")
    saved = widgets.get(_WIDGET_STATE) if isinstance(widgets, dict) else None
    models = saved.get("state") if isinstance(saved, dict) else None
    if not isinstance(widgets, dict) or not isinstance(saved, dict) or not isinstance(models, dict):
        return metadata, 0
    ours = _reached([name for name, model in models.items() if name in frozen or _is_a_view(model)], models)
    needed = _reached([name for name in models if name not in ours] + list(shown), models)
    gone = ours - needed
    if not gone:
        return metadata, 0
    left = {name: model for name, model in models.items() if name not in gone}
    if left or len(widgets) > 1:
        return {**metadata, "widgets": {**widgets, _WIDGET_STATE: {**saved, "state": left}}}, len(gone)
    return {key: value for key, value in metadata.items() if key != "widgets"}, len(gone)


def _is_a_view(model: Any) -> bool:
    """Whether a saved model is a koogbook view, also where its output is gone."""
    state = model.get("state") if isinstance(model, dict) else None
    return isinstance(state, dict) and str(state.get("_anywidget_id", "")).startswith("koogbook.")


def _reached(start: Iterable[str], models: dict[str, Any]) -> set[str]:
    """The models that can be reached from some, these included."""
    reached: set[str] = set()
    waiting = [name for name in start if name in models]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += [other for other in _references(models[name]) if other in models]
    return reached


def _references(model: Any) -> Iterable[str]:
    """What may be the name of another model: ``IPY_MODEL_<id>``, and bare ids, as outputs inside a widget have them."""
    waiting = [model]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value.removeprefix(_REFERENCE)
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


# ------------------------------------------------------------------------------------------- files


def read_notebook(path: str | Path) -> tuple[dict[str, Any], bytes]:
    """The content of a notebook file, and its bytes.

    Raises:
        NotebookFileError: The file is missing, is not JSON, or holds what writing it back would change.
    """
    try:
        written = Path(path).read_bytes()
    except OSError as problem:
        raise NotebookFileError(
            f"{path} cannot be read ({problem.strerror}). Nothing was changed."
        ) from problem
    try:
        notebook = json.loads(
            written.decode("utf-8-sig"), object_pairs_hook=_unlike_keys, parse_float=_finite
        )
    except (ValueError, RecursionError) as problem:
        raise NotebookFileError(f"{path} is no readable JSON: {problem}. Nothing was changed.") from problem
    if not isinstance(notebook, dict):
        raise NotebookFileError(f"{path} is no notebook, its JSON is no object. Nothing was changed.")
    return notebook, written


def _unlike_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object, and one would be lost")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if isinf(number):
        raise ValueError(f"the number {text[:20]} is too large to be written back")
    return number


def freeze_file(path: str | Path) -> tuple[Frozen, bytes]:
    """Freeze the content of a file, which is not changed; gives the bytes to write, too.

    They are the file's own where there is nothing to freeze.

    Raises:
        NotebookFileError: The file is no notebook of format 4; the message names it.
    """
    notebook, written = read_notebook(path)
    try:
        frozen = freeze(notebook)
        return frozen, _encoded(frozen.notebook, written) if frozen.changed else written
    except NotebookFileError as problem:
        raise NotebookFileError(f"{path}: {problem}") from problem
    except RecursionError as problem:
        raise NotebookFileError(
            f"{path} is nested too deeply to be written. Nothing was changed."
        ) from problem


def _encoded(notebook: dict[str, Any], written: bytes) -> bytes:
    """The file as Jupyter writes it: keys in the order they had, and the indent."""
    indent = _INDENT.match(written[:100].decode("utf-8-sig", "ignore"))
    text = json.dumps(notebook, ensure_ascii=False, indent=indent[1] if indent else 1, separators=(",", ": "))
    # A lone half of a character can be in JSON only as its escape, which is what backslashreplace makes of it.
    return f"{text}\n".encode("utf-8", "backslashreplace")


def write_whole(path: str | Path, content: bytes, *, like: str | Path) -> None:
    """Write a file so that it is there whole or as it was; a new one gets the rights of ``like``.

    Raises:
        OSError: It cannot be written; it is as it was.
    """
    target = Path(path).resolve()  # what a link points to, not the link
    if target.is_dir() or not target.parent.is_dir():
        wrong = "is a folder" if target.is_dir() else "is in a folder that does not exist"
        raise FileNotFoundError(f"{path} {wrong}. Nothing was written. Give the path of a file.")
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        shutil.copymode(target if target.exists() else like, name)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise
