"""What all tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from koogbook import clock

settings.register_profile(
    "koogbook",
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("koogbook")


@pytest.fixture
def fixed_clock() -> Iterator[clock.FixedClock]:
    """A clock that stands still until it is moved."""
    fixed = clock.FixedClock()
    with clock.use(fixed):
        yield fixed


@pytest.fixture
def ticking_clock() -> Iterator[clock.FixedClock]:
    """A clock that moves on by a millisecond at each reading, with ids from a seed."""
    fixed = clock.FixedClock(tick=timedelta(milliseconds=1))
    with clock.use(fixed):
        yield fixed


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh folder that is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def on_ci() -> bool:
    """Whether a missing browser or server is a failure."""
    return os.environ.get("CI", "").lower() in ("1", "true")
