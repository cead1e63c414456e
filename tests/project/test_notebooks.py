"""The notebooks of the manual are kept with their outputs, and with nothing of the machine that made them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request: pytest.FixtureRequest) -> dict[str, Any]:
    """One of them."""
    loaded: dict[str, Any] = json.loads(request.param.read_text(encoding="utf-8"))
    return loaded


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """Its code cells."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_there_is_a_quickstart() -> None:
    """The manual begins with it."""
    assert "00_quickstart" in [path.stem for path in NOTEBOOKS]


def test_outputs_and_counts_are_kept(notebook: dict[str, Any]) -> None:
    """Nobody has stripped them: there is something to compare, and to read on a code host. [NBK-10a]"""
    cells = code_cells(notebook)

    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert sum(bool(cell["outputs"]) for cell in cells) > len(cells) / 2


def test_no_cell_failed(notebook: dict[str, Any]) -> None:
    """No output is an error, and nothing was written to stderr."""
    outputs = [output for cell in code_cells(notebook) for output in cell["outputs"]]

    assert [one for one in outputs if one["output_type"] == "error" or one.get("name") == "stderr"] == []


def test_every_view_reads_without_a_kernel(notebook: dict[str, Any]) -> None:
    """No output needs a widget; each view has its text and its HTML. [NBK-10]"""
    views = [
        output["data"]
        for cell in code_cells(notebook)
        for output in cell["outputs"]
        if "koogbook" in output.get("metadata", {})
    ]

    assert views
    assert [sorted(data) for data in views] == [["text/html", "text/plain"]] * len(views)


def test_no_view_is_larger_than_a_cell_should_be(notebook: dict[str, Any]) -> None:
    """A saved cell stays under 200 kB. [NBK-10]"""
    sizes = [len(json.dumps(cell["outputs"])) for cell in code_cells(notebook)]

    assert max(sizes) < 200_000


def test_nothing_of_the_machine_is_kept(notebook: dict[str, Any]) -> None:
    """No path, no address of an object, no time of execution, no version of the language. [NBK-12a]"""
    text = json.dumps({**notebook, "cells": [{**cell, "id": ""} for cell in notebook["cells"]]})
    found = re.findall(r"/(?:home|root|tmp|Users|work)/[\w./-]+|0x[0-9a-f]{6,}|iopub\.|\"version\"", text)

    assert found == []
