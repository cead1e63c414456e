"""Notebooks that a real kernel has run: what it saved is what freezing finds."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest
from notebook_files import STATE, VIEW, cell, notebook

from koogbook.notebook.frozen import freeze
from koogbook.notebook.frozen_page import frozen_page

HOSTILE = "</script><img src=x onerror=alert(1)>"
SHOW = "import koogbook as kb\ntrip = kb.strategy('trip')\ntrip.start >> trip.finish\nkb.graph(trip)"
SAID = f"kb.diff([kb.user({HOSTILE!r})], [kb.user('something else')])"
SLIDER = "import ipywidgets\nipywidgets.IntSlider()"


class Attributes(HTMLParser):
    """The names of all attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the names of a tag's attributes."""
        self.names.update(name for name, _ in attrs)


def run(folder: Path, *sources: str) -> dict[str, Any]:
    """The notebook of these cells as it is saved after a run."""
    cells = [
        {**cell(source=source), "execution_count": None, "id": f"c{at}"} for at, source in enumerate(sources)
    ]
    node = nbformat.reads(json.dumps(notebook(*cells)), as_version=4)
    client = nbclient.NotebookClient(
        node, kernel_name="python3", timeout=60, resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    saved: dict[str, Any] = json.loads(nbformat.writes(node))
    return saved


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A notebook with two views and a slider, run with live views."""
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("KOOGBOOK_STATIC", raising=False)
        return run(tmp_path_factory.mktemp("run"), SHOW, SLIDER, SAID)


def test_a_view_that_was_shown_is_frozen_with_its_models(saved: dict[str, Any]) -> None:
    """What a kernel leaves is what freezing looks for. [NBK-10a]"""
    before = saved["metadata"]["widgets"][STATE]["state"]
    frozen = freeze(saved)
    after = frozen.notebook["metadata"]["widgets"][STATE]["state"]
    words = json.dumps(after)

    assert ([view.cell for view in frozen.views], frozen.foreign) == ([1, 3], 1)
    assert VIEW not in frozen.notebook["cells"][0]["outputs"][0]["data"]
    assert (len(before) - len(after), "anywidget" in words, "IntSlider" in words) == (4, False, True)


def test_the_state_of_a_view_whose_output_was_cleared_goes_too(saved: dict[str, Any]) -> None:
    """The picture of a run is not shared by way of a state that nobody sees. [NBK-10a]"""
    first, *others = saved["cells"]
    cleared = {**saved, "cells": [{**first, "outputs": []}, *others]}

    assert (len(freeze(cleared).views), freeze(cleared).models) == (1, 4)


def test_a_frozen_notebook_is_a_valid_notebook(saved: dict[str, Any]) -> None:
    """Every front end opens it. [NBK-10a]"""
    nbformat.validate(nbformat.reads(json.dumps(freeze(saved).notebook), as_version=4))


def test_the_page_shows_the_view_and_lets_no_text_out(saved: dict[str, Any]) -> None:
    """What a message says stays text from the kernel to the page. [NBK-11]"""
    assert "onerror" in str(saved["cells"][2]["outputs"])
    html = frozen_page(freeze(saved).notebook, Path("trip.ipynb")).html

    assert ("data:image/svg+xml;base64," in html, "onerror" in Attributes(html).names) == (True, False)


def test_with_static_views_there_is_nothing_to_freeze(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``KOOGBOOK_STATIC=1`` and freezing lead to one and the same notebook. [NBK-10a]"""
    monkeypatch.setenv("KOOGBOOK_STATIC", "1")
    saved = run(tmp_path, SHOW)
    frozen = freeze(saved)

    assert (frozen.changed, len(saved["cells"][0]["outputs"])) == (False, 1)
