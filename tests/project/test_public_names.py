"""The public face: what is exported, from where, and at what price."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import koogbook as kb

PACKAGE = Path(kb.__file__).parent
HEAVY = (
    "pandas",
    "matplotlib",
    "networkx",
    "IPython",
    "numpy",
    "httpx",
    "pydantic",
    "ipywidgets",
    "anywidget",
)


def names_for_type_checkers() -> dict[str, str]:
    """The public names as the imports for type checkers have them."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    return {
        alias.asname or alias.name: node.module or ""
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_all_is_sorted_and_has_no_name_twice() -> None:
    """The list of public names reads like an index."""
    assert list(kb.__all__) == sorted(set(kb.__all__))


@pytest.mark.parametrize("name", kb.__all__)
def test_every_public_name_can_be_had(name: str) -> None:
    """What is promised is there."""
    assert getattr(kb, name) is not None


def test_dir_shows_exactly_the_public_names() -> None:
    """Completion offers what is public and nothing else."""
    assert dir(kb) == sorted(kb.__all__)


def test_type_checkers_see_the_same_names_in_the_same_places() -> None:
    """The lazy table and the imports for type checkers do not drift apart."""
    lazy = {name: f"koogbook.{home}" if home else "koogbook" for name, home in kb._HOMES.items()}

    assert names_for_type_checkers() == lazy


def test_an_unknown_name_says_which_one_is_near() -> None:
    """A slip of the pen is mended by the message."""
    with pytest.raises(AttributeError, match="Did you mean 'WholeHistory'"):
        _ = kb.WholeHistry  # type: ignore[attr-defined]


def test_no_folder_or_module_has_the_name_of_a_public_function() -> None:
    """A module ``koogbook.graph`` would take the place of ``kb.graph``."""
    modules = {path.stem for path in PACKAGE.glob("*.py")} | {
        path.name for path in PACKAGE.iterdir() if path.is_dir()
    }
    functions = {name for name, home in kb._HOMES.items() if home}

    assert modules & functions == set()


def test_importing_koogbook_loads_no_heavy_package() -> None:
    """``import koogbook`` costs next to nothing."""
    code = f"import sys, koogbook; print([name for name in {HEAVY!r} if name in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert printed.strip() == "[]"


def test_running_an_agent_loads_no_heavy_package() -> None:
    """Plots and tables are loaded when one is asked for, not before."""
    code = (
        "import asyncio, sys, koogbook as kb\n"
        "agent = kb.Agent(kb.ExtractiveExecutor(), 'offline').install(kb.Persistence(storage=kb.MemoryCheckpoints()))\n"
        "run = asyncio.run(agent.run('Which museum opens on Monday?'))\n"
        "kb.graph(run), kb.locks(run), kb.checkpoints(agent), run.report()\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert printed.strip() == "[]"


def test_having_the_package_is_not_having_a_feature(in_folder: Path) -> None:
    """An agent on which nothing is installed leaves no file, no history and no checkpoint. [AGT-02a]"""
    code = (
        "import asyncio, koogbook as kb\n"
        "executor = kb.OfflineExecutor()\n"
        "agent = kb.Agent(executor, 'offline')\n"
        "for _ in range(2):\n"
        "    run = asyncio.run(agent.run('one', session_id='same'))\n"
        "print(run.output, run.last_checkpoint, run.resumed)"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert (printed.strip(), list(in_folder.iterdir())) == ("user messages: 1 None False", [])
