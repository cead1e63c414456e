"""A type checker finds an edge between nodes that do not fit."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

#: Each line that mypy is to refuse ends with ``# E: `` and a part of what it says; it is to say nothing else.
CODE = """
from typing import Any, assert_type

import koogbook as kb
from koogbook.runtime.node import Node

trip = kb.strategy("trip", input=str, output=int)


@trip.node
async def words(ctx: kb.Context, text: str) -> list[str]:
    return text.split()


@trip.node(name="count", note="with arguments")
async def size(ctx: kb.Context, given: list[str]) -> int:
    return len(given)


@trip.node(thread=True)
def slow(ctx: kb.Context, given: list[str]) -> int:
    return len(given)


@trip.node
async def anything(ctx, value):
    return value


async def plain(ctx: Any, number: int) -> str:
    return str(number)


def blocking(ctx: Any, number: int) -> str:
    return str(number)


inner = trip.subgraph("inner", input=int, output=int)
untyped = trip.subgraph("untyped")
block = trip.parallel("block", merge=max, input=int, output=int)

# ---- what fits
assert_type(words, Node[str, list[str]])
assert_type(size, Node[list[str], int])
assert_type(slow, Node[list[str], int])
assert_type(trip.node(plain, name="direct"), Node[int, str])
assert_type(trip.node(blocking, name="blocks", thread=True), Node[int, str])
assert_type(trip.start >> words >> size, Node[list[str], int])
words >> slow >> inner >> trip.finish
size >> block >> trip.finish
size >> untyped >> words
trip.start >> anything >> words
trip.edge(words, size, when=lambda found: bool(found), label="some")
trip.edge(words, trip.finish, map=len)
trip.edge("words", "finish")
inner.start >> inner.finish

# ---- what does not
size >> words  # E: Unsupported operand types for >>
slow >> words  # E: Unsupported operand types for >>
words >> inner  # E: Unsupported operand types for >>
words >> block  # E: Unsupported operand types for >>
words >> trip.finish  # E: Unsupported operand types for >>
trip.start >> size  # E: Unsupported operand types for >>
inner >> words  # E: Unsupported operand types for >>
block >> words  # E: Unsupported operand types for >>
trip.start >> words >> words  # E: Unsupported operand types for >>
trip.edge(size, words)  # E: Cannot infer value of type parameter
trip.edge(words, inner)  # E: Cannot infer value of type parameter
trip.edge(words, trip.finish, label="x")  # E: Cannot infer value of type parameter


@trip.node  # E: incompatible type
def blocks(ctx: kb.Context, text: str) -> int:
    return len(text)
"""

#: Only what the types of a graph need is read, so that this takes seconds.
CONFIG = """
[mypy]
strict = True
follow_imports = skip
disallow_subclassing_any = False
disallow_untyped_defs = False
disallow_untyped_decorators = False
warn_return_any = False
warn_unused_configs = False
[mypy-koogbook,koogbook.runtime.*,msgspec.*,typing_extensions]
follow_imports = silent
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[int, str]:
    """What mypy says of each line."""
    folder: Path = tmp_path_factory.mktemp("typed")
    code, config = folder / "typed_edges.py", folder / "mypy.ini"
    code.write_text(CODE, encoding="utf-8")
    config.write_text(CONFIG, encoding="utf-8")
    options = ["--config-file", str(config), "--cache-dir", str(folder / "cache"), "--no-error-summary"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(code)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = re.findall(r"typed_edges\.py:(\d+): error: (.*)", done.stdout)
    return {int(line): text for line, text in found}


def test_a_wrong_edge_is_found(said: dict[int, str]) -> None:
    """By ``>>`` and by ``edge``, into a node, a subgraph, a block and the finish node [GRA-01]."""
    marked = {
        number: line.partition("# E: ")[2]
        for number, line in enumerate(CODE.splitlines(), start=1)
        if "# E: " in line
    }

    assert len(marked) == 13
    assert {line: part for line, part in marked.items() if part not in said.get(line, "")} == {}


def test_a_right_edge_is_left_alone(said: dict[int, str]) -> None:
    """With ``map=`` any two fit, and so does what is not annotated [GRA-01]."""
    lines = CODE.splitlines()

    assert {lines[line - 1]: text for line, text in said.items() if "# E: " not in lines[line - 1]} == {}


def test_the_package_says_that_it_is_typed() -> None:
    """Type checkers read the annotations of an installed package only then [GRA-01]."""
    import koogbook

    assert (Path(koogbook.__file__).parent / "py.typed").exists()
