"""Stores of each kind for the tests of persistence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from persisted_runs import PlainCheckpoints

import koogbook as kb


@pytest.fixture(params=["memory", "sqlite", "plain"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A fresh store of each kind; the plain one has the three methods only."""
    kinds: dict[str, Any] = {
        "memory": kb.MemoryCheckpoints,
        "sqlite": lambda: kb.SqliteCheckpoints(tmp_path / "kb.db"),
        "plain": PlainCheckpoints,
    }
    made = kinds[request.param]()
    yield made
    getattr(made, "close", lambda: None)()


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[kb.SqliteCheckpoints]:
    """A fresh SQLite store."""
    made = kb.SqliteCheckpoints(tmp_path / "kb.db")
    yield made
    made.close()
