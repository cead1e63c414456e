"""The arrows between the folders go one way."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import koogbook as kb

PACKAGE = Path(kb.__file__).parent

#: From the bottom up; a module imports only from its own layer and those before it.
LAYERS = [
    "errors",
    "clock",
    "code_place",
    "tracebacks",
    "functions",
    "fresh_folder",
    "progress",
    "messages",
    "state",
    "events",
    "pipeline",
    "transcripts",
    "tools",
    "llm",
    "compression",
    "runtime",
    "trace",
    "features",
    "storage",
    "agents",
    "labs",
    "notebook",
    "demo_page",
    "demo",
    "commands",
    "cli",
]

#: Imports inside a function that go up, each with its reason.
DOORS = {
    ("compression/compress.py", "notebook"): "Compressed.diff() shows itself",
    ("progress.py", "notebook"): "a bar under a cell is an output that is drawn again",
}

MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


def layer_of(name: str) -> int:
    """Where a module stands, from the bottom."""
    return LAYERS.index(name.removesuffix(".py").partition("/")[0].partition(".")[0])


def imports(path: Path) -> Iterator[str]:
    """The koogbook modules that a file imports, those for type checking alone left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("koogbook"):
            below = (node.module or "").removeprefix("koogbook").removeprefix(".")
            yield from [below] if below else [alias.name for alias in node.names]
        if isinstance(node, ast.Import):
            yield from (
                alias.name.removeprefix("koogbook.")
                for alias in node.names
                if alias.name.startswith("koogbook.")
            )


@pytest.mark.parametrize("module", [module for module in MODULES if module != "__init__.py"])
def test_a_module_imports_only_from_its_layer_and_below(module: str) -> None:
    """Each arrow between folders points down."""
    own = layer_of(module)
    upward = {
        target
        for target in imports(PACKAGE / module)
        if layer_of(target) > own and (module, target.partition(".")[0]) not in DOORS
    }

    assert upward == set()


def test_every_door_upwards_is_used() -> None:
    """An exception to the layers that nobody needs is taken out."""
    used = {
        (module, target.partition(".")[0])
        for module in MODULES
        if module != "__init__.py"
        for target in imports(PACKAGE / module)
        if layer_of(target) > layer_of(module)
    }

    assert used == set(DOORS)


def test_every_folder_and_module_has_its_layer() -> None:
    """A new folder has to say where it stands."""
    found = {module.partition("/")[0].removesuffix(".py") for module in MODULES} - {"__init__"}

    assert found == set(LAYERS)


def test_only_the_notebook_folder_knows_ipython_and_widgets() -> None:
    """The runtime works without Jupyter."""
    knowing = [
        module
        for module in MODULES
        if any(
            word in (PACKAGE / module).read_text(encoding="utf-8")
            for word in ("IPython", "ipywidgets", "anywidget")
        )
    ]

    assert [module for module in knowing if not module.startswith("notebook/")] == []
