"""What the README shows works as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import koogbook as kb

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def first_strategy() -> str:
    """The first Python block."""
    return re.findall(r"```python\n(.*?)```", README, re.DOTALL)[0]


def test_the_first_strategy_runs_as_printed(in_folder: Path) -> None:
    """Copied into a file, it runs."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", first_strategy()], capture_output=True, text=True
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_an_agent_with_a_script_runs_as_printed() -> None:
    """Without a key: the call of the tool is run, and the text is the output."""
    block = next(one for one in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "Scripted" in one)

    def weather(city: str) -> str:
        """The weather of a city."""
        return "rain"

    names: dict[str, Any] = {"kb": kb, "weather": weather}
    exec(block, names)
    run = names["scripted"].run_sync("Beijing")

    assert (run.output, [call.tool for call in run.tool_executions]) == (
        "It rains. Take an umbrella.",
        ["weather"],
    )


@pytest.mark.parametrize(
    "target", re.findall(r"`make (\w+)", README) + re.findall(r"^make (\w+)", README, re.MULTILINE)
)
def test_every_command_is_in_the_makefile(target: str) -> None:
    """No command is promised that is not there."""
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("picture", re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README))
def test_every_picture_is_there(picture: str) -> None:
    """A picture that is shown is in the repository."""
    assert (ROOT / picture).is_file()


def test_the_map_names_every_folder() -> None:
    """The map of folders is complete."""
    folders = {path.name for path in (ROOT / "koogbook").iterdir() if (path / "__init__.py").exists()}

    assert {folder for folder in folders if f"`koogbook/{folder}`" not in README} == set()
