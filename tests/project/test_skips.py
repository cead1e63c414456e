"""What cannot run on a machine is skipped loudly, and on CI it fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("ci", "code"), [("", 0), ("true", 1)])
@pytest.mark.parametrize(
    "skipped",
    [
        "import pytest\n\n@pytest.mark.skipif(True, reason='no such server')\ndef test_it(): ...\n",
        "import pytest\n\ndef test_it():\n    pytest.skip('no such server')\n",
        "import pytest\n\n@pytest.fixture\ndef server():\n    pytest.skip('no such server')\n\n"
        "def test_it(server): ...\n",
    ],
    ids=["by a mark", "in the test", "in a fixture"],
)
def test_a_test_that_cannot_run_is_skipped_by_name_and_fails_on_ci(
    tmp_path: Path, skipped: str, ci: str, code: int
) -> None:
    """Wherever the skip comes from; the reason is printed either way."""
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "test_it.py").write_text(skipped)
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-ra", "-p", "no:cacheprovider", str(tmp_path)],
        env={**os.environ, "CI": ci, "COLUMNS": "200"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (found.returncode, "1 skipped" in found.stdout) == (code, not ci)
    assert "no such server" in found.stdout


@pytest.mark.parametrize(("ci", "outcome"), [("", "skipped"), ("true", "error")])
def test_a_machine_without_chromium_skips_what_is_looked_at_in_it(ci: str, outcome: str) -> None:
    """Loudly, with what to set or to install; on CI it is an error."""
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/browser/test_views_locks.py"],
        env={**os.environ, "CI": ci, "CHROMIUM": "/no/such/browser", "COLUMNS": "200"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (found.returncode, "No Chromium: set CHROMIUM" in found.stdout) == (int(outcome == "error"), True)
    assert outcome in found.stdout.splitlines()[-1]
    assert "passed" not in found.stdout.splitlines()[-1]
