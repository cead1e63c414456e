"""``koogbook check``: the table, the JSON and the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from koogbook.cli import main

Captured = pytest.CaptureFixture[str]


def test_the_table_has_a_line_for_each_finding_and_one_of_counts(in_folder: Path, capsys: Captured) -> None:
    """States stand below each other."""
    code = main(["check"])
    *lines, counts = capsys.readouterr().out.splitlines()

    assert code == 0
    assert {line[:9].strip() for line in lines} <= {"ok", "warning", "skipped", ""}
    assert " ok" in counts


def test_a_failure_is_exit_code_1_with_the_remedy_below(in_folder: Path, capsys: Captured) -> None:
    """What to do stands under what is wrong."""
    (in_folder / ".koogbook").write_bytes(b"")
    code = main(["check"])
    lines = capsys.readouterr().out.splitlines()
    at = next(place for place, line in enumerate(lines) if line.startswith("failed"))

    assert (code, lines[at].split()[1], lines[at + 1].strip()) == (1, ".koogbook", "-> move it away")


def test_the_json_has_the_same_findings(in_folder: Path, capsys: Captured) -> None:
    """For a bug report or a script."""
    main(["check", "--json"])
    found = json.loads(capsys.readouterr().out)

    assert {tuple(one) for one in found} == {("name", "state", "seen", "remedy")}
    assert found[0]["name"] == "Python"
