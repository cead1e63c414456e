"""What all tests share."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from koogbook import clock

settings.register_profile(
    "koogbook",
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("koogbook")

#: So many examples at most of each law, whatever it asks for: the whole suite has to end in time on two cores. With
#: KOOGBOOK_EXAMPLES=1000 a law is looked at more closely.
_MOST_EXAMPLES = int(os.environ.get("KOOGBOOK_EXAMPLES", "60"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep laws to the number of examples that there is time for.

    Hypothesis has no public way to do so: of what a decorator says, no profile is heard. Where its own name for the
    settings of a law is another one, nothing runs, so that laws do not take hours without a word.
    """
    for item in items:
        function = getattr(item, "obj", None)
        function = getattr(function, "__func__", function)
        if not is_hypothesis_test(function):
            continue
        given = getattr(function, "_hypothesis_internal_use_settings", None)
        if not isinstance(given, settings):
            raise pytest.UsageError(
                f"{item.nodeid} is a law whose number of examples cannot be kept to {_MOST_EXAMPLES}: this hypothesis "
                "has its settings elsewhere than in _hypothesis_internal_use_settings. Look up where, and write it in "
                "tests/conftest.py."
            )
        if given.max_examples > _MOST_EXAMPLES:
            function._hypothesis_internal_use_settings = settings(given, max_examples=_MOST_EXAMPLES)


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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """A test that is skipped where it cannot run fails on CI, where everything has to be there."""
    report = yield
    if (
        report.skipped
        and not hasattr(report, "wasxfail")
        and os.environ.get("CI", "").lower() in ("1", "true")
    ):
        report.outcome = "failed"
        report.longrepr = f"Skipped, and nothing may be skipped with CI=true. {report.longrepr[2]}"
    return report
