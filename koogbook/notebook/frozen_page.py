"""An HTML page of a notebook that shows every view without a network and without a script."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec import Struct

from koogbook.errors import KoogbookError

#: What is shown of an output, the best first. Neither widgets nor scripts are among them.
_SHOWN = (
    "text/html",
    "text/markdown",
    "image/svg+xml",
    "image/png",
    "image/jpeg",
    "text/latex",
    "text/plain",
)
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; media-src data:"

#: The template of JupyterLab's look without the scripts that it loads from elsewhere; a policy stands in their place,
#: so that an output cannot load anything or run a script, either.
_TEMPLATE = (
    "{%- extends 'index.html.j2' -%}"
    "{%- block html_head_js -%}"
    f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    "{%- endblock html_head_js -%}"
    "{%- block jupyter_widgets -%}{%- endblock jupyter_widgets -%}"
    "{%- block html_head_js_mathjax -%}{%- endblock html_head_js_mathjax -%}"
    "{%- block html_head_js_mermaidjs -%}{%- endblock html_head_js_mermaidjs -%}"
)
_NO_FORM = "[an output that is a widget or a script alone, which this page cannot show]"
_OUTSIDE = re.compile(
    r"<(?:script|iframe|object|embed|link)\b|<[^>]*\bsrc\s*=\s*[\"']?\s*(?:https?:)?//", re.IGNORECASE
)


class FrozenPage(Struct, frozen=True):
    """A page, the number of outputs that have no form for it, and of scripts and files from outside that it ignores."""

    html: str
    without_form: int
    outside: int


def frozen_page(notebook: dict[str, Any], path: Path) -> FrozenPage:
    """The page of a frozen notebook.

    Args:
        notebook: Its content, format 4.
        path: Its file: the title, and where the pictures that its text names are looked for.

    Raises:
        KoogbookError: nbconvert is not installed, or cannot make a page of this notebook.
    """
    try:
        exporters = import_module("nbconvert.exporters")
        reader = import_module("nbformat.v4.nbjson")
    except ImportError as problem:
        raise KoogbookError(
            f'A page of a notebook needs nbconvert ({problem}): pip install "koogbook[lab]". Nothing was written. '
            "Without it, freeze the notebook alone: it shows its views wherever it is opened."
        ) from problem
    exporter = exporters.HTMLExporter(
        raw_template=_TEMPLATE,
        embed_images=True,
        extra_template_basedirs=[],  # by default it takes templates out of the current folder
        config=import_module("traitlets.config").Config(
            {"NbConvertBase": {"display_data_priority": list(_SHOWN)}}
        ),
    )
    metadata = {key: value for key, value in notebook["metadata"].items() if key != "widgets"}
    cells, without_form = _showable(notebook["cells"])
    node = reader.to_notebook({**notebook, "cells": cells, "metadata": metadata})
    try:
        html, _ = exporter.from_notebook_node(
            node, {"metadata": {"name": path.stem, "path": str(path.parent)}}
        )
    except Exception as problem:  # of any of the libraries behind it
        raise KoogbookError(
            f"{path} cannot be made a page: {type(problem).__name__}: {problem}. Nothing was written."
        ) from problem
    return FrozenPage(html, without_form, len(_OUTSIDE.findall(html)))


def _showable(cells: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """The cells with a sentence in the place of each output that has no form for a page, and how many these are."""
    without_form = 0
    showable = []
    for cell in cells:
        outputs = []
        for output in cell.get("outputs", ()):
            if output.get("data") and not any(mime in output["data"] for mime in _SHOWN):
                without_form += 1
                output = {**output, "data": {"text/plain": _NO_FORM}}
            outputs.append(output)
        showable.append({**cell, "outputs": outputs} if outputs else cell)
    return showable, without_form
