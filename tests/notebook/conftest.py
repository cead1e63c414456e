"""A shell in which cells run as a kernel runs them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from notebook_cells import ANSWER, PREPARE, Cells
from traitlets.config import Config

import koogbook as kb


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    """A fresh shell without koogbook, in a folder of its own."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setattr(sys, "path", list(sys.path))
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance(config=config)
    yield made
    made.run_line_magic("unload_ext", "koogbook")
    InteractiveShell.clear_instance()


@pytest.fixture
async def cells(shell: InteractiveShell) -> Cells:
    """A notebook in which koogbook is loaded and called ``kb``."""
    made = Cells(shell)
    await made("%load_ext koogbook\nimport koogbook as kb")
    return made


@pytest.fixture
async def trip(cells: Cells) -> kb.Strategy:
    """A strategy that can run, made by magics."""
    await cells("%koog_strategy trip --input str --output str")
    await cells(PREPARE)
    await cells(ANSWER)
    await cells("%koog_edge answer >> finish --no-graph")
    made: kb.Strategy = cells["trip"]
    return made


@pytest.fixture
async def agent(trip: kb.Strategy, cells: Cells) -> kb.Agent:
    """An agent of it that keeps checkpoints in memory."""
    await cells("%koog_agent --checkpoints memory")
    made: kb.Agent = cells["agent"]
    return made
