"""What cannot run on a machine is skipped loudly, and on CI it fails."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


SKIPPED = """\
import pytest

@pytest.mark.skipif(True, reason="no mark here")
def test_by_a_mark(): ...

def test_inside():
    pytest.skip("no test here")

@pytest.fixture
def server():
    pytest.skip("no fixture here")

def test_of_a_fixture(server): ...

def test_that_runs(): ...
"""


@pytest.mark.parametrize(("ci", "outcome"), [("", {"SKIPPED"}), ("true", {"FAILED", "ERROR"})])
def test_a_test_that_cannot_run_is_skipped_by_name_and_fails_on_ci(
    tmp_path: Path, ci: str, outcome: set[str]
) -> None:
    """Wherever the skip comes from: a mark, the test, a fixture; the reason is printed either way."""
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "test_it.py").write_text(SKIPPED)
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-rs", "-p", "no:cacheprovider", str(tmp_path)],
        env={**os.environ, "CI": ci, "COLUMNS": "200"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    outcomes = dict(re.findall(r"^test_it.py::(\w+) (\w+)", found.stdout, re.MULTILINE))
    others = {outcomes[name] for name in ("test_by_a_mark", "test_inside", "test_of_a_fixture")}

    assert (outcomes["test_that_runs"], others <= outcome) == ("PASSED", True)
    assert found.returncode == (1 if ci else 0)
    for reason in ("no mark here", "no test here", "no fixture here"):
        assert reason in found.stdout


@pytest.mark.parametrize(("ci", "outcome"), [("", "skipped"), ("true", "error")])
def test_a_machine_without_chromium_skips_what_is_looked_at_in_it(ci: str, outcome: str) -> None:
    """Loudly, with what to set or to install; on CI it is an error."""
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/browser/test_demo_page.py"],
        env={**os.environ, "CI": ci, "CHROMIUM": "/no/such/browser", "COLUMNS": "200"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (found.returncode, "No Chromium: set CHROMIUM" in found.stdout) == (int(outcome == "error"), True)
    assert outcome in found.stdout.splitlines()[-1]
    assert "passed" not in found.stdout.splitlines()[-1]
