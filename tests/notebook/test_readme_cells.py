"""The cells that the README shows run as they stand there, in their order."""

from __future__ import annotations

import re
from pathlib import Path

from IPython.core.interactiveshell import InteractiveShell
from notebook_cells import Cells

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def shown() -> list[str]:
    """The cells under "In a notebook"."""
    part = README.partition("\n## In a notebook\n")[2].partition("\n## ")[0]
    return re.findall(r"^```\n(.*?)^```", part, re.DOTALL | re.MULTILINE)


async def test_the_cells_of_the_readme_run_as_printed(shell: InteractiveShell) -> None:
    """In a notebook that has nothing else, each one works, and the last is a run with an output. [NBK-01]"""
    cells = Cells(shell)
    for cell in shown():
        await cells(cell)

    run = cells["run"]
    assert shown()[-1].startswith("%%koog_run")
    assert (run.session_id, run.state, bool(run.output)) == ("chat-1", "completed", True)
