"""A law runs with as many examples as there is time for, and where that cannot be said to hypothesis nothing runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

LAWS = """\
from hypothesis import given, settings, strategies as st

ran = {"many": 0, "few": 0, "method": 0}

@settings(max_examples=1000, database=None)
@given(st.integers())
def test_many(number):
    ran["many"] += 1

@settings(max_examples=3, database=None)
@given(st.integers())
def test_few(number):
    ran["few"] += 1

class TestClass:
    @settings(max_examples=1000, database=None)
    @given(st.integers())
    def test_method(self, number):
        ran["method"] += 1

def test_that_is_no_law():
    print("ran", ran)
"""
#: No plugins, which take long to import: the conftest needs none.
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
RENAMED = """
test_many.new_name = test_many.__dict__.pop("_hypothesis_internal_use_settings")
"""


def tried(folder: Path, laws: str) -> subprocess.CompletedProcess[str]:
    """What pytest says of these laws, with our conftest and 7 examples at most."""
    (folder / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (folder / "test_it.py").write_text(laws)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-s", "-p", "no:cacheprovider", str(folder)],
        env={**os.environ, "CI": "", "COLUMNS": "400", "KOOGBOOK_EXAMPLES": "7", **ALONE},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_a_law_that_asks_for_many_examples_is_kept_to_those_there_is_time_for(tmp_path: Path) -> None:
    """One that asks for fewer has those; a method of a class as well."""
    found = tried(tmp_path, LAWS)

    assert found.returncode == 0, found.stdout
    assert "ran {'many': 7, 'few': 3, 'method': 7}" in found.stdout


def test_nothing_runs_where_the_examples_of_a_law_cannot_be_kept_to_a_number(tmp_path: Path) -> None:
    """The name for it in hypothesis is no public one, and may be another in a later version."""
    found = tried(tmp_path, LAWS + RENAMED)

    assert (found.returncode, "ran {" in found.stdout) == (4, False)
    assert "test_it.py::test_many is a law whose number of examples cannot be kept to 7" in found.stderr
